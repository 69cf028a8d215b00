// Compiled for any CPU; see mixed_cpu_test.cpp.
#include <bloomery/detail/sets/kinds/blocked_bloom.hpp>

namespace bloomery::detail {

bool mark_for_any_cpu(BlockedBloom& set, Hash hash) {
  return set.add_at(set.locate(hash)) == Added::fresh && set.has_at(set.locate(hash));
}

bool add_for_any_cpu(BlockedBloom& set, Hash hash) {
  return set.add_simple(hash) == Added::fresh && set.has_simple(hash);
}

}  // namespace bloomery::detail

// expect: seen.remove(key)
// The bits of one key are the bits of others too.
#include <bloomery/bloomery.hpp>

bool forget(bloomery::Set<bloomery::BlockedBloom>& seen, std::uint64_t key) {
  return seen.remove(key);
}

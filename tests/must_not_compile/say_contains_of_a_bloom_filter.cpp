// expect: seen.contains(key)
// Only exact kinds earn the stronger word.
#include <bloomery/bloomery.hpp>

bool ask(const bloomery::Set<bloomery::BlockedBloom>& seen, std::uint64_t key) {
  return seen.contains(key);
}

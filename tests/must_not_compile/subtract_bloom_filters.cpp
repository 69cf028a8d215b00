// expect: seen.subtract(other)
// It would clear bits of keys that both hold: false negatives.
#include <bloomery/bloomery.hpp>

void forget(bloomery::Set<bloomery::BlockedBloom>& seen,
            const bloomery::Set<bloomery::BlockedBloom>& other) {
  seen.subtract(other);
}

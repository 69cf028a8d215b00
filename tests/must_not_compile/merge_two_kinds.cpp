// expect: classic.unite(blocked)
// Their bits mean different things.
#include <bloomery/bloomery.hpp>

void merge(bloomery::Set<bloomery::ClassicBloom>& classic,
           const bloomery::Set<bloomery::BlockedBloom>& blocked) {
  classic.unite(blocked);
}

// expect: a static set is made from all its keys at once
// There is nothing to begin with and to add to.
#include <bloomery/bloomery.hpp>

bloomery::Set<bloomery::Ribbon> begin() {
  return bloomery::Set<bloomery::Ribbon>({.keys = 1000, .rate = 0.01});
}

// expect: the type needs a function bloomery_key, see hash.hpp
// Its padding bytes would be hashed too; a function says which bytes count.
#include <bloomery/bloomery.hpp>

struct Price {
  char currency;
  unsigned cents;
};

bool add(bloomery::Set<bloomery::BlockedBloom>& seen, const Price& price) {
  return seen.add(price);
}

// expect: needs a forward range of keys, see hash.hpp
#include <vector>

#include <bloomery/bloomery.hpp>

struct Price {
  char currency;
  unsigned cents;
};

void add(bloomery::Set<bloomery::BlockedBloom>& seen, const std::vector<Price>& prices) {
  seen.add_all(prices);
}

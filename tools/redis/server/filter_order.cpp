#include <tools/redis/server/filter_order.hpp>

#include <cstdio>

namespace bloomery::redis {

std::string all_digits_of(double rate) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.17g", rate);
  return digits;
}

}  // namespace bloomery::redis

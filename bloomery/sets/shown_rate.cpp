#include <charconv>
#include <string>
#include <system_error>

#include <bloomery/detail/sets/plan.hpp>

namespace bloomery::inline v0::detail {

std::string shown_rate(double rate) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, rate);
  return error == std::errc{} ? std::string(text, end) : "?";
}

}  // namespace bloomery::inline v0::detail

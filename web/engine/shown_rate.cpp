// In the place of bloomery/sets/shown_rate.cpp: the tables behind std::to_chars of a double are as
// large as a quarter of the engine, and fmt is there anyway. The digits are the same: the fewest.
#include <fmt/format.h>

#include <bloomery/detail/sets/plan.hpp>

namespace bloomery::inline v0::detail {

std::string shown_rate(double rate) { return fmt::format("{}", rate); }

}  // namespace bloomery::inline v0::detail

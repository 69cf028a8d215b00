// "Did you mean ...?": the known word nearest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bloomery::cli {

// A sentence " Did you mean 'dedup'?", with the space before it, or nothing when no word is near.
// Near: one slip for every three letters, a swap of neighbours being one slip.
std::string did_you_mean(std::string_view typed, std::span<const std::string> known);

// "--color does not take 'alwyas'; give auto, always or never. Did you mean 'always'?"
std::string unknown_value(std::string_view flag, std::string_view typed,
                          std::span<const std::string> known);

// The kinds of the register, by name.
std::vector<std::string> kind_names();
// "unknown kind 'blokced'. Did you mean 'blocked'? The kinds are ..."
std::string unknown_kind(std::string_view typed);

}  // namespace bloomery::cli

// "Did you mean ...?": the known word nearest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace bloomery::cli {

// A sentence " Did you mean 'dedup'?", with the space before it, or nothing when no word is near.
// Near: one slip for every three letters, a swap of neighbours being one slip.
std::string did_you_mean(std::string_view typed, std::span<const std::string> known);

}  // namespace bloomery::cli

// What became of an add, the same for every engine.
#pragma once

#include <cstdint>

namespace bloomery::inline v0::detail::served {

enum class AddOutcome : std::uint8_t {
  fresh,      // surely new, and now there
  seen,       // was there, or is a false positive
  full,       // at the capacity that it may not exceed, or at the most copies of a key
  refused,    // it cannot grow any more, or not all of its pieces are loaded yet
  no_memory,  // growing would exceed its cap, or what the host has
};

// Was the key taken, now or before?
constexpr bool is_there(AddOutcome outcome) { return outcome <= AddOutcome::seen; }

}  // namespace bloomery::inline v0::detail::served

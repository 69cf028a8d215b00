// The flags of dedup that tell what is known only when all lines have come: how many different
// ones, how often each, which came once, which came last.
#pragma once

#include <optional>

#include <bloomery/engines/dedup/tallies.hpp>

#include "flags.hpp"

namespace bloomery::cli {

struct TallyFlags {
  bool distinct = false;
  bool count = false;
  Word top;
  bool unique = false;
  Word keep;
};
Flags tally_flags(TallyFlags& flags);

// What is to be tallied; none for dedup as it is, and for --distinct, which is dedup without
// printing. Refuses values and flags that exclude each other.
std::optional<TallyRules> tallies_of(const TallyFlags& flags);

struct DedupFlags;
// Refuses what makes no sense beside these flags.
void expect_tallies(const DedupFlags& flags);

}  // namespace bloomery::cli

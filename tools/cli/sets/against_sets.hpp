// The sets and lists of dedup --against: opened, each with the spelling of its keys.
//
// If the set is wrong: a new line that one of them lets pass is lost; which of them loses most, and
//          what would help, is in the sentence about lost lines.
// Threads: one opens; then any number may ask.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <tools/cli/flags/dedup_flags.hpp>
#include <tools/cli/input/dedup_keys.hpp>
#include <tools/cli/report/messages.hpp>

#include "set_file.hpp"

namespace bloomery::cli {

class AgainstSets {
 public:
  struct One {
    std::string name;  // as typed
    SetFile file;
    Spelling spelling;
    bool list = false;
  };

  // Opens all of them; refuses what cannot be asked with lines, and warns of what is overfull.
  void open(const DedupFlags& flags, When progress, Messages& messages);
  // Their addresses stay.
  std::span<const One> each() const { return sets_; }

  // Lists were read by what --normalize said; refuses a state that spells its keys otherwise.
  void expect_spelled_as(const Spelling& spelling, const DedupFlags& flags) const;
  // What helps against the losses of the worst of them; empty if none is worse than this rate.
  std::string advice_if_worse_than(double rate) const;

 private:
  std::vector<One> sets_;
};

}  // namespace bloomery::cli

// Which hits of a set are true members: their keys are sought in the list the set was built from.
//
//    input --ask--> hits --128 bits each--> candidates
//    LIST  --------------------------------> in candidates? --> confirmed
//
// Memory goes with the different hits (18 to 23 bytes each, twice for those that are confirmed),
// never with the list, which is read once and may be a pipe.
//
// If the set is wrong: this is what finds out. Two keys are taken for one if all 128 bits of a
//          SipHash agree under a key that is drawn afresh for every run, so nobody can choose them.
// Threads: one.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <bloomery/detail/sets/kinds/hash_set.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/text/lines.hpp>

#include <tools/cli/input/line_feed.hpp>
#include <tools/cli/input/set_lines.hpp>

namespace bloomery::cli {

class ConfirmedHits {
 public:
  explicit ConfirmedHits(SetLines& keys);

  // The hashes of the keys of these lines, one each; valid until the next call.
  std::span<const WideHash> hashes(Lines lines, const Inputs& inputs);

  void note_all(std::span<const WideHash> hits);
  // Reads the list, or as much of it as it takes to confirm all hits; returns the lines read.
  std::uint64_t seek(const LineSource& list, Messages& messages);

  // One answer a hash.
  void noted_all(std::span<const WideHash> hashes, std::span<bool> answers) const {
    candidates_.may_contain_all(hashes, answers.data());
  }
  void confirmed_all(std::span<const WideHash> hashes, std::span<bool> answers) const {
    confirmed_.may_contain_all(hashes, answers.data());
  }
  bool confirmed(WideHash hash) const { return confirmed_.contains(hash); }

 private:
  SetLines& keys_;
  Hasher hasher_;
  HashSet candidates_;
  HashSet confirmed_;
  std::array<WideHash, lines_per_batch> hashes_{};
};

}  // namespace bloomery::cli

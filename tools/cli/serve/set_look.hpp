// A set that is looked at again and again: a file, sealed or live, a state of dedup, or a set on a
// server.
//
//    sealed, up to 64 MiB    read whole when it has changed, with its checksums; as `info` tells it
//    sealed, larger          its heads: keys and rate by what they say; "facts_from": "head"
//    live                    the bits of up to 64 MiB, else its head
//    redis://                opened, and sampled as `info` does
//
// A look that took long is not taken again before twenty times as long has passed, so that looking
// takes at most a twentieth of one core, whatever is looked at.
//
// If the set is wrong: an error sentence takes the place of the numbers; the next look tries again.
// Limits:  whoever cuts a file short in the moment in which its head is mapped ends this program,
//          with a sentence (mapped_set.hpp).
// Threads: one.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <tools/cli/flags/flags.hpp>

#include "seen.hpp"

namespace bloomery::cli {

class SetLook : public Source {
 public:
  SetLook(std::string id, std::string path, Word key_file);

  Seen look() override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Stamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t bytes = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  struct Found;

  Stamp stamp() const;
  void look_at_file(Found& found);
  void look_at_server(Found& found) const;
  Seen told(const Found& found);
  // Its object for status.json.
  void tell(Seen& seen, double growth) const;

  const std::string id_;
  const std::string path_;
  const std::string name_;  // without the password
  const Word key_file_;
  Stamp stamp_ = {};  // of the sealed file that was read last
  Seen last_ = {};
  std::string facts_ = {};  // of the last look, as JSON: what follows the name and the time
  Clock::time_point not_before_ = {};
};

}  // namespace bloomery::cli

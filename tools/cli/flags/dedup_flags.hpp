// The flags of dedup: what they are, which go together, and what their files may be.
#pragma once

#include <string>
#include <vector>

#include <bloomery/detail/engines/parallel.hpp>

#include <tools/cli/input/inputs.hpp>

#include "flags.hpp"
#include "key_flags.hpp"
#include "tally_flags.hpp"

namespace bloomery::cli {

struct DedupFlags {
  SizeFlags size;
  bool exact = false;
  bool repeated = false;
  Word dups;
  Word state;
  bool live = false;
  Word checkpoint;
  std::vector<std::string> against;
  Word window;
  TallyFlags tally;
  bool in_place = false;
  Word threads;
  LineFlags lines;
  KeyFlags keys;
  OutputFlags output;
  HashFlags hash;
  bool stats = false;
  bool quiet = false;
  bool strict = false;
  SpeechFlags speech;
  Word serve;
  Word token_file;
  std::vector<std::string> files;
};

extern const char* const dedup_story;
Flags dedup_flags(DedupFlags& flags);

// Refuses flags that exclude each other, and files that would be lost to one another.
void expect_fitting(const DedupFlags& flags);

// A file that others can see grow, and that can be cut: not a pipe, not a device.
bool is_plain_file(const Word& path);
// One spelling for one file, also before it is there.
std::string full_path(const std::string& path);
Threads threads_of(const DedupFlags& flags);

}  // namespace bloomery::cli

// The runs of the command into which faults are put: every verb, and each way through it that
// reads, keeps or writes in its own way.
#pragma once

#include <string>
#include <vector>

#include "faulty_run.hpp"

namespace bloomery::faults {

// What must be true after a run that failed, and of files that differ from run to run.
enum class Law {
  files,  // each is the old one or the right new one
  // The output may be longer than the state knows; the same run again completes it.
  state_and_output,
  // Lines that were printed may come again; none is missing.
  state,
  // The first of `needs` is a live set of `in`: a part of a refused run may be in it. It verifies,
  // has what was acknowledged, and takes keys.
  live,
};

struct Case {
  std::string name;
  std::vector<std::string> words;
  std::vector<std::string> needs;  // of the files that are made for all
  Law law = Law::files;
  std::string pipe = {};        // this file comes through standard input
  bool refused = false;         // exit 2 is right
  bool tells_failures = false;  // on standard output, of each file
  bool whole = false;           // every fault of it, always: what every run begins with
};

// The files that cases need. Made by the command at `bloomery`, in `place`.
Files made_files(const std::string& bloomery, Place& place);

std::vector<Case> all_cases();

}  // namespace bloomery::faults

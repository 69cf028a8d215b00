// A plain text list where a set is asked for: its lines as an exact set in memory.
//
//    bloomery check list.txt FILE      bloomery dedup --against list.txt.gz FILE
//
// A file that begins like a set file is one, however damaged it is. Any other is read as every
// input is, also compressed, and refused if it looks like no text: zero bytes, or with -0, where
// those end lines, other control bytes. Its lines are keys as they are; no part is taken of them.
//
// If the set is wrong: it is not. Two lines are taken for one if all 128 bits of a SipHash agree
//          under a key that is drawn for this run, so nobody can choose them.
// Threads: one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <bloomery/text/normalize.hpp>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/report/messages.hpp>

#include "set_file.hpp"

namespace bloomery::cli {

// How the lines of a list become keys: as those that are asked about.
struct ListRules {
  LineFlags lines;
  std::optional<Normalizer> normalizer;
  bool strip_cr = true;
};

// Whether it has to be read as a list: "-", a pipe, or a file that is not a set.
bool is_list(const std::string& path);
// Refuses an empty file, which may have been a set; warns of any other list that has no line.
SetFile read_list(const std::string& path, const ListRules& rules, Messages& messages);

// Standard input can be read only once, as a list or as lines.
void expect_stdin_once(const std::vector<std::string>& sets, const std::vector<std::string>& files);

}  // namespace bloomery::cli

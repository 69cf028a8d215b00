// What `build` is asked for: its flags, and all that follows from them before a line is read.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/text/lines.hpp>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/flags/key_flags.hpp>
#include <tools/cli/input/input_keys.hpp>
#include <tools/cli/input/inputs.hpp>

namespace bloomery::cli {

struct BuildFlags {
  SizeFlags size;
  Word kind;
  Word range;
  Word shards;
  Word like;
  Word most_count;
  bool removable = false;
  bool multiset = false;
  bool live = false;
  std::vector<std::string> allow;
  LineFlags lines;
  KeyFlags keys;
  OutputFlags output;
  HashFlags hash;
  bool quiet = false;
  bool strict = false;
  SpeechFlags speech;
  std::vector<std::string> files;
};

// All that is fixed before the first line is read.
struct Order {
  const KindRow* row = nullptr;
  Want want;
  Hasher hasher;
  LineRules lines;
  InputKeys::Way keys;
  bool remote = false;  // it goes to a Redis server
  // Of the set that this one is to be like.
  std::vector<std::pair<std::string, std::string>> shape;
};

Flags build_flags(BuildFlags& flags);
// Refuses flags that do not fit together. Opens the set of --like.
Order order_of(const BuildFlags& flags);
// The rules by which its keys were made, for those who ask it.
void note_rules(AnySet& set, const Order& order);

}  // namespace bloomery::cli

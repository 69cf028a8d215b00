// Lines as the keys of a set file: by the set's own rules for carriage returns and spelling, the
// part of the line that the flags name, as text or as the integers of an exact map.
//
//    SetLines keys(file.set, path, flags.keys);
//    keys.hand(*batch, inputs, [&](auto span) { file.set.add_all(span).value(); });
//
// If the set is wrong: nothing here; a line that is not a key of it is an error with its place.
// Threads: one.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include <bloomery/any_set.hpp>
#include <bloomery/text/lines.hpp>

#include <tools/cli/flags/key_flags.hpp>

#include "input_keys.hpp"

namespace bloomery::cli {

// What an integer outside the range of a map is: surely absent when asked, refused when added.
enum class Outside { absent, refused };

class SetLines {
 public:
  // Refuses flags that do not fit the set; `path` is its name.
  SetLines(const AnySet& set, const std::string& path, const KeyFlags& flags,
           Outside outside = Outside::absent);

  // Calls verb(keys) once, with one key for each line that has one; what they look at is valid
  // until the next call.
  template <class Verb>
  void hand(Lines lines, const Inputs& inputs, Verb&& verb) {
    const Lines texts = keys_.keys_of(lines, inputs);
    if (set_.input() == InputForm::ordinal)
      verb(ordinals(texts, lines, inputs));
    else
      verb(texts);
  }
  // Lines of the last batch that have no key, how many there were of them, and how answers to keys
  // become answers to lines.
  const InputKeys& keys() const { return keys_; }
  // How the lines are to be read.
  LineRules line_rules(const LineFlags& flags) const {
    return line_rules_of(flags, keys_.cutter());
  }

 private:
  std::span<const Ordinal> ordinals(Lines keys, Lines lines, const Inputs& inputs);

  const AnySet& set_;
  Outside outside_;
  InputKeys keys_;
  std::array<Ordinal, lines_per_batch> ordinals_{};
};

// Lines are text. Refuses a set of hashes or of 8-byte integers, which would say no to all of them,
// truly or not.
void expect_line_keys(const AnySet& set, const std::string& path);

}  // namespace bloomery::cli

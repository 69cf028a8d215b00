// Lines as the keys of a set file: by the set's own rule for carriage returns, as text or as the
// integers of an exact map.
//
//    SetLines keys(file.set);
//    keys.hand(*batch, inputs, [&](auto span) { file.set.add_all(span).value(); });
//
// If the set is wrong: nothing here; a line that is no key of this set is an error with its place.
// Threads: one.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include <bloomery/engines/lines.hpp>
#include <bloomery/sets/any_set.hpp>

namespace bloomery::cli {

// What an integer outside the range of a map is: surely absent when asked, refused when added.
enum class Outside { absent, refused };

class SetLines {
 public:
  explicit SetLines(const AnySet& set, Outside outside = Outside::absent)
      : set_(set), outside_(outside) {}

  // Calls verb(keys) once, with one key a line; what they look at is valid until the next call.
  template <class Verb>
  void hand(Lines lines, const Inputs& inputs, Verb&& verb) {
    if (set_.input() == InputForm::ordinal)
      verb(ordinals(lines, inputs));
    else
      verb(texts(lines));
  }

 private:
  std::string_view without_cr(std::string_view line) const;
  std::span<const std::string_view> texts(Lines lines);
  std::span<const Ordinal> ordinals(Lines lines, const Inputs& inputs);

  const AnySet& set_;
  Outside outside_;
  std::array<std::string_view, lines_per_batch> texts_;
  std::array<Ordinal, lines_per_batch> ordinals_{};
};

// Lines are text. Refuses a set of hashes or of 8-byte integers, which would say no to all of them,
// truly or not, and a set whose keys were normalised.
void expect_line_keys(const AnySet& set, const std::string& path);

}  // namespace bloomery::cli

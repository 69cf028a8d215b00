#include "set_lines.hpp"

#include <fmt/format.h>

#include <bloomery/engines/integers/numbers.hpp>

#include <tools/cli/report/refuse.hpp>
#include <tools/cli/sets/set_file.hpp>

#include "key_source.hpp"

namespace bloomery::cli {

SetLines::SetLines(const AnySet& set, const std::string& path, const KeyFlags& flags,
                   Outside outside)
    : set_(set),
      outside_(outside),
      keys_({cutter_of(flags), normalizer_of(flags, set, path), set.rules().strip_cr,
             flags.skip_bad, empty_keys_of(flags), flags.empty.has_value()}) {
  expect_parts(set, path, keys_.cutter(), flags.same_keys);
}

std::span<const Ordinal> SetLines::ordinals(Lines keys, Lines lines, const Inputs& inputs) {
  const Range range = set_.range().value();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto ordinal = parse_integer(keys[i], IntegerFormat::text);
    if (!ordinal) {
      const std::size_t line = keys_.line_of(i);
      refuse(fmt::format("{}: {} is not an unsigned decimal integer, and a {} holds integers",
                         keys_.place_of(line, inputs), quoted(lines[line]), set_.kind().name));
    }
    if (outside_ == Outside::refused && (*ordinal < range.low || *ordinal > range.high))
      refuse(fmt::format("{}: {} is outside the range of the set, {}..{}",
                         keys_.place_of(keys_.line_of(i), inputs), *ordinal, range.low,
                         range.high));
    ordinals_[i] = Ordinal{*ordinal};
  }
  return std::span<const Ordinal>(ordinals_).first(keys.size());
}

void expect_line_keys(const AnySet& set, const std::string& path) {
  const KeyForm form = set.rules().form;
  if (set.input() == InputForm::ordinal || form == KeyForm::none || form == KeyForm::text) return;
  refuse(
      fmt::format("{}: its keys have the form '{}', and lines are text; only the program that "
                  "made the set can use it",
                  path, name_of(form)));
}

}  // namespace bloomery::cli

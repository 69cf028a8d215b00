#include "set_lines.hpp"

#include <fmt/format.h>

#include <bloomery/engines/numbers.hpp>

#include "command.hpp"
#include "set_file.hpp"

namespace bloomery::cli {

std::string_view SetLines::without_cr(std::string_view line) const {
  if (set_.rules().strip_cr && line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::span<const std::string_view> SetLines::texts(Lines lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) texts_[i] = without_cr(lines[i]);
  return Lines(texts_).first(lines.size());
}

std::span<const Ordinal> SetLines::ordinals(Lines lines, const Inputs& inputs) {
  const Range range = set_.range().value();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto ordinal = parse_integer(without_cr(lines[i]), IntegerFormat::text);
    if (!ordinal)
      refuse(fmt::format("{}, line {}: {} is no unsigned decimal integer, and a {} holds integers",
                         inputs.name(), inputs.first_line() + i, quoted(lines[i]),
                         set_.kind().name));
    if (outside_ == Outside::refused && (*ordinal < range.low || *ordinal > range.high))
      refuse(fmt::format("{}, line {}: {} is outside the range of the set, {}..{}", inputs.name(),
                         inputs.first_line() + i, *ordinal, range.low, range.high));
    ordinals_[i] = Ordinal{*ordinal};
  }
  return std::span<const Ordinal>(ordinals_).first(lines.size());
}

void expect_line_keys(const AnySet& set, const std::string& path) {
  expect_plain_keys(set, path);
  const KeyForm form = set.rules().form;
  if (set.input() == InputForm::ordinal || form == KeyForm::none || form == KeyForm::text) return;
  refuse(
      fmt::format("{}: its keys have the form '{}', and lines are text; only the program that "
                  "made the set can use it",
                  path, name_of(form)));
}

}  // namespace bloomery::cli

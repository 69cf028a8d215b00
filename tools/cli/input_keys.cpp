#include "input_keys.hpp"

#include <fmt/format.h>

#include "command.hpp"

namespace bloomery::cli {

InputKeys::InputKeys(Way way)
    : way_(std::make_unique<const Way>(std::move(way))),
      keys_(way_->cutter, way_->strip_cr, way_->normalizer ? &*way_->normalizer : nullptr) {}

std::string InputKeys::place_of(std::size_t line, const Inputs& inputs) const {
  return fmt::format("{}, {} {}", inputs.name(), unit(), inputs.first_line() + line);
}

Lines InputKeys::keys_of(Lines lines, const Inputs& inputs) {
  if (way_->cutter.has_header() && inputs.first_line() == 2)
    columns_ = way_->cutter.columns_of(inputs.header(), inputs.name()).value();
  // Not once and for all: this may have been moved.
  keys_.set_columns(&columns_);
  const Lines keys = keys_.keys_of(lines);
  const auto missing = keys_.without_key();
  if (missing.empty()) return keys;
  if (!way_->skip_bad)
    refuse(fmt::format("{} {}; --skip-bad passes over such {}s", place_of(missing.front(), inputs),
                       keys_.why_none(lines[missing.front()]), unit()));
  bad_ += missing.size();
  present_.clear();
  for (const std::string_view key : keys)
    if (key.data() != nullptr) present_.push_back(key);
  return present_;
}

std::size_t InputKeys::line_of(std::size_t key) const {
  for (const std::uint32_t missing : without_key()) {
    if (missing > key) break;
    ++key;
  }
  return key;
}

void report_keys(Report& report, const InputKeys& keys) {
  if (keys.skips_bad()) report.count("bad_in", keys.bad());
  if (keys.normalizes()) report.count("not_normalized", keys.not_normalized());
}

void InputKeys::forget_counts() {
  bad_ = 0;
  not_normalized_before_ = keys_.not_normalized();
}

}  // namespace bloomery::cli

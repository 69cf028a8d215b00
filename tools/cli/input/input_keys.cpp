#include "input_keys.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <tools/cli/report/refuse.hpp>
#include <tools/cli/report/units.hpp>

namespace bloomery::cli {

InputKeys::InputKeys(Way way)
    : way_(std::make_unique<const Way>(std::move(way))),
      keys_(way_->cutter, way_->strip_cr, way_->normalizer ? &*way_->normalizer : nullptr) {
  if (way_->empty_chosen) keys_.find_empty_lines();
}

std::string InputKeys::place_of(std::size_t line, const Inputs& inputs) const {
  return fmt::format("{}, {} {}", inputs.name(), unit(), inputs.first_line() + line);
}

void InputKeys::learn_columns(const Inputs& inputs) {
  columns_ = way_->cutter.columns_of(inputs.header(), inputs.name()).value();
  std::string reading = way_->cutter.reading_of(inputs.header());
  if (first_file_.empty()) {
    reading_ = std::move(reading);
    first_file_ = inputs.name();
  } else if (reading != reading_) {
    refuse(
        fmt::format("--column is the name of a column in one of {} and {}, and a number or a list "
                    "in the other; give the files one by one",
                    first_file_, inputs.name()));
  }
}

Lines InputKeys::keys_of(Lines lines, const Inputs& inputs) {
  if (way_->cutter.has_header() && inputs.first_line() == 2) learn_columns(inputs);
  // Not once and for all: this may have been moved.
  keys_.set_columns(&columns_);
  const Lines keys = keys_.keys_of(lines);
  const auto bad = keys_.without_key();
  if (!bad.empty() && !way_->skip_bad)
    refuse(fmt::format("{} {}; --skip-bad skips such {}s", place_of(bad.front(), inputs),
                       keys_.why_none(lines[bad.front()]), unit()));
  const auto empty = keys_.empty_keys();
  bad_ += bad.size();
  empty_ += empty.size();
  left_out_.assign(bad.begin(), bad.end());
  if (way_->empty != EmptyKeys::one) {
    left_out_.insert(left_out_.end(), empty.begin(), empty.end());
    std::inplace_merge(left_out_.begin(), left_out_.begin() + static_cast<long>(bad.size()),
                       left_out_.end());
  }
  if (left_out_.empty()) return keys;
  present_.clear();
  std::size_t next = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (next < left_out_.size() && left_out_[next] == i)
      ++next;
    else
      present_.push_back(keys[i]);
  }
  return present_;
}

bool InputKeys::is_bad(std::size_t line) const {
  const auto bad = keys_.without_key();
  return std::binary_search(bad.begin(), bad.end(), line);
}

bool InputKeys::is_dropped(std::size_t line) const {
  const auto empty = keys_.empty_keys();
  return drops() && std::binary_search(empty.begin(), empty.end(), line);
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
  if (!keys.cutter().whole_line() || keys.way().empty_chosen)
    report.count("empty_keys", keys.empty());
  if (keys.normalizes()) report.count("not_normalized", keys.not_normalized());
}

std::string empty_sentence(std::uint64_t count, std::string_view unit, std::string_view became,
                           std::string_view instead) {
  return fmt::format("{} {} with an empty key {} {}; --empty one {}", print_count(count),
                     count == 1 ? std::string(unit) : fmt::format("{}s", unit),
                     count == 1 ? "was" : "were", became, instead);
}

std::string no_checkpoint_sentence(const std::string& state) {
  return fmt::format(
      "{} is saved at the end only: a record with an empty key came, and would be printed again by "
      "a run that goes on behind it; --empty one or drop lets it be saved",
      state);
}

void warn_empty(Messages& messages, const InputKeys& keys, std::uint64_t count,
                std::string_view became, std::string_view instead) {
  if (count == 0 || keys.way().empty_chosen || keys.cutter().whole_line()) return;
  messages.warning(empty_sentence(count, keys.unit(), became, instead));
}

void InputKeys::forget_counts() {
  bad_ = 0;
  empty_ = 0;
  not_normalized_before_ = keys_.not_normalized();
}

}  // namespace bloomery::cli

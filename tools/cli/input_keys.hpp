// The keys of the lines that a command reads: the library's LineKeys, with the place of a line in
// the sentence that refuses it, and the columns of each CSV file.
//
// If the set is wrong: nothing here; a line without a key is an error with its place, or passed
//          over and counted.
// Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <bloomery/engines/line_keys.hpp>
#include <bloomery/engines/lines.hpp>

#include "report.hpp"

namespace bloomery::cli {

class InputKeys {
 public:
  struct Way {
    FieldCutter cutter;
    std::optional<Normalizer> normalizer;
    bool strip_cr = false;
    bool skip_bad = false;
  };
  explicit InputKeys(Way way);

  // The keys of a batch of these inputs, without those of lines that have none; valid until the
  // next call.
  Lines keys_of(Lines lines, const Inputs& inputs);
  // Which lines of the last batch had none: ascending.
  std::span<const std::uint32_t> without_key() const { return keys_.without_key(); }
  // The line of the last batch that a key of it comes from.
  std::size_t line_of(std::size_t key) const;
  // "line", or "record" for CSV, where newlines inside of quotes are not counted.
  std::string_view unit() const { return way_->cutter.csv_separator() ? "record" : "line"; }
  // "F, line 7"
  std::string place_of(std::size_t line, const Inputs& inputs) const;

  // Turns answers to the keys of the last batch, at the front, into answers to its lines.
  template <class Answer>
  void spread(std::span<Answer> answers) const;

  // Of all batches. A first look is not counted.
  const FieldCutter& cutter() const { return way_->cutter; }
  bool skips_bad() const { return way_->skip_bad; }
  bool normalizes() const { return way_->normalizer.has_value(); }
  std::uint64_t bad() const { return bad_; }
  std::uint64_t not_normalized() const { return keys_.not_normalized() - not_normalized_before_; }
  void forget_counts();

 private:
  std::unique_ptr<const Way> way_;
  LineKeys keys_;
  CsvColumns columns_;
  std::vector<std::string_view> present_;
  std::uint64_t bad_ = 0;
  std::uint64_t not_normalized_before_ = 0;
};

// bad_in, when lines without a key are passed over; not_normalized, when keys are normalised.
void report_keys(Report& report, const InputKeys& keys);

template <class Answer>
void InputKeys::spread(std::span<Answer> answers) const {
  const auto missing = without_key();
  std::size_t key = answers.size() - missing.size();
  std::size_t left = missing.size();
  for (std::size_t line = answers.size(); left > 0; --line) {
    if (missing[left - 1] == line - 1) {
      answers[line - 1] = Answer{};
      --left;
    } else {
      answers[line - 1] = answers[--key];
    }
  }
}

}  // namespace bloomery::cli

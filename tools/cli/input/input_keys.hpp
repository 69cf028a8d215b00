// The keys of the lines that a command reads: the library's LineKeys, with the place of a line in
// the sentence that refuses it, and the columns of each CSV file.
//
// If the set is wrong: nothing here; a line without a key is an error with its place, or skipped
//          and counted.
// Threads: one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <bloomery/engines/keys/line_keys.hpp>
#include <bloomery/text/lines.hpp>

#include <tools/cli/flags/key_flags.hpp>
#include <tools/cli/report/messages.hpp>
#include <tools/cli/report/report.hpp>

namespace bloomery::cli {

class InputKeys {
 public:
  struct Way {
    FieldCutter cutter;
    std::optional<Normalizer> normalizer;
    bool strip_cr = false;
    bool skip_bad = false;
    EmptyKeys empty = EmptyKeys::one;
    bool empty_chosen = false;  // the user said what to do with them
  };
  explicit InputKeys(Way way);

  // The keys of a batch of these inputs, without those of lines that have none, or an empty one
  // that is not a key like any other; valid until the next call.
  Lines keys_of(Lines lines, const Inputs& inputs);
  // Refuses a header without the columns.
  void expect_columns(const Inputs::HeaderAlone& alone) const {
    way_->cutter.columns_of(alone.header, alone.file).value();
  }
  // For LineSource.
  std::function<void(const Inputs::HeaderAlone&)> when_alone() const {
    return [this](const Inputs::HeaderAlone& alone) { expect_columns(alone); };
  }
  // Which lines of the last batch have no key in it: ascending.
  std::span<const std::uint32_t> without_key() const { return left_out_; }
  // Of those, how many have none at all, and how many an empty one.
  std::uint64_t bad_in_batch() const { return keys_.without_key().size(); }
  std::uint64_t empty_in_batch() const { return keys_.empty_keys().size(); }
  // Lines of the last batch that are skipped: they are neither in a set nor absent.
  std::uint64_t dropped_in_batch() const { return drops() ? empty_in_batch() : 0; }
  bool is_dropped(std::size_t line) const;
  bool is_bad(std::size_t line) const;
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
  std::uint64_t empty() const { return empty_; }
  std::uint64_t not_normalized() const { return keys_.not_normalized() - not_normalized_before_; }
  void forget_counts();
  const Way& way() const { return *way_; }

 private:
  void learn_columns(const Inputs& inputs);
  bool drops() const { return way_->empty == EmptyKeys::drop; }
  std::unique_ptr<const Way> way_;
  LineKeys keys_;
  CsvColumns columns_;
  std::string first_file_;  // with a header, and how its columns were found
  std::string reading_;
  std::vector<std::string_view> present_;
  std::vector<std::uint32_t> left_out_;
  std::uint64_t bad_ = 0;
  std::uint64_t empty_ = 0;
  std::uint64_t not_normalized_before_ = 0;
};

// bad_in, when lines without a key are skipped; empty_keys, when a part of the line is the key;
// not_normalized, when keys are normalised.
void report_keys(Report& report, const InputKeys& keys);
// "2 records with an empty key were taken for absent; --empty one asks for it"
std::string empty_sentence(std::uint64_t count, std::string_view unit, std::string_view became,
                           std::string_view instead);
// Why a state is not saved any more before the end.
std::string no_checkpoint_sentence(const std::string& state);
// Tells of empty keys that nobody has said anything about.
void warn_empty(Messages& messages, const InputKeys& keys, std::uint64_t count,
                std::string_view became, std::string_view instead);

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

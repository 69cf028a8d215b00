// Lines to keys, a batch at a time: without the carriage return, the field of it, normalised.
//
//    line --strip_cr--> record --FieldCutter--> field --Normalizer--> key
//
//    const auto columns = cutter.columns_of(header, file).value();     CSV with a header only
//    LineKeys keys(cutter, strip_cr, &normalizer, &columns);
//    for (...) set.add_all(keys.keys_of(lines));                       if none lacks one
//
// If there is nothing to cut or normalise, the lines are the keys, without a copy.
// If the set is wrong: nothing here; a record without a key has none, and is counted.
// Threads: one LineKeys, one thread; what it is made of is shared by all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/engines/keys/fields.hpp>
#include <bloomery/engines/keys/key_maker.hpp>
#include <bloomery/text/normalize.hpp>

namespace bloomery::inline v0::detail {

class LineKeys final : public KeyMaker {
 public:
  // All three outlive this. No normalizer: keys as they are. Columns are those of the file that the
  // lines come from, where it has a header.
  LineKeys(const FieldCutter& cutter, bool strip_cr, const Normalizer* normalizer,
           const CsvColumns* columns = nullptr)
      : cutter_(&cutter), strip_cr_(strip_cr), normalizer_(normalizer), columns_(columns) {}

  // The lines of another file come.
  void set_columns(const CsvColumns* columns) { columns_ = columns; }
  // Look for empty keys among whole lines too; where a part of the line is cut that is always done.
  void find_empty_lines() { find_empty_lines_ = true; }

  // One key a line, valid until the next call and as long as the lines are; a null pointer where a
  // line has none.
  Lines keys_of(Lines lines) override;
  // "has no key, because it has too few fields: 'x'"; nothing when it has one.
  std::string why_none(std::string_view line) const override;

  // Which lines of the last batch had none: ascending.
  std::span<const std::uint32_t> without_key() const { return without_key_; }
  std::span<const std::uint32_t> empty_keys() const override { return empty_keys_; }
  // Keys that are not what the normalisation is for, of all batches.
  std::uint64_t not_normalized() const { return scratch_.not_normalized; }

 private:
  std::string_view without_cr(std::string_view line) const {
    if (strip_cr_ && line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  const FieldCutter* cutter_;
  bool strip_cr_;
  const Normalizer* normalizer_;
  const CsvColumns* columns_;
  CutScratch scratch_;
  std::vector<std::string_view> keys_;
  std::vector<std::uint32_t> without_key_;
  std::vector<std::uint32_t> empty_keys_;
  bool find_empty_lines_ = false;
};

}  // namespace bloomery::inline v0::detail

// Lines to keys, a batch at a time: without the carriage return, the field of it, normalised.
//
//    line --strip_cr--> record --FieldCutter--> field --Normalizer--> key
//
// Where nothing is to be done the lines are the keys, and nothing is.
// If the set is wrong: nothing here; a record without a key is an Error that names it, or counted.
// Threads: one LineKeys, one thread; cutter and normalizer are shared.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <bloomery/engines/fields.hpp>
#include <bloomery/engines/key_maker.hpp>
#include <bloomery/engines/normalize.hpp>
#include <bloomery/error.hpp>

namespace bloomery {

class LineKeys final : public KeyMaker {
 public:
  // Both outlive this; no normalizer: keys as they are.
  LineKeys(const FieldCutter& cutter, bool strip_cr, const Normalizer* normalizer);

  bool has_header() const override { return cutter_->has_header(); }
  Result<CsvColumns> columns_of(std::string_view header, std::string_view file) const override {
    return cutter_->columns_of(header, file);
  }
  Result<Lines> keys_of(Lines lines, const LinePlace& place) override;
  std::span<const std::uint32_t> without_key() const override { return without_key_; }
  std::unique_ptr<KeyMaker> another() const override;

  // Since the beginning: records without a key that were passed over, and keys that are not what
  // the normalisation is for.
  std::uint64_t bad() const { return bad_; }
  std::uint64_t not_normalized() const { return not_normalized_; }

 private:
  Error refusal(std::string_view record, std::uint64_t number, std::string_view file,
                const char* why) const;

  const FieldCutter* cutter_;
  bool strip_cr_;
  const Normalizer* normalizer_;
  CutScratch scratch_;
  UrlScratch url_scratch_;
  std::vector<std::string_view> keys_;
  std::vector<std::uint32_t> without_key_;
  std::uint64_t bad_ = 0;
  std::uint64_t not_normalized_ = 0;
};

}  // namespace bloomery

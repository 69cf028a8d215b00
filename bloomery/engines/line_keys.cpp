#include <bloomery/engines/line_keys.hpp>

#include <string>

namespace bloomery {

LineKeys::LineKeys(const FieldCutter& cutter, bool strip_cr, const Normalizer* normalizer)
    : cutter_(&cutter), strip_cr_(strip_cr), normalizer_(normalizer) {}

std::unique_ptr<KeyMaker> LineKeys::another() const {
  return std::make_unique<LineKeys>(*cutter_, strip_cr_, normalizer_);
}

Error LineKeys::refusal(std::string_view record, std::uint64_t number, std::string_view file,
                        const char* why) const {
  // Lines inside of quotes are not counted as records.
  const bool csv = cutter_->csv_separator().has_value();
  return {Code::bad_input, std::string(file) + (csv ? ", record " : ", line ") +
                               std::to_string(number) + ": " + quoted(record) +
                               " has no key: " + why};
}

Result<Lines> LineKeys::keys_of(Lines lines, const LinePlace& place) {
  without_key_.clear();
  if (!strip_cr_ && normalizer_ == nullptr && cutter_->whole_line()) return lines;
  keys_.clear();
  scratch_.room.clear();
  const bool whole_line = cutter_->whole_line();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string_view key = lines[i];
    if (strip_cr_ && key.ends_with('\r')) key.remove_suffix(1);
    if (!whole_line) {
      const Cut cut = cutter_->cut(key, place.columns, scratch_);
      if (cut.why != nullptr) {
        if (!cutter_->rules().skip_bad)
          return refusal(lines[i], place.first_line + i, place.file, cut.why);
        without_key_.push_back(static_cast<std::uint32_t>(i));
        ++bad_;
        continue;
      }
      key = cut.key;
    }
    if (normalizer_ != nullptr) {
      const Normalized normalized = (*normalizer_)(key, url_scratch_, scratch_.room);
      not_normalized_ += !normalized.fits;
      key = normalized.key;
    }
    keys_.push_back(key);
  }
  return Lines(keys_);
}

}  // namespace bloomery

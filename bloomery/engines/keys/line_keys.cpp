#include <bloomery/engines/keys/line_keys.hpp>

namespace bloomery::inline v0::detail {

Lines LineKeys::keys_of(Lines lines) {
  without_key_.clear();
  empty_keys_.clear();
  const bool whole_line = cutter_->whole_line();
  const bool as_it_is = whole_line && normalizer_ == nullptr;
  const bool find_empty = !whole_line || find_empty_lines_;
  if (as_it_is && !strip_cr_ && !find_empty) return lines;
  keys_.resize(lines.size());
  scratch_.room.clear();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto number = static_cast<std::uint32_t>(i);
    keys_[i] = without_cr(lines[i]);
    if (as_it_is) {
      if (find_empty && keys_[i].empty()) empty_keys_.push_back(number);
      continue;
    }
    const Cut cut = cutter_->cut(keys_[i], columns_, scratch_, normalizer_);
    keys_[i] = cut.key;
    if (cut.why != nullptr)
      without_key_.push_back(number);
    else if (cut.empty && find_empty)
      empty_keys_.push_back(number);
  }
  return Lines(keys_);
}

std::string LineKeys::why_none(std::string_view line) const {
  CutScratch scratch;
  const Cut cut = cutter_->cut(without_cr(line), columns_, scratch);
  if (cut.why == nullptr) return {};
  return "has no key, because " + std::string(cut.why) + ": " + quoted(line);
}

}  // namespace bloomery::inline v0::detail

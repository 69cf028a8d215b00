#include <bloomery/engines/line_keys.hpp>

namespace bloomery {

Lines LineKeys::keys_of(Lines lines) {
  without_key_.clear();
  const bool whole_line = cutter_->whole_line();
  if (!strip_cr_ && normalizer_ == nullptr && whole_line) return lines;
  keys_.resize(lines.size());
  scratch_.room.clear();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    keys_[i] = without_cr(lines[i]);
    if (whole_line && normalizer_ == nullptr) continue;
    const Cut cut = cutter_->cut(keys_[i], columns_, scratch_, normalizer_);
    keys_[i] = cut.key;
    if (cut.why != nullptr) without_key_.push_back(static_cast<std::uint32_t>(i));
  }
  return Lines(keys_);
}

std::string LineKeys::why_none(std::string_view line) const {
  CutScratch scratch;
  const Cut cut = cutter_->cut(without_cr(line), columns_, scratch);
  if (cut.why == nullptr) return {};
  return "has no key, because " + std::string(cut.why) + ": " + quoted(line);
}

}  // namespace bloomery

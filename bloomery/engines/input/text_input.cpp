#include <bloomery/engines/input/text_input.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <bloomery/engines/input/not_text.hpp>
#include <bloomery/engines/input/unmarked_text.hpp>
#include <bloomery/engines/input/utf16.hpp>
#include <bloomery/storage/image_layout.hpp>
#include <bloomery/text/decompress.hpp>

namespace bloomery::inline v0::detail {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view utf8_mark = "\xef\xbb\xbf"sv;
constexpr std::string_view utf16_little_mark = "\xff\xfe"sv;
constexpr std::string_view utf16_big_mark = "\xfe\xff"sv;

bool begins(std::string_view bytes, std::string_view mark) { return bytes.starts_with(mark); }
bool begins_as_set(std::string_view bytes) {
  return std::ranges::equal(bytes.substr(0, detail::magic.size()), detail::magic, {},
                            [](char c) { return static_cast<std::uint8_t>(c); });
}

Error refusal(std::string_view what, std::string_view advice, const TextRules& rules) {
  const bool text = what.starts_with("UTF-");
  std::string sentence = "this is " + std::string(what) + (text ? ", not UTF-8; " : ", not text; ");
  // Behind a command whose output is to be read stands a bar.
  const std::size_t bar = std::min(advice.find(" |"), advice.size());
  sentence += advice.substr(0, bar);
  if (bar < advice.size()) {
    if (!rules.reader.empty()) sentence += " | " + rules.reader;
    sentence += advice.substr(bar + 2);
  }
  if (!rules.otherwise.empty()) sentence += "; " + rules.otherwise;
  return {Code::bad_input, std::move(sentence)};
}

bool may_begin(std::string_view bytes, std::string_view mark) {
  return bytes.size() < mark.size() && mark.starts_with(bytes);
}

// What the first bytes of a text say, after any decompression.
class TextLook {
 public:
  explicit TextLook(const TextRules& rules) : rules_(rules) {}

  Result<Recognised> operator()(std::string_view first, bool all) const {
    const bool whole = all;
    all = all || first.size() >= recognised_bytes;
    const NotText other = find_not_text(first, all);
    if (!other.what.empty()) return refusal(other.what, other.advice, rules_);
    if (begins(first, utf8_mark)) return Recognised{.skip = utf8_mark.size()};
    for (const auto& [mark, order] : {std::pair(utf16_little_mark, ByteOrder::little),
                                      std::pair(utf16_big_mark, ByteOrder::big)}) {
      // Two bytes may still become the mark of UTF-32.
      if (!begins(first, mark)) continue;
      return Recognised{.decided = !other.unsure || has_record(first),
                        .decoder = utf16_decoder(order, mark.size()),
                        .skip = mark.size()};
    }
    const bool zero_lines = rules_.delimiter.find('\0') != std::string::npos;
    if (!zero_lines && (all || (has_record(first) && !awaits_wide_newline(first))))
      if (const auto name = unmarked_encoding(first, whole); !name.empty())
        return refusal(std::string(name.substr(0, 6)) + " without a byte order mark",
                       "convert it: iconv -f " + std::string(name) + " -t UTF-8 FILE |", rules_);
    return Recognised{.decided = all || is_decided(first, other, zero_lines)};
  }

 private:
  // The first record may be one of UTF-16 or UTF-32 whose newline lacks up to three zeros yet.
  bool awaits_wide_newline(std::string_view first) const {
    const std::string_view record = first.substr(0, first.find(rules_.delimiter));
    return !first.empty() && first.size() < record.size() + 4 && may_become_unmarked(first);
  }

  bool has_record(std::string_view first) const {
    return first.find(rules_.delimiter) != std::string_view::npos;
  }

  bool is_decided(std::string_view first, const NotText& other, bool zero_lines) const {
    if (!zero_lines && awaits_wide_newline(first)) return false;
    if (has_record(first)) return true;
    return !other.unsure && !may_begin(first, utf8_mark) && !may_begin(first, utf16_little_mark) &&
           !may_begin(first, utf16_big_mark);
  }

  const TextRules& rules_;
};

// A compressed stream, and what its first bytes turn out to be.
//
//    in --first--> middle [taken, filled) --second--> out
//
// `middle` holds those first bytes; without a second decoder, what comes behind them goes straight
// from the first one to `out`.
class Unpacked final : public Decoder {
 public:
  Unpacked(std::unique_ptr<Decoder> first, const TextRules& rules)
      : first_(std::move(first)), rules_(rules), middle_(middle_bytes) {}

  Decoded decode(std::span<const char> in, std::span<char> out, bool last) override {
    Decoded step;
    for (;;) {
      if (!looking_ && second_ == nullptr) {
        step.made = give(out);
        if (step.made > 0) return step;
        if (failed_ || ended_) break;
        Decoded direct = first_->decode(in.subspan(step.taken), out, last);
        direct.taken += step.taken;
        return direct;
      }
      if (looking_) {
        if (auto refused = look(); refused) return {step.taken, 0, std::move(refused)};
        if (!looking_) continue;
      } else {
        Decoded made = second_->decode(waiting(), out, ended_ && !failed_);
        taken_ += made.taken;
        if (made.made > 0 || made.failed) return {step.taken, made.made, std::move(made.failed)};
        if (made.taken > 0) continue;
        if (failed_ || ended_) break;
      }
      if (!unpack(in, last, step)) return step;
    }
    if (failed_) step.failed = std::move(failed_);
    return step;
  }

 private:
  static constexpr std::size_t middle_bytes = std::size_t{64} << 10;

  std::span<const char> waiting() const {
    return std::span<const char>(middle_).subspan(taken_, filled_ - taken_);
  }

  std::size_t give(std::span<char> out) {
    const std::size_t bytes = std::min(out.size(), filled_ - taken_);
    if (bytes > 0) std::memcpy(out.data(), middle_.data() + taken_, bytes);
    taken_ += bytes;
    return bytes;
  }

  // More for the middle; false when more of the file is needed first.
  bool unpack(std::span<const char> in, bool last, Decoded& step) {
    std::memmove(middle_.data(), middle_.data() + taken_, filled_ - taken_);
    filled_ -= std::exchange(taken_, 0);
    Decoded made =
        first_->decode(in.subspan(step.taken), std::span(middle_).subspan(filled_), last);
    step.taken += made.taken;
    filled_ += made.made;
    if (made.failed) {
      failed_ = std::move(made.failed);
      ended_ = true;
    } else if (made.taken == 0 && made.made == 0) {
      ended_ = last;
      return last;
    }
    return true;
  }

  // Looks at the first decoded bytes; an Error if they are not text.
  std::optional<Error> look() {
    const std::string_view first(middle_.data(), filled_);
    if (const std::string_view codec = compressed_as(first); !codec.empty())
      return refusal("a " + std::string(codec) + " stream inside of a compressed one",
                     "decode the outer one first: zcat FILE |", rules_);
    if (begins_as_set(first))
      return refusal("a set file of bloomery that was compressed",
                     "decompress it first, and name what comes out", rules_);
    const auto again = open_decompressor(first);
    if (!ended_ && again && !again->decided) return std::nullopt;
    auto found = TextLook(rules_)(first, ended_);
    if (!found) return found.error();
    if (!found->decided && !ended_) return std::nullopt;
    looking_ = false;
    taken_ = found->skip;
    second_ = std::move(found->decoder);
    return std::nullopt;
  }

  std::unique_ptr<Decoder> first_;
  std::unique_ptr<Decoder> second_;
  const TextRules rules_;
  std::vector<char> middle_;
  std::size_t taken_ = 0;
  std::size_t filled_ = 0;
  bool looking_ = true;
  bool ended_ = false;           // the first decoder has no more
  std::optional<Error> failed_;  // of the first decoder, returned after what it made
};

}  // namespace

OpenDecoder open_text(TextRules rules) {
  return [rules = std::move(rules)](std::string_view first, bool all) -> Result<Recognised> {
    bool may_be_compressed = false;
    if (rules.decompress) {
      auto packed = open_decompressor(first);
      if (!packed) return packed;
      if (packed->decoder != nullptr)
        return Recognised{.decoder = std::make_unique<Unpacked>(std::move(packed->decoder), rules)};
      may_be_compressed = !packed->decided;
    }
    auto found = TextLook(rules)(first, all);
    if (found) found->decided = found->decided && (all || !may_be_compressed);
    return found;
  };
}

}  // namespace bloomery::inline v0::detail

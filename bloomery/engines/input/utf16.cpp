#include <bloomery/engines/input/utf16.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace bloomery::inline v0::detail {
namespace {

constexpr bool is_high(std::uint32_t unit) { return unit >> 10 == 0xd800 >> 10; }
constexpr bool is_low(std::uint32_t unit) { return unit >> 10 == 0xdc00 >> 10; }

// One character of up to four bytes that is on its way out.
class Utf8 {
 public:
  bool empty() const { return given_ == made_; }
  void put(std::uint32_t c) {
    given_ = made_ = 0;
    if (c < 0x80) return add(c);
    if (c < 0x800) {
      add(0xc0 | c >> 6);
    } else if (c < 0x10000) {
      add(0xe0 | c >> 12);
      add(0x80 | (c >> 6 & 0x3f));
    } else {
      add(0xf0 | c >> 18);
      add(0x80 | (c >> 12 & 0x3f));
      add(0x80 | (c >> 6 & 0x3f));
    }
    add(0x80 | (c & 0x3f));
  }
  void give(std::span<char> out, std::size_t& made) {
    while (!empty() && made < out.size()) out[made++] = bytes_[given_++];
  }

 private:
  void add(std::uint32_t byte) { bytes_[made_++] = static_cast<char>(byte); }

  std::array<char, 4> bytes_{};
  std::size_t given_ = 0;
  std::size_t made_ = 0;
};

class Utf16Decoder final : public Decoder {
 public:
  Utf16Decoder(ByteOrder order, std::size_t skipped)
      : low_byte_(order == ByteOrder::little ? 0 : 1), offset_(skipped) {}

  Decoded decode(std::span<const char> in, std::span<char> out, bool last) override {
    Decoded step;
    for (;;) {
      pending_.give(out, step.made);
      if (step.made == out.size() || in.size() - step.taken < 2) break;
      const std::uint32_t unit = unit_at(in, step.taken);
      step.taken += 2;
      if (!take(unit, step)) return step;
      offset_ += 2;
    }
    const bool done = last && pending_.empty() && in.size() - step.taken < 2;
    if (done && step.taken < in.size())
      step.failed = broken("ends in the middle of a character: it has an odd number of bytes");
    else if (done && high_ != 0)
      step.failed = broken("ends with the first half of a surrogate pair");
    return step;
  }

 private:
  std::uint32_t unit_at(std::span<const char> in, std::size_t at) const {
    const auto byte = [&](std::size_t which) {
      return std::uint32_t{static_cast<unsigned char>(in[at + which])};
    };
    return byte(low_byte_) | byte(1 - low_byte_) << 8;
  }

  // False: it does not fit the one before it.
  bool take(std::uint32_t unit, Decoded& step) {
    if (is_low(unit) != (high_ != 0)) {
      step.failed =
          broken(high_ != 0 ? "has the first half of a surrogate pair without the second"
                            : "has the second half of a surrogate pair without the first");
      return false;
    }
    if (is_high(unit)) {
      high_ = unit;
      return true;
    }
    pending_.put(high_ == 0 ? unit : 0x10000 + ((high_ & 0x3ff) << 10 | (unit & 0x3ff)));
    high_ = 0;
    newlines_ += unit == 0x0a;
    return true;
  }

  Error broken(const char* how) const {
    return {Code::damaged, "line " + std::to_string(newlines_ + 1) + " (byte " +
                               std::to_string(offset_) + "): the UTF-16 text " + how +
                               "; fetch or make the file again"};
  }

  const std::size_t low_byte_;  // of the two of a unit
  std::uint64_t offset_;        // of the next unit
  std::uint64_t newlines_ = 0;
  std::uint32_t high_ = 0;  // waits for its other half
  Utf8 pending_;
};

}  // namespace

std::unique_ptr<Decoder> utf16_decoder(ByteOrder order, std::size_t skipped) {
  return std::make_unique<Utf16Decoder>(order, skipped);
}

}  // namespace bloomery::inline v0::detail

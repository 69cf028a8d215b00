// SipHash-1-3: the keyed hash for keys that an opponent may choose.
//
// One round per 8 bytes, three at the end, over four words set up from a 128-bit secret.
// An XXH3 seed is not such a secret: keys that collide under every seed are published.
// Limits:  a secret that is printed, logged or guessable protects nothing.
// See:     Aumasson and Bernstein, "SipHash: a fast short-input PRF"; siphash_test pins it against
//          an independent implementation.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bloomery::inline v0::detail {

struct SecretKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend constexpr bool operator==(const SecretKey&, const SecretKey&) = default;
};

// All images and hashes are defined on little-endian words; see docs/format.md.
static_assert(std::endian::native == std::endian::little,
              "bloomery reads words as little-endian; a big-endian port must swap them here");

class SipState {
 public:
  explicit constexpr SipState(SecretKey key)
      // "somepseudorandomlygeneratedbytes", as in the paper.
      : a_(key.low ^ 0x736f'6d65'7073'6575),
        b_(key.high ^ 0x646f'7261'6e64'6f6d),
        c_(key.low ^ 0x6c79'6765'6e65'7261),
        d_(key.high ^ 0x7465'6462'7974'6573) {}

  constexpr void absorb(std::uint64_t word) {
    d_ ^= word;
    round();
    a_ ^= word;
  }

  constexpr std::uint64_t finish() {
    c_ ^= 0xff;
    round();
    round();
    round();
    return a_ ^ b_ ^ c_ ^ d_;
  }

 private:
  constexpr void round() {
    a_ += b_;
    b_ = std::rotl(b_, 13) ^ a_;
    a_ = std::rotl(a_, 32);
    c_ += d_;
    d_ = std::rotl(d_, 16) ^ c_;
    a_ += d_;
    d_ = std::rotl(d_, 21) ^ a_;
    c_ += b_;
    b_ = std::rotl(b_, 17) ^ c_;
    c_ = std::rotl(c_, 32);
  }

  std::uint64_t a_, b_, c_, d_;
};

inline std::uint64_t siphash13(const void* bytes, std::size_t length, SecretKey key) {
  detail::SipState state(key);
  const auto* next = static_cast<const unsigned char*>(bytes);
  std::size_t left = length;
  for (; left >= 8; left -= 8, next += 8) {
    std::uint64_t word;
    std::memcpy(&word, next, 8);
    state.absorb(word);
  }
  // The last word: up to seven bytes left over, and the length in the top byte. After a whole word
  // they are read by one load of eight bytes, and the bytes before them are shifted out.
  std::uint64_t last = std::uint64_t{length} << 56;
  if (length >= 8) {
    std::uint64_t word;
    std::memcpy(&word, next + left - 8, 8);
    last |= word >> 1 >> (63 - 8 * left);
  } else {
    for (std::size_t i = 0; i < left; ++i) last |= std::uint64_t{next[i]} << (8 * i);
  }
  state.absorb(last);
  return state.finish();
}

}  // namespace bloomery::inline v0::detail

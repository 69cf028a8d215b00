// Fields of w bits side by side in 64-bit words: two-bit states, counters, fingerprints.
//
//    w = 2:   | f31 | ... | f1 | f0 |          a field never straddles two words when w divides 64
//    w = 12:  | f5 low 4 | f4 | ... | f0 |     otherwise its low bits end one word and its high
//             | ...           | f5 high 8 |    bits begin the next
//
// Limits:  1 <= w <= 32, so a field lies in at most two words.
// Threads: none of this is atomic; kinds that share words say how.
#pragma once

#include <cassert>
#include <cstdint>

#include <bloomery/detail/bits/words.hpp>

namespace bloomery::inline v0::detail {

class Packed {
 public:
  constexpr Packed(unsigned field_bits) : field_bits_(field_bits) {
    assert(field_bits >= 1 && field_bits <= 32 && "a packed field has 1 to 32 bits");
  }

  // One spare word is never needed: the last field ends inside the last word.
  constexpr std::uint64_t words(std::uint64_t fields) const {
    // Split so that the product cannot wrap for any count that fits memory.
    return fields / word_bits * field_bits_ + words_for(fields % word_bits * field_bits_);
  }

  constexpr std::uint64_t mask() const { return (std::uint64_t{1} << field_bits_) - 1; }

  std::uint64_t get(ConstWords words, std::uint64_t field) const {
    const auto [word, shift] = place(field);
    std::uint64_t bits = words[word] >> shift;
    if (shift + field_bits_ > word_bits) bits |= words[word + 1] << (word_bits - shift);
    return bits & mask();
  }

  void set(Words words, std::uint64_t field, std::uint64_t bits) const {
    assert(bits <= mask() && "the field is too narrow for this");
    const auto [word, shift] = place(field);
    words[word] = (words[word] & ~(mask() << shift)) | (bits << shift);
    if (shift + field_bits_ > word_bits) {
      const unsigned spilled = word_bits - shift;
      words[word + 1] = (words[word + 1] & ~(mask() >> spilled)) | (bits >> spilled);
    }
  }

 private:
  struct Place {
    std::uint64_t word;
    unsigned shift;
  };
  constexpr Place place(std::uint64_t field) const {
    // field * field_bits would wrap above 2^59 fields; the word part and the rest cannot.
    const std::uint64_t rest = field % word_bits * field_bits_;
    return {field / word_bits * field_bits_ + rest / word_bits,
            static_cast<unsigned>(rest % word_bits)};
  }

  unsigned field_bits_;
};

}  // namespace bloomery::inline v0::detail

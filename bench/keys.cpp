#include <bench/keys.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include <bloomery/detail/hash/odd_constants.hpp>

namespace bloomery::bench {
namespace {

// A bijection of the numbers of so many bits: each step, a shifted xor or an odd multiple, has its
// inverse.
class Scatter {
 public:
  explicit Scatter(unsigned bits) : shift_((bits + 1) / 2), mask_((std::uint64_t{1} << bits) - 1) {}

  std::uint64_t operator()(std::uint64_t number) const {
    for (std::size_t step = 0; step < 3; ++step) {
      number ^= number >> shift_;
      number = (number * remix_constants[step]) & mask_;
    }
    return number ^ (number >> shift_);
  }

 private:
  unsigned shift_;
  std::uint64_t mask_;
};

constexpr std::string_view text_head = "https://www.example.org/item/";
constexpr std::size_t digits = 16;
constexpr std::string_view text_tail = "/view?page=main";
static_assert(text_head.size() + digits + text_tail.size() == text_bytes);

void write_text(char* at, std::uint64_t number) {
  at = std::copy(text_head.begin(), text_head.end(), at);
  for (unsigned shift = 4 * digits; shift != 0;) {
    shift -= 4;
    *at++ = "0123456789abcdef"[(number >> shift) & 15];
  }
  std::copy(text_tail.begin(), text_tail.end(), at);
}

}  // namespace

template <class Key>
std::uint64_t KeyStore<Key>::planned_bytes(std::uint64_t members, std::uint64_t strangers) {
  return (members + strangers) * (sizeof(Key) + (std::is_same_v<Key, Text> ? text_bytes : 0));
}

template <class Key>
Result<KeyStore<Key>> KeyStore<Key>::make(std::uint64_t members, std::uint64_t strangers) {
  const std::uint64_t count = members + strangers;
  KeyStore store;
  store.members_ = members;
  store.range_bits_ =
      static_cast<unsigned>(std::countr_zero(std::bit_ceil(std::max(4 * members, count))));
  auto keys = Memory::make(count * sizeof(Key));
  if (!keys) return keys.error();
  store.keys_ = std::move(*keys);
  auto* at = reinterpret_cast<Key*>(store.keys_.bytes().data());
  const Scatter scatter(store.range_bits_);
  if constexpr (std::is_same_v<Key, Integer>) {
    for (std::uint64_t i = 0; i < count; ++i) at[i] = scatter(i);
  } else {
    auto texts = Memory::make(count * text_bytes);
    if (!texts) return texts.error();
    store.texts_ = std::move(*texts);
    auto* text = reinterpret_cast<char*>(store.texts_.bytes().data());
    for (std::uint64_t i = 0; i < count; ++i, text += text_bytes) {
      write_text(text, scatter(i));
      at[i] = Text(text, text_bytes);
    }
  }
  return store;
}

template class KeyStore<Integer>;
template class KeyStore<Text>;

}  // namespace bloomery::bench

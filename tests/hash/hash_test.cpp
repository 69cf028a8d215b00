#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/hash.hpp>
#include <tests/hash/linked_xxhash.hpp>

namespace bloomery::detail {
namespace {

// What may be a key and what is refused, at compile time.
static_assert(Hashable<int> && Hashable<unsigned long long> && Hashable<const short>);
static_assert(Hashable<std::int8_t> && Hashable<std::uint8_t>);
static_assert(Hashable<std::string> && Hashable<std::string_view> && Hashable<const char*>);
static_assert(Hashable<char[5]>);
static_assert(Hashable<std::vector<std::byte>> && Hashable<std::span<const std::byte>>);
static_assert(Hashable<std::span<std::byte, 4>> && Hashable<std::array<std::byte, 4>>);
static_assert(!Hashable<bool> && !Hashable<const bool> && !Hashable<char>);
static_assert(!Hashable<wchar_t> && !Hashable<char8_t> && !Hashable<char16_t>);
static_assert(!Hashable<char32_t> && !Hashable<double> && !Hashable<void*>);
static_assert(!Hashable<std::vector<int>> && !Hashable<const char8_t*> && !Hashable<Hash>);
static_assert(!Hashable<Ordinal> && !Hashable<std::byte>);
// A 64-bit integer is not converted to a Hash implicitly.
static_assert(!std::is_convertible_v<std::uint64_t, Hash>);
static_assert(!std::is_convertible_v<Hash, std::uint64_t>);
static_assert(!std::is_convertible_v<Ordinal, Hash> && !std::is_convertible_v<Hash, Ordinal>);
static_assert(!std::is_convertible_v<std::uint64_t, Hasher>);

constexpr std::uint64_t seeds[] = {0, 1, 42, 0x9e37'79b9'7f4a'7c15, ~std::uint64_t{0}};
constexpr SecretKey secret{0x0706'0504'0302'0100, 0x0f0e'0d0c'0b0a'0908};

std::string noise(std::size_t length) {
  std::mt19937_64 random(length + 1);
  std::string text(length, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

TEST(Hasher, IsXxh3OfTheLinkedLibraryForEveryLengthUpTo1100) {
  for (std::size_t length = 0; length <= 1100; ++length) {
    const std::string text = noise(length);
    for (const std::uint64_t seed : seeds)
      ASSERT_EQ(Hasher(seed)(text).bits, linked_xxh3(text.data(), length, seed))
          << "length " << length << ", seed " << seed;
  }
}

// Integers have a statement of XXH3's law of their own (xxh3_word.hpp).
TEST(Hasher, OfAnIntegerIsXxh3OfTheLinkedLibraryUnderManySeeds) {
  std::mt19937_64 random(17);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t seed = i < 5 ? seeds[i] : random();
    const std::uint64_t word = i % 7 == 0 ? random() >> (i % 64) : random();
    ASSERT_EQ(Hasher(seed)(word).bits, linked_xxh3(&word, sizeof word, seed))
        << "word " << word << ", seed " << seed;
    const LinkedWide wide = linked_xxh3_wide(&word, sizeof word, seed);
    ASSERT_EQ(Hasher(seed).wide(word), (WideHash{wide.high, wide.low}))
        << "word " << word << ", seed " << seed;
  }
}

TEST(Hasher, WideIsXxh3With128BitsForEveryLengthUpTo1100) {
  for (std::size_t length = 0; length <= 1100; ++length) {
    const std::string text = noise(length);
    for (const std::uint64_t seed : seeds) {
      const WideHash ours = Hasher(seed).wide(text);
      const LinkedWide theirs = linked_xxh3_wide(text.data(), length, seed);
      ASSERT_EQ(ours, (WideHash{theirs.high, theirs.low})) << "length " << length;
    }
  }
}

TEST(Hasher, TakesIntegersAsEightLittleEndianBytes) {
  const std::uint64_t number = 0x0123'4567'89ab'cdef;
  constexpr std::string_view bytes = "\xef\xcd\xab\x89\x67\x45\x23\x01";
  EXPECT_EQ(Hasher()(number), Hasher()(bytes));
  EXPECT_EQ(Hasher().wide(number), Hasher().wide(bytes));
  const Hasher keyed = Hasher::hardened(secret);
  EXPECT_EQ(keyed(number), keyed(bytes));
  EXPECT_EQ(keyed.wide(number), keyed.wide(bytes));
}

TEST(Hasher, GivesOneIntegerOneHashWhateverItsType) {
  const Hasher hasher(7);
  EXPECT_EQ(hasher(-1), hasher(std::int64_t{-1}));
  EXPECT_EQ(hasher(std::int8_t{-1}), hasher(std::int64_t{-1}));
  EXPECT_EQ(hasher(std::int16_t{-300}), hasher(-300LL));
  EXPECT_EQ(hasher(std::uint8_t{255}), hasher(std::uint64_t{255}));
  EXPECT_EQ(hasher(std::uint32_t{0xffff'ffff}), hasher(std::uint64_t{0xffff'ffff}));
  EXPECT_EQ(hasher(5), hasher(5UL));
  EXPECT_EQ(hasher(std::numeric_limits<int>::min()),
            hasher(std::int64_t{std::numeric_limits<int>::min()}));
  EXPECT_EQ(hasher.wide(-1), hasher.wide(std::int64_t{-1}));
  EXPECT_EQ(hasher.wide(std::uint8_t{255}), hasher.wide(std::uint64_t{255}));
}

TEST(Hasher, SignExtensionKeepsUnsignedAndNegativeApart) {
  EXPECT_NE(Hasher()(-1), Hasher()(std::uint32_t{0xffff'ffff}));
  EXPECT_NE(Hasher()(std::int8_t{-1}), Hasher()(std::uint8_t{255}));
  // Two's complement: the same 64 bits are the same key.
  EXPECT_EQ(Hasher()(-1), Hasher()(~std::uint64_t{0}));
}

TEST(Hasher, GivesTheSameBytesOneHashWhateverHoldsThem) {
  const std::string text = "http://example.com/";
  const auto bytes = std::as_bytes(std::span(text));
  const std::vector<std::byte> copy(bytes.begin(), bytes.end());
  for (const Hasher& hasher : {Hasher(), Hasher(3), Hasher::hardened(secret)}) {
    const Hash hash = hasher(text);
    EXPECT_EQ(hasher(std::string_view(text)), hash);
    EXPECT_EQ(hasher(text.c_str()), hash);
    EXPECT_EQ(hasher("http://example.com/"), hash);
    EXPECT_EQ(hasher(bytes), hash);
    EXPECT_EQ(hasher(copy), hash);
    EXPECT_EQ(hasher.wide(bytes), hasher.wide(text));
    EXPECT_EQ(hasher.wide(copy), hasher.wide(text));
  }
}

TEST(Hasher, ReadsTextUpToItsLengthAndNotToItsFirstZero) {
  using std::string_view_literals::operator""sv;
  EXPECT_NE(Hasher()("a\0b"sv), Hasher()("a"sv));
  EXPECT_NE(Hasher()("a\0"sv), Hasher()("a"sv));
}

TEST(Hasher, HashesNothingEvenWithoutAnAddress) {
  for (const Hasher& hasher : {Hasher(), Hasher::hardened(secret)}) {
    EXPECT_EQ(hasher(std::string_view()), hasher(""));
    EXPECT_EQ(hasher(std::span<const std::byte>()), hasher(""));
    EXPECT_EQ(hasher.wide(std::string_view()), hasher.wide(""));
  }
}

TEST(Hasher, HardenedIsSipHash) {
  const Hasher hasher = Hasher::hardened(secret);
  for (std::size_t length = 0; length <= 40; ++length) {
    const std::string text = noise(length);
    EXPECT_EQ(hasher(text).bits, siphash13(text.data(), length, secret));
  }
}

// Red means: saved hardened hash sets no longer know their keys.
TEST(Hasher, GoldenWideHardenedHashIsUnderTheKeyAndItsComplement) {
  const WideHash wide = Hasher::hardened(secret).wide("bloomery");
  EXPECT_EQ(wide.high, 0x2d48'd7b8'77a1'd595);
  EXPECT_EQ(wide.low, 0xb45f'6510'5565'd71a);
}

// Red means: the right key of a hardened set is refused.
TEST(Hasher, GoldenKeyCheckTellsKeysApart) {
  EXPECT_EQ(Hasher::hardened(secret).key_check(), 0xa110'a3bf'b57e'3075);
  EXPECT_NE(Hasher::hardened({secret.low ^ 1, secret.high}).key_check(),
            Hasher::hardened(secret).key_check());
  EXPECT_NE(Hasher::hardened({secret.high, secret.low}).key_check(),
            Hasher::hardened(secret).key_check());
  EXPECT_EQ(Hasher().key_check(), 0U);
  EXPECT_EQ(Hasher(99).key_check(), 0U);
}

TEST(Hasher, IsAValueThatKnowsItsModeSeedAndKey) {
  constexpr Hasher plain;
  constexpr Hasher seeded(5);
  constexpr Hasher keyed = Hasher::hardened(secret);
  static_assert(plain.mode() == HashMode::fast && plain.seed() == 0);
  static_assert(seeded.seed() == 5 && keyed.mode() == HashMode::hardened);
  static_assert(keyed.key() == secret && plain != seeded && plain != keyed);
  EXPECT_EQ(keyed, Hasher::hardened(secret));
  EXPECT_NE(keyed, Hasher::hardened({}));
}

TEST(Hash, OrdersByItsBitsAndWideByItsHighHalfFirst) {
  EXPECT_LT((Hash{1}), (Hash{2}));
  EXPECT_LT((WideHash{1, 9}), (WideHash{2, 0}));
  EXPECT_LT((WideHash{1, 1}), (WideHash{1, 2}));
  EXPECT_LT((Ordinal{1}), (Ordinal{2}));
}

TEST(Hash, BareWordsAreTheBitsInOrder) {
  const Hash hashes[] = {{1}, {2}, {3}};
  const std::uint64_t* words = bare_words(hashes);
  EXPECT_EQ(words[0], 1U);
  EXPECT_EQ(words[2], 3U);
}

}  // namespace
}  // namespace bloomery::detail

#include <gtest/gtest.h>

#ifdef BLOOMERY_HAVE_HIGHWAYHASH
#include <highwayhash/sip_hash.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <bloomery/detail/hash/siphash.hpp>

namespace bloomery::detail {
namespace {

// The bytes 00 01 02 ... and the key 00 01 ... 0f, as in the tables of the paper.
std::vector<unsigned char> counting_bytes(std::size_t length) {
  std::vector<unsigned char> bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<unsigned char>(i);
  return bytes;
}

constexpr SecretKey counting_key{0x0706'0504'0302'0100, 0x0f0e'0d0c'0b0a'0908};

struct Pinned {
  std::size_t length;
  std::uint64_t hash;
};

// Red means: hardened sets that were saved no longer know their keys.
// From a second implementation, which also gives the tables of SipHash-2-4.
TEST(SipHash, GoldenValuesOfTheCountingKey) {
  constexpr Pinned pinned[] = {
      {0, 0xabac'0158'050f'c4dc},   {1, 0xc9f4'9bf3'7d57'ca93},   {7, 0xd392'7d98'9bb1'1140},
      {8, 0x3690'9511'8d29'9a8e},   {9, 0x25a4'8eb3'6c06'3de4},   {15, 0xd320'd86d'2a51'9956},
      {16, 0xcc4f'dd1a'7d90'8b66},  {17, 0x9cf2'6890'63db'd80c},  {63, 0x9d19'9062'b7bb'b3a8},
      {64, 0xf179'97ec'4b4a'6065},  {255, 0xf762'14e3'153c'4a15}, {256, 0x75b3'e64e'167d'e370},
      {257, 0x5d8f'fca6'213c'73b8}, {300, 0x4016'a23b'da5a'2224},
  };
  for (const auto& [length, hash] : pinned)
    EXPECT_EQ(siphash13(counting_bytes(length).data(), length, counting_key), hash) << length;
}

TEST(SipHash, GoldenValuesOfTheZeroKey) {
  constexpr Pinned pinned[] = {
      {0, 0xd1fb'a762'150c'532c}, {8, 0xead4'11e6'7ebe'2eea}, {300, 0x4a3e'e92c'f03a'1ab4}};
  for (const auto& [length, hash] : pinned)
    EXPECT_EQ(siphash13(counting_bytes(length).data(), length, SecretKey{}), hash) << length;
}

TEST(SipHash, DoesNotCareWhereTheBytesStart) {
  const std::vector<unsigned char> bytes = counting_bytes(64);
  std::vector<unsigned char> shifted(64 + 8);
  for (std::size_t start = 0; start < 8; ++start) {
    std::copy(bytes.begin(), bytes.end(), shifted.begin() + static_cast<std::ptrdiff_t>(start));
    EXPECT_EQ(siphash13(shifted.data() + start, 64, counting_key),
              siphash13(bytes.data(), 64, counting_key));
  }
}

TEST(SipHash, EveryBitOfTheKeyMatters) {
  const std::uint64_t plain = siphash13("bloomery", 8, counting_key);
  for (unsigned bit = 0; bit < 64; ++bit) {
    SecretKey low = counting_key;
    low.low ^= std::uint64_t{1} << bit;
    EXPECT_NE(siphash13("bloomery", 8, low), plain) << bit;
    SecretKey high = counting_key;
    high.high ^= std::uint64_t{1} << bit;
    EXPECT_NE(siphash13("bloomery", 8, high), plain) << bit;
  }
}

#ifdef BLOOMERY_HAVE_HIGHWAYHASH
TEST(SipHash, AgreesWithHighwayHashForEveryLengthUpTo300) {
  constexpr SecretKey keys[] = {{0, 0},
                                counting_key,
                                {~std::uint64_t{0}, ~std::uint64_t{0}},
                                {0x243f'6a88'85a3'08d3, 0x1319'8a2e'0370'7344},
                                {1, 0},
                                {0, 1}};
  for (const SecretKey& key : keys) {
    const highwayhash::HH_U64 theirs[2] = {key.low, key.high};
    for (std::size_t length = 0; length <= 300; ++length) {
      std::vector<char> bytes(length + 8);  // theirs may read up to the next word
      for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<char>(i * 37 + length);
      ASSERT_EQ(siphash13(bytes.data(), length, key),
                highwayhash::SipHash13(theirs, bytes.data(), length))
          << "length " << length;
    }
  }
}
#endif

}  // namespace
}  // namespace bloomery::detail

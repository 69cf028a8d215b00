#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <bloomery/hash.hpp>

namespace bloomery::detail {
namespace {

struct Pinned {
  std::size_t length;
  std::uint64_t seed;
  std::uint64_t hash;
};

constexpr std::uint64_t golden = 0x9e37'79b9'7f4a'7c15;

// Both sides of every branch of XXH3: 0, 1..3, 4..8, 9..16, 17..128 in steps of 32, 129..240 in
// steps of 16, then stripes of 64 bytes and blocks of 1024. From libxxhash itself.
constexpr std::array<Pinned, 64> pinned = {{
    {0, 0, 0x2d06'8005'38d3'94c2},         {1, 0, 0x4c5c'ca45'd0f4'811f},
    {2, 0, 0x29c6'0963'cbfa'4e6e},         {3, 0, 0x6e3e'2670'e611'06ac},
    {4, 0, 0x5c4c'6313'3443'd03f},         {5, 0, 0x49f5'eb31'1128'0b63},
    {7, 0, 0x46a5'c724'd51f'e43f},         {8, 0, 0xf9fd'4dd0'b04d'78f5},
    {9, 0, 0x7c20'df97'12c2'6edf},         {12, 0, 0x16d2'dff5'4dc2'ee45},
    {15, 0, 0xb345'a7b2'698b'a575},        {16, 0, 0x86ab'f6ba'ccea'0858},
    {17, 0, 0xb58b'f5dc'5022'd071},        {31, 0, 0x4844'2fcd'5518'b086},
    {32, 0, 0xe371'2ed8'4c04'a66e},        {33, 0, 0xa4de'e99b'093e'1f73},
    {63, 0, 0x30ca'01f6'3dcc'223b},        {64, 0, 0x1291'd2d4'0423'30dd},
    {65, 0, 0x97c6'bf83'217e'5ec9},        {96, 0, 0x8129'6929'fc06'3365},
    {97, 0, 0xf145'a45b'658a'b9dd},        {127, 0, 0xed4c'f621'0402'0db5},
    {128, 0, 0x10d1'7f72'c0cc'ba41},       {129, 0, 0x1648'bdc3'db49'd1a2},
    {143, 0, 0xd05c'ed59'8f7f'87b3},       {144, 0, 0xb46d'bfc6'd9e3'1aba},
    {145, 0, 0x3641'1de3'3538'4cfb},       {160, 0, 0x655c'8dc3'3b4b'4c4a},
    {192, 0, 0xdaf6'4f63'dc7d'5e36},       {208, 0, 0x11e0'0ce0'3c5e'cd6c},
    {239, 0, 0xf0d1'5481'9adb'16cd},       {240, 0, 0xb6cf'af34'3fab'81e6},
    {241, 0, 0x956c'ae59'2c67'279e},       {255, 0, 0x64a6'0730'25eb'7929},
    {256, 0, 0xb15e'5507'33c5'dfac},       {257, 0, 0x87b3'bf2d'941c'f085},
    {319, 0, 0x122b'14af'7b6c'f893},       {320, 0, 0x28bc'5aa2'7579'9ff9},
    {511, 0, 0x5a17'da92'4907'228a},       {512, 0, 0xa0e9'790e'b939'90d7},
    {513, 0, 0x9848'28b9'efd0'42cb},       {575, 0, 0x2b53'63ec'a205'4cf5},
    {576, 0, 0xbe0f'7233'115d'485a},       {639, 0, 0xb4de'1ecc'd6b5'cbe5},
    {640, 0, 0xf458'1239'dbdb'7639},       {1023, 0, 0xa94f'fcd2'2543'68e4},
    {1024, 0, 0x70bd'377d'9574'f4bb},      {1025, 0, 0x66c4'487c'41e1'27a7},
    {1087, 0, 0x3a38'8886'0f73'973f},      {1088, 0, 0xf43d'c77e'28a9'acbc},
    {2047, 0, 0xded1'f434'a151'0c6a},      {2048, 0, 0x8b46'caa6'7dab'3a30},
    {4096, 0, 0x9ddd'66c1'4af0'daff},      {65536, 0, 0x0440'4b28'125b'4786},
    {0, 1, 0x4dc5'b0cc'826f'6703},         {3, 1, 0x09b2'0772'06b1'496d},
    {8, 1, 0xd112'9f0b'f6e3'9a1d},         {16, 1, 0x216f'e4ca'42fe'f4ff},
    {128, 1, 0x172e'c533'a3e1'041c},       {17, golden, 0xb7c9'9d19'be27'eb69},
    {240, golden, 0x76a7'3ec2'6433'f82c},  {241, golden, 0x2be2'36ba'3bac'f75c},
    {1024, golden, 0xd8cf'6b46'4541'f232}, {1025, golden, 0x8dc3'a55e'9c26'd886},
}};

std::string sawtooth(std::size_t length) {
  std::string text(length, '\0');
  for (std::size_t i = 0; i < length; ++i) text[i] = static_cast<char>(i * 131 + 7);
  return text;
}

// Red means: every saved set asks with other hashes than it was built with, and forgets its keys.
TEST(HashGolden, EachLengthBranchHashesAsItAlwaysDid) {
  for (const auto& [length, seed, hash] : pinned)
    EXPECT_EQ(Hasher(seed)(sawtooth(length)).bits, hash) << "length " << length << " seed " << seed;
}

// Red means: sets of integers are built from other bytes than before.
TEST(HashGolden, IntegersHashAsTheyAlwaysDid) {
  EXPECT_EQ(Hasher()(0).bits, 0xc77b'3abb'6f87'acd9);
  EXPECT_EQ(Hasher()(1).bits, 0x2fbc'5935'64db'792e);
  EXPECT_EQ(Hasher()(-1).bits, 0x5111'c7e4'7d78'4413);
}

}  // namespace
}  // namespace bloomery::detail

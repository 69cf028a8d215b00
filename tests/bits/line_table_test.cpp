// Lines of quotiented hashes, and the table of them that grows in place, against std::set.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include <bloomery/detail/bits/line_table.hpp>

namespace bloomery::detail {
namespace {

using CompactTable = LineTable<CompactLines>;
using HashTable = LineTable<HashSetLines>;

std::uint64_t key_from(std::uint64_t high, std::uint64_t, std::uint64_t*) { return high; }
WideHash key_from(std::uint64_t high, std::uint64_t low, WideHash*) { return {high, low}; }
template <class Table>
typename Table::Key key_of(std::uint64_t high, std::uint64_t low) {
  return key_from(high, low, static_cast<typename Table::Key*>(nullptr));
}

template <class Table>
std::vector<typename Table::Key> sorted_of(const Table& table) {
  std::vector<typename Table::Key> keys(table.count());
  table.copy_sorted(keys.data());
  return keys;
}

TEST(HashLineLaw, EntriesTurnBackIntoTheirHashes) {
  std::mt19937_64 random(1);
  for (const std::uint64_t lines :
       {std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{8}, std::uint64_t{65'535},
        std::uint64_t{65'536}, std::uint64_t{65'537}, std::uint64_t{98'304},
        (std::uint64_t{1} << 32) - 1, (std::uint64_t{1} << 32) + 15, std::uint64_t{1} << 47}) {
    const HashRestorer restorer(lines);
    std::vector<std::uint64_t> hashes{0, 1, ~std::uint64_t{0}, ~std::uint64_t{0} - 1};
    for (int i = 0; i < 2'000; ++i) {
      hashes.push_back(random());
      // Around the first hash of a line.
      __extension__ using Wide = unsigned __int128;
      const Wide start = (static_cast<Wide>(random() % lines) << 64) / lines;
      for (int near = -2; near <= 2; ++near)
        hashes.push_back(static_cast<std::uint64_t>(start) + static_cast<std::uint64_t>(near));
    }
    for (const std::uint64_t hash : hashes) {
      const auto small = CompactLines::Small::place_of(hash, lines);
      ASSERT_LT(small.line, lines);
      ASSERT_EQ(restorer.hash_of(small.line, small.entry), hash) << lines;
      if (lines < CompactLines::Large::least_lines) continue;
      const auto large = CompactLines::Large::place_of(hash, lines);
      ASSERT_LT(large.entry, std::uint64_t{1} << 48);
      ASSERT_EQ(restorer.hash_of(large.line, large.entry << 16), hash) << lines;
    }
  }
}

// A tag that stands in a slot tells nothing of the others, and an empty slot has no entry 0.
template <class Line>
void expect_line_keeps_what_it_is_given() {
  std::mt19937_64 random(2);
  for (int round = 0; round < 2'000; ++round) {
    Line line{};
    std::set<std::pair<std::uint64_t, unsigned>> truth;
    const unsigned count = static_cast<unsigned>(random() % (Line::slots + 1));
    const std::uint64_t few = random() % 2 == 0 ? 0x3'0003 : ~std::uint64_t{0};
    while (truth.size() < count) {
      const std::uint64_t entry = random() & few & (~std::uint64_t{0} >> Line::dropped_bits);
      const auto distance = static_cast<unsigned>(random() % (farthest_line + 1));
      if (!truth.insert({entry, distance}).second) continue;
      ASSERT_EQ(line.used(), truth.size() - 1);
      line.put(line.used(), entry, typename Line::Low{}, distance);
    }
    ASSERT_EQ(line.used(), count);
    for (std::uint64_t entry = 0; entry < 8; ++entry) ASSERT_FALSE(line.passed(entry));
    for (const auto& [entry, distance] : truth)
      for (unsigned asked = 0; asked <= farthest_line; ++asked)
        ASSERT_EQ(line.has(entry, {}, asked), truth.contains({entry, asked}));
    for (std::uint64_t entry = 0; entry < 4; ++entry)
      ASSERT_EQ(line.has(entry, {}, 0), truth.contains({entry, 0}));
    const std::uint64_t gone = random() >> Line::dropped_bits;
    line.mark_passed(gone);
    ASSERT_TRUE(line.passed(gone));
    ASSERT_FALSE(line.passed(gone ^ 1));
    ASSERT_EQ(line.used(), count);
    for (const auto& [entry, distance] : truth) ASSERT_TRUE(line.has(entry, {}, distance));
  }
}

TEST(HashLineLaw, ALineHasWhatItWasGivenAndNothingElse) {
  expect_line_keeps_what_it_is_given<CompactLines::Small>();
  expect_line_keeps_what_it_is_given<CompactLines::Large>();
  expect_line_keeps_what_it_is_given<HashSetLines::Small>();
  expect_line_keeps_what_it_is_given<HashSetLines::Large>();
}

// Adds `keys`, growing by 1/part, and compares with a std::set now and then.
template <class Table>
void expect_like_a_set(const std::vector<typename Table::Key>& keys,
                       const std::vector<typename Table::Key>& strangers, unsigned part) {
  Table table;
  std::set<typename Table::Key> truth;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!table.has_room()) {
      ASSERT_TRUE(table.grow(table.next_size(part)));
    }
    ASSERT_EQ(table.contains(keys[i]), truth.contains(keys[i])) << i;
    ASSERT_EQ(table.add(keys[i]), truth.insert(keys[i]).second) << i;
    ASSERT_EQ(table.count(), truth.size());
    if (i % 4'999 != 0) continue;
    ASSERT_TRUE(std::ranges::equal(sorted_of(table), truth)) << "after " << i + 1;
  }
  for (const auto& key : keys) ASSERT_TRUE(table.contains(key));
  for (const auto& key : strangers) ASSERT_EQ(table.contains(key), truth.contains(key));
  ASSERT_TRUE(std::ranges::equal(sorted_of(table), truth));
}

template <class Table>
class LineTableLaw : public ::testing::Test {};
using Tables = ::testing::Types<CompactTable, HashTable>;
TYPED_TEST_SUITE(LineTableLaw, Tables);

TYPED_TEST(LineTableLaw, DrivenAtRandomAgreesWithStdSetWhileItGrows) {
  for (const unsigned part : {2U, 3U, 4U}) {
    std::mt19937_64 random(part);
    std::vector<typename TypeParam::Key> keys, strangers;
    for (int i = 0; i < 30'000; ++i) keys.push_back(key_of<TypeParam>(random(), random()));
    for (int i = 0; i < 30'000; ++i) keys.push_back(keys[random() % keys.size()]);
    std::shuffle(keys.begin(), keys.end(), random);
    for (int i = 0; i < 5'000; ++i) strangers.push_back(key_of<TypeParam>(random(), random()));
    expect_like_a_set<TypeParam>(keys, strangers, part);
  }
}

// Chosen hashes, or those of a caller who does not mix them: all in a few lines.
TYPED_TEST(LineTableLaw, CrowdedHashesAreKeptToo) {
  std::mt19937_64 random(7);
  std::vector<typename TypeParam::Key> keys, strangers;
  for (std::uint64_t i = 0; i < 3'000; ++i) {
    keys.push_back(key_of<TypeParam>(i, i * i));
    keys.push_back(key_of<TypeParam>(~i, i));
    keys.push_back(key_of<TypeParam>((std::uint64_t{1} << 63) + i / 3, i % 3));
    strangers.push_back(key_of<TypeParam>(i + 3'000, i));
  }
  for (int i = 0; i < 20'000; ++i) keys.push_back(key_of<TypeParam>(random(), random()));
  std::shuffle(keys.begin(), keys.end(), random);
  expect_like_a_set<TypeParam>(keys, strangers, 2);
}

// 2^16 lines and more: 48-bit entries, grown in place, moved by mremap.
TYPED_TEST(LineTableLaw, LargeTablesGrowInPlace) {
  TypeParam table;
  std::mt19937_64 random(8);
  std::vector<typename TypeParam::Key> keys;
  bool small = false, large = false;
  unsigned grown_large = 0;
  while (grown_large < 4) {
    if (!table.has_room()) {
      grown_large += table.size().large;
      ASSERT_TRUE(table.grow(table.next_size(3)));
    }
    (table.size().large ? large : small) = true;
    keys.push_back(key_of<TypeParam>(random(), random()));
    ASSERT_TRUE(table.add(keys.back()));
  }
  EXPECT_TRUE(small && large);
  for (const auto& key : keys) ASSERT_TRUE(table.contains(key));
  for (int i = 0; i < 100'000; ++i)
    ASSERT_FALSE(table.contains(key_of<TypeParam>(random(), random())));
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(sorted_of(table), keys);
}

TYPED_TEST(LineTableLaw, WhatWasMovedFromIsEmpty) {
  TypeParam table;
  ASSERT_TRUE(table.grow(TypeParam::size_for(100)));
  for (std::uint64_t i = 1; i <= 100; ++i) table.add(key_of<TypeParam>(i << 50, i));
  TypeParam moved = std::move(table);
  EXPECT_EQ(moved.count(), 100U);
  EXPECT_EQ(table.count(), 0U);
  EXPECT_FALSE(table.has_room());
  EXPECT_FALSE(table.contains(key_of<TypeParam>(std::uint64_t{1} << 50, 1)));
  EXPECT_TRUE(moved.contains(key_of<TypeParam>(std::uint64_t{1} << 50, 1)));
}

TEST(LineTable, HashesOf128BitsWithOneHighHalfAreDifferent) {
  HashTable table;
  ASSERT_TRUE(table.grow(HashTable::size_for(1'000'000)));
  for (std::uint64_t low = 0; low < 200; ++low)
    ASSERT_TRUE(table.add({0x0123'4567'89ab'cdef, low}));
  for (std::uint64_t low = 0; low < 400; ++low)
    ASSERT_EQ(table.contains({0x0123'4567'89ab'cdef, low}), low < 200);
}

TEST(LineTable, RoomForSoManyKeysIsRoomForThem) {
  for (const std::uint64_t keys : {1U, 7U, 100U, 389'000U, 390'000U, 557'000U, 1'000'000U}) {
    const auto size = CompactTable::size_for(keys);
    EXPECT_GE(size.room(), keys);
    if (keys >= 600'000) {
      EXPECT_LE(size.bytes(), keys * 8);
    }
  }
}

}  // namespace
}  // namespace bloomery::detail

// Ones of many words, listed: every row against a loop over the bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/list_ones.hpp>

namespace bloomery::detail {
namespace {

using Bits = std::vector<std::uint64_t>;

// One bit at a time; at most so many.
Bits ones_from(const Bits& words, std::uint64_t first, std::size_t most = SIZE_MAX) {
  Bits ones;
  for (std::uint64_t bit = first; bit < words.size() * 64 && ones.size() < most; ++bit)
    if ((words[bit / 64] >> (bit % 64) & 1) != 0) ones.push_back(bit);
  return ones;
}

// None, all, one bit in every word at each end, and random ones from hardly any to nearly all; a
// change of density within the words comes too.
std::vector<Bits> all_sorts(std::size_t words) {
  std::vector<Bits> sorts = {Bits(words, 0), Bits(words, ~std::uint64_t{0}), Bits(words, 1),
                             Bits(words, std::uint64_t{1} << 63)};
  std::mt19937_64 random(15);
  for (const unsigned out_of_1024 : {1u, 10u, 40u, 100u, 130u, 300u, 512u, 1'000u}) {
    Bits some(words);
    for (std::size_t i = 0; i < words; ++i)
      for (int bit = 0; bit < 64; ++bit)
        some[i] |= std::uint64_t{random() % 1'024 < out_of_1024} << bit;
    sorts.push_back(some);
    if (words > 1) some[words / 2] = ~some[words / 2];
    sorts.push_back(some);
  }
  return sorts;
}

template <class Place, class List>
void lists_like_a_loop(List list_ones, Place base) {
  constexpr Place guard = static_cast<Place>(0xabcd'ef01'2345'6789);
  for (std::size_t n = 0; n <= listed_words; ++n)
    for (const Bits& words : all_sorts(n)) {
      std::vector<Place> places(n * 64 + 1, guard);
      const std::size_t found = list_ones(words.data(), n, base, places.data());
      ASSERT_EQ(places.back(), guard) << n;
      const Bits expected = ones_from(words, 0);
      ASSERT_EQ(found, expected.size()) << n;
      for (std::size_t i = 0; i < found; ++i)
        ASSERT_EQ(places[i], static_cast<Place>(base + expected[i])) << n << " " << i;
    }
}

// A row without such a kernel leaves it to the loop of list_ones.hpp, as the scalar one does.
TEST(ListOnesKernel, OfEveryRowWritesEveryPlaceAndNoneBeyondItsRoom) {
  EXPECT_EQ(scalar_kernels.list_ones, nullptr);
  EXPECT_EQ(scalar_kernels.list_ones_wide, nullptr);
  for (const char* name : {"avx2", "avx512", "neon"}) {
    const Kernels* row = kernels_named(name);
    if (row == nullptr) continue;
    SCOPED_TRACE(name);
    lists_like_a_loop<std::uint32_t>(row->list_ones, 0);
    lists_like_a_loop<std::uint32_t>(row->list_ones, 0xffff'f000);
    lists_like_a_loop<std::uint64_t>(row->list_ones_wide, 0);
    lists_like_a_loop<std::uint64_t>(row->list_ones_wide, 0xffff'fff0'1234'5678);
  }
}

TEST(ListOnesKernel, WalksEveryOneInOrderUntilItIsStopped) {
  for (const std::size_t n : {0, 1, 2, 63, 64, 65, 128, 200})
    for (const Bits& words : all_sorts(n)) {
      const Bits expected = ones_from(words, 0);
      Bits walked;
      for_each_one(words, [&](std::uint64_t bit) { walked.push_back(bit); });
      ASSERT_EQ(walked, expected) << n;
      for (const std::size_t most : {1, 5, 4'097}) {
        walked.clear();
        for_each_one(words, [&](std::uint64_t bit) {
          walked.push_back(bit);
          return walked.size() < most;
        });
        ASSERT_EQ(walked, ones_from(words, 0, most)) << n << " " << most;
      }
    }
}

// From anywhere, to arrays that are too small, just large enough and too large.
template <class T>
void copies_like_a_loop(std::uint64_t low) {
  constexpr T guard = static_cast<T>(0x5555'6666'7777'8888);
  for (const std::size_t n : {1, 2, 64, 65, 130})
    for (const Bits& words : all_sorts(n))
      for (const std::uint64_t first : {0, 1, 63, 64, 100, 4'096, 100'000}) {
        const std::size_t all = ones_from(words, first).size();
        for (const std::size_t room : {std::size_t{0}, std::size_t{3}, all / 2, all, all + 5'000}) {
          std::vector<T> to(room + 1, guard);
          const std::size_t copied = copy_ones(words, first, low, std::span<T>(to).first(room));
          ASSERT_EQ(copied, std::min(room, all)) << n << " " << first;
          ASSERT_EQ(to.back(), guard);
          const Bits expected = ones_from(words, first, room);
          for (std::size_t i = 0; i < copied; ++i)
            ASSERT_EQ(to[i], static_cast<T>(low + expected[i])) << n << " " << first << " " << i;
        }
      }
}

TEST(ListOnesKernel, CopiesThirtyTwoBits) { copies_like_a_loop<std::uint32_t>(77); }
TEST(ListOnesKernel, CopiesSixtyFourBits) { copies_like_a_loop<std::uint64_t>(~0ull - 20'000); }

TEST(CountLanesKernel, OfEveryRowCountsTheOnesOfEachLane) {
  std::mt19937_64 random(16);
  for (const char* name : {"scalar", "avx2", "avx512", "neon"}) {
    const Kernels* row = kernels_named(name);
    if (row == nullptr) continue;
    for (int i = 0; i < 50; ++i) {
      Bits line(8);
      for (std::uint64_t& lane : line) lane = i == 0 ? 0 : i == 1 ? ~0ull : random() & random();
      std::vector<std::uint8_t> ones(9, 0xaa);
      row->count_lanes(line.data(), ones.data());
      for (std::size_t lane = 0; lane < 8; ++lane)
        ASSERT_EQ(ones[lane], ones_from({line[lane]}, 0).size()) << name << " " << i;
      EXPECT_EQ(ones.back(), 0xaa);
    }
  }
}

}  // namespace
}  // namespace bloomery::detail

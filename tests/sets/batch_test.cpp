// The pipeline: every input once, in order, whatever the length of the span.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/bits/words.hpp>
#include <bloomery/detail/sets/bulk/batch.hpp>
#include <bloomery/detail/sets/kinds/bitmap.hpp>

namespace bloomery::detail {
namespace {

constexpr std::uint64_t integers = 100'000;

class Batch : public testing::TestWithParam<std::size_t> {
 protected:
  Memory memory_ = Memory::make(Bitmap::bytes({0, integers - 1})).value();
  Bitmap map_{{0, integers - 1}, memory_.bytes()};

  template <class Source, class Sink>
  std::size_t add(const Source& source, Sink sink) {
    return pipeline(map_, source, lookahead_for(map_), adding(map_), sink).yes;
  }
  template <class Source, class Sink>
  std::size_t ask(const Source& source, Sink sink) const {
    return pipeline(map_, source, lookahead_for(map_), asking(map_), sink).yes;
  }
};

TEST_P(Batch, TellsOfDoublesInTheSameSpan) {
  std::vector<Ordinal> inputs(GetParam());
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = {i / 2};
  const auto fresh = std::make_unique<bool[]>(inputs.size() + 1);
  const ReadyInputs<Ordinal> source(inputs);
  EXPECT_EQ(add(source, ToBools(fresh.get())), (inputs.size() + 1) / 2);
  for (std::size_t i = 0; i < inputs.size(); ++i) ASSERT_EQ(fresh[i], i % 2 == 0) << i;
  EXPECT_EQ(add(source, CountOnly{}), 0);
  EXPECT_EQ(ask(source, ToBools(fresh.get())), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) ASSERT_TRUE(fresh[i]) << i;
  EXPECT_FALSE(fresh[inputs.size()]) << "an answer too many";
}

// A source that notes what it is asked for: each key just once and in order, never beyond the end.
struct Noting {
  std::size_t keys;
  std::vector<std::size_t>* made;
  std::size_t size() const { return keys; }
  void make(std::size_t first, std::size_t n, Ordinal* out) const {
    for (std::size_t i = first; i < first + n; ++i) {
      made->push_back(i);
      *out++ = {i * 2'654'435'761 % integers};
    }
  }
  std::uint64_t have_place(std::size_t, std::size_t) const { return ~std::uint64_t{0}; }
};

TEST_P(Batch, MakesEveryInputOnceAndUsesThemInOrder) {
  for (const std::size_t lookahead : {std::size_t{1}, std::size_t{32}, step_keys}) {
    std::vector<std::size_t> made;
    std::vector<std::uint64_t> used;
    pipeline(
        map_, Noting{GetParam(), &made}, lookahead,
        [&](const Ordinal* inputs, std::size_t n, std::size_t ahead) {
          EXPECT_EQ(ahead, std::min(lookahead, GetParam() - used.size() - n));
          for (std::size_t i = 0; i < n; ++i) used.push_back(inputs[i].value);
          return std::uint64_t{0};
        },
        CountOnly{});
    ASSERT_EQ(made.size(), GetParam());
    ASSERT_EQ(used.size(), GetParam());
    for (std::size_t i = 0; i < GetParam(); ++i) {
      ASSERT_EQ(made[i], i);
      ASSERT_EQ(used[i], i * 2'654'435'761 % integers) << i;
    }
  }
}

// A map that notes, when a key is prefetched, how many were used before.
struct Watched : Bitmap {
  using Bitmap::Bitmap;
  void prefetch(Slot slot) const {
    std::size_t& at = (*called_at)[slot.bit];
    at = std::min(at, *used);
  }
  std::vector<std::size_t>* called_at = nullptr;
  std::size_t* used = nullptr;
};

struct Counting {
  std::size_t keys;
  std::size_t size() const { return keys; }
  void make(std::size_t first, std::size_t n, Ordinal* out) const {
    for (std::size_t i = first; i < first + n; ++i) *out++ = {i};
  }
  std::uint64_t have_place(std::size_t, std::size_t) const { return ~std::uint64_t{0}; }
};

template <class Source>
void expect_called_for_in_time(Watched& map, const Source& source, std::size_t lookahead) {
  std::vector<std::size_t> called_at(source.size(), integers);
  std::size_t used = 0;
  map.called_at = &called_at;
  map.used = &used;
  pipeline(
      map, source, lookahead,
      [&](const Ordinal* inputs, std::size_t n, std::size_t ahead) {
        return step_one_by_one(map, inputs, n, ahead, [&](const Ordinal&) {
          ++used;
          return true;
        });
      },
      CountOnly{});
  ASSERT_EQ(used, source.size());
  for (std::size_t i = 0; i < source.size(); ++i)
    ASSERT_LE(called_at[i], i < lookahead ? 0 : i - lookahead) << i << " of " << source.size();
}

TEST_P(Batch, CallsForEveryInputInTime) {
  Watched map({0, integers - 1}, memory_.bytes());
  std::vector<Ordinal> inputs(GetParam());
  const Counting made{GetParam()};
  made.make(0, inputs.size(), inputs.data());
  for (const std::size_t lookahead :
       {std::size_t{1}, std::size_t{24}, std::size_t{32}, step_keys}) {
    expect_called_for_in_time(map, made, lookahead);
    expect_called_for_in_time(map, ReadyInputs<Ordinal>(inputs), lookahead);
  }
}

TEST_P(Batch, MaskAndBoolsSayTheSame) {
  std::vector<Ordinal> members;
  for (std::size_t i = 0; i < integers; i += 3) members.push_back({i});
  add(ReadyInputs<Ordinal>(members), CountOnly{});
  std::vector<std::size_t> made;
  const Noting source{GetParam(), &made};
  const auto bools = std::make_unique<bool[]>(GetParam() + 1);
  std::vector<std::uint64_t> mask(words_for(GetParam()) + 1, ~std::uint64_t{0});
  const std::size_t there = ask(source, ToBools(bools.get()));
  EXPECT_EQ(ask(source, ToMask(mask.data())), there);
  std::size_t ones = 0;
  for (std::size_t i = 0; i < GetParam(); ++i) {
    const bool expected = i * 2'654'435'761 % integers % 3 == 0;
    ASSERT_EQ(bools[i], expected) << i;
    ASSERT_EQ(get_bit(mask, i), expected) << i;
    ones += expected;
  }
  EXPECT_EQ(there, ones);
  for (std::size_t i = GetParam(); i < 64 * words_for(GetParam()); ++i)
    EXPECT_FALSE(get_bit(mask, i)) << "a bit beyond the last key";
  EXPECT_EQ(mask.back(), ~std::uint64_t{0}) << "a word too many";
}

INSTANTIATE_TEST_SUITE_P(Lengths, Batch,
                         testing::Values(0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 191, 192,
                                         1'000, 5'000));

}  // namespace
}  // namespace bloomery::detail

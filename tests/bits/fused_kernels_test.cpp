// Fused steps against the scalar row, which hashes first and then uses the hashes.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <bloomery/detail/bits/block.hpp>
#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/hash/xxh3_word.hpp>

namespace bloomery::detail {
namespace {

using Step = std::array<std::uint64_t, step_keys>;

// Some of them twice, so that a key may follow its first copy within a step.
Step keys_with_repeats(std::mt19937_64& random) {
  Step keys;
  for (std::size_t i = 0; i < keys.size(); ++i)
    keys[i] = i > 2 && random() % 4 == 0 ? keys[random() % i] : random() >> (random() % 64);
  return keys;
}

// Runs steps through a fused verb and, on a copy of the memory, through the scalar verb.
template <class View, class Word, class Call, class Fused, class Scalar>
void expect_as_scalar(View view, std::size_t words, Call call, Fused fused, Scalar scalar) {
  std::mt19937_64 random(words + 1);
  std::vector<Word> storage(words + 64 / sizeof(Word));
  std::vector<Word> other(words + 64 / sizeof(Word));
  const auto on_a_line = [](std::vector<Word>& memory) {
    auto at = reinterpret_cast<std::uintptr_t>(memory.data());
    return reinterpret_cast<Word*>((at + 63) / 64 * 64);
  };
  Word* const copy = on_a_line(storage);
  Word* const law = on_a_line(other);
  for (std::size_t i = 0; i < words; ++i) law[i] = copy[i] = static_cast<Word>(random() & random());
  const std::uint64_t seed = random();
  const std::uint64_t flip = xxh3_flip(seed);
  Step now = keys_with_repeats(random);
  CalledKeys called;
  view.words = copy;
  call(view, called, NextKeys{now.data(), false, flip});
  for (int round = 0; round < 5; ++round) {
    const Step next = keys_with_repeats(random);
    Step hashes;
    hash_words_one_by_one(now.data(), step_keys, seed, hashes.data());
    view.words = law;
    const std::uint64_t by_law = scalar(view, hashes.data(), step_keys, 0);
    view.words = copy;
    const std::uint64_t by_copy = fused(view, called, NextKeys{next.data(), false, flip});
    ASSERT_EQ(by_copy, by_law);
    ASSERT_EQ(std::memcmp(law, copy, words * sizeof(Word)), 0);
    now = next;
  }
}

template <class View, class Word>
struct FusedVerb {
  void (*call)(const View&, CalledKeys&, const NextKeys&);
  std::uint64_t (*fused)(const View&, CalledKeys&, const NextKeys&);
  std::uint64_t (*scalar)(const View&, const std::uint64_t*, std::size_t, std::size_t);

  void expect_as_scalar_in(const View& view) const {
    expect_as_scalar<View, Word>(view, view.blocks * 8, call, fused, scalar);
  }
};

TEST(FusedKernels, AgreeWithTheScalarRowForEveryShape) {
  for (const char* name : {"scalar", "avx2", "avx512", "neon"}) {
    const Kernels* const row = kernels_named(name);
    if (row == nullptr || row->lines_add_fused == nullptr) continue;
    SCOPED_TRACE(name);
    using LinesVerb = FusedVerb<LinesView, std::uint64_t>;
    using SplitVerb = FusedVerb<SplitView, std::uint32_t>;
    const LinesVerb lines_verbs[] = {
        {row->lines_call, row->lines_add_fused, scalar_kernels.lines_add},
        {row->lines_call, row->lines_ask_fused, scalar_kernels.lines_ask}};
    const SplitVerb split_verbs[] = {
        {row->split_call, row->split_add_fused, scalar_kernels.split_add},
        {row->split_call, row->split_ask_fused, scalar_kernels.split_ask}};
    for (const std::uint64_t blocks : {1, 2, 3, 255, 1000}) {
      for (std::uint32_t probes = 1; probes <= max_line_probes; ++probes)
        for (const std::uint32_t lines : {1, 2}) {
          SCOPED_TRACE(std::to_string(probes) + " probes, " + std::to_string(lines) + " lines");
          for (const LinesVerb& verb : lines_verbs)
            verb.expect_as_scalar_in({nullptr, blocks, probes, lines});
        }
      for (const SplitVerb& verb : split_verbs) verb.expect_as_scalar_in({nullptr, blocks});
    }
  }
}

// In bulk as one by one, for every width of integers and every end of a step. Whichever row is in
// use; the suite runs once for each.
template <class K, class T>
void expect_bulk_as_single(const Hasher& hasher) {
  std::mt19937_64 random(sizeof(T));
  for (const std::size_t n : {0, 1, 63, 64, 65, 127, 128, 129, 191, 192, 193, 700}) {
    std::vector<T> keys(n);
    for (T& key : keys) key = static_cast<T>(random() >> (random() % 60));
    Set<K> bulk({.keys = 500, .rate = 0.01}, hasher);
    Set<K> single({.keys = 500, .rate = 0.01}, hasher);
    std::vector<std::uint8_t> expected;
    for (const T key : keys) expected.push_back(single.add(key));
    std::vector<bool> fresh;
    bulk.add_all(keys, fresh);
    ASSERT_EQ(std::vector<std::uint8_t>(fresh.begin(), fresh.end()), expected) << n;
    ASSERT_EQ(bulk, single) << n;
    for (T& key : keys) key = static_cast<T>(key + (random() & 1));
    std::vector<std::uint8_t> there;
    for (const T key : keys) there.push_back(single.may_contain(key));
    const std::vector<bool> answers = bulk.may_contain_all(keys);
    ASSERT_EQ(std::vector<std::uint8_t>(answers.begin(), answers.end()), there) << n;
  }
}

template <class K>
void expect_every_width(const Hasher& hasher) {
  expect_bulk_as_single<K, std::uint64_t>(hasher);
  expect_bulk_as_single<K, std::int64_t>(hasher);
  expect_bulk_as_single<K, std::uint32_t>(hasher);
  expect_bulk_as_single<K, std::int32_t>(hasher);
  expect_bulk_as_single<K, std::uint16_t>(hasher);
  expect_bulk_as_single<K, std::int8_t>(hasher);
}

TEST(FusedSteps, AnswerInBulkAsOneByOneForEveryWidthOfIntegers) {
  for (const Hasher& hasher : {Hasher(), Hasher(77), Hasher::hardened({1, 2})}) {
    expect_every_width<BlockedBloom>(hasher);
    expect_every_width<SplitBlock>(hasher);
  }
}

}  // namespace
}  // namespace bloomery::detail

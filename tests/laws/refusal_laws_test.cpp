// What every kind must refuse, loudly and with a sentence: impossible wants, unlike sets, unsound
// operations.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <tests/laws/law_keys.hpp>

namespace bloomery::detail {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t all_ones = std::numeric_limits<std::uint64_t>::max();

// Any two of them unite, whatever their sizes.
template <class K>
constexpr bool unites_any =
    std::same_as<K, HashSet> || std::same_as<K, Scalable> || std::same_as<K, Compact>;

// A sentence: several words, not a code name.
void expect_sentence(const Error& error, Code code) {
  EXPECT_EQ(error.code, code) << error.sentence;
  EXPECT_GT(error.sentence.size(), 20) << error.sentence;
  EXPECT_NE(error.sentence.find(' '), std::string::npos) << error.sentence;
}

template <class K>
void expect_impossible(const Want& want) {
  SCOPED_TRACE(testing::Message() << want.keys << " keys, rate " << want.rate << ", range "
                                  << want.range.low << ".." << want.range.high << ", memory "
                                  << want.memory_bytes);
  const auto made = Set<K>::make(want);
  ASSERT_FALSE(made);
  expect_sentence(made.error(), Code::impossible);
  EXPECT_THROW(Set<K>{want}, std::invalid_argument);
  const auto any = AnySet::make(K::id.name, want);
  ASSERT_FALSE(any);
  EXPECT_EQ(any.error().sentence, made.error().sentence);
}

TEST(RefusalLaws, ImpossibleRatesAreRefused) {
  for_all_kinds([]<class K>() {
    if constexpr (!Exact<K>)
      for (const double rate : {0.0, 1.0, -0.01, 0.51, 1e-13, 1e9, nan, infinity, -infinity})
        // Whole hashes need no rate.
        if (!WholeHashes<K> || rate != 0) expect_impossible<K>({.keys = 1'000, .rate = rate});
  });
}

TEST(RefusalLaws, ImpossibleNumbersOfKeysAreRefused) {
  for_all_kinds([]<class K>() {
    if constexpr (!is_ranged<K>) {
      if constexpr (Kind<K>) expect_impossible<K>({.keys = 0, .rate = 0.01});
      expect_impossible<K>({.keys = (std::uint64_t{1} << 50) + 1, .rate = 0.01});
      expect_impossible<K>({.keys = all_ones, .rate = 0.01});
    }
  });
}

TEST(RefusalLaws, ImpossibleRangesAreRefused) {
  for_all_kinds([]<class K>() {
    if constexpr (is_ranged<K>) {
      expect_impossible<K>({});
      expect_impossible<K>({.keys = 1'000, .rate = 0.01});
      expect_impossible<K>({.range = {5, 2}});
      expect_impossible<K>({.range = {all_ones, 0}});
      expect_impossible<K>({.range = {0, all_ones}});
      expect_impossible<K>({.range = {7, 7 + (std::uint64_t{1} << K::widest)}});
    }
  });
}

TEST(RefusalLaws, TooLittleMemoryIsRefused) {
  for_all_kinds([]<class K>() {
    if constexpr (!is_ranged<K>) {
      expect_impossible<K>({.keys = 1'000'000, .rate = 0.01, .memory_bytes = 1'000});
      if constexpr (!WholeHashes<K>) {
        expect_impossible<K>({.memory_bytes = 1 << 20});
        expect_impossible<K>({.rate = 0.01, .memory_bytes = 1});
      }
    }
  });
}

// More bytes than an address can name: the plan is sound, the system says no.
TEST(RefusalLaws, MemoryThatTheSystemLacksIsRefused) {
  for_all_kinds([]<class K>() {
    const Want want = want_for<K>(std::uint64_t{1} << 47);
    if constexpr (is_ranged<K>) return;
    if constexpr (std::same_as<K, SplitBlock>) return;  // its plan ends at 64 GiB
    const auto made = Set<K>::make(want);
    ASSERT_FALSE(made);
    expect_sentence(made.error(), Code::no_memory);
    try {
      Set<K> set(want);
      ADD_FAILURE() << "a set larger than any address";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code, Code::no_memory);
    }
  });
}

TEST(RefusalLaws, UnlikeShapesDoNotUniteAndTheFieldIsNamed) {
  for_merging_kinds([]<class K>() {
    if constexpr (unites_any<K>) return;
    const Want small = want_for<K>(1'000);
    const Want large = want_for<K>(5'000);
    Set<K> one(small);
    Set<K> other(large);
    one.add(numbered<K>(small, 1));
    other.add(numbered<K>(large, 2));
    const FileBytes before = bits_of(one);
    for (const bool united : {true, false}) {
      if (!united && std::same_as<K, BloomChain>) continue;
      auto refused = united ? one.try_unite(other) : one.try_intersect(other);
      ASSERT_FALSE(refused);
      expect_sentence(refused.error(), Code::mismatch);
      const char* field = is_ranged<K>                    ? "high is "
                          : std::same_as<K, ClassicBloom> ? "bits is "
                          : Countable<K>                  ? "counters is "
                                                          : "blocks is ";
      EXPECT_NE(refused.error().sentence.find(field), std::string::npos)
          << refused.error().sentence;
    }
    EXPECT_EQ(bits_of(one), before);
  });
}

TEST(RefusalLaws, DifferentHashesDoNotUnite) {
  for_merging_kinds([]<class K>() {
    const Want want = want_for<K>(1'000);
    Set<K> one(want);
    Set<K> seeded(want, Hasher(1));
    Set<K> keyed(want, Hasher::hardened({1, 2}));
    Set<K> other_key(want, Hasher::hardened({1, 3}));
    const auto expect_refused = [](Result<void> refused, const char* word) {
      ASSERT_FALSE(refused);
      expect_sentence(refused.error(), Code::mismatch);
      EXPECT_NE(refused.error().sentence.find(word), std::string::npos) << refused.error().sentence;
    };
    expect_refused(one.try_unite(seeded), "seed");
    expect_refused(one.try_intersect(seeded), "seed");
    expect_refused(one.try_unite(keyed), "hardened");
    expect_refused(keyed.try_unite(other_key), "keys");
    const Set<K> same_key(want, Hasher::hardened({1, 2}));
    EXPECT_TRUE(keyed.try_unite(same_key));
  });
}

TEST(RefusalLaws, ARefusedMergeOfSetsIsThrownAndOfAnySetsReturned) {
  for_merging_kinds([]<class K>() {
    const Want want = want_for<K>(1'000);
    Set<K> one(want);
    const Set<K> seeded(want, Hasher(1));
    EXPECT_THROW(one.unite(seeded), Failure);
    EXPECT_THROW(one.intersect(seeded), Failure);
    if constexpr (!unites_any<K>) {
      const Set<K> larger(want_for<K>(5'000));
      EXPECT_THROW(one.unite(larger), Failure);
      EXPECT_THROW(one.intersect(larger), Failure);
    }
    auto any = AnySet::make(K::id.name, want).value();
    const auto any_seeded = AnySet::make(K::id.name, want, Hasher(1)).value();
    EXPECT_FALSE(any.unite(any_seeded));
    EXPECT_FALSE(any.subtract(any_seeded));
  });
}

// Their fingerprints may find no room in one set; two windows have two last keys.
TEST(RefusalLaws, KindsThatDoNotMergeSayWhatToDoInstead) {
  for_all_kinds([]<class K>() {
    if constexpr (!merges<K>) {
      auto one = AnySet::make(K::id.name, want_for<K>(1'000)).value();
      const auto other = AnySet::make(K::id.name, want_for<K>(1'000)).value();
      auto united = one.unite(other);
      ASSERT_FALSE(united);
      expect_sentence(united.error(), Code::unsound);
      auto intersected = one.intersect(other);
      ASSERT_FALSE(intersected);
      expect_sentence(intersected.error(), Code::unsound);
    }
  });
}

// A difference by bits would clear bits of shared keys.
TEST(RefusalLaws, DifferenceOfBloomFiltersIsUnsound) {
  for_all_kinds([]<class K>() {
    const Want want = want_for<K>(1'000);
    auto one = AnySet::make(K::id.name, want).value();
    const auto other = AnySet::make(K::id.name, want).value();
    auto difference = one.subtract(other);
    auto exclusive = one.exclusive(other);
    if constexpr (std::same_as<K, Bitmap>) {
      EXPECT_TRUE(difference);
      EXPECT_TRUE(exclusive);
    } else if constexpr (WholeHashes<K>) {
      EXPECT_TRUE(difference);
      ASSERT_FALSE(exclusive);
      expect_sentence(exclusive.error(), Code::unsound);
    } else {
      ASSERT_FALSE(difference);
      expect_sentence(difference.error(), Code::unsound);
      ASSERT_FALSE(exclusive);
      expect_sentence(exclusive.error(), Code::unsound);
    }
  });
}

TEST(RefusalLaws, KindsThatCanNotRemoveOrCountSaySo) {
  for_all_kinds([]<class K>() {
    auto set = AnySet::make(K::id.name, want_for<K>(1'000)).value();
    const std::vector<Ordinal> integers = {{first_integer}};
    const std::vector<std::string_view> texts = {"text"};
    std::vector<std::uint64_t> counts(1);
    const auto removed = is_ranged<K> ? set.remove_all(integers) : set.remove_all(texts);
    auto counted = is_ranged<K> ? set.counts(integers, counts) : set.counts(texts, counts);
    // Minimum increase, the usual spectral set, has no removal.
    if (Removable<K> && !std::same_as<K, SpectralBloom>) {
      ASSERT_TRUE(removed);
      EXPECT_EQ(*removed, 0);
    } else {
      ASSERT_FALSE(removed);
      expect_sentence(removed.error(), Code::unsound);
    }
    EXPECT_EQ(counted.has_value(), Countable<K>);
    EXPECT_EQ(set.most_count() != 0, Countable<K>);
    if (!counted) expect_sentence(counted.error(), Code::unsound);
    // Keys of the wrong sort.
    const auto wrong = is_ranged<K> ? set.remove_all(texts) : set.remove_all(integers);
    ASSERT_FALSE(wrong);
    expect_sentence(wrong.error(), Code::mismatch);
    auto wrong_counts = is_ranged<K> ? set.counts(texts, counts) : set.counts(integers, counts);
    ASSERT_FALSE(wrong_counts);
    expect_sentence(wrong_counts.error(), Code::mismatch);
  });
}

// A refusal changes nothing, not even what is known of the keys.
TEST(RefusalLaws, ARefusedMergeLeavesTheFormOfTheKeysAlone) {
  for_merging_kinds([]<class K>() {
    if constexpr (!is_ranged<K> && !unites_any<K>) {
      Set<K> texts(want_for<K>(1'000));
      texts.add("text");
      Set<K> integers(want_for<K>(5'000));
      integers.add(1);
      EXPECT_FALSE(texts.try_unite(integers));
      EXPECT_EQ(texts.rules().form, KeyForm::text);

      auto any = AnySet::make(K::id.name, want_for<K>(1'000)).value();
      auto larger = AnySet::make(K::id.name, want_for<K>(5'000)).value();
      const std::vector<std::string_view> text = {"text"};
      ASSERT_TRUE(larger.add_all(text));
      EXPECT_FALSE(any.unite(larger));
      EXPECT_EQ(any.rules().form, KeyForm::none);
    }
  });
}

}  // namespace
}  // namespace bloomery::detail

// Laws that hold for every kind in the register. A law goes red for the kind that its trace names.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <tests/laws/law_keys.hpp>

namespace bloomery::detail {
namespace {

TEST(Laws, NeverForgetsAtAnyFill) {
  for_all_kinds([]<class K>() {
    constexpr std::uint64_t planned = 5'000;
    const Want want = want_for<K>(planned);
    for (const std::uint64_t fill : {std::uint64_t{1}, planned / 2, planned, 3 * planned}) {
      if (!takes_any_number<K> && fill > planned) continue;
      Set<K> set(want);
      const auto keys = numbered_keys<K>(want, 0, fill);
      set.add_all(keys);
      EXPECT_EQ(count_members(set, keys), fill);
      for (const std::uint64_t key : keys) ASSERT_TRUE(set.may_contain(key)) << key;
      if constexpr (!keeps_copies<K>) {
        for (const std::uint64_t key : keys) ASSERT_FALSE(set.add(key)) << key;
      }
    }
  });
}

TEST(Laws, NeverForgetsTextNorHashes) {
  for_all_kinds([]<class K>() {
    if constexpr (!is_ranged<K>) {
      Set<K> set(want_for<K>(4'000));
      std::vector<std::string> texts;
      for (int i = 0; i < 3'000; ++i) texts.push_back("http://example.org/" + std::to_string(i));
      std::vector<std::string_view> views(texts.begin(), texts.end());
      set.add_all(std::span<const std::string_view>(views));
      for (const std::string& text : texts) ASSERT_TRUE(set.may_contain(text));
      for (const std::string& text : texts) ASSERT_TRUE(set.may_contain(text.c_str()));
      using Input = typename K::Input;
      std::vector<Input> inputs(1'000);
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if constexpr (std::same_as<Input, Hash>)
          inputs[i] = Hasher(7)(i);
        else
          inputs[i] = Hasher(7).wide(i);
      set.add_all(std::span<const Input>(inputs));
      for (const Input input : inputs) ASSERT_TRUE(set.may_contain(input));
    }
  });
}

TEST(Laws, BatchEqualsOneByOne) {
  for_all_kinds([]<class K>() {
    // Small for the longest batch, so that chains grow and filters overfill in its middle.
    const Want want = want_for<K>(300);
    for (const std::size_t length :
         {0, 1, 31, 32, 33, 255, 256, 257, 1'000, 2'047, 2'048, 2'049, 5'000}) {
      SCOPED_TRACE(length);
      if (Bounded<K> && length > 300) continue;
      Set<K> batch(want);
      Set<K> single(want);
      // Every third key comes a second time, some of them in the same group.
      std::vector<std::uint64_t> keys;
      for (std::uint64_t i = 0; i < length; ++i)
        keys.push_back(numbered<K>(want, i % 3 == 2 ? i / 2 : i));
      Bools fresh(length);
      const std::size_t fresh_count = batch.add_all(keys, fresh);
      std::size_t single_count = 0;
      for (std::size_t i = 0; i < length; ++i) {
        const bool is_new = single.add(keys[i]);
        single_count += is_new;
        ASSERT_EQ(fresh[i], is_new) << "key " << i;
      }
      EXPECT_EQ(fresh_count, single_count);
      EXPECT_EQ(batch.adds(), single.adds());
      EXPECT_EQ(bits_of(batch), bits_of(single));

      const auto questions = numbered_keys<K>(want, length / 2, length);
      Bools answers(length);
      batch.may_contain_all(questions, answers);
      for (std::size_t i = 0; i < length; ++i)
        ASSERT_EQ(answers[i], single.may_contain(questions[i])) << "question " << i;
    }
  });
}

TEST(Laws, BatchWithoutAnswersAddsTheSame) {
  for_all_kinds([]<class K>() {
    const Want want = want_for<K>(400);
    const auto keys = numbered_keys<K>(want, 0, Bounded<K> ? 400 : 777);
    Set<K> told(want);
    Set<K> untold(want);
    Bools fresh(keys.size());
    EXPECT_EQ(told.add_all(keys, fresh), untold.add_all(keys));
    EXPECT_EQ(bits_of(told), bits_of(untold));
  });
}

TEST(Laws, SavedAndOpenedGivesTheSameAnswersAndTheSameBytes) {
  const ScratchDirectory scratch;
  for_all_kinds([&]<class K>() {
    constexpr std::uint64_t planned = 20'000;
    const Want want = want_for<K>(planned, 0.02);
    Set<K> set(want, Hasher(99));
    // More than planned, so that a chain has several links.
    set.add_all(numbered_keys<K>(want, 0, Bounded<K> ? planned : 2 * planned));
    set.save(scratch / "first.blm");
    auto opened = Set<K>::open(scratch / "first.blm");
    ASSERT_TRUE(opened) << opened.error().sentence;

    const auto questions = numbered_keys<K>(want, 0, 100'000);
    Bools before(questions.size());
    Bools after(questions.size());
    set.may_contain_all(questions, before);
    opened->may_contain_all(questions, after);
    EXPECT_EQ(before.copy(), after.copy());
    EXPECT_EQ(opened->adds(), set.adds());
    EXPECT_EQ(opened->capacity(), set.capacity());
    EXPECT_DOUBLE_EQ(opened->rate_asked(), set.rate_asked());
    EXPECT_EQ(opened->overfull(), set.overfull());
    EXPECT_EQ(opened->hasher(), set.hasher());
    EXPECT_EQ(opened->rules(), set.rules());

    opened->save(scratch / "second.blm");
    EXPECT_EQ(read_whole(scratch / "first.blm"), read_whole(scratch / "second.blm"));

    // What is opened can be added to, and the file does not change under it.
    opened->add(numbered<K>(want, 500'000));
    EXPECT_EQ(read_whole(scratch / "first.blm"), read_whole(scratch / "second.blm"));
    EXPECT_TRUE(opened->may_contain(numbered<K>(want, 500'000)));
  });
}

TEST(Laws, AFileOfOneKindIsRefusedByEveryOther) {
  const ScratchDirectory scratch;
  for_all_kinds([&]<class K>() {
    Set<K>(want_for<K>(100)).save(scratch / "set.blm");
    AllKinds::for_each([&]<class Other>() {
      if constexpr (!std::same_as<K, Other>) {
        auto opened = Set<Other>::open(scratch / "set.blm");
        ASSERT_FALSE(opened) << Other::id.name;
        EXPECT_EQ(opened.error().code, Code::mismatch);
        EXPECT_NE(opened.error().sentence.find("set.blm"), std::string::npos);
      }
    });
  });
}

TEST(Laws, MergeIsUnionByteForByte) {
  for_merging_kinds([]<class K>() {
    const Want want = want_for<K>(4'000);
    Set<K> one(want);
    Set<K> other(want);
    Set<K> both(want);
    one.add_all(numbered_keys<K>(want, 0, 2'000));
    other.add_all(numbered_keys<K>(want, 1'500, 2'000));
    both.add_all(numbered_keys<K>(want, 0, 2'000));
    both.add_all(numbered_keys<K>(want, 1'500, 2'000));
    const FileBytes other_before = bits_of(other);
    one.unite(other);
    EXPECT_EQ(bits_of(other), other_before);
    EXPECT_EQ(count_members(one, numbered_keys<K>(want, 0, 3'500)), 3'500);
    // A united spectral set may count higher than one that was given both lists.
    if constexpr (!std::same_as<K, SpectralBloom>) {
      EXPECT_EQ(bits_of(one), bits_of(both));
    }
    if constexpr (Exact<K>) {
      EXPECT_EQ(one.count(), 3'500);
      EXPECT_EQ(one.adds(), 3'500);
    }
  });
}

TEST(Laws, IntersectionHoldsEveryCommonKey) {
  for_merging_kinds([]<class K>() {
    if constexpr (!std::same_as<K, BloomChain>) {
      const Want want = want_for<K>(4'000);
      Set<K> one(want);
      Set<K> other(want);
      one.add_all(numbered_keys<K>(want, 0, 3'000));
      other.add_all(numbered_keys<K>(want, 2'000, 2'000));
      one.intersect(other);
      EXPECT_EQ(count_members(one, numbered_keys<K>(want, 2'000, 1'000)), 1'000);
      const auto strangers = count_members(one, numbered_keys<K>(want, 4'000, 4'000));
      const auto of_one = count_members(one, numbered_keys<K>(want, 0, 2'000));
      if constexpr (Exact<K>) {
        EXPECT_EQ(one.count(), 1'000);
        EXPECT_EQ(strangers, 0);
        EXPECT_EQ(of_one, 0);
      } else {
        // At most 1 % would pass either filter alone.
        EXPECT_LT(strangers, 20);
        EXPECT_LT(of_one, 40);
      }
    }
  });
}

TEST(Laws, ASetMergedWithItselfIsItself) {
  for_merging_kinds([]<class K>() {
    const Want want = want_for<K>(1'000);
    Set<K> set(want);
    set.add_all(numbered_keys<K>(want, 0, 1'000));
    const FileBytes before = bits_of(set);
    if constexpr (!Countable<K>) {  // once and once makes twice
      set.unite(set);
      EXPECT_EQ(bits_of(set), before);
    }
    if constexpr (!std::same_as<K, BloomChain>) {
      set.intersect(set);
      EXPECT_EQ(count_members(set, numbered_keys<K>(want, 0, 1'000)), 1'000);
    }
    if constexpr (std::same_as<K, Bitmap> || std::same_as<K, HashSet>) {
      set.subtract(set);
      EXPECT_EQ(set.count(), 0);
      EXPECT_EQ(set.adds(), 0);
    }
  });
}

TEST(Laws, AnEmptySetHoldsNothing) {
  for_all_kinds([]<class K>() {
    const Want want = want_for<K>(1'000);
    Set<K> set(want);
    EXPECT_EQ(count_members(set, numbered_keys<K>(want, 0, 8'000)), 0);
    EXPECT_EQ(set.adds(), 0);
    EXPECT_EQ(set.estimate(), 0);
    EXPECT_EQ(set.rate_now(), 0);
    EXPECT_EQ(set.fill_ratio(), 0);
    EXPECT_FALSE(set.overfull());
    EXPECT_EQ(set.add_all(std::vector<std::uint64_t>{}), 0);
    // An empty set opens as an empty set.
    const ScratchDirectory scratch;
    set.save(scratch / "empty.blm");
    auto opened = Set<K>::open(scratch / "empty.blm");
    ASSERT_TRUE(opened) << opened.error().sentence;
    EXPECT_EQ(count_members(*opened, numbered_keys<K>(want, 0, 8'000)), 0);
    EXPECT_TRUE(opened->add(numbered<K>(want, 0)));
  });
}

TEST(Laws, OneKeyIsOneKey) {
  for_all_kinds([]<class K>() {
    const Want want = want_for<K>(1'000);
    Set<K> set(want);
    EXPECT_TRUE(set.add(numbered<K>(want, 5)));
    EXPECT_FALSE(set.add(numbered<K>(want, 5)));
    EXPECT_EQ(set.adds(), 1);
    EXPECT_NEAR(set.estimate(), keeps_copies<K> ? 2 : 1, 0.15);
    EXPECT_LE(count_members(set, numbered_keys<K>(want, 0, 8'000)), 2);
    EXPECT_TRUE(set.may_contain(numbered<K>(want, 5)));
  });
}

TEST(Laws, TheSameKeyAMillionTimesChangesNothing) {
  for_all_kinds([]<class K>() {
    if constexpr (keeps_copies<K>) return;
    const Want want = want_for<K>(1'000);
    Set<K> set(want);
    const std::vector<std::uint64_t> same(1'000, numbered<K>(want, 3));
    std::size_t fresh = set.add_all(same);
    const FileBytes before = bits_of(set);
    for (int i = 1; i < 1'000; ++i) fresh += set.add_all(same);
    EXPECT_EQ(fresh, 1);
    EXPECT_EQ(set.adds(), 1);
    // What counts to a thousand does so.
    if constexpr (!std::same_as<K, SpectralBloom>) {
      EXPECT_EQ(bits_of(set), before);
    }
    EXPECT_FALSE(set.overfull());
  });
}

TEST(Laws, TinyShapesAreSetsToo) {
  for_all_kinds([]<class K>() {
    for (const std::uint64_t keys : {1, 2, 3, 7})
      for (const double rate : {0.5, 0.1, 1e-3, 1e-6}) {
        const Want want = want_for<K>(keys, rate);
        Set<K> set(want);
        // Many times too many for the filters: they say maybe more often, and forget nothing.
        const auto members =
            numbered_keys<K>(want, 0, is_ranged<K> || !takes_any_number<K> ? keys : 200);
        set.add_all(members);
        EXPECT_EQ(count_members(set, members), members.size()) << keys << " keys at " << rate;
      }
  });
}

TEST(Laws, AFullSetSaysYesToEverything) {
  for_all_kinds([]<class K>() {
    if constexpr (requires(Set<K> set) { set.fill(); }) {
      const Want want = want_for<K>(1'000);
      Set<K> set(want);
      set.add(numbered<K>(want, 1));
      set.fill();
      EXPECT_EQ(count_members(set, numbered_keys<K>(want, 0, 8'000)), 8'000);
      EXPECT_EQ(set.fill_ratio(), 1);
      if constexpr (Exact<K>) {
        EXPECT_EQ(set.count(), 8 * 1'024);
        EXPECT_EQ(set.adds(), 8 * 1'024);
      } else {
        EXPECT_EQ(set.rate_now(), 1);
        EXPECT_EQ(set.estimate(), std::numeric_limits<double>::infinity());
      }
      // What is full can be saved, and opens full.
      const ScratchDirectory scratch;
      set.save(scratch / "full.blm");
      auto opened = Set<K>::open(scratch / "full.blm");
      ASSERT_TRUE(opened) << opened.error().sentence;
      EXPECT_EQ(opened->fill_ratio(), 1);
    }
  });
}

// Full is said, every key before it stays, and the refused one leaves no trace.
TEST(Laws, KindsThatCanBeFullSayItAndForgetNothing) {
  for_all_kinds([]<class K>() {
    if constexpr (Bounded<K>) {
      const Want want = want_for<K>(1'000);
      Set<K> single(want);
      std::uint64_t taken = 0;
      while (single.try_add(numbered<K>(want, taken)) != Added::full) ++taken;
      EXPECT_GE(taken, 1'000);
      const FileBytes before = bits_of(single);
      EXPECT_THROW(single.add(numbered<K>(want, taken)), Failure);
      EXPECT_EQ(bits_of(single), before);
      const auto keys = numbered_keys<K>(want, 0, 2 * taken);
      EXPECT_EQ(count_members(single, numbered_keys<K>(want, 0, taken)), taken);

      // All at once stops at the same key.
      Set<K> bulk(want);
      EXPECT_THROW(bulk.add_all(keys), Failure);
      EXPECT_EQ(bits_of(bulk), before);
      EXPECT_EQ(bulk.adds(), single.adds());
      auto any = AnySet::make(K::id.name, want).value();
      std::vector<Hash> hashes;
      for (const std::uint64_t key : keys) hashes.push_back(Hasher()(key));
      const auto added = any.add_all(std::span<const Hash>(hashes));
      ASSERT_FALSE(added);
      EXPECT_EQ(added.error().code, Code::full);
      EXPECT_EQ(bits_of(any.parts().value()), before);
      EXPECT_EQ(any.adds(), single.adds());
    }
  });
}

TEST(Laws, OverfullIsSaid) {
  for_all_kinds([]<class K>() {
    if constexpr (Kind<K> && !Exact<K> && takes_any_number<K>) {
      const Want want = want_for<K>(1'000);
      Set<K> set(want);
      set.add_all(numbered_keys<K>(want, 0, 990));
      EXPECT_FALSE(set.overfull());
      set.add_all(numbered_keys<K>(want, 990, 200));
      EXPECT_TRUE(set.overfull());
      EXPECT_GT(set.rate_now(), set.rate_asked());
    }
  });
}

TEST(Laws, TheFormOfTheKeysIsNoted) {
  for_all_kinds([]<class K>() {
    const Want want = want_for<K>(100);
    Set<K> set(want);
    if constexpr (is_ranged<K>) {
      EXPECT_EQ(set.rules().form, KeyForm::number);
      set.add(numbered<K>(want, 0));
      EXPECT_EQ(set.rules().form, KeyForm::number);
    } else {
      EXPECT_EQ(set.rules().form, KeyForm::none);
      (void)set.may_contain(std::uint64_t{1});
      set.add_all(std::vector<std::uint64_t>{});
      EXPECT_EQ(set.rules().form, KeyForm::none);
      set.add("text");
      EXPECT_EQ(set.rules().form, KeyForm::text);
      set.add(std::string("more"));
      EXPECT_EQ(set.rules().form, KeyForm::text);
      // An integer is refused (tests/sets/key_forms_test.cpp); a hash is taken.
      set.add(typename K::Input{});
      EXPECT_EQ(set.rules().form, KeyForm::mixed);

      Set<K> integers(want);
      if constexpr (adds_shared<K>)
        integers.add_shared(std::int16_t{-3});
      else
        integers.add(std::int16_t{-3});
      EXPECT_EQ(integers.rules().form, KeyForm::u64);
      Set<K> hashes(want);
      hashes.add(typename K::Input{});
      EXPECT_EQ(hashes.rules().form, KeyForm::hash);
      // A merged set holds the form of both.
      if constexpr (merges<K>) {
        Set<K> empty(want);
        empty.unite(integers);
        EXPECT_EQ(empty.rules().form, KeyForm::u64);
      }
    }
  });
}

TEST(Laws, IntegersOfEveryWidthAreTheSameKey) {
  for_all_kinds([]<class K>() {
    if constexpr (!is_ranged<K>) {
      Set<K> set(want_for<K>(100));
      set.add(std::uint8_t{42});
      EXPECT_TRUE(set.may_contain(std::uint64_t{42}));
      EXPECT_TRUE(set.may_contain(std::int32_t{42}));
      EXPECT_THROW((void)set.may_contain("42"), Failure);
      set.add(std::int8_t{-1});
      EXPECT_TRUE(set.may_contain(std::int64_t{-1}));
      EXPECT_FALSE(set.may_contain(std::uint32_t{0xffff'ffff}));
    }
  });
}

TEST(Laws, WhatIsRemovedLeavesTheBytesThatWereBefore) {
  for_all_kinds([]<class K>() {
    if constexpr (Removable<K>) {
      Want want = want_for<K>(2'000);
      want.removal = true;
      Set<K> set(want);
      const auto kept = numbered_keys<K>(want, 0, 1'000);
      const auto passing = numbered_keys<K>(want, 1'000, 1'000);
      const FileBytes empty = bits_of(set);
      set.add_all(kept);
      const FileBytes before = bits_of(set);
      set.add_all(passing);
      Bools removed(passing.size());
      EXPECT_EQ(set.remove_all(passing, removed), passing.size());
      EXPECT_EQ(removed.count(), passing.size());
      // Where fingerprints move about, others may have moved: the answers are the same.
      if constexpr (!keeps_copies<K>) {
        EXPECT_EQ(bits_of(set), before);
      }
      EXPECT_EQ(count_members(set, kept), kept.size());
      for (const std::uint64_t key : kept) EXPECT_TRUE(set.remove(key));
      EXPECT_EQ(bits_of(set), empty);
      EXPECT_EQ(set.remove_all(kept), 0);
      EXPECT_FALSE(set.remove(kept[0]));
      EXPECT_EQ(bits_of(set), empty);
    }
  });
}

TEST(Laws, CountsAreNeverTooLowAndSayAtLeastAtTheirEnd) {
  for_all_kinds([]<class K>() {
    if constexpr (Countable<K>) {
      const Want want = want_for<K>(1'000);
      Set<K> set(want);
      // Key i comes i % 20 times.
      const auto keys = numbered_keys<K>(want, 0, 1'000);
      for (std::uint64_t times = 1; times < 20; ++times)
        for (std::uint64_t i = 0; i < keys.size(); ++i)
          if (i % 20 >= times) set.add(keys[i]);
      std::vector<std::uint64_t> counts(keys.size());
      set.counts(keys, counts);
      std::size_t too_high = 0;
      for (std::uint64_t i = 0; i < keys.size(); ++i) {
        const std::uint64_t truth = std::min(i % 20, set.most_count());
        ASSERT_GE(counts[i], truth) << i;
        ASSERT_LE(counts[i], set.most_count());
        ASSERT_EQ(counts[i], set.count_of(keys[i]));
        too_high += counts[i] != truth;
      }
      EXPECT_LT(too_high, Exact<K> ? 1 : 20);
    }
  });
}

TEST(Laws, AnySetOfTheSameKindHasTheSameBytes) {
  for_all_kinds([]<class K>() {
    const Want want = want_for<K>(2'000);
    Set<K> typed(want, Hasher(5));
    auto any = AnySet::make(K::id.name, want, Hasher(5));
    ASSERT_TRUE(any) << any.error().sentence;
    Result<std::size_t> added = std::size_t{0};
    if constexpr (is_ranged<K>) {
      std::vector<Ordinal> ordinals;
      for (const std::uint64_t key : numbered_keys<K>(want, 0, 5'000)) ordinals.push_back({key});
      added = any->add_all(ordinals);
      typed.add_all(ordinals);
    } else {
      std::vector<std::string> texts;
      for (int i = 0; i < (Bounded<K> ? 1'500 : 5'000); ++i)
        texts.push_back("line " + std::to_string(i / 2));
      const std::vector<std::string_view> views(texts.begin(), texts.end());
      added = any->add_all(views);
      typed.add_all(views);
    }
    ASSERT_TRUE(added);
    EXPECT_EQ(*added, typed.adds());
    EXPECT_EQ(any->adds(), typed.adds());
    EXPECT_EQ(any->bytes(), typed.bytes());
    EXPECT_EQ(any->estimate(), typed.estimate());
    EXPECT_EQ(any->rate_now(), typed.rate_now());
    EXPECT_EQ(any->rules(), typed.rules());
    EXPECT_EQ(bits_of(any->parts().value()), bits_of(typed));
  });
}

}  // namespace
}  // namespace bloomery::detail

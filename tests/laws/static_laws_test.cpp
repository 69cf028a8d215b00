// Laws of the static kinds: built from all their keys at once, then only asked. A law goes red for
// the kind that its trace names.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <tests/laws/chances.hpp>
#include <tests/laws/law_keys.hpp>

namespace bloomery::detail {
namespace {

using Keys = std::vector<std::uint64_t>;

// Strangers begin far above all members.
constexpr std::uint64_t first_stranger = std::uint64_t{1} << 40;

Keys integers(std::uint64_t first, std::uint64_t count) {
  return numbered_keys<BinaryFuse>({}, first, count);
}

template <class K>
Set<K> built(const Keys& keys, double rate = 0.01, Hasher hasher = Hasher{}) {
  return Set<K>::build({.rate = rate}, keys, hasher).value();
}

// A sentence: several words, not a code name.
void expect_sentence(const Error& error, Code code) {
  EXPECT_EQ(error.code, code) << error.sentence;
  EXPECT_GT(error.sentence.size(), 20) << error.sentence;
  EXPECT_NE(error.sentence.find(' '), std::string::npos) << error.sentence;
}

TEST(StaticLaws, NoKeyIsForgottenWhateverTheirNumber) {
  for_static_kinds([]<class K>() {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t n = 0; n <= 200; ++n) numbers.push_back(n);
    numbers.insert(numbers.end(), {1'000, 10'000, 65'536, 65'537, 100'000});
    for (const std::uint64_t number : numbers)
      for (const double rate : {0.5, 0.01, 1e-3}) {
        SCOPED_TRACE(testing::Message() << number << " keys at " << rate);
        const Keys keys = integers(number * 1'000, number);
        const Set<K> set = built<K>(keys, rate);
        ASSERT_EQ(count_members(set, keys), number);
        EXPECT_EQ(set.adds(), number);
        EXPECT_EQ(set.capacity(), number);
        EXPECT_EQ(set.estimate(), static_cast<double>(number));
        EXPECT_EQ(set.rate_asked(), rate);
        EXPECT_FALSE(set.overfull());
      }
  });
}

TEST(StaticLaws, AnEmptySetHoldsNothing) {
  for_static_kinds([]<class K>() {
    const Set<K> set = built<K>({});
    EXPECT_EQ(count_members(set, integers(0, 8'000)), 0);
    EXPECT_EQ(set.rate_now(), 0);
    EXPECT_EQ(set.rules().form, KeyForm::none);
    const ScratchDirectory scratch;
    set.save(scratch / "empty.blm");
    const auto opened = Set<K>::open(scratch / "empty.blm");
    ASSERT_TRUE(opened) << opened.error().sentence;
    EXPECT_EQ(count_members(*opened, integers(0, 8'000)), 0);
  });
}

TEST(StaticLaws, TextHashesAndIntegersOfEveryWidthAreFound) {
  for_static_kinds([]<class K>() {
    std::vector<std::string> texts;
    for (int i = 0; i < 3'000; ++i) texts.push_back("http://example.org/" + std::to_string(i));
    const Want want{.rate = 0.01};
    const auto of_texts = Set<K>::build(want, texts).value();
    EXPECT_EQ(of_texts.rules().form, KeyForm::text);
    for (const std::string& text : texts) ASSERT_TRUE(of_texts.may_contain(text));
    for (const std::string& text : texts) ASSERT_TRUE(of_texts.may_contain(text.c_str()));

    std::vector<Hash> hashes;
    for (const std::string& text : texts) hashes.push_back(Hasher{}(text));
    const auto of_hashes = Set<K>::build(want, hashes).value();
    EXPECT_EQ(of_hashes.rules().form, KeyForm::hash);
    EXPECT_EQ(bits_of(of_hashes), bits_of(of_texts));

    const auto of_bytes = Set<K>::build(want, std::vector<std::int8_t>{-1, 42}).value();
    EXPECT_EQ(of_bytes.rules().form, KeyForm::u64);
    EXPECT_TRUE(of_bytes.may_contain(std::uint64_t{42}));
    EXPECT_TRUE(of_bytes.may_contain(std::int64_t{-1}));
  });
}

// Fixed seeds; within five standard deviations of rate_now(), which is at most the rate asked.
TEST(StaticLaws, StrangersPassAtTheRate) {
  for_static_kinds([]<class K>() {
    for (const std::uint64_t keys : {1, 2, 10, 100, 1'000, 10'000, 300'000})
      for (const double rate : {0.5, 0.3, 0.05, 0.01, 1.0 / 256, 1e-3, 1e-5}) {
        SCOPED_TRACE(testing::Message() << keys << " keys at " << rate);
        const Set<K> set = built<K>(integers(0, keys), rate, Hasher(keys));
        const std::uint64_t asked = 300'000;
        const std::uint64_t passed = count_members(set, integers(first_stranger, asked));
        EXPECT_TRUE(is_likely(passed, asked, set.rate_now()))
            << passed << " of " << asked << " at " << set.rate_now();
        EXPECT_LE(set.rate_now(), rate * 1.00001);
        // In small ribbons the wide stretches weigh more than their share.
        EXPECT_NEAR(K::expected_rate(set.kind().shape(), keys), set.rate_now(),
                    (keys < 10'000 ? 0.12 : 0.03) * rate);
      }
  });
}

TEST(StaticLaws, SavedAndOpenedGivesTheSameAnswersAndTheSameBytes) {
  const ScratchDirectory scratch;
  for_static_kinds([&]<class K>() {
    for (const std::uint64_t keys : {1, 3, 50, 20'000, 150'000}) {
      SCOPED_TRACE(keys);
      const Set<K> set = built<K>(integers(0, keys), 0.02, Hasher(99));
      set.save(scratch / "first.blm", {Overwrite::replace});
      const auto opened = Set<K>::open(scratch / "first.blm");
      ASSERT_TRUE(opened) << opened.error().sentence;
      const Keys questions = integers(0, 100'000);
      Bools before(questions.size());
      Bools after(questions.size());
      set.may_contain_all(questions, before);
      opened->may_contain_all(questions, after);
      EXPECT_EQ(before.copy(), after.copy());
      EXPECT_EQ(opened->adds(), set.adds());
      EXPECT_EQ(opened->capacity(), set.capacity());
      EXPECT_EQ(opened->rate_asked(), set.rate_asked());
      EXPECT_EQ(opened->rate_now(), set.rate_now());
      EXPECT_FALSE(opened->overfull());
      EXPECT_EQ(opened->hasher(), set.hasher());
      EXPECT_EQ(opened->rules(), set.rules());
      opened->save(scratch / "second.blm", {Overwrite::replace});
      EXPECT_EQ(read_whole(scratch / "first.blm"), read_whole(scratch / "second.blm"));
    }
  });
}

TEST(StaticLaws, DamagedBytesAreNoticed) {
  const ScratchDirectory scratch;
  const auto path = scratch / "set.blm";
  for_static_kinds([&]<class K>() {
    built<K>(integers(0, 2'000)).save(path, {Overwrite::replace});
    const FileBytes good = read_whole(path);
    const auto write = [&](const FileBytes& bytes) {
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    };
    for (std::size_t at = 0; at < good.size(); at += 37) {
      FileBytes bad = good;
      bad[at] ^= std::byte{0x10};
      write(bad);
      ASSERT_FALSE(Set<K>::open(path)) << "byte " << at;
    }
    FileBytes cut = good;
    cut.resize(cut.size() - 4096);
    write(cut);
    EXPECT_FALSE(Set<K>::open(path));
    write(good);
    EXPECT_TRUE(Set<K>::open(path));
  });
}

TEST(StaticLaws, AFileOfOneKindIsRefusedByEveryOther) {
  const ScratchDirectory scratch;
  const auto expect_refused = [&]<class Other>() {
    const auto opened = Set<Other>::open(scratch / "set.blm");
    ASSERT_FALSE(opened) << Other::id.name;
    EXPECT_EQ(opened.error().code, Code::mismatch);
  };
  for_static_kinds([&]<class K>() {
    built<K>(integers(0, 100)).save(scratch / "set.blm", {Overwrite::replace});
    AllKinds::for_each([&]<class Other>() {
      if constexpr (!std::same_as<K, Other>) expect_refused.template operator()<Other>();
    });
  });
  for_all_kinds([&]<class K>() {
    Set<K>(want_for<K>(100)).save(scratch / "set.blm", {Overwrite::replace});
    for_static_kinds([&]<class Other>() { expect_refused.template operator()<Other>(); });
  });
}

// Which keys there are decides the bytes, and nothing else. 2.2M keys are several shards of each.
// Threads and scratch: static_thread_laws_test.cpp.
TEST(StaticLaws, OrderAndRepeatsDoNotChangeTheBytes) {
  for_static_kinds([]<class K>() {
    for (const std::uint64_t number : {1, 5, 700, 40'000, 2'200'000}) {
      SCOPED_TRACE(number);
      Keys keys = integers(0, number);
      const FileBytes in_order = bits_of(built<K>(keys));
      std::mt19937_64 random(number);
      std::shuffle(keys.begin(), keys.end(), random);
      EXPECT_EQ(bits_of(built<K>(keys)), in_order);
      for (std::uint64_t i = 0; i <= number / 2; ++i) keys.push_back(keys[random() % number]);
      const auto repeated = built<K>(keys);
      EXPECT_EQ(bits_of(repeated), in_order);
      EXPECT_EQ(repeated.adds(), number);
    }
  });
}

TEST(StaticLaws, OneKeyAMillionTimesIsOneKey) {
  for_static_kinds([]<class K>() {
    const Set<K> set = built<K>(Keys(1'000'000, 3));
    EXPECT_EQ(set.adds(), 1);
    EXPECT_TRUE(set.may_contain(3));
    EXPECT_EQ(bits_of(set), bits_of(built<K>({3})));
  });
}

TEST(StaticLaws, AnySetOfTheSameKindHasTheSameBytes) {
  for_static_kinds([]<class K>() {
    std::vector<std::string> texts;
    for (int i = 0; i < 5'000; ++i) texts.push_back("line " + std::to_string(i / 2));
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    const Want want{.rate = 0.01};
    const auto typed = Set<K>::build(want, views, Hasher(5)).value();
    const auto any = AnySet::build(K::id.name, want, views, Hasher(5)).value();
    EXPECT_EQ(any.kind(), K::id);
    EXPECT_EQ(any.adds(), 2'500);
    EXPECT_EQ(any.rate_now(), typed.rate_now());
    EXPECT_EQ(any.rules(), typed.rules());
    EXPECT_FALSE(any.overfull());
    EXPECT_EQ(bits_of(any.parts().value()), bits_of(typed));
    Bools answers(views.size());
    any.may_contain_all(views, answers).value();
    EXPECT_EQ(answers.count(), views.size());
    std::vector<Hash> hashes;
    for (const std::string_view text : views) hashes.push_back(Hasher(5)(text));
    const auto of_hashes = AnySet::build(K::id.name, want, hashes, Hasher(5)).value();
    EXPECT_EQ(of_hashes.rules().form, KeyForm::hash);
    EXPECT_EQ(bits_of(of_hashes.parts().value()), bits_of(typed));
    const auto again = AnySet::from_parts(any.parts().value(), any.hasher(), any.rules()).value();
    EXPECT_EQ(bits_of(again.parts().value()), bits_of(typed));
  });
}

// Built from keys, the other hashed kinds are made and added to.
TEST(StaticLaws, AnySetBuildsEveryHashedKindFromItsKeys) {
  const std::vector<std::string_view> texts = {"one", "two", "three", "two"};
  for (const KindRow& row : AnySet::register_rows()) {
    if (row.two_lists) continue;
    SCOPED_TRACE(std::string(row.id.name));
    const auto set = AnySet::build(row.id.name, {.rate = 1e-4}, texts);
    if (row.input == InputForm::ordinal) {
      EXPECT_FALSE(set);
      continue;
    }
    ASSERT_TRUE(set) << set.error().sentence;
    EXPECT_EQ(set->adds(), 3);
    bool answers[4] = {};
    set->may_contain_all(texts, answers).value();
    EXPECT_TRUE(answers[0] && answers[1] && answers[2] && answers[3]);
    EXPECT_EQ(row.built, row.id.name == "fuse" || row.id.name == "ribbon");
  }
}

TEST(StaticLaws, WhatAStaticSetCanNotDoIsRefusedWithASentence) {
  for_static_kinds([]<class K>() {
    const std::vector<std::string_view> texts = {"one", "two"};
    auto set = AnySet::build(K::id.name, {.rate = 0.01}, texts).value();
    const FileBytes before = bits_of(set.parts().value());
    const auto added = set.add_all(texts);
    ASSERT_FALSE(added);
    expect_sentence(added.error(), Code::unsupported);
    EXPECT_NE(added.error().sentence.find("build it again"), std::string::npos);
    EXPECT_NE(added.error().sentence.find("blocked"), std::string::npos);
    EXPECT_FALSE(set.add_all(std::vector<Hash>{{1}}));
    EXPECT_FALSE(set.add_all(std::vector<Ordinal>{{1}}));
    const auto removed = set.remove_all(texts);
    ASSERT_FALSE(removed);
    expect_sentence(removed.error(), Code::unsound);
    const auto other = AnySet::build(K::id.name, {.rate = 0.01}, texts).value();
    const auto expect_unsound = [](Result<void> refused) {
      ASSERT_FALSE(refused);
      expect_sentence(refused.error(), Code::unsound);
    };
    expect_unsound(set.unite(other));
    expect_unsound(set.intersect(other));
    expect_unsound(set.subtract(other));
    expect_unsound(set.exclusive(other));
    EXPECT_EQ(bits_of(set.parts().value()), before);
    const auto empty = AnySet::make(K::id.name, {.keys = 10, .rate = 0.01});
    ASSERT_FALSE(empty);
    expect_sentence(empty.error(), Code::unsupported);
  });
}

TEST(StaticLaws, ImpossibleWantsAreRefused) {
  for_static_kinds([]<class K>() {
    const Keys keys = integers(0, 100'000);
    for (const double rate : {0.0, 1.0, -0.01, 0.51, 1e-13, 1e9, std::nan("")}) {
      const auto set = Set<K>::build({.rate = rate}, keys);
      ASSERT_FALSE(set) << rate;
      expect_sentence(set.error(), Code::impossible);
    }
    for (const Want& want : {Want{.rate = 0.01, .memory_bytes = 1'000}, Want{.memory_bytes = 1},
                             Want{.rate = 0.01, .scratch_bytes = 1'000}}) {
      const auto set = Set<K>::build(want, keys);
      ASSERT_FALSE(set);
      expect_sentence(set.error(), Code::impossible);
    }
  });
}

TEST(StaticLaws, MemoryGivesTheRate) {
  for_static_kinds([]<class K>() {
    for (const std::uint64_t number : {1'000, 100'000}) {
      const std::uint64_t memory = number * 3 / 2;
      const auto set = Set<K>::build({.memory_bytes = memory}, integers(0, number)).value();
      EXPECT_LE(set.bytes(), memory);
      EXPECT_GT(set.bytes(), memory * 8 / 10);
      EXPECT_LE(set.rate_now(), set.rate_asked() * 1.00001);
      EXPECT_EQ(count_members(set, integers(0, number)), number);
    }
  });
}

TEST(StaticLaws, PlansAreHonest) {
  for_static_kinds([]<class K>() {
    for (const std::uint64_t keys : {1, 10, 100, 1'000, 10'000, 1'000'000, 100'000'000})
      for (const double rate : {0.5, 0.3, 0.1, 0.05, 0.01, 1e-3, 1e-4, 1e-6}) {
        const auto shape = K::plan({.keys = keys, .rate = rate});
        ASSERT_TRUE(shape) << shape.error().sentence;
        EXPECT_TRUE(K::check(*shape, K::bytes(*shape)));
        EXPECT_EQ(K::expected_rate(*shape, 0), 0);
        EXPECT_LE(K::expected_rate(*shape, keys), rate * 1.00001) << keys << " keys at " << rate;
        EXPECT_GE(static_cast<double>(K::bytes(*shape)) * 8,
                  static_cast<double>(keys) * -std::log2(rate));
      }
  });
}

}  // namespace
}  // namespace bloomery::detail

// 1 and "1" are different keys with different hashes: a set of one form refuses the other instead
// of answering "absent". What the table in key_gate.hpp says, for every kind and every verb.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <tests/laws/law_keys.hpp>
#include <tests/storage/scratch_directory.hpp>

namespace bloomery::detail {
namespace {

using Integers = std::vector<std::uint64_t>;
using Texts = std::vector<std::string>;

// Does it throw the Failure that names both forms?
template <class Use>
testing::AssertionResult refuses(Use&& use, std::string_view held, std::string_view given) {
  try {
    use();
  } catch (const Failure& failure) {
    const std::string_view sentence = failure.what();
    const bool named = sentence.find("'" + std::string(held) + "'") != sentence.npos &&
                       sentence.find("'" + std::string(given) + "'") != sentence.npos;
    if (failure.code == Code::mismatch && named) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "another refusal: " << sentence;
  }
  return testing::AssertionFailure() << "a key of form " << given << " was taken for an answer";
}

template <class K>
Set<K> set_of_integers() {
  if constexpr (TwoListed<K>) {
    return Set<K>::build({.rate = 0.01}, Integers{1, 2, 3}, Integers{7, 8}).value();
  } else if constexpr (Buildable<K>) {
    return Set<K>::build({.rate = 0.01}, Integers{1, 2, 3}).value();
  } else {
    Set<K> set({.keys = 100, .rate = 0.01});
    set.add(std::uint64_t{1});
    set.add_all(Integers{2, 3});
    return set;
  }
}

template <class K>
void expect_texts_refused(Set<K>& set) {
  const auto no = [](auto&& use) { return refuses(use, "u64", "text"); };
  bool answers[1];
  std::uint64_t mask[1];
  const Texts texts = {"1"};
  EXPECT_TRUE(no([&] { (void)set.may_contain("1"); }));
  EXPECT_TRUE(no([&] { (void)set.may_contain(std::string("1")); }));
  EXPECT_TRUE(no([&] { (void)set.may_contain_all(texts, answers); }));
  EXPECT_TRUE(no([&] { (void)set.may_contain_all(texts, mask); }));
  EXPECT_TRUE(no([&] { (void)set.count_may_contain(texts); }));
  if constexpr (adds_shared<K>) {
    EXPECT_TRUE(no([&] { (void)set.may_contain_shared("1"); }));
    EXPECT_TRUE(no([&] { (void)set.add_shared("1"); }));
  }
  if constexpr (!TwoListed<K> && !Buildable<K>) {
    EXPECT_TRUE(no([&] { (void)set.add("1"); }));
    EXPECT_TRUE(no([&] { (void)set.try_add(std::string_view("1")); }));
    EXPECT_TRUE(no([&] { (void)set.add_all(texts); }));
    EXPECT_TRUE(no([&] { (void)set.add_all(texts, Threads{2}); }));
  }
  if constexpr (Countable<K>) {
    EXPECT_TRUE(no([&] { (void)set.count_of("1"); }));
  }
  if constexpr (Removable<K>) {
    EXPECT_TRUE(no([&] { (void)set.remove("1"); }));
    EXPECT_TRUE(no([&] { (void)set.remove_all(texts); }));
  }
  EXPECT_EQ(set.rules().form, KeyForm::u64) << "a refusal leaves no trace";
  EXPECT_TRUE(set.may_contain(1) && set.may_contain(std::int16_t{2}));
}

template <class Each>
void for_hashing_kinds(Each&& each) {
  AllKinds::for_each([&]<class K>() {
    if constexpr (!is_ranged<K>) {
      SCOPED_TRACE(std::string(K::id.name));
      each.template operator()<K>();
    }
  });
}

TEST(KeyForms, TextsAreRefusedByASetOfIntegers) {
  for_hashing_kinds([]<class K>() {
    Set<K> set = set_of_integers<K>();
    expect_texts_refused(set);
  });
}

TEST(KeyForms, SoTheyAreOfOneThatWasSavedAndOpened) {
  const ScratchDirectory scratch;
  for_hashing_kinds([&]<class K>() {
    set_of_integers<K>().save(scratch / "set.blm");
    Set<K> opened = Set<K>::open(scratch / "set.blm").value();
    expect_texts_refused(opened);
  });
}

TEST(KeyForms, IntegersAreRefusedByASetOfTexts) {
  Set<BlockedBloom> set({.keys = 100, .rate = 0.01});
  EXPECT_FALSE(set.may_contain(1)) << "an empty set holds nothing of any form";
  set.add("1");
  const auto no = [](auto&& use) { return refuses(use, "text", "u64"); };
  EXPECT_TRUE(no([&] { (void)set.may_contain(1); }));
  EXPECT_TRUE(no([&] { (void)set.add(1); }));
  EXPECT_TRUE(no([&] { (void)set.add_shared(1); }));
  EXPECT_TRUE(no([&] { (void)set.may_contain_shared(1); }));
  EXPECT_TRUE(no([&] { (void)set.add_all(Integers{1}); }));
  EXPECT_TRUE(no([&] { (void)set.count_may_contain(Integers{1}); }));
  EXPECT_TRUE(set.may_contain("1"));
  EXPECT_EQ(set.adds(), 1u);
}

TEST(KeyForms, AHashIsTakenByAllAndATextNotByASetOfHashes) {
  for_all_kinds([]<class K>() {
    if constexpr (!is_ranged<K>) {
      using Input = typename K::Input;
      Set<K> texts({.keys = 100, .rate = 0.001});
      texts.add("a");
      const Input of_a = input_from<Input>(std::string("a"), texts.hasher());
      const Input of_b = input_from<Input>(std::string("b"), texts.hasher());
      EXPECT_TRUE(texts.may_contain(of_a));
      EXPECT_EQ(texts.rules().form, KeyForm::text) << "asking notes nothing";
      texts.add(of_b);
      EXPECT_EQ(texts.rules().form, KeyForm::mixed);
      EXPECT_TRUE(texts.may_contain("b") && texts.may_contain("a"));

      Set<K> hashes({.keys = 100, .rate = 0.001});
      hashes.add(of_a);
      EXPECT_TRUE(refuses([&] { (void)hashes.may_contain("a"); }, "hash", "text"));
      EXPECT_TRUE(refuses([&] { (void)hashes.add(1); }, "hash", "u64"));
      EXPECT_TRUE(hashes.may_contain(of_a));
    }
  });
}

TEST(KeyForms, SetsOfDifferentFormsAreNotMerged) {
  for_merging_kinds([]<class K>() {
    if constexpr (!is_ranged<K>) {
      const Want want{.keys = 100, .rate = 0.01};
      Set<K> integers(want);
      integers.add(1);
      Set<K> texts(want);
      texts.add("1");
      const auto united = integers.try_unite(texts);
      ASSERT_FALSE(united) << "neither 1 nor the text could be asked for any more";
      EXPECT_EQ(united.error().code, Code::mismatch);
      EXPECT_NE(united.error().sentence.find("u64"), std::string::npos) << united.error().sentence;
      EXPECT_FALSE(texts.try_intersect(integers));
      if constexpr (Subtractable<K>) {
        EXPECT_FALSE(texts.try_subtract(integers));
      }
      EXPECT_EQ(integers.rules().form, KeyForm::u64);
      integers.unite(Set<K>(want));  // an empty set has no form
      Set<K> empty(want);
      empty.unite(texts);
      EXPECT_TRUE(empty.may_contain("1"));
      EXPECT_TRUE(refuses([&] { (void)empty.may_contain(1); }, "text", "u64"));
    }
  });
}

TEST(KeyForms, AShardRefusesThemToo) {
  Set<Sharded> set({.keys = 1'000, .rate = 0.01});
  set.add(1);
  auto shard = set.shard(set.shard_of("1"));
  EXPECT_TRUE(refuses([&] { (void)shard.add("1"); }, "u64", "text"));
  EXPECT_TRUE(refuses([&] { (void)shard.may_contain("1"); }, "u64", "text"));
}

TEST(KeyForms, AnySetRefusesTextsToo) {
  const ScratchDirectory scratch;
  Set<CountingBloom> integers({.keys = 100, .rate = 0.01});
  integers.add(1);
  integers.save(scratch / "set.blm");
  Image image = open_image(scratch / "set.blm").value();
  AnySet set = AnySet::from_parts(std::move(image.parts), image.hasher, image.rules).value();
  const std::vector<std::string_view> keys = {"1"};
  bool answers[1] = {};
  std::uint64_t counts[1] = {};
  HashedTexts hashed;
  set.hash_all(keys, hashed);
  EXPECT_EQ(set.add_all(keys).error().code, Code::mismatch);
  EXPECT_EQ(set.add_all(hashed, 0, 1).error().code, Code::mismatch);
  EXPECT_EQ(set.may_contain_all(keys, answers).error().code, Code::mismatch);
  EXPECT_EQ(set.may_contain_all(hashed, answers).error().code, Code::mismatch);
  EXPECT_EQ(set.remove_all(keys).error().code, Code::mismatch);
  EXPECT_EQ(set.counts(keys, counts).error().code, Code::mismatch);
  EXPECT_EQ(set.rules().form, KeyForm::u64);
  const Hash of_one[] = {set.hasher()(std::uint64_t{1})};
  ASSERT_TRUE(set.may_contain_all(of_one, answers));
  EXPECT_TRUE(answers[0]);
}

}  // namespace
}  // namespace bloomery::detail

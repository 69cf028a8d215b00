// A set that was moved from must not write into its successor, nor answer for it, for every kind:
// verbs throw, try_ forms return an Error, getters tell of an empty set. It may be assigned to.
#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <tests/laws/law_keys.hpp>
#include <tests/storage/scratch_directory.hpp>

namespace bloomery::detail {
namespace {

template <class K>
Set<K> some_set(const Want& want) {
  const auto keys = numbered_keys<K>(want, 0, 50);
  if constexpr (TwoListed<K>) {
    return Set<K>::build(want, keys, numbered_keys<K>(want, 50, 10)).value();
  } else if constexpr (Buildable<K>) {
    return Set<K>::build(want, keys).value();
  } else {
    Set<K> set(want);
    for (const std::uint64_t key : keys) set.add(key);
    return set;
  }
}

template <class Use>
void expect_thrown(const char* verb, Use&& use) {
  EXPECT_THROW(use(), std::logic_error) << verb;
}

template <class K>
void expect_everything_thrown(Set<K>& gone, const Want& want) {
  const std::uint64_t key = numbered<K>(want, 60);
  const std::vector<std::uint64_t> keys = {key};
  bool answers[1];
  expect_thrown("may_contain", [&] { (void)gone.may_contain(key); });
  expect_thrown("may_contain_all", [&] { (void)gone.may_contain_all(keys, answers); });
  expect_thrown("count_may_contain", [&] { (void)gone.count_may_contain(keys); });
  if constexpr (!TwoListed<K> && !Buildable<K>) {
    expect_thrown("add", [&] { (void)gone.add(key); });
    expect_thrown("add_all", [&] { (void)gone.add_all(keys); });
    expect_thrown("add_all by threads", [&] { (void)gone.add_all(keys, Threads{2}); });
    if constexpr (!is_ranged<K>) {
      expect_thrown("add of a text", [&] { (void)gone.add("text"); });
      expect_thrown("add of a hash", [&] { (void)gone.add(typename K::Input{}); });
    }
  }
  if constexpr (adds_shared<K>) {
    expect_thrown("add_shared", [&] { (void)gone.add_shared(key); });
    expect_thrown("may_contain_shared", [&] { (void)gone.may_contain_shared(key); });
  }
  if constexpr (Removable<K>) {
    expect_thrown("remove", [&] { (void)gone.remove(key); });
    expect_thrown("remove_all", [&] { (void)gone.remove_all(keys); });
  }
  if constexpr (Countable<K>) expect_thrown("count_of", [&] { (void)gone.count_of(key); });
  if constexpr (OneLined<K>)
    expect_thrown("add_all_by_lines", [&] { (void)gone.add_all_by_lines(keys); });
  if constexpr (requires { gone.fill(); }) expect_thrown("fill", [&] { gone.fill(); });
  if constexpr (Exact<K>) expect_thrown("for_each", [&] { gone.for_each([](auto) {}); });
  if constexpr (std::same_as<K, Bitmap>)
    expect_thrown("copy_members", [&] { (void)gone.copy_members(std::span<std::uint32_t>()); });
  if constexpr (Forgetting<K>) {
    expect_thrown("advance", [&] { gone.advance(); });
    expect_thrown("advance_to", [&] { gone.advance_to(1, 60); });
  }
  if constexpr (Sharding<K>) expect_thrown("shard", [&] { (void)gone.shard(0); });
  const ScratchDirectory scratch;
  expect_thrown("save", [&] { gone.save(scratch / "set.blm"); });
}

void expect_moved_from(const char* verb, const Result<void>& refused) {
  ASSERT_FALSE(refused) << verb;
  EXPECT_NE(refused.error().sentence.find("moved from"), std::string::npos) << verb;
}

template <class K>
void expect_getters_tell_of_nothing(Set<K>& gone) {
  EXPECT_EQ(gone.estimate(), 0);
  EXPECT_EQ(gone.rate_now(), 0);
  EXPECT_EQ(gone.fill_ratio(), 0);
  EXPECT_EQ(gone.rate_asked(), 0);
  EXPECT_EQ(gone.bytes(), 0u);
  EXPECT_EQ(gone.adds(), 0u);
  EXPECT_EQ(gone.capacity(), 0u);
  EXPECT_FALSE(gone.overfull());
  EXPECT_EQ(gone.rules(), KeyRules{});
  if constexpr (Exact<K>) {
    EXPECT_EQ(gone.count(), 0u);
  }
  if constexpr (Countable<K>) {
    EXPECT_EQ(gone.most_count(), 0u);
  }
  const ScratchDirectory scratch;
  expect_moved_from("try_save", gone.try_save(scratch / "set.blm"));
  if constexpr (Forgetting<K>) expect_moved_from("try_advance_to", gone.try_advance_to(1, 60));
}

template <class K>
void expect_merges_thrown(Set<K>& gone, Set<K>& here) {
  if constexpr (merges<K>) {
    expect_thrown("unite", [&] { gone.unite(here); });
    expect_thrown("united", [&] { here.unite(gone); });
    expect_thrown("intersect", [&] { gone.intersect(here); });
    expect_thrown("intersected", [&] { here.intersect(gone); });
    expect_moved_from("try_unite", gone.try_unite(here));
    expect_moved_from("try_united", here.try_unite(gone));
    expect_moved_from("try_intersect", gone.try_intersect(here));
  }
  if constexpr (Subtractable<K>) {
    expect_thrown("subtract", [&] { here.subtract(gone); });
    expect_moved_from("try_subtract", gone.try_subtract(here));
  }
  if constexpr (Exclusive<K>) {
    expect_thrown("exclusive", [&] { here.exclusive(gone); });
    expect_moved_from("try_exclusive", gone.try_exclusive(here));
  }
}

TEST(MovedFrom, ThrowsAndLeavesItsSuccessorAlone) {
  AllKinds::for_each([]<class K>() {
    SCOPED_TRACE(std::string(K::id.name));
    const Want want = want_for<K>(100);
    Set<K> first = some_set<K>(want);
    const FileBytes bits = bits_of(first);
    Set<K> second = std::move(first);
    expect_everything_thrown(first, want);
    expect_getters_tell_of_nothing(first);
    if constexpr (!TwoListed<K> && !Buildable<K>) expect_merges_thrown(first, second);
    EXPECT_EQ(bits_of(second), bits) << "a set that was moved from wrote into its successor";

    Set<K> third = some_set<K>(want);
    third = std::move(second);
    expect_everything_thrown(second, want);
    EXPECT_EQ(bits_of(third), bits);
    for (const std::uint64_t key : numbered_keys<K>(want, 0, 50))
      EXPECT_TRUE(third.may_contain(key));

    first = some_set<K>(want);
    EXPECT_EQ(bits_of(first), bits) << "what is assigned to is a set again";
    if constexpr (!TwoListed<K> && !Buildable<K>) {
      EXPECT_TRUE(first.may_contain(numbered<K>(want, 1)));
    }
  });
}

TEST(MovedFrom, AssignedToItselfASetStays) {
  AllKinds::for_each([]<class K>() {
    if constexpr (Kind<K>) {
      SCOPED_TRACE(std::string(K::id.name));
      const Want want = want_for<K>(100);
      Set<K> set = some_set<K>(want);
      const FileBytes bits = bits_of(set);
      Set<K>& same = set;
      set = std::move(same);
      EXPECT_EQ(bits_of(set), bits);
      EXPECT_TRUE(set.may_contain(numbered<K>(want, 1)));
    }
  });
}

TEST(MovedFrom, AnAnySetReturnsErrorsAndTellsOfNothing) {
  AnySet first = AnySet::make("blocked", {.keys = 100, .rate = 0.01}).value();
  AnySet second = std::move(first);
  const std::vector<std::string_view> texts = {"a"};
  const std::vector<Hash> hashes = {Hash{1}};
  const std::vector<Ordinal> ordinals = {Ordinal{1}};
  bool answers[1];
  std::uint64_t counts[1];
  const auto expect_refused = [](const auto& refused) {
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().sentence.find("moved from"), std::string::npos);
  };
  const auto expect_keys_refused = [&](const auto& keys) {
    expect_refused(first.add_all(keys));
    expect_refused(first.may_contain_all(keys, answers));
    expect_refused(first.remove_all(keys));
    expect_refused(first.counts(keys, counts));
  };
  expect_keys_refused(texts);
  expect_keys_refused(hashes);
  expect_keys_refused(ordinals);
  HashedTexts hashed;
  first.hash_all(texts, hashed);
  expect_refused(first.add_all(hashed, 0, 0));
  expect_refused(first.may_contain_all(hashed, answers));
  expect_refused(second.unite(first));
  expect_refused(first.unite(second));
  expect_refused(first.intersect(second));
  expect_refused(first.subtract(second));
  expect_refused(first.exclusive(second));
  expect_refused(first.advance_to(1, 60));
  expect_refused(first.best_fold(0.1));
  expect_refused(first.folded(2, 0.1));
  expect_refused(first.parts());
  expect_refused(first.measure());
  first.cap_memory(1);
  EXPECT_EQ(first.kind().name, "");
  EXPECT_FALSE(first.exact() || first.shared() || first.overfull());
  EXPECT_EQ(first.bytes() + first.adds() + first.capacity() + first.most_count(), 0u);
  EXPECT_EQ(first.estimate() + first.rate_now() + first.fill_ratio() + first.rate_asked(), 0);
  EXPECT_EQ(first.expected_rate_now(), 0);
  EXPECT_EQ(first.time_span() + first.time_told(), 0u);
  EXPECT_FALSE(first.range() || first.stuck() || first.lists());
  EXPECT_TRUE(first.shape_facts().empty());
  EXPECT_EQ(second.adds(), 0u);
}

}  // namespace
}  // namespace bloomery::detail

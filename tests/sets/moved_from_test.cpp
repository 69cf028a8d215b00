// A set that was moved from must not write into its successor, nor answer for it: it throws, for
// every kind and every verb. It may be assigned to.
#include <gtest/gtest.h>

#include <cstdint>
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
  if constexpr (Exact<K>) expect_thrown("count", [&] { (void)gone.count(); });
  if constexpr (Forgetting<K>) expect_thrown("advance", [&] { gone.advance(); });
  if constexpr (Sharding<K>) expect_thrown("shard", [&] { (void)gone.shard(0); });
  expect_thrown("estimate", [&] { (void)gone.estimate(); });
  expect_thrown("rate_now", [&] { (void)gone.rate_now(); });
  expect_thrown("bytes", [&] { (void)gone.bytes(); });
  expect_thrown("adds", [&] { (void)gone.adds(); });
  expect_thrown("overfull", [&] { (void)gone.overfull(); });
  const ScratchDirectory scratch;
  expect_thrown("save", [&] { (void)gone.save(scratch / "set.blm"); });
}

template <class K>
void expect_merges_thrown(Set<K>& gone, Set<K>& here) {
  if constexpr (merges<K>) {
    expect_thrown("unite", [&] { (void)gone.unite(here); });
    expect_thrown("united", [&] { (void)here.unite(gone); });
    expect_thrown("intersect", [&] { (void)gone.intersect(here); });
    expect_thrown("intersected", [&] { (void)here.intersect(gone); });
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

TEST(MovedFrom, AnAnySetThrowsToo) {
  AnySet first = AnySet::make("blocked", {.keys = 100, .rate = 0.01}).value();
  AnySet second = std::move(first);
  const std::vector<std::string_view> keys = {"a"};
  bool answers[1];
  EXPECT_THROW((void)first.add_all(keys), std::logic_error);
  EXPECT_THROW((void)first.may_contain_all(keys, answers), std::logic_error);
  EXPECT_THROW((void)first.bytes(), std::logic_error);
  EXPECT_THROW((void)second.unite(first), std::logic_error);
  EXPECT_EQ(second.adds(), 0u);
}

}  // namespace
}  // namespace bloomery::detail

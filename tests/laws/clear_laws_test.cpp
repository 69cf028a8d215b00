// Laws of clear: an emptied set is the set that was made, byte for byte, for every kind that can
// be empty. A law goes red for the kind that its trace names.
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <tests/laws/law_keys.hpp>

namespace bloomery::detail {
namespace {

constexpr std::uint64_t planned = 1'000;

// As many as a kind takes: what grows has grown.
template <class K>
constexpr std::uint64_t many = takes_any_number<K> ? 12 * planned : planned;

template <class K>
void expect_as_made(const Set<K>& set, const Set<K>& made) {
  EXPECT_EQ(set.to_bytes(), made.to_bytes());
  EXPECT_TRUE(set == made);
  EXPECT_EQ(set.adds(), 0);
  EXPECT_EQ(set.estimate(), 0);
  EXPECT_EQ(set.fill_ratio(), 0);
  EXPECT_EQ(set.rate_now(), made.rate_now());
  EXPECT_EQ(set.capacity(), made.capacity());
  EXPECT_EQ(set.rate_asked(), made.rate_asked());
  EXPECT_EQ(set.rules(), made.rules());
  EXPECT_FALSE(set.overfull());
}

TEST(ClearLaws, AClearedSetIsTheSetThatWasMade) {
  for_all_kinds([]<class K>() {
    const Want want = want_for<K>(planned);
    const Set<K> made(want, Hasher(3));
    Set<K> set(want, Hasher(3));
    for (const std::uint64_t fill : {std::uint64_t{0}, std::uint64_t{1}, many<K>}) {
      SCOPED_TRACE(fill);
      const auto keys = numbered_keys<K>(want, 0, fill);
      set.add_all(keys);
      set.clear();
      expect_as_made(set, made);
      EXPECT_EQ(set.bytes(), made.bytes());
      EXPECT_EQ(count_members(set, keys), 0);
    }
  });
}

TEST(ClearLaws, AClearedSetGoesOnAsANewOne) {
  for_all_kinds([]<class K>() {
    const Want want = want_for<K>(planned);
    const auto keys = numbered_keys<K>(want, 7, many<K>);
    Set<K> once(want);
    once.add_all(keys);
    Set<K> again(want);
    again.add_all(numbered_keys<K>(want, 0, many<K>));
    again.clear();
    again.add_all(keys);
    EXPECT_EQ(again.to_bytes(), once.to_bytes());
    EXPECT_EQ(again.adds(), once.adds());
  });
}

TEST(ClearLaws, KeysOfAnotherFormAreTaken) {
  for_all_kinds([]<class K>() {
    if constexpr (!is_ranged<K>) {
      Set<K> set(want_for<K>(planned));
      set.add("text");
      EXPECT_THROW(set.add(std::uint64_t{1}), Failure);
      set.clear();
      EXPECT_EQ(set.rules().form, KeyForm::none);
      EXPECT_TRUE(set.add(std::uint64_t{1}));
      EXPECT_THROW(set.add("text"), Failure) << "the fast path stayed open";
    }
  });
}

// A file keeps its uuid when it is saved again; a set without its keys is another one.
TEST(ClearLaws, AnOpenedSetIsClearedAlike) {
  for_all_kinds([]<class K>() {
    const Want want = want_for<K>(planned);
    Set<K> filled(want);
    filled.add_all(numbered_keys<K>(want, 0, many<K>));
    Set<K> opened = Set<K>::from_bytes(filled.to_bytes()).value();
    opened.clear();
    expect_as_made(opened, Set<K>(want));
  });
}

TEST(ClearLaws, AUnitedSetIsClearedAlike) {
  for_merging_kinds([]<class K>() {
    const Want want = want_for<K>(planned);
    Set<K> set(want);
    Set<K> other(want);
    set.add_all(numbered_keys<K>(want, 0, planned));
    other.add_all(numbered_keys<K>(want, planned, many<K>));
    set.unite(other);
    set.clear();
    expect_as_made(set, Set<K>(want));
    EXPECT_EQ(other.adds(), Set<K>::from_bytes(other.to_bytes()).value().adds());
  });
}

TEST(ClearLaws, AnyKindIsClearedOrSaysWhyNot) {
  for (const KindRow& row : AnySet::register_rows()) {
    if (row.two_lists) continue;  // below
    SCOPED_TRACE(std::string(row.id.name));
    const bool integers = row.input == InputForm::ordinal;
    Want want{.keys = planned, .rate = 0.01};
    if (integers) want = {.range = {0, 99'999}};
    if (row.built) {
      auto set = AnySet::build(row.id.name, want, std::vector<std::string_view>{"a", "b"}).value();
      EXPECT_EQ(set.clear().error().code, Code::unsupported);
      EXPECT_TRUE(set.may_contain("a").value());
      continue;
    }
    auto set = AnySet::make(row.id.name, want).value();
    set.rules().normalisation = "url/1";
    auto made = AnySet::make(row.id.name, want).value();
    made.rules().normalisation = "url/1";
    for (int i = 0; i < 900; ++i)
      ASSERT_TRUE((integers ? set.add(i) : set.add(std::to_string(i))).has_value());
    auto opened = AnySet::from_bytes(set.to_bytes().value()).value();
    for (AnySet* cleared : {&set, &opened}) {
      ASSERT_TRUE(cleared->clear().has_value());
      EXPECT_EQ(cleared->to_bytes().value(), made.to_bytes().value());
      EXPECT_TRUE(cleared->add(5).has_value()) << "integers after texts";
    }
  }
}

TEST(ClearLaws, StaticKindsCannotBeEmpty) {
  static_assert(!Clearable<BinaryFuse> && !Clearable<Ribbon> && !Clearable<Cascade>);
  const std::vector<std::string> blocked{"bad"};
  const std::vector<std::string> allowed{"good"};
  const auto lists = Set<Cascade>::build({.rate = 0.01}, blocked, allowed).value();
  AnySet any = AnySet::from_bytes(lists.to_bytes()).value();
  EXPECT_EQ(any.clear().error().code, Code::unsupported);
  EXPECT_TRUE(any.may_contain("bad").value());
}

TEST(Clear, AWindowForgetsItsTime) {
  const Want want = want_for<WindowBloom>(planned);
  Set<WindowBloom> set(want);
  set.advance_to(1'000, 60);
  set.add("a");
  set.clear();
  expect_as_made(set, Set<WindowBloom>(want));
  set.advance_to(5, 7);  // another span
  EXPECT_TRUE(set.add("a"));
}

TEST(Clear, ACapOfMemoryStays) {
  const auto keys = numbered_keys<Compact>({}, 0, 200'000);
  for (const char* kind : {"chain", "scalable", "compact", "hash-set"}) {
    SCOPED_TRACE(kind);
    auto set = AnySet::make(kind, {.rate = 0.01, .memory_bytes = 200'000}).value();
    const auto refused = set.add_all(keys).has_value() ? 0 : set.adds();
    const std::uint64_t bytes = set.bytes();
    ASSERT_TRUE(set.clear().has_value());
    EXPECT_LT(set.bytes(), bytes);
    EXPECT_EQ(set.add_all(keys).has_value() ? 0 : set.adds(), refused);
    EXPECT_EQ(set.bytes(), bytes);
    EXPECT_LE(set.bytes(), 200'000);
  }
}

TEST(Clear, EmptiesASetThatWasFilled) {
  const Want want = want_for<BlockedBloom>(planned);
  Set<BlockedBloom> set(want);
  set.fill();
  EXPECT_TRUE(set.overfull());
  set.clear();
  expect_as_made(set, Set<BlockedBloom>(want));
}

TEST(Clear, WithoutMemoryNothingChanges) {
  Set<Scalable> set(want_for<Scalable>(planned));
  set.add_all(numbered_keys<Scalable>({}, 0, 12 * planned));
  const auto before = set.to_bytes();
  Memory::lend_from({[](std::size_t) -> void* { return nullptr; }, [](void*) {}});
  const auto refused = set.try_clear();
  Memory::lend_from({});
  EXPECT_EQ(refused.error().code, Code::no_memory);
  EXPECT_EQ(set.to_bytes(), before);
}

TEST(Clear, OfASetThatWasMovedFromIsRefused) {
  Set<BlockedBloom> set(want_for<BlockedBloom>(planned));
  const Set<BlockedBloom> taken = std::move(set);
  EXPECT_THROW(set.clear(), std::logic_error);
  EXPECT_FALSE(set.try_clear().has_value());
  auto any = AnySet::make("blocked", {.keys = 10, .rate = 0.01}).value();
  const AnySet gone = std::move(any);
  EXPECT_FALSE(any.clear().has_value());
}

}  // namespace
}  // namespace bloomery::detail

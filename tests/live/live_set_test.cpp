// Live sets in one process: what is added is there for every handle, at once and after each way of
// leaving the file.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <bloomery/live.hpp>
#include <tests/storage/scratch_directory.hpp>

namespace bloomery {
namespace {

std::vector<std::string> some_keys(const std::string& name, std::size_t count) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back(name + std::to_string(i));
  return keys;
}

std::vector<std::string_view> views(const std::vector<std::string>& keys) {
  return {keys.begin(), keys.end()};
}

// Every kind that takes text one by one.
std::vector<std::string> text_kinds() {
  std::vector<std::string> kinds;
  for (const KindRow& row : AnySet::register_rows())
    if (row.input == InputForm::hashed && !row.built && !row.two_lists)
      kinds.emplace_back(row.id.name);
  return kinds;
}

class LiveSets : public testing::TestWithParam<std::string> {
 protected:
  std::string path() const { return (directory_.path() / "F").string(); }
  void create(LiveCreation how = {}) {
    const auto made = AnySet::make(GetParam(), {.keys = 20'000, .rate = 1e-6});
    ASSERT_TRUE(made) << made.error().sentence;
    const auto created = create_live(path(), *made, how);
    ASSERT_TRUE(created) << created.error().sentence;
  }
  AnyLiveSet opened(LiveOptions options = {}) {
    auto live = AnyLiveSet::open(path(), options);
    if (!live) throw std::runtime_error(live.error().sentence);
    return std::move(*live);
  }
  static std::size_t added(AnyLiveSet& live, const std::vector<std::string>& keys) {
    const auto fresh = live.set().add_all(views(keys));
    if (!fresh) throw std::runtime_error(fresh.error().sentence);
    return *fresh;
  }
  static std::size_t had(const AnyLiveSet& live, const std::vector<std::string>& keys) {
    std::vector<char> answers(keys.size());
    const auto asked = live.set().may_contain_all(
        views(keys), std::span(reinterpret_cast<bool*>(answers.data()), keys.size()));
    if (!asked) throw std::runtime_error(asked.error().sentence);
    return static_cast<std::size_t>(std::count(answers.begin(), answers.end(), 1));
  }

  detail::ScratchDirectory directory_;
};

TEST_P(LiveSets, WhatOneAddsTheOtherHasAtOnce) {
  create();
  auto one = opened(), other = opened();
  const auto mine = some_keys("a", 3000), theirs = some_keys("b", 3000);
  EXPECT_EQ(added(one, mine), 3000U);
  EXPECT_EQ(had(other, mine), 3000U);
  EXPECT_EQ(added(other, mine), 0U) << "each key is new to one only";
  EXPECT_EQ(added(other, theirs), 3000U);
  EXPECT_EQ(added(one, theirs), 0U);
  EXPECT_EQ(one.set().adds(), 6000U);
  EXPECT_EQ(other.set().adds(), 6000U);
}

TEST_P(LiveSets, WhatWasAddedIsThereWhenItIsOpenedAgain) {
  create();
  const auto keys = some_keys("k", 10'000);
  {
    auto live = opened();
    EXPECT_EQ(added(live, keys), 10'000U);
    ASSERT_TRUE(live.close());
  }
  auto again = opened();
  EXPECT_FALSE(again.recovery().was_cut);
  EXPECT_EQ(had(again, keys), 10'000U);
  EXPECT_EQ(again.set().adds(), 10'000U);
  EXPECT_EQ(had(again, some_keys("stranger", 1000)), 0U);
}

TEST_P(LiveSets, EachKeyIsCountedOnceHoweverOftenItIsOpened) {
  create();
  std::uint64_t keys = 0;
  for (const char* const name : {"a", "b", "c", "d"}) {
    auto live = opened();
    EXPECT_EQ(live.set().adds(), keys);
    keys += added(live, some_keys(name, 100));
    ASSERT_TRUE(live.close());
    const auto at_rest = AnySet::open(path());
    ASSERT_TRUE(at_rest) << at_rest.error().sentence;
    EXPECT_EQ(at_rest->adds(), keys);
  }
  EXPECT_EQ(keys, 400U);
}

TEST_P(LiveSets, ASmallLogIsEmptiedAsOftenAsNeeded) {
  create({.log_bytes = 4096});
  const auto keys = some_keys("k", 10'000);
  {
    auto live = opened({.durability = Durability::every});
    for (std::size_t i = 0; i < keys.size(); i += 100)
      ASSERT_EQ(added(live, {keys.begin() + static_cast<std::ptrdiff_t>(i),
                             keys.begin() + static_cast<std::ptrdiff_t>(i) + 100}),
                100U);
  }
  EXPECT_TRUE(verify_image(path()));
  auto again = opened();
  EXPECT_EQ(had(again, keys), 10'000U);
  EXPECT_EQ(again.set().adds(), 10'000U);
}

TEST_P(LiveSets, ReadersReadIt) {
  create();
  auto live = opened();
  const auto keys = some_keys("k", 5000);
  added(live, keys);
  auto reader = opened({.read_only = true});
  EXPECT_EQ(had(reader, keys), 5000U);
  const auto more = some_keys("m", 5000);
  added(live, more);
  EXPECT_EQ(had(reader, more), 5000U);
  EXPECT_FALSE(reader.set().add("x"));
  const auto image = AnySet::open(path());
  ASSERT_TRUE(image) << image.error().sentence;
  for (const auto& key : more) EXPECT_TRUE(*image->may_contain(key));
  const auto verified = verify_image(path());
  EXPECT_TRUE(verified) << verified.error().sentence;
}

TEST_P(LiveSets, ASealedOneIsAnOrdinaryFile) {
  create();
  auto live = opened();
  const auto keys = some_keys("k", 5000);
  added(live, keys);
  EXPECT_TRUE(is_live(path()).value());
  const auto sealed = seal_live(path());
  ASSERT_TRUE(sealed) << sealed.error().sentence;
  EXPECT_FALSE(is_live(path()).value());
  EXPECT_FALSE(live.set().add("after")) << "no key may go where nobody looks";
  auto ordinary = AnySet::open(path());
  ASSERT_TRUE(ordinary) << ordinary.error().sentence;
  EXPECT_EQ(ordinary->adds(), 5000U);
  for (const auto& key : keys) ASSERT_TRUE(*ordinary->may_contain(key));
  EXPECT_TRUE(verify_image(path()));
}

TEST_P(LiveSets, KeysOfAnotherFormAreRefused) {
  create();
  auto one = opened(), other = opened();
  ASSERT_TRUE(one.set().add("text"));
  EXPECT_FALSE(other.set().add(std::uint64_t{7}));
  EXPECT_FALSE(other.set().may_contain(std::uint64_t{7}));
  EXPECT_TRUE(other.set().may_contain("text"));
}

TEST_P(LiveSets, WhoOnlyAsksGoesOnWhenTheLogIsShortened) {
  // A cuckoo set would be full, and a window would have forgotten, before its log is long.
  const KindRow& row = *AnySet::find_row(GetParam());
  if (row.forgets || row.keeps_copies) return;
  create();
  auto one = opened(), other = opened(), reader = opened({.read_only = true});
  const auto first = some_keys("a", 5000);
  added(one, first);
  EXPECT_EQ(had(other, first), 5000U);
  // Enough that a log that grows is worth a new image.
  for (int batch = 0; batch < 20; ++batch) added(one, some_keys("a", 5000));
  for (int batch = 0; batch < 30; ++batch) added(one, some_keys("b" + std::to_string(batch), 5000));
  ASSERT_TRUE(one.checkpoint());
  const auto last = some_keys("c", 1000);
  added(one, last);
  EXPECT_EQ(had(other, last), 1000U);
  EXPECT_EQ(had(reader, last), 1000U);
  EXPECT_EQ(had(other, first), 5000U);
  EXPECT_EQ(added(other, last), 0U);
}

// Behind the end of a log nothing counts, so damage there must not look like an earlier end.
TEST_P(LiveSets, ADamagedLogIsNotTakenForAShortOne) {
  create();
  {
    auto live = opened();
    for (int batch = 0; batch < 3; ++batch)
      added(live, some_keys("k" + std::to_string(batch), 500));
    ASSERT_TRUE(live.close());
  }
  auto bytes = detail::read_whole(path());
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string mark = "BLML";
  const auto second = text.find(mark, text.find(mark) + 1);
  ASSERT_NE(second, std::string::npos);
  bytes[second + 40] ^= static_cast<std::remove_reference_t<decltype(bytes[0])>>(4);
  detail::write_whole(path(), bytes);
  for (const bool read_only : {true, false}) {
    const auto live = AnyLiveSet::open(path(), {.read_only = read_only});
    ASSERT_FALSE(live) << (read_only ? "asked" : "added to");
    EXPECT_EQ(live.error().code, Code::damaged) << live.error().sentence;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, LiveSets, testing::ValuesIn(text_kinds()), [](const auto& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace bloomery

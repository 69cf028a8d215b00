// Any forward range of keys in the bulk verbs does as a vector of the same keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <forward_list>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <bloomery/bloomery.hpp>

#include <tests/sets/made_range.hpp>

namespace depot {
struct Item {
  int number;
};
inline int bloomery_key(const Item& item) { return item.number; }
}  // namespace depot

namespace bloomery::detail {
namespace {

constexpr std::size_t many = 2'500;  // two full buffers and a part

std::vector<std::string> texts() {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < many; ++i) all.push_back("key " + std::to_string(i % 2'000));
  return all;
}

template <class K>
void ranges_do_as_vectors(const Want& want) {
  const std::vector<std::string> all = texts();
  const std::list<std::string> list(all.begin(), all.end());
  Set<K> spanned(want);
  Set<K> listed(want);
  Set<K> answered(want);
  const auto fresh = std::make_unique<bool[]>(many);
  const auto fresh_too = std::make_unique<bool[]>(many);
  std::vector<bool> as_vector;
  const std::size_t count = spanned.add_all(all, {fresh.get(), many});
  EXPECT_EQ(listed.add_all(list, {fresh_too.get(), many}), count);
  EXPECT_EQ(answered.add_all(list, as_vector), count);
  EXPECT_TRUE(std::equal(fresh.get(), fresh.get() + many, fresh_too.get()));
  EXPECT_TRUE(std::equal(fresh.get(), fresh.get() + many, as_vector.begin(), as_vector.end()));
  EXPECT_EQ(listed.adds(), spanned.adds());
  EXPECT_EQ(listed.rules().form, KeyForm::text);

  const auto filtered =
      made_range<false>(0, 2'500, [](int i) { return "key " + std::to_string(2 * i + 1); });
  auto copy = filtered;  // cannot be gone through while it is const
  const std::vector<std::string> odd(copy.begin(), copy.end());
  EXPECT_EQ(listed.may_contain_all(filtered), spanned.may_contain_all(odd));
  EXPECT_EQ(listed.count_may_contain(filtered), spanned.count_may_contain(odd));
  EXPECT_EQ(listed.count_may_contain(filtered, Threads{2}), spanned.count_may_contain(odd));
  std::vector<std::uint64_t> mask(words_for(odd.size()));
  std::vector<std::uint64_t> mask_too(mask.size());
  EXPECT_EQ(listed.may_contain_all(filtered, std::span(mask)),
            spanned.may_contain_all(odd, std::span(mask_too)));
  EXPECT_EQ(mask, mask_too);
}

TEST(KeyRanges, OfTextsDoAsVectors) {
  ranges_do_as_vectors<BlockedBloom>({.keys = 3'000, .rate = 0.01});
  ranges_do_as_vectors<Cuckoo>({.keys = 3'000, .rate = 0.01});
  ranges_do_as_vectors<HashSet>(Want{});
  ranges_do_as_vectors<Scalable>({.rate = 0.01});
}

TEST(KeyRanges, OfIntegersAreCheckedBeforeAnyIsAdded) {
  Set<TwoBitMap> map({.range = {0, 9'999}});
  const auto numbers = made_range(0, 3'000, [](int i) { return i * 3; });
  EXPECT_EQ(map.add_all(numbers), 3'000);
  EXPECT_EQ(map.add_all(numbers, Threads{2}), 0);
  EXPECT_EQ(map.count_of(2'997), 2);
  std::forward_list<int> some = {-1, 0, 1, 10'000, 3};
  EXPECT_EQ(map.may_contain_all(some), (std::vector<bool>{false, true, false, false, true}));
  EXPECT_THROW(map.add_all(some), std::out_of_range);
  EXPECT_FALSE(map.contains(1));
  std::vector<std::uint64_t> counts(5);
  map.counts(some, counts);
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{0, 2, 0, 0, 2}));
  EXPECT_EQ(map.remove_all(some), 2);

  bool too_few[2] = {};
  EXPECT_THROW(map.add_all(numbers, std::span(too_few)), std::invalid_argument);
  EXPECT_THROW(map.may_contain_all(numbers, std::span(too_few)), std::invalid_argument);
}

TEST(KeyRanges, OfAProgramsOwnTypes) {
  Set<BlockedBloom> seen({.keys = 100, .rate = 1e-6});
  const std::vector<depot::Item> items = {{1}, {2}, {1}};
  EXPECT_EQ(seen.add_all(items), 2);
  EXPECT_EQ(seen.rules().form, KeyForm::u64);
  EXPECT_EQ(seen.may_contain_all(std::vector<int>{1, 2, 3}),
            (std::vector<bool>{true, true, false}));
  Set<Bitmap> map({.range = {0, 9}});
  EXPECT_EQ(map.add_all(items), 2);
  EXPECT_TRUE(map.contains(2));
}

TEST(KeyRanges, BuildStaticSetsOfTheSameBits) {
  const std::vector<std::string> all = texts();
  const std::set<std::string> sorted(all.begin(), all.end());
  const auto spanned = Set<BinaryFuse>::build({.rate = 0.01}, all).value();
  const auto listed = Set<BinaryFuse>::build({.rate = 0.01}, sorted).value();
  EXPECT_EQ(listed.bytes(), spanned.bytes());
  EXPECT_EQ(listed.rules().form, KeyForm::text);
  EXPECT_EQ(listed.count_may_contain(all), many);
  const auto cascade =
      Set<Cascade>::build({.rate = 0.01}, sorted, std::set<std::string>{"allowed"}).value();
  EXPECT_TRUE(cascade.may_contain("key 1"));
  EXPECT_FALSE(cascade.may_contain("allowed"));
}

TEST(KeyRanges, NoKeysAreNoForm) {
  Set<BlockedBloom> seen({.keys = 10, .rate = 0.01});
  EXPECT_EQ(seen.add_all(std::list<int>{}), 0);
  EXPECT_EQ(seen.rules().form, KeyForm::none);
  EXPECT_TRUE(seen.may_contain_all(std::list<std::string>{}).empty());
}

}  // namespace
}  // namespace bloomery::detail

// KindRow::grown: what is told of a set with more keys than its plan is what it becomes.
#include <bloomery/any_set.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bloomery {
namespace {

constexpr std::uint64_t planned = 10'000;
constexpr std::uint64_t given = 25'000;

TEST(Grown, bytes_and_rate_are_those_of_a_set_that_got_the_keys) {
  std::vector<Hash> hashes;
  const Hasher hasher;
  for (std::uint64_t i = 0; i < given; ++i) hashes.push_back(hasher(i));
  const Want want{.keys = planned, .rate = 0.01};
  for (const char* kind : {"classic", "blocked", "split-block", "window", "chain", "scalable"}) {
    SCOPED_TRACE(kind);
    auto set = AnySet::make(kind, want);
    ASSERT_TRUE(set);
    ASSERT_TRUE(set->add_all(hashes));
    const auto grown = AnySet::find_row(kind)->grown(want, given);
    ASSERT_TRUE(grown);
    EXPECT_EQ(grown->bytes, set->bytes());
    EXPECT_NEAR(grown->rate, set->rate_now(), 0.1 * set->rate_now());
    EXPECT_EQ(grown->held, std::string(kind) == "window" ? 15'000 : given);
  }
}

TEST(Grown, a_cuckoo_set_is_full_about_where_it_is_said_to_be) {
  const Want want{.keys = planned, .rate = 0.01};
  auto set = AnySet::make("cuckoo", want);
  ASSERT_TRUE(set);
  const Hasher hasher;
  std::uint64_t held = 0;
  for (; held < given; ++held) {
    const std::vector<Hash> one{hasher(held)};
    if (!set->add_all(one)) break;
  }
  const auto grown = AnySet::find_row("cuckoo")->grown(want, given);
  ASSERT_TRUE(grown);
  EXPECT_NEAR(static_cast<double>(grown->held), static_cast<double>(held), 0.03 * planned);
}

}  // namespace
}  // namespace bloomery

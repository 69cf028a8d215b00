#include <gtest/gtest.h>

#include <set>
#include <string>

#include <bloomery/redis/slots.hpp>

namespace bloomery::detail {
namespace {

TEST(Slots, AreThoseOfTheClusterSpecification) {
  EXPECT_EQ(slot_of("123456789"), 0x31c3u % cluster_slots);
  EXPECT_EQ(slot_of("123456789"), 12739u);
  EXPECT_EQ(slot_of(""), 0u);
  EXPECT_EQ(slot_of("foo"), 12182u);
  EXPECT_EQ(slot_of("bar"), 5061u);
}

TEST(Slots, OnlyTheFirstTagCounts) {
  EXPECT_EQ(slot_of("{user1000}.following"), slot_of("user1000"));
  EXPECT_EQ(slot_of("{user1000}.followers"), slot_of("user1000"));
  EXPECT_EQ(slot_of("foo{{bar}}zap"), slot_of("{bar"));
  EXPECT_EQ(slot_of("foo{bar}{zap}"), slot_of("bar"));
}

TEST(Slots, AnEmptyOrOpenTagIsNone) {
  EXPECT_NE(slot_of("foo{}{bar}"), slot_of("bar"));
  EXPECT_NE(slot_of("foo{bar"), slot_of("bar"));
  EXPECT_NE(slot_of("foo}bar{"), slot_of("bar"));
}

TEST(Slots, EverySlotHasATagOfItsOwn) {
  std::set<std::string_view> tags;
  for (unsigned slot = 0; slot < cluster_slots; ++slot) {
    const std::string_view tag = tag_of_slot(slot);
    ASSERT_EQ(slot_of(tag), slot);
    std::string key = "name.g1:{";
    key.append(tag).append("}:77");
    ASSERT_EQ(slot_of(key), slot);
    ASSERT_EQ(tag.find_first_not_of("0123456789"), std::string_view::npos);
    tags.insert(tag);
  }
  EXPECT_EQ(tags.size(), cluster_slots);
}

}  // namespace
}  // namespace bloomery::detail

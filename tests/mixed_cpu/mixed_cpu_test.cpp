// One program, two files: this one is compiled for a CPU with AVX2, the other for any CPU, and both
// so that inline functions are shared by the linker. Whichever copy it keeps must do for both.
#include <gtest/gtest.h>

#include <string>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/set.hpp>

namespace bloomery::detail {

bool mark_for_any_cpu(BlockedBloom& set, Hash hash);
bool add_for_any_cpu(BlockedBloom& set, Hash hash);

namespace {

class MixedCpu : public testing::Test {
 protected:
  const BlockedBloom::Shape shape_ = BlockedBloom::plan({.keys = 1000, .rate = 0.01}).value();
  Memory memory_ = Memory::make(BlockedBloom::bytes(shape_)).value();
  BlockedBloom set_{shape_, memory_.bytes()};
  const Hasher hasher_;
};

TEST_F(MixedCpu, KeysAreFoundByWhicheverFileMarkedThem) {
  for (int i = 0; i < 500; ++i) {
    const Hash here = hasher_(i);
    const Hash there = hasher_(i + 500);
    set_.add_at(set_.locate(here));
    mark_for_any_cpu(set_, there);
    EXPECT_TRUE(set_.has_at(set_.locate(here)));
    EXPECT_TRUE(set_.has_at(set_.locate(there)));
    EXPECT_FALSE(mark_for_any_cpu(set_, here)) << "what is there is not fresh";
    EXPECT_EQ(set_.add_at(set_.locate(there)), Added::seen);
  }
}

TEST_F(MixedCpu, LoneKeysGoTheSameWayInBothFiles) {
  ASSERT_TRUE(set_.is_simple());
  for (int i = 0; i < 500; ++i) {
    const Hash here = hasher_(i);
    const Hash there = hasher_(i + 500);
    set_.add_simple(here);
    add_for_any_cpu(set_, there);
    EXPECT_TRUE(set_.has_simple(there));
    EXPECT_TRUE(set_.has_at(set_.locate(here))) << "the law";
    EXPECT_TRUE(set_.has_at(set_.locate(there))) << "the law";
    EXPECT_FALSE(add_for_any_cpu(set_, here)) << "what is there is not fresh";
    EXPECT_EQ(set_.add_simple(there), Added::seen);
  }
}

TEST_F(MixedCpu, ASetOfThisFileKeepsItsKeys) {
  Set<BlockedBloom> set({.keys = 1000, .rate = 0.01});
  for (int i = 0; i < 1000; ++i) set.add(std::to_string(i));
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(set.may_contain(std::to_string(i)));
}

}  // namespace
}  // namespace bloomery::detail

// One program, two files: this one is compiled for a CPU with AVX2, the other for any CPU, and both
// so that inline functions are shared by the linker. Whichever copy it keeps must do for both.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <new>
#include <string>

#include <bloomery/set.hpp>

namespace bloomery {

bool mark_for_any_cpu(BlockedBloom& set, Hash hash);

namespace {

TEST(MixedCpu, KeysAreFoundByWhicheverFileMarkedThem) {
  const auto shape = BlockedBloom::plan({.keys = 1000, .rate = 0.01}).value();
  const std::size_t bytes = BlockedBloom::bytes(shape);
  const std::unique_ptr<std::byte[]> room(new std::byte[bytes + 64]{});
  void* at = room.get();
  std::size_t left = bytes + 64;
  auto* start = static_cast<std::byte*>(std::align(64, bytes, at, left));
  BlockedBloom set(shape, {start, bytes});
  const Hasher hasher;
  for (int i = 0; i < 500; ++i) {
    const Hash here = hasher(i);
    const Hash there = hasher(i + 500);
    set.add_at(set.locate(here));
    mark_for_any_cpu(set, there);
    EXPECT_TRUE(set.has_at(set.locate(here)));
    EXPECT_TRUE(set.has_at(set.locate(there)));
    EXPECT_FALSE(mark_for_any_cpu(set, here)) << "what is there is not fresh";
    EXPECT_EQ(set.add_at(set.locate(there)), Added::seen);
  }
}

TEST(MixedCpu, ASetOfThisFileKeepsItsKeys) {
  Set<BlockedBloom> set({.keys = 1000, .rate = 0.01});
  for (int i = 0; i < 1000; ++i) set.add(std::to_string(i));
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(set.may_contain(std::to_string(i)));
}

}  // namespace
}  // namespace bloomery

// Active defragmentation without a server: every block moves, and the filters stay what they are.
#include <gtest/gtest.h>

#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include <bloomery/detail/bits/memory.hpp>

#include <bloomery/served/native/native_bloom.hpp>
#include <bloomery/served/native/native_cuckoo.hpp>
#include <bloomery/served/redisbloom/compat_bloom.hpp>
#include <bloomery/served/redisbloom/compat_cuckoo.hpp>

namespace bloomery::detail::served {
namespace {

std::string key_of(std::uint64_t i) { return std::to_string(i).insert(0, "key:"); }

// Each block goes elsewhere, and its old place is overwritten before it is given back. Places
// differ by 16 bytes within a cache line.
std::size_t moves = 0;
void* move_block(void*, void* block) {
  const std::size_t bytes = malloc_usable_size(block);
  void* const place = std::malloc(bytes + 16 * (++moves % 4));
  std::memcpy(place, block, bytes);
  std::memset(block, 0xee, bytes);
  std::free(block);
  return place;
}
const Mover mover{nullptr, move_block, [](void*) { return true; }};

class MoverTest : public testing::Test {
 protected:
  MoverTest() {
    Memory::lend_from({.take_zeroed = [](std::size_t bytes) { return std::calloc(1, bytes); },
                       .give_back = std::free});
    moves = 0;
  }
  ~MoverTest() override { Memory::lend_from({}); }
};

template <class Set>
void move_all(Set& set) {
  std::uint64_t calls = 0;
  for (std::uint64_t from = set.move_parts(mover, 0); from != 0; from = set.move_parts(mover, from))
    ASSERT_LT(++calls, 10'000);
}

TEST_F(MoverTest, NativeSetsMove) {
  for (const std::uint64_t keys : {0, 1, 20, 33, 100, 5'000, 100'000}) {
    auto bloom = NativeBloom::make({}).value();
    auto cuckoo = NativeCuckoo::make({}).value();
    for (std::uint64_t i = 0; i < keys; ++i) bloom.add(key_of(i)), cuckoo.add(key_of(i));
    const auto bloom_before = bloom.digest(), cuckoo_before = cuckoo.digest();
    move_all(bloom);
    move_all(cuckoo);
    EXPECT_EQ(bloom.digest(), bloom_before);
    EXPECT_EQ(cuckoo.digest(), cuckoo_before);
    EXPECT_EQ(moves != 0, keys != 0);
    for (std::uint64_t i = 0; i < keys; ++i) {
      ASSERT_TRUE(bloom.may_contain(key_of(i))) << i;
      ASSERT_GE(cuckoo.count(key_of(i)), 1) << i;
    }
    // They grow on where they are now.
    for (std::uint64_t i = keys; i < 2 * keys + 50; ++i) {
      ASSERT_TRUE(is_there(bloom.add(key_of(i))));
      ASSERT_TRUE(is_there(cuckoo.add(key_of(i))));
    }
    for (std::uint64_t i = 0; i < 2 * keys + 50; ++i) ASSERT_TRUE(cuckoo.remove(key_of(i))) << i;
  }
}

TEST_F(MoverTest, FiltersOfRedisBloomMove) {
  auto bloom = CompatBloom::make({}).value();
  auto cuckoo = CompatCuckoo::make({}).value();
  for (std::uint64_t i = 0; i < 5'000; ++i) bloom->add(key_of(i)), cuckoo->add(key_of(i));
  const std::string bits(bloom->piece(1).bytes()), places(cuckoo->piece(1).bytes());
  mover.object(bloom);
  mover.object(cuckoo);
  move_all(*bloom);
  move_all(*cuckoo);
  EXPECT_EQ(moves, 2 + bloom->links().size() + cuckoo->info().filters);
  EXPECT_EQ(bloom->piece(1).bytes(), bits);
  EXPECT_EQ(cuckoo->piece(1).bytes(), places);
  for (std::uint64_t i = 0; i < 5'000; ++i) {
    ASSERT_TRUE(bloom->may_contain(key_of(i)));
    ASSERT_TRUE(cuckoo->remove(key_of(i)));
  }
}

}  // namespace
}  // namespace bloomery::detail::served

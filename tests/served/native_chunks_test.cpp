// Chunks of native sets as they come from outside: in order, out of order, damaged, hostile.
#include <gtest/gtest.h>
#include <bloomery/detail/hash/xxh3.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <bloomery/served/native/native_bloom.hpp>
#include <bloomery/served/native/native_cuckoo.hpp>

namespace bloomery::detail::served {
namespace {

std::string key_of(std::uint64_t i) { return std::to_string(i).insert(0, "key:"); }

using Chunks = std::vector<std::string>;

template <class Set>
Chunks dumped(const Set& set) {
  Chunks chunks;
  for (auto chunk = set.piece(0); chunk.next != 0; chunk = set.piece(chunk.next))
    chunks.emplace_back(chunk.bytes());
  // Clients whose numbers are doubles hold every cursor.
  EXPECT_LT(set.piece(0).next, std::uint64_t{1} << 53);
  return chunks;
}

// An enemy knows how the sum is made.
void sum_up(std::string& chunk) {
  if (chunk.size() < 8) return;
  const std::uint64_t sum = xxh3_64(chunk.data(), chunk.size() - 8, 0);
  std::memcpy(chunk.data() + chunk.size() - 8, &sum, sizeof sum);
}

void mutate(Chunks& chunks, std::mt19937_64& random) {
  std::string& chunk = chunks[random() % 3 == 0 ? 0 : random() % chunks.size()];
  const std::uint64_t edges[] = {0,
                                 1,
                                 6,
                                 64,
                                 255,
                                 1U << 20,
                                 1ULL << 32,
                                 1ULL << 48,
                                 1ULL << 63,
                                 ~0ULL,
                                 ~0ULL - 1,
                                 0x7ff0'0000'0000'0000,
                                 0x3f84'7ae1'47ae'147b};
  switch (random() % 8) {
    case 0:
      if (!chunk.empty()) chunk.resize(random() % chunk.size());
      break;
    case 1: chunk.append(random() % 100, static_cast<char>(random())); break;
    case 2: std::swap(chunk, chunks[random() % chunks.size()]); break;
    case 3: chunks.push_back(chunk); break;
    case 4: {
      // One of the words in front, where sizes stand.
      const std::size_t at = 16 + 8 * (random() % 24);
      const std::uint64_t word = edges[random() % std::size(edges)];
      if (at + 16 <= chunk.size()) std::memcpy(chunk.data() + at, &word, sizeof word);
      break;
    }
    default:
      for (std::uint64_t n = 1 + random() % 4; n > 0 && chunk.size() > 16; --n)
        chunk[16 + random() % std::min<std::size_t>(chunk.size() - 16, random() % 2 ? 256 : ~0U)] ^=
            static_cast<char>(1U << (random() % 8));
  }
  for (std::string& each : chunks) sum_up(each);
}

// Whatever came of it can be used.
void use(NativeBloom& set) {
  for (std::uint64_t i = 0; i < 300; ++i) set.add(key_of(i)), set.may_contain(key_of(i + 7));
  set.info();
  auto copy = set.copy();
  if (copy && set.is_whole() && copy->merge(set)) copy->digest();
}
void use(NativeCuckoo& set) {
  for (std::uint64_t i = 0; i < 300; ++i)
    set.add(key_of(i)), set.count(key_of(i + 7)), set.remove(key_of(i + 50));
  set.info();
  set.compact({.steps = UINT64_MAX});
  set.digest();
}

template <class Set>
bool survives(const Chunks& chunks) {
  constexpr std::uint64_t cap = 8 << 20;
  auto set = Set::load(chunks[0], cap);
  if (!set) return false;
  for (std::size_t i = 1; i < chunks.size(); ++i)
    if (const auto done = set->load_piece(0, chunks[i]); !done) break;
  use(*set);
  EXPECT_LE(set->memory_bytes(), cap + (8 << 20));  // what the places of 2^20 shards may take
  return set->is_whole();
}

template <class Set>
void drive(const Set& set, std::uint64_t seed, int rounds) {
  const Chunks sound = dumped(set);
  ASSERT_TRUE(survives<Set>(sound));
  std::mt19937_64 random(seed);
  int whole = 0;
  for (int round = 0; round < rounds; ++round) {
    Chunks chunks = sound;
    for (std::uint64_t n = random() % 3; n < 3; ++n) mutate(chunks, random);
    whole += survives<Set>(chunks);
  }
  EXPECT_LT(whole, rounds) << "seed " << seed;
}

int rounds() {
  const char* asked = std::getenv("BLOOMERY_MUTATIONS");
  return asked != nullptr ? std::atoi(asked) : 1500;
}

NativeBloom filled(const BloomWant& want, std::uint64_t keys) {
  auto set = NativeBloom::make(want).value();
  for (std::uint64_t i = 0; i < keys; ++i) set.add(key_of(i * 3));
  return set;
}

TEST(NativeChunks, MutatedBloomsAreRefusedOrUsable) {
  drive(filled({}, 5'000), 1, rounds());
  drive(filled({}, 40), 2, rounds());
  drive(filled({.capacity = 5'000}, 6'500), 3, rounds());
  drive(filled({.capacity = 200, .nonscaling = true}, 150), 4, rounds());
  drive(filled({.window = 500, .hasher = Hasher::hardened({1, 2})}, 2'000), 5, rounds());
}

TEST(NativeChunks, MutatedCuckoosAreRefusedOrUsable) {
  for (const std::uint64_t keys : {30, 4'000}) {
    auto set = NativeCuckoo::make({}).value();
    for (std::uint64_t i = 0; i < keys; ++i) set.add(key_of(i * 3));
    drive(set, keys, rounds());
  }
}

TEST(NativeChunks, AChangedByteIsFoundByTheSum) {
  const Chunks sound = dumped(filled({}, 1'000));
  for (std::size_t i = 0; i < sound[0].size(); ++i) {
    Chunks chunks = sound;
    chunks[0][i] ^= 4;
    EXPECT_FALSE(NativeBloom::load(chunks[0], 0)) << i;
    EXPECT_FALSE(NativeBloom::is_first_chunk(chunks[0]));
  }
  auto set = NativeBloom::load(sound[0], 0).value();
  for (std::size_t i = 0; i < sound[1].size(); i += 97) {
    std::string chunk = sound[1];
    chunk[i] ^= 4;
    EXPECT_FALSE(set.load_piece(0, chunk)) << i;
  }
  EXPECT_TRUE(set.load_piece(0, sound[1]));
  EXPECT_TRUE(set.is_whole());
  EXPECT_TRUE(NativeBloom::is_first_chunk(sound[0]));
  EXPECT_FALSE(NativeBloom::is_first_chunk(sound[1]));
  EXPECT_FALSE(NativeCuckoo::is_first_chunk(sound[0]));
}

TEST(NativeChunks, AHeadAloneTakesNoMemoryThatItOnlyClaims) {
  const Chunks sound = dumped(filled({.capacity = 5'000}, 100));
  EXPECT_FALSE(NativeBloom::load(sound[0], 1'000));
  // A filter of 2^40 bytes that is true to itself: the length of its bits and its blocks agree.
  std::string claimed = sound[0];
  const std::uint64_t length = std::uint64_t{1} << 40, blocks = length / 64;
  const std::size_t bits_at = 16 + 8 * 12;
  std::memcpy(claimed.data() + bits_at, &length, sizeof length);
  std::memcpy(claimed.data() + bits_at + 8 * 4, &blocks, sizeof blocks);
  sum_up(claimed);
  const auto refused = NativeBloom::load(claimed, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::full) << refused.error().sentence;
  // One that is allowed takes the memory of its bits when the first of them come.
  const Chunks large = dumped(filled({.capacity = 4'000'000}, 100));
  auto set = NativeBloom::load(large[0], 0).value();
  EXPECT_LT(set.memory_bytes(), 1'000);
  EXPECT_LT(set.copy().value().memory_bytes(), 1'000);
  set.load_piece(0, large[1]).value();
  EXPECT_GT(set.memory_bytes(), 4'000'000);
}

// The missing chunks may hold any key, so it says maybe to every key. It takes no key, since
// loading the next chunk would lose it.
TEST(NativeChunks, UntilAllIsLoadedItSaysMaybeAndTakesNothing) {
  const auto check = [](const NativeBloom& set) {
    const Chunks chunks = dumped(set);
    ASSERT_GE(chunks.size(), 2);
    auto loaded = NativeBloom::load(chunks[0], 0).value();
    for (std::size_t i = 1; i < chunks.size(); ++i) {
      ASSERT_FALSE(loaded.is_whole());
      EXPECT_TRUE(loaded.may_contain("a stranger"));
      EXPECT_EQ(loaded.add("a stranger"), AddOutcome::refused);
      EXPECT_EQ(loaded.rate_now(), 1);
      // A half-loaded set goes on where it was, also after a dump of its own.
      const Chunks half = dumped(loaded);
      EXPECT_EQ(half.size(), i);
      loaded = NativeBloom::load(half[0], 0).value();
      for (std::size_t j = 1; j < half.size(); ++j) loaded.load_piece(0, half[j]).value();
      loaded = loaded.copy().value();
      loaded.load_piece(0, chunks[i]).value();
    }
    EXPECT_TRUE(loaded.is_whole());
    EXPECT_EQ(loaded.digest(), set.digest());
  };
  check(filled({}, 900'000));
  check(filled({.capacity = 2'000'000}, 2'100'000));
  check(filled({.window = 1'000'000}, 1'000'000));
}

// CF.INSERT of several keys looks ahead, where there are no shards yet.
TEST(NativeChunks, UntilAllIsLoadedACuckooTakesNoneOfManyKeys) {
  auto set = NativeCuckoo::make({}).value();
  for (std::uint64_t i = 0; i < 4000; ++i) set.add(key_of(i));
  auto loaded = NativeCuckoo::load(dumped(set)[0], 0).value();
  ASSERT_FALSE(loaded.is_whole());
  const std::string_view keys[] = {"a", "b", "c"};
  for (const bool only_absent : {false, true}) {
    std::array<AddOutcome, 3> added{};
    loaded.add_all(keys, {.only_absent = only_absent}, added);
    for (const AddOutcome outcome : added) EXPECT_EQ(outcome, AddOutcome::refused);
    std::array<bool, 3> there{};
    loaded.may_contain_all(keys, there);
    EXPECT_TRUE(there[0] && there[1] && there[2]);
  }
}

// Keys come, shards grow and split while a dump is under way: what was there at its start arrives.
TEST(NativeChunks, ADumpOfASetThatChangesHasWhatWasThereAtItsStart) {
  for (const std::uint64_t capacity : {100, 600'000}) {
    auto set = filled({.capacity = capacity}, 590'000);
    auto chunk = set.piece(0);
    auto loaded = NativeBloom::load(chunk.bytes(), 0).value();
    std::uint64_t more = 590'000;
    for (chunk = set.piece(chunk.next); chunk.next != 0; chunk = set.piece(chunk.next)) {
      loaded.load_piece(0, chunk.bytes()).value();
      for (const std::uint64_t until = more + 300'000; more < until; ++more)
        set.add(key_of(more * 3));
    }
    ASSERT_TRUE(loaded.is_whole());
    for (std::uint64_t i = 0; i < 590'000; ++i) ASSERT_TRUE(loaded.may_contain(key_of(i * 3))) << i;
  }
}

TEST(NativeChunks, AWholeSetStaysWholeWhenAChunkTooManyIsBad) {
  const Chunks chunks = dumped(filled({.capacity = 5'000}, 1'000));
  Chunks others = dumped(filled({}, 1'000));
  others[1].resize(others[1].size() / 2);
  sum_up(others[1]);
  auto set = NativeBloom::load(chunks[0], 0).value();
  for (std::size_t i = 1; i < chunks.size(); ++i) set.load_piece(0, chunks[i]).value();
  ASSERT_TRUE(set.is_whole());
  EXPECT_FALSE(set.load_piece(0, others[1]));
  EXPECT_FALSE(set.load_piece(0, chunks[1]));
  EXPECT_FALSE(set.load_piece(0, chunks[0]));
  EXPECT_TRUE(set.is_whole());
  EXPECT_FALSE(set.may_contain("a stranger"));
  EXPECT_TRUE(set.may_contain(key_of(3)));
}

TEST(NativeChunks, NoDumpHasACursorBeyondItsEnd) {
  const auto set = filled({}, 10);
  EXPECT_EQ(set.piece(~std::uint64_t{0}).next, 0);
  EXPECT_EQ(NativeCuckoo::make({}).value().piece(~std::uint64_t{0}).next, 0);
}

}  // namespace
}  // namespace bloomery::detail::served

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <bloomery/detail/bits/memory.hpp>

namespace bloomery::detail {
namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

static_assert(!std::is_copy_constructible_v<Memory> && !std::is_copy_assignable_v<Memory>);

bool starts_on(const Memory& memory, std::size_t boundary) {
  return reinterpret_cast<std::uintptr_t>(memory.bytes().data()) % boundary == 0;
}

bool all_are(std::span<const std::byte> bytes, std::byte expected) {
  return std::ranges::all_of(bytes, [&](std::byte byte) { return byte == expected; });
}

TEST(Memory, IsZeroedAlignedAndJustAsLongAsAsked) {
  constexpr std::uint64_t sizes[] = {
      1, 7, 63, 64, 65, 1000, 4096, 100'001, 4 * mebibyte - 1, 4 * mebibyte, 5 * mebibyte + 3};
  for (const std::uint64_t bytes : sizes) {
    auto memory = Memory::make(bytes).value();
    ASSERT_EQ(memory.size(), bytes);
    ASSERT_EQ(memory.bytes().size(), bytes);
    EXPECT_TRUE(starts_on(memory, memory_alignment)) << bytes;
    EXPECT_TRUE(all_are(memory.bytes(), std::byte{0})) << bytes;
    std::memset(memory.bytes().data(), 0xff, bytes);  // every byte is ours to write
  }
}

TEST(Memory, IsZeroedAgainWhenTheHeapGivesBackUsedBytes) {
  for (int i = 0; i < 20; ++i) {
    auto memory = Memory::make(1000).value();
    ASSERT_TRUE(all_are(memory.bytes(), std::byte{0}));
    std::memset(memory.bytes().data(), 0xff, memory.size());
  }
}

TEST(Memory, StartsOnAHugePageFromFourMebibytesOn) {
  std::vector<Memory> several;  // at different places
  for (const std::uint64_t bytes : {4 * mebibyte, 4 * mebibyte + 1, 6 * mebibyte, 7 * mebibyte - 1,
                                    16 * mebibyte, 33 * mebibyte}) {
    several.push_back(Memory::make(bytes).value());
    EXPECT_TRUE(starts_on(several.back(), huge_page_bytes)) << bytes;
    several.back().bytes().front() = std::byte{1};
    several.back().bytes().back() = std::byte{2};
  }
}

TEST(Memory, NothingIsNoBytesAndNoError) {
  auto memory = Memory::make(0).value();
  EXPECT_EQ(memory.size(), 0U);
  EXPECT_TRUE(memory.bytes().empty());
  EXPECT_EQ(memory.part(0, 0).size(), 0U);
  EXPECT_EQ(Memory().size(), 0U);
  EXPECT_EQ(Memory::copy_of({}).value().size(), 0U);
}

TEST(Memory, RefusesAbsurdSizesWithASentenceThatNamesThem) {
  for (const std::uint64_t bytes :
       {std::uint64_t{1} << 50, std::uint64_t{1} << 61, (std::uint64_t{1} << 62) - 1,
        std::uint64_t{1} << 62, std::uint64_t{1} << 63, ~std::uint64_t{0} - huge_page_bytes,
        ~std::uint64_t{0} - 62, ~std::uint64_t{0}}) {
    const auto refused = Memory::make(bytes);
    ASSERT_FALSE(refused) << bytes;
    EXPECT_EQ(refused.error().code, Code::no_memory);
    EXPECT_NE(refused.error().sentence.find(std::to_string(bytes)), std::string::npos);
  }
}

TEST(Memory, CopyIsEqualAndApart) {
  std::vector<std::byte> bytes(1000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  auto copy = Memory::copy_of(bytes).value();
  EXPECT_TRUE(std::ranges::equal(copy.bytes(), bytes));
  EXPECT_TRUE(starts_on(copy, memory_alignment));
  copy.bytes()[0] = std::byte{9};
  EXPECT_EQ(bytes[0], std::byte{0});
}

TEST(Memory, PartIsThePieceAndKeepsTheWholeAlive) {
  for (const std::uint64_t bytes : {4096 * std::uint64_t{3}, 4 * mebibyte}) {
    Memory part;
    {
      auto whole = Memory::make(bytes).value();
      std::memset(whole.bytes().data() + 4096, 7, 100);
      part = whole.part(4096, 100);
      EXPECT_EQ(part.bytes().data(), whole.bytes().data() + 4096);
    }
    EXPECT_EQ(part.size(), 100U);
    EXPECT_TRUE(all_are(part.bytes(), std::byte{7}));
    part = part.part(64, 36);
    EXPECT_TRUE(all_are(part.bytes(), std::byte{7}));
    EXPECT_EQ(part.size(), 36U);
  }
}

struct alignas(memory_alignment) Page {
  std::array<std::byte, 4096> bytes{};
};

TEST(Memory, AdoptedBytesAreLetGoOnceByTheLastWhoHoldsThem) {
  Page page;
  int let_go = 0;
  {
    std::shared_ptr<void> owner(&page, [&](void* at) {
      EXPECT_EQ(at, &page);
      ++let_go;
    });
    Memory memory = Memory::adopt(std::move(owner), page.bytes);
    EXPECT_EQ(memory.bytes().data(), page.bytes.data());
    EXPECT_EQ(memory.size(), page.bytes.size());
    memory.bytes()[5] = std::byte{5};
    EXPECT_EQ(page.bytes[5], std::byte{5});

    Memory moved = std::move(memory);
    Memory part = moved.part(64, 64);
    moved = Memory();
    EXPECT_EQ(let_go, 0) << "the part still holds them";
    part = Memory();
    EXPECT_EQ(let_go, 1);
  }
  EXPECT_EQ(let_go, 1);
}

// Counts what it has lent, and lends at odd places.
struct CountingLender {
  static inline std::size_t lent = 0;
  static inline bool is_out_of_bytes = false;
  static void* take(std::size_t bytes) {
    if (is_out_of_bytes) return nullptr;
    ++lent;
    auto* start = static_cast<std::byte*>(std::calloc(1, bytes + 8));
    return start + 8;
  }
  static void give_back(void* bytes) {
    --lent;
    std::free(static_cast<std::byte*>(bytes) - 8);
  }
};

TEST(Memory, ALenderIsAskedForAllBytesAndGetsThemBack) {
  {
    auto before = Memory::make(100).value();
    Memory::lend_from({CountingLender::take, CountingLender::give_back});
    for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{1000}, 5 * mebibyte}) {
      auto memory = Memory::make(bytes).value();
      EXPECT_EQ(CountingLender::lent, 1);
      EXPECT_EQ(memory.size(), bytes);
      EXPECT_TRUE(starts_on(memory, memory_alignment));
      EXPECT_TRUE(all_are(memory.bytes(), std::byte{0}));
      std::memset(memory.bytes().data(), 0xff, bytes);
    }
    EXPECT_EQ(CountingLender::lent, 0);
    CountingLender::is_out_of_bytes = true;
    const auto refused = Memory::make(100);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::no_memory);
    CountingLender::is_out_of_bytes = false;
    const auto last = Memory::make(100).value();
    Memory::lend_from({});
    EXPECT_EQ(CountingLender::lent, 1);
    EXPECT_EQ(Memory::make(100).value().size(), 100);
  }
  EXPECT_EQ(CountingLender::lent, 0) << "what was lent before another was named went back too";
}

TEST(Memory, AdoptingWithoutAnOwnerLeavesTheBytesToTheCaller) {
  Page page;
  { const Memory memory = Memory::adopt(nullptr, page.bytes); }
  EXPECT_EQ(page.bytes[0], std::byte{0});
}

// From the heap to mappings, within one, and from one to the next.
TEST(Memory, GrowsAndKeepsWhatIsThere) {
  auto memory = Memory::make(0).value();
  std::vector<std::byte> truth;
  unsigned value = 1;
  for (const std::uint64_t bytes : {std::uint64_t{100}, mebibyte, 4 * mebibyte, 4 * mebibyte + 1,
                                    5 * mebibyte, 9 * mebibyte, 21 * mebibyte, 40 * mebibyte}) {
    ASSERT_TRUE(memory.grow(bytes)) << bytes;
    ASSERT_EQ(memory.size(), bytes);
    EXPECT_TRUE(starts_on(memory, memory_alignment));
    ASSERT_TRUE(std::ranges::equal(memory.bytes().first(truth.size()), truth)) << bytes;
    ASSERT_TRUE(all_are(memory.bytes().subspan(truth.size()), std::byte{0})) << bytes;
    std::ranges::fill(memory.bytes().subspan(truth.size()), static_cast<std::byte>(value++));
    truth.assign(memory.bytes().begin(), memory.bytes().end());
  }
  EXPECT_FALSE(memory.grow(~std::uint64_t{0}));
  EXPECT_TRUE(std::ranges::equal(memory.bytes(), truth)) << "an Error changes nothing";
}

#ifdef __linux__
// Kernels before 6.17 move one mapping at a time: what has grown must be one, or the next step
// would copy. Here the contents alone would not tell.
TEST(Memory, StaysOneMappingWhileItGrows) {
  auto memory = Memory::make(8 * mebibyte).value();
  for (const std::uint64_t bytes : {12 * mebibyte, 20 * mebibyte, 30 * mebibyte, 46 * mebibyte}) {
    ASSERT_TRUE(memory.grow(bytes));
    std::ranges::fill(memory.bytes(), std::byte{1});
    const auto start = reinterpret_cast<std::uintptr_t>(memory.bytes().data());
    std::ifstream maps("/proc/self/maps");
    std::string line;
    std::uintptr_t end_of_first = 0;
    while (std::getline(maps, line)) {
      std::uintptr_t low = 0, high = 0;
      char dash = 0;
      std::istringstream(line) >> std::hex >> low >> dash >> high;
      if (low <= start && start < high) end_of_first = high;
    }
    EXPECT_GE(end_of_first, start + bytes);
  }
}
#endif

}  // namespace
}  // namespace bloomery::detail

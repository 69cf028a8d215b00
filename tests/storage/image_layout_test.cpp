#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <bloomery/storage/image_layout.hpp>

namespace bloomery::detail {
namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;
constexpr std::uint64_t mib = std::uint64_t{1} << 20;

TEST(ImageLayout, PutsRegionsOnPagesInOrder) {
  const auto layout = lay_out(400, std::vector<std::uint64_t>{64, 0, 65537, 0}).value();
  EXPECT_EQ(layout.directory, (Region{8192, 400}));
  EXPECT_EQ(layout.table, (Region{12288, 8 * 3}));
  EXPECT_EQ(layout.payloads,
            (std::vector<Region>{{16384, 64}, {20480, 0}, {20480, 65537}, {90112, 0}}));
  EXPECT_EQ(layout.file_bytes, 90112U);
}

TEST(ImageLayout, PutsLargePayloadsOnHugePages) {
  const auto layout = lay_out(400, std::vector<std::uint64_t>{64, gib, gib - 1, gib + 1}).value();
  EXPECT_EQ(layout.payloads[1].offset, 2 * mib);
  EXPECT_EQ(layout.payloads[2].offset, 2 * mib + gib);
  EXPECT_EQ(layout.payloads[3].offset, 2 * mib + 2 * gib);
  EXPECT_EQ(layout.file_bytes, 2 * mib + 3 * gib + 4096);
}

TEST(ImageLayout, HoldsAnExbibyteAndRefusesWhatNoFileHolds) {
  EXPECT_TRUE(lay_out(400, std::vector<std::uint64_t>{std::uint64_t{1} << 60}));
  for (const std::uint64_t bytes : {~std::uint64_t{0}, std::uint64_t{1} << 63,
                                    (std::uint64_t{1} << 63) - 1, ~std::uint64_t{0} - 65536}) {
    EXPECT_FALSE(lay_out(400, std::vector<std::uint64_t>{bytes})) << bytes;
    EXPECT_FALSE(lay_out(400, std::vector<std::uint64_t>{64, bytes, bytes})) << bytes;
  }
  EXPECT_FALSE(lay_out(~std::uint64_t{0}, {}));
  EXPECT_FALSE(lay_out(400, std::vector<std::uint64_t>(65536, std::uint64_t{1} << 62)));
}

TEST(ImageLayout, ChunksOfNothingAreNone) {
  EXPECT_EQ(chunks_of(0), 0U);
  EXPECT_EQ(chunks_of(1), 1U);
  EXPECT_EQ(chunks_of(65536), 1U);
  EXPECT_EQ(chunks_of(65537), 2U);
  EXPECT_EQ(chunks_of(~std::uint64_t{0}), std::uint64_t{1} << 48);
}

TEST(ImageLayout, EveryByteCountsForAllZero) {
  std::vector<std::byte> bytes(100);
  EXPECT_TRUE(all_zero(bytes));
  EXPECT_TRUE(all_zero({}));
  for (auto& byte : bytes) {
    byte = std::byte{0x80};
    EXPECT_FALSE(all_zero(bytes));
    byte = std::byte{0};
  }
}

}  // namespace
}  // namespace bloomery::detail

// The steps of fuse: every row of kernels finds the same slots, and they are those of the law.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <bloomery/detail/bits/fuse.hpp>
#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/hash/budget.hpp>

namespace bloomery::detail {

namespace {

__extension__ using Wide = unsigned __int128;

// Independent of fuse.hpp but for its constants.
void expect_law(const FuseShape& shape, const FuseView& view, std::uint64_t hash,
                const FuseSlots& slots, std::size_t i) {
  const std::uint64_t mixed = (hash ^ shape.seed) * fuse_constants[0];
  const auto product = Wide{mixed} * shape.shards;
  const auto shard = static_cast<std::uint64_t>(product >> 64);
  const auto local = static_cast<std::uint64_t>(product) / 128 * 128;
  std::uint64_t seed;
  std::memcpy(&seed, view.seeds + 8 * shard, 8);
  std::uint64_t spread = (local ^ seed) * fuse_constants[1];
  spread ^= spread >> 32;
  const std::uint64_t segment = std::uint64_t{1} << shape.segment_bits;
  const std::uint64_t first =
      shard * segment * (shape.segments + shape.arity - 1) +
      static_cast<std::uint64_t>(Wide{local} * (segment * shape.segments) >> 64);
  ASSERT_EQ(slots.bit[0][i], first * shape.width);
  for (unsigned j = 1; j < shape.arity; ++j) {
    const std::uint64_t offset = (spread >> (20 * (j - 1))) % segment;
    ASSERT_EQ(slots.bit[j][i], ((first + j * segment) ^ offset) * shape.width) << j;
  }
  ASSERT_EQ(slots.fingerprint[i], spread * fuse_constants[2] >> (64 - shape.width));
}

TEST(FuseKernel, EveryRowFindsTheSlotsOfTheLaw) {
  constexpr std::uint64_t seed_of_test = 41;
  std::mt19937_64 random(seed_of_test);
  for (const std::uint64_t shards : {1, 2, 10, 1'000})
    for (const unsigned arity : {3U, 4U})
      for (const unsigned width : {1U, 7U, 8U, 13U, 16U, 32U}) {
        FuseShape shape{.shards = shards, .seed = random(), .segments = 37, .segment_bits = 11};
        shape.arity = arity;
        shape.width = width;
        std::vector<std::byte> payload(fuse::payload_bytes(shape));
        for (std::uint64_t shard = 0; shard < shards; ++shard) {
          const std::uint64_t seed = random();
          std::memcpy(payload.data() + 8 * shard, &seed, 8);
        }
        const FuseView view = fuse::kernel_view(shape, payload.data());
        std::array<std::uint64_t, 64> hashes{};
        for (std::uint64_t& hash : hashes) hash = random();
        hashes[3] = 0;
        hashes[4] = ~std::uint64_t{0};
        for (const char* name : {"scalar", "avx2", "avx512", "neon"}) {
          const Kernels* row = kernels_named(name);
          if (row == nullptr) continue;
          for (const std::size_t n : {0, 1, 7, 8, 9, 63, 64}) {
            FuseSlots slots;
            std::memset(&slots, 0xee, sizeof slots);
            row->fuse_locate(view, hashes.data(), n, slots);
            for (std::size_t i = 0; i < n; ++i) {
              SCOPED_TRACE(name);
              expect_law(shape, view, hashes[i], slots, i);
              for (unsigned j = 0; j < arity; ++j)
                ASSERT_LT(slots.bit[j][i], shape.fields() * width);
            }
            for (std::size_t i = n; i < 64; ++i)
              ASSERT_EQ(slots.fingerprint[i], 0xeeee'eeee) << name << " writes beyond its hashes";
          }
        }
      }
}

}  // namespace
}  // namespace bloomery::detail

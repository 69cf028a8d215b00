// save_image: a set on its way to disk.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include <bloomery/file.hpp>
#include <bloomery/image.hpp>
#include <bloomery/storage/image_layout.hpp>
#include <bloomery/storage/image_plan.hpp>
#include <bloomery/storage/image_writer.hpp>

namespace bloomery::inline v0 {

using namespace detail;
namespace {

// Sixteen chunks: summed while they are in the cache, then handed to the system from there.
constexpr std::size_t piece_bytes = 16 * chunk_bytes;

Result<void> write_payload(DurableFile& file, std::uint64_t offset,
                           std::span<const std::byte> payload, ChunkSums& sums) {
  auto room = Memory::make(std::min(payload.size(), piece_bytes));
  if (!room) return room.error();
  while (!payload.empty()) {
    // A copy: the bytes of a live set may change between the sum and the write.
    const auto piece = room->bytes().first(std::min(payload.size(), piece_bytes));
    std::memcpy(piece.data(), payload.data(), piece.size());
    sums.append_all(piece);
    if (auto done = file.write(offset, piece); !done) return done.error();
    payload = payload.subspan(piece.size());
    offset += piece.size();
  }
  return {};
}

// Both slots of a sealed file say the same.
Result<void> write_superblocks(DurableFile& file, const Superblock& block) {
  for (std::uint64_t slot = 0; slot < 2; ++slot) {
    const auto bytes = encode_slot(block, slot);
    if (auto done = file.write(slot * slot_bytes, bytes); !done) return done.error();
  }
  return {};
}

}  // namespace

// Padding is never written: what reserve() gives is zero.
Result<void> detail::write_behind_superblocks(DurableFile& file, const Parts& parts,
                                              ImagePlan& plan) {
  ChunkSums chunks{plan.block.uuid};
  for (std::size_t i = 0; i < parts.parts.size(); ++i) {
    const std::uint64_t offset = plan.layout.payloads[i].offset;
    if (auto done = write_payload(file, offset, parts.parts[i].payload, chunks); !done)
      return done.error();
  }
  const auto table = std::as_bytes(std::span(chunks.sums));
  if (auto done = file.write(plan.layout.table.offset, table); !done) return done.error();
  if (auto done = file.write(plan.layout.directory.offset, plan.directory); !done)
    return done.error();
  plan.seal(table);
  return {};
}

Result<void> save_image(const std::filesystem::path& path, const Image& image,
                        const SaveOptions& options) {
  auto plan = plan_image(path.string(), image);
  if (!plan) return plan.error();
  // Anybody who can read the secret key can make keys collide.
  const bool secret = image.hasher.mode() == HashMode::hardened && !image.key_is_elsewhere;
  auto file = DurableFile::create(path, options.overwrite, secret ? 0600 : 0666);
  if (!file) return file.error();
  if (auto done = file->reserve(plan->layout.file_bytes); !done) return done.error();
  if (auto done = write_behind_superblocks(*file, image.parts, *plan); !done) return done.error();
  if (auto done = write_superblocks(*file, plan->block); !done) return done.error();
  if (options.before_commit)
    if (auto good = options.before_commit(); !good) return good.error();
  if (options.locked != nullptr) {
    auto locked = file->lock();
    if (!locked) return locked.error();
    *options.locked = std::move(*locked);
  }
  return file->commit();
}

}  // namespace bloomery::inline v0

// save_image: a set on its way to disk.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xxhash.h>

#include <bloomery/detail/hash/xxh3.hpp>
#include <bloomery/file.hpp>
#include <bloomery/image.hpp>
#include <bloomery/storage/image_layout.hpp>

namespace bloomery::inline v0 {

using namespace detail;
namespace {

using detail::Layout;
using detail::Superblock;

// Sixteen chunks: summed while they are in the cache, then handed to the system from there.
constexpr std::size_t piece_bytes = 16 * detail::chunk_bytes;

// Never writes what open_image would refuse.
Result<void> check_savable(const std::filesystem::path& path, const Image& image) {
  const auto refused = [&](const Error& error) {
    const Code code = error.code == Code::damaged ? Code::bad_input : error.code;
    return Error{code, path.string() + " cannot be saved: " + error.sentence};
  };
  if (auto sound = detail::check_form(image.parts); !sound) return refused(sound.error());
  for (std::size_t i = 0; i < image.parts.parts.size(); ++i) {
    const Part& part = image.parts.parts[i];
    if (auto sound = detail::check_record(part, part.payload.size(), i); !sound)
      return refused(sound.error());
  }
  if (auto sound = detail::check_normalisation(image.rules.normalisation); !sound)
    return refused(sound.error());
  if (auto sound = detail::check_made_from(image.rules.made_from); !sound)
    return refused(sound.error());
  if (image.output &&
      (image.output->path.empty() || image.output->path.size() > detail::most_path_bytes))
    return refused(Error{Code::bad_input, "the path of its output is empty or too long"});
  return {};
}

Superblock hash_facts(const Hasher& hasher) {
  Superblock block;
  const bool fast = hasher.mode() == HashMode::fast;
  block.hash = fast ? detail::HashId::xxh3_64 : detail::HashId::siphash_1_3;
  block.mode = hasher.mode();
  block.seed = fast ? hasher.seed() : 0;
  block.key_check = hasher.key_check();
  return block;
}

// The same for equal content on every machine: XXH3-128 of what tells hashes apart, the directory
// and the payloads, marked as a custom UUID (RFC 9562, version 8). The lengths of the payloads are
// in the directory, so no two contents run together.
Result<Uuid> derive_uuid(const Superblock& block, std::span<const std::byte> directory,
                         const Parts& parts) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  if (state == nullptr) return Error{Code::no_memory, "the system does not give 600 bytes"};
  const std::array<std::uint64_t, 4> head = {static_cast<std::uint64_t>(block.hash),
                                             static_cast<std::uint64_t>(block.mode), block.seed,
                                             block.key_check};
  XXH3_128bits_reset(state.get());
  XXH3_128bits_update(state.get(), head.data(), sizeof head);
  XXH3_128bits_update(state.get(), directory.data(), directory.size());
  for (const Part& part : parts.parts)
    if (!part.payload.empty())
      XXH3_128bits_update(state.get(), part.payload.data(), part.payload.size());
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state.get()));
  Uuid uuid;
  std::memcpy(uuid.data(), canonical.digest, uuid.size());
  uuid[6] = static_cast<std::uint8_t>((uuid[6] & 0x0f) | 0x80);
  uuid[8] = static_cast<std::uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

struct Plan {
  Layout layout;
  std::vector<std::byte> directory;
  Superblock block;  // without checksums yet
};

Result<Plan> make_plan(const std::filesystem::path& path, const Image& image) {
  std::vector<std::uint64_t> lengths;
  for (const Part& part : image.parts.parts) lengths.push_back(part.payload.size());
  auto layout = detail::lay_out(detail::directory_bytes_of(image), lengths);
  if (!layout)
    return Error{Code::impossible, path.string() + " cannot be saved: no file is that long"};
  Plan plan;
  plan.layout = std::move(*layout);
  plan.directory = detail::encode_directory(image, plan.layout.payloads);
  plan.block = hash_facts(image.hasher);
  plan.block.uuid = image.uuid;
  if (image.uuid == Uuid{}) {
    const auto uuid = derive_uuid(plan.block, plan.directory, image.parts);
    if (!uuid) return uuid.error();
    plan.block.uuid = *uuid;
  }
  plan.block.file_bytes = plan.layout.file_bytes;
  plan.block.directory = plan.layout.directory;
  plan.block.table = plan.layout.table;
  return plan;
}

struct ChunkSums {
  Uuid uuid;
  std::vector<std::uint64_t> sums = {};

  // Pieces end where a chunk ends, or where a payload does.
  void append_all(std::span<const std::byte> piece) {
    for (std::size_t at = 0; at < piece.size(); at += detail::chunk_bytes) {
      const auto length = std::min<std::size_t>(detail::chunk_bytes, piece.size() - at);
      sums.push_back(detail::chunk_sum(piece.subspan(at, length), uuid, sums.size()));
    }
  }
};

Result<void> write_payload(DurableFile& file, std::uint64_t offset,
                           std::span<const std::byte> payload, ChunkSums& sums) {
  while (!payload.empty()) {
    const auto piece = payload.first(std::min(payload.size(), piece_bytes));
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
    const auto bytes = detail::encode_slot(block, slot);
    if (auto done = file.write(slot * detail::slot_bytes, bytes); !done) return done.error();
  }
  return {};
}

// Padding is never written: what reserve() gives is zero.
Result<void> write_image(DurableFile& file, const Parts& parts, Plan plan) {
  if (auto done = file.reserve(plan.layout.file_bytes); !done) return done.error();
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
  plan.block.directory_sum = xxh3_64(plan.directory.data(), plan.directory.size(), 0);
  plan.block.table_sum = xxh3_64(table.data(), table.size(), 0);
  return write_superblocks(file, plan.block);
}

}  // namespace

Result<void> save_image(const std::filesystem::path& path, const Image& image,
                        const SaveOptions& options) {
  if (auto savable = check_savable(path, image); !savable) return savable.error();
  auto plan = make_plan(path, image);
  if (!plan) return plan.error();
  // Anybody who can read the secret key can make keys collide.
  const bool secret = image.hasher.mode() == HashMode::hardened && !image.key_is_elsewhere;
  auto file = DurableFile::create(path, options.overwrite, secret ? 0600 : 0666);
  if (!file) return file.error();
  if (auto done = write_image(*file, image.parts, std::move(*plan)); !done) return done.error();
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

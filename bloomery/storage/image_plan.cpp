#include <bloomery/storage/image_plan.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include <xxhash.h>

#include <bloomery/detail/hash/xxh3.hpp>

namespace bloomery::inline v0::detail {
namespace {

// Never writes what open_image would refuse.
Result<void> check_savable(const std::string& name, const Image& image) {
  const auto refused = [&](const Error& error) {
    const Code code = error.code == Code::damaged ? Code::bad_input : error.code;
    return Error{code, name + " cannot be saved: " + error.sentence};
  };
  if (auto sound = check_form(image.parts); !sound) return refused(sound.error());
  for (std::size_t i = 0; i < image.parts.parts.size(); ++i) {
    const Part& part = image.parts.parts[i];
    if (auto sound = check_record(part, part.payload.size(), i); !sound)
      return refused(sound.error());
  }
  if (auto sound = check_normalisation(image.rules.normalisation); !sound)
    return refused(sound.error());
  if (auto sound = check_made_from(image.rules.made_from); !sound) return refused(sound.error());
  if (image.output && (image.output->path.empty() || image.output->path.size() > most_path_bytes))
    return refused(Error{Code::bad_input, "the path of its output is empty or too long"});
  return {};
}

Superblock hash_facts(const Hasher& hasher) {
  Superblock block;
  const bool fast = hasher.mode() == HashMode::fast;
  block.hash = fast ? HashId::xxh3_64 : HashId::siphash_1_3;
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

}  // namespace

Result<ImagePlan> plan_image(const std::string& name, const Image& image) {
  if (auto savable = check_savable(name, image); !savable) return savable.error();
  std::vector<std::uint64_t> lengths;
  for (const Part& part : image.parts.parts) lengths.push_back(part.payload.size());
  auto layout = lay_out(directory_bytes_of(image), lengths);
  if (!layout) return Error{Code::impossible, name + " cannot be saved: no file is that long"};
  ImagePlan plan;
  plan.layout = std::move(*layout);
  plan.directory = encode_directory(image, plan.layout.payloads);
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

void ImagePlan::seal(std::span<const std::byte> table) {
  block.directory_sum = xxh3_64(directory.data(), directory.size(), 0);
  block.table_sum = xxh3_64(table.data(), table.size(), 0);
}

void ChunkSums::append_all(std::span<const std::byte> piece) {
  for (std::size_t at = 0; at < piece.size(); at += chunk_bytes) {
    const auto length = std::min<std::size_t>(chunk_bytes, piece.size() - at);
    sums.push_back(chunk_sum(piece.subspan(at, length), uuid, sums.size()));
  }
}

}  // namespace bloomery::inline v0::detail

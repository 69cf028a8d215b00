#include <bloomery/storage/live/live_create.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <bloomery/file.hpp>
#include <bloomery/storage/image_writer.hpp>

namespace bloomery::inline v0::detail {
namespace {

constexpr std::uint64_t least_log_bytes = 64U << 10;
// Of each region. A checkpoint brings nearly every page of the set to the disk, and each page costs
// some microseconds when it is written to again. So a log should have all keys that a set is
// planned for: at 8 bytes a key, up to five times the set. But what the log has is replayed after a
// crash, at 30M keys a second or more.
constexpr std::uint64_t log_bytes_a_payload_byte = 8;
constexpr std::uint64_t most_log_bytes = 256U << 20;
constexpr std::uint64_t least_in_place_bytes = 1U << 20;
// Of each region: the rest is a hole until it is needed (live_room.cpp). With this much records of
// any length go on where the disk is full.
constexpr std::uint64_t room_at_first = 256U << 10;
// Pages that are written by one call cost four times as much at their first change where the system
// keeps them as one piece of 1 MiB; pieces of one page take twice as long to write and to sync.
constexpr std::size_t piece_bytes = 16U << 10;

std::uint64_t rounded_to_pages(std::uint64_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

std::uint64_t region_bytes_of(const LiveCreation& how, std::uint64_t payload_bytes, bool in_place) {
  if (how.log_bytes != 0) return rounded_to_pages(std::max(how.log_bytes, page_bytes));
  if (!in_place) return least_log_bytes;
  return rounded_to_pages(
      std::clamp(std::min(payload_bytes, most_log_bytes) * log_bytes_a_payload_byte,
                 least_in_place_bytes, most_log_bytes));
}

// Written and not only reserved, see SharedFile::extend.
Result<void> write_zeros(DurableFile& file, std::uint64_t from, std::uint64_t bytes) {
  auto zeros = Memory::make(std::min<std::uint64_t>(bytes, 1U << 20));
  if (!zeros) return zeros.error();
  for (std::uint64_t at = 0; at < bytes; at += zeros->size()) {
    const auto some = zeros->bytes().first(std::min<std::uint64_t>(zeros->size(), bytes - at));
    if (auto done = file.write(from + at, some); !done) return done;
  }
  return {};
}

bool takes_keys(const KindRow& row) { return !row.built && !row.two_lists; }

}  // namespace

Result<void> create_live_file(const std::filesystem::path& path, const KindRow& row,
                              const Image& image, const LiveCreation& how,
                              const FirstRecords& first) {
  auto plan = plan_image(path.string(), image);
  if (!plan) return plan.error();
  if (!takes_keys(row))
    return Error{Code::unsupported, "a " + std::string(row.id.name) +
                                        " set is built from all its keys and cannot be live; "
                                        "choose a kind that can be added to, such as blocked"};
  const bool in_place = row.in_place && !how.followed && image.parts.parts.size() == 1;

  Superblock& block = plan->block;
  block.state = State::live;
  block.incompat = live_feature;
  block.live.epoch = first.epoch;
  block.live.regions = in_place ? 2 : 1;
  block.live.form = image.rules.form;
  for (const Part& part : image.parts.parts) block.live.adds += part.adds;
  std::uint64_t records_bytes = 0;
  for (const LogRecord& record : first.records) records_bytes += record.bytes();
  const std::uint64_t payload = plan->layout.payloads.empty() ? 0 : plan->layout.payloads[0].length;
  block.live.log_end = records_bytes;
  block.live.region_bytes =
      std::max(region_bytes_of(how, payload, in_place), rounded_to_pages(records_bytes));

  // Anybody who can read the secret key can make keys collide.
  const bool secret = image.hasher.mode() == HashMode::hardened && !image.key_is_elsewhere;
  auto file = DurableFile::create(path, how.overwrite, secret ? 0600 : 0666);
  if (!file) return file.error();
  const std::uint64_t region_bytes = block.live.region_bytes;
  const std::uint64_t room = in_place ? std::min(region_bytes, room_at_first) : region_bytes;
  if (auto done = file->reserve(block.file_bytes + page_bytes + room); !done) return done;
  const std::uint64_t log_at = block.file_bytes + page_bytes;
  if (auto done = file->lengthen(log_at + block.live.regions * region_bytes); !done) return done;
  file->write_in_pieces(piece_bytes);
  if (auto done = write_behind_superblocks(*file, image.parts, *plan); !done) return done;
  if (auto done = write_zeros(*file, block.file_bytes, page_bytes + room); !done) return done;
  for (std::uint32_t region = 1; region < block.live.regions; ++region)
    if (auto done = write_zeros(*file, log_at + region * region_bytes, room); !done) return done;
  std::uint64_t uuid_low = 0;
  std::memcpy(&uuid_low, block.uuid.data() + 8, sizeof uuid_low);
  std::uint64_t at = 0;
  for (const LogRecord& record : first.records) {
    const std::uint64_t place = log_at + at;
    const auto head = seal_record(record, {uuid_low, first.epoch}, at);
    if (auto done = file->write(place, head); !done) return done;
    if (auto done = file->write(place + head.size(), std::as_bytes(record.content)); !done)
      return done;
    at += record.bytes();
  }
  // The slot with the odd number is the second one; the newer of the two counts.
  for (std::uint64_t generation = 1; generation <= 2; ++generation) {
    block.generation = generation;
    const auto bytes = encode_slot(block, generation & 1);
    if (auto done = file->write((generation & 1) * slot_bytes, bytes); !done) return done;
  }
  return file->commit();
}

}  // namespace bloomery::inline v0::detail

// Where every byte of an image is: offsets, widths, and the way from structs to bytes and back.
//
//    0      superblock A    8192  directory        payloads, each on a 4096 boundary
//    4096   superblock B    ...   chunk checksums  (2 MiB from 1 GiB on)
//
// Offsets follow from lengths: lay_out() alone computes them, the writer uses it and the reader
// requires it. So the reader accepts no file whose regions overlap, leave the file or wrap round.
// Each table of fields is listed once (each_field) and serves both directions. What is decoded is
// encoded again and compared, which shows any unused byte that is not zero.
// Limits:  private to storage/; docs/format.md is for everybody else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <bloomery/detail/sets/parts.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/image.hpp>
#include <bloomery/key_rules.hpp>

namespace bloomery::inline v0::detail {

inline constexpr std::uint64_t page_bytes = 4096;
inline constexpr std::uint64_t slot_bytes = 4096;
inline constexpr std::uint64_t slot_sum_at = slot_bytes - 8;
inline constexpr std::uint64_t directory_at = 2 * slot_bytes;
inline constexpr std::uint64_t least_image_bytes = directory_at + page_bytes;
inline constexpr std::uint64_t chunk_bytes = 65536;
inline constexpr std::uint64_t large_payload_bytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t directory_head_bytes = 32;
inline constexpr std::uint64_t record_bytes = 256;
// Bound what a reader allocates for a directory to 17 MB.
inline constexpr std::uint64_t most_records = 65536;
inline constexpr std::uint64_t most_note_bytes = 65536;
inline constexpr std::size_t most_normalisation_bytes = 255;

// Catches text-mode copies (0d 0a), 7-bit ones (89), and stops `type` on old systems (1a).
inline constexpr std::array<std::uint8_t, 8> magic = {0x89, 'B', 'L', 'M', 'Y', 0x0d, 0x0a, 0x1a};
inline constexpr std::uint32_t endianness_mark = 0x0102'0304;

// Written into files. Never renumber.
enum class State : std::uint32_t { building = 1, sealed = 2, live = 3 };
enum class HashId : std::uint16_t { xxh3_64 = 1, siphash_1_3 = 2 };

// The type-length-value notes behind the records. A reader that does not know a critical note must
// not use the set; it may skip the others.
inline constexpr std::uint16_t critical = 0x8000;
inline constexpr std::uint16_t key_form_note = critical | 1;
inline constexpr std::uint16_t carriage_return_note = critical | 2;
inline constexpr std::uint16_t normalisation_note = critical | 3;
inline constexpr std::uint16_t secret_key_note = critical | 4;
inline constexpr std::uint16_t free_text_note = 5;  // reserved for people; skipped so far
inline constexpr std::uint16_t output_note = 6;
inline constexpr std::size_t most_path_bytes = 4096;
inline constexpr std::uint16_t made_from_note = 7;
inline constexpr std::size_t most_made_from_bytes = 32768;

struct Region {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  constexpr std::uint64_t end() const { return offset + length; }
  friend constexpr bool operator==(const Region&, const Region&) = default;
};

// What the superblock of a live file says more (docs/format.md "Live files").
struct LiveFields {
  std::uint64_t epoch = 0;              // of the oldest records of the log that must be replayed
  std::uint64_t adds = 0;               // before those records
  std::array<std::uint8_t, 16> boot{};  // the system's run that changes it; zero: closed and whole
  std::uint64_t region_bytes = 0;  // of each region of the log; one region may have grown since
  std::uint32_t regions = 0;       // 2: the payload changes in place; 1: only the log does
  KeyForm form = KeyForm::none;
  std::uint64_t log_end = 0;  // of a closed file: so many bytes of records follow the checkpoint
  friend bool operator==(const LiveFields&, const LiveFields&) = default;
};

// The only incompatible feature so far: the file is live, and has a log behind its image.
inline constexpr std::uint32_t live_feature = 1;

struct Superblock {
  std::array<std::uint8_t, 8> magic = detail::magic;
  std::uint16_t major = 1;
  std::uint16_t minor = 0;
  std::uint32_t mark = endianness_mark;
  std::uint32_t incompat = 0;
  std::uint32_t ro_compat = 0;
  std::uint32_t compat = 0;
  State state = State::sealed;
  std::uint64_t generation = 1;
  Uuid uuid{};
  std::uint64_t file_bytes = 0;
  HashId hash = HashId::xxh3_64;
  HashMode mode = HashMode::fast;  // one byte, and one unused byte behind it
  std::uint64_t seed = 0;
  std::uint64_t key_check = 0;
  Region directory;
  std::uint64_t directory_sum = 0;
  Region table;
  std::uint64_t table_sum = 0;
  std::uint64_t chunk_bytes = detail::chunk_bytes;
  LiveFields live;  // zero in a sealed image

  template <class Block, class Visit>
  static void each_field(Block& block, Visit visit) {
    visit(0, block.magic);
    visit(8, block.major);
    visit(10, block.minor);
    visit(12, block.mark);
    visit(16, block.incompat);
    visit(20, block.ro_compat);
    visit(24, block.compat);
    visit(28, block.state);
    visit(32, block.generation);
    visit(40, block.uuid);
    visit(56, block.file_bytes);
    visit(64, block.hash);
    visit(66, block.mode);
    visit(72, block.seed);
    visit(80, block.key_check);
    visit(88, block.directory.offset);
    visit(96, block.directory.length);
    visit(104, block.directory_sum);
    visit(112, block.table.offset);
    visit(120, block.table.length);
    visit(128, block.table_sum);
    visit(136, block.chunk_bytes);
    visit(144, block.live.epoch);
    visit(152, block.live.adds);
    visit(160, block.live.boot);
    visit(176, block.live.region_bytes);
    visit(184, block.live.regions);
    visit(188, block.live.form);
    visit(192, block.live.log_end);
  }
};

using SlotBytes = std::array<std::byte, slot_bytes>;

// With the checksum of slot 0 or 1.
SlotBytes encode_slot(const Superblock& block, std::uint64_t slot);
Superblock decode_slot(std::span<const std::byte, slot_bytes> bytes);
std::uint64_t slot_sum(std::span<const std::byte, slot_bytes> bytes, std::uint64_t slot);

struct Layout {
  Region directory;
  Region table;
  std::vector<Region> payloads;
  std::uint64_t file_bytes = 0;
};

constexpr std::uint64_t chunks_of(std::uint64_t payload_bytes) {
  return payload_bytes / chunk_bytes + (payload_bytes % chunk_bytes != 0);
}

// Nothing when the file would not fit into 2^63 - 1 bytes.
std::optional<Layout> lay_out(std::uint64_t directory_bytes,
                              std::span<const std::uint64_t> payload_bytes);

struct Directory {
  Parts parts;  // without payloads
  std::vector<Region> payloads;
  KeyRules rules;
  std::optional<SecretKey> key;  // of a hardened set that carries its own
  std::optional<WrittenOutput> output;
};

// How many bytes the directory of this image takes, before its payloads have a place.
std::uint64_t directory_bytes_of(const Image& image);
std::vector<std::byte> encode_directory(const Image& image, std::span<const Region> payloads);
// Sentences without a file name: the caller puts it in front.
Result<Directory> decode_directory(std::span<const std::byte> bytes);

// What is true of every image; the same on the way out and on the way in. The number is for
// sentences.
Result<void> check_form(const Parts& parts);
Result<void> check_record(const Part& part, std::uint64_t payload_bytes, std::size_t number);
Result<void> check_normalisation(const std::string& text);
Result<void> check_made_from(const std::string& text);

// Chunk number `chunk`, counted over all payloads, is bound to its file and its place.
std::uint64_t chunk_sum(std::span<const std::byte> chunk, const Uuid& uuid, std::uint64_t number);

bool all_zero(std::span<const std::byte> bytes);

}  // namespace bloomery::inline v0::detail

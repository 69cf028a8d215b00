// What a program did to the files of one directory, in order: the trace that record_disk.cpp writes
// and DiskAfterCut reads.
//
//    file:    | TraceHead, one page | record | record | ...      up to TraceHead::used_bytes
//    record:  | DiskRecord, 40 bytes | text, padded to 8 bytes |
//
// A record counts once `used_bytes` includes it: of a process that is killed while it writes one,
// nothing is left.
// Limits:  the format of one build: traces are made and read by the same tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace bloomery::cuts {

enum class DiskEventKind : std::uint32_t {
  exists,  // was there before the recording, and is durable: name, then '\0', then its bytes
  create,  // a new file; no text: without a name (O_TMPFILE)
  link,    // another name
  rename,  // old name, '\0', new name
  unlink,
  length,  // ftruncate and the like
  write,   // offset and bytes; also what stores to a mapping have changed
  // Two events: what was done before `sync` is durable after the `synced` with its ticket.
  sync,        // of a file: all, or a range
  sync_names,  // of a directory, "" for the recorded one
  synced,
  sync_failed,  // ends it in place of `synced`
  mark,         // what the program says of itself: "acknowledged X"
};

// Of a sync: all of the file.
constexpr std::uint64_t whole_file = ~std::uint64_t{0};

struct DiskEvent {
  DiskEventKind kind;
  std::uint64_t file = 0;    // inode number
  std::uint64_t offset = 0;  // of a write or a synced range
  std::uint64_t length = 0;  // of the file, or of the synced range
  std::uint64_t ticket = 0;  // of a sync, and of the synced that ends it
  std::string text = {};     // names, bytes or mark
};

struct TraceHead {
  static constexpr std::uint64_t expected_magic = 0x3143'5254'4b53'4944;  // "DISKTRC1"
  std::uint64_t magic;
  std::uint64_t used_bytes;
  std::uint64_t copies;  // how often a file was mapped for the first time, see record_disk.cpp
};
constexpr std::uint64_t trace_head_bytes = 4096;

struct DiskRecord {
  DiskEventKind kind;
  std::uint32_t text_bytes;
  std::uint64_t file, offset, length, ticket;
};
static_assert(sizeof(DiskRecord) == 40);

constexpr std::uint64_t padded_to_8(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

// Throws std::runtime_error when the file is not a trace.
std::vector<DiskEvent> read_trace(const std::filesystem::path& path);

}  // namespace bloomery::cuts

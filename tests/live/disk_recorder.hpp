// What record_disk.so knows of the recorded directory, and its way into the trace.
//
// A mapping changes without a call, so a mapped file has a copy, which is what the trace knows of
// its bytes:
//
//    file  ---- mapped by the program, and once more by us ----  compared, 512 bytes at a time
//    TRACE.copies/<inode>  ---- shared by all processes that record ----'
//
// Whatever differs at an event is recorded as writes before it. Turns of all threads and processes
// come one after the other: what one process stored, the sync of another covers.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "disk_trace.hpp"

namespace bloomery::cuts {

class DiskRecorder {
 public:
  static DiskRecorder& one();
  bool on() const { return trace_ >= 0; }

  // Whoever has it may record.
  class Turn {
   public:
    explicit Turn(DiskRecorder& recorder);
    Turn(const Turn&) = delete;
    ~Turn();

   private:
    DiskRecorder& recorder_;
    std::lock_guard<std::mutex> alone_;
  };

  // -- all below: inside of a turn ----------------------------------------------------------------

  // What the program has stored to mappings becomes writes.
  void compare_mappings();
  void record(DiskEventKind kind, std::uint64_t file, std::string_view text,
              std::uint64_t offset = 0, std::uint64_t length = 0, std::uint64_t ticket = 0);
  void wrote(std::uint64_t file, std::uint64_t offset, std::string_view bytes);
  void set_length(std::uint64_t file, std::uint64_t length);
  std::uint64_t next_ticket() const;
  // From now on its bytes change without a call.
  void begin_mapping(int descriptor, std::uint64_t file);
  // A new file may have the inode number of an old one.
  void forget(std::uint64_t file);

  // -- names --------------------------------------------------------------------------------------

  // Of an open file in the directory: its inode number.
  std::optional<std::uint64_t> file_of(int descriptor);
  // The name of an open file or directory, relative to the recorded one, which is "" itself.
  std::optional<std::string> name_of(int descriptor) const;
  std::optional<std::string> name_of(int at, const char* path) const;

 private:
  DiskRecorder();
  void begin_trace(const char* path);
  void record_what_exists(const std::string& folder);
  std::optional<std::string> inside(const std::string& path) const;

  struct Mapped {
    int descriptor;  // ours, never closed: that would release the program's POSIX locks
    int copy_file;
    const std::byte* live = nullptr;
    std::size_t live_bytes = 0;
    std::byte* copy = nullptr;
    std::size_t copy_bytes = 0;
  };
  std::string copy_name(std::uint64_t file) const;
  bool open_copy(int descriptor, std::uint64_t file, bool make);
  void compare(std::uint64_t file, Mapped& mapped);
  static void grow(Mapped& mapped, std::size_t bytes);

  std::mutex alone_;
  int trace_ = -1;
  TraceHead* head_ = nullptr;
  std::string directory_;  // without links, without a slash at the end
  std::string copies_;     // the directory of the copies
  dev_t device_ = 0;
  // Files that were seen open, and how many copies there were when one of this file was looked for.
  std::unordered_map<std::uint64_t, std::uint64_t> known_;
  std::unordered_map<std::uint64_t, Mapped> mapped_;
};

}  // namespace bloomery::cuts

// A file whose bytes any number of processes change and read at once, and the locks between them.
//
//    map(...)      bytes that all processes see as soon as one has written them (MAP_SHARED)
//    write(...)    the same bytes by a system call: cheaper where they are synced soon after
//    sync(...)     a range, to the disk; other ranges of the file may stay in memory
//    try_alone()   does any other process have the file attached?
//
// What was written survives the end of any process, however it ends: it is in the memory of the
// system. A power cut it survives once its range was synced.
// Limits:  one machine. File systems whose pages are not shared between all who map them (NFS, SMB,
//          9P and the like) are refused.
// Threads: map, write and sync by any number; the locks by one.
// See:     live_file.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/error.hpp>
#include <bloomery/file.hpp>

namespace bloomery::inline v0::detail {

class SharedFile {
 public:
  enum class Access { change, read };

  static Result<SharedFile> open(const std::filesystem::path& path, Access access);

  // The same file opened once more, without its locks: a failed write of the system is told to
  // each open file once, so those who sync at the same time need one each.
  Result<SharedFile> opened_again() const;
  // Also after the directory of the process was changed; the name is for sentences.
  const std::filesystem::path& path() const { return path_; }
  const std::string& name() const { return name_; }
  Access access() const { return access_; }
  Result<std::uint64_t> size_bytes() const;
  // Is this still the file under its name?
  // Does the name still stand for this file? And is it the only one that does?
  bool has_its_name() const;
  bool is_only_name() const;
  // Whoever made the file may not have synced its name yet.
  Result<void> sync_name() const;
  // Device and number, which no other file has in this run of the system.
  const std::array<std::uint64_t, 3>& identity() const { return identity_; }

  // Are these bytes on the disk as a mapping has them? Reads past the cache of the system; true
  // where that cannot be done.
  Result<bool> is_on_disk(std::uint64_t offset, std::span<const std::byte> bytes) const;
  // Fills all of `into`.
  Result<void> read(std::uint64_t offset, std::span<std::byte> into) const;
  // Page by page from `offset`, a multiple of 4096; read-only unless the file is open to change it.
  Result<Memory> map(std::uint64_t offset, std::uint64_t bytes) const;
  // Changes stay with whoever makes them.
  Result<Memory> map_privately(std::uint64_t bytes) const;
  Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes) const;
  // Appends zeroed bytes that have room on the disk.
  Result<void> extend(std::uint64_t from, std::uint64_t bytes) const;
  // How a mapping is used from now on: keys lie anywhere, and what is around them is not read.
  // Readers go through all of it. Written: nobody here needs these pages now; a page that is in no
  // mapping goes to the disk without an interrupt of every CPU that this process runs on.
  enum class Use { anywhere, through, written };
  static void expect(Use use, const Memory& mapping, std::uint64_t offset, std::uint64_t bytes);
  // The same of two pieces, one behind the other, by one call.
  Result<void> write(std::uint64_t offset, std::span<const std::byte> first,
                     std::span<const std::byte> second) const;
  // How many of these bytes have room on the disk, up to the first hole. Nothing where the file
  // system cannot tell.
  std::optional<std::uint64_t> bytes_before_hole(std::uint64_t offset, std::uint64_t bytes) const;
  // Is the page with this byte of a mapping in memory? True where that cannot be told.
  static bool is_resident(const Memory& mapping, std::uint64_t offset);
  // Of a mapping of this file: 0, or the errno of a failure, after which nobody knows what is on
  // the disk.
  int sync(const Memory& mapping, std::uint64_t offset, std::uint64_t bytes) const;

  // Attaching and detaching go one at a time, over all processes.
  Result<void> lock_door() const;
  void unlock_door() const;
  // Does another open file hold the door?
  Result<bool> is_door_locked() const;
  // With the door locked: true if nobody else is attached. In any case this file is from now on,
  // also if it was before.
  Result<bool> attach_alone() const;
  // Ends what attach_alone() began.
  void leave() const;
  // Is anybody attached, in whatever process? Asked by a file that is not.
  Result<bool> is_attached() const;
  // A number that only one open file holds at a time, as long as its process lives.
  Result<void> hold_run(std::uint32_t run) const;
  Result<bool> is_run_held(std::uint32_t run) const;

 private:
  Error refused(const char* what, int number) const;
  Result<bool> told(std::optional<bool> held) const;

  std::string name_;
  std::filesystem::path path_;
  Access access_ = Access::read;
  std::array<std::uint64_t, 3> identity_ = {};
  Descriptor file_;
};

// The namespace of the numbers by which threads are known here; 0 where that cannot be found out.
std::uint64_t thread_numbers();

// The system's run since it was started: what was in memory only is lost with it.
using Boot = std::array<std::uint8_t, 16>;
const Boot& this_boot();
// A run that cannot be told from others never counts as this one.
bool is_this_boot(const Boot& boot);

}  // namespace bloomery::inline v0::detail

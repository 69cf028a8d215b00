// Files as the library needs them: mapped privately to read, written whole or not at all.
//
//    StoredFile   a regular file, opened to read; its bytes by copy or as a private mapping
//    DurableFile  written without a name in the target's directory, synced, linked and renamed:
//                 under the target's name is the old file or the new one, never half of one
//
// Prefer Set::save and Set::open for sets; these are for files of your own beside them.
//
// Example:
//    auto out = DurableFile::create("report.txt", Overwrite::replace);
//    if (!out) return out.error();                 // no right to write, no such directory
//    const std::string text = "all is well";
//    if (auto done = out->write(0, std::as_bytes(std::span(text))); !done) return done;
//    if (auto done = out->commit(); !done) return done;  // only now it has its name
//    auto in = StoredFile::open("report.txt");
//    if (!in) return in.error();
//    const auto bytes = in->copy();                // or map()
//    if (!bytes) return bytes.error();
//
// Never truncated or written in place: SIGBUS would end processes that have the old file mapped.
// Errors:  every verb returns a Result; the sentence names the file.
// Limits:  a mapped file that somebody else shortens later still kills the reader, and one that
//          somebody else overwrites in place may change under it: FileWatch tells afterwards, and a
//          copy is safe. On a file system without O_TMPFILE, and in the moment of renaming, a
//          process that is killed leaves a file .bloomery-<16 hex digits> behind; it may be
//          deleted.
// Threads: one object, one thread; a mapping is as safe as what is done with it.
// See:     docs/format.md "Writing"; file_test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0 {

enum class Overwrite { refuse, replace };

namespace detail {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  // False when the system reports a late write error; the descriptor is gone either way.
  bool close();

 private:
  int number_;
};

}  // namespace detail

// How a mapping will be read. Advice only.
enum class Reading {
  whole,      // from one end to the other, now
  scattered,  // single pages, in any order
};

class StoredFile {
 public:
  // Refuses a file that is missing, not readable, or not regular (a pipe would block for ever).
  static Result<StoredFile> open(const std::filesystem::path& path);

  std::uint64_t size_bytes() const { return size_bytes_; }

  // Fills all of `into`; an Error when the file ends before.
  Result<void> read(std::uint64_t offset, std::span<std::byte> into) const;

  // The whole file. Writes to these bytes stay in memory. An Error when the length has changed
  // since open(). An empty file gives an empty Memory.
  Result<detail::Memory> map(Reading reading) const;

  // The whole file, read into memory of our own: what others do to it later does not matter.
  Result<detail::Memory> copy() const;

  // Brings bytes of a mapping of this file into memory. If the disk cannot read them, this returns
  // an Error; without it, the first access raises SIGBUS. (Linux 5.14; before: does nothing.)
  Result<void> load(std::span<const std::byte> mapped) const;

 private:
  std::string name_;
  detail::Descriptor file_;
  std::uint64_t size_bytes_ = 0;
};

class DurableFile {
 public:
  // Nothing under the target's name changes before commit(). A symbolic link is followed: the file
  // it points to is written. The new file takes owner, mode, access list and extended attributes
  // from an existing one, and never gets wider rights: what cannot be kept is left out. Without an
  // existing file it gets `mode`, less the umask. Refuses, before anything is written, a target
  // that is not a regular file or is write-protected, and a directory that is missing or not
  // writable.
  static Result<DurableFile> create(const std::filesystem::path& target, Overwrite overwrite,
                                    unsigned mode = 0666);

  DurableFile(DurableFile&& other) noexcept;
  DurableFile& operator=(DurableFile&&) = delete;
  ~DurableFile() { discard(); }

  // Gives the file this length, all zero, and the disk space for it where the file system can.
  Result<void> reserve(std::uint64_t bytes);
  // As long as this, with a hole behind what was written.
  Result<void> lengthen(std::uint64_t bytes);
  Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes);
  // For files that are changed page by page through mappings later: newer kernels keep what one
  // call wrote as one piece, and look at all of it when one of its pages is changed first.
  void write_in_pieces(std::size_t most_bytes) { most_bytes_per_call_ = most_bytes; }
  // The same file, locked (flock) and open also after commit(): so that it is locked before others
  // find it under its name.
  Result<detail::Descriptor> lock() const;
  // Syncs the file and gives it its name. Call it once; after any Error the file is gone and the
  // target unchanged, except where the sentence says that only the directory could not be synced.
  Result<void> commit();

 private:
  DurableFile(std::string name, Overwrite overwrite)
      : name_(std::move(name)), overwrite_(overwrite) {}
  Result<void> make_temporary(unsigned mode);
  void keep_rights(const std::string& replaced, unsigned mode, unsigned owner, unsigned group);
  int name_temporarily();
  int give_name() const;
  void discard() noexcept;
  Error refused(const std::string& what, int number) const;

  std::string name_;  // as the caller wrote it, for sentences
  Overwrite overwrite_;
  std::size_t most_bytes_per_call_ = std::size_t{1} << 30;
  std::string directory_name_;
  std::string final_;      // inside the directory
  std::string temporary_;  // inside the directory; empty: without a name, or renamed
  detail::Descriptor directory_;
  detail::Descriptor file_;
};

}  // namespace bloomery::inline v0

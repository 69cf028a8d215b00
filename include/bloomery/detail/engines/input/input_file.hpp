// Bytes in: a file or the standard input, read in big blocks.
//
//    InputFile::open("a.txt")     a path
//    InputFile::open("-")         descriptor 0, which stays open
//    InputFile::open(path, open_decompressor)     what is compressed is read as what it holds
//    InputFile::open(path, open_text())           that, and as UTF-8; refuses what is not text
//
// Read, not mapped: a mapped file that is cut short by somebody else kills the reader, and pages of
// a mapping count as memory of this process (a map of 1 GiB over 4 GiB of input must stay 1 GiB).
// Regular files are read at an offset of our own, so opening "-" again reads it again when it is a
// redirected file.
//
// A regular file that is shorter at its end than when it was opened is an Error: somebody cut it.
// Compressed bytes that are damaged or cut short are an Error, after what could be decoded before
// that place was given out.
// Threads: one InputFile, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <bloomery/detail/engines/input/decoder.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

// Called when a read must wait for another program to write, so that pending output can be flushed
// first. Returns the milliseconds after which it wants to be called again if there is still no
// input; -1: never. An Error ends the read.
using BeforeWait = std::function<Result<int>()>;

class InputFile {
 public:
  // Refuses what is missing, may not be read, or is a directory.
  static Result<InputFile> open(const std::string& path, OpenDecoder decode = nullptr);

  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  // Fills at least one byte of `into`; 0 only at the end. Waits for pipes; goes on after signals.
  Result<std::size_t> read(std::span<char> into);
  // Regular files only: fills `into` from this many bytes after the start, without moving; less
  // than asked only at the end. Bytes of the file, also when it is compressed.
  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const;

  // A regular file: it can be read twice, and has a size.
  bool regular() const { return regular_; }
  std::uint64_t size_bytes() const { return size_bytes_; }
  // Whether read() decodes. Known from the start for a regular file, else after the first read().
  bool compressed() const;
  // Leading bytes of the file that are not content: a byte order mark. Known when compressed() is.
  std::uint64_t skipped() const { return skipped_; }
  // Bytes of the file that were used so far, for a progress bar beside size_bytes(); read() gave
  // more of them than these when it decodes.
  std::uint64_t file_bytes_read() const;
  // False when read() would wait for somebody else to write.
  bool ready() const;
  void before_wait(BeforeWait call) { before_wait_ = std::move(call); }
  // For sentences: the path, or "standard input".
  const std::string& name() const { return name_; }

 private:
  struct Unpacking;  // bytes of the file that were read ahead, and the decoder for them

  InputFile(int fd, std::string name);
  Result<void> look();
  Result<void> recognise(const OpenDecoder& decode);
  Error about_file(const Error& error) const;
  Result<void> wait_for_more() const;
  bool became_shorter() const;
  Result<std::size_t> read_file(std::span<char> into);
  Result<std::size_t> read_unpacked(std::span<char> into);
  void close() noexcept;

  int fd_ = -1;
  std::string name_;
  bool regular_ = false;
  // Where descriptor 0 stood when it was opened, 0 for paths; behind what is skipped.
  std::uint64_t start_ = 0;
  std::uint64_t offset_ = 0;  // of the next read, from the start of a regular file
  std::uint64_t size_bytes_ = 0;
  std::uint64_t skipped_ = 0;
  BeforeWait before_wait_;
  std::unique_ptr<Unpacking> unpacking_;  // nullptr: read() returns the file as it is
};

// Opens nothing: an Error if one of these files is missing, a directory or not readable, so that a
// long run does not find out at its end. "-" is always fine.
Result<void> check_readable(const std::vector<std::string>& files);

// Whether each of these can be read more than once. No files: the standard input.
bool all_regular(const std::vector<std::string>& files);

// Bytes in all of them, for a progress bar; 0 when one is not a regular file.
std::uint64_t total_bytes(const std::vector<std::string>& files);

}  // namespace bloomery::inline v0::detail

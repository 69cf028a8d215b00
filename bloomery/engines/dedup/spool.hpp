// Records kept aside until all input was read, each with a number: in memory up to a bound, beyond
// it in a file without a name (storage/scratch_file.hpp).
//
//    offset 0                           number and length: seven bits a byte, the last below 128
//    | number length bytes | number length bytes | ...
//
// Written once from the front, read from the front, or one record at its offset.
// Threads: one.
// See:     spool_test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <bloomery/error.hpp>
#include <bloomery/storage/scratch_file.hpp>

namespace bloomery::inline v0::detail {

class Spool {
 public:
  static constexpr std::size_t default_memory_bytes = std::size_t{16} << 20;
  explicit Spool(std::size_t memory_bytes = default_memory_bytes) : memory_bytes_(memory_bytes) {}

  struct Record {
    std::uint64_t offset = 0;
    std::uint64_t number = 0;
    std::string_view bytes;
  };

  // The offset of the next record: what identifies it.
  std::uint64_t size() const { return flushed_ + buffer_.size(); }
  std::uint64_t file_bytes() const { return flushed_; }
  std::uint64_t memory_bytes() const { return buffer_.capacity(); }
  Result<void> append(std::uint64_t number, std::string_view bytes);

  // Fills all of `into` from what was appended.
  Result<void> read(std::uint64_t offset, std::span<char> into) const;

 private:
  void append_number(std::uint64_t number);
  Result<void> flush();

  std::size_t memory_bytes_;
  std::optional<ScratchFile> file_;
  std::uint64_t flushed_ = 0;  // bytes in the file; those in the buffer follow them
  std::vector<char> buffer_;
};

// Reads the records of a spool to which nothing is appended meanwhile.
class SpoolReader {
 public:
  explicit SpoolReader(const Spool& spool) : spool_(spool) {}

  // False at the end. The bytes are good until the next call.
  Result<bool> next(Spool::Record& record);
  // The record at this offset; next() goes on behind it.
  Result<void> at(std::uint64_t offset, Spool::Record& record);

 private:
  // Makes sure that at least so many bytes are buffered, or all that are left.
  Result<void> hold(std::uint64_t bytes);
  Result<std::uint64_t> take_number();

  const Spool& spool_;
  std::vector<char> held_;
  std::size_t begin_ = 0;       // of what is held, and not taken
  std::uint64_t offset_ = 0;    // of held_[begin_] in the spool
  std::size_t read_bytes_ = 0;  // the next read
};

}  // namespace bloomery::inline v0::detail

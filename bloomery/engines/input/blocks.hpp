// Bytes in, blocks of whole records out: what several threads can work on at once.
//
//    file   | line \n line \n li|ne \n line \n ...
//    block    line \n line \n                       the rest goes to the front of the next block
//
//    BlockInputs inputs({"a.txt", "-"});
//    Block block;
//    while (inputs.fill(block).value()) { block.split("\n"); ... block.records ... }
//
// fill() must be called in order, by one thread at a time; it only reads and finds the last
// delimiter. split() costs more, and a different thread may call it for each block.
// A record never spans two blocks or two files; a block holds records of one file. A last record
// without its delimiter is given one, so that every record of a block ends with it.
// Limits:  a record that is longer than a block makes it grow; an Error when the system refuses.
// Threads: as said above.
// See:     blocks_test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <bloomery/detail/engines/input/input_file.hpp>
#include <bloomery/error.hpp>
#include <bloomery/text/lines.hpp>

namespace bloomery::inline v0::detail {

struct Block {
  // Records without their delimiters; after split(). Valid until the block is filled again.
  std::vector<std::string_view> records;
  std::size_t file = 0;        // which of the files, from 0
  bool first_of_file = false;  // its first record is the first of its file
  // Read so far from all files when the block was filled: decoded bytes, and bytes of the files,
  // which are fewer where these are compressed.
  std::uint64_t bytes_read = 0;
  std::uint64_t file_bytes_read = 0;

  void split(std::string_view delimiter);
  // The bytes of all records with their delimiters; the last user of the block may overwrite them.
  std::span<char> bytes() { return {memory_.get(), size_}; }

 private:
  friend class BlockReader;
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };
  [[nodiscard]] bool reserve(std::size_t bytes);
  void append(std::string_view bytes);

  std::unique_ptr<char, Free> memory_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  // Where records end, without their delimiters, when they were found while reading.
  std::vector<std::size_t> ends_;
  bool found_ends_ = false;
};

// A quarter of a common second-level cache of 1 MiB: leaves room for the keys of the records.
inline constexpr std::size_t default_record_block_bytes = std::size_t{256} << 10;

class BlockReader {
 public:
  BlockReader(InputFile file, LineRules rules, std::size_t block_bytes);

  // False at the end, with an empty block.
  Result<bool> fill(Block& block);
  std::uint64_t bytes_read() const { return lines_ ? lines_->bytes_read() : bytes_read_; }
  std::uint64_t file_bytes_read() const {
    return lines_ ? lines_->file_bytes_read() : file_->file_bytes_read();
  }

 private:
  Result<bool> fill_by_bytes(Block& block);
  Result<bool> fill_by_lines(Block& block);
  Error too_long(std::size_t bytes) const;
  bool full(std::size_t bytes) const;

  std::optional<InputFile> file_;
  // Records whose ends depend on the bytes before them are found from the left.
  std::optional<LineReader> lines_;
  std::string delimiter_;
  std::string name_;
  std::size_t block_bytes_;
  std::string carried_;  // the beginning of a record, for the next block
  bool at_end_ = false;
  std::optional<Error> failed_;  // returned by the next fill(), after the records before it
  std::uint64_t bytes_read_ = 0;
};

// Several files, one after the other. Each is opened when its turn comes. No files: the standard
// input.
class BlockInputs {
 public:
  explicit BlockInputs(std::vector<std::string> files, LineRules rules = {},
                       std::size_t block_bytes = default_record_block_bytes);

  // False at the end of the last file.
  Result<bool> fill(Block& block);
  // Called by fill() when it has to wait for a pipe, or for somebody to open one.
  void before_wait(BeforeWait call) { before_wait_ = std::move(call); }

  const LineRules& rules() const { return rules_; }
  const std::vector<std::string>& files() const { return files_; }
  // For sentences.
  std::string name_of(std::size_t file) const;

 private:
  std::vector<std::string> files_;
  LineRules rules_;
  std::size_t block_bytes_;
  std::size_t turn_ = 0;
  bool first_of_file_ = true;
  BeforeWait before_wait_;
  std::optional<BlockReader> reader_;
  std::uint64_t bytes_before_ = 0;  // in the files that are done
  std::uint64_t file_bytes_before_ = 0;
};

}  // namespace bloomery::inline v0::detail

// Bytes in, lines out: a batch of views at a time, from one file or several in order.
//
// Prefer it to std::getline where lines are many: no line is copied, and the batches are what the
// bulk verbs of sets take.
//
// Example:
//    #include <bloomery/set.hpp>
//    Set<Compact> seen({});
//    Inputs inputs({"a.txt", "-"});                // no files: the standard input
//    for (;;) {
//      const auto batch = inputs.next();           // views are good until the next next()
//      if (!batch) return batch.error();           // names the file
//      if (batch->empty()) break;                  // the end
//      seen.add_all(*batch);
//    }
//    if (seen.adds() < inputs.lines_read()) crawl("some lines came twice");
//
//    buffer   | line \n line \n line \n begin of a li|      the rest moves to the front and the
//               ^batch of views into it               ^     next block is read behind it
//
// A line ends at the delimiter or at the end of its file, never at the end of a buffer; it never
// spans two files. NUL and all other bytes are ordinary. An empty file has no lines.
// Errors:  next() returns them: a file that is missing, not readable, damaged.
// Limits:  none on the length of a line but memory: the buffer grows for it, and an Error says so
//          when the system refuses.
// Threads: one reader, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/detail/engines/input/input_file.hpp>
#include <bloomery/detail/engines/keys/csv.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0 {

using detail::check_readable;
using detail::InputFile;
using detail::OpenDecoder;

// How bytes become lines.
struct LineRules {
  std::string delimiter = "\n";  // one byte or several; std::string(1, '\0') for a zero byte
  bool strip_cr = false;         // one carriage return at the end of a line is not part of it
  detail::OpenDecoder decode =
      nullptr;  // open_decompressor of decompress.hpp reads compressed files
  // CSV with this separator: a newline inside quotes ends nothing (csv.hpp), and a quote that is
  // never closed is an Error. The delimiter must be the newline.
  std::optional<char> csv_separator = {};
  bool header = false;  // the first line of every file is its header(), and not in a batch
};

using Lines = std::span<const std::string_view>;

// A line as a sentence can show it: short, in quotes, unprintable bytes as \xHH.
std::string quoted(std::string_view line);

// Half of a common 1 MiB second-level cache: the block is still there when its lines are hashed.
inline constexpr std::size_t default_block_bytes = std::size_t{512} << 10;
inline constexpr std::size_t lines_per_batch = 1024;

class LineReader {
 public:
  // `block_bytes` is the first size of the buffer; tests make it tiny.
  explicit LineReader(detail::InputFile file, LineRules rules = {},
                      std::size_t block_bytes = default_block_bytes);
  static Result<LineReader> open(const std::string& path, LineRules rules = {});

  // Up to lines_per_batch lines; none at the end. Valid until the next call.
  Result<Lines> next();

  std::uint64_t bytes_read() const { return bytes_read_; }
  // Of the file: less than bytes_read() when it is compressed.
  std::uint64_t file_bytes_read() const { return file_.file_bytes_read(); }
  std::uint64_t lines_read() const { return lines_read_; }  // without a header
  const std::string& name() const { return file_.name(); }
  // With LineRules::header, once there was a batch.
  const std::string& header() const { return header_; }
  // False when next() would wait for somebody else to write.
  bool ready() const;

 private:
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };

  void split_one_byte();
  void split_many_bytes();
  void split_csv();
  void take_header();
  void take(std::size_t end, std::size_t next_start);
  Result<void> refill();
  Result<void> grow(std::size_t bytes);

  detail::InputFile file_;
  LineRules rules_;
  std::size_t block_bytes_;
  std::unique_ptr<char, Free> buffer_;
  std::size_t capacity_ = 0;
  std::size_t start_ = 0;    // of the first line not yet given out
  std::size_t scanned_ = 0;  // no delimiter begins in [start_, scanned_)
  std::size_t end_ = 0;      // of the bytes that were read
  bool at_end_ = false;
  detail::CsvScanner csv_;               // has looked at everything before scanned_
  std::vector<std::string_view> lines_;  // the first count_ are the current batch
  std::size_t count_ = 0;
  std::string header_;
  bool header_wanted_ = false;  // it was not read yet
  std::uint64_t bytes_read_ = 0;
  std::uint64_t lines_read_ = 0;
};

// Several files, one after the other. Each is opened when its turn comes.
class Inputs {
 public:
  explicit Inputs(std::vector<std::string> files, LineRules rules = {},
                  std::size_t block_bytes = default_block_bytes);

  // A batch holds lines of one file only; none at the end of the last.
  Result<Lines> next();

  const LineRules& rules() const { return rules_; }
  const std::vector<std::string>& files() const { return files_; }
  std::uint64_t bytes_read() const;
  // Of the files, for a progress bar beside total_bytes(): less when they are compressed.
  std::uint64_t file_bytes_read() const;
  std::uint64_t lines_read() const;
  // Where the last batch came from: the file, and the number there of its first line, from 1.
  const std::string& name() const { return name_; }
  std::uint64_t first_line() const { return first_line_; }
  // Of the file of the last batch, with LineRules::header.
  const std::string& header() const { return header_; }
  // Files that had a header and no line, so that no batch came with it.
  struct HeaderAlone {
    std::string file;
    std::string header;
  };
  const std::vector<HeaderAlone>& headers_alone() const { return headers_alone_; }
  // False when next() would wait for somebody else to write: the time to flush what is buffered.
  bool ready() const;

 private:
  std::vector<std::string> files_;
  LineRules rules_;
  std::size_t block_bytes_;
  std::size_t turn_ = 0;
  std::optional<LineReader> reader_;
  std::string name_;
  std::string header_;
  std::vector<HeaderAlone> headers_alone_;
  std::uint64_t first_line_ = 0;
  std::uint64_t bytes_before_ = 0;  // in the files that are done
  std::uint64_t file_bytes_before_ = 0;
  std::uint64_t lines_before_ = 0;
};

// How many lines there are, by a pass over the bytes; nullopt when an input can be read only once.
Result<std::optional<std::uint64_t>> count_lines(const std::vector<std::string>& files,
                                                 const LineRules& rules = {});

// About how many lines there are, from blocks spread over the files, with a reserve so that the
// truth is rarely above it: three sigma of the sample, 0.2 % at least. Files up to a few megabytes
// are counted. nullopt when an input can be read only once.
// Limits:  a file whose line lengths change where no block looks may have more. A compressed file
//          can be looked at from its start only: up to 4 MiB of what it holds are decoded, and the
//          rest is taken to be as long and as compressible, with a reserve of a quarter.
Result<std::optional<std::uint64_t>> estimate_lines(const std::vector<std::string>& files,
                                                    const LineRules& rules = {});

// About how many different lines there are: those of estimate_lines, times the part of the lines in
// the blocks that did not come before, if that is less than half. A file of a few lines that come
// again and again is not planned for as if all were new.
// Limits:  where the blocks repeat themselves and the rest does not there may be more: for sets
//          that grow.
Result<std::optional<std::uint64_t>> estimate_keys(const std::vector<std::string>& files,
                                                   const LineRules& rules = {});

// The same as it most likely is, by how many pairs of lines in the blocks are equal: where a set
// that grows by itself may begin.
// Limits:  too low where lines repeat in clusters, or some far more often than others; too high for
//          files that are a few copies of one another.
Result<std::optional<std::uint64_t>> likely_keys(const std::vector<std::string>& files,
                                                 const LineRules& rules = {});

}  // namespace bloomery::inline v0

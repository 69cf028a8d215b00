// Bytes in, integers out: a batch at a time, each known to lie in the range asked for.
//
//    text    "  17 \n"  -->  17        u32le, u64le   11 00 00 00  -->  17
//    ipv4    10.0.0.1   -->  167772161
//
// A line that is not an integer of the range is an Error that names the file and the line (for
// binary formats: the byte), or is counted and skipped. Signs are refused: "-5" must not become
// 2^64 - 5, and "+5" is more often a mistake (a phone number) than a number. A blank line is not an
// integer either; at the end of a file, where editors and scripts leave some, it is ignored.
// Threads: one reader, one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/detail/engines/input/input_file.hpp>
#include <bloomery/detail/sets/plan.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/text/line_writer.hpp>
#include <bloomery/text/lines.hpp>

namespace bloomery::inline v0::detail {

enum class IntegerFormat {
  text,   // one decimal integer a line, blanks and newlines around it allowed; no sign; blank
          // lines at the end of a file are ignored
  u32le,  // 4 bytes each, lowest first
  u64le,  // 8 bytes each, lowest first
  ipv4,   // one dotted address a line: 10.0.0.1
};

// One integer written as text or as a dotted address; nothing when it is not one.
std::optional<std::uint64_t> parse_integer(std::string_view text, IntegerFormat format);
std::string format_integer(std::uint64_t value, IntegerFormat format);
// The largest integer that a format can hold.
std::uint64_t largest_of(IntegerFormat format);
// Appends one integer to the output; text formats end with the delimiter.
void append_integer(LineWriter& out, std::uint64_t value, IntegerFormat format,
                    std::string_view delimiter);

struct NumberRules {
  IntegerFormat format = IntegerFormat::text;
  LineRules lines = {};  // binary formats use only `decode`
  std::optional<Range> range = {};
  bool skip_bad = false;
};

class NumberReader {
 public:
  NumberReader(std::vector<std::string> files, NumberRules rules);

  // Some integers of the range; none at the end. Valid until the next call.
  Result<std::span<const Ordinal>> next();

  std::uint64_t bytes_read() const { return bytes_before_ + inputs_.bytes_read(); }
  // Of the files, for a progress bar: less when they are compressed.
  std::uint64_t file_bytes_read() const;
  std::uint64_t bad() const { return bad_; }
  // The error message for the first one that was skipped.
  const std::string& first_bad() const { return first_bad_; }

 private:
  Result<void> next_text(bool& at_end);
  Result<void> next_binary(bool& at_end);
  Result<void> take_block(std::size_t bytes);
  Result<void> end_file();
  Result<void> refuse(Error error);
  void note_blank(std::size_t line_in_batch);
  Result<void> refuse_blanks();
  bool in_range(std::uint64_t value) const { return value >= low_ && value <= high_; }
  Error outside(const std::string& where, std::uint64_t value) const;
  Error bad_line(std::size_t line_in_batch, std::string_view line) const;
  std::string here(std::uint64_t byte) const;

  NumberRules rules_;
  std::uint64_t low_;
  std::uint64_t high_;
  Inputs inputs_;                  // of the text formats
  std::optional<InputFile> file_;  // of the binary ones
  std::size_t turn_ = 0;
  std::vector<char> block_;
  std::size_t carried_ = 0;         // bytes of a record that the last block began
  std::uint64_t file_bytes_ = 0;    // read from the current file
  std::uint64_t bytes_before_ = 0;  // read from binary files
  std::uint64_t files_done_bytes_ = 0;
  std::vector<Ordinal> numbers_;
  std::uint64_t blanks_ = 0;  // blank lines that a number may still follow
  std::uint64_t first_blank_ = 0;
  std::uint64_t bad_ = 0;
  std::string first_bad_;
};

}  // namespace bloomery::inline v0::detail

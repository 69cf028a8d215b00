// CSV as RFC 4180 has it: where a record ends, and what its fields are.
//
//    id,name\r\n
//    1,"Smith, ""Joe""\nLine two"\n        one record of two lines: fields 1 and Smith, "Joe"...
//      ^ opens: first byte of a field      a quote anywhere else is an ordinary byte: 5" pipe
//
// A record ends at a newline outside quotes; one carriage return before it belongs to the end. Two
// quotes in a quoted field are one; what follows its closing quote up to the separator is taken as
// it is ("a"b is ab). These are the rules of Python's csv module, except that a carriage return
// alone ends nothing.
// Limits:  a separator of one byte, neither a quote, a carriage return nor a newline.
// Threads: one scanner, one thread; the functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bloomery::inline v0::detail {

constexpr bool is_csv_separator(char c) { return c != '"' && c != '\r' && c != '\n'; }

// Finds the ends of records in bytes that come in pieces; looks at every byte once.
class CsvScanner {
 public:
  static constexpr std::size_t npos = std::string_view::npos;

  explicit CsvScanner(char separator = ',') : separator_(separator) {}

  // Continues at bytes[from], which must be the first byte not looked at yet: the one after the
  // newline that the last call returned, or, after npos, the first byte that is new.
  // Only what lies from `from` on is read, so the buffer may have moved in between.
  // Returns the position of the newline that ends the record; npos: all bytes are looked at, and
  // the record goes on.
  std::size_t scan(std::string_view bytes, std::size_t from);

  // At the end of a file: the current record has a quote that was never closed.
  bool in_quotes() const { return state_ == State::quoted; }
  // Newlines before the current record, also those inside fields: it begins at line 1 + this.
  std::uint64_t newlines_before() const { return newlines_before_; }

 private:
  enum class State : std::uint8_t { field_start, in_field, quoted, quote_in_quoted };

  std::size_t scan_open(std::string_view bytes, std::size_t from, std::size_t newline);

  char separator_;
  State state_ = State::field_start;
  std::uint64_t newlines_before_ = 0;
  std::uint64_t newlines_inside_ = 0;  // of the current record
};

// The bytes of one field of a record (without its newline), as they stand, quotes and all.
// `number` counts from 0. False: the record has fewer fields; a record of no bytes has none.
bool csv_field(std::string_view record, char separator, std::size_t number,
               std::string_view& field);

// How many fields it has.
std::size_t csv_fields(std::string_view record, char separator);

// Does the field have quotes to remove?
constexpr bool csv_quoted(std::string_view field) { return field.starts_with('"'); }

// Writes a quoted field without its quotes; `into` has room for field.size() bytes. Returns how
// many were written.
std::size_t csv_unquote(std::string_view field, char* into);

// All fields, unquoted: for headers.
std::vector<std::string> csv_split(std::string_view record, char separator);

}  // namespace bloomery::inline v0::detail

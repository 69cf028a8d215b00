#include <bloomery/detail/engines/keys/csv.hpp>

#include <cassert>
#include <cstring>

namespace bloomery::inline v0::detail {
namespace {

// First place of `wanted` in bytes[from, to), or `to`.
std::size_t find_in(std::string_view bytes, char wanted, std::size_t from, std::size_t to) {
  if (from >= to) return to;
  const void* found = std::memchr(bytes.data() + from, wanted, to - from);
  if (found == nullptr) return to;
  return static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
}

std::string_view without_cr(std::string_view record) {
  if (record.ends_with('\r')) record.remove_suffix(1);
  return record;
}

// Behind the field that begins at `start`: at its separator, or at the end of the record.
std::size_t field_end(std::string_view record, char separator, std::size_t start) {
  std::size_t at = start;
  if (at < record.size() && record[at] == '"') {
    at = find_in(record, '"', at + 1, record.size());
    // Two quotes are one, inside.
    while (at + 1 < record.size() && record[at + 1] == '"')
      at = find_in(record, '"', at + 2, record.size());
  }
  return find_in(record, separator, at, record.size());
}

}  // namespace

std::size_t CsvScanner::scan(std::string_view bytes, std::size_t from) {
  assert(from <= bytes.size() && "a scan begins in its bytes");
  if (from == bytes.size()) return npos;
  const std::size_t newline = find_in(bytes, '\n', from, bytes.size());
  // Nearly every record: no quote before its newline.
  const bool outside = state_ == State::field_start || state_ == State::in_field;
  const bool plain = outside && find_in(bytes, '"', from, newline) == newline;
  const std::size_t end = plain ? newline : scan_open(bytes, from, newline);
  if (end == bytes.size()) {
    if (plain) state_ = bytes.back() == separator_ ? State::field_start : State::in_field;
    return npos;
  }
  state_ = State::field_start;
  newlines_before_ += newlines_inside_ + 1;
  newlines_inside_ = 0;
  return end;
}

// For records with quotes. Invariant: `newline` is the first newline at or after `at`. One that is
// inside a field is counted, and the next one is searched, so no byte is searched twice.
std::size_t CsvScanner::scan_open(std::string_view bytes, std::size_t from, std::size_t newline) {
  const std::size_t size = bytes.size();
  std::size_t at = from;
  const auto count_newlines_to = [&](std::size_t place) {
    while (newline < place) {
      ++newlines_inside_;
      newline = find_in(bytes, '\n', newline + 1, size);
    }
  };
  while (at < size) {
    if (state_ == State::quoted) {
      const std::size_t quote = find_in(bytes, '"', at, size);
      count_newlines_to(quote);
      if (quote == size) return size;
      state_ = State::quote_in_quoted;
      at = quote + 1;
      continue;
    }
    if (state_ == State::quote_in_quoted) {
      // Where every field is quoted: straight into the next one.
      if (bytes[at] == separator_ && at + 1 < size && bytes[at + 1] == '"') {
        state_ = State::quoted;
        at += 2;
        continue;
      }
      // A second quote stands for one; anything else is outside.
      state_ = bytes[at] == '"' ? State::quoted : State::in_field;
      at += bytes[at] == '"';
      continue;
    }
    const std::size_t quote = find_in(bytes, '"', at, newline);
    if (quote == newline) {
      if (newline == size)
        state_ = bytes[size - 1] == separator_ ? State::field_start : State::in_field;
      return newline;
    }
    const bool opens = quote == at ? state_ == State::field_start : bytes[quote - 1] == separator_;
    state_ = opens ? State::quoted : State::in_field;
    at = quote + 1;
  }
  return size;
}

bool csv_field(std::string_view record, char separator, std::size_t number,
               std::string_view& field) {
  record = without_cr(record);
  if (record.empty()) return false;
  std::size_t start = 0;
  for (;;) {
    const std::size_t end = field_end(record, separator, start);
    if (number == 0) {
      field = record.substr(start, end - start);
      return true;
    }
    if (end == record.size()) return false;
    start = end + 1;
    --number;
  }
}

std::size_t csv_fields(std::string_view record, char separator) {
  record = without_cr(record);
  if (record.empty()) return 0;
  std::size_t fields = 1;
  for (std::size_t at = 0; (at = field_end(record, separator, at)) < record.size(); ++at) ++fields;
  return fields;
}

std::size_t csv_unquote(std::string_view field, char* into) {
  assert(csv_quoted(field) && "only a quoted field has quotes to lose");
  std::size_t written = 0;
  std::size_t at = 1;
  const auto copy_to = [&](std::size_t end) {
    std::memcpy(into + written, field.data() + at, end - at);
    written += end - at;
    at = end;
  };
  for (;;) {
    copy_to(find_in(field, '"', at, field.size()));
    if (at == field.size()) return written;
    ++at;
    if (at < field.size() && field[at] == '"') {
      into[written++] = '"';
      ++at;
      continue;
    }
    copy_to(field.size());
    return written;
  }
}

std::vector<std::string> csv_split(std::string_view record, char separator) {
  record = without_cr(record);
  std::vector<std::string> fields;
  if (record.empty()) return fields;
  for (std::size_t start = 0;;) {
    const std::size_t end = field_end(record, separator, start);
    const std::string_view field = record.substr(start, end - start);
    std::string text(field);
    if (csv_quoted(field)) text.resize(csv_unquote(field, text.data()));
    fields.push_back(std::move(text));
    if (end == record.size()) return fields;
    start = end + 1;
  }
}

}  // namespace bloomery::inline v0::detail

#include <bloomery/engines/integers/numbers.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

namespace bloomery::inline v0::detail {
namespace {

constexpr std::uint64_t largest_u64 = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t largest_u32 = std::numeric_limits<std::uint32_t>::max();
// 32K numbers of 4 bytes: they and their Ordinals stay in the second-level cache.
constexpr std::size_t binary_block_bytes = std::size_t{128} << 10;
// Digits of 2^64 - 1, which is also longer than 255.255.255.255.
constexpr std::size_t longest_text = 20;

bool is_text(IntegerFormat format) {
  return format == IntegerFormat::text || format == IntegerFormat::ipv4;
}

std::size_t record_bytes(IntegerFormat format) { return format == IntegerFormat::u32le ? 4 : 8; }

// A newline too: a file of "1,2,3" ends with one whatever the delimiter is.
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Nineteen digits cannot overflow, so only a twentieth is looked at with care.
std::optional<std::uint64_t> parse_decimal(std::string_view digits) {
  if (digits.empty()) return std::nullopt;
  std::uint64_t value = 0;
  const std::size_t plain = std::min<std::size_t>(digits.size(), 19);
  for (std::size_t i = 0; i < plain; ++i) {
    const auto digit = static_cast<unsigned char>(digits[i] - '0');
    if (digit > 9) return std::nullopt;
    value = value * 10 + digit;
  }
  for (std::size_t i = plain; i < digits.size(); ++i) {
    const auto digit = static_cast<unsigned char>(digits[i] - '0');
    if (digit > 9 || value > (largest_u64 - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

// Four numbers up to 255. Leading zeros are refused: some programs read them as octal.
std::optional<std::uint64_t> parse_address(std::string_view text) {
  std::uint64_t value = 0;
  for (int part = 0; part < 4; ++part) {
    const std::size_t dot = part < 3 ? text.find('.') : text.size();
    if (dot == std::string_view::npos || dot > 3 || (dot > 1 && text[0] == '0'))
      return std::nullopt;
    const auto number = parse_decimal(text.substr(0, dot));
    if (!number || *number > 255) return std::nullopt;
    value = value << 8 | *number;
    text.remove_prefix(std::min(text.size(), dot + 1));
  }
  return value;
}

// One loop per format, so that the choice is not made for each line.
std::optional<std::uint64_t> parse_trimmed(std::string_view text, IntegerFormat format) {
  return format == IntegerFormat::ipv4 ? parse_address(text) : parse_decimal(text);
}

std::uint64_t load_le(const char* bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i)
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

char* print_text(char* at, std::uint64_t value, IntegerFormat format) {
  if (format == IntegerFormat::text) return std::to_chars(at, at + longest_text, value).ptr;
  for (int shift = 24; shift >= 0; shift -= 8) {
    at = std::to_chars(at, at + 3, (value >> shift) & 255).ptr;
    if (shift > 0) *at++ = '.';
  }
  return at;
}

std::string why_bad(std::string_view text, IntegerFormat format) {
  if (text.empty()) return "the line is empty, where a number should be";
  if (format == IntegerFormat::ipv4)
    return quoted(text) + " is not an IPv4 address such as 10.0.0.1";
  const bool number = text.find_first_not_of("0123456789", 1) == std::string_view::npos;
  if (text.front() == '-' && text.size() > 1 && number)
    return quoted(text) + " is negative; only unsigned integers can be worked on";
  if (number && text.front() >= '0' && text.front() <= '9')
    return quoted(text) + " is larger than 18446744073709551615, the largest 64-bit integer";
  return quoted(text) + " is not an unsigned decimal integer";
}

}  // namespace

std::optional<std::uint64_t> parse_integer(std::string_view text, IntegerFormat format) {
  return parse_trimmed(trimmed(text), format);
}

std::string format_integer(std::uint64_t value, IntegerFormat format) {
  std::array<char, longest_text> text;
  const auto shown = format == IntegerFormat::ipv4 ? format : IntegerFormat::text;
  return {text.data(), print_text(text.data(), value, shown)};
}

std::uint64_t largest_of(IntegerFormat format) {
  const bool narrow = format == IntegerFormat::u32le || format == IntegerFormat::ipv4;
  return narrow ? largest_u32 : largest_u64;
}

void append_integer(LineWriter& out, std::uint64_t value, IntegerFormat format,
                    std::string_view delimiter) {
  char* const begin = out.reserve(longest_text);
  if (is_text(format)) {
    out.commit(static_cast<std::size_t>(print_text(begin, value, format) - begin));
    out.append(delimiter);
    return;
  }
  const std::size_t bytes = record_bytes(format);
  for (std::size_t i = 0; i < bytes; ++i) begin[i] = static_cast<char>(value >> (8 * i));
  out.commit(bytes);
}

NumberReader::NumberReader(std::vector<std::string> files, NumberRules rules)
    : rules_(std::move(rules)),
      low_(rules_.range ? rules_.range->low : 0),
      high_(rules_.range ? rules_.range->high : largest_u64),
      inputs_(std::move(files), rules_.lines) {
  if (!is_text(rules_.format)) block_.resize(binary_block_bytes);
  numbers_.reserve(is_text(rules_.format) ? lines_per_batch
                                          : binary_block_bytes / record_bytes(rules_.format));
}

Result<std::span<const Ordinal>> NumberReader::next() {
  numbers_.clear();
  bool at_end = false;
  while (numbers_.empty() && !at_end) {
    const auto read = is_text(rules_.format) ? next_text(at_end) : next_binary(at_end);
    if (!read) return read.error();
  }
  return std::span<const Ordinal>(numbers_);
}

std::uint64_t NumberReader::file_bytes_read() const {
  return files_done_bytes_ + (file_ ? file_->file_bytes_read() : 0) + inputs_.file_bytes_read();
}

Result<void> NumberReader::next_text(bool& at_end) {
  const auto lines = inputs_.next();
  if (!lines) return lines.error();
  at_end = lines->empty();
  // Blank lines at the end of the previous file are allowed.
  if (inputs_.first_line() == 1) blanks_ = 0;
  for (std::size_t i = 0; i < lines->size(); ++i) {
    const auto value = parse_integer((*lines)[i], rules_.format);
    if (!value && trimmed((*lines)[i]).empty()) {
      note_blank(i);
      continue;
    }
    if (blanks_ > 0) [[unlikely]]
      if (auto refused = refuse_blanks(); !refused) return refused;
    if (value && in_range(*value)) {
      numbers_.push_back({*value});
    } else if (auto refused = refuse(bad_line(i, (*lines)[i])); !refused) {
      return refused;
    }
  }
  return {};
}

Result<void> NumberReader::next_binary(bool& at_end) {
  if (!file_) {
    at_end = turn_ == inputs_.files().size();
    if (at_end) return {};
    auto file = InputFile::open(inputs_.files()[turn_], rules_.lines.decode);
    if (!file) return file.error();
    file_ = std::move(*file);
    file_bytes_ = 0;
  }
  const auto got = file_->read(std::span(block_).subspan(carried_));
  if (!got) return got.error();
  if (*got == 0) return end_file();
  bytes_before_ += *got;
  file_bytes_ += *got;
  return take_block(carried_ + *got);
}

// The first `bytes` of the block are whole records and perhaps the beginning of one more.
Result<void> NumberReader::take_block(std::size_t bytes) {
  const std::size_t record = record_bytes(rules_.format);
  const std::uint64_t block_start = file_bytes_ - bytes;
  std::size_t at = 0;
  for (; at + record <= bytes; at += record) {
    const std::uint64_t value = load_le(block_.data() + at, record);
    if (in_range(value))
      numbers_.push_back({value});
    else if (auto refused = refuse(outside(here(block_start + at), value)); !refused)
      return refused;
  }
  carried_ = bytes - at;
  std::memmove(block_.data(), block_.data() + at, carried_);
  return {};
}

Result<void> NumberReader::end_file() {
  const std::size_t left = std::exchange(carried_, 0);
  const std::string where = here(file_bytes_ - left);
  files_done_bytes_ += file_->file_bytes_read();
  file_.reset();
  ++turn_;
  if (left == 0) return {};
  return refuse(
      {Code::bad_input, where + ": the file ends inside a number: " + std::to_string(left) +
                            " bytes are left of " + std::to_string(record_bytes(rules_.format))});
}

Result<void> NumberReader::refuse(Error error) {
  if (!rules_.skip_bad) return error;
  if (bad_++ == 0) first_bad_ = std::move(error.sentence);
  return {};
}

void NumberReader::note_blank(std::size_t line_in_batch) {
  if (blanks_++ == 0) first_blank_ = inputs_.first_line() + line_in_batch;
}

// A number follows these blank lines, so they are errors: a number is missing there.
Result<void> NumberReader::refuse_blanks() {
  const std::uint64_t count = std::exchange(blanks_, 0);
  auto refused =
      refuse({Code::bad_input, inputs_.name() + ", line " + std::to_string(first_blank_) + ": " +
                                   why_bad("", rules_.format)});
  if (!refused) return refused;
  bad_ += count - 1;
  return {};
}

std::string NumberReader::here(std::uint64_t byte) const {
  return file_->name() + ", byte " + std::to_string(byte);
}

Error NumberReader::outside(const std::string& where, std::uint64_t value) const {
  return {Code::out_of_range, where + ": " + format_integer(value, rules_.format) +
                                  " is outside the range " + format_integer(low_, rules_.format) +
                                  ".." + format_integer(high_, rules_.format) +
                                  "; give a wider range"};
}

Error NumberReader::bad_line(std::size_t line_in_batch, std::string_view line) const {
  const std::string where =
      inputs_.name() + ", line " + std::to_string(inputs_.first_line() + line_in_batch);
  const std::string_view text = trimmed(line);
  if (const auto value = parse_trimmed(text, rules_.format)) return outside(where, *value);
  return {Code::bad_input, where + ": " + why_bad(text, rules_.format)};
}

}  // namespace bloomery::inline v0::detail

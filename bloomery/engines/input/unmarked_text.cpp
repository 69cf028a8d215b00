#include <bloomery/engines/input/unmarked_text.hpp>

#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bloomery::inline v0::detail {
namespace {

enum class Order { little, big };

std::uint32_t byte_at(std::string_view bytes, std::size_t place) {
  return static_cast<std::uint8_t>(bytes[place]);
}

// The unit of `width` bytes at this place.
std::uint32_t unit_at(std::string_view bytes, std::size_t place, std::size_t width, Order order) {
  std::uint32_t unit = 0;
  for (std::size_t i = 0; i < width; ++i)
    unit = unit << 8 | byte_at(bytes, place + (order == Order::big ? i : width - 1 - i));
  return unit;
}

bool is_high_surrogate(std::uint32_t unit) { return unit >= 0xd800 && unit <= 0xdbff; }
bool is_low_surrogate(std::uint32_t unit) { return unit >= 0xdc00 && unit <= 0xdfff; }

// Characters of one byte that texts are made of.
bool is_latin(std::uint32_t unit) {
  return (unit >= 0x20 && unit <= 0x7e) || (unit >= 0xa0 && unit <= 0xff) ||
         (unit >= 0x09 && unit <= 0x0d);
}

// High bytes of scripts that are control characters, and that no format separates fields with:
// Greek 03, Cyrillic 04, Hebrew 05, Arabic 06, Tamil 0b, Thai 0e, Georgian 10, Ethiopic 12, ...
bool is_foreign_control(std::uint32_t high) {
  return (high >= 0x03 && high <= 0x08) || high == 0x0b || (high >= 0x0e && high <= 0x1a);
}

bool is_white(std::uint32_t byte) {
  return byte == '\n' || byte == '\r' || byte == '\t' || byte == ' ';
}

bool is_utf32(std::string_view bytes, Order order) {
  const std::size_t units = bytes.size() / 4;
  if (units < 2) return false;
  for (std::size_t i = 0; i < units; ++i) {
    const std::uint32_t unit = unit_at(bytes, 4 * i, 4, order);
    if (unit == 0 || unit > 0x10ffff || is_high_surrogate(unit) || is_low_surrogate(unit))
      return false;
  }
  return true;
}

struct Units {
  bool sound = true;  // surrogates in pairs, no zero
  std::size_t count = 0;
  std::size_t latin = 0;     // with a zero for a high byte
  std::size_t foreign = 0;   // with a high byte that no text has
  std::size_t control = 0;   // with any control character for a high byte
  std::size_t newlines = 0;  // U+000A
  std::size_t blanks = 0;    // U+0020
  std::size_t white = 0;     // of two bytes that are newlines, blanks or tabs
  std::size_t pairs = 0;     // of surrogates

  std::size_t worth() const { return latin + foreign + newlines + blanks + 2 * pairs; }
};

Units units_of(std::string_view bytes, Order order) {
  Units units;
  units.count = bytes.size() / 2;
  bool open = false;  // a high surrogate waits for its low one
  for (std::size_t i = 0; i < units.count; ++i) {
    const std::uint32_t unit = unit_at(bytes, 2 * i, 2, order);
    if (unit == 0 || open != is_low_surrogate(unit) || unit >= 0xfffe) units.sound = false;
    units.pairs += open;
    open = is_high_surrogate(unit);
    units.latin += is_latin(unit);
    units.foreign += is_foreign_control(unit >> 8);
    units.control += unit >> 8 < 0x20;
    units.newlines += unit == '\n';
    units.blanks += unit == ' ';
    units.white += is_white(unit >> 8) && is_white(unit & 0xff);
  }
  return units;
}

bool is_utf8(std::string_view bytes, bool all) {
  // The last character may not be whole yet.
  for (std::size_t less = 0; !all && less < 4 && less < bytes.size(); ++less) {
    const std::uint32_t byte = byte_at(bytes, bytes.size() - 1 - less);
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    bytes.remove_suffix(less + 1);
    break;
  }
  return simdjson::validate_utf8(bytes.data(), bytes.size());
}

std::size_t count_of(std::string_view bytes, char byte) {
  return static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), byte));
}

// Of the bytes that are neither zeros nor newlines.
bool is_mostly_printable(std::string_view bytes) {
  const auto printable =
      std::count_if(bytes.begin(), bytes.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
  const std::size_t others = bytes.size() - count_of(bytes, '\0') - count_of(bytes, '\n');
  return static_cast<std::size_t>(printable) * 10 >= others * 9;
}

bool most(std::size_t some, std::size_t units) { return some >= units - units / 4; }

// A script whose units have no control characters in them: only newlines and blanks of two bytes
// tell. Text of single bytes with a zero here and there has many more of one byte.
bool has_wide_blanks(std::string_view bytes, const Units& units, bool all) {
  const std::size_t wide = units.newlines + units.blanks;
  const std::size_t narrow = count_of(bytes, '\n') + count_of(bytes, ' ') - wide;
  const bool blanks = wide > 0 && wide * 2 >= narrow;
  const bool digits =
      wide == 0 && units.latin >= 2 && units.latin >= narrow && units.latin * 16 >= units.count;
  return (blanks || digits) && !is_mostly_printable(bytes) && !is_utf8(bytes, all);
}

bool is_utf16(std::string_view bytes, const Units& units, bool all) {
  if (units.count < 2 || !units.sound) return false;
  // Of a pair of surrogates both units are beside the count.
  if (most(units.latin, units.count - 2 * units.pairs) && units.latin > 0) return true;
  if (units.count >= 3 && units.foreign * 4 >= units.count &&
      most(units.foreign + units.latin, units.count))
    return true;
  if (units.count >= 8 && units.newlines + units.blanks > 0 && units.white * 4 < units.count &&
      most(units.control, units.count))
    return true;
  return has_wide_blanks(bytes, units, all);
}

// As versions before this one had it: every second byte is zero, whatever is beside it.
bool has_zeros_on_one_side(std::string_view bytes) {
  const std::size_t units = bytes.size() / 2;
  std::size_t even = 0;
  std::size_t odd = 0;
  for (std::size_t i = 0; i < units; ++i) {
    even += bytes[2 * i] == '\0';
    odd += bytes[2 * i + 1] == '\0';
  }
  return units >= 2 && (even == 0 || odd == 0) && most(even + odd, units);
}

}  // namespace

std::string_view unmarked_encoding(std::string_view first_bytes, bool all) {
  if (is_utf32(first_bytes, Order::little)) return "UTF-32LE";
  if (is_utf32(first_bytes, Order::big)) return "UTF-32BE";
  const Units little = units_of(first_bytes, Order::little);
  const Units big = units_of(first_bytes, Order::big);
  const bool may_be_big = is_utf16(first_bytes, big, all);
  // Where both orders make sense, the one that has more of what texts have.
  if (is_utf16(first_bytes, little, all) && !(may_be_big && big.worth() > little.worth()))
    return "UTF-16LE";
  if (may_be_big) return "UTF-16BE";
  if (!has_zeros_on_one_side(first_bytes)) return "";
  return first_bytes[0] == '\0' ? "UTF-16BE" : "UTF-16LE";
}

bool may_become_unmarked(std::string_view bytes) {
  // A zero or a control character in one half of every unit so far; the newline that ends the
  // record may lack its zeros yet.
  const std::size_t units = (bytes.size() - (bytes.ends_with('\n') ? 1 : 0)) / 2;
  if (units == 0) return bytes.size() == 1 && bytes[0] == '\0';
  std::size_t even = 0;
  std::size_t odd = 0;
  const auto tells = [](char c) {
    return c == '\0' || is_foreign_control(static_cast<std::uint8_t>(c));
  };
  for (std::size_t i = 0; i < units; ++i) {
    even += tells(bytes[2 * i]);
    odd += tells(bytes[2 * i + 1]);
  }
  return most(even, units) || most(odd, units);
}

}  // namespace bloomery::inline v0::detail

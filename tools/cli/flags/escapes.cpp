#include "escapes.hpp"

#include <fmt/format.h>

#include <optional>

#include <tools/cli/report/refuse.hpp>

namespace bloomery::cli {
namespace {

int hex_value(char c) {
  const std::size_t place = std::string_view("0123456789abcdefABCDEF").find(c);
  if (place == std::string_view::npos) return -1;
  return static_cast<int>(place < 16 ? place : place - 6);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The byte that the letters after a backslash mean, which are taken off.
std::optional<char> take_escape(std::string_view& rest) {
  constexpr std::string_view letters = "ntr0\\";
  constexpr std::string_view bytes("\n\t\r\0\\", letters.size());
  const char letter = rest[0];
  if (letter == 'x') {
    if (rest.size() < 3 || hex_value(rest[1]) < 0 || hex_value(rest[2]) < 0) return std::nullopt;
    const int byte = hex_value(rest[1]) * 16 + hex_value(rest[2]);
    rest.remove_prefix(3);
    return static_cast<char>(byte);
  }
  const std::size_t which = letters.find(letter);
  // Who writes \012 means an octal number, not a zero byte and two digits.
  const bool octal = letter == '0' && rest.size() > 1 && is_digit(rest[1]);
  if (which == std::string_view::npos || octal) return std::nullopt;
  rest.remove_prefix(1);
  return bytes[which];
}

}  // namespace

std::string unescaped(std::string_view flag, std::string_view text) {
  if (text.empty()) refuse(fmt::format("{} needs at least one byte", flag));
  std::string bytes;
  for (std::string_view rest = text; !rest.empty();) {
    const char c = rest[0];
    rest.remove_prefix(1);
    if (c != '\\' || rest.empty()) {
      bytes += c;
      continue;
    }
    const auto byte = take_escape(rest);
    if (!byte)
      refuse(
          fmt::format("{} knows the escapes \\n, \\t, \\r, \\0, \\\\ and \\xHH, and '{}' has "
                      "another; a backslash itself is \\\\",
                      flag, text));
    bytes += *byte;
  }
  return bytes;
}

}  // namespace bloomery::cli

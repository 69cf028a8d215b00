#include "units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

namespace bloomery::cli {
namespace {

constexpr std::string_view keys_accepted =
    "give a whole number of keys such as 1000, 10M or 1e9 (k, M, G, T are powers of 1000)";
constexpr std::string_view rate_accepted =
    "give a number above 0 and below 1, such as 0.01, 1e-3, 0.1% or 1/1000";
constexpr std::string_view memory_accepted =
    "give a size such as 512K, 100M or 2G (powers of 1024; B or iB may follow)";
constexpr std::string_view duration_accepted =
    "give a time with its unit, such as 500ms, 60s, 30min, 24h or 7d";
constexpr std::string_view network_accepted =
    "give bits a second such as 100M, 2.5G or 10G (k, M, G, T are powers of 1000)";
constexpr std::string_view range_accepted =
    "give two whole numbers, the smaller first, such as 0..9999999";
constexpr std::string_view seed_accepted = "give a whole number from 0 to 18446744073709551615";

Error refused(std::string_view flag, std::string_view text, std::string_view accepted) {
  return {Code::bad_input, fmt::format("{} does not take '{}'; {}", flag, text, accepted)};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Underscores between digits are for the eye only; anywhere else they are a slip.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain += text[i];
      continue;
    }
    const bool between =
        i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if (!between) return std::nullopt;
  }
  return plain;
}

// How much of the text is digits [. digits] [e [sign] digits]; 0 if it does not start as a number.
// Written out because strtold also takes nan, inf and hexadecimal.
std::size_t decimal_length(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - from;
  };
  std::size_t seen = digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    seen += digits();
  }
  if (seen == 0) return 0;
  const std::size_t mantissa = at;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) at = mantissa;
  }
  return at;
}

struct Scaled {
  std::string_view rest;  // what follows the number: its unit
  std::string number;
};

std::optional<Scaled> split_unit(const std::string& plain) {
  const std::size_t length = decimal_length(plain);
  if (length == 0) return std::nullopt;
  std::string_view rest = std::string_view(plain).substr(length);
  if (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return Scaled{rest, plain.substr(0, length)};
}

struct Decimal {
  std::string digits;  // without the point, and without zeros at either end
  long exponent = 0;   // the number is digits * 10^exponent
};

// `number` is what decimal_length() takes. Nothing when its exponent is beyond any use.
std::optional<Decimal> decimal_parts(const std::string& number) {
  Decimal parts;
  std::size_t at = 0;
  for (bool behind_point = false; at < number.size() && number[at] != 'e' && number[at] != 'E';
       ++at) {
    if (number[at] == '.') {
      behind_point = true;
      continue;
    }
    parts.exponent -= behind_point;
    if (number[at] != '0' || !parts.digits.empty()) parts.digits += number[at];
  }
  if (at < number.size()) {
    const char* from = number.data() + at + 1 + (number[at + 1] == '+');
    long written = 0;
    const auto read = std::from_chars(from, number.data() + number.size(), written);
    if (read.ec != std::errc{} || written > 1000 || written < -1000) return std::nullopt;
    parts.exponent += written;
  }
  for (; parts.digits.ends_with('0'); ++parts.exponent) parts.digits.pop_back();
  return parts;
}

__extension__ using Wide = unsigned __int128;

enum class Fraction { refused, dropped };

// The number times the unit, if that fits 64 bits. In whole numbers throughout: 2.3k is just 2300,
// and of 1234567890.7 a fraction remains.
std::optional<std::uint64_t> whole(const std::string& number, std::uint64_t unit,
                                   Fraction fraction) {
  auto parts = decimal_parts(number);
  // 38 digits fill 128 bits, and the unit takes up to 13 of them.
  if (!parts || parts->digits.size() > 25) return std::nullopt;
  Wide value = 0;
  for (const char digit : parts->digits) value = value * 10 + static_cast<unsigned>(digit - '0');
  value *= unit;
  for (; parts->exponent < 0 && value != 0; ++parts->exponent) {
    if (value % 10 != 0 && fraction == Fraction::refused) return std::nullopt;
    value /= 10;
  }
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (; parts->exponent > 0 && value != 0 && value <= most; --parts->exponent) value *= 10;
  if (value > most) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

std::optional<std::uint64_t> decimal_unit(std::string_view unit) {
  if (unit.empty()) return 1;
  if (unit.size() > 1) return std::nullopt;
  switch (unit.front()) {
    case 'k':
    case 'K': return 1'000;
    case 'M': return 1'000'000;
    case 'G': return 1'000'000'000;
    case 'T': return 1'000'000'000'000;
    default: return std::nullopt;
  }
}

std::optional<std::uint64_t> binary_unit(std::string_view unit) {
  if (unit.ends_with("iB"))
    unit.remove_suffix(2);
  else if (unit.ends_with('B'))
    unit.remove_suffix(1);
  if (unit.empty()) return 1;
  if (unit.size() > 1) return std::nullopt;
  switch (unit.front()) {
    case 'k':
    case 'K': return std::uint64_t{1} << 10;
    case 'M': return std::uint64_t{1} << 20;
    case 'G': return std::uint64_t{1} << 30;
    case 'T': return std::uint64_t{1} << 40;
    default: return std::nullopt;
  }
}

using UnitOf = std::optional<std::uint64_t> (*)(std::string_view);

std::optional<std::uint64_t> scaled(std::string_view text, UnitOf unit_of,
                                    Fraction fraction = Fraction::refused) {
  const auto plain = without_underscores(text);
  if (!plain) return std::nullopt;
  const auto split = split_unit(*plain);
  if (!split) return std::nullopt;
  const auto unit = unit_of(split->rest);
  if (!unit) return std::nullopt;
  // Half a byte is a slip; what is left of a byte of 0.7G is not.
  return whole(split->number, *unit, *unit == 1 ? Fraction::refused : fraction);
}

// A whole text that is one decimal number, else NaN.
double decimal(std::string_view text) {
  if (text.empty() || decimal_length(text) != text.size())
    return std::numeric_limits<double>::quiet_NaN();
  return std::strtod(std::string(text).c_str(), nullptr);
}

double rate_of(std::string_view text) {
  if (text.ends_with('%')) {
    text.remove_suffix(1);
    if (text.ends_with(' ')) text.remove_suffix(1);
    return decimal(text) / 100;
  }
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return decimal(text);
  return decimal(text.substr(0, slash)) / decimal(text.substr(slash + 1));
}

}  // namespace

Result<std::uint64_t> parse_keys(std::string_view flag, std::string_view text) {
  const auto keys = scaled(text, decimal_unit);
  if (!keys || *keys == 0) return refused(flag, text, keys_accepted);
  return *keys;
}

Result<double> parse_rate(std::string_view flag, std::string_view text) {
  const double rate = rate_of(text);
  // Written so that NaN is refused too.
  if (!(rate > 0 && rate < 1)) return refused(flag, text, rate_accepted);
  return rate;
}

Result<std::uint64_t> parse_memory(std::string_view flag, std::string_view text) {
  const auto bytes = scaled(text, binary_unit, Fraction::dropped);
  if (!bytes || *bytes == 0) return refused(flag, text, memory_accepted);
  return *bytes;
}

Result<std::chrono::milliseconds> parse_duration(std::string_view flag, std::string_view text) {
  struct Unit {
    std::string_view name;
    double milliseconds;
  };
  // Longer names first: "ms" ends with "s".
  constexpr std::array<Unit, 5> units = {
      {{"min", 60e3}, {"ms", 1}, {"s", 1e3}, {"h", 3600e3}, {"d", 86400e3}}};
  constexpr double most = 1e15;  // thirty thousand years
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    const double value = decimal(text.substr(0, text.size() - unit.name.size()));
    const double milliseconds = value * unit.milliseconds;
    if (!(milliseconds >= 1 && milliseconds <= most)) break;
    return std::chrono::milliseconds(static_cast<std::int64_t>(milliseconds));
  }
  return refused(flag, text, duration_accepted);
}

Result<double> parse_network(std::string_view flag, std::string_view text) {
  const auto bits = scaled(text, decimal_unit);
  if (!bits || *bits < 1000) return refused(flag, text, network_accepted);
  return static_cast<double>(*bits);
}

Result<Range> parse_range(std::string_view flag, std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return refused(flag, text, range_accepted);
  const auto low = scaled(text.substr(0, dots), decimal_unit);
  const auto high = scaled(text.substr(dots + 2), decimal_unit);
  if (!low || !high || *low > *high) return refused(flag, text, range_accepted);
  return Range{*low, *high};
}

Result<std::uint64_t> parse_seed(std::string_view flag, std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = hexadecimal ? text.substr(2) : text;
  std::uint64_t seed = 0;
  const char* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, seed, hexadecimal ? 16 : 10);
  if (read.ec != std::errc{} || read.ptr != end) return refused(flag, text, seed_accepted);
  return seed;
}

std::string print_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string print_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 7> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 1023.995 would print as "1024.00": go up a unit before that.
  for (; value >= 1023.995 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.2f} {}", value, units[unit]);
}

std::string print_rate(double rate) {
  if (!std::isfinite(rate)) return print_real(rate);
  if (rate == 0) return "0";
  if (rate < 1e-4) return fmt::format("{:.3g}", rate);
  return fmt::format("{:.3g} %", rate * 100);
}

std::string print_real(double value) {
  if (std::isnan(value)) return "unknown";
  if (std::isinf(value)) return "infinite";
  return fmt::format("{:.4g}", value);
}

std::string print_about(double value) {
  constexpr double most = 1e18;
  if (!(value < most)) return print_real(value);
  if (value < 10) return fmt::format("{:.2g}", value);
  double unit = 1;
  while (value / unit >= 999.5) unit *= 10;
  return print_count(static_cast<std::uint64_t>(std::llround(value / unit) * std::llround(unit)));
}

std::string print_seconds(double seconds) {
  if (!std::isfinite(seconds)) return print_real(seconds);
  if (seconds < 100) return fmt::format("{:.2f} s", seconds);
  const auto whole_seconds = static_cast<std::uint64_t>(seconds);
  if (whole_seconds < 3600)
    return fmt::format("{} min {:02} s", whole_seconds / 60, whole_seconds % 60);
  return fmt::format("{} h {:02} min", whole_seconds / 3600, whole_seconds / 60 % 60);
}

}  // namespace bloomery::cli

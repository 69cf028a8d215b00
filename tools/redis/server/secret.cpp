#include <tools/redis/server/secret.hpp>

#include <sys/random.h>

#include <charconv>
#include <cstdio>

namespace bloomery::redis {

std::optional<Hasher> fresh_hasher() {
  SecretKey key;
  if (getrandom(&key, sizeof key, 0) != static_cast<ssize_t>(sizeof key)) return std::nullopt;
  return Hasher::hardened(key);
}

std::string secret_of(const Hasher& hasher) {
  char digits[33];
  const SecretKey key = hasher.key();
  std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(key.high),
                static_cast<unsigned long long>(key.low));
  return digits;
}

std::optional<Hasher> hasher_from(std::string_view digits) {
  if (digits.size() != 32) return std::nullopt;
  const auto word = [](std::string_view part) -> std::optional<std::uint64_t> {
    std::uint64_t number = 0;
    const char* const end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data(), end, number, 16);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return number;
  };
  const auto high = word(digits.substr(0, 16));
  const auto low = word(digits.substr(16));
  if (!high || !low) return std::nullopt;
  return Hasher::hardened({.low = *low, .high = *high});
}

}  // namespace bloomery::redis

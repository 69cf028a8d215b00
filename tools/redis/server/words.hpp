// The words of a command: as text, compared without regard to case, and looked for.
#pragma once

#include <algorithm>
#include <cctype>
#include <string_view>

#include <tools/redis/server/api.hpp>

namespace bloomery::redis {

inline std::string_view text_of(const Str* word) {
  std::size_t length = 0;
  const char* start = api.string_ptr_len(word, &length);
  return {start, length};
}

inline bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// The first of these words that is `wanted`, or `count`.
inline int find_word(Str** words, int count, std::string_view wanted) {
  int n = 0;
  while (n < count && !same_word(text_of(words[n]), wanted)) ++n;
  return n;
}

}  // namespace bloomery::redis

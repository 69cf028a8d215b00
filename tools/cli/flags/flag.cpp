#include "flag.hpp"

#include <algorithm>

namespace bloomery::cli {

Flags joined(std::initializer_list<FlagRow> rows) {
  Flags all;
  for (const FlagRow& row : rows) all.insert(all.end(), row.flags.begin(), row.flags.end());
  return all;
}

const Flag* find_flag(const Flags& flags, std::string_view name) {
  for (const Flag& flag : flags) {
    const std::string_view names = flag.names;
    for (std::size_t at = 0; at < names.size();) {
      const std::size_t end = std::min(names.find(',', at), names.size());
      if (names.substr(at, end - at) == name) return &flag;
      at = end + 1;
    }
  }
  return nullptr;
}

}  // namespace bloomery::cli

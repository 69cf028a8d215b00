#include "suggest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include <bloomery/any_set.hpp>
#include <tools/inside.hpp>

namespace bloomery::cli {
namespace {

// Letters to insert, delete, change or swap with their neighbour (optimal string alignment).
std::size_t slips(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view typed, std::span<const std::string> known) {
  // A long mistyped word is near nothing, and the table would grow with its square.
  if (typed.size() > 64) return "";
  std::size_t best = std::max<std::size_t>(1, typed.size() / 3) + 1;
  std::string_view nearest;
  for (const std::string& word : known) {
    const bool begins = typed.size() >= 3 && word.starts_with(typed);
    const std::size_t distance = begins ? 1 : slips(typed, word);
    if (distance < best) {
      best = distance;
      nearest = word;
    }
  }
  return nearest.empty() ? "" : fmt::format(" Did you mean '{}'?", nearest);
}

std::string unknown_value(std::string_view flag, std::string_view typed,
                          std::span<const std::string> known) {
  std::string list;
  for (std::size_t i = 0; i < known.size(); ++i)
    list += (i == 0 ? "" : i + 1 == known.size() ? " or " : ", ") + known[i];
  const std::string hint = did_you_mean(typed, known);
  return fmt::format("{} does not take '{}'; give {}{}{}", flag, typed, list,
                     hint.empty() ? "" : ".", hint);
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const KindRow& row : AnySet::register_rows()) names.emplace_back(row.id.name);
  return names;
}

std::string unknown_kind(std::string_view typed) {
  const std::vector<std::string> names = kind_names();
  return fmt::format("unknown kind '{}'.{} The kinds are {}", typed, did_you_mean(typed, names),
                     fmt::join(names, ", "));
}

}  // namespace bloomery::cli

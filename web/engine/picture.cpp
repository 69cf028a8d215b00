// How the bits of a set lie: a histogram of its lines, what chance would make of it, a map.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include <bloomery/detail/sets/plan.hpp>
#include <bloomery/kinds.hpp>

#include "cells.hpp"
#include "open_file.hpp"
#include "verbs.hpp"

namespace bloomery::web {
namespace {

constexpr std::uint64_t word_bits = 64;
constexpr std::uint64_t usual_unit = 512;

// Ones of every unit, in the order of the file.
std::vector<std::uint16_t> ones_of(const detail::Parts& parts, std::uint64_t unit,
                                   std::uint64_t skip_bits) {
  std::vector<std::uint16_t> ones;
  const std::size_t bytes = static_cast<std::size_t>(unit / 8);
  for (const detail::Part& part : parts.parts) {
    const auto payload = part.payload.subspan(static_cast<std::size_t>(skip_bits / 8));
    for (std::size_t at = 0; at < payload.size(); at += bytes) {
      const std::size_t length = std::min(bytes, payload.size() - at);
      // The last unit of a part may be shorter: it is not like the others.
      if (length < bytes && at > 0) break;
      unsigned count = 0;
      for (std::size_t i = 0; i < length; i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, payload.data() + at + i, std::min<std::size_t>(8, length - i));
        count += static_cast<unsigned>(std::popcount(word));
      }
      ones.push_back(static_cast<std::uint16_t>(count));
    }
  }
  return ones;
}

// A line is some lanes side by side; each key throws `balls` at bits of every lane.
struct Lanes {
  double lanes = 8;
  double bits = 64;
  double balls = 1;
};

std::optional<Lanes> lanes_of(const AnySet& set) {
  double probes = 0;
  for (const auto& [name, value] : set.shape_facts())
    if (name == "probes") probes = std::strtod(value.c_str(), nullptr);
  if (set.kind() == SplitBlock::id) return Lanes{8, 32, 1};
  const bool lined =
      set.kind() == BlockedBloom::id || set.kind() == Sharded::id || set.kind() == WindowBloom::id;
  if (!lined || probes == 0) return std::nullopt;
  return Lanes{8, 64, probes / 8};
}

struct Spread {
  double mean;
  double variance;
};

// Ones of a line that holds so many keys: bits that at least one of n balls has hit.
Spread spread_of(const Lanes& law, double keys) {
  const double balls = keys * law.balls;
  const double spared = std::pow(1 - 1 / law.bits, balls);
  const double both = std::pow(1 - 2 / law.bits, balls);
  const double variance =
      law.bits * spared * (1 - spared) + law.bits * (law.bits - 1) * (both - spared * spared);
  // Not quite never: what is certain has a width of less than a bit.
  return {law.lanes * law.bits * (1 - spared), std::max(0.05, law.lanes * variance)};
}

void add_bell(std::vector<double>& expected, const Spread& spread, double weight) {
  const double width = std::sqrt(spread.variance);
  const double reach = 6 * width + 1;
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(spread.mean - reach)));
  const auto high = std::min(static_cast<double>(expected.size() - 1), spread.mean + reach);
  double sum = 0;
  const auto bell = [&](std::size_t i) {
    const double off = (static_cast<double>(i) - spread.mean) / width;
    return std::exp(-off * off / 2);
  };
  for (std::size_t i = low; static_cast<double>(i) <= high; ++i) sum += bell(i);
  if (sum <= 0) return;
  for (std::size_t i = low; static_cast<double>(i) <= high; ++i)
    expected[i] += weight * bell(i) / sum;
}

// As many ones in all, of keys spread by chance.
std::vector<double> expected_of(const AnySet& set, std::uint64_t unit, double units, double mean) {
  std::vector<double> expected(static_cast<std::size_t>(unit) + 1);
  const double fill = mean / static_cast<double>(unit);
  const auto law = lanes_of(set);
  if (fill <= 0 || fill >= 1) {
    expected[fill <= 0 ? 0 : static_cast<std::size_t>(unit)] = units;
  } else if (!law) {
    add_bell(expected, {mean, std::max(0.05, mean * (1 - fill))}, units);
  } else {
    // The number of keys in a line is a Poisson number; this mean gives that many ones.
    const double a_key = 1 - std::pow(1 - 1 / law->bits, law->balls);
    const double keys = -std::log(1 - fill) / a_key;
    const double reach = 8 * std::sqrt(keys) + 8;
    const double from = std::max(0.0, std::floor(keys - reach));
    for (double j = from; j <= keys + reach; ++j) {
      const double chance = std::exp(j * std::log(keys) - keys - detail::plan::log_factorial(j));
      if (j == 0)
        expected[0] += units * chance;
      else
        add_bell(expected, spread_of(*law, j), units * chance);
    }
  }
  for (double& one : expected) one = std::round(one * 1000) / 1000;
  return expected;
}

std::string place(std::size_t unit, std::uint16_t ones) {
  return Object().set("unit", std::uint64_t{unit}).set("ones", std::uint64_t{ones}).text();
}

}  // namespace

Answer picture(const Request& request) {
  const auto open = held_set(request);
  if (!open) return open.error();
  const auto rows = request.whole("rows");
  const auto columns = request.whole("columns");
  if (!rows) return rows.error();
  if (!columns) return columns.error();
  if (*rows < 1 || *rows > 512 || *columns < 1 || *columns > 512)
    return Error{Code::bad_input, "a picture has 1 to 512 rows and columns"};
  const AnySet& set = (*open)->set;
  const auto parts = set.parts();
  if (!parts) return parts.error();
  const CellForm form = cell_form(set);
  const std::uint64_t unit = form.line > 8 ? form.line * form.bits : usual_unit;
  const std::vector<std::uint16_t> ones = ones_of(*parts, unit, form.skip_bits);
  if (ones.empty()) return Error{Code::bad_input, "the set has no bits to show"};
  std::vector<std::uint64_t> histogram(static_cast<std::size_t>(unit) + 1);
  double sum = 0;
  for (const std::uint16_t one : ones) ++histogram[one], sum += one;
  const auto units = static_cast<double>(ones.size());
  const double mean = sum / units;
  const auto [least, most] = std::ranges::minmax_element(ones);

  const std::uint64_t cells = *rows * *columns;
  // So many units to a cell that all of them have a place, and none is there twice.
  const std::uint64_t each = (ones.size() + cells - 1) / cells;
  std::vector<std::optional<double>> heat;
  for (std::uint64_t cell = 0; cell < cells; ++cell) {
    const std::uint64_t from = cell * each;
    const std::uint64_t to = std::min<std::uint64_t>(from + each, ones.size());
    if (from >= to) {
      heat.emplace_back();
      continue;
    }
    double here = 0;
    for (std::uint64_t i = from; i < to; ++i) here += ones[static_cast<std::size_t>(i)];
    const double share = here / static_cast<double>((to - from) * unit);
    heat.emplace_back(std::round(share * 1e4) / 1e4);
  }
  Object reply;
  reply.set("unit_bits", unit).set("units", std::uint64_t{ones.size()});
  reply.set("histogram", histogram).set("expected", expected_of(set, unit, units, mean));
  reply.set("mean", mean);
  reply.put("fullest", place(static_cast<std::size_t>(most - ones.begin()), *most));
  reply.put("emptiest", place(static_cast<std::size_t>(least - ones.begin()), *least));
  reply.set("rows", *rows).set("columns", *columns).set("heat", heat);
  return reply.text();
}

}  // namespace bloomery::web

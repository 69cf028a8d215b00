#include "cells.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include <bloomery/detail/bits/packed.hpp>
#include <bloomery/kinds.hpp>

namespace bloomery::web {
namespace {

// One key through the verbs for spans, which take texts and ordinals alike.
template <class Verb>
auto with(const AnySet& set, const PlayKey& key, Verb&& verb) {
  if (set.input() == InputForm::ordinal) {
    const std::array ordinals = {Ordinal{key.integer}};
    return verb(std::span<const Ordinal>(ordinals));
  }
  const std::array texts = {std::string_view(key.text)};
  return verb(std::span<const std::string_view>(texts));
}

// A number of its shape; 0 if it has none of this name.
std::uint64_t number_in(const AnySet& set, std::string_view fact) {
  std::uint64_t number = 0;
  for (const auto& [name, value] : set.shape_facts())
    if (name == fact) std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

constexpr std::uint64_t line_cells = 512;

}  // namespace

bool playable(const KindRow& row) { return !row.built && !row.two_lists && !row.grows; }

CellForm cell_form(const AnySet& set) {
  const KindId kind = set.kind();
  if (kind == TwoBitMap::id) return {.bits = 2};
  if (kind == BlockedBloom::id || kind == Sharded::id) return {.line = line_cells};
  if (kind == SplitBlock::id) return {.line = 256};
  if (kind == WindowBloom::id) return {.line = line_cells, .skip_bits = line_cells};
  if (kind == CountingBloom::id) return {.bits = 4};
  if (kind == SpectralBloom::id)
    return {.bits = static_cast<unsigned>(number_in(set, "counter_bits"))};
  if (kind == Cuckoo::id)
    return {.bits = static_cast<unsigned>(number_in(set, "fingerprint_bits")),
            .line = Cuckoo::places,
            .fingerprints = true};
  return {};
}

Result<std::vector<std::uint32_t>> cells_of(const AnySet& set, const CellForm& form) {
  const auto parts = set.parts();
  if (!parts) return parts.error();
  const auto bytes = parts->parts.front().payload;
  const detail::ConstWords words(reinterpret_cast<const std::uint64_t*>(bytes.data()),
                                 bytes.size() / sizeof(std::uint64_t));
  std::uint64_t count = (bytes.size() * 8 - form.skip_bits) / form.bits;
  // Behind the last cell there may be bits that are never used.
  const std::string_view fact = set.kind() == ClassicBloom::id ? "bits" : "counters";
  if (const std::uint64_t told = number_in(set, fact); told != 0) count = told;
  if (const std::uint64_t buckets = number_in(set, "buckets")) count = buckets * Cuckoo::places;
  if (const auto range = set.range()) count = range->high - range->low + 1;
  const detail::Packed packed(form.bits);
  std::vector<std::uint32_t> cells(static_cast<std::size_t>(count));
  const std::uint64_t first = form.skip_bits / form.bits;
  for (std::size_t i = 0; i < cells.size(); ++i)
    cells[i] = static_cast<std::uint32_t>(packed.get(words, first + i));
  return cells;
}

Result<PlayKey> play_key(const AnySet& set, std::string_view text) {
  PlayKey key{.text = std::string(text)};
  const auto range = set.range();
  if (!range) return key;
  const char* const end = key.text.data() + key.text.size();
  const auto read = std::from_chars(key.text.data(), end, key.integer);
  if (read.ec != std::errc{} || read.ptr != end)
    return Error{Code::bad_input, "'" + key.text + "' is not a whole number; a " +
                                      std::string(set.kind().name) + " holds integers"};
  if (key.integer < range->low || key.integer > range->high)
    return Error{Code::out_of_range, key.text + " is not between " + std::to_string(range->low) +
                                         " and " + std::to_string(range->high)};
  return key;
}

Result<bool> there(const AnySet& set, const PlayKey& key) {
  bool answer = false;
  const auto asked = with(
      set, key, [&](auto keys) { return set.may_contain_all(keys, std::span<bool>(&answer, 1)); });
  if (!asked) return asked.error();
  return answer;
}

Result<void> add(AnySet& set, const PlayKey& key) {
  const auto added = with(set, key, [&](auto keys) { return set.add_all(keys); });
  return added ? Result<void>{} : Result<void>{added.error()};
}

Result<void> remove(AnySet& set, const PlayKey& key) {
  const auto removed = with(set, key, [&](auto keys) { return set.remove_all(keys); });
  return removed ? Result<void>{} : Result<void>{removed.error()};
}

Result<KeyCells> cells_of_key(AnySet& empty, const CellForm& form, const PlayKey& key) {
  const bool copies = empty.kind() == Cuckoo::id;
  // The last of so many is refused: then all places of the key are taken.
  for (unsigned copy = 0; copy <= 2 * Cuckoo::places; ++copy) {
    const auto added = add(empty, key);
    if (!copies && !added) return added.error();
    if (!copies || !added) break;
  }
  const auto cells = cells_of(empty, form);
  if (!cells) return cells.error();
  if (auto cleared = empty.clear(); !cleared) return cleared.error();
  KeyCells found;
  for (std::size_t i = 0; i < cells->size(); ++i) {
    if ((*cells)[i] == 0) continue;
    found.places.push_back(static_cast<std::uint32_t>(i));
    found.value = (*cells)[i];
  }
  // A window writes into one generation and asks both, whose lines are neighbours.
  if (empty.kind() == WindowBloom::id) {
    for (std::size_t i = found.places.size(); i-- > 0;)
      found.places.push_back(found.places[i] ^ static_cast<std::uint32_t>(line_cells));
    std::ranges::sort(found.places);
  }
  return found;
}

}  // namespace bloomery::web

// A small set seen cell by cell: bits, counters or fingerprints, and which of them a key looks at.
//
// No law is written here a second time. The cells of a key are those that are not zero in a set of
// the same shape that holds this key alone; a cuckoo set is given as many copies as it takes, so
// that all eight places show.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <bloomery/any_set.hpp>

#include "wire.hpp"

namespace bloomery::web {

struct CellForm {
  unsigned bits = 1;            // of a cell
  std::uint64_t line = 0;       // cells of a line; 0: it has no lines
  std::uint64_t skip_bits = 0;  // before the first cell
  bool fingerprints = false;    // a cell is of the key whose fingerprint it holds
};

// Can it be shown so, and asked and added to one key at a time?
bool playable(const KindRow& row);
CellForm cell_form(const AnySet& set);

// What every cell holds.
Result<std::vector<std::uint32_t>> cells_of(const AnySet& set, const CellForm& form);

// A key as the set takes it: a text, or an integer of its range.
struct PlayKey {
  std::string text;
  std::uint64_t integer = 0;
};
Result<PlayKey> play_key(const AnySet& set, std::string_view text);

Result<bool> there(const AnySet& set, const PlayKey& key);
// An Error where it is full.
Result<void> add(AnySet& set, const PlayKey& key);
Result<void> remove(AnySet& set, const PlayKey& key);

struct KeyCells {
  std::vector<std::uint32_t> places;  // ascending
  std::uint32_t value = 0;            // of a cuckoo set: the fingerprint
};
// `empty` is of the same shape, and empty again afterwards.
Result<KeyCells> cells_of_key(AnySet& empty, const CellForm& form, const PlayKey& key);

}  // namespace bloomery::web

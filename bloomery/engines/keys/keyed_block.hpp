// The records of a block and their keys: cut, spelled, asked for in other sets, hashed.
//
//    block --split--> records --keys--> those without a key, or in another set, are left out
//                                       the others are hashed for one set
//
// The first half of the work on a line, shared by dedup.hpp and tallies.hpp. It does not depend on
// the order of blocks, so any thread may do any block.
// Threads: one BlockHashing, one thread; the sets are only asked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/engines/dedup/dedup.hpp>
#include <bloomery/engines/input/blocks.hpp>
#include <bloomery/engines/keys/key_maker.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

// One mark a record; a vector of bool has no span.
class Marks {
 public:
  void assign(std::size_t count, bool value) { bytes_.assign(count, value ? 1 : 0); }
  std::size_t size() const { return bytes_.size(); }
  bool operator[](std::size_t i) const { return bytes_[i] != 0; }
  void set(std::size_t i, bool value) { bytes_[i] = value ? 1 : 0; }
  bool any() const { return std::find(bytes_.begin(), bytes_.end(), 1) != bytes_.end(); }
  std::span<bool> span(std::size_t first, std::size_t count) {
    static_assert(sizeof(bool) == 1);
    return {reinterpret_cast<bool*>(bytes_.data()) + first, count};
  }

 private:
  std::vector<unsigned char> bytes_;
};

struct KeyedBlock {
  Block block;
  Lines records;  // without the head
  HashedTexts keys;
  std::size_t key_count = 0;
  // Key i belongs to record places[i]; unless `all`, when it belongs to record i.
  bool all = true;
  std::vector<std::size_t> places;
  // False so far: records that another set has. Those without a key, or with an empty one that is
  // kept, stay true, and are not among the keys.
  Marks fresh;
  // Records with an empty key; those that are dropped are marked, neither fresh nor repeats.
  std::uint64_t empty = 0;
  std::uint64_t empty_kept = 0;
  std::uint64_t empty_gone = 0;
  Marks gone;  // if there are any
  std::uint64_t no_key = 0;
  std::size_t first_no_key = 0;
  std::string why_none;

  bool is_gone(std::size_t record) const { return empty_gone > 0 && gone[record]; }
  // Records that are new without being asked for.
  std::uint64_t new_without_asking() const { return no_key + empty_kept; }
  std::size_t place_of(std::size_t key) const { return all ? key : places[key]; }
  // Why its first record without a key has none; `records_before` are those of the file before.
  Error no_key_error(const BlockInputs& inputs, std::uint64_t records_before) const;
};

// The header of each file: checked by the rules, and printed once.
class Heads {
 public:
  Heads(const BlockInputs& inputs, const DedupRules& rules) : inputs_(inputs), rules_(rules) {}

  // Leaves in `head` what is to be printed before the lines of this block. To be called for the
  // blocks in their order.
  Result<void> take(Block& block, std::string& head);

 private:
  const BlockInputs& inputs_;
  const DedupRules& rules_;
  std::optional<Head> first_ = rules_.printed_head;
};

// The rate at which one of the other sets takes a new line for a repeat.
double rate_of_others(const std::vector<Against>& others);

// What one thread needs to make a block ready to be added.
class BlockHashing {
 public:
  // The keys are hashed as `set` takes them.
  BlockHashing(const AnySet& set, std::string_view delimiter, const DedupRules& rules)
      : set_(set), delimiter_(delimiter), rules_(rules), makers_(1 + rules.against.size()) {}

  Result<void> hash(KeyedBlock& work);

 private:
  Lines keys_of(std::size_t which, const MakeKeys& make, Lines records);
  void note_missing(KeyedBlock& work, Lines keys);
  void note_empty(KeyedBlock& work);
  Result<void> ask(KeyedBlock& work, std::size_t which);
  Lines without_dropped(KeyedBlock& work, Lines keys);

  const AnySet& set_;
  std::string_view delimiter_;
  const DedupRules& rules_;
  std::size_t file_ = ~std::size_t{0};
  std::vector<std::unique_ptr<KeyMaker>> makers_;  // of the set, and of each other set
  Marks dropped_;
  Marks answers_;
  HashedTexts asked_;
  std::vector<std::string_view> kept_;
};

}  // namespace bloomery::inline v0::detail

// A set and a std::unordered_set driven together by a random list of operations.
//
//    const Oracle<BlockedBloom> oracle({.keys = 500, .rate = 0.01}, seed);
//    oracle.expect_agreement(2'000);
//
// Fails on any forgotten key, on any key called new that was there, and for exact kinds on any
// difference at all. A failure names the seed and the shortest list of operations that was found to
// fail the same way.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <unordered_set>
#include <vector>

#include <bloomery/bloomery.hpp>

namespace bloomery::detail {

enum class Verb { add, add_all, ask, ask_all, remove, unite, intersect, subtract };

// `count` keys from `first` on, in the numbering of the oracle.
struct Operation {
  Verb verb;
  std::uint64_t first;
  std::uint64_t count;
};

template <class K>
class Oracle {
 public:
  using Truth = std::unordered_set<std::uint64_t>;

  // Keys are want.range.low + 0 .. distinct - 1.
  Oracle(const Want& want, std::uint64_t distinct, std::uint64_t seed)
      : want_(want), distinct_(distinct), seed_(seed) {}

  void expect_agreement(std::size_t operations) const {
    std::vector<Operation> list = drawn(operations);
    auto failure = run(list);
    if (!failure) return;
    list = shortest(std::move(list));
    failure = run(list);
    std::ostringstream text;
    for (const Operation& operation : list)
      text << "\n  " << name_of(operation.verb) << " " << operation.count << " from "
           << operation.first;
    ADD_FAILURE() << K::id.name << ", seed " << seed_ << ": " << *failure << " after" << text.str();
  }

 private:
  static const char* name_of(Verb verb) {
    static constexpr const char* names[] = {"add",    "add_all", "ask",       "ask_all",
                                            "remove", "unite",   "intersect", "subtract"};
    return names[static_cast<int>(verb)];
  }

  std::vector<Operation> drawn(std::size_t operations) const {
    std::mt19937_64 random(seed_);
    std::vector<Operation> list;
    for (std::size_t i = 0; i < operations; ++i) {
      // Whole-set operations are rare, so that sets have time to fill.
      const std::uint64_t die = random() % 100;
      const Verb verb = die < 35   ? Verb::add
                        : die < 45 ? Verb::add_all
                        : die < 75 ? Verb::ask
                        : die < 85 ? Verb::ask_all
                        : die < 96 ? Verb::remove
                        : die < 98 ? Verb::unite
                        : die < 99 ? Verb::intersect
                                   : Verb::subtract;
      const bool whole = verb == Verb::unite || verb == Verb::intersect || verb == Verb::subtract;
      const std::uint64_t most = whole ? distinct_ : 70;
      const std::uint64_t first = random() % distinct_;
      list.push_back({verb, first, std::min(1 + random() % most, distinct_ - first)});
    }
    return list;
  }

  std::vector<std::uint64_t> keys_of(const Operation& operation) const {
    const std::uint64_t base = want_.range.given() ? want_.range.low : 0;
    std::vector<std::uint64_t> keys(operation.count);
    for (std::uint64_t i = 0; i < operation.count; ++i) keys[i] = base + operation.first + i;
    return keys;
  }

  // What went wrong, or nothing.
  std::optional<std::string> run(const std::vector<Operation>& list) const {
    Set<K> set(want_);
    Truth truth;
    for (const Operation& operation : list)
      if (auto failure = step(set, truth, operation)) return failure;
    for (const std::uint64_t key : truth)
      if (!set.may_contain(key)) return "forgot " + std::to_string(key) + " in the end";
    if constexpr (Exact<K>)
      if (set.count() != truth.size()) return "counts " + std::to_string(set.count());
    return {};
  }

  std::optional<std::string> step(Set<K>& set, Truth& truth, const Operation& operation) const {
    const auto keys = keys_of(operation);
    switch (operation.verb) {
      case Verb::add: return add(set, truth, keys.front(), set.add(keys.front()));
      case Verb::add_all: {
        const auto fresh = std::make_unique<bool[]>(keys.size());
        set.add_all(keys, {fresh.get(), keys.size()});
        for (std::size_t i = 0; i < keys.size(); ++i)
          if (auto failure = add(set, truth, keys[i], fresh[i])) return failure;
        return {};
      }
      case Verb::ask: return ask(truth, keys.front(), set.may_contain(keys.front()));
      case Verb::ask_all: {
        const auto answers = std::make_unique<bool[]>(keys.size());
        set.may_contain_all(keys, {answers.get(), keys.size()});
        for (std::size_t i = 0; i < keys.size(); ++i)
          if (auto failure = ask(truth, keys[i], answers[i])) return failure;
        return {};
      }
      case Verb::remove:
        if constexpr (Removable<K>) return remove(set, truth, keys.front());
        return {};
      default: merge(set, truth, operation.verb, keys); return {};
    }
  }

  static std::optional<std::string> add(const Set<K>& set, Truth& truth, std::uint64_t key,
                                        bool is_new) {
    const bool was_there = !truth.insert(key).second;
    if (is_new && was_there) return "called " + std::to_string(key) + " new, which was there";
    if (Exact<K> && !is_new && !was_there) return "called " + std::to_string(key) + " seen";
    if (!set.may_contain(key)) return "forgot " + std::to_string(key) + " at once";
    return {};
  }

  // From an approximate set only members are removed, and a copy may remain.
  std::optional<std::string> remove(Set<K>& set, Truth& truth, std::uint64_t key) const {
    if (!Exact<K> && !truth.contains(key)) return {};
    if (set.remove(key) != (truth.erase(key) == 1))
      return "was wrong about removing " + std::to_string(key);
    return {};
  }

  static std::optional<std::string> ask(const Truth& truth, std::uint64_t key, bool answer) {
    if (!answer && truth.contains(key)) return "forgot " + std::to_string(key);
    if (Exact<K> && answer && !truth.contains(key)) return "made up " + std::to_string(key);
    return {};
  }

  void merge(Set<K>& set, Truth& truth, Verb verb, const std::vector<std::uint64_t>& keys) const {
    Set<K> other(want_);
    other.add_all(keys);
    const Truth those(keys.begin(), keys.end());
    if (verb == Verb::unite) {
      set.unite(other);
      truth.insert(keys.begin(), keys.end());
    } else if (verb == Verb::intersect) {
      if constexpr (!std::same_as<K, BloomChain>) {
        set.intersect(other);
        std::erase_if(truth, [&](std::uint64_t key) { return !those.contains(key); });
      }
    } else if constexpr (std::same_as<K, Bitmap> || std::same_as<K, HashSet>) {
      set.subtract(other);
      std::erase_if(truth, [&](std::uint64_t key) { return those.contains(key); });
    }
  }

  // Leaves out ever smaller runs of operations as long as the rest still fails.
  std::vector<Operation> shortest(std::vector<Operation> list) const {
    for (std::size_t run_length = list.size() / 2; run_length != 0; run_length /= 2)
      for (std::size_t at = 0; at + run_length <= list.size();) {
        std::vector<Operation> fewer = list;
        const auto first = fewer.begin() + static_cast<std::ptrdiff_t>(at);
        fewer.erase(first, first + static_cast<std::ptrdiff_t>(run_length));
        if (run(fewer))
          list = std::move(fewer);
        else
          at += run_length;
      }
    return list;
  }

  Want want_;
  std::uint64_t distinct_;
  std::uint64_t seed_;
};

}  // namespace bloomery::detail

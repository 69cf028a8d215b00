// What the writers of a live file were told, held against the file that is found afterwards.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <bloomery/live.hpp>
#include <tests/live/live_keys.hpp>

namespace bloomery::live_test {

class Acknowledged {
 public:
  Acknowledged(std::uint64_t seed, std::size_t keys_a_batch)
      : seed_(seed), keys_a_batch_(keys_a_batch) {}

  // A whole line; one that was cut off was not acknowledged.
  void take(const std::string& line) {
    Batch batch;
    if (!read_batch(line, batch) || batch.fresh.size() != keys_a_batch_) return;
    const auto keys = keys_of(seed_, batch.number, keys_a_batch_);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      known_.insert(keys[i]);
      if (batch.fresh[i] == '1') ++told_new_[keys[i]];
    }
    ++batches_;
  }

  // Of marks of several lines. Was this line among them?
  bool take_all(const std::vector<std::string>& marks, const std::string& looked_for = {}) {
    bool found = false;
    for (const std::string& mark : marks) {
      std::istringstream lines(mark);
      for (std::string line; std::getline(lines, line);) {
        found = found || line == looked_for;
        take(line);
      }
    }
    return found;
  }

  std::size_t batches() const { return batches_; }
  std::size_t keys() const { return known_.size(); }

  void expect_new_to_one_only() const {
    for (const auto& [key, times] : told_new_)
      ASSERT_EQ(times, 1) << "key " << key << " was surely new more than once";
  }

  // None of them is surely absent, and none is new.
  void expect_in(AnySet& set) const {
    const std::vector<std::uint64_t> keys(known_.begin(), known_.end());
    const auto room = std::make_unique<bool[]>(keys.size() + 1);
    const std::span<bool> answers(room.get(), keys.size());
    std::vector<std::string> names;
    std::vector<std::string_view> views;
    std::vector<Ordinal> ordinals;
    for (const std::uint64_t key : keys) {
      names.push_back(name_of(key));
      ordinals.push_back(Ordinal{key});
    }
    views.assign(names.begin(), names.end());
    const auto asked = set.input() == InputForm::ordinal
                           ? set.may_contain_all(std::span<const Ordinal>(ordinals), answers)
                           : set.may_contain_all(std::span<const std::string_view>(views), answers);
    ASSERT_TRUE(asked) << asked.error().sentence;
    for (std::size_t i = 0; i < keys.size(); ++i)
      ASSERT_TRUE(answers[i]) << "key " << keys[i] << " was acknowledged and is lost";
  }

 private:
  std::uint64_t seed_;
  std::size_t keys_a_batch_;
  std::size_t batches_ = 0;
  std::set<std::uint64_t> known_;
  std::map<std::uint64_t, int> told_new_;
};

}  // namespace bloomery::live_test

// A removable set and a multiset driven together: add, remove, ask, save and open, at random.
//
//    MultisetModel<CountingBloom> model(want, {.keys = 500, .most_copies = 8}, seed);
//    model.run(100'000);          steps; only members are removed
//    model.remove_everything();   then the bytes must be those of an empty set, if none is stuck
//
// Fails on any key that is denied or counted too low, and on any removal of a member that is
// refused. The trace names the seed and the step.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <tests/laws/law_keys.hpp>

namespace bloomery::detail {

template <class K>
class MultisetModel {
 public:
  // Keys are drawn from 0 .. keys - 1; each is there at most so often.
  struct Draw {
    std::uint64_t keys;
    unsigned most_copies;
  };

  MultisetModel(const Want& want, const Draw& draw, std::uint64_t seed)
      : set_(want),
        empty_(bits_of(set_)),
        copies_(draw.keys),
        most_copies_(draw.most_copies),
        seed_(seed),
        random_(seed) {}

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      SCOPED_TRACE(testing::Message() << K::id.name << ", seed " << seed_ << ", step " << step);
      if (random_() % 20'000 == 0)
        save_and_open();
      else
        one_step(random_() % copies_.size());
    }
  }

  // Every member is there, whatever was removed beside it.
  void expect_members() const {
    for (std::uint64_t key = 0; key < copies_.size(); ++key) expect_known(key);
  }

  void remove_everything() {
    for (std::uint64_t key = 0; key < copies_.size(); ++key)
      for (; copies_[key] != 0; --copies_[key]) {
        ASSERT_TRUE(set_.remove(key)) << key;
        ASSERT_TRUE(copies_[key] == 1 || set_.may_contain(key)) << key;
      }
    if (set_.kind().stuck() != 0) return;
    EXPECT_TRUE(bits_of(set_) == empty_);
    EXPECT_EQ(set_.estimate(), 0);
  }

  const Set<K>& set() const { return set_; }

 private:
  void one_step(std::uint64_t key) {
    unsigned& copies = copies_[key];
    switch (random_() % 6) {
      case 0:
        if (copies == most_copies_) return;
        // Surely new is never said of a member.
        ASSERT_FALSE(set_.add(key) && copies != 0);
        ++copies;
        break;
      case 1:
      case 2:
        if (copies == 0) return;
        ASSERT_TRUE(set_.remove(key));
        --copies;
        break;
      default: break;
    }
    expect_known(key);
  }

  void expect_known(std::uint64_t key) const {
    if (copies_[key] == 0) return;
    ASSERT_TRUE(set_.may_contain(key)) << key;
    ASSERT_GE(set_.count_of(key), copies_[key]) << key;
  }

  void save_and_open() {
    const ScratchDirectory scratch;
    set_.save(scratch / "set.blm");
    auto opened = Set<K>::open(scratch / "set.blm");
    ASSERT_TRUE(opened) << opened.error().sentence;
    set_ = std::move(*opened);
    expect_members();
  }

  Set<K> set_;
  FileBytes empty_;
  std::vector<unsigned> copies_;
  unsigned most_copies_;
  std::uint64_t seed_;
  std::mt19937_64 random_;
};

}  // namespace bloomery::detail

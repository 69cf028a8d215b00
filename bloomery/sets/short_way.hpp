// One question instead of three before a lone key is added: is its form noted, is the hash the fast
// one, is the shape of the set a simple one? While keys wait for memory, every instruction between
// two of them takes room from the next one's wait (docs/benchmarks.md "One by one").
//
// What was noted stays noted (sets/key_rules.hpp), and neither hash nor shape ever changes: a way
// that is open stays open.
// Threads: as Set::add, which opens it.
#pragma once

#include <bloomery/hash/hash.hpp>
#include <bloomery/sets/concepts.hpp>
#include <bloomery/sets/key_rules.hpp>

namespace bloomery {

// For sets of kind K, or of a composite, which has none.
template <class K>
class ShortWay {
 public:
  template <class Core>
  ShortWay(const Core& core, const Hasher& hasher) {
    if constexpr (SimplyShaped<K>) can_ask_ = core.is_simple() && hasher.mode() == HashMode::fast;
  }

  // Nearly certain, so that a compiler keeps what is the same for all keys in registers although
  // there is a call beside the way.
  bool can_ask() const { return __builtin_expect_with_probability(can_ask_, true, 1.0); }
  bool can_add(KeyForm form) const {
    return __builtin_expect_with_probability(form_ == form, true, 1.0);
  }
  // Keys of this form are noted from now on.
  void open_for(KeyForm form) {
    if (can_ask_) form_ = form;
  }

 private:
  bool can_ask_ = false;
  KeyForm form_ = KeyForm::none;
};

}  // namespace bloomery

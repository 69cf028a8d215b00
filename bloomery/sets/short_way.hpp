// One cached branch for the single-key fast path instead of three: the form of the key is noted,
// the hash is the fast one, and the shape of the set is simple. While keys wait for memory, each
// instruction between two of them delays the next load (docs/benchmarks.md "One by one").
//
// A noted form stays noted (sets/key_rules.hpp), and neither hash nor shape ever changes: once the
// fast path is open, it stays open.
// Threads: as Set::add, which opens it.
#pragma once

#include <bloomery/hash/hash.hpp>
#include <bloomery/sets/concepts.hpp>
#include <bloomery/sets/key_rules.hpp>

namespace bloomery {

// For sets of kind K. A composite has no fast path.
template <class K>
class ShortWay {
 public:
  template <class Core>
  ShortWay(const Core& core, const Hasher& hasher) {
    if constexpr (SimplyShaped<K>) can_ask_ = core.is_simple() && hasher.mode() == HashMode::fast;
  }

  // Marked as likely, so that the compiler keeps loop invariants in registers although the slow
  // path has a call.
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

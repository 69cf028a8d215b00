// Which keys a Set takes: those of the form it holds, and none after it was moved from.
//
//    the set holds     text          integers      hashes        several forms, or no key yet
//    given a text      taken         refused       refused       taken
//    given an integer  refused       taken         refused       taken
//    given a Hash      taken         taken         taken         taken
//
// 1 and "1" have different hashes, so a key of the other form would be a silent miss. A caller that
// gives a Hash is responsible for it: that is also how a program mixes forms on purpose.
//
// is_open() is one cached branch for the single-key fast path instead of three: the form of the key
// is noted, the hash is the fast one, and the shape of the set is simple, if its kind has a shorter
// way for such (SimplyAsked). While keys wait for
// memory, each instruction between two of them delays the next load (docs/benchmarks.md "One by
// one"). A noted form stays noted, and neither hash nor shape ever changes: once the fast path is
// open, it stays open until the set is cleared.
// Threads: noted, is_here, check, expect_here, note_shared and expect_shared by any number at once;
//          the rest as Set::add.
// See:     key_forms_test.
#pragma once

#include <atomic>
#include <concepts>
#include <stdexcept>
#include <utility>

#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/key_rules.hpp>

namespace bloomery::inline v0::detail {

// Made out of line, so that using a key stays short enough to be inlined.
[[noreturn, gnu::noinline, gnu::cold]] inline void throw_moved_from() {
  detail::raise(std::logic_error(moved_from_error().sentence));
}
[[noreturn, gnu::noinline, gnu::cold]] inline void throw_wrong_form(KeyForm held, KeyForm given) {
  detail::raise(Failure(wrong_form(held, given)));
}

// Adds, or asks for, a hash where the gate is open: by the shorter way of the kind, if it has one.
template <class Cpu, class Body>
[[gnu::always_inline]] inline Added add_open(Body& body, Hash hash) {
  if constexpr (requires { body.template add_simple<Cpu>(hash); })
    return body.template add_simple<Cpu>(hash);
  else
    return body.add(hash);
}
template <class Cpu, class Body>
[[gnu::always_inline]] inline bool ask_open(const Body& body, Hash hash) {
  if constexpr (requires { body.kind().template has_simple<Cpu>(hash); })
    return body.kind().template has_simple<Cpu>(hash);
  else
    return body.may_contain(hash);
}

// For sets of kind K, or of a composite.
template <class K>
class KeyGate {
 public:
  template <class Core>
  KeyGate(const Core& core, const Hasher& hasher) {
    is_simple_ = hasher.mode() == HashMode::fast;
    if constexpr (SimplyAsked<K>) is_simple_ = is_simple_ && core.is_simple();
    if constexpr (is_ranged) noted_ = KeyForm::number;
  }
  KeyGate(KeyGate&& other) noexcept
      : noted_(std::exchange(other.noted_, moved_from)),
        open_(std::exchange(other.open_, KeyForm::none)),
        is_simple_(other.is_simple_) {}
  KeyGate& operator=(KeyGate&& other) noexcept {
    noted_ = std::exchange(other.noted_, moved_from);
    open_ = std::exchange(other.open_, KeyForm::none);
    is_simple_ = other.is_simple_;
    return *this;
  }

  // Beside note_shared too, like expect_here.
  KeyForm noted() const {
    return std::atomic_ref(const_cast<KeyForm&>(noted_)).load(std::memory_order_relaxed);
  }
  // Marked as likely, so that the compiler keeps loop invariants in registers although the slow
  // path has a call.
  bool is_open(KeyForm form) const {
    return __builtin_expect_with_probability(open_ == form, true, 1.0);
  }
  bool is_simple() const { return is_simple_; }

  // False: the set was moved from.
  bool is_here() const { return noted() != moved_from; }
  // Throws std::logic_error when the set was moved from.
  void expect_here() const {
    if (!is_here()) [[unlikely]]
      throw_moved_from();
  }
  // An Error for keys of a form that could never be found, or of a set that was moved from. Beside
  // note_shared too.
  Result<void> check(KeyForm given) const {
    const KeyForm held = noted();
    if (held == given) [[likely]]
      return {};
    return check_slowly(held, given);
  }
  // The same, thrown: Failure, or std::logic_error.
  void expect(KeyForm given) const {
    if (noted_ != given) [[unlikely]]
      expect_form(noted_, given);
  }
  void expect_shared(KeyForm given) const {
    if (const KeyForm held = noted(); held != given) [[unlikely]]
      expect_form(held, given);
  }

  // Keys of this form are added: the same, and it is noted.
  void note(KeyForm given) {
    if (noted_ != given) [[unlikely]]
      note_shared(given);
  }
  void note_shared(KeyForm given) {
    if constexpr (is_ranged) {
      expect_here();
    } else {
      std::atomic_ref noted(noted_);
      KeyForm held = noted.load(std::memory_order_relaxed);
      do {
        if (held != given) expect_form(held, given);
      } while (joined(held, given) != held &&
               !noted.compare_exchange_weak(held, joined(held, given), std::memory_order_relaxed));
      open_for(given);
    }
  }
  // Of a set that was cleared: as at first.
  void clear() {
    noted_ = is_ranged ? KeyForm::number : KeyForm::none;
    open_ = KeyForm::none;
  }
  // Of a set that was opened, or united with another.
  void take(KeyForm form) {
    noted_ = form;
    open_for(form);
  }

 private:
  static constexpr bool is_ranged = std::same_as<typename K::Input, Ordinal>;
  static constexpr auto moved_from = static_cast<KeyForm>(0xffff);  // in no file

  [[gnu::noinline]] static Result<void> check_slowly(KeyForm held, KeyForm given) {
    if (held == moved_from) return moved_from_error();
    if constexpr (!is_ranged)
      if (!forms_meet(held, given)) return wrong_form(held, given);
    return {};
  }
  static void expect_form(KeyForm held, KeyForm given) {
    if (held == moved_from) throw_moved_from();
    if constexpr (!is_ranged)
      if (!forms_meet(held, given)) throw_wrong_form(held, given);
  }
  // Written only when it changes; threads that add shared write the same, or forms that are both
  // noted.
  void open_for(KeyForm form) {
    std::atomic_ref open(open_);
    if (is_simple_ && open.load(std::memory_order_relaxed) != form)
      open.store(form, std::memory_order_relaxed);
  }

  KeyForm noted_ = KeyForm::none;
  KeyForm open_ = KeyForm::none;
  bool is_simple_ = false;
};

}  // namespace bloomery::inline v0::detail

// What a kind must offer. A kind is arithmetic on someone else's bytes: it owns no memory, opens no
// file, starts no thread; so one piece of code serves heap, mapped file and Redis.
//
//    key --hash--> Input --locate--> Slot --add / may_contain--> bits (lent)
//                              ^
//                            Shape   the numbers that fix a set for ever; saved as they are
//
// From these few names the library derives batching, owning, merge checks, save and open, the
// run-time handle, the command line's --kind, the law tests and the benchmark row.
// See: docs/kinds.md; ARCHITECTURE.md "Adding a kind".
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/sets/build/built.hpp>
#include <bloomery/detail/sets/build/crew.hpp>
#include <bloomery/detail/sets/build/hash_source.hpp>
#include <bloomery/detail/sets/plan.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

// Written into files: a number is never changed and never used again. The name is for people.
struct KindId {
  std::uint16_t number;
  std::string_view name;
  friend constexpr bool operator==(const KindId&, const KindId&) = default;
};

// What a set becomes when it is given more keys than it was planned for, by its plan.
struct Grown {
  std::uint64_t bytes = 0;
  double rate = 0;
  std::uint64_t held = 0;  // of the keys that were given: fewer where it is full or forgets
};

enum class Added {
  seen = 0,   // there before, or (approximate kinds) a false positive
  fresh = 1,  // surely new
  full = 2,   // not added: no room
};
// A cast instead of a conditional expression, which GCC compiles to a branch: whether a key is new
// cannot be predicted.
constexpr Added added(bool is_fresh) { return static_cast<Added>(is_fresh); }

template <class S>
concept Kind = std::is_trivially_copyable_v<typename S::Shape> &&
    std::equality_comparable<typename S::Shape> &&
    std::constructible_from<S, typename S::Shape, std::span<std::byte>> &&
    requires(const S s, typename S::Input in, typename S::Slot slot, typename S::Shape shape,
             Want want, std::uint64_t payload_bytes) {
  { S::id } -> std::convertible_to<KindId>;
  { S::plan(want) } -> std::same_as<Result<typename S::Shape>>;
  { S::check(shape, payload_bytes) } -> std::same_as<Result<void>>;
  { S::bytes(shape) } -> std::same_as<std::uint64_t>;
  { S::expected_rate(shape, want.keys) } -> std::same_as<double>;
  { s.shape() } -> std::same_as<typename S::Shape>;
  { s.locate(in) } -> std::same_as<typename S::Slot>;
  { s.may_contain(slot) } -> std::same_as<bool>;
};

template <class S>
concept Addable = Kind<S> && requires(S s, typename S::Slot slot) {
  { s.add(slot) } -> std::same_as<Added>;
};

// Static: made from all its keys at once and never changed after. Repeated hashes are one key. The
// want is complete (keys, rate, caps); the keys themselves decide the shape that comes out.
template <class S>
concept Buildable = Kind<S> && !Addable<S> &&
                    requires(const HashSource& source, const Want& want, const Crew& crew) {
  { S::build(source, want, crew) } -> std::same_as<Result<Built<S>>>;
};

// Built at once from two lists, keys that must match and keys that must not, and never added to.
template <class S>
concept TwoListed = requires {
  requires S::two_lists;
};

// Cut into shards: all that a key reads or writes lies in one of them.
template <class S>
concept Sharding = Addable<S> && requires(const S s, typename S::Input in) {
  { s.shards() } -> std::same_as<std::uint64_t>;
  { s.shard_of(in) } -> std::same_as<std::uint64_t>;
};

// May have no room for a key: add then says Added::full and has changed nothing.
template <class S>
concept Bounded = Addable<S> && requires {
  requires S::can_be_full;
};

// Forgets its oldest keys to make room for new ones.
template <class S>
concept Forgetting = Addable<S> && requires {
  requires S::forgets;
};

// Has a shorter way to ask for single inputs where the shape is simple.
template <class S>
concept SimplyAsked = Kind<S> && requires(const S asked, typename S::Input in) {
  { asked.is_simple() } -> std::same_as<bool>;
  { asked.has_simple(in) } -> std::same_as<bool>;
  { asked.has_lone(in) } -> std::same_as<bool>;  // of any shape
};

// And one to add them.
template <class S>
concept SimplyShaped = SimplyAsked<S> && Addable<S> && requires(S s, typename S::Input in) {
  { s.add_simple(in) } -> std::same_as<Added>;
  { s.add_lone(in) } -> std::same_as<Added>;  // of any shape
};

// May be added to, and asked, by any number of threads at once without losing a key.
template <class S>
concept SharedAddable = Addable<S> && requires(S s, const S asked, typename S::Slot slot) {
  { s.add_shared(slot) } -> std::same_as<Added>;
  { asked.may_contain_shared(slot) } -> std::same_as<bool>;
};

// Removes one copy of a key, or (exact maps) the key itself; returns whether it was there. If some
// shapes of a kind cannot remove, it has removal_refused(), which says why.
template <class S>
concept Removable = Kind<S> && requires(S s, typename S::Slot slot) {
  { s.remove(slot) } -> std::same_as<bool>;
};

// Tells how often a key was added: never too low, and most_count() means that often or more.
template <class S>
concept Countable = Kind<S> && requires(const S s, typename S::Slot slot) {
  { s.count(slot) } -> std::same_as<std::uint64_t>;
  { s.most_count() } -> std::same_as<std::uint64_t>;
};

template <class S>
concept Mergeable = Kind<S> && requires(S s, const S other) {
  { s.unite(other) } -> std::same_as<void>;
  { s.intersect(other) } -> std::same_as<void>;
};

// Adding sets bits and does nothing else, so the same add may be done again, in any order, by
// anyone who shares the bytes: what live files need to change in place (storage/live/). each_byte
// names the bytes of the lent memory where those bits lie: one byte of each cache line at least.
template <class S>
concept InPlace = SharedAddable<S> && Mergeable<S> && requires(const S s, typename S::Slot slot) {
  s.each_byte(slot, [](std::uint64_t) {});
};

// Knows from the bits alone how many keys it holds and its false-positive rate.
template <class S>
concept Estimable = Kind<S> && requires(const S s) {
  { s.estimate() } -> std::same_as<double>;
  { s.rate_now() } -> std::same_as<double>;
  { s.fill_ratio() } -> std::same_as<double>;
};

// Answers are exact: the kind also has `contains`.
template <class S>
concept Exact = requires {
  requires S::exact;
};

// Keeps whole hashes: its rate is what their bits give, and cannot be chosen.
template <class S>
concept WholeHashes = requires {
  requires S::whole_hashes;
};

// Integers as themselves, in a range.
template <class S>
concept Ranged = Kind<S> && requires(const S s, typename S::Input in) {
  { s.in_range(in) } -> std::same_as<bool>;
};

// prefetch must be [[gnu::always_inline]]: GCC takes a function whose only act is a prefetch for
// one without effect, and drops the call.
template <class S>
concept Prefetchable = Kind<S> && requires(const S s, typename S::Slot slot) {
  s.prefetch(slot);
};

// Has kernels of its own for steps of up to 64 inputs with more of them in sight; bit i of the
// answer tells of input i. See batch.hpp.
template <class S>
concept Batched = Kind<S> &&
    requires(S s, const S asked, const typename S::Input* inputs, std::size_t n) {
  { s.add_step(inputs, n, n) } -> std::same_as<std::uint64_t>;
  { asked.ask_step(inputs, n, n) } -> std::same_as<std::uint64_t>;
};

// Can use a step of 64 hashes while the next integers are hashed and prefetched; fuses() tells
// whether the CPU's kernels do it (kernels.hpp).
template <class S>
concept Fusing = Batched<S> &&
    requires(S s, const S asked, CalledKeys& called, const NextKeys& next) {
  { asked.fuses() } -> std::same_as<bool>;
  asked.call(called, next);
  { s.add_fused(called, next) } -> std::same_as<std::uint64_t>;
  { asked.ask_fused(called, next) } -> std::same_as<std::uint64_t>;
};

// Keeps the slots of a step of up to 64 inputs between the prefetch and the asking; bit i of the
// answer tells of input i. For kinds whose locate is a large part of the cost.
template <class S>
concept SlotKeeping = Kind<S> && requires(const S asked, typename S::Slots& slots,
                                          const typename S::Input* inputs, std::size_t n) {
  { asked.locate_slots(inputs, n, slots) } -> std::same_as<void>;
  { asked.ask_slots(slots, n) } -> std::same_as<std::uint64_t>;
};

// All that an input reads or writes lies in one cache line of lines(): find_lines tells which, for
// n inputs. A kind for which that depends on the shape says so in has_one_line().
template <class S>
concept OneLined = Addable<S> &&
    requires(const S s, const typename S::Input* inputs, std::size_t n, std::uint64_t* lines) {
  { s.lines() } -> std::same_as<std::uint64_t>;
  { s.find_lines(inputs, n, lines) } -> std::same_as<void>;
  { s.has_one_line() } -> std::same_as<bool>;
};

}  // namespace bloomery::inline v0::detail

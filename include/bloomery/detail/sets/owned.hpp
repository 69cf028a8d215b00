// A kind with memory of its own: the body of a Set, of an AnySet and of a link in a chain.
//
//    Owned<K> = shape + Memory + K looking at it + what was asked of it and how many were added
//
// Composites (chain, hash-set) own their memory by themselves and offer the same verbs.
// Threads: as the kind: add_shared, may_contain_shared and overfull by any number, the rest by one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/sets/bulk/batch.hpp>
#include <bloomery/detail/sets/bulk/partition.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/parts.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

// What was asked of a set when it was planned, and what came of it.
struct Ledger {
  std::uint64_t capacity = 0;  // keys; for exact maps the integers of the range
  double rate_asked = 0;
  // Keys that were surely new when added. Not of the type of words: it stays in a register while a
  // caller's loop adds (steady.hpp).
  unsigned long long adds = 0;
};

template <Kind K>
class Owned {
 public:
  using Kind = K;
  using Input = typename K::Input;
  static constexpr KindId id = K::id;

  // A moved-from set refers to no bytes, so that it cannot write into its successor.
  Owned(Owned&& other) noexcept
      : memory_(std::move(other.memory_)),
        kind_(other.kind_),
        ledger_(other.ledger_),
        most_adds_(other.most_adds_) {
    other.look_away();
  }
  Owned& operator=(Owned&& other) noexcept {
    if (this == &other) return *this;
    memory_ = std::move(other.memory_);
    kind_ = other.kind_;
    ledger_ = other.ledger_;
    most_adds_ = other.most_adds_;
    other.look_away();
    return *this;
  }

  static Result<Owned> make(const Want& asked) {
    static_assert(!Buildable<K>, "a static set is made from all its keys at once: use build()");
    if (const char* refused = kernels_refused()) return Error{Code::unsupported, refused};
    auto want = complete<K>(asked);
    if (!want) return want.error();
    auto shape = K::plan(*want);
    if (!shape) return shape.error();
    auto memory = Memory::make(K::bytes(*shape));
    if (!memory) return memory.error();
    Ledger ledger{want->keys, want->rate, 0};
    if constexpr (Ranged<K>) ledger = {K::integers(*shape), 0, 0};
    return Owned(*shape, std::move(*memory), ledger);
  }

  static Result<Owned> from_part(Part part) {
    if (const char* refused = kernels_refused()) return Error{Code::unsupported, refused};
    auto shape = shape_of(part);
    if (!shape) return shape.error();
    if (auto sound = K::check(*shape, part.payload.size()); !sound) return sound.error();
    // Parts that are only lent are copied.
    if (part.memory.size() != part.payload.size()) {
      auto copy = Memory::copy_of(part.payload);
      if (!copy) return copy.error();
      part.memory = std::move(*copy);
    }
    Owned owned(*shape, std::move(part.memory), {part.capacity, part.rate_asked, part.adds});
    if constexpr (requires { owned.kind_.check_bits(); })
      if (auto sound = owned.kind_.check_bits(); !sound) return sound.error();
    return owned;
  }

  // A static kind, full from the first moment. build.hpp builds.
  static Owned from_built(Built<K> built, double rate_asked) requires Buildable<K> {
    const std::uint64_t keys = built.shape.keys;
    return Owned(built.shape, std::move(built.memory), {keys, rate_asked, keys});
  }

  static Result<Owned> from_parts(Parts parts) {
    if (parts.form != form || parts.parts.size() != 1)
      return Error{Code::mismatch,
                   "the image holds a composite, not a single " + std::string(K::id.name) + " set"};
    return from_part(std::move(parts.parts.front()));
  }

  // Borrows the payload.
  Part part() const {
    Part part{.kind = K::id.number,
              .capacity = ledger_.capacity,
              .rate_asked = ledger_.rate_asked,
              .adds = ledger_.adds,
              .payload = memory_.bytes()};
    if constexpr (requires { K::to_part(kind_.shape(), part); })
      K::to_part(kind_.shape(), part);
    else
      part.shape = encode_shape<K>(kind_.shape());
    return part;
  }
  std::span<const std::byte> payload() const { return memory_.bytes(); }
  Parts parts() const {
    Parts parts;
    parts.form = form;
    parts.parts.push_back(part());
    return parts;
  }

  Added add(Input input) {
    static_assert(!Buildable<K>, "a static set takes no more keys: build() it again from all keys");
    const Added added = kind_.add(kind_.locate(input));
    ledger_.adds += added == Added::fresh;
    return added;
  }
  bool may_contain(Input input) const { return kind_.may_contain(kind_.locate(input)); }
  // Where kind().is_simple().
  template <class Cpu>
  Added add_simple(Input input) requires SimplyShaped<K> {
    return counted(kind_.template add_simple<Cpu>(input));
  }
  template <class Cpu>
  Added add_lone(Input input) requires SimplyShaped<K> {
    return counted(kind_.template add_lone<Cpu>(input));
  }

  Added add_shared(Input input) requires SharedAddable<K> {
    const Added added = kind_.add_shared(kind_.locate(input));
    if (added == Added::fresh)
      std::atomic_ref(ledger_.adds).fetch_add(1, std::memory_order_relaxed);
    return added;
  }
  bool may_contain_shared(Input input) const requires SharedAddable<K> {
    return kind_.may_contain_shared(kind_.locate(input));
  }

  // Adds the keys of a source in order and hands the answers to a sink (bulk/batch.hpp); returns
  // how many were surely new. Where only the count is wanted and the set is large, the keys are
  // partitioned by cache line first. A kind that can be full may stop with an Error; the keys
  // before it are in.
  template <KeySource<Input> Source, class Sink>
  auto add_from(const Source& source, Sink&& sink)
      -> std::conditional_t<Bounded<K>, Result<std::size_t>, std::size_t> {
    if constexpr (OneLined<K> && std::same_as<std::decay_t<Sink>, CountOnly>)
      if (partition_pays(kind_, source.size()))
        if (const auto count = add_all_partitioned(kind_, source)) {
          ledger_.adds += *count;
          return *count;
        }
    const Piped piped = pipeline(kind_, source, lookahead_for(kind_), adding(kind_), sink);
    ledger_.adds += piped.yes;
    if constexpr (Bounded<K>)
      if (piped.taken != source.size())
        return Error{Code::full,
                     "the set is full and could not take a key; those before it are in the set"};
    return piped.yes;
  }
  // The same, partitioned by cache line at any size; an Error when scratch memory is refused.
  template <KeySource<Input> Source>
  Result<std::size_t> add_all_by_lines(const Source& source) requires OneLined<K> {
    if (!kind_.has_one_line())
      return Error{Code::unsupported, "keys of this set have bits in several lines"};
    auto count = add_all_partitioned(kind_, source);
    if (count) ledger_.adds += *count;
    return count;
  }
  // Returns how many may be there. Keys without a place are not.
  template <KeySource<Input> Source, class Sink>
  std::size_t ask_from(const Source& source, Sink&& sink) const {
    if constexpr (OneLined<K> && !Ranged<K> && std::same_as<std::decay_t<Sink>, CountOnly>)
      if (partition_pays(kind_, source.size()))
        if (const auto count = count_partitioned(kind_, source)) return *count;
    return pipeline(kind_, source, lookahead_for(kind_), asking(kind_), sink).yes;
  }

  // Why this set cannot remove, or nullptr. Check it before the verbs below.
  const char* removal_refused() const requires Removable<K> {
    if constexpr (requires { kind_.removal_refused(); })
      return kind_.removal_refused();
    else
      return nullptr;
  }
  void expect_removable() const requires Removable<K> {
    if (const char* why = removal_refused()) detail::raise(Failure({Code::unsound, why}));
  }
  // Returns whether it was there. It counts as gone once the last copy is.
  bool remove(Input input) requires Removable<K> {
    const auto slot = kind_.locate(input);
    const bool was_there = kind_.remove(slot);
    if (was_there && !kind_.may_contain(slot)) ledger_.adds -= ledger_.adds != 0;
    return was_there;
  }
  // Returns how many were there.
  template <KeySource<Input> Source, class Sink>
  std::size_t remove_from(const Source& source, Sink&& sink) requires Removable<K> {
    return detail::remove_all(
        kind_, source, [&](Input input) { return remove(input); }, sink);
  }

  // As the composites: a bool per input, none if null.
  Result<std::size_t> add_all(std::span<const Input> inputs, bool* fresh) {
    if (fresh == nullptr) return add_from(ReadyInputs<Input>(inputs), CountOnly{});
    return add_from(ReadyInputs<Input>(inputs), ToBools(fresh));
  }
  void may_contain_all(std::span<const Input> inputs, bool* answers) const {
    ask_from(ReadyInputs<Input>(inputs), ToBools(answers));
  }

  // Equal shapes, or an Error that names the field.
  Result<void> fits(const Owned& other) const {
    const std::string difference = shape_difference<K>(kind_.shape(), other.kind_.shape());
    if (difference.empty()) return {};
    return Error{Code::mismatch, "the sets have different shapes: " + difference};
  }
  Result<void> unite(const Owned& other) requires Mergeable<K> {
    if (auto fitting = fits(other); !fitting) return fitting.error();
    kind_.unite(other.kind_);
    // Common keys were counted on both sides; the bits know better.
    const double estimated = std::min(estimate(), 1e18);
    ledger_.adds = counted_adds(std::min<std::uint64_t>(
        ledger_.adds + other.ledger_.adds, static_cast<std::uint64_t>(std::llround(estimated))));
    return {};
  }
  Result<void> intersect(const Owned& other) requires Mergeable<K> {
    if (auto fitting = fits(other); !fitting) return fitting.error();
    kind_.intersect(other.kind_);
    // How many keys two filters share can only be estimated; the exact maps count.
    ledger_.adds = counted_adds(std::min(ledger_.adds, other.ledger_.adds));
    return {};
  }

  // Difference (in this set, not in the other) and exclusive or (in one of the two). Exact maps
  // only: on a Bloom filter both would clear bits that other keys need.
  Result<void> subtract(const Owned& other) requires requires(K kind) { kind.subtract(kind); }
  {
    if (auto fitting = fits(other); !fitting) return fitting.error();
    kind_.subtract(other.kind_);
    ledger_.adds = counted_adds(ledger_.adds);
    return {};
  }
  Result<void> exclusive(const Owned& other) requires requires(K kind) { kind.exclusive(kind); }
  {
    if (auto fitting = fits(other); !fitting) return fitting.error();
    kind_.exclusive(other.kind_);
    ledger_.adds = counted_adds(ledger_.adds);
    return {};
  }

  std::uint64_t bytes() const { return memory_.size(); }
  std::uint64_t capacity() const { return ledger_.capacity; }
  double rate_asked() const { return ledger_.rate_asked; }
  std::uint64_t adds() const { return ledger_.adds; }
  // May be called during add_shared, on kinds that have it. Not inlined: otherwise GCC 12 warns
  // that the set of a failed Result, which does not exist, is read.
  [[gnu::noinline]] std::uint64_t adds_shared() const {
    if constexpr (SharedAddable<K>)
      return __atomic_load_n(&ledger_.adds, __ATOMIC_RELAXED);
    else
      return ledger_.adds;
  }
  double estimate() const { return kind_.estimate(); }
  double rate_now() const { return kind_.rate_now(); }
  double fill_ratio() const { return kind_.fill_ratio(); }
  double expected_rate_now() const { return K::expected_rate(kind_.shape(), adds_shared()); }
  // Holds more keys than it was planned for. A Bloom filter counts fewer adds than it gets new
  // keys, since it takes some of them (false positives) for old ones. So the limit is the number of
  // adds expected from `capacity` keys, plus four standard deviations.
  // A kind that forgets its oldest keys knows by itself; a static kind is never overfull.
  bool overfull() const {
    if constexpr (Forgetting<K>)
      return kind_.overfull();
    else
      return !Exact<K> && !Buildable<K> && adds_shared() > most_adds();
  }
  // The most adds at which it is not overfull, with the margin for chance. Computed when it is
  // first needed: that takes longer than to plan a set.
  std::uint64_t most_adds() const {
    std::uint64_t most = __atomic_load_n(&most_adds_, __ATOMIC_RELAXED);
    if (most == unknown_adds) {
      most = expected_most_adds();
      __atomic_store_n(&most_adds_, most, __ATOMIC_RELAXED);
    }
    return most;
  }

  K& kind() { return kind_; }
  const K& kind() const { return kind_; }
  // Makes every key match; the set is overfull then, unless it is exact.
  void fill() requires requires(K kind) { kind.fill(); }
  {
    kind_.fill();
    ledger_.adds = counted_adds(most_adds() + 1);
  }
  // Empty, as make() gave it: zeroed bytes are an empty set of any kind.
  Result<void> clear() requires(!Buildable<K>) {
    std::ranges::fill(memory_.bytes(), std::byte{0});
    ledger_.adds = 0;
    return {};
  }
  void note_added_shared(std::size_t fresh) {
    std::atomic_ref(ledger_.adds).fetch_add(fresh, std::memory_order_relaxed);
  }
  // As many keys are in it now, also those that others added to the bytes it was lent.
  void tell_adds(std::uint64_t adds) { ledger_.adds = adds; }
  // After `fresh` keys were added through kind().
  void note_added(std::size_t fresh) { ledger_.adds += fresh; }

 private:
  static constexpr std::uint64_t unknown_adds = ~std::uint64_t{0};

  // A form of image of its own, or a single part.
  static constexpr Form form = [] {
    if constexpr (requires { K::form; })
      return K::form;
    else
      return Form::single;
  }();
  static Result<typename K::Shape> shape_of(const Part& part) {
    if constexpr (requires { K::from_part(part); }) {
      return K::from_part(part);
    } else {
      if (part.kind != K::id.number)
        return Error{Code::mismatch,
                     "the image does not hold a " + std::string(K::id.name) + " set"};
      return decode_shape<K>(part.shape);
    }
  }

  Owned(const typename K::Shape& shape, Memory memory, const Ledger& ledger)
      : memory_(std::move(memory)), kind_(shape, memory_.bytes()), ledger_(ledger) {}

  // The adds that `capacity` keys are expected to give, and four standard deviations.
  std::uint64_t expected_most_adds() const {
    const std::uint64_t keys = ledger_.capacity;
    const double lost = Exact<K> || Buildable<K> ? 0 : expected_losses(kind_.shape(), keys);
    return keys - std::min(keys, static_cast<std::uint64_t>(lost)) +
           static_cast<std::uint64_t>(4 * std::sqrt(lost));
  }

  // Null pointers, no blocks and no lines; a map without a range.
  void look_away() {
    static_assert(std::is_trivially_copyable_v<K>, "a kind is a view of bytes that others own");
    if constexpr (Ranged<K>)
      kind_ = K({.low = 1, .high = 0}, {});
    else
      std::memset(static_cast<void*>(&kind_), 0, sizeof kind_);
  }

  // How many of `keys` different keys are expected to be false positives when they are added: the
  // rate, summed over the adds by Simpson's rule.
  static double expected_losses(const typename K::Shape& shape, std::uint64_t keys) {
    constexpr int steps = 16;
    double sum = 0;
    for (int i = 0; i <= steps; ++i) {
      const double weight = i == 0 || i == steps ? 1 : i % 2 == 0 ? 2 : 4;
      sum += weight * K::expected_rate(shape, keys / steps * static_cast<std::uint64_t>(i));
    }
    return sum / (3 * steps) * static_cast<double>(keys);
  }

  Added counted(Added added) {
    ledger_.adds += added == Added::fresh;
    return added;
  }

  std::uint64_t counted_adds(std::uint64_t otherwise) const {
    if constexpr (Exact<K>)
      return kind_.count();
    else
      return otherwise;
  }

  Memory memory_;  // stays where it is when the owner moves, so kind_ goes on looking at it
  K kind_;
  Ledger ledger_;
  mutable std::uint64_t most_adds_ = unknown_adds;
};

}  // namespace bloomery::inline v0::detail

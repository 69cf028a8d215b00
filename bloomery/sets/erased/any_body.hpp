// What stands behind an AnySet: the calls that every kind answers, and the sentences for those it
// cannot. For any_set.cpp, any_holder.hpp, and sets that live elsewhere (remote/).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/plan.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0 {

// One virtual call per span of keys; below it everything is typed.
struct AnySet::Body {
  virtual ~Body() = default;
  virtual const KindRow& row() const = 0;
  virtual bool shared() const { return false; }
  virtual Result<std::size_t> add_texts(const Hasher& hasher,
                                        std::span<const std::string_view> keys, bool* fresh) = 0;
  virtual Result<std::size_t> add_hashes(std::span<const Hash> hashes, bool* fresh) = 0;
  virtual bool takes_wide_hashes() const = 0;
  virtual Result<std::size_t> add_wide(std::span<const WideHash> hashes, bool* fresh) = 0;
  virtual Result<void> ask_wide(std::span<const WideHash> hashes, bool* answers) const = 0;
  virtual Result<std::size_t> add_ordinals(std::span<const Ordinal> ordinals, bool* fresh) = 0;
  virtual Result<void> ask_texts(const Hasher& hasher, std::span<const std::string_view> keys,
                                 bool* answers) const = 0;
  virtual Result<void> ask_hashes(std::span<const Hash> hashes, bool* answers) const = 0;
  virtual Result<void> ask_ordinals(std::span<const Ordinal> ordinals, bool* answers) const = 0;
  virtual Result<std::size_t> remove_texts(const Hasher& hasher,
                                           std::span<const std::string_view> keys,
                                           bool* removed) = 0;
  virtual Result<std::size_t> remove_hashes(std::span<const Hash> hashes, bool* removed) = 0;
  virtual Result<std::size_t> remove_ordinals(std::span<const Ordinal> ordinals, bool* removed) = 0;
  virtual Result<void> count_texts(const Hasher& hasher, std::span<const std::string_view> keys,
                                   std::uint64_t* counts) const = 0;
  virtual Result<void> count_hashes(std::span<const Hash> hashes, std::uint64_t* counts) const = 0;
  virtual Result<void> count_ordinals(std::span<const Ordinal> ordinals,
                                      std::uint64_t* counts) const = 0;
  virtual std::uint64_t most_count() const = 0;
  virtual Result<void> unite(const Body& other) = 0;
  virtual Result<void> intersect(const Body& other) = 0;
  virtual Result<void> subtract(const Body& other) = 0;
  virtual Result<void> exclusive(const Body& other) = 0;
  virtual Result<void> advance_to(std::uint64_t time, std::uint64_t span) = 0;
  virtual std::uint64_t time_span() const = 0;
  virtual std::uint64_t time_told() const { return 0; }
  virtual void cap_memory(std::uint64_t bytes) = 0;
  virtual Result<std::uint64_t> best_fold(double rate) const = 0;
  virtual Result<std::unique_ptr<Body>> folded(std::uint64_t factor, double rate) const = 0;
  virtual std::uint64_t bytes() const = 0;
  virtual std::uint64_t adds() const = 0;
  virtual std::uint64_t capacity() const = 0;
  virtual double rate_asked() const = 0;
  virtual double estimate() const = 0;
  virtual double rate_now() const = 0;
  virtual double expected_rate_now() const = 0;
  virtual double fill_ratio() const = 0;
  virtual bool overfull() const = 0;
  virtual std::optional<Range> range() const = 0;
  virtual std::vector<std::pair<std::string, std::string>> shape_facts() const = 0;
  virtual std::optional<std::uint64_t> stuck() const = 0;
  virtual std::optional<Lists> lists() const = 0;
  virtual detail::Parts parts() const = 0;
};

namespace detail {

template <class K>
inline constexpr bool takes_ordinals = std::same_as<typename K::Input, Ordinal>;

template <class K>
inline constexpr bool takes_hashes = std::same_as<typename K::Input, Hash>;

template <class K>
inline constexpr KindRow row_of{
    .id = K::id,
    .input = takes_ordinals<K> ? InputForm::ordinal : InputForm::hashed,
    .exact = Exact<K>,
    .whole_hashes = WholeHashes<K>,
    .grows = !Kind<K> && !TwoListed<K>,
    .removes = Removable<K>,
    .counts = Countable<K>,
    .forgets = Forgetting<K>,
    .keeps_copies = Removable<K>&& Bounded<K>,
    .built = Buildable<K>,
    .two_lists = TwoListed<K>,
    .complete = [](Want want) { return complete<K>(want); },
    .planned_bytes = [](const Want& want) -> Result<std::uint64_t> {
      const auto shape = K::plan(want);
      if (!shape) return shape.error();
      return K::bytes(*shape);
    },
};

inline Error wrong_input(std::string_view kind, const char* wanted) {
  return {Code::mismatch, "a " + std::string(kind) + " set takes " + wanted};
}

inline Error takes_no_more(std::string_view kind) {
  return {Code::unsupported,
          "a " + std::string(kind) +
              " set holds the keys it was built from and takes no more; build it anew from all "
              "keys, or choose a kind that can be added to, such as blocked"};
}

}  // namespace detail
}  // namespace bloomery::inline v0

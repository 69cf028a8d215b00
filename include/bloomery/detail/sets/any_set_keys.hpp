// The verbs of AnySet that take keys of any type: they make some ready, up to 1024 at a time, and
// hand them to the body in one call. any_set.hpp includes it at its end.
//
// The same keys in a span of texts, hashes or Ordinals give the same bits, answers and counts.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <bloomery/any_set.hpp>

namespace bloomery::inline v0 {

namespace detail {

inline constexpr std::size_t most_ready_keys = 1024;

// What a set notes of keys of this type.
template <ErasedKey T>
constexpr KeyForm erased_form(bool is_map) {
  if constexpr (std::same_as<T, Hash>)
    return KeyForm::hash;
  else if constexpr (std::same_as<T, Ordinal>)
    return KeyForm::number;
  else
    return is_map && IntegerKey<PlainKey<T>> ? KeyForm::number : hashed_form<T>;
}

// Up to `most` keys, made ready.
template <std::size_t most>
class ReadyChunk {
 public:
  ReadyChunk(const Hasher& hasher, bool wide, std::optional<Range> range)
      : hasher_(hasher), wide_(wide), range_(range) {}

  template <ErasedKey T>
  void push(const T& key) {
    const std::size_t at = size_++;
    if constexpr (std::same_as<T, Hash>) {
      narrow_[at] = key;
      is_ = Is::narrow;
    } else if constexpr (std::same_as<T, Ordinal>) {
      ordinals_[at] = key;
      is_ = Is::ordinal;
    } else if (IntegerKey<PlainKey<T>> && range_) {
      if constexpr (IntegerKey<PlainKey<T>>) ordinals_[at] = ordinal_of(plain_key(key));
      is_ = Is::ordinal;
    } else if (wide_) {
      wides_[at] = hasher_.wide(key);
      is_ = Is::wide;
    } else {
      narrow_[at] = hasher_(key);
      is_ = Is::narrow;
    }
  }
  std::size_t size() const { return size_; }
  bool is_full() const { return size_ == most; }
  void clear() { size_ = 0; }
  ReadyKeys keys() const {
    switch (is_) {
      case Is::narrow: return std::span<const Hash>(narrow_.data(), size_);
      case Is::wide: return std::span<const WideHash>(wides_.data(), size_);
      case Is::ordinal: break;
    }
    return std::span<const Ordinal>(ordinals_.data(), size_);
  }

 private:
  enum class Is { narrow, wide, ordinal };

  // A negative integer has no place in any map: one outside the range stands for it.
  template <IntegerKey T>
  Ordinal ordinal_of(T key) const {
    if constexpr (std::signed_integral<T>)
      if (key < 0) return {range_->high == ~std::uint64_t{0} ? range_->low - 1 : range_->high + 1};
    return {static_cast<std::uint64_t>(key)};
  }

  const Hasher& hasher_;
  const bool wide_;
  const std::optional<Range> range_;  // of a map
  std::size_t size_ = 0;
  Is is_ = Is::narrow;
  std::array<Hash, most> narrow_;
  std::array<WideHash, most> wides_;
  std::array<Ordinal, most> ordinals_;
};

// An integer that a map has no place for, or nothing.
template <class T>
std::optional<Error> outside_of(const std::optional<Range>& range, const T& key) {
  if constexpr (IntegerKey<PlainKey<T>>) {
    const auto number = plain_key(key);
    if (!range ||
        (std::cmp_less_equal(range->low, number) && std::cmp_less_equal(number, range->high)))
      return std::nullopt;
    return Error{Code::out_of_range, std::to_string(number) + " is outside the range of the set, " +
                                         std::to_string(range->low) + ".." +
                                         std::to_string(range->high)};
  }
  return std::nullopt;
}

// Calls use(first, chunk) for chunks that are all of the keys in their order, until it returns an
// Error; first is the number of keys before it. There is always one, if only an empty one.
template <KeyRange Keys, class Use>
Result<void> for_chunks(const Keys& keys, ReadyChunk<most_ready_keys>& chunk, Use&& use) {
  return with_range(keys, [&](auto& range) -> Result<void> {
    std::size_t first = 0;
    for (const auto& key : range) {
      chunk.template push<std::ranges::range_value_t<Keys>>(key);
      if (!chunk.is_full()) continue;
      if (auto used = use(first, chunk); !used) return used;
      first += chunk.size();
      chunk.clear();
    }
    if (chunk.size() == 0 && first != 0) return {};
    return use(first, chunk);
  });
}

}  // namespace detail

template <detail::ErasedKey T>
Result<bool> AnySet::add(const T& key) {
  if (auto outside = detail::outside_of(range(), key)) return *outside;
  detail::ReadyChunk<1> one(hasher_, takes_wide_hashes(), range());
  one.push(key);
  bool fresh = false;
  const auto added = add_ready(one.keys(), detail::erased_form<T>(range().has_value()), &fresh);
  if (!added) return added.error();
  return fresh;
}

template <detail::ErasedKey T>
Result<bool> AnySet::may_contain(const T& key) const {
  detail::ReadyChunk<1> one(hasher_, takes_wide_hashes(), range());
  one.push(key);
  bool answer = false;
  const auto asked = ask_ready(one.keys(), detail::erased_form<T>(range().has_value()), &answer);
  if (!asked) return asked.error();
  return answer;
}

template <detail::ErasedKey T>
Result<bool> AnySet::contains(const T& key) const {
  auto answer = may_contain(key);
  if (answer && !exact())
    return Error{Code::unsound, "a " + std::string(kind().name) +
                                    " set cannot tell for sure that it contains a key; ask "
                                    "may_contain"};
  return answer;
}

template <detail::ErasedKey T>
Result<bool> AnySet::remove(const T& key) {
  detail::ReadyChunk<1> one(hasher_, takes_wide_hashes(), range());
  one.push(key);
  bool removed = false;
  const auto gone = remove_ready(one.keys(), detail::erased_form<T>(range().has_value()), &removed);
  if (!gone) return gone.error();
  return removed;
}

template <detail::ErasedKey T>
Result<std::uint64_t> AnySet::count_of(const T& key) const {
  detail::ReadyChunk<1> one(hasher_, takes_wide_hashes(), range());
  one.push(key);
  std::uint64_t count = 0;
  const auto counted = count_ready(one.keys(), detail::erased_form<T>(range().has_value()), &count);
  if (!counted) return counted.error();
  return count;
}

template <detail::GatheredKeys Keys>
Result<std::size_t> AnySet::add_all(const Keys& keys, std::span<bool> fresh) {
  using T = std::ranges::range_value_t<Keys>;
  const std::optional<Range> places = range();
  if (places && IntegerKey<detail::PlainKey<T>>) {
    const auto outside = detail::with_range(keys, [&](auto& all) -> std::optional<Error> {
      for (const auto& key : all)
        if (auto error = detail::outside_of<T>(places, key)) return error;
      return std::nullopt;
    });
    if (outside) return *outside;
  }
  std::ranges::fill(fresh, false);
  detail::ReadyChunk<detail::most_ready_keys> chunk(hasher_, takes_wide_hashes(), places);
  std::size_t count = 0;
  const auto use = [&](std::size_t first, const auto& ready) -> Result<void> {
    const auto added = add_ready(ready.keys(), detail::erased_form<T>(places.has_value()),
                                 fresh.empty() ? nullptr : fresh.data() + first);
    if (!added) return added.error();
    count += *added;
    return {};
  };
  if (auto added = detail::for_chunks(keys, chunk, use); !added) return added.error();
  return count;
}

template <detail::GatheredKeys Keys>
Result<void> AnySet::may_contain_all(const Keys& keys, std::span<bool> answers) const {
  using T = std::ranges::range_value_t<Keys>;
  const std::optional<Range> places = range();
  detail::ReadyChunk<detail::most_ready_keys> chunk(hasher_, takes_wide_hashes(), places);
  return detail::for_chunks(keys, chunk, [&](std::size_t first, const auto& ready) {
    return ask_ready(ready.keys(), detail::erased_form<T>(places.has_value()),
                     answers.data() + first);
  });
}

template <detail::GatheredKeys Keys>
Result<std::size_t> AnySet::remove_all(const Keys& keys, std::span<bool> removed) {
  using T = std::ranges::range_value_t<Keys>;
  const std::optional<Range> places = range();
  detail::ReadyChunk<detail::most_ready_keys> chunk(hasher_, takes_wide_hashes(), places);
  std::size_t count = 0;
  const auto use = [&](std::size_t first, const auto& ready) -> Result<void> {
    const auto gone = remove_ready(ready.keys(), detail::erased_form<T>(places.has_value()),
                                   removed.empty() ? nullptr : removed.data() + first);
    if (!gone) return gone.error();
    count += *gone;
    return {};
  };
  if (auto gone = detail::for_chunks(keys, chunk, use); !gone) return gone.error();
  return count;
}

template <detail::GatheredKeys Keys>
Result<void> AnySet::counts(const Keys& keys, std::span<std::uint64_t> counts) const {
  using T = std::ranges::range_value_t<Keys>;
  const std::optional<Range> places = range();
  detail::ReadyChunk<detail::most_ready_keys> chunk(hasher_, takes_wide_hashes(), places);
  return detail::for_chunks(keys, chunk, [&](std::size_t first, const auto& ready) {
    return count_ready(ready.keys(), detail::erased_form<T>(places.has_value()),
                       counts.data() + first);
  });
}

template <detail::ErasedKeys Keys>
Result<std::vector<bool>> AnySet::may_contain_all(const Keys& keys) const {
  const std::size_t size = detail::count_keys(keys);
  const auto bools = std::make_unique<bool[]>(size);
  if (auto asked = may_contain_all(keys, std::span(bools.get(), size)); !asked)
    return asked.error();
  return std::vector<bool>(bools.get(), bools.get() + size);
}

}  // namespace bloomery::inline v0

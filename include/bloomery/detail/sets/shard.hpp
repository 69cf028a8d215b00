// One shard of a sharded set in the hands of one thread.
//
//    set.shard_of(key)              which shard a key lies in
//    auto mine = set.shard(3);      other threads may have the other shards at the same time
//    mine.add(key);                 true: surely new; a key of another shard is refused by throwing
//
// Limits:  the set must outlive its handles, and counts their keys when they go: adds() and
//          overfull() are right again then. Verbs that change the set wait until all are gone.
// Threads: one a handle, one handle a shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <bloomery/detail/sets/bulk/batch.hpp>
#include <bloomery/detail/sets/bulk/key_source.hpp>
#include <bloomery/detail/sets/bulk/key_spans.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/key_gate.hpp>
#include <bloomery/detail/sets/key_of.hpp>
#include <bloomery/detail/sets/owned.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

template <Sharding K>
class Shard {
 public:
  Shard(Owned<K>& body, KeyGate<K>& gate, const Hasher& hasher, std::uint64_t number)
      : body_(&body), gate_(&gate), hasher_(hasher), number_(number) {
    if (number >= body.kind().shards())
      detail::raise(std::out_of_range("the set has only " + std::to_string(body.kind().shards()) +
                                      " shards"));
  }
  Shard(Shard&& other) noexcept
      : body_(std::exchange(other.body_, nullptr)),
        gate_(other.gate_),
        hasher_(other.hasher_),
        number_(other.number_),
        fresh_(other.fresh_) {}
  Shard& operator=(Shard&&) = delete;
  ~Shard() {
    if (body_ != nullptr) body_->note_added_shared(fresh_);
  }

  std::uint64_t number() const { return number_; }
  std::size_t fresh() const { return fresh_; }  // keys that were surely new, by this handle

  template <KeyOf<K> T>
  bool add(const T& key) {
    const Hash hash = mine(input_from<Hash>(key, hasher_));
    gate_->note_shared(form_of<T, K>);
    const bool is_new = body_->kind().add(body_->kind().locate(hash)) == Added::fresh;
    fresh_ += is_new;
    return is_new;
  }
  bool add(std::string_view key) { return add<std::string_view>(key); }

  // Adds all, which must lie in this shard; nothing is added if one does not.
  template <KeysOf<K> Keys>
  std::size_t add_all(const Keys& keys) {
    const auto added = try_add_all(keys);
    if (!added) throw_error(added.error());
    return *added;
  }
  template <KeysOf<K> Keys>
  Result<std::size_t> try_add_all(const Keys& keys) {
    if (auto fitting = begin_adding(keys); !fitting) return fitting.error();
    K& kind = body_->kind();
    std::size_t fresh = 0;
    for_spans<Hash>(keys, hasher_, [&](std::size_t, auto span) {
      const auto source = source_of(kind, span, hasher_);
      fresh += pipeline(kind, source, lookahead_for(kind), adding(kind), CountOnly{}).yes;
    });
    fresh_ += fresh;
    return fresh;
  }

  template <KeyOf<K> T>
  bool may_contain(const T& key) const {
    gate_->expect_shared(form_of<T, K>);
    return body_->may_contain(mine(input_from<Hash>(key, hasher_)));
  }
  bool may_contain(std::string_view key) const { return may_contain<std::string_view>(key); }

 private:
  Hash mine(Hash hash) const {
    if (auto fitting = check(hash); !fitting) throw_error(fitting.error());
    return hash;
  }
  Result<void> check(Hash hash) const {
    const std::uint64_t place = body_->kind().shard_of(hash);
    if (place == number_) return {};
    return Error{Code::bad_input, "the key lies in shard " + std::to_string(place) + ", not in " +
                                      std::to_string(number_)};
  }
  template <class Keys>
  Result<void> begin_adding(const Keys& keys) {
    using T = std::ranges::range_value_t<Keys>;
    Result<void> fitting = {};
    with_range(keys, [&](auto& range) {
      for (const auto& key : range)
        if (fitting) fitting = check(input_from<Hash, T>(key, hasher_));
      if (fitting) fitting = gate_->check(form_of<T, K>);
      if (fitting && !std::ranges::empty(range)) gate_->note_shared(form_of<T, K>);
    });
    return fitting;
  }

  Owned<K>* body_;
  KeyGate<K>* gate_;
  Hasher hasher_;
  std::uint64_t number_;
  std::size_t fresh_ = 0;
};

}  // namespace bloomery::inline v0::detail

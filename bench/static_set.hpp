// A static kind with the verbs of the benchmark: what adds in bulk builds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <bloomery/bloomery.hpp>
#include <tools/inside.hpp>

namespace bloomery::bench {

template <Buildable K>
class StaticSet {
 public:
  static Result<StaticSet> make(const Want& want) { return StaticSet(want); }

  template <class Key>
  std::size_t add_all(std::span<const Key> keys) {
    set_.emplace(Set<K>::build(want_, keys).value());
    return set_->adds();
  }
  template <class Key>
  bool may_contain(const Key& key) const {
    return set_->may_contain(key);
  }
  template <class Key>
  std::size_t may_contain_all(std::span<const Key> keys, std::span<bool> answers,
                              Threads threads = {1}) const {
    return set_->may_contain_all(keys, answers, threads);
  }
  std::uint64_t bytes() const { return set_->bytes(); }

 private:
  explicit StaticSet(const Want& want) : want_(want) {}

  Want want_;
  std::optional<Set<K>> set_;
};

// What stands for a kind in the benchmark.
template <class K>
struct SubjectOf {
  using type = Set<K>;
};
template <Buildable K>
struct SubjectOf<K> {
  using type = StaticSet<K>;
};
template <class K>
using Subject = typename SubjectOf<K>::type;

}  // namespace bloomery::bench

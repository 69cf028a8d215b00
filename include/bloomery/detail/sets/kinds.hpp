// The register: one line per kind. From it come --kind, the run-time table, the law tests and the
// benchmark rows. Numbers are written into files: never changed, never used again; docs/format.md
// lists them. From 1000 on they are forms of image (parts.hpp), not kinds of a part.
// See: ARCHITECTURE.md "Adding a kind".
#pragma once

#include <stdexcept>
#include <utility>

#include <bloomery/detail/sets/build/cascade_builder.hpp>
#include <bloomery/detail/sets/kinds/binary_fuse.hpp>
#include <bloomery/detail/sets/kinds/bitmap.hpp>
#include <bloomery/detail/sets/kinds/blocked_bloom.hpp>
#include <bloomery/detail/sets/kinds/bloom_chain.hpp>
#include <bloomery/detail/sets/kinds/cascade.hpp>
#include <bloomery/detail/sets/kinds/classic_bloom.hpp>
#include <bloomery/detail/sets/kinds/compact.hpp>
#include <bloomery/detail/sets/kinds/counting_bloom.hpp>
#include <bloomery/detail/sets/kinds/cuckoo.hpp>
#include <bloomery/detail/sets/kinds/hash_set.hpp>
#include <bloomery/detail/sets/kinds/ribbon.hpp>
#include <bloomery/detail/sets/kinds/scalable.hpp>
#include <bloomery/detail/sets/kinds/sharded.hpp>
#include <bloomery/detail/sets/kinds/spectral_bloom.hpp>
#include <bloomery/detail/sets/kinds/split_block.hpp>
#include <bloomery/detail/sets/kinds/two_bit_map.hpp>
#include <bloomery/detail/sets/kinds/window_bloom.hpp>
#include <bloomery/detail/sets/owned.hpp>

namespace bloomery::inline v0::detail {

template <class... K>
struct KindList {
  // Calls each.template operator()<K>() for every kind in turn.
  template <class Each>
  static constexpr void for_each(Each&& each) {
    (each.template operator()<K>(), ...);
  }
};

// Kinds that are lent their bytes.
using PlainKinds =
    KindList<Bitmap, TwoBitMap, ClassicBloom, BlockedBloom, SplitBlock, CountingBloom,
             SpectralBloom, Cuckoo, WindowBloom, BinaryFuse, Ribbon, Sharded>;
// Sets built on other sets, or that grow: they take memory as they need it.
using Composites = KindList<BloomChain, HashSet, Scalable, Compact, Cascade>;
template <class... A, class... B>
KindList<A..., B...> joined_kinds(KindList<A...>, KindList<B...>);
using AllKinds = decltype(joined_kinds(PlainKinds{}, Composites{}));

// What holds a set of this kind: the composite itself, or a plain kind with memory of its own.
template <class K>
struct BodyOf {
  using type = K;
};
template <Kind K>
struct BodyOf<K> {
  using type = Owned<K>;
};
template <class K>
using Body = typename BodyOf<K>::type;

// Of exact kinds, or of those that keep whole hashes.
template <class K>
concept Subtractable = requires(Body<K> body) {
  body.subtract(body);
};
template <class K>
concept Exclusive = requires(Body<K> body) {
  body.exclusive(body);
};

// Two sets of the same shape become one.
template <class K>
concept Uniting = requires(Body<K> body) {
  body.unite(body);
};

// Can be emptied. What is built from all its keys cannot begin empty, and is built again instead.
template <class K>
concept Clearable = requires(Body<K> body) {
  body.clear();
};

#if __cpp_exceptions
// Throws std::invalid_argument for a want that no set can have, Failure for what else is wrong.
template <class K>
Body<K> made_body(const Want& want) {
  auto body = Body<K>::make(want);
  if (!body && body.error().code == Code::impossible)
    throw std::invalid_argument(body.error().sentence);
  return std::move(body).value();
}
#endif

template <class... K>
constexpr bool all_different(KindList<K...>) {
  constexpr KindId ids[] = {K::id...};
  for (const KindId& one : ids)
    for (const KindId& other : ids)
      if (&one != &other && (one.number == other.number || one.name == other.name)) return false;
  return true;
}
static_assert(all_different(AllKinds{}), "two kinds share a number or a name");

}  // namespace bloomery::inline v0::detail

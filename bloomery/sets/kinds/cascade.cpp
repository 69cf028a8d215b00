#include <bloomery/detail/sets/kinds/cascade.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include <bloomery/detail/sets/bulk/groups.hpp>
#include <bloomery/detail/sets/kinds/hash_set.hpp>
#include <bloomery/sets/build/sorted_hashes.hpp>

namespace bloomery::inline v0::detail {
namespace {

// How many keys ahead the list is prefetched.
constexpr std::size_t ahead = 16;

Hash filter_hash(WideHash hash) { return {hash.low}; }

Result<Cascade::Shape> shape_at(const Want& want, double rate) {
  const auto filter = BlockedBloom::plan({.keys = want.keys, .rate = rate});
  if (!filter) return filter.error();
  const double listed = static_cast<double>(want.allowed) * rate;
  return Cascade::Shape{*filter, rate,
                        static_cast<std::uint64_t>(std::ceil(listed + 4 * std::sqrt(listed)))};
}

}  // namespace

Result<Cascade::Shape> Cascade::plan(const Want& want) {
  auto best = shape_at(want, want.rate);
  if (!best) return best;
  // Halving the rate halves the list and costs the filter a bit and a half a blocked key.
  for (double rate = want.rate / 2; rate >= plan::lowest_rate; rate /= 2) {
    const auto finer = shape_at(want, rate);
    if (!finer || bytes(*finer) >= bytes(*best)) break;
    best = finer;
  }
  return best;
}

std::uint64_t Cascade::bytes(const Shape& shape) {
  return BlockedBloom::bytes(shape.filter) + shape.listed * sizeof(WideHash);
}

Result<Cascade> Cascade::from_parts(Parts parts) {
  if (parts.form != form || parts.parts.size() != 2 ||
      parts.parts[0].kind != BlockedBloom::id.number || parts.parts[1].kind != HashSet::id.number)
    return Error{Code::mismatch, "the image does not hold a cascade"};
  const double rate = std::bit_cast<double>(parts.parts[0].state[0]);
  if (!(rate >= plan::lowest_rate && rate <= plan::highest_rate))
    return Error{Code::damaged, "a cascade of that rate is not possible"};
  auto filter = Filter::from_part(std::move(parts.parts[0]));
  if (!filter) return filter.error();
  Part& list = parts.parts[1];
  const auto shape = decode_shape<HashSet>(list.shape);
  if (!shape) return shape.error();
  if (auto sound = HashSet::check(*shape, list.payload.size()); !sound) return sound.error();
  if (list.capacity < shape->keys || list.adds != shape->keys)
    return Error{Code::damaged, "a cascade lists more allowed keys than it was given"};
  // Parts that are only lent are copied.
  if (list.memory.size() != list.payload.size()) {
    auto copy = Memory::copy_of(list.payload);
    if (!copy) return copy.error();
    list.memory = std::move(*copy);
  }
  Cascade set(std::move(*filter), std::move(list.memory), list.capacity, rate);
  if (auto sound = set.check_exceptions(); !sound) return sound.error();
  return set;
}

// The list must rise, and the filter must match each entry: another list does not belong to it.
Result<void> Cascade::check_exceptions() const {
  const std::span<const WideHash> all = exceptions();
  std::array<Hash, group_keys> hashes;
  std::array<bool, group_keys> matched;
  for (std::size_t done = 0; done < all.size(); done += group_keys) {
    const std::size_t n = std::min(group_keys, all.size() - done);
    for (std::size_t i = 0; i < n; ++i) {
      if (done + i != 0 && all[done + i] <= all[done + i - 1])
        return Error{Code::damaged, "the exceptions of a cascade are not in ascending order"};
      hashes[i] = filter_hash(all[done + i]);
    }
    filter_.may_contain_all(std::span(hashes).first(n), matched.data());
    if (std::find(matched.begin(), matched.begin() + n, false) != matched.begin() + n)
      return Error{Code::damaged, "a cascade lists a key that its filter does not match"};
  }
  return {};
}

Parts Cascade::parts() const {
  Parts parts;
  parts.form = form;
  parts.parts.push_back(filter_.part());
  // The rate asked of the whole; the filter may be finer.
  parts.parts[0].state[0] = std::bit_cast<std::uint64_t>(rate_asked_);
  parts.parts.push_back({.kind = HashSet::id.number,
                         .shape = encode_shape<HashSet>({listed()}),
                         .capacity = allowed_,
                         .adds = listed(),
                         .payload = exceptions_.bytes()});
  return parts;
}

bool Cascade::may_contain(WideHash hash) const {
  return filter_.may_contain(filter_hash(hash)) && !is_in(exceptions(), hash);
}

void Cascade::may_contain_all(std::span<const WideHash> hashes, bool* answers) const {
  const std::span<const WideHash> list = exceptions();
  std::array<Hash, group_keys> halves;
  std::array<std::size_t, group_keys> matched;
  for (std::size_t done = 0; done < hashes.size(); done += group_keys) {
    const auto group = hashes.subspan(done, std::min(group_keys, hashes.size() - done));
    for (std::size_t i = 0; i < group.size(); ++i) halves[i] = filter_hash(group[i]);
    bool* const group_answers = answers + done;
    filter_.may_contain_all(std::span(halves).first(group.size()), group_answers);
    if (list.empty()) continue;
    std::size_t count = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      matched[count] = i;
      count += group_answers[i];
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (i + ahead < count)
        __builtin_prefetch(&list[likely_place(list.size(), group[matched[i + ahead]])]);
      group_answers[matched[i]] = !is_in(list, group[matched[i]]);
    }
  }
}

Result<void> Cascade::unite(const Cascade&) {
  return Error{Code::unsound,
               "cascades cannot be united: allowed keys that one of them does not match the other "
               "may, and they are not listed; build one from all block lists and allow lists"};
}

Result<void> Cascade::intersect(const Cascade&) {
  return Error{Code::unsound,
               "cascades cannot be intersected: what one lists as allowed may be blocked in the "
               "other; build one from the lists that you want"};
}

Error Cascade::takes_no_more() {
  return {Code::unsupported,
          "a cascade takes no keys once it is built: a new blocked key could make allowed keys "
          "match; build it again from both lists, or keep new keys in a blocked set beside it"};
}

}  // namespace bloomery::inline v0::detail

#include <bloomery/detail/sets/kinds/line_set.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <bloomery/detail/bits/caches.hpp>
#include <bloomery/detail/sets/kinds/compact.hpp>
#include <bloomery/detail/sets/kinds/hash_set.hpp>
#include <bloomery/sets/shown_bytes.hpp>

namespace bloomery::inline v0::detail {
namespace {

constexpr std::uint64_t most_keys = std::uint64_t{1} << 50;

template <class Law>
std::string a_set() {
  return (Law::exact ? "an " : "a ") + std::string(Law::title);
}

}  // namespace

template <class Law>
Result<typename LineSet<Law>::Shape> LineSet<Law>::plan(const Want& want) {
  if (want.keys > most_keys)
    return Error{Code::impossible, a_set<Law>() + " of more than 2^50 keys is beyond any memory"};
  if (Law::exact || want.rate == 0) return Shape{want.keys};
  if (auto sound =
          check_keys_and_rate({.keys = std::max<std::uint64_t>(1, want.keys), .rate = want.rate});
      !sound)
    return sound.error();
  if (want.rate < expected_rate({}, want.keys))
    return Error{Code::impossible,
                 a_set<Law>() + " has " + std::to_string(Law::hash_bits) +
                     " bits of every key, and " + std::to_string(want.keys) +
                     " keys do not reach that rate with them; use hash-set, which is exact"};
  return Shape{want.keys};
}

template <class Law>
Result<void> LineSet<Law>::check(const Shape& shape, std::uint64_t payload_bytes) {
  if (shape.keys > most_keys)
    return Error{Code::damaged,
                 a_set<Law>() + " cannot hold " + std::to_string(shape.keys) + " keys"};
  return check_length(id.name, shape.keys * sizeof(Input), payload_bytes);
}

template <class Law>
std::uint64_t LineSet<Law>::bytes(const Shape& shape) {
  return Table::size_for(shape.keys).bytes();
}

template <class Law>
double LineSet<Law>::expected_rate(const Shape&, std::uint64_t keys) {
  return std::ldexp(static_cast<double>(keys), -Law::hash_bits);
}

template <class Law>
Result<LineSet<Law>> LineSet<Law>::make(const Want& want) {
  auto shape = plan(want);
  if (!shape) return shape.error();
  LineSet set;
  set.planned_keys_ = want.keys;
  if (!Law::exact) set.rate_ = want.rate;
  set.table_.cap_bytes(want.memory_bytes);
  if (want.keys == 0) return set;
  const typename Table::Size size = Table::size_for(want.keys);
  if (want.memory_bytes != 0 && size.bytes() > want.memory_bytes)
    return Error{Code::impossible, a_set<Law>() + " of " + std::to_string(want.keys) +
                                       " keys takes " + detail::shown_bytes(size.bytes()) +
                                       ", more than the " + detail::shown_bytes(want.memory_bytes) +
                                       " allowed"};
  if (auto made = set.table_.grow(size); !made) return made.error();
  return set;
}

template <class Law>
Result<LineSet<Law>> LineSet<Law>::from_parts(Parts parts) {
  if (parts.form != Form::single || parts.parts.size() != 1 || parts.parts[0].kind != id.number)
    return Error{Code::mismatch, "the image does not hold " + a_set<Law>()};
  const Part& part = parts.parts[0];
  auto shape = decode_shape<LineSet>(part.shape);
  if (!shape) return shape.error();
  if (auto sound = check(*shape, part.payload.size()); !sound) return sound.error();
  // The capacity is only a plan; memory is taken for the keys that are there.
  auto set = make({.keys = shape->keys});
  if (!set) return set;
  set->planned_keys_ = part.capacity;
  if (!Law::exact) set->rate_ = part.rate_asked;
  const std::span<const Input> sorted(reinterpret_cast<const Input*>(part.payload.data()),
                                      shape->keys);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && sorted[i] <= sorted[i - 1])
      return Error{Code::damaged, "the hashes of " + a_set<Law>() + " are not in ascending order"};
    set->table_.add_absent(Law::key_of(sorted[i]));
  }
  return set;
}

template <class Law>
Result<Parts> LineSet<Law>::parts() const {
  auto memory = Memory::make(count() * sizeof(Input));
  if (!memory) return memory.error();
  Part part{
      .kind = id.number, .shape = encode_shape<LineSet>({count()}), .capacity = planned_keys_};
  part.adds = count();
  part.rate_asked = rate_;
  part.memory = std::move(*memory);
  table_.copy_sorted(reinterpret_cast<Key*>(part.memory.bytes().data()));
  part.payload = part.memory.bytes();
  Parts parts;
  parts.parts.push_back(std::move(part));
  return parts;
}

template <class Law>
Added LineSet<Law>::add_shared(Input hash) {
  const Locked hold(*lock_);
  return add(hash);
}

template <class Law>
bool LineSet<Law>::may_contain_shared(Input hash) const {
  const LockedShared hold(*lock_);
  return may_contain(hash);
}

template <class Law>
bool LineSet<Law>::grow() {
  const typename Table::Size size =
      table_.next_size(table_.size().large ? Law::growing_part : Law::small_growing_part);
  return size.lines != 0 && table_.grow(size);
}

template <class Law>
Error LineSet<Law>::full_error() const {
  return {Code::full, "the " + std::string(Law::title) + " cannot grow beyond its " +
                          detail::shown_bytes(bytes()) +
                          ": no more memory is allowed, or the system gives none"};
}

// Calls use(i) for each of the hashes while it returns true, some keys after its lines were called
// for. A table in the shared cache is called into the L1 cache; a larger one farther ahead, into
// the L2 cache, if the law gains by it.
template <class Law>
template <class Use>
void LineSet<Law>::each_called(std::span<const Input> hashes, Use&& use) const {
  const auto with = [&]<int cache>(std::integral_constant<int, cache>, std::size_t ahead)
      __attribute__((always_inline)) {
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      if (i + ahead < hashes.size())
        table_.template prefetch<cache>(Law::key_of(hashes[i + ahead]));
      if (!use(i)) return;
    }
  };
  if (Law::far_ahead != 0 && table_.bytes() > caches().shared)
    with(std::integral_constant<int, 2>{}, Law::far_ahead);
  else
    with(std::integral_constant<int, 3>{}, Law::ahead);
}

template <class Law>
Result<std::size_t> LineSet<Law>::add_all(std::span<const Input> hashes, bool* fresh) {
  std::size_t count = 0;
  bool is_full = false;
  each_called(
      hashes, [&](std::size_t i) __attribute__((always_inline)) {
        const Added added = add(hashes[i]);
        is_full = added == Added::full;
        count += added == Added::fresh;
        if (fresh != nullptr) fresh[i] = added == Added::fresh;
        return !is_full;
      });
  if (is_full) return full_error();
  return count;
}

template <class Law>
void LineSet<Law>::may_contain_all(std::span<const Input> hashes, bool* answers) const {
  each_called(
      hashes, [&](std::size_t i) __attribute__((always_inline)) {
        answers[i] = may_contain(hashes[i]);
        return true;
      });
}

template <class Law>
Result<void> LineSet<Law>::unite(const LineSet& other) {
  if (this == &other) return {};
  bool full = false;
  other.table_.for_each([&](const Key& hash) { full = full || add(Input{hash}) == Added::full; });
  if (full) return full_error();
  return {};
}

// Takes all hashes out and puts the kept ones back: sizeof(Key) a kept key of new memory.
template <class Law>
template <class Keep>
void LineSet<Law>::keep_if(Keep&& keep) {
  std::vector<Key> kept;
  table_.for_each([&](const Key& hash) {
    if (keep(Input{hash})) kept.push_back(hash);
  });
  table_.clear();
  for (const Key& hash : kept) table_.add_absent(hash);
}

// A set's own lines cannot be asked while keep_if empties them; the answer is known anyway.
template <class Law>
Result<void> LineSet<Law>::intersect(const LineSet& other) {
  if (this != &other) keep_if([&](Input hash) { return other.may_contain(hash); });
  return {};
}

template <class Law>
Result<void> LineSet<Law>::subtract(const LineSet& other) {
  keep_if([&](Input hash) { return this != &other && !other.may_contain(hash); });
  return {};
}

// A set that was opened has a table for the keys that were there, perhaps smaller than its plan: it
// keeps that one.
template <class Law>
Result<void> LineSet<Law>::clear() {
  const typename Table::Size planned = planned_keys_ == 0
                                           ? typename Table::Size{}
                                           : Table::size_for(std::min(planned_keys_, most_keys));
  if (table_.size().bytes() <= planned.bytes()) {
    table_.clear();
    return {};
  }
  Table first;
  first.cap_bytes(table_.cap());
  if (planned_keys_ != 0)
    if (auto made = first.grow(planned); !made) return made;
  table_ = std::move(first);
  return {};
}

template <class Law>
double LineSet<Law>::fill_ratio() const {
  const std::uint64_t slots = table_.size().slots();
  return slots == 0 ? 0 : static_cast<double>(count()) / static_cast<double>(slots);
}

template class LineSet<CompactLaw>;
template class LineSet<HashSetLaw>;

}  // namespace bloomery::inline v0::detail

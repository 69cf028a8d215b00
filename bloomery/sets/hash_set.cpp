#include <bloomery/sets/hash_set.hpp>

#include <cmath>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace bloomery {
namespace {

// Grows by 1/3, while it is small by 1/2: less costs time, more costs memory.
constexpr unsigned growing_part = 3;
constexpr unsigned small_growing_part = 2;
// How many keys ahead their lines are prefetched.
constexpr std::size_t ahead = 16;

}  // namespace

Result<HashSet::Shape> HashSet::plan(const Want& want) {
  if (want.keys > (std::uint64_t{1} << 50))
    return Error{Code::impossible, "a hash set of more than 2^50 keys is beyond any memory"};
  return Shape{want.keys};
}

Result<void> HashSet::check(const Shape& shape, std::uint64_t payload_bytes) {
  if (shape.keys > (std::uint64_t{1} << 50))
    return Error{Code::damaged, "a hash set of " + std::to_string(shape.keys) + " keys can not be"};
  return check_length(id.name, shape.keys * sizeof(WideHash), payload_bytes);
}

std::uint64_t HashSet::bytes(const Shape& shape) { return Table::size_for(shape.keys).bytes(); }

double HashSet::expected_rate(const Shape&, std::uint64_t keys) {
  return std::ldexp(static_cast<double>(keys), -128);
}

Result<HashSet> HashSet::make(const Want& want) {
  auto shape = plan(want);
  if (!shape) return shape.error();
  HashSet set;
  set.planned_keys_ = want.keys;
  set.table_.cap_bytes(want.memory_bytes);
  if (want.memory_bytes != 0 && want.keys != 0 && bytes(*shape) > want.memory_bytes)
    return Error{Code::impossible, "a hash set of " + std::to_string(want.keys) + " keys takes " +
                                       std::to_string(bytes(*shape)) + " bytes, more than the " +
                                       std::to_string(want.memory_bytes) + " allowed"};
  if (want.keys != 0)
    if (auto made = set.table_.grow(Table::size_for(want.keys)); !made) return made.error();
  return set;
}

Result<HashSet> HashSet::from_parts(Parts parts) {
  if (parts.form != Form::single || parts.parts.size() != 1 || parts.parts[0].kind != id.number)
    return Error{Code::mismatch, "the image does not hold a hash-set"};
  const Part& part = parts.parts[0];
  auto shape = decode_shape<HashSet>(part.shape);
  if (!shape) return shape.error();
  if (auto sound = check(*shape, part.payload.size()); !sound) return sound.error();
  // The capacity is what somebody once hoped for; memory is taken for what is there.
  auto set = make({.keys = shape->keys});
  if (!set) return set;
  set->planned_keys_ = part.capacity;
  const std::span<const WideHash> sorted(reinterpret_cast<const WideHash*>(part.payload.data()),
                                         shape->keys);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && sorted[i] <= sorted[i - 1])
      return Error{Code::damaged, "the entries of a hash-set are not in rising order"};
    set->table_.add_absent(sorted[i]);
  }
  return set;
}

Parts HashSet::parts() const {
  Part part{
      .kind = id.number, .shape = encode_shape<HashSet>({count()}), .capacity = planned_keys_};
  part.adds = count();
  part.memory = Memory::make(count() * sizeof(WideHash)).value();
  table_.copy_sorted(reinterpret_cast<WideHash*>(part.memory.bytes().data()));
  part.payload = part.memory.bytes();
  Parts parts;
  parts.parts.push_back(std::move(part));
  return parts;
}

Added HashSet::add_shared(WideHash hash) {
  const std::lock_guard lock(*lock_);
  return add(hash);
}

bool HashSet::may_contain_shared(WideHash hash) const {
  const std::shared_lock lock(*lock_);
  return contains(hash);
}

Added HashSet::grow_for(WideHash hash) {
  if (contains(hash)) return Added::seen;
  const Table::Size size =
      table_.next_size(table_.size().large ? growing_part : small_growing_part);
  return size.lines != 0 && table_.grow(size) ? Added::fresh : Added::full;
}

Error HashSet::full_error() const {
  return {Code::full, "the exact set cannot grow beyond its " + std::to_string(bytes()) +
                          " bytes: no more memory is allowed, or the system gives none"};
}

Result<std::size_t> HashSet::add_all(std::span<const WideHash> hashes, bool* fresh) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (i + ahead < hashes.size()) table_.prefetch(hashes[i + ahead], true);
    const Added added = add(hashes[i]);
    if (added == Added::full) return full_error();
    count += added == Added::fresh;
    if (fresh != nullptr) fresh[i] = added == Added::fresh;
  }
  return count;
}

void HashSet::may_contain_all(std::span<const WideHash> hashes, bool* answers) const {
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (i + ahead < hashes.size()) table_.prefetch(hashes[i + ahead], false);
    answers[i] = contains(hashes[i]);
  }
}

Result<void> HashSet::unite(const HashSet& other) {
  if (this == &other) return {};
  bool full = false;
  other.table_.for_each([&](const WideHash& hash) { full = full || add(hash) == Added::full; });
  if (full) return full_error();
  return {};
}

// Takes all hashes out and puts the kept ones back: 16 bytes a kept key of new memory.
template <class Keep>
void HashSet::keep_if(Keep&& keep) {
  std::vector<WideHash> kept;
  table_.for_each([&](const WideHash& hash) {
    if (keep(hash)) kept.push_back(hash);
  });
  table_.clear();
  for (const WideHash& hash : kept) table_.add_absent(hash);
}

// A set's own lines cannot be asked while keep_if empties them; the answer is known anyway.
Result<void> HashSet::intersect(const HashSet& other) {
  if (this != &other) keep_if([&](const WideHash& hash) { return other.contains(hash); });
  return {};
}

Result<void> HashSet::subtract(const HashSet& other) {
  keep_if([&](const WideHash& hash) { return this != &other && !other.contains(hash); });
  return {};
}

double HashSet::fill_ratio() const {
  const std::uint64_t slots = table_.size().slots();
  return slots == 0 ? 0 : static_cast<double>(count()) / static_cast<double>(slots);
}

}  // namespace bloomery

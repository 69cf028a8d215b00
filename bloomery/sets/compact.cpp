#include <bloomery/sets/compact.hpp>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace bloomery {
namespace {

constexpr std::uint64_t most_keys = std::uint64_t{1} << 50;
// Grows by 1/2: less costs time, more costs memory.
constexpr unsigned growing_part = 2;
// How many keys ahead their lines are prefetched.
constexpr std::size_t ahead = 24;

}  // namespace

Result<Compact::Shape> Compact::plan(const Want& want) {
  if (want.keys > most_keys)
    return Error{Code::impossible, "a compact set of more than 2^50 keys is beyond any memory"};
  if (want.rate != 0)
    if (auto sound =
            check_keys_and_rate({.keys = std::max<std::uint64_t>(1, want.keys), .rate = want.rate});
        !sound)
      return sound.error();
  if (want.rate != 0 && want.rate < expected_rate({}, want.keys))
    return Error{Code::impossible,
                 "a compact set has 64 bits of every key, and " + std::to_string(want.keys) +
                     " keys do not reach that rate with them; use hash-set, which is exact"};
  return Shape{want.keys};
}

Result<void> Compact::check(const Shape& shape, std::uint64_t payload_bytes) {
  if (shape.keys > most_keys)
    return Error{Code::damaged,
                 "a compact set cannot hold " + std::to_string(shape.keys) + " keys"};
  return check_length(id.name, shape.keys * sizeof(Hash), payload_bytes);
}

std::uint64_t Compact::bytes(const Shape& shape) { return Table::size_for(shape.keys).bytes(); }

double Compact::expected_rate(const Shape&, std::uint64_t keys) {
  return std::ldexp(static_cast<double>(keys), -64);
}

Result<Compact> Compact::make(const Want& want) {
  auto shape = plan(want);
  if (!shape) return shape.error();
  Compact set;
  set.planned_keys_ = want.keys;
  set.rate_ = want.rate;
  set.table_.cap_bytes(want.memory_bytes);
  if (want.keys == 0) return set;
  const Table::Size size = Table::size_for(want.keys);
  if (want.memory_bytes != 0 && size.bytes() > want.memory_bytes)
    return Error{Code::impossible, "a compact set of " + std::to_string(want.keys) +
                                       " keys takes " + std::to_string(size.bytes()) +
                                       " bytes, more than the " +
                                       std::to_string(want.memory_bytes) + " allowed"};
  if (auto made = set.table_.grow(size); !made) return made.error();
  return set;
}

Result<Compact> Compact::from_parts(Parts parts) {
  if (parts.form != Form::single || parts.parts.size() != 1 || parts.parts[0].kind != id.number)
    return Error{Code::mismatch, "the image does not hold a compact set"};
  const Part& part = parts.parts[0];
  auto shape = decode_shape<Compact>(part.shape);
  if (!shape) return shape.error();
  if (auto sound = check(*shape, part.payload.size()); !sound) return sound.error();
  // The capacity is what somebody once hoped for; memory is taken for what is there.
  auto set = make({.keys = shape->keys});
  if (!set) return set;
  set->planned_keys_ = part.capacity;
  set->rate_ = part.rate_asked;
  const std::span<const Hash> sorted(reinterpret_cast<const Hash*>(part.payload.data()),
                                     shape->keys);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && sorted[i] <= sorted[i - 1])
      return Error{Code::damaged, "the hashes of a compact set are not in rising order"};
    set->table_.add_absent(sorted[i].bits);
  }
  return set;
}

Parts Compact::parts() const {
  Part part{
      .kind = id.number, .shape = encode_shape<Compact>({count()}), .capacity = planned_keys_};
  part.adds = count();
  part.rate_asked = rate_;
  part.memory = Memory::make(count() * sizeof(Hash)).value();
  table_.copy_sorted(reinterpret_cast<std::uint64_t*>(part.memory.bytes().data()));
  part.payload = part.memory.bytes();
  Parts parts;
  parts.parts.push_back(std::move(part));
  return parts;
}

Added Compact::add_shared(Hash hash) {
  const std::lock_guard lock(*lock_);
  return add(hash);
}

bool Compact::may_contain_shared(Hash hash) const {
  const std::shared_lock lock(*lock_);
  return may_contain(hash);
}

Added Compact::grow_for(Hash hash) {
  if (may_contain(hash)) return Added::seen;
  const Table::Size size = table_.next_size(growing_part);
  return size.lines != 0 && table_.grow(size) ? Added::fresh : Added::full;
}

Error Compact::full_error() const {
  return {Code::full, "the compact set cannot grow beyond its " + std::to_string(bytes()) +
                          " bytes: no more memory is allowed, or the system gives none"};
}

Result<std::size_t> Compact::add_all(std::span<const Hash> hashes, bool* fresh) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (i + ahead < hashes.size()) table_.prefetch(hashes[i + ahead].bits, true);
    const Added added = add(hashes[i]);
    if (added == Added::full) return full_error();
    count += added == Added::fresh;
    if (fresh != nullptr) fresh[i] = added == Added::fresh;
  }
  return count;
}

void Compact::may_contain_all(std::span<const Hash> hashes, bool* answers) const {
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (i + ahead < hashes.size()) table_.prefetch(hashes[i + ahead].bits, false);
    answers[i] = may_contain(hashes[i]);
  }
}

Result<void> Compact::unite(const Compact& other) {
  if (this == &other) return {};
  bool full = false;
  other.table_.for_each([&](std::uint64_t hash) { full = full || add({hash}) == Added::full; });
  if (full) return full_error();
  return {};
}

// Takes all hashes out and puts the kept ones back: 8 bytes a kept key of new memory.
template <class Keep>
void Compact::keep_if(Keep&& keep) {
  std::vector<std::uint64_t> kept;
  table_.for_each([&](std::uint64_t hash) {
    if (keep(Hash{hash})) kept.push_back(hash);
  });
  table_.clear();
  for (const std::uint64_t hash : kept) table_.add_absent(hash);
}

// A set's own lines cannot be asked while keep_if empties them; the answer is known anyway.
Result<void> Compact::intersect(const Compact& other) {
  if (this != &other) keep_if([&](Hash hash) { return other.may_contain(hash); });
  return {};
}

Result<void> Compact::subtract(const Compact& other) {
  keep_if([&](Hash hash) { return this != &other && !other.may_contain(hash); });
  return {};
}

double Compact::fill_ratio() const {
  const std::uint64_t slots = table_.size().slots();
  return slots == 0 ? 0 : static_cast<double>(count()) / static_cast<double>(slots);
}

}  // namespace bloomery

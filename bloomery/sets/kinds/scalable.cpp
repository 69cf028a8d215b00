#include <bloomery/detail/sets/kinds/scalable.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <bloomery/bits/prefix_streams.hpp>
#include <bloomery/detail/sets/bulk/key_source.hpp>
#include <bloomery/detail/sets/plan.hpp>
#include <bloomery/sets/shown_bytes.hpp>

namespace bloomery::inline v0::detail {
namespace {

// Full at 95 %: beyond it, what blocks spill grows long.
constexpr std::uint64_t room_of(std::uint64_t slots) { return slots - slots / 20; }
// Keys of the first table when no number is given: 54 KB at 1 %.
constexpr std::uint64_t default_first_keys = 32'768;
constexpr double lowest_rate = 1e-9;
// The parts of the rate that the first table, and each step of growth, may use. A step is about a
// third of a doubling.
constexpr double first_share = 0.5;
constexpr double step_share = 1.0 / 30;

constexpr std::uint64_t blocks_of(unsigned quotient_bits) {
  return std::uint64_t{1} << (quotient_bits - 6);
}

// The fewest quotients and slots with this much room; 0 slots when no size has it.
QuotientTable::Size smallest_with(std::uint64_t room, unsigned quotient_bits) {
  QuotientTable::Size size{quotient_bits, 0, 0};
  for (; size.quotient_bits <= 52; ++size.quotient_bits) {
    const std::uint64_t blocks = blocks_of(size.quotient_bits);
    std::uint64_t slots = room / blocks + 1;
    while (slots <= QuotientTable::most_slots && room_of(blocks * slots) < room) ++slots;
    if (slots > QuotientTable::most_slots) continue;
    size.slots = static_cast<std::uint32_t>(slots);
    return size;
  }
  return size;
}

// With the narrowest fields, at least this wide, with which the table cannot cover more than
// `share` by what comes after its first `entries`; as wide as there are hash bits when none are
// wide enough. Slots as many as the words of its blocks have room for.
QuotientTable::Size with_fields(QuotientTable::Size size, double entries, double share,
                                std::uint32_t least) {
  const std::uint32_t most = std::min(QuotientTable::most_field_bits, 65 - size.quotient_bits);
  const std::uint32_t slots = size.slots;
  size.field_bits = std::min(std::max(least, 2U), most);
  for (;; ++size.field_bits) {
    size.slots = QuotientTable::widest_slots(slots, size.field_bits);
    const double more = static_cast<double>(Scalable::room(size)) - entries;
    const int bits = static_cast<int>(size.quotient_bits + size.field_bits) - 1;
    if (size.field_bits == most || std::ldexp(more, -bits) <= share) return size;
  }
}

// How many entries these prefixes are in a table with so many quotients.
double entries_among(const QuotientTable::Lengths& held, unsigned quotient_bits) {
  double entries = 0;
  for (unsigned bits = 0; bits <= 64; ++bits)
    entries += std::ldexp(static_cast<double>(held[bits]),
                          bits < quotient_bits ? static_cast<int>(quotient_bits - bits) : 0);
  return entries;
}

// The room of the table after one with this much.
constexpr std::uint64_t next_room(std::uint64_t room) { return room + room * 3 / 20 + 1; }

unsigned longest_of(const QuotientTable::Lengths& held) {
  unsigned longest = 64;
  while (longest > 0 && held[longest] == 0) --longest;
  return longest;
}

bool fits(const QuotientTable::Lengths& held, const QuotientTable::Size& size) {
  return entries_among(held, size.quotient_bits) <= static_cast<double>(Scalable::room(size)) &&
         longest_of(held) < size.quotient_bits + size.field_bits;
}

}  // namespace

std::uint64_t Scalable::room(const Shape& shape) {
  return room_of(blocks_of(shape.quotient_bits) * shape.slots);
}

Result<Scalable::Shape> Scalable::plan(const Want& want) {
  const std::uint64_t keys = want.keys == 0 ? default_first_keys : want.keys;
  if (auto sound = check_keys_and_rate({.keys = keys, .rate = want.rate}); !sound)
    return sound.error();
  if (want.rate < lowest_rate)
    return Error{Code::impossible,
                 "a set that grows cannot go below a rate of 1e-9, since each step has only a "
                 "share of it; use blocked with a number of keys, or hash-set"};
  Shape shape = smallest_with(keys, QuotientTable::least_quotient_bits);
  shape = with_fields(shape, 0, want.rate * first_share, 2);
  if (expected_rate(shape, keys) > want.rate * first_share)
    return Error{Code::impossible, "64-bit hashes cannot tell " + std::to_string(keys) +
                                       " keys apart at this rate; ask for a higher one"};
  return shape;
}

Result<void> Scalable::check(const Shape& shape, std::uint64_t payload_bytes) {
  if (auto sound = QuotientTable::check(shape); !sound) return sound.error();
  return check_length(id.name, bytes(shape), payload_bytes);
}

double Scalable::expected_rate(const Shape& shape, std::uint64_t keys) {
  return std::min(1.0, std::ldexp(static_cast<double>(keys),
                                  1 - static_cast<int>(shape.quotient_bits + shape.field_bits)));
}

Scalable::Scalable(QuotientTable table, const Want& want)
    : table_(std::move(table)),
      room_(room(table_.size())),
      planned_keys_(want.keys),
      rate_(want.rate),
      memory_cap_(want.memory_bytes) {}

Result<Scalable> Scalable::make(const Want& asked) {
  if (const char* refused = kernels_refused()) return Error{Code::unsupported, refused};
  Want want = asked;
  const auto first = plan(want);
  const bool fits = want.memory_bytes == 0 || (first && bytes(*first) <= want.memory_bytes);
  // A guess, a missing rate, or a cap that the usual start exceeds: let the memory decide.
  if (want.keys != 0 || want.rate == 0 || !fits) {
    auto whole = complete<Scalable>(want);
    if (!whole) return whole.error();
    want = *whole;
  }
  auto shape = plan(want);
  if (!shape) return shape.error();
  auto table = QuotientTable::make(*shape);
  if (!table) return table.error();
  if (want.keys == 0) want.keys = default_first_keys;
  return Scalable(std::move(*table), want);
}

Result<Scalable> Scalable::from_parts(Parts parts) {
  if (const char* refused = kernels_refused()) return Error{Code::unsupported, refused};
  if (parts.form != Form::single || parts.parts.size() != 1 || parts.parts[0].kind != id.number)
    return Error{Code::mismatch, "the image does not hold a scalable set"};
  Part& part = parts.parts[0];
  auto shape = decode_shape<Scalable>(part.shape);
  if (!shape) return shape.error();
  if (auto sound = check(*shape, part.payload.size()); !sound) return sound.error();
  const Want want{.keys = part.capacity, .rate = part.rate_asked};
  if (auto sound = check_keys_and_rate(want); !sound) return sound.error();
  // Parts that are only lent are copied.
  if (part.memory.size() != part.payload.size()) {
    auto copy = Memory::copy_of(part.payload);
    if (!copy) return copy.error();
    part.memory = std::move(*copy);
  }
  auto table = QuotientTable::open(*shape, std::move(part.memory));
  if (!table) return table.error();
  Scalable set(std::move(*table), want);
  set.adds_ = part.adds;
  return set;
}

Parts Scalable::parts() const {
  Parts parts;
  parts.parts.push_back({.kind = id.number,
                         .shape = encode_shape<Scalable>(shape()),
                         .capacity = planned_keys_,
                         .rate_asked = rate_,
                         .adds = adds_,
                         .payload = table_.memory().bytes()});
  return parts;
}

// -- growing --------------------------------------------------------------------------------------

namespace {

// What both of two tables cover: where one prefix covers the other, the other.
class Both {
 public:
  Both(const QuotientTable& one, const QuotientTable& other)
      : one_(one), other_(other), a_(one_.next()), b_(other_.next()) {}
  std::optional<Prefix> next() {
    while (a_ && b_) {
      if (a_->end() < b_->start) {
        a_ = one_.next();
      } else if (b_->end() < a_->start) {
        b_ = other_.next();
      } else {
        return a_->bits >= b_->bits ? std::exchange(a_, one_.next())
                                    : std::exchange(b_, other_.next());
      }
    }
    return std::nullopt;
  }

 private:
  QuotientTable::Reader one_, other_;
  std::optional<Prefix> a_, b_;
};

}  // namespace

Result<Scalable::Shape> Scalable::plan_next(const Lengths& held, double rate,
                                            std::uint64_t room_wanted, unsigned quotient_bits) {
  const Error too_large{Code::full, "so many keys are more than 64-bit hashes can tell apart"};
  // A field holds what the quotient leaves of the longest prefix.
  const unsigned longest = longest_of(held);
  if (longest + 1 > QuotientTable::most_field_bits)
    quotient_bits = std::max(quotient_bits, longest + 1 - QuotientTable::most_field_bits);
  Shape next{quotient_bits, 0, 0};
  double entries = 0;
  // A prefix shorter than a quotient is written as several, so more quotients can need more room.
  for (unsigned tried = 0; next.slots == 0 || next.quotient_bits != tried;) {
    tried = next.quotient_bits;
    entries = entries_among(held, tried);
    if (entries > 0x1p56) return too_large;
    next = smallest_with(std::max(room_wanted, static_cast<std::uint64_t>(entries)), tried);
    if (next.slots == 0) return too_large;
  }
  const std::uint32_t least = longest >= next.quotient_bits ? longest - next.quotient_bits + 1 : 0;
  const double left = std::max(rate - QuotientTable::covered(held), rate / 64);
  return with_fields(next, entries, left * step_share, least);
}

// Lays the prefixes of a stream out in a table with this much room, which the present one has if
// none is asked for and they fit it. A larger one is tried where they happen to crowd. `pour_into`
// gives them from the first one on.
template <class Pour>
Result<void> Scalable::lay_out(const Lengths& held, std::uint64_t room_wanted,
                               unsigned quotient_bits, Pour&& pour_into) {
  const bool stays =
      room_wanted == 0 && quotient_bits <= this->shape().quotient_bits && fits(held, this->shape());
  const auto entries = static_cast<std::uint64_t>(
      std::min(entries_among(held, std::max(quotient_bits, this->shape().quotient_bits)), 0x1p60));
  for (int tries = 0; tries < 6; ++tries) {
    if (tries > 0) room_wanted = std::max(room_wanted, entries) / 4 * 5 + 64;
    const auto shape = stays && tries == 0 ? Result<Shape>(this->shape())
                                           : plan_next(held, rate_, room_wanted, quotient_bits);
    if (!shape) return shape.error();
    if (memory_cap_ != 0 && bytes() + bytes(*shape) > memory_cap_) return full_error();
    auto table = QuotientTable::make(*shape);
    if (!table) return table.error();
    if (!pour_into(*table)) continue;
    table_ = std::move(*table);
    room_ = room(*shape);
    return {};
  }
  return Error{Code::full,
               "the keys of the scalable set crowd in one place, and a larger table has no room "
               "for them either"};
}

// If a table has no slot for a key although it is less than half full, growing cannot help.
Result<void> Scalable::grow() {
  if (table_.entries() < room_ / 2)
    return Error{Code::full,
                 "the keys of the scalable set crowd in one place: their hashes are not well "
                 "mixed"};
  return lay_out(table_.held(), next_room(room_), shape().quotient_bits,
                 [&](QuotientTable& table) { return QuotientTable::pour(table_, table); });
}

namespace {

Either<QuotientTable::Reader, QuotientTable::Reader> either_of(const QuotientTable& one,
                                                               const QuotientTable& other) {
  return {QuotientTable::Reader(one), QuotientTable::Reader(other)};
}

}  // namespace

Result<void> Scalable::unite(const Scalable& other) {
  Lengths held{};
  for (auto either = either_of(table_, other.table_); const auto prefix = either.next();)
    ++held[prefix->bits];
  const auto laid =
      lay_out(held, 0, std::max(shape().quotient_bits, other.shape().quotient_bits),
              [&](QuotientTable& table) { return pour(either_of(table_, other.table_), table); });
  if (!laid) return laid.error();
  // Common keys were counted on both sides.
  adds_ = std::min(adds_ + other.adds_, table_.entries());
  return {};
}

Result<void> Scalable::intersect(const Scalable& other) {
  Lengths held{};
  for (auto both = Both(table_, other.table_); const auto prefix = both.next();)
    ++held[prefix->bits];
  const auto laid = lay_out(held, 0, QuotientTable::least_quotient_bits, [&](QuotientTable& table) {
    return pour(Both(table_, other.table_), table);
  });
  if (!laid) return laid.error();
  adds_ = std::min({adds_, other.adds_, table_.entries()});
  return {};
}

Result<void> Scalable::clear() {
  const auto first = plan({.keys = planned_keys_, .rate = rate_});
  if (!first) return first.error();
  auto table = QuotientTable::make(*first);
  if (!table) return table.error();
  table_ = std::move(*table);
  room_ = room(*first);
  adds_ = 0;
  return {};
}

Result<Grown> Scalable::grown(const Want& want, std::uint64_t keys) {
  auto shape = plan(want);
  if (!shape) return shape.error();
  Lengths held{};
  for (std::uint64_t has = 0;;) {
    const std::uint64_t most = std::min(keys, room(*shape));
    held[shape->quotient_bits + shape->field_bits - 1] += most - has;
    has = most;
    if (has == keys) return Grown{bytes(*shape), QuotientTable::covered(held), keys};
    shape = plan_next(held, want.rate, next_room(room(*shape)), shape->quotient_bits);
    if (!shape) return shape.error();
  }
}

Error Scalable::full_error() const {
  return {Code::full, "the set cannot grow beyond its " + detail::shown_bytes(bytes()) +
                          ": the cap on its memory is reached, or the system gives no more"};
}

// -- the verbs ------------------------------------------------------------------------------------

bool Scalable::may_contain(Hash hash) const { return table_.ask_step(&hash.bits, 1, 0) != 0; }

Added Scalable::add(Hash hash) {
  for (;;) {
    if (table_.entries() < room_) {
      std::size_t taken = 0;
      const bool fresh = table_.add_step(&hash.bits, 1, 0, &taken) != 0;
      adds_ += fresh;
      if (taken == 1) return added(fresh);
    } else if (may_contain(hash)) {
      return Added::seen;
    }
    if (auto grown = grow(); !grown) return Added::full;
  }
}

Added Scalable::add_shared(Hash hash) {
  const Locked hold(*lock_);
  return add(hash);
}

bool Scalable::may_contain_shared(Hash hash) const {
  const LockedShared hold(*lock_);
  return may_contain(hash);
}

namespace {

const std::uint64_t* words_of(const Hash* hashes) {
  static_assert(sizeof(Hash) == sizeof(std::uint64_t));
  return reinterpret_cast<const std::uint64_t*>(hashes);
}

// The table as the pipeline prefetches it. Growing replaces what it prefetched for, but not often.
struct Fetched {
  using Input = Hash;
  const QuotientTable& table;
  Hash locate(Hash hash) const { return hash; }
  [[gnu::always_inline]] void prefetch(Hash hash) const { table.call_for(hash.bits); }
};

}  // namespace

// Same answers and same bytes as one by one: a step of the table has no more keys than there is
// room for. Where there is no room, or no slot for a key, that key is added alone, which grows.
CutStep Scalable::add_step(const Hash* hashes, std::size_t n, std::size_t ahead) {
  CutStep step;
  while (step.taken < n) {
    const Hash* const next = hashes + step.taken;
    const auto some = static_cast<std::size_t>(
        std::min<std::uint64_t>(n - step.taken, room_ - std::min(room_, table_.entries())));
    std::size_t taken = 0;
    if (some != 0) {
      const std::uint64_t bits = table_.add_step(words_of(next), some, ahead, &taken);
      adds_ += static_cast<std::size_t>(std::popcount(bits));
      step.answers |= bits << step.taken;
      step.taken += taken;
    }
    if (some != 0 && taken == some) continue;
    const Added added = add(next[taken]);
    if (added == Added::full) return step;
    step.answers |= std::uint64_t{added == Added::fresh} << step.taken;
    ++step.taken;
  }
  return step;
}

Result<std::size_t> Scalable::add_all(std::span<const Hash> hashes, bool* fresh) {
  const Fetched fetched{table_};
  const ReadyInputs<Hash> source(hashes);
  const auto adding = [&](const Hash* inputs, std::size_t n, std::size_t ahead) {
    return add_step(inputs, n, ahead);
  };
  const Piped piped = fresh == nullptr
                          ? pipeline(fetched, source, step_keys, adding, CountOnly{})
                          : pipeline(fetched, source, step_keys, adding, ToBools(fresh));
  if (piped.taken == hashes.size()) return piped.yes;
  const auto why = grow();
  return why ? full_error() : why.error();
}

void Scalable::may_contain_all(std::span<const Hash> hashes, bool* answers) const {
  const auto asking = [&](const Hash* inputs, std::size_t n, std::size_t ahead) {
    return table_.ask_step(words_of(inputs), n, ahead);
  };
  const Fetched fetched{table_};
  pipeline(fetched, ReadyInputs<Hash>(hashes), step_keys, asking, ToBools(answers));
}

// -- what it tells --------------------------------------------------------------------------------

// Prefixes grow longer with time, so their lengths tell what the rate was when each was added, and
// how many keys were taken for old ones meanwhile. Those split into several count as one add.
double Scalable::estimate() const {
  double keys = 0;
  double covered = 0;
  const Lengths held = table_.held();
  for (unsigned bits = 0; bits <= 64; ++bits) {
    const auto entries = static_cast<double>(held[bits]);
    const double share = std::ldexp(entries, -static_cast<int>(bits));
    if (entries != 0) keys += entries / (1 - covered - share / 2);
    covered += share;
  }
  if (covered >= 1) return std::numeric_limits<double>::infinity();
  if (table_.entries() == 0) return 0;
  return keys * static_cast<double>(adds_) / static_cast<double>(table_.entries());
}

double Scalable::fill_ratio() const {
  return static_cast<double>(table_.entries()) / static_cast<double>(table_.slots());
}

}  // namespace bloomery::inline v0::detail

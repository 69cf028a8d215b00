#include <bloomery/served/redisbloom/compat_cuckoo.hpp>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include <bloomery/served/redisbloom/murmur.hpp>
#include <bloomery/served/redisbloom/packed_fields.hpp>

namespace bloomery::inline v0::detail::served {
namespace {

constexpr std::uint64_t other_home_multiplier = 0x5bd1'e995;
// With so many tables of 8-bit fingerprints every key matches.
constexpr std::size_t most_tables = 4096;
constexpr double tolerated_removals = 0.10;  // of the keys left, before tables are compacted

std::uint64_t used_in(std::string_view places) {
  return places.size() - static_cast<std::uint64_t>(std::ranges::count(places, '\0'));
}

void spend(std::uint64_t& steps, std::uint64_t cost) { steps -= std::min(steps, cost); }

std::uint64_t other_home(std::uint64_t home, std::uint8_t fingerprint) {
  return home ^ (fingerprint * other_home_multiplier);
}

Error damaged(const char* sentence) { return {Code::damaged, sentence}; }

// Bytes of table n, or nothing when they overflow.
std::optional<std::uint64_t> bytes_of_table(const CompatCuckoo::Fields& fields, std::size_t n) {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(fields.buckets, fields.bucket_size, &bytes)) return std::nullopt;
  if (n == 0 || fields.expansion == 1) return bytes;
  for (std::size_t step = 0; step < n; ++step) {
    if (__builtin_mul_overflow(bytes, fields.expansion, &bytes)) return std::nullopt;
  }
  return bytes;
}

}  // namespace

Result<std::unique_ptr<CompatCuckoo>> CompatCuckoo::make(const Want& want) {
  std::unique_ptr<CompatCuckoo> cuckoo(new CompatCuckoo);
  if (want.bucket_size == 0 || want.max_iterations == 0 ||
      want.capacity / want.bucket_size > std::uint64_t{1} << 62) {
    return Error{Code::impossible, "a cuckoo filter needs buckets that a number can count"};
  }
  cuckoo->fields_ = {
      .buckets = std::bit_ceil(std::max<std::uint64_t>(1, want.capacity / want.bucket_size)),
      .bucket_size = want.bucket_size,
      .max_iterations = want.max_iterations,
      .expansion = want.expansion == 0 ? 0u : std::bit_ceil(std::uint32_t{want.expansion})};
  if (!cuckoo->grow(want.cap_bytes)) {
    return Error{Code::no_memory,
                 "there is not enough memory for the filter, or it exceeds its cap"};
  }
  return cuckoo;
}

Result<void> CompatCuckoo::check(const Fields& fields) {
  if (fields.bucket_size == 0 || fields.bucket_size > 255) return damaged("buckets of 1 to 255");
  if (fields.max_iterations == 0 || fields.max_iterations > 65'535) {
    return damaged("1 to 65535 iterations");
  }
  if (fields.expansion > 32'768 || (fields.expansion & (fields.expansion - 1)) != 0) {
    return damaged("an expansion that is not a power of two up to 32768");
  }
  if (!std::has_single_bit(fields.buckets))
    return damaged("the number of buckets is not a power of two");
  return {};
}

Result<std::unique_ptr<CompatCuckoo>> CompatCuckoo::from(const Fields& fields,
                                                         std::vector<HostBytes> tables) {
  if (auto checked = check(fields); !checked) return checked.error();
  if (tables.empty() || tables.size() > most_tables) return damaged("1 to 4096 tables");
  std::uint64_t places = 0;
  for (std::size_t n = 0; n < tables.size(); ++n) {
    const auto bytes = bytes_of_table(fields, n);
    if (!bytes || *bytes == 0 || *bytes != tables[n].size()) {
      return damaged("a table does not have the size that its number requires");
    }
    places += *bytes;
  }
  if (fields.keys > places) return damaged("more keys than places");
  std::unique_ptr<CompatCuckoo> cuckoo(new CompatCuckoo);
  cuckoo->fields_ = fields;
  for (HostBytes& table : tables) cuckoo->append_table(std::move(table));
  return cuckoo;
}

Result<std::unique_ptr<CompatCuckoo>> CompatCuckoo::from_header(std::string_view header,
                                                                std::uint64_t cap_bytes) {
  if (!is_header_length(header.size())) return damaged("a header has 38 bytes");
  PackedReader reader(header);
  Fields fields;
  fields.keys = reader.read<std::uint64_t>();
  fields.buckets = reader.read<std::uint64_t>();
  fields.removed = reader.read<std::uint64_t>();
  const auto tables = reader.read<std::uint64_t>();
  fields.bucket_size = reader.read<std::uint16_t>();
  fields.max_iterations = reader.read<std::uint16_t>();
  fields.expansion = reader.read<std::uint16_t>();
  if (auto checked = check(fields); !checked) return checked.error();
  if (tables == 0 || tables > most_tables) return damaged("1 to 4096 tables");
  std::uint64_t total = 0;
  for (std::size_t n = 0; n < tables; ++n) {
    const auto bytes = bytes_of_table(fields, n);
    if (!bytes || *bytes == 0 || __builtin_add_overflow(total, *bytes, &total)) {
      return damaged("tables of a size that is not a number");
    }
    if (total > cap_bytes) return Error{Code::no_memory, "the filter would exceed its cap"};
  }
  if (fields.keys > total) return damaged("more keys than places");
  std::vector<HostBytes> made;
  for (std::size_t n = 0; n < tables; ++n) {
    made.push_back(HostBytes::promised(*bytes_of_table(fields, n)));
  }
  return from(fields, std::move(made));
}

std::unique_ptr<FilterBody> CompatCuckoo::clone() const {
  std::unique_ptr<CompatCuckoo> twin(new CompatCuckoo);
  twin->fields_ = fields_;
  for (const HostBytes& table : tables_) {
    auto bytes = HostBytes::copy_of(table);
    if (!bytes) return nullptr;
    twin->append_table(std::move(*bytes));
  }
  return twin;
}

// -- the law --------------------------------------------------------------------------------------

CompatCuckoo::KeyHash CompatCuckoo::hash_of(std::string_view key) {
  const std::uint64_t hash = murmur_64a(key, 0);
  const auto fingerprint = static_cast<std::uint8_t>(hash % 255 + 1);
  return {hash, other_home(hash, fingerprint), fingerprint};
}

std::uint8_t* CompatCuckoo::bucket(std::size_t table, std::uint64_t home) {
  return tables_[table].data() + (home & (buckets_of(table) - 1)) * fields_.bucket_size;
}

const std::uint8_t* CompatCuckoo::bucket(std::size_t table, std::uint64_t home) const {
  return const_cast<CompatCuckoo*>(this)->bucket(table, home);
}

// The first place with this fingerprint in one of the two homes, or nullptr.
std::uint8_t* CompatCuckoo::place_of(std::size_t table, KeyHash hash, std::uint8_t fingerprint) {
  if (!tables_[table].is_taken()) return nullptr;
  for (const std::uint64_t home : {hash.home, hash.other}) {
    std::uint8_t* const start = bucket(table, home);
    std::uint8_t* const end = start + fields_.bucket_size;
    if (std::uint8_t* const place = std::find(start, end, fingerprint); place != end) return place;
  }
  return nullptr;
}

// Moves others in the newest table to make room; undoes all moves when no place is found.
bool CompatCuckoo::fits_newest(KeyHash hash) {
  const std::size_t newest = tables_.size() - 1;
  const std::size_t size = fields_.bucket_size;
  std::uint8_t moving = hash.fingerprint;
  std::uint64_t home = hash.home;
  std::size_t victim = 0;
  for (std::uint64_t step = 0; step < fields_.max_iterations; ++step) {
    std::swap(bucket(newest, home)[victim], moving);
    home = other_home(home, moving);
    std::uint8_t* const start = bucket(newest, home);
    if (std::uint8_t* const gap = std::find(start, start + size, 0); gap != start + size) {
      put(newest, gap, moving);
      return true;
    }
    victim = (victim + 1) % size;
  }
  for (std::uint64_t step = 0; step < fields_.max_iterations; ++step) {
    victim = (victim + size - 1) % size;
    home = other_home(home, moving);
    std::swap(bucket(newest, home)[victim], moving);
  }
  return false;
}

bool CompatCuckoo::grow(std::uint64_t cap_bytes) {
  const auto bytes = bytes_of_table(fields_, tables_.size());
  std::uint64_t total = 0;
  if (!bytes || __builtin_add_overflow(*bytes, payload_bytes(), &total) || total > cap_bytes) {
    return false;
  }
  append_table(HostBytes::promised(*bytes));
  return true;
}

AddOutcome CompatCuckoo::add_hash(KeyHash hash, std::uint64_t cap_bytes) {
  for (;;) {
    for (std::size_t n = tables_.size(); n-- > 0;) {
      if (!tables_[n].take()) return AddOutcome::no_memory;
      if (std::uint8_t* const gap = place_of(n, hash, 0)) {
        put(n, gap, hash.fingerprint);
        count_key();
        return AddOutcome::fresh;
      }
    }
    if (fits_newest(hash)) {
      count_key();
      return AddOutcome::fresh;
    }
    if (fields_.expansion == 0 || tables_.size() == most_tables) return AddOutcome::full;
    if (!grow(cap_bytes)) return AddOutcome::no_memory;
    if (!tables_.back().take()) {
      drop_newest();
      return AddOutcome::no_memory;
    }
  }
}

AddOutcome CompatCuckoo::add(std::string_view key, std::uint64_t cap_bytes) {
  return add_hash(hash_of(key), cap_bytes);
}

AddOutcome CompatCuckoo::add_new(std::string_view key, std::uint64_t cap_bytes) {
  return may_contain(key) ? AddOutcome::seen : add_hash(hash_of(key), cap_bytes);
}

void CompatCuckoo::add_all(std::span<const std::string_view> keys, const Adding& adding,
                           std::span<AddOutcome> answers) {
  std::ranges::transform(keys, answers.begin(), [&](std::string_view key) {
    return adding.only_absent ? add_new(key, adding.cap_bytes) : add(key, adding.cap_bytes);
  });
}

void CompatCuckoo::may_contain_all(std::span<const std::string_view> keys,
                                   std::span<bool> answers) const {
  std::ranges::transform(keys, answers.begin(),
                         [&](std::string_view key) { return may_contain(key); });
}

bool CompatCuckoo::may_contain(std::string_view key) const {
  const KeyHash hash = hash_of(key);
  for (std::size_t n = 0; n < tables_.size(); ++n) {
    if (const_cast<CompatCuckoo*>(this)->place_of(n, hash, hash.fingerprint)) return true;
  }
  return false;
}

std::uint64_t CompatCuckoo::count(std::string_view key) const {
  const KeyHash hash = hash_of(key);
  std::uint64_t copies = 0;
  const auto in = [&](const std::uint8_t* start) {
    return static_cast<std::uint64_t>(
        std::count(start, start + fields_.bucket_size, hash.fingerprint));
  };
  for (std::size_t n = 0; n < tables_.size(); ++n) {
    if (!tables_[n].is_taken()) continue;
    const std::uint8_t* const first = bucket(n, hash.home);
    const std::uint8_t* const second = bucket(n, hash.other);
    copies += in(first);
    if (second != first) copies += in(second);
  }
  return copies;
}

bool CompatCuckoo::remove(std::string_view key) {
  const KeyHash hash = hash_of(key);
  for (std::size_t n = tables_.size(); n-- > 0;) {
    std::uint8_t* const place = place_of(n, hash, hash.fingerprint);
    if (place == nullptr) continue;
    clear(n, place);
    // A header may have said fewer keys than its tables hold.
    if (fields_.keys > 0) --fields_.keys;
    if (fields_.removed < UINT64_MAX) ++fields_.removed;
    return true;
  }
  return false;
}

bool CompatCuckoo::wants_compaction() const {
  const double tolerated = static_cast<double>(fields_.keys) * tolerated_removals;
  return tables_.size() > 1 && static_cast<double>(fields_.removed) > tolerated;
}

// Moves one fingerprint into the oldest table that has a gap for it; false: no table has one.
bool CompatCuckoo::moves_into_older(std::size_t table, std::uint64_t place, std::uint64_t& steps) {
  std::uint8_t& fingerprint = tables_[table].data()[place];
  // A bucket's number, cut to the size of an older table, is the home there.
  const std::uint64_t home = place / fields_.bucket_size;
  const KeyHash hash{home, other_home(home, fingerprint), fingerprint};
  for (std::size_t older = 0; older < table; ++older) {
    const bool is_full = used_[older] == tables_[older].size();
    spend(steps, is_full ? 1 : 2 + fields_.bucket_size / 32);
    if (is_full || !tables_[older].take()) continue;
    if (std::uint8_t* const gap = place_of(older, hash, 0)) {
      put(older, gap, fingerprint);
      clear(table, &fingerprint);
      return true;
    }
  }
  return false;
}

// From this place on, until the steps are spent; the place after the last that it looked at.
std::uint64_t CompatCuckoo::move_into_older(std::size_t table, std::uint64_t place,
                                            std::uint64_t& steps) {
  const std::uint64_t end = tables_[table].size();
  while (place < end && used_[table] != 0 && steps != 0) {
    const std::uint64_t word = std::min<std::uint64_t>(end, place / 64 * 64 + 64);
    const std::uint8_t* const start = tables_[table].data();
    const std::uint8_t* const found =
        std::find_if(start + place, start + word, [](std::uint8_t byte) { return byte != 0; });
    place = static_cast<std::uint64_t>(found - start);
    spend(steps, 1);
    if (place != word) moves_into_older(table, place++, steps);
  }
  return used_[table] == 0 ? end : place;
}

// Never more keys than places, which no saved form may have: a header may have said more keys than
// its tables hold.
void CompatCuckoo::count_key() { fields_.keys = std::min(fields_.keys + 1, payload_bytes()); }

// An empty place becomes a fingerprint, and the other way round.
void CompatCuckoo::put(std::size_t table, std::uint8_t* place, std::uint8_t fingerprint) {
  *place = fingerprint;
  ++used_[table];
}

void CompatCuckoo::clear(std::size_t table, std::uint8_t* place) {
  *place = 0;
  if (--used_[table] == 0) tables_[table] = HostBytes::promised(tables_[table].size());
}

void CompatCuckoo::append_table(HostBytes table) {
  // So that memory that runs out leaves both as they were.
  if (tables_.size() == tables_.capacity())
    tables_.reserve(std::max<std::size_t>(1, tables_.size() * 2));
  used_.push_back(table.is_taken() ? used_in(table.text()) : 0);
  if (used_.back() == 0) table = HostBytes::promised(table.size());
  tables_.push_back(std::move(table));
}

// Equal filters take equal memory, however they came to their tables.
void CompatCuckoo::drop_newest() {
  tables_.pop_back();
  used_.pop_back();
  fields_.keys = std::min(fields_.keys, payload_bytes());
  if (!std::has_single_bit(tables_.size())) return;
  std::vector<HostBytes> fitting;
  fitting.reserve(tables_.size());
  std::ranges::move(tables_, std::back_inserter(fitting));
  tables_ = std::move(fitting);
  used_.shrink_to_fit();
}

void CompatCuckoo::compact(const Compaction& part) {
  std::uint64_t steps = part.steps;
  std::size_t table = std::min<std::uint64_t>(part.table, tables_.size() - 1);
  std::uint64_t place = table == part.table ? part.place : 0;
  for (; table > 0; --table, place = 0) {
    place = move_into_older(table, std::min<std::uint64_t>(place, tables_[table].size()), steps);
    if (place < tables_[table].size()) {
      unfinished_ = {.table = table, .place = place, .through_all = part.through_all};
      return;
    }
    if (used_[table] == 0) {
      if (table + 1 == tables_.size()) drop_newest();
    } else if (!part.through_all) {
      break;
    }
  }
  fields_.removed = 0;
  unfinished_.reset();
}

// -- the saved form -------------------------------------------------------------------------------

std::uint64_t CompatCuckoo::move_parts(const Mover& mover, std::uint64_t from) {
  for (std::size_t n = from; n < tables_.size(); ++n) {
    if (n != from && mover.should_stop(mover.host)) return n;
    mover.bytes(tables_[n]);
  }
  return 0;
}

std::uint64_t CompatCuckoo::payload_bytes() const {
  std::uint64_t sum = 0;
  for (const HostBytes& table : tables_) sum += table.size();
  return sum;
}

std::uint64_t CompatCuckoo::memory_bytes() const {
  // As much as the vector has when it grew to this size, and no more: see drop_newest().
  std::uint64_t sum = sizeof(CompatCuckoo) +
                      std::bit_ceil(tables_.size()) * (sizeof(HostBytes) + sizeof(std::uint64_t));
  for (const HostBytes& table : tables_) sum += table.memory_bytes();
  return sum;
}

CuckooBody::Info CompatCuckoo::info() const {
  return {.bytes = 40 + 16 * tables_.size() + payload_bytes(),
          .buckets = fields_.buckets,
          .filters = tables_.size(),
          .keys = fields_.keys,
          .removed = fields_.removed,
          .bucket_size = fields_.bucket_size,
          .expansion = fields_.expansion,
          .max_iterations = fields_.max_iterations};
}

std::string CompatCuckoo::header() const {
  std::string out;
  out.reserve(header_bytes);
  write_packed(out, fields_.keys);
  write_packed(out, fields_.buckets);
  write_packed(out, fields_.removed);
  write_packed(out, std::uint64_t{tables_.size()});
  write_packed(out, static_cast<std::uint16_t>(fields_.bucket_size));
  write_packed(out, static_cast<std::uint16_t>(fields_.max_iterations));
  write_packed(out, static_cast<std::uint16_t>(fields_.expansion));
  return out;
}

Piece CompatCuckoo::piece(std::uint64_t position) const {
  if (position == 0) return {.next = 1, .own = header()};
  std::uint64_t offset = position - 1;
  for (const HostBytes& table : tables_) {
    if (offset >= table.size()) {
      offset -= table.size();
      continue;
    }
    const std::string_view piece = table.piece(offset, table.size() - offset);
    return {.next = position + piece.size(), .lent = piece};
  }
  return {};
}

Result<void> CompatCuckoo::load_piece(std::uint64_t next, std::string_view bytes) {
  const Error no_table{Code::out_of_range, "no table has buckets there"};
  if (bytes.empty() || next < bytes.size() + 1) return no_table;
  std::uint64_t offset = next - bytes.size() - 1;
  for (HostBytes& table : tables_) {
    if (offset >= table.size()) {
      offset -= table.size();
      continue;
    }
    if (bytes.size() > table.size() - offset)
      return Error{Code::mismatch, "these are more buckets than the table has"};
    std::uint64_t& used = used_[static_cast<std::size_t>(&table - tables_.data())];
    const std::uint64_t before = table.is_taken() ? used_in(table.piece(offset, bytes.size())) : 0;
    if (!table.put(offset, bytes))
      return Error{Code::no_memory, "there is not enough memory for the table"};
    used += used_in(bytes) - before;
    if (used == 0) table = HostBytes::promised(table.size());
    return {};
  }
  return no_table;
}

// -- RDB files, type MBbloomCF --------------------------------------------------------------------

void CompatCuckoo::save(FieldWriter& writer) const {
  writer.number(tables_.size());
  writer.number(fields_.buckets);
  writer.number(fields_.keys);
  writer.number(fields_.removed);
  writer.number(fields_.bucket_size);
  writer.number(fields_.max_iterations);
  writer.number(fields_.expansion);
  for (std::size_t n = 0; n < tables_.size(); ++n) {
    writer.number(buckets_of(n));
    writer.bytes(tables_[n]);
  }
}

Result<std::unique_ptr<CompatCuckoo>> CompatCuckoo::load(FieldReader& reader, int encoding) {
  if (encoding != 4) return Error{Code::unsupported, "its encoding is unknown"};
  Fields fields;
  const std::uint64_t count = reader.number();
  fields.buckets = reader.number();
  fields.keys = reader.number();
  fields.removed = reader.number();
  fields.bucket_size = reader.number();
  fields.max_iterations = reader.number();
  fields.expansion = reader.number();
  std::vector<HostBytes> tables;
  // Each table is bytes that were read, so a count that lies ends at the end of the payload.
  for (std::uint64_t n = 0; n < count && !reader.failed(); ++n) {
    const std::uint64_t buckets = reader.number();
    HostBytes table = reader.bytes();
    std::uint64_t size = 0;
    if (__builtin_mul_overflow(buckets, fields.bucket_size, &size) || size != table.size() ||
        size == 0)
      return damaged("a table does not have the buckets that it states");
    tables.push_back(promised_if_zero(std::move(table)));
  }
  if (reader.failed()) return damaged("it ends early");
  return from(fields, std::move(tables));
}

std::string CompatCuckoo::debug_line() const {
  char line[256];
  const auto wide = [](std::uint64_t number) { return static_cast<unsigned long long>(number); };
  std::snprintf(line, sizeof line,
                "bktsize:%u buckets:%llu items:%llu deletes:%llu filters:%zu max_iterations:%u "
                "expansion:%u",
                static_cast<unsigned>(fields_.bucket_size), wide(fields_.buckets),
                wide(fields_.keys), wide(fields_.removed), tables_.size(),
                static_cast<unsigned>(fields_.max_iterations),
                static_cast<unsigned>(fields_.expansion));
  return line;
}

}  // namespace bloomery::inline v0::detail::served

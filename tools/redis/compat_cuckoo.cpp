#include <tools/redis/compat_cuckoo.hpp>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <utility>

#include <tools/redis/murmur.hpp>
#include <tools/redis/wire.hpp>

namespace bloomery::redis {
namespace {

constexpr std::uint64_t other_home_multiplier = 0x5bd1'e995;
// With so many tables of 8-bit fingerprints every stranger passes; and compaction, which looks at
// all older tables for every fingerprint, still ends within a second.
constexpr std::size_t most_tables = 4096;
constexpr double tolerated_removals = 0.10;  // of the keys left, before tables are compacted

std::uint64_t other_home(std::uint64_t home, std::uint8_t fingerprint) {
  return home ^ (fingerprint * other_home_multiplier);
}

Error damaged(const char* sentence) { return {Code::damaged, sentence}; }

// Bytes of table n, or nothing when they are no number any more.
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
    return Error{Code::no_memory, "there is no memory for the filter, or it exceeds its cap"};
  }
  return cuckoo;
}

Result<void> CompatCuckoo::check(const Fields& fields) {
  if (fields.bucket_size == 0 || fields.bucket_size > 255) return damaged("buckets of 1 to 255");
  if (fields.max_iterations == 0 || fields.max_iterations > 65'535) {
    return damaged("1 to 65535 iterations");
  }
  if (fields.expansion > 32'768 || (fields.expansion & (fields.expansion - 1)) != 0) {
    return damaged("an expansion that is no power of two up to 32768");
  }
  if (!std::has_single_bit(fields.buckets)) return damaged("the buckets are no power of two");
  return {};
}

Result<std::unique_ptr<CompatCuckoo>> CompatCuckoo::from(const Fields& fields,
                                                         std::vector<ServerBytes> tables) {
  if (auto checked = check(fields); !checked) return checked.error();
  if (tables.empty() || tables.size() > most_tables) return damaged("1 to 4096 tables");
  std::uint64_t places = 0;
  for (std::size_t n = 0; n < tables.size(); ++n) {
    const auto bytes = bytes_of_table(fields, n);
    if (!bytes || *bytes == 0 || *bytes != tables[n].size()) {
      return damaged("a table has not the size that its number asks for");
    }
    places += *bytes;
  }
  if (fields.keys > places) return damaged("more keys than places");
  std::unique_ptr<CompatCuckoo> cuckoo(new CompatCuckoo);
  cuckoo->fields_ = fields;
  cuckoo->tables_ = std::move(tables);
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
      return damaged("tables of a size that is no number");
    }
    if (total > cap_bytes) return Error{Code::no_memory, "the filter would exceed its cap"};
  }
  if (fields.keys > total) return damaged("more keys than places");
  std::vector<ServerBytes> made;
  for (std::size_t n = 0; n < tables; ++n) {
    auto bytes = ServerBytes::make(*bytes_of_table(fields, n));
    if (!bytes) return Error{Code::no_memory, "there is no memory for the filter"};
    made.push_back(std::move(*bytes));
  }
  return from(fields, std::move(made));
}

Result<std::unique_ptr<CompatCuckoo>> CompatCuckoo::clone() const {
  std::unique_ptr<CompatCuckoo> twin(new CompatCuckoo);
  twin->fields_ = fields_;
  for (const ServerBytes& table : tables_) {
    auto bytes = ServerBytes::copy_of(table);
    if (!bytes) return Error{Code::no_memory, "there is no memory for a copy"};
    twin->tables_.push_back(std::move(*bytes));
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

// The first place with this fingerprint in one of the two homes, or null.
std::uint8_t* CompatCuckoo::place_of(std::size_t table, KeyHash hash, std::uint8_t fingerprint) {
  for (const std::uint64_t home : {hash.home, hash.other}) {
    std::uint8_t* const start = bucket(table, home);
    std::uint8_t* const end = start + fields_.bucket_size;
    if (std::uint8_t* const place = std::find(start, end, fingerprint); place != end) return place;
  }
  return nullptr;
}

// Pushes others around in the newest table; puts everything back when no place turns up.
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
      *gap = moving;
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
  auto table = ServerBytes::make(*bytes);
  if (!table) return false;
  tables_.push_back(std::move(*table));
  return true;
}

CompatCuckoo::Added CompatCuckoo::add_hash(KeyHash hash, std::uint64_t cap_bytes) {
  for (;;) {
    for (std::size_t n = tables_.size(); n-- > 0;) {
      if (std::uint8_t* const gap = place_of(n, hash, 0)) {
        *gap = hash.fingerprint;
        ++fields_.keys;
        return Added::fresh;
      }
    }
    if (fits_newest(hash)) {
      ++fields_.keys;
      return Added::fresh;
    }
    if (fields_.expansion == 0 || tables_.size() == most_tables) return Added::full;
    if (!grow(cap_bytes)) return Added::no_memory;
  }
}

CompatCuckoo::Added CompatCuckoo::add(std::string_view key, std::uint64_t cap_bytes) {
  return add_hash(hash_of(key), cap_bytes);
}

CompatCuckoo::Added CompatCuckoo::add_new(std::string_view key, std::uint64_t cap_bytes) {
  return may_contain(key) ? Added::seen : add_hash(hash_of(key), cap_bytes);
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
    *place = 0;
    // A header may have said fewer keys than its tables hold.
    if (fields_.keys > 0) --fields_.keys;
    if (fields_.removed < UINT64_MAX) ++fields_.removed;
    const double tolerated = static_cast<double>(fields_.keys) * tolerated_removals;
    if (tables_.size() > 1 && static_cast<double>(fields_.removed) > tolerated) {
      compact(Compaction::while_tables_empty);
    }
    return true;
  }
  return false;
}

// Moves what it can of one table into older ones; true when nothing is left in it.
bool CompatCuckoo::empties_into_older(std::size_t table) {
  bool empty = true;
  for (std::size_t at = 0; at < tables_[table].size(); ++at) {
    std::uint8_t& fingerprint = tables_[table].data()[at];
    if (fingerprint == 0) continue;
    // A bucket's number, cut to the size of an older table, is the home there.
    const std::uint64_t home = at / fields_.bucket_size;
    const KeyHash hash{home, other_home(home, fingerprint), fingerprint};
    std::uint8_t* gap = nullptr;
    for (std::size_t older = 0; older < table && gap == nullptr; ++older) {
      gap = place_of(older, hash, 0);
    }
    if (gap == nullptr) {
      empty = false;
    } else {
      *gap = std::exchange(fingerprint, std::uint8_t{0});
    }
  }
  return empty;
}

void CompatCuckoo::compact(Compaction compaction) {
  for (std::size_t n = tables_.size(); n-- > 1;) {
    if (empties_into_older(n)) {
      if (n + 1 == tables_.size()) tables_.pop_back();
    } else if (compaction == Compaction::while_tables_empty) {
      break;
    }
  }
  fields_.removed = 0;
}

// -- the saved form -------------------------------------------------------------------------------

std::uint64_t CompatCuckoo::payload_bytes() const {
  std::uint64_t sum = 0;
  for (const ServerBytes& table : tables_) sum += table.size();
  return sum;
}

std::uint64_t CompatCuckoo::memory_bytes() const {
  return sizeof(CompatCuckoo) + tables_.capacity() * sizeof(ServerBytes) + payload_bytes();
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

CompatCuckoo::Chunk CompatCuckoo::chunk(std::uint64_t position) const {
  if (position == 0) return {};
  std::uint64_t offset = position - 1;
  for (const ServerBytes& table : tables_) {
    if (offset >= table.size()) {
      offset -= table.size();
      continue;
    }
    const std::uint64_t length = std::min<std::uint64_t>(most_chunk_bytes, table.size() - offset);
    return {
        position + length,
        {reinterpret_cast<const char*>(table.data()) + offset, static_cast<std::size_t>(length)}};
  }
  return {};
}

bool CompatCuckoo::load_chunk(std::uint64_t next, std::string_view bytes) {
  if (bytes.empty() || next < bytes.size() + 1) return false;
  std::uint64_t offset = next - bytes.size() - 1;
  for (ServerBytes& table : tables_) {
    if (offset >= table.size()) {
      offset -= table.size();
      continue;
    }
    if (bytes.size() > table.size() - offset) return false;
    std::memcpy(table.data() + offset, bytes.data(), bytes.size());
    return true;
  }
  return false;
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

}  // namespace bloomery::redis

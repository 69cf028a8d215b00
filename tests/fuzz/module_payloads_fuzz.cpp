// What RESTORE, an RDB file and LOADCHUNK bring to bloomery.so: every filter that is loaded can be
// asked, added to, saved and loaded again to the same.
//
//    engine | fields ...      numbers, reals and texts of an RDB file, as each is asked for
//    engine | piece, piece    of SCANDUMP, each behind its length
//
// The checksums of native chunks are made to fit.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <bloomery/detail/hash/xxh3.hpp>
#include <bloomery/served/native/native_bloom.hpp>
#include <bloomery/served/native/native_cuckoo.hpp>
#include <bloomery/served/redisbloom/compat_bloom.hpp>
#include <bloomery/served/redisbloom/compat_cuckoo.hpp>

#include <tests/fuzz/byte_feed.hpp>
#include <tests/fuzz/must.hpp>

namespace bloomery::fuzz {
namespace {

using namespace detail::served;

// What one key may take, here. Filters of RedisBloom may be chains of thousands of small tables.
constexpr std::uint64_t native_cap = std::uint64_t{1} << 17;
constexpr std::uint64_t compat_cap = std::uint64_t{1} << 10;
constexpr std::string_view keys[] = {"", "a", "key 1", "key 2", "key 3", "key 17"};

// Native chunks end in a checksum of all before it.
std::string with_sum(std::string_view piece) {
  std::string bytes(piece);
  if (bytes.size() < 24 || !bytes.starts_with("BLMRYset")) return bytes;
  const std::uint64_t sum = detail::xxh3_64(bytes.data(), bytes.size() - 8, 0);
  std::memcpy(bytes.data() + bytes.size() - 8, &sum, sizeof sum);
  return bytes;
}

std::string piece_from(ByteFeed& feed) { return with_sum(feed.text(feed.number<std::uint16_t>())); }

HostBytes host_bytes(std::string_view text) {
  auto bytes = HostBytes::make(text.size());
  if (!bytes) return {};
  std::memcpy(bytes->data(), text.data(), text.size());
  return std::move(*bytes);
}

class FedFields final : public FieldReader {
 public:
  explicit FedFields(ByteFeed& feed) : feed_(feed) {}
  bool failed() const override { return failed_; }
  std::uint64_t number() override { return next<std::uint64_t>(); }
  double real() override { return next<double>(); }
  HostBytes bytes() override {
    failed_ |= feed_.left() < 2;
    return failed_ ? HostBytes{} : host_bytes(piece_from(feed_));
  }

 private:
  template <class T>
  T next() {
    failed_ |= feed_.left() < sizeof(T);
    return failed_ ? T{} : feed_.number<T>();
  }
  ByteFeed& feed_;
  bool failed_ = false;
};

using Field = std::variant<std::uint64_t, double, std::string>;

class Kept final : public FieldWriter {
 public:
  void number(std::uint64_t number) override { fields.emplace_back(number); }
  void real(double number) override { fields.emplace_back(number); }
  void bytes(std::string_view bytes) override { fields.emplace_back(std::string(bytes)); }
  void zeros(std::uint64_t count) override { fields.emplace_back(std::string(count, '\0')); }
  std::vector<Field> fields;
};

class KeptFields final : public FieldReader {
 public:
  explicit KeptFields(const std::vector<Field>& fields) : fields_(fields) {}
  bool failed() const override { return failed_; }
  std::uint64_t number() override { return next<std::uint64_t>(); }
  double real() override { return next<double>(); }
  HostBytes bytes() override { return host_bytes(next<std::string>()); }

 private:
  template <class T>
  T next() {
    failed_ |= at_ == fields_.size() || !std::holds_alternative<T>(fields_[at_]);
    return failed_ ? T{} : std::get<T>(fields_[at_++]);
  }
  const std::vector<Field>& fields_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

std::vector<Field> saved(const FilterBody& body) {
  Kept kept;
  body.save(kept);
  return std::move(kept.fields);
}

// Why the last filter was not loaded.
std::string said;

// One way to hold filters: from fields, and from the first piece of a dump.
template <class Body>
struct Engine;
template <class Native>
struct NativeEngine {
  static constexpr std::uint64_t cap_bytes = native_cap;
  static std::unique_ptr<Native> owned(Result<Native> set) {
    if (!set) said = set.error().sentence;
    return set ? std::make_unique<Native>(std::move(*set)) : nullptr;
  }
  static auto from_fields(FieldReader& fields) {
    return owned(load_pieces<Native>(fields, cap_bytes));
  }
  static auto from_piece(std::string_view first) { return owned(Native::load(first, cap_bytes)); }
};
template <class Compat, int encoding>
struct CompatEngine {
  static constexpr std::uint64_t cap_bytes = compat_cap;
  static std::unique_ptr<Compat> owned(Result<std::unique_ptr<Compat>> set) {
    if (!set) said = set.error().sentence;
    return set ? std::move(*set) : nullptr;
  }
  static auto from_fields(FieldReader& fields) { return owned(Compat::load(fields, encoding)); }
  static auto from_piece(std::string_view first) {
    return owned(Compat::from_header(first, cap_bytes));
  }
};
template <>
struct Engine<NativeBloom> : NativeEngine<NativeBloom> {};
template <>
struct Engine<NativeCuckoo> : NativeEngine<NativeCuckoo> {};
template <>
struct Engine<CompatBloom> : CompatEngine<CompatBloom, 4> {};
template <>
struct Engine<CompatCuckoo> : CompatEngine<CompatCuckoo, 4> {};

template <class Body>
void check_saved(const Body& body) {
  const auto fields = saved(body);
  KeptFields reader(fields);
  const auto again = Engine<Body>::from_fields(reader);
  must(again != nullptr, "what was saved can be loaded", said);
  must(saved(*again) == fields, "what was loaded is what was saved");
  const auto twin = body.clone();
  must(twin != nullptr && saved(*twin) == fields, "a clone is the same");
  // Piece by piece, as SCANDUMP and LOADCHUNK do.
  std::unique_ptr<Body> loaded;
  for_each_piece(body, [&](std::uint64_t next, std::string_view bytes) {
    if (loaded == nullptr) {
      loaded = Engine<Body>::from_piece(bytes);
      must(loaded != nullptr, "the first piece of a dump can be loaded", said);
    } else {
      must(loaded->load_piece(next, bytes).has_value(), "a piece of a dump can be loaded");
    }
  });
  if (loaded != nullptr) must(saved(*loaded) == fields, "a dump that is loaded is the filter");
}

void ask(const FilterBody& body, bool answers[]) {
  body.may_contain_all(keys, {answers, std::size(keys)});
}

void use(BloomBody& body, std::uint64_t cap_bytes) {
  body.rate_now();
  body.info();
  body.debug_lines();
  AddOutcome added[std::size(keys)];
  const std::size_t done = body.add_all(keys, cap_bytes, added);
  bool answers[std::size(keys)];
  ask(body, answers);
  // A window may be for fewer keys.
  const bool window = body.native() != nullptr && body.native()->want().window != 0;
  for (std::size_t i = window && done > 0 ? done - 1 : 0; i < done; ++i)
    must(!is_there(added[i]) || answers[i], "a key that was added is there");
}

void use(CuckooBody& body, std::uint64_t cap_bytes) {
  body.info();
  body.debug_line();
  AddOutcome added[std::size(keys)];
  body.add_all(keys, {.only_absent = false, .cap_bytes = cap_bytes}, added);
  bool answers[std::size(keys)];
  ask(body, answers);
  for (std::size_t i = 0; i < std::size(keys); ++i) {
    if (!is_there(added[i])) continue;
    must(answers[i], "a key that was added is there");
    must(body.count(keys[i]) > 0, "a key that was added counts");
  }
  body.add_all(keys, {.only_absent = true, .cap_bytes = cap_bytes}, added);
  if (is_there(added[2])) must(body.remove(keys[2]), "a key that is there can be removed");
  body.compact({.steps = 100});
}

template <class Body>
void check(ByteFeed& feed, bool as_fields) {
  std::unique_ptr<Body> body;
  if (as_fields) {
    FedFields fields(feed);
    body = Engine<Body>::from_fields(fields);
  } else {
    body = Engine<Body>::from_piece(piece_from(feed));
    while (body != nullptr && feed.left() > 0) {
      const auto next = feed.number<std::uint16_t>();
      // Refused pieces leave a filter that is used all the same.
      static_cast<void>(body->load_piece(next, piece_from(feed)));
    }
  }
  if (body == nullptr) return;
  bool answers[std::size(keys)];
  ask(*body, answers);
  body->memory_bytes();
  check_saved(*body);
  use(*body, Engine<Body>::cap_bytes);
  check_saved(*body);
}

// Sizes from outside are asked of the host, which does not have everything.
void* take_zeroed(std::size_t bytes) {
  return bytes > (std::size_t{1} << 22) ? nullptr : std::calloc(1, bytes);
}

}  // namespace
}  // namespace bloomery::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomery::fuzz;
  host().take_zeroed = take_zeroed;
  ByteFeed feed(data, size);
  const std::uint8_t how = feed.byte();
  const bool as_fields = (how & 4) != 0;
  switch (how & 3) {
    case 0: check<NativeBloom>(feed, as_fields); break;
    case 1: check<NativeCuckoo>(feed, as_fields); break;
    case 2: check<CompatBloom>(feed, as_fields); break;
    default: check<CompatCuckoo>(feed, as_fields); break;
  }
  return 0;
}

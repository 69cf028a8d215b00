// The fields of RDB files without a server: their order, and the way back.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include <bloomery/served/native/native_bloom.hpp>
#include <bloomery/served/native/native_cuckoo.hpp>
#include <bloomery/served/redisbloom/compat_bloom.hpp>
#include <bloomery/served/redisbloom/compat_cuckoo.hpp>

namespace bloomery::detail::served {
namespace {

using Field = std::variant<std::uint64_t, double, std::string>;
using Fields = std::vector<Field>;

class Writer final : public FieldWriter {
 public:
  void number(std::uint64_t number) override { fields.emplace_back(number); }
  void real(double number) override { fields.emplace_back(number); }
  void bytes(std::string_view bytes) override { fields.emplace_back(std::string(bytes)); }
  void zeros(std::uint64_t count) override { fields.emplace_back(std::string(count, '\0')); }
  Fields fields;
};

class Reader final : public FieldReader {
 public:
  explicit Reader(const Fields& fields) : fields_(fields) {}
  bool failed() const override { return failed_; }
  std::uint64_t number() override { return next<std::uint64_t>(); }
  double real() override { return next<double>(); }
  HostBytes bytes() override {
    const auto text = next<std::string>();
    auto bytes = HostBytes::make(text.size());
    if (!bytes) return {};
    std::memcpy(bytes->data(), text.data(), text.size());
    return std::move(*bytes);
  }

 private:
  template <class T>
  T next() {
    failed_ |= at_ == fields_.size() || !std::holds_alternative<T>(fields_[at_]);
    return failed_ ? T{} : std::get<T>(fields_[at_++]);
  }
  const Fields& fields_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

Fields saved(const FilterBody& body) {
  Writer writer;
  body.save(writer);
  return writer.fields;
}

std::string key_of(int n) { return "key " + std::to_string(n); }

// Red means: RDB files of ours and of RedisBloom cannot be exchanged.
TEST(SavedFields, ABloomOfRedisBloomHasItsFields) {
  const auto bloom = CompatBloom::make({.rate = 0.1, .capacity = 10}).value();
  bloom->add("item1");
  const Fields expected{std::uint64_t{1},
                        std::uint64_t{1},
                        std::uint64_t{5},
                        std::uint64_t{2},
                        std::uint64_t{10},
                        0.05,
                        std::uint64_t{5},
                        std::bit_cast<double>(std::uint64_t{0x4018'f0de'9ed4'f74a}),
                        std::uint64_t{64},
                        std::uint64_t{0},
                        std::string("\1\x08\0\x80\0\4\x20\0", 8),
                        std::uint64_t{1}};
  EXPECT_EQ(saved(*bloom), expected);
}

TEST(SavedFields, ACuckooOfRedisBloomHasItsFields) {
  const auto cuckoo = CompatCuckoo::make({.capacity = 8}).value();
  const Fields empty{std::uint64_t{1}, std::uint64_t{4}, std::uint64_t{0},
                     std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{20},
                     std::uint64_t{1}, std::uint64_t{4}, std::string(8, '\0')};
  EXPECT_EQ(saved(*cuckoo), empty);
  cuckoo->add("item1");
  EXPECT_EQ(std::get<std::string>(saved(*cuckoo).back()), std::string("\0\0\0\0\7\0\0\0", 8));
}

TEST(SavedFields, WhatWasSavedIsLoadedAgain) {
  const auto bloom = CompatBloom::make({.capacity = 20}).value();
  const auto cuckoo = CompatCuckoo::make({.capacity = 20, .expansion = 2}).value();
  auto native_bloom = NativeBloom::make({}).value();
  auto native_cuckoo = NativeCuckoo::make({}).value();
  for (int n = 0; n < 1000; ++n) {
    const std::string key = key_of(n);
    bloom->add(key), cuckoo->add(key), native_bloom.add(key), native_cuckoo.add(key);
  }
  const auto with = [](const FilterBody& body, auto load) {
    const Fields fields = saved(body);
    Reader reader(fields);
    EXPECT_EQ(saved(*load(reader)), fields);
  };
  with(*bloom, [](FieldReader& from) { return CompatBloom::load(from, 4).value(); });
  with(*cuckoo, [](FieldReader& from) { return CompatCuckoo::load(from, 4).value(); });
  with(native_bloom, [](FieldReader& from) {
    return std::make_unique<NativeBloom>(load_pieces<NativeBloom>(from, 0).value());
  });
  with(native_cuckoo, [](FieldReader& from) {
    return std::make_unique<NativeCuckoo>(load_pieces<NativeCuckoo>(from, 0).value());
  });
}

// LOADCHUNK of a header that says more keys than its tables hold, then CF.ADD: the RDB file with
// that filter must be one that the server can load.
TEST(SavedFields, ACuckooWhoseHeaderLiesCanBeLoadedAgain) {
  const auto full = CompatCuckoo::make({.capacity = 8}).value();
  std::string header = full->piece(0).own;
  const std::uint64_t places = full->payload_bytes();
  std::memcpy(header.data(), &places, sizeof places);
  const auto cuckoo = CompatCuckoo::from_header(header, 1 << 20).value();
  for (int n = 0; n < 20; ++n) {
    cuckoo->add(key_of(n));
    const Fields fields = saved(*cuckoo);
    Reader reader(fields);
    ASSERT_TRUE(CompatCuckoo::load(reader, 4)) << n;
  }
  for (int n = 0; n < 20; ++n) cuckoo->remove(key_of(n));
  cuckoo->compact({.steps = 1000});
  const Fields fields = saved(*cuckoo);
  Reader reader(fields);
  EXPECT_TRUE(CompatCuckoo::load(reader, 4));
}

// Each of them ends early, and every load says so.
TEST(SavedFields, WhatIsCutOffIsRefused) {
  const auto bloom = CompatBloom::make({.capacity = 20}).value();
  const auto cuckoo = CompatCuckoo::make({.capacity = 20}).value();
  const auto native = NativeCuckoo::make({}).value();
  const auto cut = [](const FilterBody& body, auto load) {
    Fields fields = saved(body);
    while (!fields.empty()) {
      fields.pop_back();
      Reader reader(fields);
      EXPECT_FALSE(load(reader)) << fields.size();
    }
  };
  cut(*bloom, [](FieldReader& from) { return CompatBloom::load(from, 4).has_value(); });
  cut(*cuckoo, [](FieldReader& from) { return CompatCuckoo::load(from, 4).has_value(); });
  cut(native, [](FieldReader& from) { return load_pieces<NativeCuckoo>(from, 0).has_value(); });
  Reader none({});
  EXPECT_EQ(CompatBloom::load(none, 5).error().code, Code::unsupported);
  EXPECT_EQ(CompatCuckoo::load(none, 3).error().code, Code::unsupported);
}

}  // namespace
}  // namespace bloomery::detail::served

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <leveldb/db.h>
#include <leveldb/filter_policy.h>

#include <adapters/leveldb_policy.hpp>
#include <bench/programs/leveldb_reads.hpp>

namespace bloomery::detail {
namespace {

std::string decimal_key(std::uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "user%012llu", static_cast<unsigned long long>(number));
  return text;
}
std::string binary_key(std::uint64_t number) {
  std::string text;
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(number >> shift & 255);
  return text;
}

// No two neighbours alike.
std::string scattered_key(std::uint64_t number) {
  return binary_key(number * 0x9e37'79b9'7f4a'7c15u ^ number >> 7);
}

std::vector<std::string> some_keys(std::size_t n, std::uint64_t first = 0) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < n; ++i) keys.push_back(decimal_key(first + i));
  return keys;
}

std::string filter_of(const leveldb::FilterPolicy& policy, const std::vector<std::string>& keys) {
  const std::vector<leveldb::Slice> slices(keys.begin(), keys.end());
  std::string filter = "before";  // LevelDB appends filters to one string
  policy.CreateFilter(slices.data(), static_cast<int>(slices.size()), &filter);
  EXPECT_EQ(filter.substr(0, 6), "before");
  return filter.substr(6);
}

class Directory {
 public:
  Directory() {
    std::string name = (std::filesystem::temp_directory_path() / "bloomery-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

TEST(LevelDbPolicy, EveryKeyIsFoundWhateverTheirNumber) {
  for (const double bits : {1.0, 2.5, 6.0, 10.0, 16.0, 30.0, 64.0}) {
    const LevelDbPolicy policy(bits);
    for (const std::size_t n : {1, 2, 3, 7, 20, 40, 333, 5000}) {
      const auto keys = some_keys(n);
      const std::string filter = filter_of(policy, keys);
      for (const std::string& key : keys) ASSERT_TRUE(policy.KeyMayMatch(key, filter));
    }
  }
}

TEST(LevelDbPolicy, TakesNoMoreBytesThanLevelDbsOwn) {
  for (const int bits : {1, 6, 8, 10, 12, 16, 30}) {
    const std::unique_ptr<const leveldb::FilterPolicy> own(leveldb::NewBloomFilterPolicy(bits));
    const LevelDbPolicy policy(bits);
    for (const std::size_t n : {0, 1, 5, 20, 41, 1000})
      EXPECT_LE(filter_of(policy, some_keys(n)).size(), filter_of(*own, some_keys(n)).size());
  }
}

TEST(LevelDbPolicy, OddKeysAreKeys) {
  const LevelDbPolicy policy;
  const std::vector<std::string> keys{"", std::string(1, '\0'), std::string(100'000, 'x'), "\xff"};
  const std::string filter = filter_of(policy, keys);
  for (const std::string& key : keys) EXPECT_TRUE(policy.KeyMayMatch(key, filter));
}

TEST(LevelDbPolicy, AFilterOfNoKeysTurnsAllAway) {
  const LevelDbPolicy policy;
  const std::string filter = filter_of(policy, {});
  EXPECT_FALSE(policy.KeyMayMatch("", filter));
  EXPECT_FALSE(policy.KeyMayMatch("key", filter));
}

TEST(LevelDbPolicy, KeysThatComeSeveralTimesAreOneKey) {
  const LevelDbPolicy policy;
  std::vector<std::string> repeated;
  for (const std::string& key : some_keys(20)) repeated.insert(repeated.end(), 5, key);
  EXPECT_EQ(filter_of(policy, repeated), filter_of(policy, some_keys(20)));
}

TEST(LevelDbPolicy, IsReadWhateverTheBitsAKeyOfTheReader) {
  const auto keys = some_keys(20);
  const std::string filter = filter_of(LevelDbPolicy(16), keys);
  for (const std::string& key : keys) EXPECT_TRUE(LevelDbPolicy(4).KeyMayMatch(key, filter));
}

// A changed law is another policy: databases have filters of the old one. Then the name changes.
TEST(LevelDbPolicy, GoldenLaw) {
  const LevelDbPolicy policy(10);
  EXPECT_STREQ(policy.Name(), "bloomery.LevelDbPolicy.1");
  std::string hex;
  for (const unsigned char byte : filter_of(policy, {"ann", "bob", "eve", "joe", "sue", "tom"})) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", byte);
    hex += two;
  }
  EXPECT_EQ(hex, "326ff9256005279c97");
}

TEST(LevelDbPolicy, FiltersWithoutSenseSayMaybe) {
  const LevelDbPolicy policy;
  for (std::size_t length = 0; length < 100; ++length) {
    EXPECT_TRUE(policy.KeyMayMatch("key", std::string(length, '\0')));
    EXPECT_TRUE(policy.KeyMayMatch("key", std::string(length, '\xff')));
  }
  EXPECT_TRUE(policy.KeyMayMatch("key", "x"));
}

TEST(LevelDbPolicy, NoSingleChangedBitHidesAKey) {
  const LevelDbPolicy policy;
  for (const std::size_t n : {1, 20, 37}) {
    const auto keys = some_keys(n);
    const std::string filter = filter_of(policy, keys);
    for (std::size_t bit = 0; bit < filter.size() * 8; ++bit) {
      std::string broken = filter;
      broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ 1 << bit % 8);
      for (const std::string& key : keys) ASSERT_TRUE(policy.KeyMayMatch(key, broken)) << bit;
    }
  }
}

TEST(LevelDbPolicy, RandomBytesAreReadWithoutHarm) {
  const LevelDbPolicy policy;
  constexpr unsigned seed = 11;
  SCOPED_TRACE("seed 11");
  std::mt19937 random(seed);
  int maybe = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes(random() % 60, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    maybe += policy.KeyMayMatch("key", bytes);
  }
  EXPECT_GT(maybe, 50'000) << "every second has the wrong parity";
}

TEST(LevelDbPolicy, ImpossibleBitsAreRefused) {
  for (const double bits : {0.0, 0.99, -1.0, 65.0, std::nan("")})
    EXPECT_THROW(LevelDbPolicy{bits}, std::invalid_argument);
}

// Twenty keys: what LevelDB gives a filter.
double rate_at_twenty(const leveldb::FilterPolicy& policy) {
  constexpr std::uint64_t filters = 2000, strangers = 200;
  std::uint64_t passed = 0;
  for (std::uint64_t f = 0; f < filters; ++f) {
    const std::string filter = filter_of(policy, some_keys(20, f * 20));
    for (std::uint64_t i = 0; i < strangers; ++i)
      passed += policy.KeyMayMatch(binary_key(f * strangers + i), filter);
  }
  return static_cast<double>(passed) / static_cast<double>(filters * strangers);
}

TEST(LevelDbPolicy, SmallFiltersLetFewerPassThanAPlainBloomFilterCould) {
  // The best plain filter of 200 bits and 20 keys lets 0.856 % pass.
  EXPECT_LT(rate_at_twenty(LevelDbPolicy(10)), 0.0060);
  EXPECT_LT(rate_at_twenty(LevelDbPolicy(16)), 0.00035);
  const std::unique_ptr<const leveldb::FilterPolicy> own(leveldb::NewBloomFilterPolicy(10));
  EXPECT_LT(rate_at_twenty(LevelDbPolicy(10)), rate_at_twenty(*own));
}

TEST(LevelDbPolicy, ADatabaseFindsEveryKeyAlsoWhenOpenedAgain) {
  const Directory directory;
  const std::string name = (directory / "db").string();
  const LevelDbPolicy policy(10);
  leveldb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 64 << 10;  // many files, several levels
  constexpr std::uint64_t keys = 20'000;

  const auto with_database = [&](const leveldb::FilterPolicy* filter, auto&& work) {
    options.filter_policy = filter;
    leveldb::DB* opened = nullptr;
    ASSERT_TRUE(leveldb::DB::Open(options, name, &opened).ok());
    const std::unique_ptr<leveldb::DB> database(opened);
    work(*database);
  };
  const auto expect_all = [&](leveldb::DB& database) {
    std::string value;
    for (std::uint64_t i = 0; i < keys; ++i) {
      ASSERT_TRUE(database.Get({}, decimal_key(2 * i), &value).ok()) << i;
      ASSERT_EQ(value, std::to_string(i));
      ASSERT_TRUE(database.Get({}, decimal_key(2 * i + 1), &value).IsNotFound()) << i;
    }
  };
  with_database(&policy, [&](leveldb::DB& database) {
    // Twice, so that files hold several versions of a key.
    for (const bool last : {false, true})
      for (std::uint64_t i = 0; i < keys; ++i)
        ASSERT_TRUE(database.Put({}, decimal_key(2 * i), last ? std::to_string(i) : "x").ok());
    expect_all(database);
  });
  with_database(&policy, expect_all);
  // Others read it without our filters, and we read what they have written.
  const std::unique_ptr<const leveldb::FilterPolicy> own(leveldb::NewBloomFilterPolicy(10));
  with_database(own.get(), [&](leveldb::DB& database) {
    expect_all(database);
    database.CompactRange(nullptr, nullptr);
  });
  with_database(&policy, expect_all);
}

// Nothing may be thrown through LevelDB. So many keys are more than a vector takes.
TEST(LevelDbPolicy, WithoutMemoryTheFilterIsEmptyAndSaysMaybe) {
  const LevelDbPolicy policy(10);
  std::string filter = "before";
  policy.CreateFilter(nullptr, -1, &filter);
  EXPECT_EQ(filter, "before");
  EXPECT_TRUE(policy.KeyMayMatch("key", ""));
}

std::uint64_t reads_of_strangers(const leveldb::FilterPolicy* policy,
                                 std::string (*key_of)(std::uint64_t)) {
  const Directory directory;
  constexpr std::uint64_t keys = 20'000;
  bench::LevelDbOfEvens database(directory / "db", policy, keys, key_of);
  std::uint64_t before = database.reads();
  for (std::uint64_t i = 0; i < keys; i += 10) EXPECT_TRUE(database.has(2 * i));
  EXPECT_EQ(database.reads() - before, keys / 10) << "each key is one block";
  before = database.reads();
  for (std::uint64_t i = 0; i + 1 < keys; ++i) EXPECT_FALSE(database.has(2 * i + 1));
  return database.reads() - before;
}

TEST(LevelDbPolicy, BlocksAreReadNoMoreOftenThanWithLevelDbsOwn) {
  for (const auto key_of : {decimal_key, binary_key, scattered_key}) {
    const std::uint64_t without = reads_of_strangers(nullptr, key_of);
    EXPECT_GT(without, 19'000u);
    for (const int bits : {8, 10, 16}) {
      const LevelDbPolicy policy(bits);
      const std::unique_ptr<const leveldb::FilterPolicy> own(leveldb::NewBloomFilterPolicy(bits));
      const std::uint64_t ours = reads_of_strangers(&policy, key_of);
      const std::uint64_t theirs = reads_of_strangers(own.get(), key_of);
      EXPECT_LE(ours, theirs) << bits << " bits a key";
      EXPECT_LT(ours, without / 10);
    }
  }
}

}  // namespace
}  // namespace bloomery::detail

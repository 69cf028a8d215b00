// The quotient table against a std::map of prefixes: order, spills, splitting, rows, damage.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <bloomery/detail/bits/quotient_table.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::detail {
namespace {

using Size = QuotientTable::Size;

std::vector<Prefix> prefixes_of(const QuotientTable& table) {
  std::vector<Prefix> prefixes;
  QuotientTable::Reader reader(table);
  while (const auto prefix = reader.next()) prefixes.push_back(*prefix);
  return prefixes;
}

// Prefixes by where they begin; no one covers another.
class Truth {
 public:
  bool covers(std::uint64_t hash) const {
    auto after = starts_.upper_bound(hash);
    if (after == starts_.begin()) return false;
    --after;
    return Prefix{after->first, after->second}.end() >= hash;
  }
  bool add(std::uint64_t hash, unsigned bits) {
    if (covers(hash)) return false;
    starts_[bits == 64 ? hash : hash >> (64 - bits) << (64 - bits)] = bits;
    return true;
  }
  std::vector<Prefix> prefixes() const {
    std::vector<Prefix> prefixes;
    for (const auto& [start, bits] : starts_) prefixes.push_back({start, bits});
    return prefixes;
  }
  std::size_t size() const { return starts_.size(); }

 private:
  std::map<std::uint64_t, unsigned> starts_;
};

// Hashes that crowd in some places, so that blocks spill, also over several blocks.
std::uint64_t crowded(std::mt19937_64& random) {
  const std::uint64_t hash = random();
  switch (random() % 4) {
    case 0: return hash >> 2 | std::uint64_t{3} << 62;
    case 1: return hash & 0x5fff'ffff'ffff'ffff;
    default: return hash;
  }
}

TEST(QuotientTable, DrivenAtRandomAgreesWithAMapOfPrefixes) {
  for (const Size size : {Size{6, 64, 12}, Size{9, 20, 2}, Size{9, 64, 9}, Size{10, 33, 13},
                          Size{10, 1, 49}, Size{12, 48, 4}, Size{7, 63, 33}, Size{9, 16, 49}}) {
    SCOPED_TRACE(testing::Message()
                 << size.quotient_bits << " " << size.slots << " " << size.field_bits);
    auto table = QuotientTable::make(size).value();
    Truth truth;
    std::mt19937_64 random(size.quotient_bits * 100 + size.slots);
    const unsigned bits = size.quotient_bits + size.field_bits - 1;
    std::uint64_t refused = 0;
    for (std::uint64_t i = 0; i < table.slots() * 2 && refused < 20; ++i) {
      const std::uint64_t hash = crowded(random);
      std::size_t taken = 0;
      const bool was_there = truth.covers(hash);
      const bool fresh = table.add_step(&hash, 1, 0, &taken) != 0;
      if (taken == 0) {
        ASSERT_FALSE(fresh);
        ASSERT_FALSE(was_there);
        ++refused;
        continue;
      }
      ASSERT_EQ(fresh, truth.add(hash, bits)) << i;
      const std::uint64_t asked = crowded(random);
      ASSERT_EQ(table.ask_step(&asked, 1, 0) != 0, truth.covers(asked)) << i;
      ASSERT_EQ(table.ask_step(&hash, 1, 0), 1) << i;
      if (i % 61 == 0) {
        ASSERT_EQ(prefixes_of(table), truth.prefixes()) << i;
      }
    }
    EXPECT_EQ(prefixes_of(table), truth.prefixes());
    EXPECT_EQ(table.entries(), truth.size());
    EXPECT_GT(truth.size(), 0);
    // What was written is what a stranger would accept, byte for byte.
    auto opened = QuotientTable::open(size, Memory::copy_of(table.memory().bytes()).value());
    ASSERT_TRUE(opened) << opened.error().sentence;
    EXPECT_EQ(opened->entries(), table.entries());
    EXPECT_EQ(opened->held(), table.held());
  }
}

// Copies are kept, found, counted and taken out one by one; what is left has the bytes that the
// same prefixes give when they are poured in order.
TEST(QuotientTable, AMultisetDrivenAtRandomAgreesWithAMultisetOfPrefixes) {
  for (const Size size : {Size{6, 64, 12}, Size{9, 20, 2}, Size{9, 64, 9}, Size{10, 33, 13},
                          Size{10, 2, 49}, Size{12, 48, 4}, Size{7, 63, 33}, Size{9, 16, 49}}) {
    SCOPED_TRACE(testing::Message()
                 << size.quotient_bits << " " << size.slots << " " << size.field_bits);
    auto table = QuotientTable::make(size).value();
    const unsigned bits = size.quotient_bits + size.field_bits - 1;
    const auto prefix_of = [&](std::uint64_t hash) {
      return bits == 64 ? hash : hash >> (64 - bits) << (64 - bits);
    };
    std::multiset<std::uint64_t> truth;
    std::mt19937_64 random(size.quotient_bits * 100 + size.slots);
    std::vector<std::uint64_t> added;
    std::uint64_t removed = 0;
    // Fills up, empties to a third, fills up again, empties.
    for (const double until : {0.9, 0.3, 0.8, 0.0}) {
      const auto goal = static_cast<std::uint64_t>(until * static_cast<double>(table.slots()));
      const bool grows = goal > truth.size();
      for (std::uint64_t i = 0;
           i < table.slots() * 20 && grows == (truth.size() < goal) && truth.size() != goal; ++i) {
        const bool again = !added.empty() && random() % 4 == 0;
        const std::uint64_t hash = again ? added[random() % added.size()] : crowded(random);
        if (random() % 8 < (grows ? 6U : 1U)) {
          if (table.add_copy(hash)) {
            truth.insert(prefix_of(hash));
            added.push_back(hash);
          }
        } else {
          std::uint64_t out = random();
          if (!added.empty()) {
            std::swap(added[random() % added.size()], added.back());
            out = added.back();
            added.pop_back();
          }
          const auto at = truth.find(prefix_of(out));
          ASSERT_EQ(table.remove(out), at != truth.end());
          if (at != truth.end()) truth.erase(at), ++removed;
        }
        ASSERT_EQ(table.count(hash), truth.count(prefix_of(hash)));
        ASSERT_EQ(table.ask_step(&hash, 1, 0) != 0, truth.contains(prefix_of(hash)));
        ASSERT_EQ(table.entries(), truth.size());
      }
      std::vector<Prefix> wanted;
      for (const std::uint64_t start : truth) wanted.push_back({start, bits});
      ASSERT_EQ(prefixes_of(table), wanted);
      auto opened =
          QuotientTable::open(size, Memory::copy_of(table.memory().bytes()).value(), true);
      ASSERT_TRUE(opened) << opened.error().sentence;
      EXPECT_EQ(opened->held(), table.held());
      auto poured = QuotientTable::make(size).value();
      ASSERT_TRUE(QuotientTable::pour(table, poured));
      EXPECT_TRUE(std::ranges::equal(poured.memory().bytes(), table.memory().bytes()));
    }
    EXPECT_EQ(table.entries(), 0);
    EXPECT_GT(removed, table.slots() / 2);
  }
}

TEST(QuotientTable, AMultisetIsNoSetAndASetNoMultiset) {
  const Size size{8, 60, 6};
  auto copies = QuotientTable::make(size).value();
  ASSERT_TRUE(copies.add_copy(77) && copies.add_copy(77));
  const auto copy = [](const QuotientTable& table) {
    return Memory::copy_of(table.memory().bytes()).value();
  };
  EXPECT_TRUE(QuotientTable::open(size, copy(copies), true));
  EXPECT_FALSE(QuotientTable::open(size, copy(copies)));
  // A prefix that is shorter than the others cannot be removed as one of them.
  auto wider = QuotientTable::make({8, 60, 8}).value();
  ASSERT_TRUE(QuotientTable::pour(copies, wider));
  EXPECT_FALSE(QuotientTable::open({8, 60, 8}, copy(wider), true));
}

QuotientTable filled(const Size& size, std::uint64_t entries, std::uint64_t seed) {
  auto table = QuotientTable::make(size).value();
  std::mt19937_64 random(seed);
  while (table.entries() < entries) {
    const std::uint64_t hash = random();
    std::size_t taken = 0;
    table.add_step(&hash, 1, 0, &taken);
  }
  return table;
}

TEST(QuotientTable, PouredIntoAnotherItHoldsTheSamePrefixes) {
  const Size from{8, 60, 6};
  const auto table = filled(from, 210, 5);
  const auto before = prefixes_of(table);
  for (const Size to : {Size{8, 60, 6}, Size{8, 64, 9}, Size{9, 40, 5}, Size{10, 64, 12}}) {
    auto other = QuotientTable::make(to).value();
    ASSERT_TRUE(QuotientTable::pour(table, other));
    EXPECT_EQ(prefixes_of(other), before);
    EXPECT_EQ(other.entries(), table.entries());
    EXPECT_EQ(other.covered(), table.covered());
    ASSERT_TRUE(QuotientTable::open(to, Memory::copy_of(other.memory().bytes()).value()));
  }
  // Poured into its own size it has its own bytes: adding and appending obey one law.
  auto same = QuotientTable::make(from).value();
  ASSERT_TRUE(QuotientTable::pour(table, same));
  EXPECT_TRUE(std::ranges::equal(same.memory().bytes(), table.memory().bytes()));
}

// Two bits of fingerprint are used up after two doublings; then each prefix becomes two, four...
TEST(QuotientTable, APrefixWithoutFingerprintIsSplitAndCoversTheSame) {
  auto table = filled({8, 64, 3}, 150, 6);
  const auto before = prefixes_of(table);
  const double covered = table.covered();
  for (std::uint32_t quotient_bits = 9; quotient_bits <= 14; ++quotient_bits) {
    auto next = QuotientTable::make({quotient_bits, 64, 3}).value();
    ASSERT_TRUE(QuotientTable::pour(table, next));
    EXPECT_EQ(next.covered(), covered);
    EXPECT_EQ(next.entries(), before.size() << (quotient_bits <= 10 ? 0 : quotient_bits - 10));
    ASSERT_TRUE(QuotientTable::open(next.size(), Memory::copy_of(next.memory().bytes()).value()));
    for (const Prefix& prefix : before)
      for (const std::uint64_t hash : {prefix.start, prefix.end(), prefix.end() - 5})
        ASSERT_EQ(next.ask_step(&hash, 1, 0), 1);
    table = std::move(next);
  }
}

TEST(QuotientTable, ATableThatIsTooSmallSaysSo) {
  const auto table = filled({10, 64, 9}, 900, 7);
  auto small = QuotientTable::make({10, 40, 9}).value();
  EXPECT_FALSE(QuotientTable::pour(table, small));
}

// Every row of kernels leaves the same words and gives the same answers.
TEST(QuotientTable, KernelRowsAgree) {
  for (const Size size : {Size{12, 44, 12}, Size{12, 64, 23}, Size{12, 33, 7}}) {
    std::vector<std::uint64_t> hashes(3'000);
    std::mt19937_64 random(8);
    for (std::uint64_t& hash : hashes) hash = crowded(random);
    std::vector<std::uint64_t> law_words;
    std::vector<std::uint64_t> law_answers;
    for (const char* name : {"scalar", "avx2", "avx512", "neon"}) {
      const Kernels* row = kernels_named(name);
      if (row == nullptr) continue;
      SCOPED_TRACE(name);
      const auto table = QuotientTable::make(size).value();
      std::vector<std::uint64_t> answers;
      for (std::size_t done = 0; done + 64 <= hashes.size(); done += 50) {
        std::size_t taken = 0;
        const std::size_t ahead = hashes.size() - done - 50;
        answers.push_back(row->quotient_add(table.view(), hashes.data() + done, 50, ahead, &taken));
        answers.push_back(taken);
      }
      for (std::size_t done = 0; done + 64 <= hashes.size(); done += 64)
        answers.push_back(row->quotient_ask(table.view(), hashes.data() + done, 64, 0));
      const auto bytes = table.memory().bytes();
      std::vector<std::uint64_t> words(bytes.size() / 8);
      std::memcpy(words.data(), bytes.data(), bytes.size());
      if (law_words.empty()) {
        law_words = words;
        law_answers = answers;
      }
      EXPECT_EQ(words, law_words);
      EXPECT_EQ(answers, law_answers);
    }
  }
}

TEST(QuotientTable, SizesThatCanNotBeAreRefused) {
  for (const Size size : {Size{5, 64, 9}, Size{59, 64, 3}, Size{10, 0, 9}, Size{10, 65, 9},
                          Size{10, 64, 1}, Size{10, 64, 50}, Size{58, 64, 8}, Size{}}) {
    const bool sound = size == Size{};
    EXPECT_EQ(QuotientTable::check(size).has_value(), sound);
  }
  EXPECT_FALSE(QuotientTable::open({10, 64, 9}, Memory::make(800).value()));
}

// A table with any one bit turned is refused, or is another sound table: never read out of bounds.
// Counts, runs and free slots have no second meaning: turning one of their bits is always seen.
TEST(QuotientTable, ATurnedBitIsRefusedOrGivesASoundTable) {
  const Size size{8, 40, 7};
  const auto table = filled(size, 140, 9);
  const std::span<const std::byte> bytes = table.memory().bytes();
  const std::size_t block_bits = 64 * table.view().block_words;
  std::size_t accepted = 0;
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto copy = Memory::copy_of(bytes).value();
    copy.bytes()[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto opened = QuotientTable::open(size, std::move(copy));
    if (!opened) {
      EXPECT_EQ(opened.error().code, Code::damaged);
      continue;
    }
    ++accepted;
    const std::size_t in_block = bit % block_bits;
    EXPECT_GE(in_block, 80 + 40) << "a bit of the counts or of the run ends at " << bit;
    const auto prefixes = prefixes_of(*opened);
    EXPECT_EQ(prefixes.size(), table.entries());
    for (const Prefix& prefix : prefixes) ASSERT_EQ(opened->ask_step(&prefix.start, 1, 0), 1);
  }
  EXPECT_GT(accepted, 0) << "fingerprints are free";
  EXPECT_LT(accepted, table.entries() * 7);
}

}  // namespace
}  // namespace bloomery::detail

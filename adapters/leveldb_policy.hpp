// A filter policy for LevelDB: which blocks of a table file need not be read to know that a key is
// not in them.
//
//    bloomery::LevelDbPolicy policy(10);             // bits a key
//    options.filter_policy = &policy;                // must outlive the database
//
//    filter:   | bits, a multiple of 8, lowest of a byte first | parity 1, variant 3, probes-1 4 |
//              <--------------- n bytes, 8 at least ----------> <----------- 1 byte ------------>
//    probe i:  g = XXH3-64(key) * multiplier[variant] * step^i, bit = high word of g * bits
//
// LevelDB makes one filter for each 2 KiB of a file, of some twenty keys, in which chance weighs
// much: how many bits the keys share differs from filter to filter. So each filter is made in eight
// variants, with one probe fewer and one more, and the one with the fewest false positives is
// kept. Same memory as LevelDB's own; docs/benchmarks.md has the rates.
// A filter that makes no sense is answered with maybe: the number of ones, with the last byte, is
// odd, which a changed bit undoes, and zeros or ones all over never are.
// Limits:  two changed bits pass the parity; with Options::paranoid_checks LevelDB verifies its own
//          checksum. A database that was written with another policy is read correctly, without
//          filters, until compaction has rewritten its files.
// Threads: any number may call everything at once.
// See:     docs/jobs.md; leveldb_policy_test.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <numbers>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <bloomery/hash.hpp>

namespace bloomery {

class LevelDbPolicy : public leveldb::FilterPolicy {
 public:
  // Throws std::invalid_argument unless 1 <= bits_per_key <= 64.
  explicit LevelDbPolicy(double bits_per_key = 10) : bits_per_key_(bits_per_key) {
    if (!(bits_per_key >= 1 && bits_per_key <= 64))
      throw std::invalid_argument("a LevelDB policy takes from 1 to 64 bits a key");
  }

  // Stands in the files; another law needs another name.
  const char* Name() const override { return "bloomery.LevelDbPolicy.1"; }

  // Appends the filter of these keys. A key that comes several times in a row, as one that was
  // overwritten does, takes the place of one. LevelDB knows no exceptions: when memory runs out
  // nothing is appended, and an empty filter is answered with maybe.
  void CreateFilter(const leveldb::Slice* keys, int n, std::string* filter) const override {
    const std::size_t start = filter->size();
    try {
      append_filter(keys, n, filter);
    } catch (const std::exception&) {
      filter->resize(start);
    }
  }

  bool KeyMayMatch(const leveldb::Slice& key, const leveldb::Slice& filter) const override {
    if (filter.size() < least_bytes + 1) return true;
    if (!odd_ones(filter.data(), filter.size())) return true;
    const std::size_t bytes = filter.size() - 1;
    const auto last = static_cast<unsigned char>(filter[bytes]);
    const Law law{last >> 4 & 7u, (last & 15u) + 1};
    std::uint64_t g = law.first(hash_of(key));
    for (unsigned i = 0; i < law.probes; ++i, g *= step) {
      const std::uint64_t bit = mulhi(g, bytes * 8);
      if ((static_cast<unsigned char>(filter[bit / 8]) >> bit % 8 & 1) == 0) return false;
    }
    return true;
  }

 private:
  struct Law {
    unsigned variant;
    unsigned probes;
    std::uint64_t first(std::uint64_t hash) const { return hash * multipliers[variant]; }
  };
  static constexpr unsigned variants = 8;
  static constexpr unsigned most_probes = 16;
  static constexpr std::size_t least_bytes = 8;  // as LevelDB's own
  // Odd; a file that was written with them can be asked with no others.
  static constexpr std::uint64_t multipliers[variants] = {
      0x9e37'79b9'7f4a'7c15, 0x6a09'e667'f3bc'c909, 0xbb67'ae85'84ca'a73b, 0x3c6e'f372'fe94'f82b,
      0xa54f'f53a'5f1d'36f1, 0x510e'527f'ade6'82d1, 0x9b05'688c'2b3e'6c1f, 0x1f83'd9ab'fb41'bd6b};
  static constexpr std::uint64_t step = 0x5be0'cd19'137e'2179;

  // The high word of a * b: where in [0, b) the fraction a / 2^64 falls.
  static constexpr std::uint64_t mulhi(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
  }

  static std::uint64_t hash_of(const leveldb::Slice& key) {
    return Hasher{}(std::string_view(key.data(), key.size())).bits;
  }

  void append_filter(const leveldb::Slice* keys, int n, std::string* filter) const {
    std::vector<std::uint64_t> hashes;
    hashes.reserve(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i)
      if (i == 0 || keys[i] != keys[i - 1]) hashes.push_back(hash_of(keys[i]));
    const std::size_t bytes = bytes_for(hashes.size());
    const Law law = best_law(hashes, bytes);

    const std::size_t start = filter->size();
    filter->resize(start + bytes + 1);
    char* const bits = filter->data() + start;
    for (const std::uint64_t hash : hashes) {
      std::uint64_t g = law.first(hash);
      for (unsigned i = 0; i < law.probes; ++i, g *= step) {
        const std::uint64_t bit = mulhi(g, bytes * 8);
        bits[bit / 8] = static_cast<char>(bits[bit / 8] | 1 << bit % 8);
      }
    }
    bits[bytes] = static_cast<char>(law.variant << 4 | (law.probes - 1));
    if (!odd_ones(bits, bytes + 1)) bits[bytes] = static_cast<char>(bits[bytes] | 0x80);
  }

  std::size_t bytes_for(std::size_t keys) const {
    const double bits = std::ceil(static_cast<double>(keys) * bits_per_key_);
    return std::max((static_cast<std::size_t>(bits) + 7) / 8, least_bytes);
  }

  // The false-positive rate is fill^probes. A variant with more probes goes on where the one
  // with fewer has stopped, so the three numbers of probes cost little more than one.
  static Law best_law(std::span<const std::uint64_t> hashes, std::size_t bytes) {
    const double each = static_cast<double>(bytes * 8) /
                        static_cast<double>(std::max<std::size_t>(hashes.size(), 1));
    const double ideal = std::clamp(std::round(each * std::numbers::ln2), 1.0, double{most_probes});
    const unsigned fewest = std::max(static_cast<unsigned>(ideal), 2u) - 1;
    const unsigned most = std::min(static_cast<unsigned>(ideal) + 1, most_probes);

    Law best{0, static_cast<unsigned>(ideal)};
    double best_chance = std::numeric_limits<double>::infinity();
    std::vector<std::uint64_t> words((bytes + 7) / 8);
    std::vector<std::uint64_t> walks(hashes.size());
    for (unsigned variant = 0; variant < variants; ++variant) {
      std::fill(words.begin(), words.end(), 0);
      for (std::size_t i = 0; i < hashes.size(); ++i) walks[i] = Law{variant, 1}.first(hashes[i]);
      std::size_t ones = 0;
      for (unsigned probes = 1; probes <= most; ++probes) {
        for (std::uint64_t& g : walks) {
          const std::uint64_t bit = mulhi(g, bytes * 8);
          const std::uint64_t mask = std::uint64_t{1} << bit % 64;
          ones += (words[bit / 64] & mask) == 0;
          words[bit / 64] |= mask;
          g *= step;
        }
        if (probes < fewest) continue;
        const double fill = static_cast<double>(ones) / static_cast<double>(bytes * 8);
        const double chance = power(fill, probes);
        if (chance < best_chance) {
          best_chance = chance;
          best = {variant, probes};
        }
      }
    }
    return best;
  }

  // Not std::pow: with products alone every machine keeps the same variant.
  static double power(double base, unsigned exponent) {
    double product = 1;
    for (; exponent > 0; --exponent) product *= base;
    return product;
  }

  static bool odd_ones(const char* bytes, std::size_t length) {
    std::uint64_t folded = 0;
    for (; length >= 8; bytes += 8, length -= 8) folded ^= word_at(bytes, 8);
    folded ^= word_at(bytes, length);
    return __builtin_parityll(folded) != 0;
  }
  static std::uint64_t word_at(const char* bytes, std::size_t length) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, length);
    return word;
  }

  double bits_per_key_;
};

}  // namespace bloomery

// How far counts are above the truth on a Zipf stream: spectral, in both of its ways, beside
// count-min sketches in the same memory.
//
//    bench_spectral [keys in the stream, 10 million unless told]
//
// The stream draws key i with a chance like 1 / (i + 1) among as many keys as it is long. Counters
// have 32 bits, as the most frequent key needs. The memory is that of a spectral set planned for
// all, or a quarter, of the different keys. A count-min sketch has rows of counters; a key owns one
// in each row and its count is the smallest. The conservative one raises only the smallest of them,
// as minimum increase does.
// Excess: mean over the different keys of count less truth; over the stream, each key weighs as
// often as it came. Fails if any count is below the truth.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <bloomery/bloomery.hpp>

namespace {

using namespace bloomery;
using namespace bloomery::detail;

// Row r takes the high word of hash * odd constant r * columns.
class CountMin {
 public:
  CountMin(std::uint64_t bytes, unsigned rows, bool conservative)
      : columns_(bytes / 4 / rows), rows_(rows), conservative_(conservative) {
    counters_.resize(columns_ * rows);
  }
  void add(Hash hash) {
    const std::uint32_t raised = count(hash) + 1;
    for (unsigned row = 0; row < rows_; ++row) {
      std::uint32_t& counter = counters_[place(hash, row)];
      if (conservative_)
        counter = std::max(counter, raised);
      else
        ++counter;
    }
  }
  std::uint32_t count(Hash hash) const {
    std::uint32_t smallest = counters_[place(hash, 0)];
    for (unsigned row = 1; row < rows_; ++row)
      smallest = std::min(smallest, counters_[place(hash, row)]);
    return smallest;
  }

 private:
  std::size_t place(Hash hash, unsigned row) const {
    return row * columns_ + mulhi(hash.bits * remix_constants[row], columns_);
  }

  std::uint64_t columns_;
  unsigned rows_;
  bool conservative_;
  std::vector<std::uint32_t> counters_;
};

struct Stream {
  std::vector<std::uint32_t> keys;
  std::vector<std::uint32_t> truth;  // how often key i came
  std::uint64_t distinct = 0;
};

Stream zipf_stream(std::uint64_t length) {
  Stream stream{std::vector<std::uint32_t>(length), std::vector<std::uint32_t>(length), 0};
  std::mt19937_64 random(1);
  const double log_length = std::log(static_cast<double>(length));
  for (std::uint32_t& key : stream.keys) {
    const double part = static_cast<double>(random() >> 11) * 0x1p-53;
    key = static_cast<std::uint32_t>(std::exp(part * log_length)) - 1;
    stream.distinct += stream.truth[key]++ == 0;
  }
  return stream;
}

int below_truth = 0;

template <class Count>
void print_row(const Stream& stream, const std::string& name, std::uint64_t bytes, Count&& count) {
  double by_key = 0;
  double by_stream = 0;
  std::uint64_t exact = 0;
  for (std::uint32_t key = 0; key < stream.truth.size(); ++key) {
    const std::uint32_t truth = stream.truth[key];
    if (truth == 0) continue;
    const std::uint64_t counted = count(Hasher()(std::uint64_t{key}));
    if (counted < truth) ++below_truth;
    const double excess = static_cast<double>(counted) - truth;
    by_key += excess;
    by_stream += excess * truth;
    exact += counted == truth;
  }
  fmt::print("| {:<34} | {:>6.2f} | {:>10.4f} | {:>10.4f} | {:>7.2f} % |\n", name,
             static_cast<double>(bytes) * 8 / static_cast<double>(stream.distinct),
             by_key / static_cast<double>(stream.distinct),
             by_stream / static_cast<double>(stream.keys.size()),
             100.0 * static_cast<double>(exact) / static_cast<double>(stream.distinct));
}

void compare(const Stream& stream, const Want& want) {
  std::uint64_t bytes = 0;
  for (const bool removal : {false, true}) {
    Want planned = want;
    planned.removal = removal;
    Set<SpectralBloom> set(planned);
    bytes = set.bytes();
    for (const std::uint32_t key : stream.keys) set.add(std::uint64_t{key});
    print_row(stream, removal ? "spectral, minimum selection" : "spectral, minimum increase", bytes,
              [&](Hash hash) { return set.count_of(hash); });
  }
  for (const bool conservative : {true, false})
    for (const unsigned rows : {2U, 4U}) {
      CountMin sketch(bytes, rows, conservative);
      for (const std::uint32_t key : stream.keys) sketch.add(Hasher()(std::uint64_t{key}));
      print_row(stream,
                fmt::format("count-min, {} rows{}", rows, conservative ? ", conservative" : ""),
                bytes, [&](Hash hash) { return sketch.count(hash); });
    }
}

}  // namespace

int main(int count, char** words) {
  const std::uint64_t length = count > 1 ? std::strtoull(words[1], nullptr, 10) : 10'000'000;
  if (length < 2 || length > 0xffff'ffff) {
    fmt::print(stderr, "bench_spectral takes the length of the stream, 2 to 4294967295\n");
    return 2;
  }
  const Stream stream = zipf_stream(length);
  fmt::print("{} keys in the stream, {} different\n\n", stream.keys.size(), stream.distinct);
  fmt::print("| {:<34} | {:>6} | {:>10} | {:>10} | {:>9} |\n", "set", "bits", "excess", "by stream",
             "exact");
  fmt::print("| --- | --- | --- | --- | --- |\n");
  // Room for all the keys, and for a quarter of them.
  for (const std::uint64_t keys : {stream.distinct, stream.distinct / 4})
    compare(stream, {.keys = keys, .rate = 0.05, .most_count = length});
  fmt::print("\ncounts below the truth: {}\n", below_truth);
  return below_truth == 0 ? 0 : 1;
}

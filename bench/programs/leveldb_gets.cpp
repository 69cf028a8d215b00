// Misses in a LevelDB database: blocks read and time, with our filter policy, LevelDB's own at the
// same bits a key, and none.
//
//    bench_leveldb [bits a key, 10 unless told] [keys, 200,000 unless told]
//
// Keys are the even numbers, strangers the odd ones between them, asked in an order without sense,
// in three spellings: decimal digits, eight bytes with the highest first, and the same bytes
// scattered. Values have 180 bytes, no compression, no block cache; the files fit into memory, so
// a block that is read costs no disk. Times are medians over the runs, in which the three policies
// take turns. Fails if a key is not found or a stranger is.
// `make` is the time of a filter, a key, made by itself of 20 keys.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <adapters/leveldb_policy.hpp>
#include <bench/machine.hpp>
#include <bench/programs/leveldb_reads.hpp>

namespace {

using namespace bloomery;
using Clock = std::chrono::steady_clock;
constexpr int runs = 5;

std::string decimal_key(std::uint64_t number) { return fmt::format("user{:012}", number); }
std::string binary_key(std::uint64_t number) {
  std::string text(8, '\0');
  for (int i = 0; i < 8; ++i) text[i] = static_cast<char>(number >> (56 - 8 * i) & 255);
  return text;
}
std::string scattered_key(std::uint64_t number) {
  return binary_key(number * 0x9e37'79b9'7f4a'7c15u ^ number >> 7);
}

struct Spelling {
  const char* name;
  std::string (*key_of)(std::uint64_t);
};
constexpr std::array spellings{Spelling{"decimal", decimal_key}, Spelling{"binary", binary_key},
                               Spelling{"scattered", scattered_key}};

double nanoseconds(Clock::duration took, std::size_t n) {
  return std::chrono::duration<double, std::nano>(took).count() / static_cast<double>(n);
}
double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// One policy and its database.
struct Subject {
  const char* name;
  const leveldb::FilterPolicy* policy;
  std::unique_ptr<bench::LevelDbOfEvens> database = {};
  std::vector<double> misses = {};
  std::vector<double> hits = {};
  std::uint64_t reads = 0;

  void run(const std::vector<std::uint64_t>& order) {
    std::uint64_t before = database->reads();
    misses.push_back(ask(order, 1));
    reads = database->reads() - before;
    hits.push_back(ask(order, 0));
  }

 private:
  double ask(const std::vector<std::uint64_t>& order, std::uint64_t odd) {
    std::size_t found = 0;
    const auto start = Clock::now();
    for (const std::uint64_t i : order) found += database->has(2 * i + odd);
    const double each = nanoseconds(Clock::now() - start, order.size());
    if (found != (odd ? 0 : order.size())) throw std::runtime_error("a wrong answer");
    return each;
  }
};

double time_to_make(const leveldb::FilterPolicy* policy, std::string (*key_of)(std::uint64_t)) {
  if (policy == nullptr) return 0;
  constexpr std::uint64_t filters = 5000, keys_each = 20;
  std::vector<std::string> keys;
  for (std::uint64_t i = 0; i < filters * keys_each; ++i) keys.push_back(key_of(2 * i));
  const std::vector<leveldb::Slice> slices(keys.begin(), keys.end());
  std::string filter;
  const auto start = Clock::now();
  for (std::uint64_t f = 0; f < filters; ++f) {
    filter.clear();
    policy->CreateFilter(&slices[f * keys_each], keys_each, &filter);
  }
  return nanoseconds(Clock::now() - start, keys.size());
}

void measure(const Spelling& spelling, const std::filesystem::path& folder, int bits,
             std::uint64_t keys) {
  const LevelDbPolicy ours(bits);
  const std::unique_ptr<const leveldb::FilterPolicy> own(leveldb::NewBloomFilterPolicy(bits));
  std::array subjects{Subject{"none", nullptr}, Subject{"LevelDB's own", own.get()},
                      Subject{"LevelDbPolicy", &ours}};
  for (Subject& subject : subjects)
    subject.database = std::make_unique<bench::LevelDbOfEvens>(
        folder / (std::string(spelling.name) + subject.name), subject.policy, keys,
        spelling.key_of);

  std::vector<std::uint64_t> order(keys - 1);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  order.resize(std::min<std::size_t>(order.size(), 100'000));
  for (int run = 0; run < runs; ++run)
    for (Subject& subject : subjects) subject.run(order);
  for (const Subject& subject : subjects)
    fmt::print("| {} | {} | {:.2f} | {:.0f} | {:.0f} | {:.0f} |\n", spelling.name, subject.name,
               1000.0 * static_cast<double>(subject.reads) / static_cast<double>(order.size()),
               median(subject.misses), median(subject.hits),
               time_to_make(subject.policy, spelling.key_of));
}

int run(int bits, std::uint64_t keys) {
  if (bits < 1 || bits > 64 || keys < 2) {
    fmt::print(stderr, "usage: bench_leveldb [bits a key, 1 to 64] [keys, 2 or more]\n");
    return 2;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "bloomery-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary directory");
  struct Removed {
    std::filesystem::path path;
    ~Removed() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  } const removed{folder};

  fmt::print("{} keys, {} bits a key; {}\n\n", keys, bits, bench::this_machine().cpu);
  fmt::print("| keys | policy | blocks read in 1,000 misses | miss ns | hit ns | make ns |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- |\n");
  for (const Spelling& spelling : spellings) measure(spelling, folder, bits, keys);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? std::atoi(argv[1]) : 10,
               argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 200'000);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "bench_leveldb: {}\n", failure.what());
    return 2;
  }
}

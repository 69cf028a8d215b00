// What the native Redis engine costs: bits a key while it grows, the longest add, a batch of 100.
//
//    redis_native grow [keys]     from the default, one add at a time
//    redis_native reserved        1M keys at 1 %, and on to 3M
//    redis_native grown [keys]    from the default, 100 at a time
//    redis_native window [keys]   of so many, twice that many adds
//    redis_native batch [keys]    100 keys at a time on a set reserved for so many
//    redis_native cuckoo [keys]   from the default
//
// The figures are those of docs/redis_native.md.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/detail/bits/memory.hpp>

#include <bloomery/served/native/native_bloom.hpp>
#include <bloomery/served/native/native_cuckoo.hpp>
#include <tools/inside.hpp>

namespace bloomery::bench {
namespace {

using Clock = std::chrono::steady_clock;

double micros(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

const Hasher secret = Hasher::hardened({0x0123'4567'89ab'cdef, 0xfedc'ba98'7654'3210});

// A key of eleven characters, in the same place.
std::string_view key_of(char tag, std::uint64_t i, char* room) {
  room[0] = tag;
  for (int digit = 10; digit >= 1; --digit, i /= 10) room[digit] = static_cast<char>('0' + i % 10);
  return {room, 11};
}

template <class Set>
double measured_rate(const Set& set, std::uint64_t strangers) {
  char room[16];
  std::uint64_t passed = 0;
  for (std::uint64_t i = 0; i < strangers; ++i) passed += set.may_contain(key_of('s', i, room));
  return static_cast<double>(passed) / static_cast<double>(strangers);
}

// Adds up to `keys`, looks at the bits a key after each, and prints at every fourth of a decade.
template <class Set>
void grow(Set& set, std::uint64_t keys) {
  char room[16];
  double worst = 0, worst_bits = 0, least_bits = 1e9;
  std::uint64_t worst_at = 0, printed = 100, bits_from = 10'000;
  fmt::print("{:>10} {:>9} {:>9} {:>9} {:>11} {:>11}\n", "keys", "bits/key", "worst so", "least",
             "rate told", "longest us");
  const auto begin = Clock::now();
  for (std::uint64_t i = 0; i < keys; ++i) {
    const std::string_view key = key_of('m', i, room);
    const auto start = Clock::now();
    set.add(key);
    const double took = micros(Clock::now() - start);
    if (took > worst) worst = took, worst_at = i;
    if (i + 1 < bits_from && i + 1 != printed) continue;
    const double bits = static_cast<double>(set.memory_bytes()) * 8 / static_cast<double>(i + 1);
    if (i + 1 >= bits_from)
      worst_bits = std::max(worst_bits, bits), least_bits = std::min(least_bits, bits);
    if (i + 1 != printed) continue;
    fmt::print("{:>10} {:>9.2f} {:>9.2f} {:>9.2f} {:>11.5f} {:>11.0f}\n", i + 1, bits, worst_bits,
               least_bits, set.rate_now(), worst);
    worst_bits = 0, least_bits = 1e9;
    printed = printed * 5 / 4;
  }
  const double total = micros(Clock::now() - begin);
  fmt::print(
      "{} keys: {:.0f} ns an add, the longest {:.0f} us at {}, {} tables, rate measured {:.5f}\n",
      keys, total * 1e3 / static_cast<double>(keys), worst, worst_at, set.info().filters,
      measured_rate(set, 1'000'000));
}

void reserved() {
  auto set =
      served::NativeBloom::make({.rate = 0.01, .capacity = 1'000'000, .hasher = secret}).value();
  char room[16];
  for (std::uint64_t i = 0; i < 3'000'000; ++i) {
    set.add(key_of('m', i, room));
    if ((i + 1) % 500'000 == 0)
      fmt::print("{:>10} keys {:>6.2f} bits a key, rate {:.5f} told {:.5f} measured\n", i + 1,
                 set.bits_per_key(), set.rate_now(), measured_rate(set, 1'000'000));
  }
}

// Hundreds of keys, as BF.MADD and BF.MEXISTS bring them.
class Batches {
 public:
  explicit Batches(served::NativeBloom& set) : set_(set) {}
  void add(const char* what, std::uint64_t first, std::uint64_t count) {
    run(what, 'm', first, count, [&] { set_.add_all(views_, UINT64_MAX, outcomes_); });
  }
  void ask(const char* what, char tag, std::uint64_t count) {
    run(what, tag, 0, count, [&] { set_.may_contain_all(views_, {answers_.get(), group}); });
  }
  void hash(std::uint64_t count) {
    std::uint64_t sum = 0;
    run("hash alone", 's', 0, count, [&] {
      for (const auto view : views_) sum += secret(view).bits;
    });
    if (sum == 0) fmt::print("\n");
  }

 private:
  static constexpr std::size_t group = 100;

  // Keys in no order, so that neighbours in time are not neighbours in memory of the keys.
  template <class Act>
  void run(const char* what, char tag, std::uint64_t first, std::uint64_t count, Act&& act) {
    double worst = 0, sum = 0;
    for (std::uint64_t done = 0; done < count; done += group) {
      for (std::size_t i = 0; i < group; ++i)
        views_[i] = key_of(tag, (first + done + i) * 7'919 % 10'000'000'000, &rooms_[i * 16]);
      const auto start = Clock::now();
      act();
      const double took = micros(Clock::now() - start);
      worst = std::max(worst, took);
      sum += took;
    }
    fmt::print("{:<22} {:>6.1f} ns a key, the longest batch {:.0f} us\n", what,
               sum * 1e3 / static_cast<double>(count), worst);
  }

  served::NativeBloom& set_;
  std::vector<char> rooms_ = std::vector<char>(group * 16);
  std::vector<std::string_view> views_ = std::vector<std::string_view>(group);
  std::vector<served::AddOutcome> outcomes_ = std::vector<served::AddOutcome>(group);
  std::unique_ptr<bool[]> answers_ = std::make_unique<bool[]>(group);
};

void batch(std::uint64_t keys) {
  auto set = served::NativeBloom::make({.rate = 0.01, .capacity = keys, .hasher = secret}).value();
  Batches batches(set);
  batches.add("add, pages untouched", 0, 5'000'000);
  batches.add("add", 5'000'000, 5'000'000);
  batches.ask("ask, members", 'm', 5'000'000);
  batches.ask("ask, strangers", 's', 5'000'000);
  batches.hash(5'000'000);
}

void grown(std::uint64_t keys) {
  auto set = served::NativeBloom::make({.hasher = secret}).value();
  Batches batches(set);
  batches.add("add", 0, keys);
  batches.ask("ask, members", 'm', std::min<std::uint64_t>(keys, 5'000'000));
  batches.ask("ask, strangers", 's', 5'000'000);
}

void window(std::uint64_t keys) {
  auto set = served::NativeBloom::make({.rate = 0.01, .window = keys, .hasher = secret}).value();
  Batches batches(set);
  batches.add("add", 0, 2 * keys);
  batches.ask("ask, strangers", 's', 5'000'000);
  fmt::print("{:.1f} bits a key of the window, rate {:.5f}\n", set.bits_per_key(),
             measured_rate(set, 1'000'000));
}

int run(int argc, char** argv) {
  // As in a server, which lends its own: no pages of ours, no advice.
  Memory::lend_from({[](std::size_t bytes) { return std::calloc(1, bytes); }, std::free});
  const std::string_view what = argc > 1 ? argv[1] : "";
  const std::uint64_t keys = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (what == "grow") {
    auto set = served::NativeBloom::make({.hasher = secret}).value();
    grow(set, keys == 0 ? 10'000'000 : keys);
  } else if (what == "cuckoo") {
    auto set = served::NativeCuckoo::make({.hasher = secret}).value();
    grow(set, keys == 0 ? 100'000 : keys);
  } else if (what == "reserved") {
    reserved();
  } else if (what == "grown") {
    grown(keys == 0 ? 10'000'000 : keys);
  } else if (what == "window") {
    window(keys == 0 ? 10'000'000 : keys);
  } else if (what == "batch") {
    batch(keys == 0 ? 100'000'000 : keys);
  } else {
    fmt::print(stderr, "redis_native grow|grown|cuckoo|reserved|window|batch [keys]\n");
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace bloomery::bench

int main(int argc, char** argv) { return bloomery::bench::run(argc, argv); }

#include "measured_rate.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string_view>

namespace bloomery::cli {
namespace {

constexpr double z = 1.96;  // sigmas on each side of which 2.5 % are left
constexpr double wanted_error = 0.05;
constexpr std::size_t stranger_bytes = 16;
constexpr std::size_t batch = 1024;

// SplitMix64: any seed gives a sequence without short cycles.
class Strangers {
 public:
  explicit Strangers(std::uint64_t seed) : state_(seed) {
    for (std::size_t i = 0; i < batch; ++i)
      keys_[i] = std::string_view(bytes_.data() + i * stranger_bytes, stranger_bytes);
  }

  std::span<const std::string_view> next(std::size_t count) {
    for (std::size_t i = 0; i < 2 * count; ++i) {
      const std::uint64_t word = draw();
      std::memcpy(bytes_.data() + i * sizeof word, &word, sizeof word);
    }
    return std::span<const std::string_view>(keys_).first(count);
  }

 private:
  std::uint64_t draw() {
    std::uint64_t word = state_ += 0x9e37'79b9'7f4a'7c15;
    word = (word ^ (word >> 30)) * 0xbf58'476d'1ce4'e5b9;
    word = (word ^ (word >> 27)) * 0x94d0'49bb'1331'11eb;
    return word ^ (word >> 31);
  }

  std::uint64_t state_;
  std::array<char, batch * stranger_bytes> bytes_{};
  std::array<std::string_view, batch> keys_;
};

// Half the width of Wilson's interval, and its middle.
struct Wilson {
  double middle;
  double half;
};

Wilson wilson(const Measurement& found) {
  const auto n = static_cast<double>(found.strangers);
  const double p = found.rate();
  const double scale = 1 + z * z / n;
  return {(p + z * z / (2 * n)) / scale,
          z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / scale};
}

}  // namespace

double Measurement::rate() const {
  return static_cast<double>(passed) / static_cast<double>(strangers);
}

double Measurement::low() const {
  // Rounding must not make "none passed" exclude 0.
  return passed == 0 ? 0 : std::max(0.0, wilson(*this).middle - wilson(*this).half);
}

double Measurement::high() const {
  return passed == strangers ? 1 : std::min(1.0, wilson(*this).middle + wilson(*this).half);
}

std::uint64_t strangers_to_measure(double rate) {
  constexpr double fewest = 100'000;
  constexpr double most = 1e12;
  const double passing = (z / wanted_error) * (z / wanted_error);
  // An empty set lets none pass, however many are asked; and one with every bit set has no rate.
  if (!(rate > 0)) return 1'000'000;
  return static_cast<std::uint64_t>(std::clamp(std::ceil(passing / rate), fewest, most));
}

Measurement measure_rate(const AnySet& set, std::uint64_t seed, std::uint64_t most, double seconds,
                         const std::function<void(std::uint64_t)>& each) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  Strangers strangers(seed);
  std::array<bool, batch> room{};
  Measurement found;
  while (found.strangers < most) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(batch, most - found.strangers));
    const auto answers = std::span<bool>(room).first(count);
    set.may_contain_all(strangers.next(count), answers).value();
    found.passed += static_cast<std::uint64_t>(std::count(answers.begin(), answers.end(), true));
    found.strangers += count;
    each(found.strangers);
    if (std::chrono::duration<double>(Clock::now() - start).count() > seconds) break;
  }
  return found;
}

}  // namespace bloomery::cli

// A number is held as the sum of two doubles, of which the second is below the last bit of the
// first. CMake compiles this file without fused operations, which would change its digits.
//
//    exp    y = (128 e + i) ln2 / 128 + r      2^e * table[i] * (1 + r + r^2/2 + ...)
//    log    a first guess g by a series, then  g + (x - exp g) / exp g
#include <bloomery/detail/hash/real.hpp>

#include <array>
#include <cmath>
#include <limits>

namespace bloomery::inline v0::detail::real {
namespace {

struct Two {
  double high;
  double low = 0;
};

// The exact sum of two doubles; `joined` where |a| >= |b|.
constexpr Two joined(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
constexpr Two sum_of(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

// The exact product: each factor is cut into halves of 26 bits (Dekker).
constexpr Two product_of(double a, double b) {
  constexpr double cutter = 134'217'729;  // 2^27 + 1
  const double a_cut = cutter * a;
  const double b_cut = cutter * b;
  const double a_high = a_cut - (a_cut - a);
  const double b_high = b_cut - (b_cut - b);
  const double a_low = a - a_high;
  const double b_low = b - b_high;
  const double product = a * b;
  return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

constexpr Two times(const Two& a, const Two& b) {
  const Two product = product_of(a.high, b.high);
  return joined(product.high, product.low + (a.high * b.low + a.low * b.high));
}
constexpr Two plus(const Two& a, const Two& b) {
  const Two sum = sum_of(a.high, b.high);
  return joined(sum.high, sum.low + (a.low + b.low));
}

constexpr Two ln2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
constexpr Two one_over_ln2{0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};

// 2^(i / 128), each from the one before it; the first by its series.
constexpr int steps = 128;
constexpr auto powers = [] {
  const Two small{ln2.high / steps, ln2.low / steps};
  Two first{1};
  // From the last term to the first: 1 + x (1 + x/2 (1 + x/3 (...))).
  for (int term = 16; term > 0; --term) {
    const Two scaled = times(small, first);
    const double whole = scaled.high / term;
    const Two back = product_of(whole, term);
    const double rest = ((scaled.high - back.high) - back.low + scaled.low) / term;
    first = plus({1}, joined(whole, rest));
  }
  std::array<Two, steps> table{};
  table[0] = {1};
  for (int i = 1; i < steps; ++i) table[i] = times(table[i - 1], first);
  return table;
}();

// e^y = 2^exponent * (base + base * more), where base is 1 or a power of the table.
struct Parted {
  int exponent;
  Two base;
  Two more;

  Two scaled() const { return plus(base, times(base, more)); }
};

Parted parted(const Two& y) {
  const double k = std::floor(y.high * (steps / ln2.high) + 0.5);
  const Two whole = product_of(k, ln2.high / steps);
  const double near = y.high - whole.high;
  const Two r = sum_of(near, (y.low - whole.low) - k * (ln2.low / steps));
  const double x = r.high;
  const Two square = product_of(x, x);
  const double rest =
      x * x * x * (1.0 / 6 + x * (1.0 / 24 + x * (1.0 / 120 + x * (1.0 / 720 + x * (1.0 / 5040)))));
  const Two head = sum_of(x, square.high / 2);
  const Two more = joined(head.high, head.low + (r.low + (square.low / 2 + (x * r.low + rest))));
  const auto step = static_cast<long>(k);
  const long at = step & (steps - 1);
  return {static_cast<int>((step - at) / steps), powers[static_cast<std::size_t>(at)], more};
}

double rounded(const Two& y) { return y.high + y.low; }

// e^y - 1 for |y| <= 1: near 0 without the loss that taking 1 away brings.
Two less_one(const Two& y) {
  const Parted parts = parted(y);
  if (parts.exponent == 0 && parts.base.high == 1) return parts.more;
  const Two e = parts.scaled();
  const Two scaled{std::ldexp(e.high, parts.exponent), std::ldexp(e.low, parts.exponent)};
  const Two less = sum_of(scaled.high, -1);
  return joined(less.high, less.low + scaled.low);
}

// ln(1 + d) for -0.25 <= d <= 0.5.
Two log_near_one(const Two& d) {
  if (d.high == 0) return {0};
  const double s = d.high / (2 + d.high);
  double series = 0;
  for (int power = 25; power > 0; power -= 2) series = series * s * s + 1.0 / power;
  const double guess = 2 * s * series;
  const Two e = less_one({guess});
  const double off = ((d.high - e.high) + (d.low - e.low)) / (1 + e.high);
  return joined(guess, off);
}

// Of 2^exponent * (fraction + low), with the fraction around 1.
Two log_of(const Two& x) {
  int exponent = 0;
  double fraction = std::frexp(x.high, &exponent);
  // From 0.75 to 1.5.
  if (fraction < 0.75) fraction *= 2, --exponent;
  const Two near = log_near_one({fraction - 1, std::ldexp(x.low, -exponent)});
  if (exponent == 0) return near;
  return plus(times({static_cast<double>(exponent)}, ln2), near);
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double most_exponent = 709.782712893384;
constexpr double least_exponent = -745.2;

double exp_of(const Two& y) {
  if (y.high > most_exponent) return infinity;
  if (y.high < least_exponent) return 0;
  const Parted parts = parted(y);
  // In two steps: 2^1024 itself is beyond a double.
  const int half = parts.exponent / 2;
  return std::ldexp(std::ldexp(rounded(parts.scaled()), half), parts.exponent - half);
}

}  // namespace

double log(double x) {
  if (!(x > 0) || x == infinity) return std::log(x);
  return rounded(log_of({x}));
}

double log2(double x) {
  if (!(x > 0) || x == infinity) return std::log(x);
  return rounded(times(log_of({x}), one_over_ln2));
}

double log1p(double x) {
  if (!(x > -1) || x == infinity) return std::log1p(x);
  if (x >= -0.25 && x <= 0.5) return x == 0 ? x : rounded(log_near_one({x}));
  return rounded(log_of(sum_of(1, x)));
}

double exp(double x) {
  if (std::isnan(x)) return x;
  return exp_of({x});
}

double expm1(double x) {
  if (std::isnan(x) || x == 0) return x;
  if (x < -50) return -1;
  if (x > 50) return exp_of({x});
  return rounded(less_one({x}));
}

double pow(double x, double y) {
  if (x == 1 || y == 0) return 1;
  if (!(x > 0) || !std::isfinite(x) || !std::isfinite(y)) return std::pow(x, y);
  const Two log = log_of({x});
  const Two exponent = product_of(log.high, y);
  return exp_of(joined(exponent.high, exponent.low + log.low * y));
}

}  // namespace bloomery::inline v0::detail::real

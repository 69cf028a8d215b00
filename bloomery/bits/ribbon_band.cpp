#include <bloomery/detail/bits/ribbon_band.hpp>

#include <algorithm>
#include <array>
#include <bit>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/ribbon.hpp>
#include <bloomery/detail/bits/words.hpp>

namespace bloomery::inline v0::detail {
namespace {

constexpr std::uint64_t quad_rows = RibbonBand::quad_rows;
constexpr std::uint64_t quads = RibbonBand::quads;

// Equations that go side by side, since each waits for its memory at every step.
constexpr std::size_t side_by_side = 4;
struct Few {
  std::array<std::uint64_t, side_by_side> coefficients;
  std::array<std::uint64_t, side_by_side> answers;
  std::array<std::uint64_t, side_by_side> rows;  // where the windows begin
};

void subtract(RibbonEquation& from, const RibbonEquation& other) {
  from.coefficients ^= other.coefficients;
  from.answer ^= other.answer;
}

bool is_summed(const RibbonBand& band, std::uint64_t quad) {
  return band.led[quad % quads] == quad_rows;
}

Few few_of(const RibbonBand& band, const std::uint64_t* hashes, std::size_t n) {
  Few few;
  for (std::size_t i = 0; i < side_by_side; ++i) {
    const Hash key{hashes[std::min(i, n - 1)]};
    few.rows[i] = mulhi(key.bits * band.shards, band.starts);
    few.coefficients[i] =
        std::rotl(ribbon::coefficients(key), static_cast<int>(few.rows[i] % word_bits));
    few.answers[i] = ribbon::fingerprint(key, band.columns);
  }
  return few;
}

inline void pass_led_rows(const RibbonBand& band, Few& few) {
  auto& [coefficients, answers, rows] = few;
  const auto [lowest, highest] = std::minmax_element(std::begin(rows), std::end(rows));
  std::uint64_t quad = *lowest / quad_rows;
  const std::uint64_t together = *highest / quad_rows + 1;
  // Before the start of a window its places stand for the rows after its end.
  for (; quad < together && is_summed(band, quad); ++quad)
    for (std::size_t i = 0; i < side_by_side; ++i) {
      const std::uint64_t before = rows[i] - std::min(rows[i], quad * quad_rows);
      const std::uint64_t own = before < quad_rows ? std::uint64_t{15} << before & 15 : 0;
      const std::uint64_t which = coefficients[i] >> (quad * quad_rows % word_bits) & own;
      coefficients[i] ^= band.sums[quad % quads].coefficients[which];
      answers[i] ^= band.sums[quad % quads].answers[which];
    }
  if (quad == together)
    for (; is_summed(band, quad); ++quad) {
      const RibbonBand::Sums& sums = band.sums[quad % quads];
      const auto shift = quad * quad_rows % word_bits;
#pragma GCC unroll 4
      for (std::size_t i = 0; i < side_by_side; ++i) {
        const std::uint64_t which = coefficients[i] >> shift & 15;
        coefficients[i] ^= sums.coefficients[which];
        answers[i] ^= sums.answers[which];
      }
    }
  for (std::size_t i = 0; i < side_by_side; ++i) rows[i] = std::max(rows[i], quad * quad_rows);
  // Two more rows without a branch; where the row is free, nothing is subtracted.
  for (unsigned step = 0; step < 2; ++step)
#pragma GCC unroll 4
    for (std::size_t i = 0; i < side_by_side; ++i) {
      if (coefficients[i] == 0) [[unlikely]]
        continue;
      rows[i] += static_cast<unsigned>(
          std::countr_zero(std::rotr(coefficients[i], static_cast<int>(rows[i] % word_bits))));
      coefficients[i] ^= band.leading[rows[i]].coefficients;
      answers[i] ^= band.leading[rows[i]].answer;
    }
}

// First makes each of the four equations free of the rows that the others lead; then the sum for
// four bits of an equation is the one that clears them all.
void sum_quad(RibbonBand& band, std::uint64_t quad) {
  const std::uint64_t shift = quad * quad_rows % word_bits;
  RibbonEquation four[quad_rows];
  for (std::uint64_t i = quad_rows; i-- > 0;) {
    four[i] = band.leading[quad * quad_rows + i];
    const std::uint64_t bits = four[i].coefficients >> shift;
    for (std::uint64_t j = i + 1; j < quad_rows; ++j) {
      const std::uint64_t has = -(bits >> j & 1);
      subtract(four[i], {four[j].coefficients & has, four[j].answer & has});
    }
  }
  RibbonBand::Sums& sums = band.sums[quad % quads];
  sums.coefficients[0] = sums.answers[0] = 0;
  for (std::size_t i = 0; i < quad_rows; ++i)
    for (std::size_t j = 0; j < std::size_t{1} << i; ++j) {
      const std::size_t with = (std::size_t{1} << i) + j;
      sums.coefficients[with] = sums.coefficients[j] ^ four[i].coefficients;
      sums.answers[with] = sums.answers[j] ^ four[i].answer;
    }
}

// Finds the first free row of an equation, whose window begins at `row`, and lets it lead that row.
// False if the equation becomes 0 = 1.
inline bool place(RibbonBand& band, RibbonEquation equation, std::uint64_t row) {
  while (equation.coefficients != 0) {
    row += static_cast<unsigned>(
        std::countr_zero(std::rotr(equation.coefficients, static_cast<int>(row % word_bits))));
    RibbonEquation& leader = band.leading[row];
    if (leader.coefficients == 0) {
      leader = equation;
      band.placed_rows[band.placed++] = row;
      const std::uint64_t quad = row / quad_rows;
      if (++band.led[quad % quads] == quad_rows) sum_quad(band, quad);
      return true;
    }
    subtract(equation, leader);
  }
  return (equation.answer & band.asked) == 0;
}

}  // namespace

// Four keys go past the quads together, then each looks for its own row.
bool ribbon_insert_by_fours(RibbonBand& band, const std::uint64_t* hashes, std::size_t n) {
  for (std::size_t first = 0; first < n; first += side_by_side) {
    const std::size_t count = std::min(side_by_side, n - first);
    Few few = few_of(band, hashes + first, count);
    pass_led_rows(band, few);
    for (std::size_t i = 0; i < count; ++i)
      if (!place(band, {few.coefficients[i], few.answers[i]}, few.rows[i])) return false;
  }
  return true;
}

}  // namespace bloomery::inline v0::detail

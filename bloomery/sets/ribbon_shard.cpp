#include <bloomery/sets/ribbon_shard.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

namespace bloomery {
namespace {

constexpr std::uint64_t octet_starts = 8;
constexpr std::uint64_t stretch_octets = RibbonLayer::stretch_starts / octet_starts;

// The octets of each class, in the order of insertion; what was said of mark m is that the classes
// from the m-th last on are bumped.
struct Octets {
  std::uint64_t first;
  std::uint64_t end;
};
constexpr Octets class_octets[] = {
    {RibbonLayer::bumped_below(2) / octet_starts, stretch_octets},
    {RibbonLayer::bumped_below(1) / octet_starts, RibbonLayer::bumped_below(2) / octet_starts},
    {0, RibbonLayer::bumped_below(1) / octet_starts}};
static_assert(std::size(class_octets) == RibbonLayer::classes);
static_assert(RibbonLayer::bumped_below(1) % octet_starts == 0 &&
              RibbonLayer::bumped_below(2) % octet_starts == 0);

// Which place each octet of a stretch has in that order.
constexpr auto octet_ranks = [] {
  std::array<std::uint8_t, stretch_octets> ranks{};
  std::uint8_t rank = 0;
  for (const Octets octets : class_octets)
    for (std::uint64_t octet = octets.first; octet < octets.end; ++octet) ranks[octet] = rank++;
  return ranks;
}();

std::uint64_t rank_of(std::uint64_t start) {
  return start / RibbonLayer::stretch_starts * stretch_octets +
         octet_ranks[start / octet_starts % stretch_octets];
}

// Eight bits to the low bits of eight bytes, times 255.
constexpr auto byte_masks = [] {
  std::array<std::uint64_t, 256> masks{};
  for (std::size_t bits = 0; bits < masks.size(); ++bits)
    for (unsigned i = 0; i < 8; ++i)
      if ((bits >> i & 1) != 0) masks[bits] |= std::uint64_t{0xff} << (8 * i);
  return masks;
}();

// Bit j of byte i goes to bit i of byte j.
constexpr std::uint64_t transposed(std::uint64_t square) {
  const auto swap = [&](std::uint64_t mask, unsigned shift) {
    const std::uint64_t differing = (square ^ (square >> shift)) & mask;
    square ^= differing ^ (differing << shift);
  };
  swap(0x00aa'00aa'00aa'00aa, 7);
  swap(0x0000'cccc'0000'cccc, 14);
  swap(0x0000'0000'f0f0'f0f0, 28);
  return square;
}

// Eight columns on their way from the last row to the first, a byte for each row. The sum of any of
// the rows of an octet is looked up:
//
//    row = answer ^ sums[1][byte 1] ^ ... ^ sums[7][byte 7]      of the coefficients
//          ^ sums[8][the bits of byte 0 before the row]          which stand for the rows 64 later
//          ^ the rows of its own octet after it
class EightColumns {
 public:
  void begin_octet() {
    if (newest_ == 0) {
      std::copy_n(sums_.begin(), octets_in_window, sums_.end() - octets_in_window);
      newest_ = sums_.size() - octets_in_window;
    }
    --newest_;
    rows_ = 0;
    own_ = 0;
  }
  // Row i of the octet; its coefficients begin with those of the octet.
  void add_row(unsigned i, std::uint64_t coefficients, std::uint64_t answer) {
    const auto* const sums = &sums_[newest_];
    const std::uint64_t own = coefficients & 0xff;
    std::uint64_t row = answer ^ sums[8][own & ((1U << i) - 1)];
#pragma GCC unroll 8
    for (unsigned later = 1; later < 8; ++later)
      row ^= sums[later][coefficients >> (8 * later) & 0xff];
    rows_ |= (row & 0xff) << (8 * i);
    own_ |= own << (8 * i);
  }
  // Returns the rows, a byte each.
  std::uint64_t end_octet() {
    // Bit i of byte j: row j is a part of row i.
    const std::uint64_t parts = transposed(own_);
#pragma GCC unroll 8
    for (unsigned j = 7; j > 0; --j)
      rows_ ^= byte_masks[parts >> (8 * j) & ((1U << j) - 1)] & all_bytes(row(j));
    sum_octet();
    return rows_;
  }

 private:
  static constexpr std::size_t octets_in_window = 8;

  static std::uint64_t all_bytes(std::uint64_t byte) { return byte * 0x0101'0101'0101'0101; }
  std::uint64_t row(unsigned i) const { return rows_ >> (8 * i) & 0xff; }

  // Eight sums to a word: the first eight are of rows 0 to 2, and rows 3 to 7 say which word.
  void sum_octet() {
    const std::uint64_t first = row(0) * 0x0100'0100'0100'0100 ^ row(1) * 0x0101'0000'0101'0000 ^
                                row(2) * 0x0101'0101'0000'0000;
    const std::uint64_t second = first ^ all_bytes(row(3));
    const std::uint64_t four[] = {first, second, first ^ all_bytes(row(4)),
                                  second ^ all_bytes(row(4))};
    std::uint8_t* next = sums_[newest_].data();
#pragma GCC unroll 8
    for (unsigned k = 0; k < 8; ++k) {
      const std::uint64_t others = ((k & 1) != 0 ? all_bytes(row(5)) : 0) ^
                                   ((k & 2) != 0 ? all_bytes(row(6)) : 0) ^
                                   ((k & 4) != 0 ? all_bytes(row(7)) : 0);
#pragma GCC unroll 4
      for (const std::uint64_t one : four) {
        const std::uint64_t word = one ^ others;
        std::memcpy(next, &word, sizeof word);
        next += sizeof word;
      }
    }
  }

  std::array<std::array<std::uint8_t, 256>, 64> sums_{};  // of each octet, the newest lowest
  std::size_t newest_ = 64 - octets_in_window;
  std::uint64_t rows_ = 0;
  std::uint64_t own_ = 0;  // byte i: the coefficients of row i within the octet
};

}  // namespace

RibbonShardSolver::Tally RibbonShardSolver::solve(const RibbonLayer& layer, std::uint64_t shard,
                                                  std::span<Hash> keys,
                                                  std::span<std::uint64_t> layer_words) {
  leading_.assign(layer.rows(), {});
  led_.fill(0);
  redundant_ = 0;
  repeats_ = 0;
  sort(layer, keys);
  const auto marks = layer_words.subspan(layer.marks_at(shard), layer.mark_words());
  std::fill(marks.begin(), marks.end(), 0);
  std::size_t bumped = 0;
  std::size_t next = 0;
  for (std::uint64_t stretch = 0; stretch < layer.stretches(); ++stretch) {
    const std::uint64_t asked = (std::uint64_t{1} << layer.columns_of(stretch)) - 1;
    std::uint64_t mark = 0;
    std::uint64_t rank = stretch * stretch_octets;
    forget_quads_after(stretch * RibbonLayer::stretch_starts);
    for (unsigned c = 0; c < RibbonLayer::classes; ++c) {
      rank += class_octets[c].end - class_octets[c].first;
      const std::size_t end = ends_[rank - 1];
      if (!insert(layer, {sorted_.data() + next, end - next}, asked)) {
        mark = RibbonLayer::classes - c;
        break;
      }
      next = end;
    }
    marks[stretch / 32] |= mark << (2 * (stretch % 32));
    for (const std::size_t end = ends_[(stretch + 1) * stretch_octets - 1]; next < end; ++next)
      keys[bumped++] = RibbonLayer::next(sorted_[next]);
  }
  substitute_back(layer, shard, layer_words);
  return {bumped, repeats_};
}

void RibbonShardSolver::sort(const RibbonLayer& layer, std::span<const Hash> keys) {
  sorted_.resize(keys.size());
  ends_.assign(layer.stretches() * stretch_octets + 1, 0);
  for (const Hash key : keys) ++ends_[rank_of(layer.place(key).start) + 1];
  for (std::size_t i = 1; i < ends_.size(); ++i) ends_[i] += ends_[i - 1];
  // Now ends_[i] is where octet i begins; each key moves it on, to the end when all are there.
  for (const Hash key : keys) sorted_[ends_[rank_of(layer.place(key).start)]++] = key;
}

// The windows of the stretches before this row end less than 64 rows after it; the places of the
// quads beyond are used again.
void RibbonShardSolver::forget_quads_after(std::uint64_t row) {
  constexpr std::uint64_t kept = RibbonLayer::window_rows / quad_rows;
  for (std::uint64_t i = kept; i < quads; ++i) led_[(row / quad_rows + i) % quads] = 0;
}

// Inserts a class, or leaves everything as it was and returns false.
bool RibbonShardSolver::insert(const RibbonLayer& layer, std::span<const Hash> keys,
                               std::uint64_t asked) {
  placed_ = 0;
  const std::size_t repeats_before = repeats_;
  for (std::size_t next = 0; next < keys.size(); next += side_by_side) {
    const std::size_t count = std::min(side_by_side, keys.size() - next);
    if (insert_few(layer, keys.subspan(next, count), asked)) continue;
    take_out();
    repeats_ = repeats_before;
    return false;
  }
  return true;
}

// Inserts at most four keys of neighbouring starts. They go past the quads together, then each
// looks for its own row.
bool RibbonShardSolver::insert_few(const RibbonLayer& layer, std::span<const Hash> keys,
                                   std::uint64_t asked) {
  Few few;
  for (std::size_t i = 0; i < side_by_side; ++i) {
    const Hash key = keys[std::min(i, keys.size() - 1)];
    few.rows[i] = layer.place(key).start;
    few.coefficients[i] =
        std::rotl(ribbon::coefficients(key), static_cast<int>(few.rows[i] % word_bits));
    few.answers[i] = layer.fingerprint(key);
  }
  pass_led_rows(few);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::size_t redundant_before = redundant_;
    if (!place({few.coefficients[i], few.answers[i]}, few.rows[i], asked)) return false;
    if (redundant_ != redundant_before) [[unlikely]]
      repeats_ += is_repeated(layer, keys[i]);
  }
  return true;
}

// A copy says what the key before it said, so it is always redundant. Both are in one octet.
bool RibbonShardSolver::is_repeated(const RibbonLayer& layer, Hash key) const {
  const std::uint64_t rank = rank_of(layer.place(key).start);
  const auto end = sorted_.begin() + static_cast<std::ptrdiff_t>(ends_[rank]);
  const auto first = std::find(
      sorted_.begin() + static_cast<std::ptrdiff_t>(rank == 0 ? 0 : ends_[rank - 1]), end, key);
  return std::find(first + 1, end, key) != end;
}

inline void RibbonShardSolver::pass_led_rows(Few& few) const {
  auto& [coefficients, answers, rows] = few;
  const auto [lowest, highest] = std::minmax_element(std::begin(rows), std::end(rows));
  std::uint64_t quad = *lowest / quad_rows;
  const std::uint64_t together = *highest / quad_rows + 1;
  // Before the start of a window its places stand for the rows after its end.
  for (; quad < together && is_summed(quad); ++quad)
    for (std::size_t i = 0; i < side_by_side; ++i) {
      const std::uint64_t before = rows[i] - std::min(rows[i], quad * quad_rows);
      const std::uint64_t own = before < quad_rows ? std::uint64_t{15} << before & 15 : 0;
      const Equation& sum =
          sums_[quad % quads][coefficients[i] >> (quad * quad_rows % word_bits) & own];
      coefficients[i] ^= sum.coefficients;
      answers[i] ^= sum.answer;
    }
  if (quad == together)
    for (; is_summed(quad); ++quad) {
      const auto& sums = sums_[quad % quads];
      const auto shift = quad * quad_rows % word_bits;
#pragma GCC unroll 4
      for (std::size_t i = 0; i < side_by_side; ++i) {
        const Equation& sum = sums[coefficients[i] >> shift & 15];
        coefficients[i] ^= sum.coefficients;
        answers[i] ^= sum.answer;
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
      coefficients[i] ^= leading_[rows[i]].coefficients;
      answers[i] ^= leading_[rows[i]].answer;
    }
}

// Finds the first free row of an equation, whose window begins at `row`, and lets it lead that.
// False if it vanishes with a rest.
inline bool RibbonShardSolver::place(Equation equation, std::uint64_t row, std::uint64_t asked) {
  while (equation.coefficients != 0) {
    row += static_cast<unsigned>(
        std::countr_zero(std::rotr(equation.coefficients, static_cast<int>(row % word_bits))));
    Equation& leader = leading_[row];
    if (leader.coefficients == 0) {
      leader = equation;
      placed_rows_[placed_++] = row;
      const std::uint64_t quad = row / quad_rows;
      if (++led_[quad % quads] == quad_rows) sum_quad(quad);
      return true;
    }
    equation = equation ^ leader;
  }
  ++redundant_;
  return (equation.answer & asked) == 0;
}

// First makes each of the four equations free of the rows that the others lead; then the sum for
// four bits of an equation is the one that clears them all.
void RibbonShardSolver::sum_quad(std::uint64_t quad) {
  const std::uint64_t shift = quad * quad_rows % word_bits;
  Equation four[quad_rows];
  for (std::uint64_t i = quad_rows; i-- > 0;) {
    four[i] = leading_[quad * quad_rows + i];
    const std::uint64_t bits = four[i].coefficients >> shift;
    for (std::uint64_t j = i + 1; j < quad_rows; ++j) {
      const std::uint64_t has = -(bits >> j & 1);
      four[i] = four[i] ^ Equation { four[j].coefficients &has, four[j].answer &has };
    }
  }
  auto& sums = sums_[quad % quads];
  sums[0] = {};
  for (std::size_t i = 0; i < quad_rows; ++i)
    for (std::size_t j = 0; j < std::size_t{1} << i; ++j)
      sums[(std::size_t{1} << i) + j] = sums[j] ^ four[i];
}

void RibbonShardSolver::take_out() {
  for (const std::uint64_t row : std::span(placed_rows_).first(placed_)) {
    leading_[row] = {};
    --led_[row / quad_rows % quads];
  }
}

void RibbonShardSolver::substitute_back(const RibbonLayer& layer, std::uint64_t shard,
                                        std::span<std::uint64_t> layer_words) const {
  for (unsigned column = 0; column < layer.most_columns_used(); column += 8) {
    EightColumns eight;
    for (std::uint64_t block = layer.blocks(); block-- > 0;) {
      std::array<std::uint64_t, 8> words{};  // one column each
      for (unsigned octet = 8; octet-- > 0;) {
        const Equation* const leaders = &leading_[block * word_bits + octet * 8];
        eight.begin_octet();
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; ++i)
          eight.add_row(i, std::rotr(leaders[i].coefficients, static_cast<int>(octet * 8)),
                        leaders[i].answer >> column & 0xff);
        const std::uint64_t bits = transposed(eight.end_octet());
        for (unsigned c = 0; c < 8; ++c) words[c] |= (bits >> (8 * c) & 0xff) << (8 * octet);
      }
      const unsigned columns = layer.columns_of_block(block);
      if (column < columns)
        std::copy_n(words.begin(), std::min(8U, columns - column),
                    layer_words.begin() +
                        static_cast<std::ptrdiff_t>(layer.block_at(shard, block) + column));
    }
  }
}

}  // namespace bloomery

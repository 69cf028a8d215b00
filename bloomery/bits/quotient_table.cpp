#include <bloomery/detail/bits/quotient_table.hpp>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <string>
#include <utility>

#include <bloomery/bits/quotient_law.hpp>

namespace bloomery::inline v0::detail {
namespace {

// May be read behind a field that ends with the last word.
constexpr std::uint64_t spare_words = 1;

constexpr std::uint64_t words_of(std::uint64_t slots, std::uint64_t field_bits) {
  return (quotient::first_end_bit + slots * (1 + field_bits) + 63) / 64;
}

constexpr std::uint64_t home_blocks(const QuotientTable::Size& size) {
  return std::uint64_t{1} << (size.quotient_bits - 6);
}

Error damaged(const std::string& what) {
  return {Code::damaged, "the table of a scalable set is damaged: " + what};
}

}  // namespace

Result<void> QuotientTable::check(const Size& size) {
  const bool sound =
      size.quotient_bits >= least_quotient_bits && size.quotient_bits <= most_quotient_bits &&
      size.slots >= 1 && size.slots <= most_slots && size.field_bits >= 2 &&
      size.field_bits <= most_field_bits && size.quotient_bits + size.field_bits - 1 <= 64 &&
      size.tail_blocks <= most_tail_blocks;
  if (sound) return {};
  return Error{Code::damaged, "no quotient table has 2^" + std::to_string(size.quotient_bits) +
                                  " quotients, " + std::to_string(size.slots) +
                                  " slots a block and fields of " +
                                  std::to_string(size.field_bits) + " bits"};
}

std::uint64_t QuotientTable::bytes(const Size& size) {
  const std::uint64_t blocks = home_blocks(size) + size.tail_blocks;
  return (blocks * words_of(size.slots, size.field_bits) + spare_words) * sizeof(std::uint64_t);
}

std::uint32_t QuotientTable::widest_slots(std::uint32_t slots, std::uint32_t field_bits) {
  const std::uint64_t bits = words_of(slots, field_bits) * 64 - quotient::first_end_bit;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(most_slots, bits / (1 + field_bits)));
}

QuotientTable::QuotientTable(const Size& size, Memory memory)
    : size_(size),
      memory_(std::move(memory)),
      view_{reinterpret_cast<std::uint64_t*>(memory_.bytes().data()),
            home_blocks(size) + size.tail_blocks,
            size.quotient_bits,
            size.slots,
            size.field_bits,
            static_cast<std::uint32_t>(words_of(size.slots, size.field_bits))} {}

Result<QuotientTable> QuotientTable::make(const Size& size) {
  if (auto sound = check(size); !sound) return sound.error();
  auto memory = Memory::make(bytes(size));
  if (!memory) return memory.error();
  return QuotientTable(size, std::move(*memory));
}

Result<QuotientTable> QuotientTable::open(const Size& size, Memory memory, bool keeps_copies) {
  if (auto sound = check(size); !sound) return sound.error();
  if (memory.size() != bytes(size)) return damaged("its length does not fit its size");
  QuotientTable table(size, std::move(memory));
  if (auto sound = table.check_blocks(keeps_copies); !sound) return sound.error();
  return table;
}

Result<QuotientTable> QuotientTable::copy() const {
  auto memory = Memory::copy_of(memory_.bytes());
  if (!memory) return memory.error();
  QuotientTable table(size_, std::move(*memory));
  table.entries_ = entries_;
  table.lengths_ = lengths_;
  return table;
}

void QuotientTable::LengthCounts::add(unsigned bits, std::uint64_t count) {
  if (count == 0) return;
  if (counts_.empty()) shortest_ = bits;
  if (bits < shortest_) {
    counts_.insert(counts_.begin(), shortest_ - bits, 0);
    shortest_ = bits;
  }
  if (bits - shortest_ >= counts_.size()) counts_.resize(bits - shortest_ + 1);
  counts_[bits - shortest_] += count;
}

QuotientTable::Lengths QuotientTable::LengthCounts::all() const {
  Lengths all{};
  std::copy(counts_.begin(), counts_.end(), all.begin() + shortest_);
  return all;
}

double QuotientTable::LengthCounts::covered() const {
  double sum = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i)
    sum += std::ldexp(static_cast<double>(counts_[i]), -static_cast<int>(shortest_ + i));
  return sum;
}

double QuotientTable::covered(const Lengths& held) {
  double sum = 0;
  for (unsigned bits = 0; bits <= 64; ++bits)
    sum += std::ldexp(static_cast<double>(held[bits]), -static_cast<int>(bits));
  return sum;
}

std::uint64_t QuotientTable::add_step(const std::uint64_t* hashes, std::size_t n, std::size_t ahead,
                                      std::size_t* taken) {
  const std::uint64_t fresh = kernels().quotient_add(view_, hashes, n, ahead, taken);
  const auto count = static_cast<std::uint64_t>(std::popcount(fresh));
  entries_ += count;
  lengths_.add(full_length(), count);
  return fresh;
}

bool QuotientTable::add_copy(std::uint64_t hash) {
  if (quotient::add(quotient::place_of_one, view_, hash, true) == quotient::Outcome::refused)
    return false;
  ++entries_;
  lengths_.add(full_length(), 1);
  return true;
}

bool QuotientTable::remove(std::uint64_t hash) {
  if (!quotient::remove(quotient::place_of_one, view_, hash)) return false;
  --entries_;
  lengths_.take(full_length());
  return true;
}

std::uint64_t QuotientTable::count(std::uint64_t hash) const {
  return quotient::count(quotient::place_of_one, view_, hash);
}

// -- streams --------------------------------------------------------------------------------------

QuotientTable::Reader::Reader(const QuotientTable& table)
    : view_(table.view_), homes_(home_blocks(table.size_)), left_(view_.words[0]) {
  enter(0);
}

// Moves on to the first block with runs left to read; false at the end of the table.
bool QuotientTable::Reader::find_runs() {
  while (left_ == 0) {
    if (block_ + 1 == homes_) return false;
    left_ = view_.words[++block_ * view_.block_words];
    if (at_block_ < block_) enter(block_);
  }
  return true;
}

void QuotientTable::Reader::enter(std::uint64_t block) {
  at_block_ = block;
  at_slot_ = 0;
  ends_ = quotient::ends_of(view_, view_.words + block * view_.block_words);
}

// Run ends are unpredictable, so neither this nor the appender branches on them.
[[gnu::always_inline]] inline Prefix QuotientTable::Reader::read() {
  if (at_slot_ == view_.slots) enter(at_block_ + 1);
  const std::uint64_t field =
      quotient::field_at(view_, view_.words + at_block_ * view_.block_words, at_slot_);
  const std::uint64_t quotient = block_ * 64 + static_cast<std::uint64_t>(std::countr_zero(left_));
  left_ &= left_ - (ends_ >> at_slot_ & 1);
  ++at_slot_;
  // The mark ends the fingerprint; without it the field is the next bits of the hash.
  const auto mark = static_cast<unsigned>(std::countr_zero(field));
  return {quotient << (64 - view_.quotient_bits) |
              (field & (field - 1)) << (64 - view_.field_bits) >> view_.quotient_bits,
          view_.quotient_bits + view_.field_bits - 1 - mark};
}

std::optional<Prefix> QuotientTable::Reader::next() {
  if (left_ == 0 && !find_runs()) return std::nullopt;
  return read();
}

// Stores the counts of the current block and continues with another.
void QuotientTable::Appender::enter(std::uint64_t block) {
  std::uint64_t* const left = view_.words + at_block_ * view_.block_words;
  quotient::turn_ends(left, ends_);
  left[1] += std::uint64_t{at_slot_} << 9;
  table_.entries_ += at_slot_;
  at_block_ = block;
  ends_ = 0;
  at_slot_ = 0;
}

void QuotientTable::Appender::finish() {
  enter(at_block_);
  for (unsigned bits = 0; bits <= 64; ++bits)
    table_.lengths_.add(bits, std::exchange(lengths_[bits], 0));
}

[[gnu::always_inline]] inline bool QuotientTable::Appender::append_field(std::uint64_t quotient,
                                                                         std::uint64_t field) {
  const std::uint64_t home = quotient / 64;
  // One more of the same run: it does not end with the field before.
  ends_ ^= std::uint64_t{quotient == last_quotient_} << ((at_slot_ - 1) & 63);
  if (at_block_ < home) {
    enter(home);
  } else if (at_slot_ == view_.slots) {
    if (at_block_ + 1 == view_.blocks) return false;
    enter(at_block_ + 1);
  }
  std::uint64_t* const block = view_.words + at_block_ * view_.block_words;
  std::uint64_t* const home_block = view_.words + home * view_.block_words;
  for (std::uint64_t* on = home_block; on != block;) {
    on += view_.block_words;
    if (quotient::spill_of(on) == quotient::most_spill) return false;
    quotient::count_spill(on);
  }
  home_block[0] |= std::uint64_t{1} << (quotient % 64);
  const unsigned bit = quotient::field_bit(view_, at_slot_);
  block[bit / 64] |= field << (bit % 64);
  block[bit / 64 + 1] |= field >> 1 >> (63 - bit % 64);
  ends_ |= std::uint64_t{1} << at_slot_;
  ++at_slot_;
  last_quotient_ = quotient;
  return true;
}

[[gnu::always_inline]] inline bool QuotientTable::Appender::put(const Prefix& prefix) {
  const std::uint64_t quotient = prefix.start >> (64 - view_.quotient_bits);
  const std::uint64_t whole = std::uint64_t{1} << (view_.field_bits - 1);
  if (prefix.bits < view_.quotient_bits) {
    const std::uint64_t count = std::uint64_t{1} << (view_.quotient_bits - prefix.bits);
    for (std::uint64_t i = 0; i < count; ++i)
      if (!append_field(quotient + i, whole)) return false;
    lengths_[view_.quotient_bits] += count;
    return true;
  }
  const unsigned kept = prefix.bits - view_.quotient_bits;
  if (kept >= view_.field_bits) return false;  // the fields are too narrow for it
  const std::uint64_t fingerprint = prefix.start << view_.quotient_bits >> (64 - view_.field_bits);
  if (!append_field(quotient, fingerprint | whole >> kept)) return false;
  ++lengths_[prefix.bits];
  return true;
}

bool QuotientTable::Appender::append(const Prefix& prefix) { return put(prefix); }

bool QuotientTable::pour(const QuotientTable& from, QuotientTable& to) {
  Reader reader(from);
  Appender appender(to);
  while (reader.left_ != 0 || reader.find_runs())
    if (!appender.put(reader.read())) return false;
  appender.finish();
  return true;
}

// -- bytes from outside ---------------------------------------------------------------------------

namespace {

// Are the bits of a block from its first free slot on zero?
bool rest_is_zero(const QuotientView& view, const std::uint64_t* block, unsigned used) {
  if (used < 64 && quotient::ends_of(view, block) >> used != 0) return false;
  const unsigned bit = quotient::field_bit(view, used);
  if (bit % 64 != 0 && block[bit / 64] >> (bit % 64) != 0) return false;
  for (unsigned word = (bit + 63) / 64; word < view.block_words; ++word)
    if (block[word] != 0) return false;
  return true;
}

}  // namespace

// Walks all slots with a count of its own, and never goes where the table does not reach.
Result<void> QuotientTable::check_blocks(bool keeps_copies) {
  const std::uint64_t slots = view_.slots;
  const std::uint64_t all_slots = view_.blocks * slots;
  std::uint64_t at = 0;  // the next slot, counted through all blocks
  std::uint64_t covered_to = 0;
  bool any = false;
  Lengths lengths{};
  std::uint64_t last_start = 0;
  for (std::uint64_t b = 0; b < view_.blocks; ++b) {
    const std::uint64_t* const home = view_.words + b * view_.block_words;
    at = std::max(at, b * slots);
    if (quotient::spill_of(home) != at - b * slots) return damaged("a spill is miscounted");
    if (b >= home_blocks(size_) && home[0] != 0) return damaged("a run has no quotient");
    for (std::uint64_t left = home[0]; left != 0; ++at) {
      if (at == all_slots) return damaged("a run has no end");
      const std::uint64_t* const block = view_.words + at / slots * view_.block_words;
      const auto slot = static_cast<unsigned>(at % slots);
      const std::uint64_t field = quotient::field_at(view_, block, slot);
      if (field == 0) return damaged("a run has an empty slot");
      const auto mark = static_cast<unsigned>(std::countr_zero(field));
      const std::uint64_t quotient = b * 64 + static_cast<std::uint64_t>(std::countr_zero(left));
      const Prefix prefix{
          quotient << (64 - view_.quotient_bits) |
              (field & (field - 1)) << (64 - view_.field_bits) >> view_.quotient_bits,
          view_.quotient_bits + view_.field_bits - 1 - mark};
      if (keeps_copies && mark != 0) return damaged("a prefix of a multiset is too short");
      const bool is_copy = keeps_copies && any && prefix.start == last_start;
      if (any && prefix.start <= covered_to && !is_copy)
        return damaged("its prefixes are not in order");
      last_start = prefix.start;
      covered_to = prefix.end();
      any = true;
      ++entries_;
      ++lengths[prefix.bits];
      if (quotient::ends_at(block, slot)) left &= left - 1;
    }
    const auto used = static_cast<unsigned>(std::min(slots, at - b * slots));
    if (quotient::used_of(home) != used) return damaged("the slots of a block are miscounted");
    if (!rest_is_zero(view_, home, used)) return damaged("a free slot is not empty");
  }
  if (view_.words[view_.blocks * view_.block_words] != 0) return damaged("its end is not empty");
  for (unsigned bits = 0; bits <= 64; ++bits) lengths_.add(bits, lengths[bits]);
  return {};
}

}  // namespace bloomery::inline v0::detail

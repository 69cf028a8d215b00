#include <bloomery/engines/integers/sparse_numbers.hpp>

#include <roaring/roaring.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace bloomery::inline v0::detail {
namespace {

constexpr std::size_t fewest_added = 256;
constexpr std::size_t first_added = std::size_t{1} << 16;
constexpr std::size_t most_added = std::size_t{1} << 22;
// A bitmap for fewer would be mostly its own bookkeeping.
constexpr std::size_t fewest_in_word = 64;
constexpr std::size_t fewest_in_chunk =
    4;  // of 65536 neighbours, on average over those that have any
constexpr std::size_t block_numbers = 4096;
constexpr std::size_t fewest_sorted_by_bytes = 1024;

std::uint32_t high_half(std::uint64_t number) { return static_cast<std::uint32_t>(number >> 32); }
std::uint32_t low_half(std::uint64_t number) { return static_cast<std::uint32_t>(number); }
std::uint64_t joined(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32 | low;
}

// CRoaring tells the bytes that a container would be written with. In memory an array has some room
// to grow and leaves holes when it has grown, and a container is two allocations and its places in
// three tables.
std::uint64_t bytes_of(const roaring_bitmap_t& bitmap) {
  constexpr std::uint64_t per_container = 56;
  const auto containers = static_cast<std::uint64_t>(bitmap.high_low_container.size);
  const std::uint64_t written = roaring_bitmap_portable_size_in_bytes(&bitmap);
  return sizeof(roaring_bitmap_t) + containers * per_container + written + written / 4;
}

// Byte by byte from the lowest, each pass keeping the order of the one before; a byte that all
// numbers share needs no pass. `room` is as large as `numbers`.
void sort_by_bytes(std::vector<std::uint64_t>& numbers, std::vector<std::uint64_t>& room) {
  constexpr int passes = 8;
  constexpr std::size_t values = 256;
  std::array<std::array<std::uint32_t, values>, passes> counts{};
  for (const std::uint64_t number : numbers)
    for (int pass = 0; pass < passes; ++pass) ++counts[pass][number >> (8 * pass) & 255];
  for (int pass = 0; pass < passes; ++pass) {
    auto& places = counts[pass];
    if (places[numbers[0] >> (8 * pass) & 255] == numbers.size()) continue;
    std::uint32_t next = 0;
    for (std::uint32_t& place : places) place = std::exchange(next, next + place);
    for (const std::uint64_t number : numbers) room[places[number >> (8 * pass) & 255]++] = number;
    numbers.swap(room);
  }
}

// Numbers of one word, ascending.
void add_lows(roaring_bitmap_t* bitmap, std::span<const std::uint64_t> numbers) {
  std::array<std::uint32_t, block_numbers> lows;
  while (!numbers.empty()) {
    const std::size_t count = std::min(numbers.size(), lows.size());
    for (std::size_t i = 0; i < count; ++i) lows[i] = low_half(numbers[i]);
    roaring_bitmap_add_many(bitmap, count, lows.data());
    numbers = numbers.subspan(count);
  }
}

// The end of the numbers from here on that have the same high half.
std::size_t end_of_word(std::span<const std::uint64_t> numbers, std::size_t from) {
  std::size_t to = from + 1;
  while (to < numbers.size() && high_half(numbers[to]) == high_half(numbers[from])) ++to;
  return to;
}

}  // namespace

void SparseWord::Free::operator()(roaring_bitmap_s* bitmap) const { roaring_bitmap_free(bitmap); }

SparseNumbers::SparseNumbers(std::uint64_t most_bytes)
    : most_bytes_(most_bytes),
      most_added_(std::clamp<std::uint64_t>(most_bytes / 256, fewest_added, first_added)) {}

SparseNumbers::~SparseNumbers() = default;

bool SparseNumbers::settle(const std::function<void(std::uint64_t)>& repeated) {
  if (added_.size() < fewest_sorted_by_bytes) {
    std::sort(added_.begin(), added_.end());
  } else {
    room_.resize(added_.size());
    sort_by_bytes(added_, room_);
  }
  settle_in_words(repeated);
  if (!merge(repeated) || !promote()) return false;
  added_.clear();
  // The larger the set, the more numbers it takes at a time, so that the array is seldom rewritten.
  const std::uint64_t wanted =
      std::min<std::uint64_t>({bytes() / 64, most_bytes_ / 256, most_added});
  if (wanted > most_added_) {
    most_added_ = wanted;
    added_ = {};
    room_ = {};
    added_.reserve(most_added_);
    room_.reserve(most_added_);
  }
  return true;
}

// Those whose word has a bitmap go there; the others stay in added_, still sorted.
void SparseNumbers::settle_in_words(const std::function<void(std::uint64_t)>& repeated) {
  if (words_.empty()) return;
  std::size_t kept = 0;
  for (std::size_t from = 0; from < added_.size();) {
    const std::size_t to = end_of_word(added_, from);
    const auto numbers = std::span(added_).subspan(from, to - from);
    const auto word = words_.find(high_half(numbers[0]));
    if (word == words_.end()) {
      std::memmove(added_.data() + kept, numbers.data(), numbers.size_bytes());
      kept += numbers.size();
    } else {
      roaring_bitmap_t* const bitmap = word->second.bitmap.get();
      if (!repeated) add_lows(bitmap, numbers);
      for (std::size_t i = 0; repeated && i < numbers.size(); ++i)
        if (!roaring_bitmap_add_checked(bitmap, low_half(numbers[i]))) repeated(numbers[i]);
      words_bytes_ -= word->second.bytes;
      words_bytes_ += word->second.bytes = bytes_of(*bitmap);
    }
    from = to;
  }
  added_.resize(kept);
}

// From the back, so that one buffer is enough:
//
//    sorted_  | 3 | 7 | 9 |   |   |      added_ | 7 | 8 |       9, 8, then 7 again
//                       ^ from      ^ to
//
// What came again leaves a gap before the part that was written, which then moves down.
bool SparseNumbers::merge(const std::function<void(std::uint64_t)>& repeated) {
  if (added_.empty()) return true;
  if (size_ + added_.size() > capacity_ && !resize(size_ + added_.size())) return false;
  std::uint64_t* const sorted = sorted_.get();
  const std::size_t end = size_ + added_.size();
  std::size_t from = size_;
  std::size_t to = end;
  for (std::size_t i = added_.size(); i > 0;) {
    const std::uint64_t number = added_[i - 1];
    if (from > 0 && sorted[from - 1] > number) {
      sorted[--to] = sorted[--from];
      continue;
    }
    --i;
    const bool held = from > 0 && sorted[from - 1] == number;
    if (!held && (to == end || sorted[to] != number))
      sorted[--to] = number;
    else if (repeated)
      repeated(number);
  }
  if (from < to) std::memmove(sorted + from, sorted + to, (end - to) * sizeof(*sorted));
  size_ = from + (end - to);
  return true;
}

// Words that have become dense enough leave the array for a bitmap.
bool SparseNumbers::promote() {
  const std::span<std::uint64_t> sorted(sorted_.get(), size_);
  std::size_t kept = 0;
  for (std::size_t from = 0; from < size_;) {
    const std::size_t to = end_of_word(sorted, from);
    const auto numbers = sorted.subspan(from, to - from);
    std::size_t chunks = 1;
    for (std::size_t i = 1; i < numbers.size(); ++i)
      chunks += numbers[i] >> 16 != numbers[i - 1] >> 16;
    if (numbers.size() >= fewest_in_word && numbers.size() >= fewest_in_chunk * chunks) {
      SparseWord word{std::unique_ptr<roaring_bitmap_s, SparseWord::Free>(roaring_bitmap_create()),
                      0};
      if (word.bitmap == nullptr) return false;
      add_lows(word.bitmap.get(), numbers);
      words_bytes_ += word.bytes = bytes_of(*word.bitmap);
      words_.emplace(high_half(numbers[0]), std::move(word));
    } else {
      std::memmove(sorted.data() + kept, numbers.data(), numbers.size_bytes());
      kept += numbers.size();
    }
    from = to;
  }
  const bool shrunk = kept < size_ / 2;
  size_ = kept;
  return !shrunk || resize(size_);
}

// Not a vector: realloc moves large pieces by their page tables, so that growing does not need the
// old and the new one at once.
bool SparseNumbers::resize(std::size_t numbers) {
  if (numbers == capacity_) return true;
  const std::size_t wanted = std::max<std::size_t>(numbers, 1);
  auto* grown = static_cast<std::uint64_t*>(
      std::realloc(static_cast<void*>(sorted_.get()), wanted * sizeof(std::uint64_t)));
  if (grown == nullptr) return false;
  static_cast<void>(sorted_.release());
  sorted_.reset(grown);
  capacity_ = wanted;
  return true;
}

std::uint64_t SparseNumbers::count() const {
  std::uint64_t numbers = size_;
  for (const auto& [high, word] : words_)
    numbers += roaring_bitmap_get_cardinality(word.bitmap.get());
  return numbers;
}

std::uint64_t SparseNumbers::bytes() const {
  constexpr std::uint64_t per_word = 80;  // a node of the map
  return (capacity_ + added_.capacity() + room_.capacity()) * sizeof(std::uint64_t) + words_bytes_ +
         words_.size() * per_word;
}

std::uint64_t SparseNumbers::middle() const {
  const std::uint64_t half = (size_ * sizeof(std::uint64_t) + words_bytes_) / 2;
  std::uint64_t below = 0;
  std::size_t place = 0;
  const std::uint64_t* const end = sorted_.get() + size_;
  const auto in_array = [&] { return place + (half - below) / sizeof(std::uint64_t); };
  for (const auto& [high, word] : words_) {
    const std::uint64_t* const reached = std::lower_bound(
        static_cast<const std::uint64_t*>(sorted_.get()) + place, end, joined(high, 0));
    const auto next = static_cast<std::size_t>(reached - sorted_.get());
    if (in_array() < next) return sorted_.get()[in_array()];
    below += (next - place) * sizeof(std::uint64_t);
    place = next;
    if (below + word.bytes > half) {
      const std::uint64_t numbers = roaring_bitmap_get_cardinality(word.bitmap.get());
      const double part = static_cast<double>(half - below) / static_cast<double>(word.bytes);
      const auto rank = static_cast<std::uint64_t>(part * static_cast<double>(numbers));
      std::uint32_t low = 0;
      // A word has at least fewest_in_word numbers, or what drop_from() left of them.
      roaring_bitmap_select(word.bitmap.get(),
                            static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
                                rank, std::min<std::uint64_t>(1, numbers - 1), numbers - 1)),
                            &low);
      return joined(high, low);
    }
    below += word.bytes;
  }
  return sorted_.get()[std::min(in_array(), size_ - 1)];
}

void SparseNumbers::drop_from(std::uint64_t number) {
  size_ = static_cast<std::size_t>(std::lower_bound(sorted_.get(), sorted_.get() + size_, number) -
                                   sorted_.get());
  static_cast<void>(resize(size_));  // a smaller piece that is refused is only memory kept
  const std::uint32_t high = high_half(number);
  auto word = words_.lower_bound(high);
  if (word != words_.end() && word->first == high && low_half(number) > 0) {
    roaring_bitmap_t* const bitmap = word->second.bitmap.get();
    roaring_bitmap_remove_range_closed(bitmap, low_half(number), UINT32_MAX);
    words_bytes_ -= word->second.bytes;
    words_bytes_ += word->second.bytes = bytes_of(*bitmap);
    if (roaring_bitmap_get_cardinality(bitmap) > 0) ++word;
  }
  for (auto gone = word; gone != words_.end(); ++gone) words_bytes_ -= gone->second.bytes;
  words_.erase(word, words_.end());
}

SparseNumbers::Walk::Walk(const SparseNumbers& numbers)
    : numbers_(numbers), word_(numbers.words_.begin()), lows_(block_numbers) {
  block_.reserve(block_numbers);
  open_word();
}

SparseNumbers::Walk::~Walk() {
  if (in_word_ != nullptr) roaring_free_uint32_iterator(in_word_);
}

void SparseNumbers::Walk::open_word() {
  if (in_word_ != nullptr) roaring_free_uint32_iterator(std::exchange(in_word_, nullptr));
  if (word_ != numbers_.words_.end())
    in_word_ = roaring_create_iterator(word_->second.bitmap.get());
}

std::span<const std::uint64_t> SparseNumbers::Walk::next() {
  block_.clear();
  const std::uint64_t* const sorted = numbers_.sorted_.get();
  while (block_.empty()) {
    const bool words_left = word_ != numbers_.words_.end();
    while (block_.size() < block_numbers && place_ < numbers_.size_ &&
           (!words_left || high_half(sorted[place_]) < word_->first))
      block_.push_back(sorted[place_++]);
    if (!block_.empty() || !words_left) break;
    const std::uint32_t got = roaring_read_uint32_iterator(
        in_word_, lows_.data(), static_cast<std::uint32_t>(block_numbers));
    for (std::uint32_t i = 0; i < got; ++i) block_.push_back(joined(word_->first, lows_[i]));
    if (got > 0) break;
    ++word_;
    open_word();
  }
  return block_;
}

}  // namespace bloomery::inline v0::detail

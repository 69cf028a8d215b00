// A table of hashes in cache lines (hash_line.hpp) that grows in place: what `compact` and
// `hash-set` are made of.
//
//    line       | l0 | l1 | l2 | ... | ll | 6 more for what the last ones pass on
//    growing    | l0 |    | l1 | l2 |  | l3 ...   the order of lines is the order of hashes: one
//                                                pass from the back, no key is hashed again
//
// A full line passes on the entry that lies nearest to its home (Robin Hood), so entries of one
// home stay close together, and a search ends at the first line that nothing of its class went past
// (hash_line.hpp). The table is full at 85 % of its slots: then every third line passes entries on.
// Limits:  hashes that crowd into a few lines (chosen, or not well mixed) overflow into a tree, the
//          strays: right, but slower and larger. A table that throws bad_alloc has lost its strays:
//          it may only be destroyed.
// Threads: one, or any number that only ask.
// See:     line_table_test.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include <bloomery/detail/bits/hash_line.hpp>
#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

// Lines with 48-bit entries for tables of 2^16 lines or more, and with 64-bit entries for others.
struct CompactLines {
  using Key = std::uint64_t;
  using Large = NarrowKeyLine<HashLine<10, 4, 20>>;
  using Small = NarrowKeyLine<HashLine<7, 6, 16>>;
};
struct HashSetLines {
  using Key = WideHash;
  using Large = WideKeyLine<HashLine<8, 4, 16>>;
  using Small = WideKeyLine<HashLine<7, 6, 16>>;
};

template <class Lines>
class LineTable {
 public:
  using Key = typename Lines::Key;
  using Large = typename Lines::Large;
  using Small = typename Lines::Small;
  static_assert(sizeof(Large) == sizeof(Small) && sizeof(Large) % hash_line_bytes == 0);

  struct Size {
    std::uint64_t lines = 0;
    bool large = false;
    std::uint64_t room() const;   // keys that it takes before it grows
    std::uint64_t bytes() const;  // of memory
    std::uint64_t slots() const;
  };
  static Size size_for(std::uint64_t keys);

  LineTable() = default;
  // What was moved from is empty.
  LineTable(LineTable&& other) noexcept { *this = std::move(other); }
  LineTable& operator=(LineTable&& other) noexcept;

  // The next size: larger by 1/part (part is 2 to 4) of its lines; under a cap by 1/4 at least.
  // 0 lines where the cap has no room for that.
  Size next_size(unsigned part) const;
  // From now on bytes() stays at or below this, except for one stray; 0: no cap.
  void cap_bytes(std::uint64_t most) {
    cap_ = most;
    room_ = size_.room();
  }
  std::uint64_t cap() const { return cap_; }
  // Grows to a next_size(), or from empty to any size. On an Error nothing has changed.
  Result<void> grow(const Size& size);
  void clear();

  bool has_room() const { return used_ < room_; }
  const Size& size() const { return size_; }
  std::uint64_t count() const { return used_ + strays_.size(); }
  std::uint64_t bytes() const { return memory_.size() + stray_bytes(); }
  std::uint64_t stray_bytes() const { return strays_.size() * bytes_a_stray; }

  bool contains(Key key) const {
    if (size_.large) [[likely]]
      return find<Large>(key);
    return size_.lines != 0 && find<Small>(key);
  }
  // True if it was not there. The caller has made room.
  bool add(Key key) {
    if (size_.large) [[likely]]
      return insert<Large>(key);
    return insert<Small>(key);
  }
  // For a key that is not there. The caller has made room.
  void add_absent(const Key& key) { size_.large ? put<Large>(key) : put<Small>(key); }

  // The line of a key, and the next cache line: low halves of hashes, or what was passed on. Into
  // the L1 cache (3), or into the L2 cache (2), which can have more misses in flight.
  template <int cache>
  [[gnu::always_inline]] void prefetch(const Key& key) const {
    if (size_.lines == 0) return;
    const std::byte* const line =
        memory_.bytes().data() + sizeof(Large) * mulhi(Large::high_of(key), size_.lines);
    __builtin_prefetch(line, 0, cache);
    __builtin_prefetch(line + hash_line_bytes, 0, cache);
  }

  // Calls each(key) for every member: in the order of lines, so each within some places of its own.
  template <class Each>
  void for_each(Each&& each) const;
  // Writes all members, count() of them, in ascending order.
  void copy_sorted(Key* out) const;

 private:
  // A node of the tree, with what the heap needs for it.
  static constexpr std::uint64_t bytes_a_stray = 32 + 8 * (sizeof(Key) / 8 + 1);
  // When a table grows in place, entries of the first lines could land on lines that were not read
  // yet: (line - farthest_line) * 5/4 < line. So the first lines are all read before any is placed.
  static constexpr std::uint64_t lines_read_together = 32;

  template <class Line>
  static auto place_of(const Key& key, std::uint64_t lines) {
    return Line::place_of(Line::high_of(key), lines);
  }
  template <class Line>
  static constexpr unsigned slots_of = Line::slots;
  static constexpr std::uint64_t least_lines = 8;
  static constexpr std::uint64_t least_large_lines = Large::least_lines;

  template <class Line>
  Line* lines() {
    return reinterpret_cast<Line*>(memory_.bytes().data());
  }
  template <class Line>
  const Line* lines() const {
    return reinterpret_cast<const Line*>(memory_.bytes().data());
  }

  // Calls that are not inlined take a key in two words: the compiler puts a struct that it hands on
  // into memory, as a vector, and reads it back before the line is known, which made single keys
  // 1.1 to 1.2 times as slow (GCC 12).
  template <class Line>
  bool find(Key key) const {
    const auto [home, entry] = place_of<Line>(key, size_.lines);
    const Line* const line = lines<Line>() + home;
    if (line->has(entry, Line::low_of(key), 0)) return true;
    return line->passed(entry) && find_behind(line, entry, Line::high_of(key), Line::low_of(key));
  }
  template <class Line>
  [[gnu::noinline]] bool find_behind(const Line* home, std::uint64_t entry, std::uint64_t high,
                                     typename Line::Low low) const;

  template <class Line>
  bool insert(Key key) {
    const auto [home, entry] = place_of<Line>(key, size_.lines);
    Line* const line = lines<Line>() + home;
    if (line->has(entry, Line::low_of(key), 0)) return false;
    if (const unsigned slot = line->used(); slot < Line::slots) [[likely]] {
      // Nothing goes past a line that has room: entries are never taken out one by one.
      line->put(slot, entry, Line::low_of(key), 0);
      ++used_;
      return true;
    }
    return insert_behind(line, entry, Line::high_of(key), Line::low_of(key));
  }
  template <class Line>
  [[gnu::noinline]] bool insert_behind(Line* home, std::uint64_t entry, std::uint64_t high,
                                       typename Line::Low low);
  template <class Line>
  void pass_on(Line* line, std::uint64_t entry, typename Line::Low low);
  template <class Line>
  void put(const Key& key);
  template <class From, class To>
  void spread(From* from, std::uint64_t lines);
  template <class Line, class Each>
  static void each_of(const Line& line, std::uint64_t at, const HashRestorer& restorer,
                      Each&& each);

  Memory memory_;
  Size size_;
  std::uint64_t used_ = 0;  // in lines
  std::uint64_t room_ = 0;
  std::set<Key> strays_;
  std::uint64_t cap_ = 0;  // 0: none
};

template <class Lines>
std::uint64_t LineTable<Lines>::Size::slots() const {
  return lines * (large ? Large::slots : Small::slots);
}
template <class Lines>
std::uint64_t LineTable<Lines>::Size::room() const {
  return slots() - slots() * 3 / 20;
}
template <class Lines>
std::uint64_t LineTable<Lines>::Size::bytes() const {
  return lines == 0 ? 0 : (lines + farthest_line) * sizeof(Large);
}

template <class Lines>
typename LineTable<Lines>::Size LineTable<Lines>::size_for(std::uint64_t keys) {
  const std::uint64_t slots = keys + keys * 3 / 17 + 1;
  const std::uint64_t lines = std::max(least_lines, slots / Small::slots + 1);
  if (lines < least_large_lines) return {lines, false};
  return {std::max(least_large_lines, slots / Large::slots + 1), true};
}

template <class Lines>
typename LineTable<Lines>::Size LineTable<Lines>::next_size(unsigned part) const {
  std::uint64_t least = least_lines, most = least_lines;
  if (size_.lines != 0) {
    least = size_.lines + (size_.lines + 3) / 4;
    most = std::max(least, size_.lines + size_.lines / part);
  }
  if (cap_ != 0) {
    const std::uint64_t fitting = (cap_ - std::min(cap_, stray_bytes())) / sizeof(Large);
    most = std::min(most, fitting - std::min<std::uint64_t>(fitting, farthest_line));
    if (most < least) return {};
  }
  return {most, most >= least_large_lines};
}

template <class Lines>
LineTable<Lines>& LineTable<Lines>::operator=(LineTable&& other) noexcept {
  memory_ = std::move(other.memory_);
  size_ = std::exchange(other.size_, {});
  used_ = std::exchange(other.used_, 0);
  room_ = std::exchange(other.room_, 0);
  strays_ = std::exchange(other.strays_, {});
  cap_ = other.cap_;
  return *this;
}

template <class Lines>
void LineTable<Lines>::clear() {
  std::fill(memory_.bytes().begin(), memory_.bytes().end(), std::byte{0});
  strays_.clear();
  used_ = 0;
  room_ = size_.room();
}

template <class Lines>
template <class Line>
bool LineTable<Lines>::find_behind(const Line* home, std::uint64_t entry, std::uint64_t high,
                                   typename Line::Low low) const {
  for (unsigned distance = 1; distance <= farthest_line; ++distance) {
    if (home[distance].has(entry, low, distance)) return true;
    if (!home[distance].passed(entry)) return false;
  }
  return strays_.contains(Line::joined(high, low));
}

template <class Lines>
template <class Line>
bool LineTable<Lines>::insert_behind(Line* home, std::uint64_t entry, std::uint64_t high,
                                     typename Line::Low low) {
  if (home->passed(entry) && find_behind(home, entry, high, low)) return false;
  pass_on(home, entry, low);
  return true;
}

// Line after line: the current entry takes the place of one that lies nearer to its home, which
// becomes the current one, until a line has room. An entry that finds none within farthest_line
// becomes a stray.
template <class Lines>
template <class Line>
void LineTable<Lines>::pass_on(Line* line, std::uint64_t entry, typename Line::Low low) {
  unsigned distance = 0;
  for (; distance <= farthest_line; ++line, ++distance) {
    if (const unsigned slot = line->used(); slot < Line::slots) {
      line->put(slot, entry, low, distance);
      ++used_;
      return;
    }
    const unsigned slot = line->nearest_slot();
    if (const unsigned nearer = line->distance(slot); nearer < distance) {
      const std::uint64_t next = line->entry(slot);
      const typename Line::Low next_low = line->low(slot);
      line->put(slot, entry, low, distance);
      entry = next;
      low = next_low;
      distance = nearer;
    }
    line->mark_passed(entry);
  }
  const HashRestorer restorer(size_.lines);
  const auto home = static_cast<std::uint64_t>(line - lines<Line>()) - distance;
  strays_.insert(Line::joined(restorer.hash_of(home, entry << Line::dropped_bits), low));
  // Strays can use up the cap while lines are half empty: room 0 makes the next add check the cap.
  if (cap_ != 0 && bytes() + bytes_a_stray > cap_) room_ = 0;
}

template <class Lines>
template <class Line>
void LineTable<Lines>::put(const Key& key) {
  const auto [home, entry] = place_of<Line>(key, size_.lines);
  Line* const line = lines<Line>() + home;
  if (const unsigned slot = line->used(); slot < Line::slots) [[likely]] {
    line->put(slot, entry, Line::low_of(key), 0);
    ++used_;
  } else {
    pass_on(line, entry, Line::low_of(key));
  }
}

template <class Lines>
Result<void> LineTable<Lines>::grow(const Size& size) {
  const Size before = size_;
  Memory old;
  if (before.large) {
    if (auto grown = memory_.grow(size.bytes()); !grown) return grown;
  } else {
    auto larger = Memory::make(size.bytes());
    if (!larger) return larger.error();
    old = std::exchange(memory_, std::move(*larger));
  }
  size_ = size;
  room_ = size.room();
  used_ = 0;
  const std::set<Key> strays = std::exchange(strays_, {});
  if (before.large)
    spread<Large, Large>(lines<Large>(), before.lines);
  else if (size.large)
    spread<Small, Large>(reinterpret_cast<Small*>(old.bytes().data()), before.lines);
  else
    spread<Small, Small>(reinterpret_cast<Small*>(old.bytes().data()), before.lines);
  for (const Key& key : strays) add_absent(key);
  return {};
}

// From the last line to the first. They may be lines of the table itself: what is read is emptied,
// and goes to lines at or behind it.
template <class Lines>
template <class From, class To>
void LineTable<Lines>::spread(From* from, std::uint64_t lines) {
  if (lines == 0) return;
  const HashRestorer restorer(lines);
  const auto place = [this](const Key& key) { put<To>(key); };
  std::uint64_t at = lines + farthest_line;
  while (at > lines_read_together) {
    --at;
    const From line = std::exchange(from[at], From{});
    each_of(line, at, restorer, place);
  }
  std::array<From, lines_read_together> first;
  std::copy_n(from, at, first.begin());
  std::fill_n(from, at, From{});
  for (std::uint64_t i = 0; i < at; ++i) each_of(first[i], i, restorer, place);
}

template <class Lines>
template <class Line, class Each>
void LineTable<Lines>::each_of(const Line& line, std::uint64_t at, const HashRestorer& restorer,
                               Each&& each) {
  const unsigned used = line.used();
  for (unsigned slot = 0; slot < used; ++slot) {
    const std::uint64_t left_over = line.entry(slot) << Line::dropped_bits;
    each(Line::joined(restorer.hash_of(at - line.distance(slot), left_over), line.low(slot)));
  }
}

template <class Lines>
template <class Each>
void LineTable<Lines>::for_each(Each&& each) const {
  const auto in_lines = [&]<class Line>(const Line* line) {
    const HashRestorer restorer(size_.lines);
    for (std::uint64_t at = 0; at < size_.lines + farthest_line; ++at)
      each_of(line[at], at, restorer, each);
  };
  if (size_.lines != 0) size_.large ? in_lines(lines<Large>()) : in_lines(lines<Small>());
  for (const Key& key : strays_) each(key);
}

template <class Lines>
void LineTable<Lines>::copy_sorted(Key* out) const {
  Key* end = out;
  for_each([&](const Key& key) { *end++ = key; });
  if (!strays_.empty()) return std::sort(out, end);
  // None is more than some lines away from its place: insertion sort looks at few.
  for (Key* next = out; next != end; ++next) {
    const Key key = *next;
    Key* at = next;
    for (; at != out && *(at - 1) > key; --at) *at = *(at - 1);
    *at = key;
  }
}

}  // namespace bloomery::inline v0::detail

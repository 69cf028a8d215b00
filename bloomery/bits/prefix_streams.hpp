// Streams of prefixes in ascending order: two of them merged, and one into a quotient table.
//
//    a stream   next() -> optional<Prefix>; none covers another; nothing after the last
//
// Threads: a stream belongs to one.
// See:     quotient_table.hpp, whose Reader is one.
#pragma once

#include <optional>
#include <utility>

#include <bloomery/detail/bits/quotient_table.hpp>

namespace bloomery::inline v0::detail {

// The union of two streams, without duplicates. Of two prefixes either one covers the other, and
// then the shorter one comes first, or they have no hash in common.
template <class One, class Other>
class Either {
 public:
  Either(One one, Other other)
      : one_(std::move(one)), other_(std::move(other)), a_(one_.next()), b_(other_.next()) {}
  std::optional<Prefix> next() {
    while (a_ || b_) {
      const bool first =
          a_ && (!b_ || a_->start < b_->start || (a_->start == b_->start && a_->bits <= b_->bits));
      const Prefix prefix =
          first ? *std::exchange(a_, one_.next()) : *std::exchange(b_, other_.next());
      if (last_ && prefix.start <= last_->end()) continue;
      last_ = prefix;
      return prefix;
    }
    return std::nullopt;
  }

 private:
  One one_;
  Other other_;
  std::optional<Prefix> a_, b_, last_;
};

// Appends a stream to an empty table; false when the table runs out of slots.
template <class Stream>
bool pour(Stream&& stream, QuotientTable& table) {
  QuotientTable::Appender appender(table);
  for (auto prefix = stream.next(); prefix; prefix = stream.next())
    if (!appender.append(*prefix)) return false;
  appender.finish();
  return true;
}

}  // namespace bloomery::inline v0::detail

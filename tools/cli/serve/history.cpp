#include "history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace bloomery::cli {
namespace {

void append_number(std::string& text, double value) {
  if (text.size() > 1) text += ',';
  if (std::isfinite(value))
    fmt::format_to(std::back_inserter(text), "{}", value);
  else
    text += "null";
}

}  // namespace

void History::add(double time, std::span<const double> values) {
  if (!times_.empty() && time <= times_.back()) return;
  times_.push_back(time);
  for (std::size_t i = 0; i < columns_; ++i) values_.push_back(values[i]);
  if (times_.front() < time - longest)
    erase_where([&](std::size_t i) { return times_[i] < time - longest; });
  if (times_.size() > most) thin();
}

void History::thin() {
  const std::size_t older = times_.size() / 3 * 2;
  erase_where([&](std::size_t i) { return i < older && i % 2 == 1; });
}

void History::erase_where(auto gone) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < times_.size(); ++i) {
    if (gone(i)) continue;
    times_[kept] = times_[i];
    std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(i * columns_), columns_,
                values_.begin() + static_cast<std::ptrdiff_t>(kept * columns_));
    ++kept;
  }
  times_.resize(kept);
  values_.resize(kept * columns_);
}

std::string History::times_json() const {
  std::string text = "[";
  for (const double time : times_) append_number(text, time);
  return text + "]";
}

std::string History::column_json(std::size_t column) const {
  std::string text = "[";
  for (std::size_t i = 0; i < times_.size(); ++i)
    append_number(text, values_[i * columns_ + column]);
  return text + "]";
}

}  // namespace bloomery::cli

// Numbers over a day, in bounded memory: what is older is kept more sparsely.
//
//    |  .   .   .   .   |  . . . . . . . |.............|     points by age
//    24 h                                             now
//
// When there are more than `most` points, every second one of the older two thirds goes. A look
// every 2 s is kept whole for the last ten minutes or so, and by minutes after some hours.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace bloomery::cli {

class History {
 public:
  // All the memory it ever takes.
  explicit History(std::size_t columns) : columns_(columns) {
    times_.reserve(most + 1);
    values_.reserve((most + 1) * columns);
  }

  // In the order of time; a point that is not later than the last one is left out.
  void add(double time, std::span<const double> values);
  std::size_t size() const { return times_.size(); }

  // "[1,2,null]": numbers as JSON has them.
  std::string times_json() const;
  std::string column_json(std::size_t column) const;

 private:
  static constexpr std::size_t most = 900;
  static constexpr double longest = 24 * 3600;
  void thin();
  void erase_where(auto gone);

  std::size_t columns_;
  std::vector<double> times_;
  std::vector<double> values_;  // a row of columns for each time
};

}  // namespace bloomery::cli

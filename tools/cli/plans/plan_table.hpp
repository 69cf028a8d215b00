// What every kind would cost for a want, and which of them to take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/any_set.hpp>
#include <tools/inside.hpp>

namespace bloomery::cli {

struct Planned {
  const KindRow* row;
  Want want;  // complete
  std::uint64_t bytes;

  double rate() const;
};

struct LeftOut {
  const KindRow* row;
  std::string why;
};

struct PlanTable {
  std::vector<Planned> planned;
  std::vector<LeftOut> left_out;

  // nullptr: no such kind, or left out.
  const Planned* find(std::string_view kind) const;
};

// One kind; the Error says why it is left out.
Result<Planned> plan_row(const KindRow& row, Want want);
// Kinds that the want does not speak of (exact maps without a range, cascades without a second
// list) are in neither list.
PlanTable plan_table(const Want& want);

struct PlanChoice {
  const Planned* planned;
  std::string why;
};
// Of a table with a kind in it, from which it borrows.
PlanChoice choose(const PlanTable& table);

}  // namespace bloomery::cli

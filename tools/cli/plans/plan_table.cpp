#include "plan_table.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include <tools/cli/report/units.hpp>

namespace bloomery::cli {

double Planned::rate() const {
  if (row->exact) return 0;
  return row->whole_hashes ? std::ldexp(static_cast<double>(want.keys), -64) : want.rate;
}

Result<Planned> plan_row(const KindRow& row, Want want) {
  const std::uint64_t cap = want.memory_bytes;
  const double asked = row.whole_hashes ? want.rate : 0;  // the others are planned for it
  if (row.input == InputForm::ordinal) {
    want.memory_bytes = 0;
    want.rate = 0;
  } else {
    want.range = {};
    if (row.whole_hashes) {
      // A set of hashes has no rate to trade: memory only says how many keys.
      if (want.keys == 0) return Error{Code::impossible, "needs --keys"};
      want.rate = 0;
      want.memory_bytes = 0;
    }
    auto whole = row.complete(want);
    if (!whole) return whole.error();
    want = *whole;
  }
  const auto bytes = row.planned_bytes(want);
  if (!bytes) return bytes.error();
  if (cap > 0 && *bytes > cap)
    return Error{Code::impossible,
                 fmt::format("takes {}, more than --memory", print_bytes(*bytes))};
  const Planned planned{&row, want, *bytes};
  if (asked > 0 && planned.rate() > asked)
    return Error{Code::impossible,
                 fmt::format("has a rate of {} with so many keys", print_rate(planned.rate()))};
  return planned;
}

PlanTable plan_table(const Want& want) {
  PlanTable table;
  for (const KindRow& row : AnySet::register_rows()) {
    if (row.input == InputForm::ordinal && !want.range.given()) continue;
    if (row.two_lists && want.allowed == 0) continue;  // its size depends on the other list
    const auto planned = plan_row(row, want);
    if (planned)
      table.planned.push_back(*planned);
    else
      table.left_out.push_back({&row, planned.error().sentence});
  }
  return table;
}

const Planned* PlanTable::find(std::string_view kind) const {
  for (const Planned& one : planned)
    if (one.row->id.name == kind) return &one;
  return nullptr;
}

// docs/kinds.md: one cache miss per key is worth a few bits; smallest only when that is all that
// fits.
PlanChoice choose(const PlanTable& table) {
  if (const Planned* cascade = table.find("cascade"))
    return {cascade, "blocks all of one list and none of the other"};
  const Planned* blocked = table.find("blocked");
  const Planned* bitmap = table.find("bitmap");
  if (bitmap != nullptr && (blocked == nullptr || bitmap->bytes <= blocked->bytes))
    return {bitmap, "exact, and no larger than an approximate set"};
  if (blocked != nullptr) {
    if (blocked->want.rate >= 1e-4)
      return {blocked, "one cache miss per key, for little more than the fewest bits"};
    return {blocked, "two cache misses per key, where the smallest kind has a dozen or more"};
  }
  // What can be added to, if there is any; static kinds only where nothing else fits.
  const Planned* smallest = nullptr;
  for (const Planned& planned : table.planned)
    if (smallest == nullptr || std::pair(planned.row->built, planned.bytes) <
                                   std::pair(smallest->row->built, smallest->bytes))
      smallest = &planned;
  if (smallest->row->built)
    return {smallest, "fits where nothing else does; takes all keys at once, and no more later"};
  return {smallest, "the smallest that fits"};
}

}  // namespace bloomery::cli

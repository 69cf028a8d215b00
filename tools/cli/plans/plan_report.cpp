#include "plan_report.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace bloomery::cli {
namespace {

Error refused(std::string sentence) { return {Code::bad_input, std::move(sentence)}; }

Report row_report(const Planned& planned, bool keys_vary) {
  Report row;
  row.text("kind", std::string(planned.row->id.name));
  row.bytes("bytes", planned.bytes);
  const auto keys = static_cast<double>(planned.want.keys);
  row.real("bits_per_key", keys > 0 ? static_cast<double>(planned.bytes) * 8 / keys
                                    : std::numeric_limits<double>::quiet_NaN());
  row.rate("rate", planned.rate());
  if (keys_vary) row.count("keys", planned.want.keys);
  return row;
}

Report report_of(const PlanTable& table, const PlanChoice& choice, const Want& asked) {
  Report report;
  const Want& want = choice.planned->want;
  report.count("keys", want.keys);
  report.rate("rate", asked.rate > 0 ? asked.rate : want.rate);
  if (asked.allowed > 0) report.count("allowed", asked.allowed);
  if (asked.memory_bytes > 0) report.bytes("memory", asked.memory_bytes);
  std::vector<Report> rows;
  for (const Planned& planned : table.planned) rows.push_back(row_report(planned, asked.keys == 0));
  report.rows("kinds", std::move(rows));
  report.text("chosen", std::string(choice.planned->row->id.name));
  report.text("why", choice.why);
  if (table.left_out.empty()) return report;
  std::vector<Report> left_out;
  for (const LeftOut& out : table.left_out) {
    Report& row = left_out.emplace_back();
    row.text("left_out", std::string(out.row->id.name));
    row.text("why", out.why);
  }
  report.rows("left_out", std::move(left_out));
  return report;
}

}  // namespace

Result<PlanTable> plan_all(const Want& want) {
  if ((want.keys > 0) + (want.rate > 0) + (want.memory_bytes > 0) < 2)
    return refused(
        "plan needs two of --keys, --rate and --memory, as in 'bloomery plan -n 10M -p 1%'");
  // Else every kind would be left out for the same reason, but for those without a rate.
  if (want.rate > 0) {
    const Want shared = {.keys = std::max<std::uint64_t>(want.keys, 1), .rate = want.rate};
    if (auto sound = check_keys_and_rate(shared); !sound) return sound.error();
  }
  PlanTable table = plan_table(want);
  if (table.planned.empty())
    return refused(table.left_out.empty() ? "no kind can do this" : table.left_out.front().why);
  // Whoever names two lists is not helped by a set of one.
  if (want.allowed > 0)
    for (const LeftOut& out : table.left_out)
      if (out.row->two_lists) return refused("no set of both lists: " + out.why);
  return table;
}

Result<Report> plan_report(const Want& want) {
  const auto table = plan_all(want);
  if (!table) return table.error();
  return report_of(*table, choose(*table), want);
}

}  // namespace bloomery::cli

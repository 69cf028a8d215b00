// growth, curves: what becomes of a plan with more keys, and every kind over a range.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <bloomery/any_set.hpp>

#include <tools/cli/plans/plan_report.hpp>
#include <tools/cli/report/units.hpp>

#include "verbs.hpp"
#include "wants.hpp"

namespace bloomery::web {
namespace {

using cli::Planned;
using cli::print_bytes;
using cli::print_count;
using cli::print_rate;

// The first that is true of a kind says what more keys do to it.
std::string_view beyond_of(const KindRow& row) {
  if (row.input == InputForm::ordinal) return "exact";
  if (row.built || row.two_lists) return "rebuild";
  if (row.grows) return "grows";
  if (row.forgets) return "forgets";
  return row.keeps_copies ? "full" : "rate rises";
}

struct Point {
  double factor = 0;
  std::uint64_t keys = 0;
  std::optional<detail::Grown> grown;  // nothing: it cannot be in that state
};

Point point_of(const Planned& plan, double factor) {
  Point point{.factor = factor};
  const double keys = std::round(static_cast<double>(plan.want.keys) * factor);
  point.keys = static_cast<std::uint64_t>(std::clamp(keys, 0.0, 1e18));
  const bool takes_more = beyond_of(*plan.row) != "rebuild";
  if (plan.row->input == InputForm::ordinal) {
    const std::uint64_t integers = plan.want.range.high - plan.want.range.low + 1;
    point.grown = {.bytes = plan.bytes, .held = std::min(point.keys, integers)};
  } else if (takes_more || point.keys <= plan.want.keys) {
    if (const auto grown = plan.row->grown(plan.want, point.keys)) point.grown = *grown;
  }
  return point;
}

std::string sentence_of(const Planned& plan) {
  const std::string_view beyond = beyond_of(*plan.row);
  if (beyond == "exact")
    return "It is never wrong, however many keys it holds: it has its bits for every integer of "
           "its range.";
  if (beyond == "rebuild")
    return "It takes no more keys once it is built: build it again from all of them.";
  const Point three = point_of(plan, 3);
  if (!three.grown) return "64-bit hashes cannot tell so many more keys apart.";
  const std::string held = print_count(three.grown->held);
  if (beyond == "full")
    return fmt::format("It is full at about {} keys: further keys are refused, and none is lost.",
                       held);
  if (beyond == "forgets")
    return fmt::format(
        "It forgets the oldest: the last {} different keys are surely in it, at its planned rate.",
        print_count(plan.want.keys));
  if (beyond == "grows" && plan.row->exact)
    return fmt::format("It grows with its keys and stays exact: {} with 3 times as many.",
                       print_bytes(three.grown->bytes));
  if (beyond == "grows")
    return fmt::format("It grows with its keys: with 3 times as many it takes {}, at a rate of {}.",
                       print_bytes(three.grown->bytes), print_rate(three.grown->rate));
  return fmt::format("No key is lost, but the rate rises: with 3 times the keys from {} to {}.",
                     print_rate(plan.rate()), print_rate(three.grown->rate));
}

std::string json_of(const Planned& plan, const Point& point) {
  Object object;
  object.set("factor", point.factor).set("keys", point.keys);
  // One that takes no more stays as it was built.
  object.set("held", point.grown ? point.grown->held : plan.want.keys);
  object.set("bytes", point.grown ? point.grown->bytes : plan.bytes);
  object.put("rate", point.grown ? json(point.grown->rate) : "null");
  return object.text();
}

Answer curves_of(const Request& request, bool over_rate) {
  const auto low = request.number("low");
  const auto high = request.number("high");
  const auto points = request.whole("points");
  if (!low) return low.error();
  if (!high) return high.error();
  if (!points) return points.error();
  if (*low <= 0 || *high < *low || *points < 2 || *points > 400)
    return Error{Code::bad_input,
                 "curves go from a positive number to a larger one, in 2 to 400 "
                 "points"};
  cli::PlanText text = plan_text_of(request);
  (over_rate ? text.rate : text.keys).reset();
  auto want = cli::want_of(text);
  if (!want) return want.error();
  std::vector<double> xs;
  std::vector<const KindRow*> rows;
  for (const KindRow& row : AnySet::register_rows())
    if (row.input == InputForm::ordinal ? want->range.given() : !row.two_lists || want->allowed > 0)
      rows.push_back(&row);
  std::vector<std::vector<std::optional<std::uint64_t>>> bytes(rows.size());
  std::vector<std::vector<std::optional<double>>> bits(rows.size()), rates(rows.size());
  for (std::uint64_t i = 0; i < *points; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(*points - 1);
    double x = i + 1 == *points ? *high : *low * std::pow(*high / *low, share);
    if (over_rate)
      want->rate = x;
    else
      x = std::round(x), want->keys = static_cast<std::uint64_t>(std::clamp(x, 1.0, 1e18));
    xs.push_back(x);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const auto plan = cli::plan_row(*rows[k], *want);
      const bool sound = plan && plan->want.keys > 0;
      bytes[k].push_back(plan ? std::optional(plan->bytes) : std::nullopt);
      bits[k].push_back(sound ? std::optional(static_cast<double>(plan->bytes) * 8 /
                                              static_cast<double>(plan->want.keys))
                              : std::nullopt);
      rates[k].push_back(plan ? std::optional(plan->rate()) : std::nullopt);
    }
  }
  std::string names;
  for (const KindRow* row : rows) names += (names.empty() ? "" : ",") + json(row->id.name);
  Object reply;
  reply.set("over", over_rate ? "rate" : "keys").set("x", xs).put("kinds", "[" + names + "]");
  reply.set("bytes", bytes).set("bits_per_key", bits).set("rate", rates);
  return reply.text();
}

}  // namespace

Result<Planned> planned_kind(const Request& request) {
  const auto want = cli::want_of(plan_text_of(request));
  if (!want) return want.error();
  const KindRow* const row = AnySet::find_row(request.text("kind").value_or(""));
  if (row == nullptr) return Error{Code::bad_input, "there is no such kind of set"};
  if (auto all = cli::plan_all(*want); !all) return all.error();
  return cli::plan_row(*row, *want);
}

Answer growth(const Request& request) {
  const auto plan = planned_kind(request);
  if (!plan) return plan.error();
  const auto factors = request.numbers("factors");
  if (!factors) return factors.error();
  std::string points;
  for (const double factor : *factors)
    points += (points.empty() ? "" : ",") + json_of(*plan, point_of(*plan, factor));
  Object reply;
  reply.set("kind", plan->row->id.name).set("keys", plan->want.keys);
  reply.set("beyond", beyond_of(*plan->row)).set("sentence", sentence_of(*plan));
  reply.put("points", "[" + points + "]");
  return reply.text();
}

Answer curves(const Request& request) {
  const auto over = request.text("over");
  if (over != "rate" && over != "keys")
    return Error{Code::bad_input, "curves go over rate or over keys"};
  return curves_of(request, over == "rate");
}

}  // namespace bloomery::web

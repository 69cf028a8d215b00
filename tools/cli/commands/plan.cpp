// bloomery plan: what every kind would cost, and which one to take; or, with --nodes, a set that is
// shared on a Redis Cluster (plan_nodes.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include <bloomery/any_set.hpp>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/report/report.hpp>
#include <tools/cli/report/units.hpp>

#include "command.hpp"
#include "plan_nodes.hpp"

namespace bloomery::cli {
namespace {

struct PlanFlags {
  SizeFlags size;
  Word range;
  Word allow;
  NodesFlags nodes;
  SpeechFlags speech;
};

constexpr const char* story =
    R"(Any two of --keys, --rate and --memory give the third; with all three, --memory
is a cap, and kinds that do not fit it are left out. Nothing is made or written.
--range adds the exact maps of integers, --allow N the cascade: a block list of
--keys and an allow list of N keys in one set, without an error on either.

Which kind to take: `blocked` has one cache miss per key and costs little
more than the smallest from 10 % down to about 0.1 %; below 0.01 % it uses two
lines. `classic` is the smallest of the grow-only kinds, with several misses.
`chain` needs no number of keys in advance. `fuse` and `ribbon` are smaller
than all of them and need all keys at once. Exact maps (bitmap, two-bit) are
right always, and pay for their range, not for their keys.

--nodes plans a set that many programs share on a Redis Cluster, with one block of
64 bytes a key, in strings of at most 64 KiB: how many masters it takes if the set
may have --memory of each (16G), or what each of N has; bytes on the network and
server time of a check and an add; how long loading takes; what a node that fails
or joins means. All of it is computed, on server times that were measured once
(docs/scale.md): measure your own before you buy machines.

Exit codes: 0 good, 2 error.

Examples:
  bloomery plan -n 10M -p 1%          # how much memory
  bloomery plan -n 1e9 -m 2G          # at what rate
  bloomery plan -p 0.1% -m 512M       # for how many keys
  bloomery plan -n 1M -p 1% --range 0..99999999
  bloomery plan -n 20M -p 1% --allow 1M
  bloomery plan --nodes -n 100G -p 1% -m 32G
  bloomery plan --nodes=12 -n 10G -p 0.1% --replicas 2 --network 25G
)";

Flags flags_of(PlanFlags& flags) {
  return joined({
      size_flags(flags.size, {.rate = "false-positive rate: 0.1%, 1e-3, 1/1000"}),
      {"--range", "A..B", "show the exact maps of these integers too", &flags.range},
      {"--allow", "N", "keys that must never match: show the cascade too", &flags.allow},
      nodes_flags(flags.nodes),
      speech_flags(flags.speech),
  });
}

struct Planned {
  const KindRow* row;
  Want want;
  std::uint64_t bytes;

  double rate() const {
    if (row->exact) return 0;
    return row->whole_hashes ? std::ldexp(static_cast<double>(want.keys), -64) : want.rate;
  }
};

struct LeftOut {
  const KindRow* row;
  std::string why;
};

struct Table {
  std::vector<Planned> planned;
  std::vector<LeftOut> left_out;
};

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

Table table_of(const Want& want) {
  Table table;
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

const Planned* find(const Table& table, std::string_view kind) {
  for (const Planned& planned : table.planned)
    if (planned.row->id.name == kind) return &planned;
  return nullptr;
}

struct Choice {
  const Planned* planned;
  std::string why;
};

// docs/kinds.md: one cache miss per key is worth a few bits; smallest only when that is all that
// fits.
Choice choose(const Table& table) {
  if (const Planned* cascade = find(table, "cascade"))
    return {cascade, "blocks all of one list and none of the other"};
  const Planned* blocked = find(table, "blocked");
  const Planned* bitmap = find(table, "bitmap");
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

Report report_of(const Table& table, const Choice& choice, const Want& asked) {
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

Exit run(const PlanFlags& flags, Messages& messages) {
  obey(flags.speech, messages);
  Want want = want_of(flags.size);
  const int given = (want.keys > 0) + (want.rate > 0) + (want.memory_bytes > 0);
  if (flags.range) want.range = parse_range("--range", *flags.range).value();
  if (flags.allow) want.allowed = parse_keys("--allow", *flags.allow).value();
  if (flags.nodes.given()) {
    const Report report = nodes_report(flags.nodes, want);
    print_out(flags.speech.json ? report.as_json() : report.as_text());
    return Exit::good;
  }
  expect_nodes(flags.nodes);
  if (given < 2)
    refuse("plan needs two of --keys, --rate and --memory, as in 'bloomery plan -n 10M -p 1%'");
  // Else every kind would be left out for the same reason, but for those without a rate.
  if (want.rate > 0)
    check_keys_and_rate({.keys = std::max<std::uint64_t>(want.keys, 1), .rate = want.rate}).value();
  const Table table = table_of(want);
  if (table.planned.empty())
    refuse(table.left_out.empty() ? "no kind can do this" : table.left_out.front().why);
  // Whoever names two lists is not helped by a set of one.
  if (want.allowed > 0)
    for (const LeftOut& out : table.left_out)
      if (out.row->two_lists) refuse("no set of both lists: " + out.why);
  const Report report = report_of(table, choose(table), want);
  print_out(flags.speech.json ? report.as_json() : report.as_text());
  return Exit::good;
}

}  // namespace

Command plan_command() {
  auto flags = std::make_shared<PlanFlags>();
  return {
      .name = "plan",
      .summary = "how large, how exact, which kind: before anything is made",
      .usage = "plan [--nodes[=N]] -n N -p RATE [-m MEM]   (any two; --nodes: -n and -p)",
      .story = story,
      .flags = flags_of(*flags),
      .run = [flags](Messages& messages) { return run(*flags, messages); },
  };
}

}  // namespace bloomery::cli

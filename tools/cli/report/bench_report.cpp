#include "bench_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <bloomery/detail/bits/caches.hpp>
#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/sets/bulk/partition.hpp>
#include <tools/inside.hpp>

namespace bloomery::cli {
namespace {

using bench::Finding;
using bench::Findings;
using bench::Operation;
using bench::Timing;

Report timing_report(const Timing& timing) {
  Report report;
  report.text("operation", std::string(name_of(timing.operation).key));
  report.count("keys", timing.keys);
  report.real("ns", timing.ns);
  report.real("best_ns", timing.best_ns);
  report.real("roofline_ns", timing.roofline_ns);
  report.real("roofline_ratio", timing.ratio);
  report.real("second_roofline_ns", timing.second_roofline_ns);
  report.real("second_roofline_ratio", timing.second_ratio);
  return report;
}

// The operations that any of the subjects has, in their order.
std::vector<Operation> operations_of(const Findings& findings) {
  std::vector<Operation> operations;
  for (std::size_t i = 0; i < bench::operation_count; ++i)
    for (const Finding& finding : findings.found)
      if (finding.find(static_cast<Operation>(i)) != nullptr) {
        operations.push_back(static_cast<Operation>(i));
        break;
      }
  return operations;
}

// A row for each subject, with one column for each operation.
template <class Cell>
std::vector<Report> table_of(const Findings& findings, bool with_size, Cell&& cell) {
  std::vector<Report> rows;
  for (const Finding& finding : findings.found) {
    Report& row = rows.emplace_back();
    row.text("kind", finding.subject);
    if (with_size) {
      row.real("bits_per_key", finding.bits_per_key);
      row.rate("rate", finding.rate);
      row.count("runs", finding.runs);
    }
    for (const Operation operation : operations_of(findings)) {
      const Timing* timing = finding.find(operation);
      row.real(std::string(name_of(operation).key),
               timing == nullptr ? std::numeric_limits<double>::quiet_NaN() : cell(*timing));
    }
  }
  return rows;
}

std::string text_of(std::vector<Report> rows) {
  Report table;
  table.rows("rows", std::move(rows));
  return table.as_text();
}

// Two digits behind the point are more than two runs agree on.
double tenths(double value) { return std::round(value * 10) / 10; }
double hundredths(double value) { return std::round(value * 100) / 100; }

}  // namespace

Report machine_report(const bench::Machine& machine) {
  Report report;
  report.text("cpu", machine.cpu);
  report.count("cores", machine.cores);
  report.bytes("l2_bytes", machine.l2_bytes);
  report.bytes("l3_bytes", machine.l3_bytes);
  report.bytes("memory_bytes", machine.memory_bytes);
  report.text("huge_pages", machine.huge_pages);
  report.text("kernels", machine.kernels);
  return report;
}

void describe_choices(Report& report) {
  const Caches& used = caches();
  const PartitionTuning tuning = PartitionTuning::by(used);
  const bool fuses = kernels().lines_add_fused != nullptr;
  report.text("loops", fuses
                           ? "fused: blocked, split-block and sharded sets hash, prefetch and use "
                             "keys in one loop, never partitioned by one thread"
                           : "hashing apart: large blocked sets are partitioned as maps are");
  report.count("keys_on_their_way", step_keys);
  report.bytes("l2_used_bytes", used.second);
  report.bytes("shared_used_bytes", used.shared);
  report.bytes("partition_maps_from_bytes", tuning.from_bytes);
  report.bytes("partition_slice_bytes", std::uint64_t{64} << tuning.slice_shift);
  report.bytes("partition_scratch_bytes", most_scratch_bytes);
}

void describe(Report& report, const Findings& findings) {
  report.count("keys", findings.keys);
  report.text("key_form", findings.key_form);
  report.rate("rate_asked", findings.rate_asked);
  report.count("threads", findings.threads);
  report.count("strangers", findings.strangers);
  std::vector<Report> kinds;
  for (const Finding& finding : findings.found) {
    Report& kind = kinds.emplace_back();
    kind.text("kind", finding.subject);
    kind.bytes("bytes", finding.bytes);
    kind.real("bits_per_key", finding.bits_per_key);
    kind.rate("rate", finding.rate);
    kind.count("runs", finding.runs);
    std::vector<Report> timings;
    for (const Timing& timing : finding.timings) timings.push_back(timing_report(timing));
    kind.rows("timings", std::move(timings));
  }
  report.rows("kinds", std::move(kinds));
  std::vector<Report> left_out;
  for (const bench::LeftOut& out : findings.left_out) {
    Report& row = left_out.emplace_back();
    row.text("left_out", out.subject);
    row.text("why", out.why);
  }
  report.rows("left_out", std::move(left_out));
}

std::string bench_tables(const Findings& findings) {
  std::string text;
  if (!findings.found.empty()) {
    text += "\nNanoseconds a key, median of the runs:\n\n" +
            text_of(table_of(findings, true, [](const Timing& t) { return tenths(t.ns); })) +
            "\nThe same as a multiple of what the memory of this machine allows:\n\n" +
            text_of(table_of(findings, false, [](const Timing& t) {
              return hundredths(std::max(t.ratio, t.second_ratio));
            }));
  }
  for (const bench::LeftOut& out : findings.left_out)
    text += fmt::format("\n{} is left out: {}\n", out.subject, out.why);
  return text;
}

}  // namespace bloomery::cli

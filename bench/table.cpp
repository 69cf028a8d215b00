// The whole table: every kind and every peer, at every size, for integers and texts; Markdown, or
// one JSON document. scripts/bench builds and runs it.
//
//    | | bits/key | rate | runs | build | add | ... |      one table for each size and form of key
//    | blocked | 9.95 | 1.00 % | 5 | 9.1 (1.20) | ...      ns a key (times each roofline)
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/error.hpp>

#include <bench/machine.hpp>
#include <bench/measure.hpp>
#include <bench/peers.hpp>

#include <tools/cli/report/bench_report.hpp>
#include <tools/cli/report/units.hpp>

namespace {

using namespace bloomery;
using namespace bloomery::bench;

struct Options {
  std::vector<std::string> sizes = {"1M", "10M", "100M", "1B"};
  std::string keys = "both";
  std::string rate = "1%";
  std::string memory = "13G";  // just below 14 GB
  std::string kind;
  double seconds = 60;
  unsigned runs = 5;
  unsigned threads = 2;
  bool only_ours = false;
  bool json = false;
};

void add_options(CLI::App& parser, Options& options) {
  parser.add_option("--sizes", options.sizes, "how many keys: 1M,10M,100M,1B")->delimiter(',');
  parser.add_option("--keys", options.keys, "int, text or both")
      ->check(CLI::IsMember({"int", "text", "both"}));
  parser.add_option("-p,--rate", options.rate, "false-positive rate; 1%");
  parser.add_option("-m,--memory", options.memory,
                    "most memory for all; what needs more is left out; 13G");
  parser.add_option("--kind", options.kind, "this kind only, and no peers");
  parser.add_option("--seconds", options.seconds,
                    "begin no further run of a kind after so many; 60");
  parser.add_option("--runs", options.runs, "most runs of each kind; 5")
      ->check(CLI::Range(1, 1000));
  parser
      .add_option("-T,--threads", options.threads,
                  "for the operations of threads; 2, 1 leaves them out")
      ->check(CLI::Range(1, 1024));
  parser.add_flag("--only-ours", options.only_ours, "no peers");
  parser.add_flag("--json", options.json, "one JSON document instead of Markdown");
}

std::string cell(const Timing* timing) {
  if (timing == nullptr) return "";
  return fmt::format("{:.1f} ({:.2f}, {:.2f})", timing->ns, timing->ratio, timing->second_ratio);
}

// What the roofline beside a finding took.
std::string roofline_cell(const Timing* timing) {
  if (timing == nullptr) return "";
  return fmt::format("{:.1f}, {:.1f}", timing->roofline_ns, timing->second_roofline_ns);
}

std::string markdown_line(std::string name, const Finding& finding,
                          const std::vector<Operation>& operations, bool is_roofline) {
  std::string line =
      is_roofline
          ? fmt::format("| {} | {:.2f} | | |", name, finding.bits_per_key)
          : fmt::format("| {} | {:.2f} | {} | {} |", name, finding.bits_per_key,
                        finding.rate == 0 ? "0" : cli::print_rate(finding.rate), finding.runs);
  for (const Operation operation : operations) {
    const Timing* timing = finding.find(operation);
    line += fmt::format(" {} |", is_roofline ? roofline_cell(timing) : cell(timing));
  }
  return line + "\n";
}

std::string markdown(const Findings& findings) {
  std::string text = fmt::format("### {} {}\n\n", cli::print_count(findings.keys),
                                 findings.key_form == "text" ? "strings of 60 bytes" : "integers");
  std::vector<Operation> operations;
  for (std::size_t i = 0; i < operation_count; ++i) {
    const auto operation = static_cast<Operation>(i);
    const auto has = [&](const Finding& finding) { return finding.find(operation) != nullptr; };
    if (std::any_of(findings.found.begin(), findings.found.end(), has))
      operations.push_back(operation);
  }
  text += "| ns a key (times its rooflines) | bits/key | rate | runs |";
  for (const Operation operation : operations) {
    text += fmt::format(" {} |", name_of(operation).shown);
  }
  text += "\n| --- | --- | --- | --- |";
  for (std::size_t i = 0; i < operations.size(); ++i) text += " --- |";
  text += "\n";
  for (const Finding& finding : findings.found) {
    if (finding.subject == "blocked")
      text += markdown_line("*rooflines, as large as blocked*", finding, operations, true);
  }
  for (const Finding& finding : findings.found)
    text += markdown_line(finding.subject, finding, operations, false);
  if (!findings.left_out.empty()) text += "\nLeft out:";
  const char* before = " ";
  for (const LeftOut& out : findings.left_out) {
    text += fmt::format("{}{} ({})", before, out.subject, out.why);
    before = "; ";
  }
  return text + (findings.left_out.empty() ? "\n" : ".\n\n");
}

std::string head(const Machine& machine, const Options& options) {
  return fmt::format(
      "{}, {} cores, {} L2 a core, {} last cache, {} memory, huge pages: {}, kernels: {}; rate "
      "asked {}; medians of the runs; threads: {}.\n\n",
      machine.cpu, machine.cores, cli::print_bytes(machine.l2_bytes),
      cli::print_bytes(machine.l3_bytes), cli::print_bytes(machine.memory_bytes),
      machine.huge_pages, machine.kernels, options.rate, options.threads);
}

template <class Key>
Findings measured(std::uint64_t members, const Task& task, bool with_peers) {
  const std::uint64_t strangers = strangers_for(members);
  Findings findings{.keys = members, .key_form = std::is_same_v<Key, Integer> ? "integer" : "text"};
  if (KeyStore<Key>::planned_bytes(members, strangers) > task.memory_bytes) {
    findings.left_out.push_back(
        {"everything",
         fmt::format("the keys alone take {}, more than --memory",
                     cli::print_bytes(KeyStore<Key>::planned_bytes(members, strangers)))});
    return findings;
  }
  const auto keys = KeyStore<Key>::make(members, strangers).value();
  findings = findings_on(keys, task);
  measure_kinds(keys, task, findings);
  if (with_peers) measure_peers(keys, task, findings);
  return findings;
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void run(const Options& options) {
  if (const char* refused = kernels_refused()) throw Failure({Code::unsupported, refused});
  if (!options.kind.empty() && AnySet::find_row(options.kind) == nullptr)
    throw Failure({Code::bad_input, "unknown kind '" + options.kind + "'"});
  Task task{.rate = cli::parse_rate("--rate", options.rate).value(),
            .only_kind = options.kind,
            .threads = options.threads,
            .most_runs = options.runs,
            .seconds = options.seconds,
            .memory_bytes = cli::parse_memory("--memory", options.memory).value()};
  std::vector<std::uint64_t> sizes;
  for (std::string size : options.sizes) {
    // A billion is a thousand millions.
    if (size.ends_with('B') || size.ends_with('b')) size.back() = 'G';
    sizes.push_back(cli::parse_keys("--sizes", size).value());
  }
  const bool with_peers = options.kind.empty() && !options.only_ours;
  const Machine machine = this_machine();
  std::vector<cli::Report> tables;
  if (!options.json) print(head(machine, options));
  const auto tell = [&](const Findings& findings) {
    if (options.json)
      describe(tables.emplace_back(), findings);
    else
      print(markdown(findings));
  };
  for (const std::uint64_t size : sizes) {
    task.begin = [&](std::string_view subject) {
      fmt::print(stderr, "{} keys: {}\n", cli::print_count(size), subject);
    };
    if (options.keys != "text") tell(measured<Integer>(size, task, with_peers));
    if (options.keys != "int") tell(measured<Text>(size, task, with_peers));
  }
  if (!options.json) return;
  cli::Report report = cli::machine_report(machine);
  report.rows("tables", std::move(tables));
  print(report.as_json());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App parser("Every kind and every peer, beside the memory roofline.", "bench_table");
  Options options;
  add_options(parser, options);
  try {
    parser.parse(argc, argv);
    run(options);
  } catch (const CLI::ParseError& error) {
    return parser.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_table: error: {}\n", error.what());
    return 2;
  }
}

// bloomery bench: how fast every kind is on this machine, beside what its memory allows.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include <bloomery/any_set.hpp>

#include <bench/machine.hpp>
#include <bench/measure.hpp>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/flags/suggest.hpp>
#include <tools/cli/report/bench_report.hpp>
#include <tools/cli/report/progress.hpp>
#include <tools/cli/report/units.hpp>

#include "command.hpp"

namespace bloomery::cli {
namespace {

struct BenchFlags {
  Word keys;
  Word rate;
  Word kind;
  Word threads;
  bool strings = false;
  bool quick = false;
  bool explain = false;
  SpeechFlags speech;
};

constexpr const char* story =
    R"(Every kind is filled with the same keys and asked for them and for strangers;
nothing is read or written. The rate is that of false positives.

  build         make the set and add all keys to it, memory not yet touched
  add           one by one          add all       in bulk
  ask hit       keys that are there, one by one   ask all hit   in bulk
  ask miss      strangers, one by one             ask all miss  in bulk

Beside each time stands a roofline, measured in the same run on the same keys:
hash the key and touch one cache line of an array as large as the set, 32 keys
ahead. A set that waits once for memory per key is near 1; below 1 it has done
better than waiting once for each key. Times move from run to run, more so on a
shared machine; their ratio to the roofline moves less.

With --threads there are also bulk operations by so many threads, beside a
roofline with as many. With --strings the keys are texts of 60 bytes, one
behind the other in memory; the exact maps, which take integers only, are then
left out. Kinds that do not fit the free memory are left out too.

With --explain nothing is measured: it prints what bulk operations choose on
this machine by its CPU and its caches.

Default: 10M keys (--quick: 1M), rate 1 %, at most 5 runs of each kind, about a
minute (--quick: a few seconds).

Exit codes: 0 good, 2 error.

Examples:
  bloomery bench --quick
  bloomery bench -n 100M --kind blocked
  bloomery bench --explain
  bloomery bench --strings -p 1e-6 --json | jq '.kinds[] | {kind, bits_per_key}'
)";

Flags flags_of(BenchFlags& flags) {
  return joined({
      {"--quick", "", "a few seconds: fewer keys, fewer runs", &flags.quick},
      {"--explain", "", "only what is chosen by this CPU and its caches", &flags.explain},
      {"-n,--keys", "N", "keys to add: 1M, 100M; 10M by default", &flags.keys},
      {"-p,--rate", "RATE", "false-positive rate; 1 %", &flags.rate},
      {"--kind", "KIND", "this kind only", &flags.kind},
      {"--strings", "", "texts of 60 bytes instead of integers", &flags.strings},
      {"-T,--threads", "T", "bulk operations by so many threads, too", &flags.threads},
      speech_flags(flags.speech),
      progress_flag(flags.speech),
  });
}

// Empty for all.
std::string kind_of(const BenchFlags& flags) {
  if (!flags.kind) return "";
  if (AnySet::find_row(*flags.kind) != nullptr) return *flags.kind;
  refuse(unknown_kind(*flags.kind));
}

unsigned threads_of(const BenchFlags& flags) {
  constexpr std::uint64_t most = 1024;
  if (!flags.threads) return 1;
  const auto count = parse_keys("--threads", *flags.threads);
  if (!count || *count > most)
    refuse(fmt::format("--threads does not take '{}'; give a whole number from 1 to {}",
                       *flags.threads, most));
  return static_cast<unsigned>(*count);
}

bench::Task task_of(const BenchFlags& flags, const bench::Machine& machine, Progress& progress) {
  bench::Task task;
  if (flags.rate) task.rate = parse_rate("--rate", *flags.rate).value();
  // What a set would say of it, said before the keys are made.
  if (auto sound = check_keys_and_rate({.keys = 1, .rate = task.rate}); !sound)
    refuse(sound.error().sentence);
  task.only_kind = kind_of(flags);
  task.threads = threads_of(flags);
  task.most_runs = flags.quick ? 3 : 5;
  task.seconds = flags.quick ? 0.6 : 8;
  // The rest is for everybody else.
  task.memory_bytes = machine.free_bytes / 8 * 7;
  task.begin = [&](std::string_view kind) { progress.rename(fmt::format("measuring {}", kind)); };
  return task;
}

template <class Key>
bench::Findings measured(std::uint64_t members, const bench::Task& task) {
  const std::uint64_t strangers = bench::strangers_for(members);
  constexpr std::uint64_t most = std::uint64_t{1} << 50;
  const std::uint64_t bytes =
      members > most ? ~std::uint64_t{0} : bench::KeyStore<Key>::planned_bytes(members, strangers);
  if (bytes > task.memory_bytes)
    refuse(fmt::format("{} keys alone take {}, and {} of memory may be used; give a smaller --keys",
                       print_count(members),
                       bytes == ~std::uint64_t{0} ? "too much" : print_bytes(bytes),
                       print_bytes(task.memory_bytes)));
  const auto keys = bench::KeyStore<Key>::make(members, strangers).value();
  bench::Findings findings = bench::findings_on(keys, task);
  bench::measure_kinds(keys, task, findings);
  return findings;
}

Exit run(const BenchFlags& flags, Messages& messages) {
  obey(flags.speech, messages);
  const bench::Machine machine = bench::this_machine();
  if (flags.explain) {
    Report report = machine_report(machine);
    describe_choices(report);
    print_out(flags.speech.json ? report.as_json() : report.as_text());
    return Exit::good;
  }
  Progress progress(messages, progress_of(flags.speech), Phase{"making keys"});
  const bench::Task task = task_of(flags, machine, progress);
  const std::uint64_t members = flags.keys    ? parse_keys("--keys", *flags.keys).value()
                                : flags.quick ? 1'000'000
                                              : 10'000'000;
  const bench::Findings findings = flags.strings ? measured<bench::Text>(members, task)
                                                 : measured<bench::Integer>(members, task);
  progress.finish();
  if (findings.found.empty())
    refuse(fmt::format("no kind can be measured: {} {}", findings.left_out.front().subject,
                       findings.left_out.front().why));
  Report report = machine_report(machine);
  if (flags.speech.json) {
    describe(report, findings);
    print_out(report.as_json());
    return Exit::good;
  }
  report.text("keys", fmt::format("{} {}", print_count(findings.keys),
                                  flags.strings ? "texts of 60 bytes" : "integers"));
  report.rate("rate_asked", findings.rate_asked);
  if (findings.threads > 1) report.count("threads", findings.threads);
  print_out(report.as_text() + bench_tables(findings));
  return Exit::good;
}

}  // namespace

Command bench_command() {
  auto flags = std::make_shared<BenchFlags>();
  return {
      .name = "bench",
      .summary = "how fast every kind is on this machine",
      .usage = "bench [FLAGS]",
      .story = story,
      .flags = flags_of(*flags),
      .run = [flags](Messages& messages) { return run(*flags, messages); },
  };
}

}  // namespace bloomery::cli

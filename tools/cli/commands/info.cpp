// bloomery info: what a set file is, how full it is, and what its answers are worth.
#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <memory>

#include <bloomery/any_set.hpp>
#include <bloomery/storage/live/live_image.hpp>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/report/progress.hpp>
#include <tools/cli/report/report.hpp>
#include <tools/cli/report/units.hpp>
#include <tools/cli/sets/live_file.hpp>
#include <tools/cli/sets/measured_rate.hpp>
#include <tools/cli/sets/remote_set.hpp>
#include <tools/cli/sets/set_file.hpp>

#include "command.hpp"

namespace bloomery::cli {
namespace {

struct InfoFlags {
  std::string set;
  Word measure;
  Word seed;
  Word key_file;
  SpeechFlags speech;
};

// Without a number of strangers the answer must come soon.
constexpr double default_seconds = 10;

constexpr const char* story = R"(The file is read with all its checksums first.

  keys            that were surely new when they were added
  keys estimated  from the bits alone
  capacity        keys it was planned for; for exact maps, the integers of its range
  bits per key    of the keys that are in it
  rate asked      false-positive rate once it holds its capacity
  rate now        the same now, from the bits alone
  room left       capacity less keys; infinite for kinds that grow
  allowed         keys of the allow list of a cascade
  exceptions      those of them that its filter matches: they are listed, and let pass
  made from       which part of a line the keys are, as flags; of states always there
  live            the set is live (bloomery build --live): programs add to it at once
  live state      closed; in use; or cut: a program that had it open was killed, and
                  the next one that adds or seals recovers what it had added
  live layout     in place: all share its bytes; log: each has a copy and follows
  log keys        keys, and log size bytes, that were added since the last checkpoint
  unsynced size   of those bytes, what a power cut now would lose at most
  stuck counters  that reached their end and are never lowered again

--measure asks the set about strangers, random texts of 16 bytes from --seed, and
tells how many passed: strangers, strangers passed, measured rate, and measured low
and measured high, between which the true rate is, 95 times of 100. --measure=N asks
N; without N so many that the rate is known to about 5 %, for at most 10 seconds.
Exact kinds have no false positives, and nothing is measured.

A number that does not exist (the rate of nothing, the estimate of a set with every bit
set) is `unknown` or `infinite` here and null in JSON.

Exit codes: 0 good, 2 error.

Examples:
  bloomery info seen.bloom
  bloomery info --json seen.bloom | jq .rate_now
  bloomery info --measure=10M seen.bloom
)";

// What --measure and --seed say, read before the file: a wrong argument is reported first.
struct MeasureOrder {
  bool wanted = false;
  std::uint64_t strangers = 0;  // 0: by the rate
  std::uint64_t seed = 1;
};

MeasureOrder measure_order(const InfoFlags& flags) {
  if (!flags.measure) {
    if (flags.seed) refuse("--seed is for the strangers of --measure");
    return {};
  }
  MeasureOrder order{.wanted = true};
  if (!flags.measure->empty()) order.strangers = parse_keys("--measure", *flags.measure).value();
  if (flags.seed) order.seed = parse_seed("--seed", *flags.seed).value();
  return order;
}

void measure(Report& report, const AnySet& set, const MeasureOrder& order, const InfoFlags& flags,
             Messages& messages) {
  if (set.exact()) return report.text("measured", "nothing; the kind is exact");
  const std::uint64_t most =
      order.strangers > 0 ? order.strangers : strangers_to_measure(measured(set).rate_now());
  constexpr std::uint64_t bytes_each = 16;
  Progress progress(messages, progress_of(flags.speech),
                    {"measuring", most * bytes_each, "strangers"});
  const Measurement found =
      measure_rate(set, order.seed, most,
                   order.strangers > 0 ? std::numeric_limits<double>::infinity() : default_seconds,
                   [&](std::uint64_t asked) { progress.update(asked * bytes_each, asked); });
  report.count("strangers", found.strangers);
  report.count("strangers_passed", found.passed);
  report.rate("measured_rate", found.rate());
  report.rate("measured_low", found.low());
  report.rate("measured_high", found.high());
  report.count("measured_seed", order.seed);
}

std::string_view word_of(detail::LiveFacts::State state) {
  switch (state) {
    case detail::LiveFacts::State::closed: return "closed";
    case detail::LiveFacts::State::in_use: return "in use";
    case detail::LiveFacts::State::cut: break;
  }
  return "cut";
}

void describe_live(Report& report, const std::string& path) {
  const detail::LiveFacts facts = detail::live_facts(path).value();
  report.flag("live", true);
  report.text("live_state", std::string(word_of(facts.state)));
  report.text("live_layout", facts.in_place ? "in place" : "log");
  report.count("log_keys", facts.log_keys);
  report.bytes("log_bytes", facts.log_bytes);
  report.bytes("unsynced_bytes", facts.unsynced_bytes);
}

Exit run(const InfoFlags& flags, Messages& messages) {
  obey(flags.speech, messages);
  const MeasureOrder order = measure_order(flags);
  Progress reading(messages, progress_of(flags.speech), Phase{"reading " + flags.set});
  const SetFile file = open_live_set(flags.set, flags.key_file, Verify::checksums);
  reading.finish();
  const AnySet& set = file.set;
  Report report;
  describe(report, set);
  if (order.wanted) measure(report, set, order, flags, messages);
  describe_inside(report, set);
  describe_keys(report, set,
                file.key_is_elsewhere ? "in a key file"
                : file.remote         ? "on the server"
                                      : "in the set file");
  if (file.remote) {
    describe_remote(report, *file.remote);
  } else {
    std::error_code failed;
    const std::uint64_t bytes = std::filesystem::file_size(flags.set, failed);
    if (failed) refuse(fmt::format("{} cannot be looked at: {}", flags.set, failed.message()));
    describe_file(report, bytes, file.uuid);
    if (is_live_set(flags.set)) describe_live(report, flags.set);
  }
  print_out(flags.speech.json ? report.as_json() : report.as_text());
  return Exit::good;
}

}  // namespace

Command info_command() {
  auto flags = std::make_shared<InfoFlags>();
  return {
      .name = "info",
      .summary = "kind, size, fill and rate of a set file",
      .usage = "info [FLAGS] F",
      .story = story,
      .flags = joined({
          {"--measure", "[N]", "ask it about N random keys and report how many match",
           &flags->measure},
          {"--seed", "N", "seed of the strangers; 1 by default", &flags->seed},
          key_file_flag(flags->key_file),
          speech_flags(flags->speech),
          progress_flag(flags->speech),
      }),
      .operands = Operands::after({"F", &flags->set}, {}),
      .run = [flags](Messages& messages) { return run(*flags, messages); },
  };
}

}  // namespace bloomery::cli

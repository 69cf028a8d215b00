// bloomery merge, bloomery fold: set files from set files, without the keys.
//
// If the set is wrong: a union is what building from both lists gives, bit for bit where the kind
//          can; an intersection has every common key and more strangers than a set built from
//          those; a fold is what building with the smaller shape gives.
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <memory>

#include <bloomery/any_set.hpp>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/flags/suggest.hpp>
#include <tools/cli/input/inputs.hpp>
#include <tools/cli/report/progress.hpp>
#include <tools/cli/report/report.hpp>
#include <tools/cli/report/units.hpp>
#include <tools/cli/sets/file_lock.hpp>
#include <tools/cli/sets/set_file.hpp>

#include "command.hpp"

namespace bloomery::cli {
namespace {

// What making a set file from others takes.
struct MakeFlags {
  OutputFlags output;
  Word key_file;
  bool quiet = false;
  SpeechFlags speech;
};

Flags make_flags(MakeFlags& flags) {
  return joined({
      {"-o,--output", "F", "the set file to make", &flags.output.path},
      {"-f,--force", "", "replace the set file if there is one", &flags.output.force},
      key_file_flag(flags.key_file),
      {"-q,--quiet", "", "no report and no progress; warnings stay", &flags.quiet},
      speech_flags(flags.speech),
      progress_flag(flags.speech),
  });
}

When progress_wanted(const MakeFlags& flags) {
  return flags.quiet ? When::never : progress_of(flags.speech);
}

// A new set: its name is derived from its content.
void save_new(const std::string& path, const MakeFlags& flags, SetFile& file) {
  file.uuid = {};
  save_set(path, file, flags.output.force ? Overwrite::replace : Overwrite::refuse);
}

void print(const MakeFlags& flags, Report report, std::chrono::steady_clock::time_point start) {
  if (flags.quiet && !flags.speech.json) return;
  const auto passed = std::chrono::steady_clock::now() - start;
  report.seconds("seconds", std::chrono::duration<double>(passed).count());
  print_out(flags.speech.json ? report.as_json() : report.as_text());
}

// -- merge ----------------------------------------------------------------------------------------

struct MergeFlags {
  MakeFlags make;
  std::string operation;
  std::vector<std::string> sets;
};

constexpr const char* merge_story =
    R"(  union        every key of any of them
  intersect    the keys that all of them have
  difference   the keys of the first that no other has; bitmap, hash-set
  exclusive    the keys that an odd number of them has; bitmap

The sets must have the same kind, hash and rules, and (but for scalable) the same
shape; what differs is named.
`build --like A` makes a set that fits A. A union of Bloom filters has the bytes of
one filter of all the keys, and may be overfull: that is a warning. An intersection
of Bloom filters has every common key, at a worse rate than a filter of those keys
alone. A difference is refused where it would forget keys.

The report on standard output: that of build, with sets

Exit codes: 0 good, 2 error.

Examples:
  bloomery merge union -o week.bloom mon.bloom tue.bloom wed.bloom
  bloomery merge intersect -o both.map a.map b.map
)";

using Operation = Result<void> (AnySet::*)(const AnySet&);

const std::vector<std::string>& operation_names() {
  static const std::vector<std::string> names = {"union", "intersect", "difference", "exclusive"};
  return names;
}

Operation operation_named(const std::string& name) {
  static const std::map<std::string, Operation> operations = {{"union", &AnySet::unite},
                                                              {"intersect", &AnySet::intersect},
                                                              {"difference", &AnySet::subtract},
                                                              {"exclusive", &AnySet::exclusive}};
  if (const auto found = operations.find(name); found != operations.end()) return found->second;
  refuse(
      fmt::format("unknown operation '{}'.{} Say union, intersect, difference or exclusive, as in "
                  "'bloomery merge "
                  "union -o F A B'",
                  name, did_you_mean(name, operation_names())));
}

Exit run_merge(const MergeFlags& flags, Messages& messages) {
  obey(flags.make.speech, messages);
  const auto start = std::chrono::steady_clock::now();
  const Operation operation = operation_named(flags.operation);
  if (flags.sets.size() < 2) refuse("merge needs two set files or more after the operation");
  const std::string path = set_output(flags.make.output, "merge");
  const PlaceLock lock(path, messages);  // it may be one of the sets that are read
  Progress progress(messages, progress_wanted(flags.make), Phase{"reading " + flags.sets[0]});
  SetFile merged = open_set(flags.sets[0], flags.make.key_file, Verify::checksums);
  for (std::size_t i = 1; i < flags.sets.size(); ++i) {
    progress.rename(fmt::format("reading {} ({} of {})", flags.sets[i], i + 1, flags.sets.size()));
    const SetFile other = open_set(flags.sets[i], flags.make.key_file, Verify::checksums);
    progress.rename(fmt::format("joining {} of {}", i + 1, flags.sets.size()));
    if (auto done = (merged.set.*operation)(other.set); !done)
      refuse(fmt::format("{} and {}: {}", flags.sets[0], flags.sets[i], done.error().sentence));
  }
  if (merged.set.overfull())
    messages.warning(fmt::format(
        "the merged set is overfull: it was planned for {} keys; its false-positive rate is {}",
        print_count(merged.set.capacity()), print_rate(merged.set.rate_now())));
  progress.rename("writing " + path);
  save_new(path, flags.make, merged);
  progress.finish();
  Report report;
  describe(report, merged.set);
  report.count("sets", flags.sets.size());
  print(flags.make, std::move(report), start);
  return Exit::good;
}

// -- fold -----------------------------------------------------------------------------------------

struct FoldFlags {
  MakeFlags make;
  Word rate;
  Word by;
  std::string set;
};

constexpr const char* fold_story =
    R"(Shrinks a set that was planned for far more keys than it got: neighbouring bits,
or blocks, become one. For the kinds classic, blocked and split-block. The result
has the bytes of a set that was made that size and given the same keys.

By itself it takes the largest factor at which the keys that are in the set keep
the rate that was asked of it (or --rate). --by forces a factor; the rate may then
be worse, which is a warning. Factors divide the number of blocks; sets planned by
`build` can be halved four times.

The report on standard output: that of build, with folded_by and bytes_before

Exit codes: 0 good, 1 it cannot be folded without losing its rate (nothing is
written), 2 error.

Examples:
  bloomery fold -o small.bloom seen.bloom
  bloomery fold --rate 2% -o small.bloom seen.bloom
)";

Exit run_fold(const FoldFlags& flags, Messages& messages) {
  obey(flags.make.speech, messages);
  const auto start = std::chrono::steady_clock::now();
  const std::string path = set_output(flags.make.output, "fold");
  const PlaceLock lock(path, messages);  // it may be the set that is read
  Progress progress(messages, progress_wanted(flags.make), Phase{"reading " + flags.set});
  const SetFile file = open_set(flags.set, flags.make.key_file, Verify::checksums);
  const double rate =
      flags.rate ? parse_rate("--rate", *flags.rate).value() : file.set.rate_asked();
  if (flags.rate) check_keys_and_rate({.keys = 1, .rate = rate}).value();
  const auto best = file.set.best_fold(rate);
  if (!best) refuse_file(flags.set, best.error());
  const std::uint64_t factor = flags.by ? parse_keys("--by", *flags.by).value() : *best;
  if (flags.by && factor == 1) refuse("--by 1 changes nothing; give 2 or more");
  if (factor == 1) {
    messages.warning(fmt::format("{} cannot be folded and hold its keys at {}; nothing was written",
                                 flags.set, print_rate(rate)));
    return Exit::nothing_found;
  }
  progress.rename("folding");
  auto smaller = file.set.folded(factor, rate);
  if (!smaller) refuse_file(flags.set, smaller.error());
  SetFile folded{std::move(*smaller), {}, file.key_is_elsewhere};
  // Differences by chance and rounding are not reported.
  if (const double now = folded.set.rate_now(); now > 1.1 * rate)
    messages.warning(
        fmt::format("folded by {} the set is overfull: its false-positive rate is {}, not {}",
                    factor, print_rate(now), print_rate(rate)));
  progress.rename("writing " + path);
  save_new(path, flags.make, folded);
  progress.finish();
  Report report;
  describe(report, folded.set);
  report.count("folded_by", factor);
  report.bytes("bytes_before", file.set.bytes());
  print(flags.make, std::move(report), start);
  return Exit::good;
}

}  // namespace

Command merge_command() {
  auto flags = std::make_shared<MergeFlags>();
  return {
      .name = "merge",
      .summary = "union or intersection of set files",
      .usage = "merge union|intersect|difference|exclusive -o F [FLAGS] A B...",
      .story = merge_story,
      .flags = make_flags(flags->make),
      .operands = Operands::after({"OPERATION", &flags->operation, operation_names()},
                                  {.rest = &flags->sets, .needed_rest = "A"}),
      .run = [flags](Messages& messages) { return run_merge(*flags, messages); },
  };
}

Command fold_command() {
  auto flags = std::make_shared<FoldFlags>();
  return {
      .name = "fold",
      .summary = "shrink a set file that was planned too large",
      .usage = "fold -o F [FLAGS] A",
      .story = fold_story,
      .flags = joined({
          make_flags(flags->make),
          {"-p,--rate", "RATE", "the rate to hold; that of A by default", &flags->rate},
          {"--by", "FACTOR", "join so many neighbours, whatever the rate", &flags->by},
      }),
      .operands = Operands::after({"A", &flags->set}, {}),
      .run = [flags](Messages& messages) { return run_fold(*flags, messages); },
  };
}

}  // namespace bloomery::cli

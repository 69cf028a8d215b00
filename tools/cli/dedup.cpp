// bloomery dedup: print each line the first time it comes.
//
// If the set is wrong: a new line is lost, about `expected_lost` of them; --exact loses none.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <chrono>
#include <memory>

#include <bloomery/engines/dedup.hpp>
#include <bloomery/engines/input_file.hpp>
#include <bloomery/sets/any_set.hpp>

#include "command.hpp"
#include "flags.hpp"
#include "inputs.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "units.hpp"

namespace bloomery::cli {
namespace {

struct DedupFlags {
  SizeFlags size;
  bool exact = false;
  bool repeated = false;
  LineFlags lines;
  OutputFlags output;
  HashFlags hash;
  bool stats = false;
  bool quiet = false;
  bool strict = false;
  SpeechFlags speech;
  std::vector<std::string> files;
};

constexpr double default_rate = 1e-6;

constexpr const char* story =
    R"(Lines come out in the order they came in, while they come in. A line is
remembered in a few bits, so a new line can be taken for a repeat and be lost,
with at most the chance --rate. The report tells how many lines that probably
was; above half a line there is a warning. --exact remembers 128-bit hashes
instead, 18 to 23 bytes a line, and loses nothing (use --exact --hardened if
somebody may choose lines to collide).

Without --keys, files are sampled to size the set, and for a pipe the set grows.
--memory is a hard cap: when the lines no longer fit at the rate asked for, a
warning comes at that moment, and --strict makes it exit code 3.

The report (--stats, --json, or when standard error is a terminal):
  lines_in, lines_out, repeats, memory_bytes, rate_now, expected_lost, seconds,
  bytes_in

Exit codes: 0 good, 2 error, 3 overfull with --strict.

Examples:
  bloomery dedup access.log > once.log
  zcat *.gz | bloomery dedup --stats > once.txt
  bloomery dedup --exact -o unique.txt names.txt
  bloomery dedup -i names.txt            # only the repeats
  find . -print0 | bloomery dedup -0
)";

void add_flags(CLI::App& parser, DedupFlags& flags) {
  add_size_flags(parser, flags.size, "chance that a new line is taken for a repeat; 1e-6");
  parser.add_flag("--exact", flags.exact,
                  "lose no line; 18 to 23 bytes of memory for each different one");
  parser.add_flag("-i,--repeated", flags.repeated, "print the repeats instead of the first ones");
  add_line_flags(parser, flags.lines);
  add_crlf_flag(parser, flags.lines,
                "whether a carriage return at the end of a line counts (keep, the default) or two "
                "lines that differ only in it are the same (strip)");
  add_output_flags(parser, flags.output);
  add_hash_flags(parser, flags.hash);
  parser.add_flag("--stats", flags.stats, "the report on standard error");
  parser.add_flag("-q,--quiet", flags.quiet, "no report and no progress; warnings stay");
  parser.add_flag("--strict", flags.strict, "exit with 3 if the set became overfull");
  add_speech_flags(parser, flags.speech);
  add_progress_flag(parser, flags.speech);
}

// Sets that grow by themselves. Not scalable: it is smaller than a chain that has grown, and
// takes several times as long to add to (docs/kinds.md).
const KindRow& growing_row(bool exact) { return *AnySet::find_row(exact ? "hash-set" : "chain"); }

// What fixed the size of the set: what to blame, and what to change, if it gets overfull.
enum class SizedBy { keys, memory, sample };

struct SizedSet {
  AnySet set;
  SizedBy by;
};

// A set that may not grow: of this rate, and never above the memory cap.
SizedSet capped_set(Want want, SizedBy by, const Hasher& hasher) {
  const KindRow& row = *AnySet::find_row("blocked");
  // Fewer keys than expected if they do not fit; the set then says when it is overfull.
  Want most = want;
  most.keys = 0;
  const std::uint64_t fitting = row.complete(most).value().keys;
  if (want.keys == 0 || want.keys > fitting) {
    want.keys = fitting;
    by = SizedBy::memory;
  }
  return {AnySet::make(row.id.name, want, hasher).value(), by};
}

// Lines are not keys: a file of repeats may fit though its lines would not. Then the set starts
// small and grows up to the cap.
void drop_hint_that_does_not_fit(Want& want, const KindRow& row) {
  if (want.memory_bytes > 0 && row.planned_bytes(want).value() > want.memory_bytes) want.keys = 0;
}

SizedSet make_set(const DedupFlags& flags, const LineRules& rules) {
  Want want = want_of(flags.size);
  const Hasher hasher = hasher_of(flags.hash);
  if (flags.exact && flags.size.rate) refuse("--exact and --rate exclude each other");
  if (!flags.exact && want.rate == 0) want.rate = default_rate;
  const SizedBy by = want.keys > 0 ? SizedBy::keys : SizedBy::sample;
  if (want.keys == 0 && !(want.memory_bytes > 0 && !all_regular(flags.files)))
    want.keys = dedup_want(flags.files, rules, want.rate).value().keys;
  if (want.memory_bytes > 0 && !flags.exact) return capped_set(want, by, hasher);
  const KindRow& row = growing_row(flags.exact);
  if (flags.exact && by == SizedBy::sample) drop_hint_that_does_not_fit(want, row);
  return {AnySet::make(row.id.name, want, hasher).value(), by};
}

std::string why_overfull(SizedBy by, const std::string& keys) {
  switch (by) {
    case SizedBy::keys: return fmt::format("--keys planned it for {} keys", keys);
    case SizedBy::memory: return fmt::format("only {} keys fit --memory at that rate", keys);
    case SizedBy::sample: return fmt::format("a sample of the files promised {} keys", keys);
  }
  return "";
}

const char* advice_overfull(SizedBy by) {
  if (by == SizedBy::memory) return "give more --memory or a higher --rate";
  return by == SizedBy::keys ? "give a larger --keys" : "give --keys";
}

// A set without a cap on its memory grows and never comes here.
void warn_overfull(const DedupReport& so_far, const SizedSet& sized, Messages& messages) {
  const AnySet& set = sized.set;
  messages.warning(fmt::format(
      "the set is overfull after {} lines, and the chance that a new line is lost now rises above "
      "{}: {}; {}",
      print_count(so_far.lines_in), print_rate(set.rate_asked()),
      why_overfull(sized.by, print_count(set.capacity())), advice_overfull(sized.by)));
}

void warn_lost(const DedupReport& report, bool repeated, Messages& messages) {
  if (report.expected_lost <= 0.5) return;
  messages.warning(
      fmt::format("about {} new lines were probably taken for repeats and {}; --exact "
                  "makes no such error, a lower --rate makes fewer",
                  print_real(report.expected_lost), repeated ? "printed" : "lost"));
}

Report report_of(const DedupReport& found, const AnySet& set, double seconds) {
  Report report;
  report.count("lines_in", found.lines_in);
  report.count("lines_out", found.lines_out);
  report.count("repeats", found.repeats);
  report.bytes("memory_bytes", found.memory_bytes);
  report.rate("rate_now", found.rate_now);
  report.real("expected_lost", found.expected_lost);
  report.seconds("seconds", seconds);
  report.bytes("bytes_in", found.bytes_in);
  report.real("mb_per_second", static_cast<double>(found.bytes_in) / 1e6 / seconds);
  report.text("kind", std::string(set.kind().name));
  return report;
}

Exit run(const DedupFlags& flags, Messages& messages) {
  using Clock = std::chrono::steady_clock;
  obey(flags.speech, messages);
  const When when = flags.quiet ? When::never : progress_of(flags.speech);
  const LineRules rules{.delimiter = delimiter_of(flags.lines), .decode = decoder_of(flags.lines)};
  const bool strip_cr = crlf_of(flags.lines, Crlf::keep) == Crlf::strip;
  expect_input(flags.files, "dedup");
  const auto start = Clock::now();
  SizedSet sized = make_set(flags, rules);
  AnySet& set = sized.set;
  BlockInputs inputs(flags.files, rules);
  LineWriter out = open_output(flags.output);
  Progress progress(messages, when, total_bytes(flags.files));
  const DedupRules how{
      .repeated = flags.repeated,
      .make_keys = strip_cr ? keys_without_cr() : MakeKeys{},
      .threads = {0},
      .progress = [&](const DedupReport& now) { progress.update(now.file_bytes_in, now.lines_in); },
      .on_overfull = [&](const DedupReport& now) { warn_overfull(now, sized, messages); }};
  const auto found = dedup(set, inputs, out, how);
  progress.finish();
  if (out.reader_gone()) return Exit::good;
  const DedupReport done = found ? *found : throw Failure(found.error());
  close_output(out);
  warn_lost(done, flags.repeated, messages);
  if (flags.speech.json || flags.stats || (messages.on_terminal() && !flags.quiet)) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const Report report = report_of(done, set, seconds);
    messages.plain(flags.speech.json ? report.as_json() : report.as_text());
  }
  return flags.strict && set.overfull() ? Exit::overfull : Exit::good;
}

}  // namespace

Command dedup_command(CLI::App& program) {
  auto flags = std::make_shared<DedupFlags>();
  CLI::App* parser = program.add_subcommand("dedup", "print each line the first time it comes");
  add_flags(*parser, *flags);
  return {parser,
          "dedup [FLAGS] [FILE...]",
          story,
          {.rest = &flags->files},
          [flags](Messages& messages) { return run(*flags, messages); }};
}

}  // namespace bloomery::cli

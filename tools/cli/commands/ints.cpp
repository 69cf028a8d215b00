// bloomery ints: exact work on unsigned integers.
#include <fmt/format.h>

#include <chrono>
#include <limits>
#include <memory>

#include <bloomery/detail/engines/input/input_file.hpp>
#include <bloomery/engines/integers/integers.hpp>
#include <bloomery/engines/integers/sparse_integers.hpp>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/flags/suggest.hpp>
#include <tools/cli/input/inputs.hpp>
#include <tools/cli/report/progress.hpp>
#include <tools/cli/report/report.hpp>
#include <tools/cli/report/units.hpp>

#include "command.hpp"

namespace bloomery::cli {
namespace {

struct IntsFlags {
  std::string verb;
  Word range;
  Word format;
  Word memory;
  Word map;
  bool skip_bad = false;
  bool stats = false;
  bool quiet = false;
  LineFlags lines;
  OutputFlags output;
  SpeechFlags speech;
  std::vector<std::string> files;
};

constexpr const char* story = R"(Verbs:
  sort      each integer once, ascending
  count     how many different integers there are: one number
  once      those that come exactly once, ascending
  dups      those that come more than once, ascending
  missing   those of the range that do not come, ascending

A dense map has one bit for each integer of the range (two for once and dups),
however many there are: 512 MiB or 1 GiB for all of 32 bits. A sparse map goes by
how many there are: 8 bytes each or less, wherever they lie in 64 bits. The smaller
one is chosen: a pipe without --range gets a sparse map; files get a first look
for the smallest and the largest, and a dense map when it is not larger than the
files (or 16 MiB). --map makes the choice. If the map becomes larger than --memory,
files are read several times, a part of the range at a time.

Without --range, missing goes from the smallest to the largest that came.

A line that is not an unsigned integer, or one outside the range, is an error with
its place; --skip-bad counts them instead and says so at the end. So is a blank line
that a number follows; those at the end of a file are skipped. Blanks around a
number are allowed, signs are not. Nothing is printed before all input was read
without error.

The report (--stats or --json; on standard error, for count on standard output):
  numbers_in, distinct, once, memory_bytes, seconds, map, and more; `once` is known
  to once and dups only

Exit codes: 0 good, 2 error.

Examples:
  bloomery ints sort phones.txt > sorted.txt
  bloomery ints count --json ids.txt
  bloomery ints missing --range 1..1000000 ids.txt
  bloomery ints once --format u32le -m 256M ids.bin
  bloomery ints dups --format u64le hashes.bin.zst
)";

Flags flags_of(IntsFlags& flags) {
  return joined({
      {"--range", "A..B", "which integers, both ends included", &flags.range},
      {"--format", "text|u32le|u64le|ipv4", "text by default; ipv4: one address a line",
       &flags.format},
      {"-m,--memory", "MEM", "most memory for the map: 512M, 2G (binary units)", &flags.memory},
      {"--map", "auto|dense|sparse", "auto takes the smaller one", &flags.map},
      {"--skip-bad", "", "count lines that are not a number of the range, and go on",
       &flags.skip_bad},
      line_flags(flags.lines),
      output_flags(flags.output),
      {"--stats", "", "the report", &flags.stats},
      {"-q,--quiet", "", "no report and no progress; warnings stay", &flags.quiet},
      speech_flags(flags.speech),
      progress_flag(flags.speech),
  });
}

const std::vector<std::string>& verbs() {
  static const std::vector<std::string> names = {"sort", "count", "once", "dups", "missing"};
  return names;
}

IntegerVerb verb_of(const std::string& word) {
  if (word == "sort") return IntegerVerb::sort;
  if (word == "count") return IntegerVerb::count;
  if (word == "once") return IntegerVerb::once;
  if (word == "dups") return IntegerVerb::dups;
  if (word == "missing") return IntegerVerb::missing;
  refuse(fmt::format("unknown verb '{}'.{} The verbs are sort, count, once, dups, missing", word,
                     did_you_mean(word, verbs())));
}

IntegerFormat format_of(const Word& word) {
  if (!word || *word == "text") return IntegerFormat::text;
  if (*word == "u32le") return IntegerFormat::u32le;
  if (*word == "u64le") return IntegerFormat::u64le;
  if (*word == "ipv4") return IntegerFormat::ipv4;
  refuse(
      unknown_value("--format", *word, std::vector<std::string>{"text", "u32le", "u64le", "ipv4"}));
}

using Engine = Result<IntegerReport> (*)(const std::vector<std::string>&, const IntegerRules&,
                                         LineWriter&);

Engine engine_of(const Word& map) {
  if (!map || *map == "auto") return run_smaller_integers;
  if (*map == "dense") return run_integers;
  if (*map == "sparse") return run_sparse_integers;
  refuse(fmt::format("--map does not take '{}'; give auto, dense or sparse", *map));
}

IntegerRules rules_of(const IntsFlags& flags) {
  IntegerRules rules;
  rules.verb = verb_of(flags.verb);
  rules.format = format_of(flags.format);
  if (rules.format == IntegerFormat::ipv4) rules.out_format = IntegerFormat::ipv4;
  const bool binary = rules.format == IntegerFormat::u32le || rules.format == IntegerFormat::u64le;
  rules.lines = {delimiter_of(flags.lines), true,
                 binary ? binary_decoder_of(flags.lines) : decoder_of(flags.lines)};
  if (flags.range)
    rules.range = rules.format == IntegerFormat::ipv4
                      ? detail::parse_range(*flags.range, rules.format).value()
                      : parse_range("--range", *flags.range).value();
  rules.skip_bad = flags.skip_bad;
  if (flags.memory) rules.memory_bytes = parse_memory("--memory", *flags.memory).value();
  return rules;
}

Report report_of(const IntegerReport& found, IntegerFormat format, double seconds) {
  Report report;
  report.count("numbers_in", found.numbers_in);
  report.count("distinct", found.distinct);
  if (found.once)
    report.count("once", *found.once);
  else
    report.real("once", std::numeric_limits<double>::quiet_NaN());
  report.bytes("memory_bytes", found.memory_bytes);
  report.seconds("seconds", seconds);
  report.count("numbers_out", found.numbers_out);
  report.count("bad_in", found.bad_in);
  report.bytes("bytes_in", found.bytes_in);
  report.count("passes", found.passes);
  report.text("map", found.map == IntegerMap::sparse ? "sparse" : "dense");
  if (found.range)
    report.text("range", format_integer(found.range->low, format) + ".." +
                             format_integer(found.range->high, format));
  return report;
}

void warn_bad(const IntegerReport& found, Messages& messages) {
  if (found.bad_in == 0) return;
  messages.warning(fmt::format("{} {} skipped; the first: {}", print_count(found.bad_in),
                               found.bad_in == 1 ? "was" : "were", found.first_bad));
}

// count has its number, or its report in place of it, on standard output; the other verbs have
// integers there.
void tell(const IntsFlags& flags, const IntegerReport& found, double seconds, Messages& messages) {
  const bool counts = flags.verb == "count";
  const Report report = report_of(found, format_of(flags.format), seconds);
  const std::string text = flags.speech.json ? report.as_json() : report.as_text();
  if (counts && flags.speech.json) return print_out(text);
  if (counts) print_out(fmt::format("{}\n", found.distinct));
  const bool asked = flags.stats || flags.speech.json;
  if (asked && !flags.quiet) messages.plain(text);
}

std::string phase_of(const IntegerProgress& now) {
  if (now.passes > 1) return fmt::format("pass {} of {}", now.pass, now.passes);
  return now.pass > 1 ? fmt::format("pass {}", now.pass) : "";
}

Exit run(const IntsFlags& flags, Messages& messages) {
  using Clock = std::chrono::steady_clock;
  obey(flags.speech, messages);
  const bool to_stdout = flags.verb != "count" && (!flags.output.path || *flags.output.path == "-");
  const When when = flags.quiet ? When::never
                    : to_stdout ? progress_beside_data(flags.speech)
                                : progress_of(flags.speech);
  IntegerRules rules = rules_of(flags);
  if (rules.verb == IntegerVerb::count && flags.output.path)
    refuse("'ints count' prints one number; --output is for the other verbs");
  expect_input(flags.files, "ints " + flags.verb);
  const Engine engine = engine_of(flags.map);
  if (engine == run_integers && rules.format == IntegerFormat::u64le && !rules.range &&
      !all_regular(flags.files))
    refuse(
        "64-bit integers from a pipe can lie anywhere; say where with --range A..B, or leave "
        "--map dense out");
  const auto start = Clock::now();
  LineWriter out = open_output(flags.output);
  Progress progress(messages, when, total_bytes(flags.files));
  rules.progress = [&](const IntegerProgress& now) {
    if (now.pass == 0)
      progress.rename("first look");
    else
      progress.rename(phase_of(now));
    progress.update(now.bytes_read, 0);
  };
  const auto found = engine(flags.files, rules, out);
  progress.finish();
  if (out.reader_gone()) return Exit::good;
  if (!found && found.error().code == Code::out_of_range)
    refuse(found.error().sentence + ", or --skip-bad to skip it");
  const IntegerReport done = found ? *found : throw Failure(found.error());
  close_output(out);
  warn_bad(done, messages);
  tell(flags, done, std::chrono::duration<double>(Clock::now() - start).count(), messages);
  return Exit::good;
}

}  // namespace

Command ints_command() {
  auto flags = std::make_shared<IntsFlags>();
  return {
      .name = "ints",
      .summary = "exact work on unsigned integers",
      .usage = "ints sort|count|once|dups|missing [FLAGS] [FILE...]",
      .story = story,
      .flags = flags_of(*flags),
      .operands = Operands::after({"VERB", &flags->verb, verbs()}, {.rest = &flags->files}),
      .run = [flags](Messages& messages) { return run(*flags, messages); },
  };
}

}  // namespace bloomery::cli

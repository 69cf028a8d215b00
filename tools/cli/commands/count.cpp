// bloomery count: how often was each line added to a set?
//
// If the set is wrong: a count is too high, never too low; at the set's end it means "or more". How
//          many lines that were never added probably have a count is told from half a line on.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <memory>

#include <bloomery/any_set.hpp>
#include <bloomery/text/line_writer.hpp>
#include <bloomery/text/lines.hpp>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/input/inputs.hpp>
#include <tools/cli/input/line_feed.hpp>
#include <tools/cli/input/set_lines.hpp>
#include <tools/cli/report/false_matches.hpp>
#include <tools/cli/report/progress.hpp>
#include <tools/cli/report/report.hpp>
#include <tools/cli/report/units.hpp>
#include <tools/cli/sets/list_set.hpp>
#include <tools/cli/sets/set_file.hpp>

#include "command.hpp"

namespace bloomery::cli {
namespace {

struct CountFlags {
  std::string set;
  bool trust = false;
  bool stats = false;
  bool strict = false;
  LineFlags lines;
  KeyFlags keys;
  Word key_file;
  OutputFlags output;
  SpeechFlags speech;
  std::vector<std::string> files;
};

constexpr const char* story =
    R"(Prints COUNT, a tab and the line, for every line as it comes. For the kinds
spectral (up to its --most-count), counting (up to 15) and two-bit (up to 2).

A count is never too low; it is too high for a line that looks like others, about
as often as `info` says under rate now. When half a line or more that was never
added is expected to have a count, a warning says how many, and --strict makes it
exit code 3. A count at the end of what the set can hold means that often or more:
a warning at the end says so.

The rules of the set apply: carriage returns, normalisation. -k, --csv and --json-key
take a part of each line as the key; the line is printed whole, a CSV header is not.

Exit codes: 0 some line was counted, 1 all counts are 0, 2 error; 3, with --strict,
half a line or more is probably wrong.

The report (--stats or --json, on standard error): lines_in, matched, absent,
expected_false, at_the_end, most_count, seconds; with --skip-bad also bad_in

Examples:
  bloomery build --kind spectral -o visits.set visits.txt
  bloomery count visits.set users.txt | sort -rn | head
)";

struct Found {
  std::uint64_t lines = 0;
  std::uint64_t asked = 0;  // with a key
  std::uint64_t bad = 0;    // without a key, and not printed
  std::uint64_t empty = 0;
  std::uint64_t dropped = 0;  // those with an empty key, and not printed
  std::uint64_t matched = 0;
  std::uint64_t at_the_end = 0;
};

Found count_all(const CountFlags& flags, const AnySet& set, LineWriter& out, Messages& messages) {
  SetLines keys(set, flags.set, flags.keys);
  const LineRules rules = keys.line_rules(flags.lines);
  const LineSource source{
      flags.files, rules, progress_beside_data(flags.speech), {}, keys.keys().when_alone()};
  std::array<std::uint64_t, lines_per_batch> room{};
  Found found;
  answer_batches(source, out, messages, [&](Lines batch, const Inputs& inputs) {
    keys.hand(batch, inputs, [&](auto span) {
      set.counts(span, std::span<std::uint64_t>(room).first(span.size())).value();
    });
    const auto counts = std::span<std::uint64_t>(room).first(batch.size());
    keys.keys().spread(counts);
    const InputKeys& made = keys.keys();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (made.is_bad(i) || made.is_dropped(i)) continue;
      found.matched += counts[i] > 0;
      found.at_the_end += counts[i] == set.most_count();
      out.append(fmt::format_int(counts[i]).str());
      out.append("\t");
      out.append(batch[i]);
      out.append(rules.delimiter);
    }
    found.lines += batch.size();
    found.asked += batch.size() - made.without_key().size();
    found.bad += made.bad_in_batch();
    found.dropped += made.dropped_in_batch();
    return true;
  });
  warn_empty(messages, keys.keys(), keys.keys().empty(), "counted as 0", "asks for it");
  found.empty = keys.keys().empty();
  return found;
}

// What probably has a count and was never added; told if it is half a line or more.
FalseMatches false_matches(const CountFlags& flags, const AnySet& set, const Found& found,
                           Messages& messages) {
  const AskedLines asked{found.asked, found.matched};
  FalseMatches told;
  told.add(flags.set, set, asked);
  told.of_all(asked);
  if (told.worth_telling())
    messages.warning(fmt::format(
        "about {} of {} lines that have a count were probably never added: {}; {}",
        print_about(told.expected()), print_count(found.matched), told.cause(), told.advice()));
  return told;
}

Exit run(const CountFlags& flags, Messages& messages) {
  using Clock = std::chrono::steady_clock;
  obey(flags.speech, messages);
  Progress opening(messages, progress_of(flags.speech), Phase{"reading " + flags.set});
  if (is_list(flags.set))
    refuse(fmt::format(
        "{0} is not a set file; of a list of lines 'bloomery build --kind spectral -o F "
        "{0}' makes a set that counts, and 'bloomery dedup --count {0}' counts them",
        flags.set));
  const SetFile file = open_set(flags.set, flags.key_file, verify_of(flags.set, flags.trust));
  opening.finish();
  if (!AnySet::find_row(file.set.kind().name)->counts)
    refuse(
        fmt::format("{}: a {} set does not know how often a key was added; build one of kind "
                    "spectral",
                    flags.set, file.set.kind().name));
  expect_line_keys(file.set, flags.set);
  expect_lines(flags.files);
  expect_input(flags.files, "count F");
  expect_text(flags.files, flags.lines);
  expect_own_output(flags.output.path, flags.files);
  expect_own_output(flags.output.path, {flags.set});
  const auto start = Clock::now();
  LineWriter out = open_output(flags.output);
  const Found found = count_all(flags, file.set, out, messages);
  if (out.reader_gone()) return Exit::good;
  close_output(out);
  if (found.at_the_end > 0)
    messages.warning(
        fmt::format("the count {0} means {0} times or more, because {1} counts no "
                    "further; lines that have it: {2}",
                    file.set.most_count(), flags.set, print_count(found.at_the_end)));
  const FalseMatches false_ones = false_matches(flags, file.set, found, messages);
  if (flags.speech.json || flags.stats) {
    Report report;
    report.count("lines_in", found.lines);
    report.count("matched", found.matched);
    report.count("absent", found.lines - found.bad - found.dropped - found.matched);
    report.real("expected_false", false_ones.expected());
    if (flags.keys.skip_bad) report.count("bad_in", found.bad);
    if (flags.keys.part_of_line() || flags.keys.empty) report.count("empty_keys", found.empty);
    report.count("at_the_end", found.at_the_end);
    report.count("most_count", file.set.most_count());
    report.seconds("seconds", std::chrono::duration<double>(Clock::now() - start).count());
    messages.plain(flags.speech.json ? report.as_json() : report.as_text());
  }
  if (flags.strict && false_ones.worth_telling()) return Exit::overfull;
  return found.matched > 0 ? Exit::good : Exit::nothing_found;
}

}  // namespace

Command count_command() {
  auto flags = std::make_shared<CountFlags>();
  return {
      .name = "count",
      .summary = "print how often each line was added",
      .usage = "count [FLAGS] F [FILE...]",
      .story = story,
      .flags = joined({
          {"--trust", "", "skip the checksums of the payload", &flags->trust},
          {"--stats", "", "the report on standard error", &flags->stats},
          {"--strict", "", "exit with 3 if half a line or more has a false count", &flags->strict},
          line_flags(flags->lines),
          key_flags(flags->keys, "they are not printed"),
          same_keys_flag(flags->keys),
          key_file_flag(flags->key_file),
          output_flags(flags->output),
          speech_flags(flags->speech),
          progress_flag(flags->speech),
      }),
      .operands = Operands::after({"F", &flags->set}, {.rest = &flags->files}),
      .run = [flags](Messages& messages) { return run(*flags, messages); },
  };
}

}  // namespace bloomery::cli

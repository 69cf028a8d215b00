// bloomery check: print the lines that a set may contain.
//
// If the set is wrong: a stranger is printed, with the chance that `info` calls rate now; a line
//          that is in the set is never left out. With --invert it is the other way round: what is
//          printed is surely absent, and a few absent lines are missing.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <array>
#include <chrono>
#include <memory>

#include <bloomery/engines/line_writer.hpp>
#include <bloomery/engines/lines.hpp>
#include <bloomery/sets/any_set.hpp>

#include "command.hpp"
#include "flags.hpp"
#include "inputs.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "set_file.hpp"
#include "set_lines.hpp"

namespace bloomery::cli {
namespace {

struct CheckFlags {
  std::string set;
  bool invert = false;
  bool count = false;
  bool quiet = false;
  bool trust = false;
  LineFlags lines;
  Word key_file;
  SpeechFlags speech;
  std::vector<std::string> files;
};

constexpr const char* story =
    R"(A line that was added is always printed. A stranger is printed now and then: how
often, `bloomery info F` tells as "rate now". With --invert the lines that are
surely not in F are printed.

The rule for carriage returns is stored in F: what build dropped from its lines
is dropped here too before asking; lines are printed as they came. Sets of the
kinds bitmap and two-bit are asked with unsigned integers; a line that is none
is an error.

F is read with all its checksums first; --trust skips those of the payload, for
an instant start with a large file that was verified before.

Exit codes, as grep: 0 something was printed (or would have been, with -q or
-c), 1 nothing, 2 error.

The report (--json, on standard error): lines_in, matched, absent, seconds

Examples:
  bloomery check seen.bloom urls.txt
  bloomery check -v seen.bloom urls.txt > new.txt
  if bloomery check -q seen.bloom <<< "$url"; then echo seen; fi
)";

void add_flags(CLI::App& parser, CheckFlags& flags) {
  parser.add_flag("-v,--invert", flags.invert, "print the lines that are surely absent");
  parser.add_flag("-c,--count", flags.count, "print only how many lines that would be");
  parser.add_flag("-q,--quiet", flags.quiet, "print nothing; the exit code answers");
  parser.add_flag("--trust", flags.trust, "skip the checksums of the payload");
  add_line_flags(parser, flags.lines);
  add_key_file_flag(parser, flags.key_file);
  add_speech_flags(parser, flags.speech);
  add_progress_flag(parser, flags.speech);
}

struct Counts {
  std::uint64_t lines_in = 0;
  std::uint64_t matched = 0;

  std::uint64_t absent() const { return lines_in - matched; }
  std::uint64_t hits(bool invert) const { return invert ? absent() : matched; }
};

// Reads to the end, or with --quiet to the first batch that decides. Stops when the reader of our
// output has gone; ask out.reader_gone().
Counts read_all(const CheckFlags& flags, const AnySet& set, LineWriter& out, Messages& messages) {
  const LineRules rules{.delimiter = delimiter_of(flags.lines), .decode = decoder_of(flags.lines)};
  Inputs inputs(flags.files, rules);
  Progress progress(messages, flags.quiet ? When::never : progress_of(flags.speech),
                    total_bytes(flags.files));
  SetLines keys(set);
  std::array<bool, lines_per_batch> room{};
  Counts counts;
  while (out.good()) {
    const auto batch = inputs.next();
    if (!batch) throw Failure(batch.error());
    if (batch->empty()) break;
    const auto answers = std::span<bool>(room).first(batch->size());
    keys.hand(*batch, inputs, [&](auto span) { set.may_contain_all(span, answers).value(); });
    for (std::size_t i = 0; i < answers.size(); ++i) {
      counts.matched += answers[i];
      if (flags.quiet || flags.count || answers[i] == flags.invert) continue;
      out.append((*batch)[i]);
      out.append(rules.delimiter);
    }
    counts.lines_in += batch->size();
    if (flags.quiet && !flags.speech.json && counts.hits(flags.invert) > 0) break;
    // A slow pipe shall not wait for a full buffer.
    if (!inputs.ready() && !out.flush()) break;
    progress.update(inputs.file_bytes_read(), counts.lines_in);
  }
  const auto flushed = out.flush();
  if (!flushed && !out.reader_gone()) throw Failure(flushed.error());
  return counts;
}

Exit run(const CheckFlags& flags, Messages& messages) {
  using Clock = std::chrono::steady_clock;
  obey(flags.speech, messages);
  const Verify verify = flags.trust ? Verify::header : Verify::checksums;
  const SetFile file = open_set(flags.set, flags.key_file, verify);
  expect_line_keys(file.set, flags.set);
  expect_lines(flags.files);
  expect_input(flags.files, "check F");
  const auto start = Clock::now();
  LineWriter out(STDOUT_FILENO, "standard output");
  const Counts counts = read_all(flags, file.set, out, messages);
  if (out.reader_gone()) return Exit::good;
  const std::uint64_t hits = counts.hits(flags.invert);
  if (flags.count && !flags.quiet) print_out(fmt::format("{}\n", hits));
  if (flags.speech.json) {
    Report report;
    report.count("lines_in", counts.lines_in);
    report.count("matched", counts.matched);
    report.count("absent", counts.absent());
    report.seconds("seconds", std::chrono::duration<double>(Clock::now() - start).count());
    messages.plain(report.as_json());
  }
  return hits > 0 ? Exit::good : Exit::nothing_found;
}

}  // namespace

Command check_command(CLI::App& program) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* parser = program.add_subcommand("check", "print the lines that may be in a set file");
  add_flags(*parser, *flags);
  return {parser,
          "check [FLAGS] F [FILE...]",
          story,
          {.needed = {{"F", &flags->set}}, .rest = &flags->files},
          [flags](Messages& messages) { return run(*flags, messages); }};
}

}  // namespace bloomery::cli

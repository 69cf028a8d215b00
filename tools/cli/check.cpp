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
#include <bloomery/engines/numbers.hpp>
#include <bloomery/sets/any_set.hpp>

#include "command.hpp"
#include "flags.hpp"
#include "inputs.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "set_file.hpp"

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

// Asks a set with batches of lines.
class Asker {
 public:
  explicit Asker(const AnySet& set) : set_(set) {}

  // One answer a line, valid until the next call.
  std::span<const bool> ask(Lines lines, const Inputs& inputs) {
    const auto answers = std::span<bool>(answers_).first(lines.size());
    if (set_.input() == InputForm::ordinal)
      ask_numbers(lines, inputs, answers);
    else
      ask_text(lines, answers);
    return answers;
  }

 private:
  // As the set's own rule has it.
  std::string_view without_cr(std::string_view line) const {
    if (set_.rules().strip_cr && line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  void ask_text(Lines lines, std::span<bool> answers) {
    for (std::size_t i = 0; i < lines.size(); ++i) keys_[i] = without_cr(lines[i]);
    set_.may_contain_all(Lines(keys_).first(lines.size()), answers).value();
  }

  void ask_numbers(Lines lines, const Inputs& inputs, std::span<bool> answers) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto ordinal = parse_integer(without_cr(lines[i]), IntegerFormat::text);
      if (!ordinal)
        refuse(fmt::format(
            "{}, line {}: {} is no unsigned decimal integer, and a {} is asked with integers",
            inputs.name(), inputs.first_line() + i, quoted(lines[i]), set_.kind().name));
      ordinals_[i] = Ordinal{*ordinal};
    }
    set_.may_contain_all(std::span<const Ordinal>(ordinals_).first(lines.size()), answers).value();
  }

  const AnySet& set_;
  std::array<bool, lines_per_batch> answers_{};
  std::array<std::string_view, lines_per_batch> keys_;
  std::array<Ordinal, lines_per_batch> ordinals_{};
};

// Lines are text; a set of hashes or of 8-byte integers would say no to all of them, truly or not.
void expect_text_keys(const AnySet& set, const std::string& path) {
  const KeyForm form = set.rules().form;
  if (set.input() == InputForm::ordinal || form == KeyForm::none || form == KeyForm::text) return;
  refuse(
      fmt::format("{}: its keys have the form '{}', and lines are text; only the program that "
                  "made the set can ask it",
                  path, name_of(form)));
}

// Reads to the end, or with --quiet to the first batch that decides. Stops when the reader of our
// output has gone; ask out.reader_gone().
Counts read_all(const CheckFlags& flags, Asker& asker, LineWriter& out, Messages& messages) {
  const LineRules rules{.delimiter = delimiter_of(flags.lines)};
  Inputs inputs(flags.files, rules);
  Progress progress(messages, flags.quiet ? When::never : progress_of(flags.speech),
                    total_bytes(flags.files));
  Counts counts;
  while (out.good()) {
    const auto batch = inputs.next();
    if (!batch) throw Failure(batch.error());
    if (batch->empty()) break;
    const auto answers = asker.ask(*batch, inputs);
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
    progress.update(inputs.bytes_read(), counts.lines_in);
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
  expect_plain_keys(file.set, flags.set);
  expect_text_keys(file.set, flags.set);
  expect_input(flags.files, "check F");
  const auto start = Clock::now();
  Asker asker(file.set);
  LineWriter out(STDOUT_FILENO, "standard output");
  const Counts counts = read_all(flags, asker, out, messages);
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

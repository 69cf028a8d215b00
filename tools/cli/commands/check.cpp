// bloomery check: print the lines that a set, or one of several, may contain.
//
//    input --ask--> answers --> printed at once
//    --verify:  input --ask--> hits;  LIST --> which of them are true;  input again --> printed
//
// If the set is wrong: false positives are printed, at the rate that `info` calls rate now; a line
//          that is in the set is never left out. With --invert it is the other way round: what is
//          printed is surely absent, and a few absent lines are missing. How many that probably
//          are is told from half a line on. With --verify neither happens, as far as the list is
//          that of the set.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>

#include <bloomery/text/line_writer.hpp>
#include <bloomery/text/lines.hpp>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/input/inputs.hpp>
#include <tools/cli/input/line_feed.hpp>
#include <tools/cli/report/false_matches.hpp>
#include <tools/cli/report/report.hpp>
#include <tools/cli/report/units.hpp>
#include <tools/cli/sets/asked_sets.hpp>
#include <tools/cli/sets/confirmed_hits.hpp>
#include <tools/cli/sets/list_set.hpp>

#include "command.hpp"

namespace bloomery::cli {
namespace {

struct CheckFlags {
  std::string set;
  std::vector<std::string> sets;
  bool which = false;
  bool invert = false;
  bool count = false;
  bool quiet = false;
  std::vector<std::string> lists;
  bool trust = false;
  bool stats = false;
  bool strict = false;
  LineFlags lines;
  KeyFlags keys;
  Word key_file;
  OutputFlags output;
  SpeechFlags speech;
  std::vector<std::string> files;

  bool prints_lines() const { return !quiet && !count; }
};

constexpr const char* story =
    R"(A line that was added is always printed. Any other line is printed at the
false-positive rate, which `bloomery info F` shows as "rate now". With --invert the
lines that are surely not in F are printed; false positives are missing there.

When half a line or more of what matched is expected to be false, a warning says
how many, and --strict makes it exit code 3. It is computed from the lines that were
absent: each stands for rate / (1 - rate) false matches. That holds for
different lines; one that comes again gets the same answer again.

Several sets are named with -s, and then all other words are FILEs: what one of
them may contain is printed, with --invert what is surely in none. --which puts the
name of the set and a tab before the line, and prints the line once for every set
that may contain it, in the order of the -s. With --count that is a number for
each set.

Each set is asked by its own rules, which are stored in F: carriage returns that
build dropped are dropped here too before asking, and keys are normalised as there;
lines are printed as they came. -k, --csv and --json-key take a part of each line
(and of LIST) as the key; the header of CSV is printed first. Sets of the kinds
bitmap and two-bit are asked with unsigned integers; any other line is an
error.

F may also be a plain text list, compressed or not, or - for standard input: its
lines are keys as they are, kept exactly (18 to 23 bytes of memory each), without a
carriage return at their end, and normalised with --normalize as the lines asked.

--verify LIST confirms hits against the lines that F was built from: only true
members are printed, and with --invert all other lines. The input is read, then
LIST, which may be larger than memory, then the input again; from a pipe, which can
be read only once, the lines in question are kept in memory. If LIST is not the list
of F, members that it lacks are taken for false positives.

F is read with all its checksums first; --trust skips those of the payload, for
an instant start with a large file that was verified before. Those of a live set
are skipped anyway, and it may be added to meanwhile: each line is asked of what
others have added by then.

Exit codes, as grep: 0 something was printed (or would have been, with -q or
-c), 1 nothing, 2 error; 3, with --strict, half a line or more is probably wrong.

The report (--stats or --json, on standard error): lines_in, matched, absent,
expected_false (matches that are probably false), seconds; with --skip-bad also
bad_in; with --verify also verified and false_positives (lines that matched), and
lines_listed (that were read of LIST); with -s also sets, each with set, kind,
matched, absent and expected_false

Examples:
  bloomery check seen.bloom urls.txt
  bloomery check -v seen.bloom urls.txt > new.txt
  if bloomery check -q seen.bloom <<< "$url"; then echo seen; fi
  bloomery check -s mon.bloom -s tue.bloom --which urls.txt
  bloomery check blocked.txt urls.txt
  bloomery check --csv --column email blocked.bloom customers.csv
  bloomery check breached.bloom --verify breached.txt passwords.txt
)";

Flags flags_of(CheckFlags& flags) {
  return joined({
      {"-s,--set", "F", "ask this set; give it several times, and no other F", &flags.sets},
      {"--which", "", "print the name of the set and a tab before the line", &flags.which},
      {"-v,--invert", "", "print the lines that are surely absent", &flags.invert},
      {"-c,--count", "", "print only how many lines that would be", &flags.count},
      {"-q,--quiet", "", "print no line; the exit code answers, warnings stay", &flags.quiet},
      {"--verify", "LIST",
       "confirm hits in the lines the set was built from; may be given several times",
       &flags.lists},
      {"--trust", "", "skip the checksums of the payload", &flags.trust},
      {"--stats", "", "the report on standard error", &flags.stats},
      {"--strict", "", "exit with 3 if half a line or more of the matches is probably false",
       &flags.strict},
      line_flags(flags.lines),
      key_flags(flags.keys, "they count as absent"),
      same_keys_flag(flags.keys),
      key_file_flag(flags.key_file),
      output_flags(flags.output),
      speech_flags(flags.speech),
      progress_flag(flags.speech),
  });
}

struct Counts {
  std::uint64_t lines_in = 0;
  std::uint64_t keys_asked = 0;    // lines that have a key
  std::uint64_t bad_in = 0;        // without a key: absent
  std::uint64_t empty = 0;         // with an empty one
  std::uint64_t dropped = 0;       // of those, skipped
  std::uint64_t matched = 0;       // by a set
  std::uint64_t verified = 0;      // of those, in the list; without one, all
  std::uint64_t lines_listed = 0;  // of the list

  // Of the current batch.
  void note(const InputKeys& keys, std::uint64_t lines) {
    keys_asked += lines - keys.without_key().size();
    bad_in += keys.bad_in_batch();
    empty += keys.empty_in_batch();
    dropped += keys.dropped_in_batch();
  }
  std::uint64_t hits(bool invert) const {
    return invert ? lines_in - dropped - verified : verified;
  }
  AskedLines asked(std::uint64_t by_set) const { return {keys_asked, by_set}; }
};

// What is told of a check, and where its lines come from and go to.
class Check {
 public:
  Check(const CheckFlags& flags, AskedSets& sets, Messages& messages)
      : flags_(flags), sets_(sets), messages_(messages) {}

  // Reads to the end, or with --quiet to the first batch that decides.
  Counts plain();
  Counts verified();
  bool reader_gone() const { return out_.reader_gone(); }
  void close() { close_output(out_); }

 private:
  LineSource source(const std::vector<std::string>& files, std::string phase = {}) const {
    return {files, rules_, when_, std::move(phase), keys().when_alone()};
  }
  // The lines that are asked about: their header is printed also where it is alone.
  LineSource asked() {
    LineSource lines = source(flags_.files);
    lines.header_alone = [this](const Inputs::HeaderAlone& alone) {
      keys().expect_columns(alone);
      print_header(alone.header, alone.file);
    };
    return lines;
  }
  const InputKeys& keys() const { return sets_.only().keys.keys(); }
  void print(std::string_view line) {
    out_.append(line);
    out_.append(rules_.delimiter);
  }
  // The header of CSV is printed once, so that what is printed is CSV.
  void print_header(const Inputs& inputs) {
    if (inputs.first_line() == 2) print_header(inputs.header(), inputs.name());
  }
  void print_header(const std::string& header, const std::string& file);
  // The answer to line i of the current batch.
  void print_answer(std::string_view line, std::size_t i);

  Counts first_pass(ConfirmedHits& hits);
  void second_pass(ConfirmedHits& hits, Counts& counts);
  void print_kept(const ConfirmedHits& hits, Counts& counts);

  // A line that waits for the list, if the input cannot be read again.
  struct Kept {
    WideHash hash;
    bool hit;
    std::size_t end;  // in kept_text_
  };
  void keep(std::string_view line, WideHash hash, bool hit) {
    if (flags_.prints_lines()) kept_text_.append(line);
    kept_.push_back({hash, hit, kept_text_.size()});
  }

  const CheckFlags& flags_;
  AskedSets& sets_;
  Messages& messages_;
  const LineRules rules_ = sets_.only().keys.line_rules(flags_.lines);
  // Lines and a bar on the same terminal would run into each other.
  const When when_ = flags_.quiet            ? When::never
                     : flags_.prints_lines() ? progress_beside_data(flags_.speech)
                                             : progress_of(flags_.speech);
  // Asked once: after two different answers the lines of the first pass would be nowhere.
  const bool again_ = all_regular(flags_.files);
  LineWriter out_ = open_output(flags_.output);
  std::optional<std::string> header_;
  std::vector<Kept> kept_;
  std::string kept_text_;
};

void Check::print_header(const std::string& header, const std::string& file) {
  if (!rules_.header || !flags_.prints_lines() || flags_.which) return;
  if (!header_) {
    header_ = header;
    return print(header);
  }
  if (!keys().cutter().same_header(*header_, header))
    refuse(
        fmt::format("{} has another header than the file before it, and what is printed would "
                    "be no CSV; check them one by one",
                    file));
}

void Check::print_answer(std::string_view line, std::size_t i) {
  if (sets_.any()[i] == flags_.invert || keys().is_dropped(i)) return;
  if (!flags_.which) return print(line);
  for (const auto& one : sets_.each()) {
    if (!one->answers[i]) continue;
    out_.append(one->name);
    out_.append("\t");
    print(line);
  }
}

Counts Check::plain() {
  Counts counts;
  const bool first_decides = flags_.quiet && !flags_.speech.json && !flags_.stats;
  answer_batches(asked(), out_, messages_, [&](Lines batch, const Inputs& inputs) {
    counts.lines_in += batch.size();
    counts.matched += sets_.ask(batch, inputs);
    print_header(inputs);
    counts.note(keys(), batch.size());
    counts.verified = counts.matched;
    if (flags_.prints_lines())
      for (std::size_t i = 0; i < batch.size(); ++i) print_answer(batch[i], i);
    return !first_decides || counts.hits(flags_.invert) == 0;
  });
  return counts;
}

Counts Check::verified() {
  ConfirmedHits hits(sets_.only().keys);
  Counts counts = first_pass(hits);
  if (!out_.good()) return counts;
  counts.lines_listed = hits.seek(source(flags_.lists, "list"), messages_);
  if (again_)
    second_pass(hits, counts);
  else
    print_kept(hits, counts);
  return counts;
}

Counts Check::first_pass(ConfirmedHits& hits) {
  std::vector<WideHash> found;
  Counts counts;
  const auto take = [&](Lines batch, const Inputs& inputs) {
    counts.lines_in += batch.size();
    const std::uint64_t matched = sets_.ask(batch, inputs);
    print_header(inputs);
    counts.note(keys(), batch.size());
    counts.matched += matched;
    const bool decided = matched == 0 && (!flags_.invert || again_ || !flags_.prints_lines());
    if (decided) return true;
    const auto hashes = hits.hashes(batch, inputs);
    found.clear();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const bool hit = sets_.any()[i];
      if (hit) found.push_back(hashes[i]);
      if (again_ || (!hit && !(flags_.invert && flags_.prints_lines()))) continue;
      if (keys().is_dropped(i)) continue;
      // What stands before the first hit need not wait for the list.
      if (!hit && kept_.empty())
        print(batch[i]);
      else
        keep(batch[i], hashes[i], hit);
    }
    hits.note_all(found);
    return true;
  };
  answer_batches(asked(), out_, messages_, take);
  return counts;
}

void Check::second_pass(ConfirmedHits& hits, Counts& counts) {
  Counts now;
  std::array<bool, lines_per_batch> noted{};
  std::array<bool, lines_per_batch> members{};
  const auto take = [&](Lines batch, const Inputs& inputs) {
    now.lines_in += batch.size();
    const auto hashes = hits.hashes(batch, inputs);
    hits.noted_all(hashes, noted);
    hits.confirmed_all(hashes, members);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      now.verified += members[i];
      now.matched += noted[i];
      if (!flags_.prints_lines() || members[i] == flags_.invert || keys().is_dropped(i)) continue;
      if (flags_.which) out_.append(sets_.only().name + "\t");
      print(batch[i]);
    }
    return true;
  };
  answer_batches(source(flags_.files, "again"), out_, messages_, take);
  if (!out_.good()) return;
  if (now.lines_in != counts.lines_in || now.matched != counts.matched)
    refuse("the input changed while it was read, so that hits and lines do not belong together");
  counts.verified = now.verified;
}

void Check::print_kept(const ConfirmedHits& hits, Counts& counts) {
  std::size_t start = 0;
  for (const Kept& kept : kept_) {
    const auto line = std::string_view(kept_text_).substr(start, kept.end - start);
    start = kept.end;
    const bool member = kept.hit && hits.confirmed(kept.hash);
    counts.verified += member;
    if (!flags_.prints_lines() || member == flags_.invert) continue;
    if (flags_.which) out_.append(sets_.only().name + "\t");
    print(line);
  }
  const auto flushed = out_.flush();
  if (!flushed && !out_.reader_gone()) throw Failure(flushed.error());
}

// A list confirms every match, so none of them is false.
FalseMatches false_matches(const CheckFlags& flags, const Counts& counts, const AskedSets& sets) {
  FalseMatches found;
  const bool confirmed = !flags.lists.empty();
  for (const auto& one : sets.each())
    found.add(one->name, one->file.set, counts.asked(confirmed ? 0 : one->matched));
  found.of_all(counts.asked(confirmed ? 0 : counts.matched));
  return found;
}

// What may be wrong, and about how much of it. At the bound nobody knows: it may be all.
std::string what_is_false(const CheckFlags& flags, const Counts& counts,
                          const FalseMatches& found) {
  const bool all = found.expected() > 0.99 * static_cast<double>(counts.matched);
  const std::string matches = print_count(counts.matched);
  const bool one = counts.matched == 1;
  if (all && flags.invert)
    return one ? std::string("the one line that is withheld may be absent")
               : fmt::format("all of the {} lines that are withheld may be absent", matches);
  if (all)
    return one ? std::string("the one match may be false")
               : fmt::format("all of the {} matches may be false", matches);
  if (flags.invert)
    return fmt::format("{} of the {} lines that are withheld are probably absent", found.about(),
                       matches);
  return fmt::format("{} of {} matches are probably false", found.about(), matches);
}

void warn(const CheckFlags& flags, const Counts& counts, const FalseMatches& found,
          Messages& messages) {
  if (!found.worth_telling()) return;
  const bool one = found.each().size() == 1;
  messages.warning(fmt::format("{}: {}; {}{}", what_is_false(flags, counts, found), found.cause(),
                               found.advice(),
                               one ? ", or confirm the matches with --verify LIST" : ""));
}

Report report_of(const CheckFlags& flags, const Counts& counts, const AskedSets& sets,
                 const FalseMatches& found) {
  Report report;
  report.count("lines_in", counts.lines_in);
  report.count("matched", counts.matched);
  report.count("absent", counts.lines_in - counts.dropped - counts.matched);
  report.real("expected_false", found.expected());
  if (flags.keys.skip_bad) report.count("bad_in", counts.bad_in);
  if (flags.keys.part_of_line() || flags.keys.empty) report.count("empty_keys", counts.empty);
  if (!flags.lists.empty()) {
    report.count("verified", counts.verified);
    report.count("false_positives", counts.matched - counts.verified);
    report.count("lines_listed", counts.lines_listed);
  }
  if (flags.sets.empty()) return report;
  std::vector<Report> rows;
  for (std::size_t i = 0; i < sets.each().size(); ++i) {
    const auto& one = sets.each()[i];
    Report& row = rows.emplace_back();
    row.text("set", one->name);
    row.text("kind", std::string(one->file.set.kind().name));
    row.count("matched", one->matched);
    row.count("absent", counts.lines_in - counts.dropped - one->matched);
    row.real("expected_false", found.each()[i].expected);
  }
  report.rows("sets", std::move(rows));
  return report;
}

void print_counts(const CheckFlags& flags, const Counts& counts, const AskedSets& sets) {
  if (!flags.which) return print_out(fmt::format("{}\n", counts.hits(flags.invert)));
  const bool listed = !flags.lists.empty();
  for (const auto& one : sets.each())
    print_out(fmt::format("{}\t{}\n", one->name, listed ? counts.verified : one->matched));
}

void expect_flags_fit(const CheckFlags& flags) {
  if (flags.output.path && !flags.prints_lines())
    refuse("--output is for lines, and --count and --quiet print none; leave it out");
  if (flags.which && flags.invert)
    refuse("--which names the sets that may contain a line, and --invert prints those of none");
  if (flags.sets.size() > 1 && !flags.lists.empty())
    refuse("--verify confirms the hits of one set; ask the sets one by one, each with its list");
}

// What is read as lines: the files, and the list that confirms them.
std::vector<std::string> inputs_of(const CheckFlags& flags) {
  std::vector<std::string> files = flags.files;
  if (files.empty() && !flags.lists.empty()) files.push_back("-");
  files.insert(files.end(), flags.lists.begin(), flags.lists.end());
  return files;
}

// Standard input can be read only once, as lines or as the list.
void expect_inputs(const CheckFlags& flags) {
  const std::vector<std::string> files = inputs_of(flags);
  expect_lines(files);
  expect_input(files, "check F");
  expect_text(files, flags.lines);
  expect_own_output(flags.output.path, files);
  expect_own_output(flags.output.path, flags.sets.empty() ? std::vector{flags.set} : flags.sets);
}

Exit run(const CheckFlags& flags, Messages& messages) {
  using Clock = std::chrono::steady_clock;
  obey(flags.speech, messages);
  expect_flags_fit(flags);
  const std::vector<std::string> paths = flags.sets.empty() ? std::vector{flags.set} : flags.sets;
  expect_stdin_once(paths, inputs_of(flags));
  const auto start = Clock::now();
  Progress opening(messages, flags.quiet ? When::never : progress_of(flags.speech), Phase{"sets"});
  AskedSets sets(
      paths, {flags.key_file, flags.keys, flags.lines, flags.trust},
      [&](const std::string& path) { opening.rename("reading " + path); }, messages);
  opening.finish();
  for (const auto& one : sets.each()) warn_if_overfull(one->file.set, one->name, messages);
  expect_inputs(flags);
  Check check(flags, sets, messages);
  const Counts counts = flags.lists.empty() ? check.plain() : check.verified();
  if (check.reader_gone()) return Exit::good;
  check.close();
  if (!flags.quiet)
    warn_empty(messages, sets.only().keys.keys(), counts.empty, "taken for absent", "asks for it");
  if (flags.count && !flags.quiet) print_counts(flags, counts, sets);
  const FalseMatches found = false_matches(flags, counts, sets);
  warn(flags, counts, found, messages);
  if (flags.speech.json || flags.stats) {
    Report report = report_of(flags, counts, sets, found);
    report.seconds("seconds", std::chrono::duration<double>(Clock::now() - start).count());
    messages.plain(flags.speech.json ? report.as_json() : report.as_text());
  }
  if (flags.strict && found.worth_telling()) return Exit::overfull;
  return counts.hits(flags.invert) > 0 ? Exit::good : Exit::nothing_found;
}

}  // namespace

Command check_command() {
  auto flags = std::make_shared<CheckFlags>();
  return {
      .name = "check",
      .summary = "print the lines that may be in a set file, or are in a list",
      .usage = "check [FLAGS] F [FILE...]   (or -s F -s F ... [FILE...])",
      .story = story,
      .flags = flags_of(*flags),
      .operands =
          Operands::after({"F", &flags->set}, {.rest = &flags->files, .unless = &flags->sets}),
      .run = [flags](Messages& messages) { return run(*flags, messages); },
  };
}

}  // namespace bloomery::cli

// bloomery add, bloomery remove: change a set file by lines.
//
//    lock F --> open F (a copy) --> add or remove every line --> save under F's name
//    live:      open F as it is --> add or remove every line --> one sync
//
// If the set is wrong: F stays the old file until the new one is whole, whatever happens between;
//          a refused line (no integer, a full set) leaves F as it was. A live set has every line
//          at once, also those before one that is refused.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>

#include <bloomery/any_set.hpp>
#include <bloomery/live.hpp>
#include <bloomery/text/lines.hpp>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/input/inputs.hpp>
#include <tools/cli/input/line_feed.hpp>
#include <tools/cli/input/once_each.hpp>
#include <tools/cli/input/set_lines.hpp>
#include <tools/cli/input/source_text.hpp>
#include <tools/cli/report/false_matches.hpp>
#include <tools/cli/report/progress.hpp>
#include <tools/cli/report/report.hpp>
#include <tools/cli/report/units.hpp>
#include <tools/cli/sets/file_lock.hpp>
#include <tools/cli/sets/live_file.hpp>
#include <tools/cli/sets/remote_set.hpp>
#include <tools/cli/sets/set_file.hpp>

#include "command.hpp"

namespace bloomery::cli {
namespace {

struct ChangeFlags {
  std::string set;
  bool quiet = false;
  bool strict = false;
  bool multiset = false;
  LineFlags lines;
  KeyFlags keys;
  Word key_file;
  SpeechFlags speech;
  std::vector<std::string> files;
};

constexpr const char* add_story =
    R"(F keeps its kind, size, hash, rule for carriage returns and normalisation, which
lines obey; -k, --csv and --json-key take a part of each line. An ordinary F is
replaced in one step when all lines are in: a run that fails or is killed leaves it as
it was. Two that change it at the same time wait for each other.

F may be a set on a Redis server, redis://[:password@]host[:port]/database/name,
that others use at the same time: lines are in it at once, also those before an
error. The report then has in_doubt too: lines whose answer was lost with a
connection.

F may be a live set (build --live), which others add to and ask at the same time:
lines are in it at once, also those before an error, and survive a kill; when the
command ends, all of them are on the disk. It is not read and not written again, so
the report has no keys_estimated and no fill, and rate_now is computed from keys. A
program that was killed before is made up for, which a line on standard error tells.

A cuckoo set gets one copy of each line, however often it comes in this run, beside
those it has; --multiset makes every line a copy, to be removed by itself. Eight
copies of a line are the most.

A set that gets more keys than it was planned for takes them all the same, with a
warning; --strict makes that exit code 3. A cuckoo set can be full: that is an
error, and an ordinary F stays as it was. Sets that are built at once take no more
keys.

The report on standard output: that of build, with lines_in and fresh (lines that
were surely new); with --skip-bad bad_in, of a normalised set not_normalized

Exit codes: 0 good, 2 error, 3 overfull with --strict.

Examples:
  bloomery add seen.bloom today.txt
  bloomery add --csv --column id ids.bloom new.csv
)";

constexpr const char* remove_story =
    R"(For kinds that can forget: counting, cuckoo, bitmap, two-bit, and spectral when
built with --removable. One copy of each line is removed; exact maps forget the
integer.

A line that is surely absent is skipped and counted. Remove only what was
added: on approximate kinds a false positive (at the rate that `info` calls rate now)
is removed like a member, and takes away what members need. A warning says how many
of the removed lines were probably false positives, from half a line on; that is
computed from the lines that were absent. With --strict F then stays as it was, and
the exit code is 3.

An ordinary F is replaced in one step when all lines are done: a run that fails or is
killed leaves it as it was. Two that change it at the same time wait for each other.
From a live set of kind counting, cuckoo, two-bit or spectral lines are removed at
once; a live bitmap must be sealed first.

The report on standard output: that of build, with lines_in, removed, absent and
expected_false (removed, and probably never added); with --skip-bad bad_in, of a
normalised set not_normalized

Exit codes: 0 something was removed, 1 nothing was there, 2 error; 3, with --strict,
half a line or more would be removed wrongly, and nothing was.

Examples:
  bloomery remove sessions.set expired.txt
)";

Flags common_flags(ChangeFlags& flags) {
  return joined({
      line_flags(flags.lines),
      key_flags(flags.keys, "they are left out and counted"),
      same_keys_flag(flags.keys),
      key_file_flag(flags.key_file),
      {"-q,--quiet", "", "no report and no progress; warnings stay", &flags.quiet},
      speech_flags(flags.speech),
      progress_flag(flags.speech),
  });
}

When progress_wanted(const ChangeFlags& flags) {
  return flags.quiet ? When::never : progress_of(flags.speech);
}

// Calls verb(keys, inputs) for every batch; returns the number of lines.
template <class Verb>
std::uint64_t each_key_batch(const ChangeFlags& flags, SetLines& keys, Messages& messages,
                             Verb&& verb) {
  const LineSource source{flags.files,
                          keys.line_rules(flags.lines),
                          progress_wanted(flags),
                          {},
                          keys.keys().when_alone()};
  return each_batch(source, messages,
                    [&](Lines batch, const Inputs& inputs) {
                      keys.hand(batch, inputs, [&](auto span) { verb(span, inputs); });
                      return true;
                    })
      .lines;
}

// What both verbs do around theirs.
class Change {
 public:
  Change(const ChangeFlags& flags, std::string_view command, Messages& messages)
      : flags_(flags), messages_(messages) {
    if (!is_remote(flags.set)) open_file();
    if (!live_) file_.emplace(opened());
    expect_line_keys(set(), flags.set);
    expect_lines(flags.files);
    expect_input(flags.files, fmt::format("{} F", command));
    if (!live_ && !is_remote(flags.set)) expect_creatable(flags.set, true);
  }

  AnySet& set() { return live_ ? live_->set() : file_->set; }
  const AnySet& set() const { return live_ ? live_->set() : file_->set; }
  const RedisSet* remote() const { return file_ ? file_->remote.get() : nullptr; }
  bool live() const { return live_.has_value(); }
  // Of a live set by the formula: its bits are not read.
  double rate_now() const { return live_ ? set().expected_rate_now() : measured(set()).rate_now(); }
  // A set without keys may get those of any source. What a live file says of it stays.
  void note_source() {
    if (live_ || set().adds() > 0 || file_->remote) return;
    const FieldCutter cutter = cutter_of(flags_.keys);
    const std::string source =
        source_text(cutter, line_rules_of(flags_.lines, cutter), WholeLines::list);
    const auto known = parts_of(set().rules().made_from);
    if (!known || !known->can_match(parts_of(source).value())) set().rules().made_from = source;
  }
  // What was added to a set on a server is there already.
  void save() {
    if (live_) return close_live();
    if (file_->remote) return file_->remote->tell_adds().value();
    const Progress writing(messages_, progress_wanted(flags_), Phase{"writing " + flags_.set});
    save_set(flags_.set, *file_, Overwrite::replace, [this] { return check_ours(); });
  }
  // The rest of the report is the verb's.
  Report described(std::uint64_t lines, const SetLines& keys) const {
    Report report;
    describe(report, set(), live_ ? FactsFrom::adds : FactsFrom::bits);
    report.count("lines_in", lines);
    report_keys(report, keys.keys());
    return report;
  }
  void print(Report report) const {
    if (flags_.quiet && !flags_.speech.json) return;
    const auto passed = std::chrono::steady_clock::now() - start_;
    report.seconds("seconds", std::chrono::duration<double>(passed).count());
    print_out(flags_.speech.json ? report.as_json() : report.as_text());
  }

 private:
  SetFile opened() const {
    const Progress reading(messages_, progress_wanted(flags_), Phase{"reading " + flags_.set});
    return is_remote(flags_.set) ? open_live_set(flags_.set, flags_.key_file, Verify::checksums)
                                 : open_set_to_change(flags_.set, flags_.key_file);
  }
  void open_file() {
    for (;;) {
      lock_ = lock_unless_live(flags_.set, messages_);
      if (lock_ || open_live()) break;
    }
    if (!lock_) return;
    // Of a file that cannot be watched the next line says why.
    if (auto watch = FileWatch::begin(flags_.set)) watch_.emplace(std::move(*watch));
  }
  // False: it was sealed meanwhile.
  bool open_live() {
    note_input(flags_.set);
    LiveOptions options{.durability = Durability::none};
    if (flags_.key_file) options.key = read_key_file(*flags_.key_file);
    reading_.emplace(flags_.set);
    auto live = AnyLiveSet::open(flags_.set, options);
    if (!live && !is_live_set(flags_.set)) {
      reading_.reset();
      return false;
    }
    if (!live) refuse_file(flags_.set, live.error());
    if (flags_.key_file && live->set().hasher().mode() != HashMode::hardened)
      refuse(fmt::format("{} is not hardened and has no secret key; leave --key-file out",
                         flags_.set));
    live_.emplace(std::move(*live));
    if (is_worth_telling(live_->recovery()))
      messages_.plain(recovered_line(flags_.set, live_->recovery()));
    return true;
  }
  void close_live() {
    const Progress writing(messages_, progress_wanted(flags_), Phase{"syncing " + flags_.set});
    if (auto synced = live_->sync(); !synced) refuse_file(flags_.set, synced.error());
    if (auto closed = live_->close(); !closed) refuse_file(flags_.set, closed.error());
    note_saved(flags_.set);
  }
  // Nothing is saved over what somebody else has put there or written to it.
  Result<void> check_ours() const {
    bool ours = lock_->holds(flags_.set);
    if (watch_) ours = watch_->expect_unchanged(flags_.set).has_value() && ours;
    if (ours) return {};
    return Error{Code::mismatch,
                 fmt::format("{} was changed, replaced or removed by another program during this "
                             "run, and is left as it is now; run again",
                             flags_.set)};
  }

  const ChangeFlags& flags_;
  Messages& messages_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::optional<FileLock> lock_;
  std::optional<FileWatch> watch_;
  std::optional<SetFile> file_;
  // Either that or this.
  std::optional<ReadingSet> reading_;
  std::optional<AnyLiveSet> live_;
};

// The system gives no more memory, or the keys crowd in one place.
[[noreturn]] void refuse_no_growth(const ChangeFlags& flags, const Change& change,
                                   const Inputs& inputs, const Error& error) {
  const std::string where = fmt::format("{} of {}", inputs.first_line(), inputs.name());
  refuse(change.live()
             ? fmt::format("{}: {}. Lines before {} are in the set, a line from there on is not",
                           flags.set, error.sentence, where)
             : fmt::format("{}: {}. A line from {} on found no room, and {} is as it was",
                           flags.set, error.sentence, where, flags.set));
}

[[noreturn]] void refuse_full(const ChangeFlags& flags, const Change& change, const Inputs& inputs,
                              std::uint64_t fresh) {
  refuse(fmt::format(
      "{}: the set is full; a line from {} on of {} found no room. {}", flags.set,
      inputs.first_line(), inputs.name(),
      change.live()
          ? fmt::format("{} lines of this run went in: build a larger set", print_count(fresh))
          : fmt::format("{} is as it was: build a larger set", flags.set)));
}

Exit run_add(const ChangeFlags& flags, Messages& messages) {
  obey(flags.speech, messages);
  Change change(flags, "add", messages);
  AnySet& set = change.set();
  // A kind that cannot says so also when no line comes.
  if (set.input() == InputForm::hashed)
    if (const auto none = set.add_all(std::span<const std::string_view>()); !none)
      refuse_file(flags.set, none.error());
  const bool was_overfull = set.overfull();
  bool warned = false;
  std::uint64_t fresh = 0;
  const KindRow& row = *AnySet::find_row(set.kind().name);
  if (flags.multiset) expect_copies(row);
  OnceEach once(row, flags.multiset);
  change.note_source();
  SetLines set_lines(set, flags.set, flags.keys, Outside::refused);
  const std::uint64_t lines =
      each_key_batch(flags, set_lines, messages, [&](auto keys, const Inputs& inputs) {
        const auto firsts = once.first_ones(keys);
        std::array<bool, lines_per_batch> is_in{};
        const auto marks = std::span<bool>(is_in).first(row.keeps_copies ? firsts.size() : 0);
        const auto added = set.add_all(firsts, marks);
        if (!added && change.remote() != nullptr) throw Failure(added.error());
        if (!added && added.error().code == Code::full && row.grows)
          refuse_no_growth(flags, change, inputs, added.error());
        if (!added && added.error().code == Code::full)
          refuse_full(flags, change, inputs,
                      fresh + static_cast<std::uint64_t>(std::ranges::count(marks, true)));
        if (!added) refuse_file(flags.set, added.error());
        fresh += *added;
        if (warned || !set.overfull()) return;
        warned = true;
        messages.warning(fmt::format(
            "{} {}: it was planned for {} keys; its false-positive rate is {} now, {} was asked "
            "for. Build "
            "a larger set{}",
            flags.set, was_overfull ? "was overfull before" : "is overfull now",
            print_count(set.capacity()), print_rate(change.rate_now()),
            print_rate(set.rate_asked()),
            change.remote() != nullptr ? "" : ", or one of kind scalable"));
      });
  if (lines > 0 || change.live()) change.save();
  warn_empty(messages, set_lines.keys(), set_lines.keys().empty(), "not added", "adds it");
  if (change.remote() != nullptr)
    warn_in_doubt(*change.remote(), "they are in the set now", messages);
  Report report = change.described(lines, set_lines);
  report.count("fresh", fresh);
  if (change.remote() != nullptr) report.count("in_doubt", change.remote()->in_doubt());
  change.print(std::move(report));
  return flags.strict && set.overfull() ? Exit::overfull : Exit::good;
}

void warn_of_strangers(const FalseMatches& found, std::uint64_t removed, bool kept,
                       Messages& messages) {
  messages.warning(fmt::format("about {} of {} removed lines were probably never added: {}. {}",
                               print_about(found.expected()), print_count(removed), found.cause(),
                               kept ? "It stays as it was, because of --strict"
                                    : "Other lines need what they took away, so members may be "
                                      "missing now; build the set again, "
                                      "with a lower --rate"));
}

// How a set is planned for removal on the command line.
Error naming_the_flag(Error error) {
  if (error.sentence.ends_with("for removal")) error.sentence += " (build --removable)";
  return error;
}

Exit run_remove(const ChangeFlags& flags, Messages& messages) {
  obey(flags.speech, messages);
  Change change(flags, "remove", messages);
  if (change.live() && flags.strict)
    refuse(fmt::format("{} is a live set, from which lines are removed at once; leave --strict out",
                       flags.set));
  AnySet& set = change.set();
  // A kind that cannot says so also when no line comes.
  if (set.input() == InputForm::hashed)
    if (const auto none = set.remove_all(std::span<const std::string_view>()); !none)
      refuse_file(flags.set, naming_the_flag(none.error()));
  AskedLines asked;
  // Before: what is removed takes bits away.
  const bool overfull = set.overfull();
  const double rate = set.exact() ? 0 : overfull ? change.rate_now() : set.expected_rate_now();
  SetLines set_lines(set, flags.set, flags.keys);
  const std::uint64_t lines =
      each_key_batch(flags, set_lines, messages, [&](auto keys, const Inputs&) {
        asked.lines += keys.size();
        const auto gone = set.remove_all(keys);
        if (!gone) refuse_file(flags.set, gone.error());
        asked.matched += *gone;
      });
  FalseMatches found;
  found.add(flags.set, rate, overfull, asked);
  found.of_all(asked);
  const bool keep = flags.strict && found.worth_telling();
  if (found.worth_telling()) warn_of_strangers(found, asked.matched, keep, messages);
  if (keep) return Exit::overfull;
  if (asked.matched > 0 || change.live()) change.save();
  const InputKeys& keys = set_lines.keys();
  warn_empty(messages, keys, keys.empty(), "skipped", "removes it");
  if (asked.absent() > 0)
    messages.warning(fmt::format("{} of {} lines were not in {}", print_count(asked.absent()),
                                 print_count(lines), flags.set));
  Report report = change.described(lines, set_lines);
  report.count("removed", asked.matched);
  report.count("absent", asked.absent());
  report.real("expected_false", found.expected());
  change.print(std::move(report));
  return asked.matched > 0 ? Exit::good : Exit::nothing_found;
}

}  // namespace

Command add_command() {
  auto flags = std::make_shared<ChangeFlags>();
  return {
      .name = "add",
      .summary = "add lines to a set file",
      .usage = "add [FLAGS] F [FILE...]",
      .story = add_story,
      .flags = joined({
          common_flags(*flags),
          {"--strict", "", "exit with 3 if the set is overfull", &flags->strict},
          {"--multiset", "",
           "cuckoo: a line that comes again is one more copy, to be removed by itself",
           &flags->multiset},
      }),
      .operands = Operands::after({"F", &flags->set}, {.rest = &flags->files}),
      .run = [flags](Messages& messages) { return run_add(*flags, messages); },
  };
}

Command remove_command() {
  auto flags = std::make_shared<ChangeFlags>();
  return {
      .name = "remove",
      .summary = "take lines out of a set file",
      .usage = "remove [FLAGS] F [FILE...]",
      .story = remove_story,
      .flags = joined({
          common_flags(*flags),
          {"--strict", "",
           "exit with 3 and change nothing if half a line or more is probably wrong",
           &flags->strict},
      }),
      .operands = Operands::after({"F", &flags->set}, {.rest = &flags->files}),
      .run = [flags](Messages& messages) { return run_remove(*flags, messages); },
  };
}

}  // namespace bloomery::cli

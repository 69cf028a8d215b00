// bloomery dedup: print each line the first time it comes.
//
// If the set is wrong: a new line is lost, about `expected_lost` of them; --exact loses none.
//          A state and its output always agree: see DedupRun::open_out.
#include <fmt/format.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <chrono>
#include <filesystem>
#include <memory>

#include <bloomery/any_set.hpp>
#include <bloomery/detail/engines/input/input_file.hpp>
#include <bloomery/engines/dedup/dedup.hpp>
#include <bloomery/engines/dedup/tallies.hpp>

#include <tools/cli/flags/dedup_flags.hpp>
#include <tools/cli/input/dedup_keys.hpp>
#include <tools/cli/input/input_keys.hpp>
#include <tools/cli/input/inputs.hpp>
#include <tools/cli/input/key_source.hpp>
#include <tools/cli/input/set_lines.hpp>
#include <tools/cli/input/source_text.hpp>
#include <tools/cli/report/false_matches.hpp>
#include <tools/cli/report/progress.hpp>
#include <tools/cli/report/report.hpp>
#include <tools/cli/report/stop_signals.hpp>
#include <tools/cli/report/units.hpp>
#include <tools/cli/serve/served_run.hpp>
#include <tools/cli/sets/against_sets.hpp>
#include <tools/cli/sets/dedup_set.hpp>
#include <tools/cli/sets/file_lock.hpp>
#include <tools/cli/sets/list_set.hpp>
#include <tools/cli/sets/remote_set.hpp>
#include <tools/cli/sets/set_file.hpp>
#include <tools/cli/sets/state_file.hpp>

#include "command.hpp"
#include "dedup_files.hpp"

namespace bloomery::cli {
namespace {

constexpr auto default_checkpoint = std::chrono::milliseconds(60'000);

// What a file that is replaced begins with, and keeps.
std::string_view mark_of(const InputFile& file) { return file.skipped() > 0 ? "\xef\xbb\xbf" : ""; }

class DedupRun {
 public:
  DedupRun(const DedupFlags& flags, Messages& messages, ServedRun* served)
      : flags_(flags),
        messages_(messages),
        served_(served),
        cutter_(cutter_of(flags.keys)),
        lines_(line_rules_of(flags.lines, cutter_)),
        keys_(cutter_, std::max<std::size_t>(1, flags.files.size()), flags.keys.empty.has_value()),
        tallies_(tallies_of(flags.tally)),
        remote_(flags.state && is_remote(*flags.state)),
        resumable_(flags.state && !remote_ && is_plain_file(flags.output.path) && !flags.repeated &&
                   !flags.dups) {
    want_ = {.size = flags.size,
             .hash = flags.hash,
             .exact = flags.exact,
             .saved = flags.state.has_value(),
             .threads = threads_of(flags)};
    if (flags.window) want_.window = window_of(*flags.window);
  }

  // Another run has begun the state since this one looked for it: begin again, and wait for it.
  struct StateAppeared {};

  Exit run() {
    open_sets();
    const DedupReport report = flags_.in_place         ? replace_files()
                               : flags_.tally.distinct ? print_distinct()
                                                       : print_all();
    if (reader_gone_) return Exit::good;
    if (served_ != nullptr) served_->end(report);
    warn(report);
    tell(report);
    const bool loses = set().overfull() || report.expected_lost >= told_from;
    return flags_.strict && loses ? Exit::overfull : Exit::good;
  }

 private:
  using Clock = std::chrono::steady_clock;

  AnySet& set() { return file_->set; }
  bool forgets() { return AnySet::find_row(set().kind().name)->forgets; }

  // -- what is asked, and remembered --------------------------------------------------------------

  void open_sets() {
    open_against();
    if (remote_) return join_others();
    if (flags_.state) state_.emplace(*flags_.state, flags_.hash.key_file, messages_);
    if (state_ && state_->exists()) return go_on_with_state();
    spelling_ = {crlf_of(flags_.lines, Crlf::keep) == Crlf::strip, normalizer_of(flags_.keys)};
    how_.make_keys = keys_.made_with(spelling_);
    how_.on_head = keys_.on_head(flags_.files);
    how_.same_head = keys_.same_head();
    SizedSet sized = tallies_ ? hashing_set(want_) : new_set(want_, {flags_.files, lines_, how_});
    keys_.forget_counts();
    by_ = sized.by;
    if (want_.window) span_ = want_.window->span;
    file_.emplace(SetFile{std::move(sized.set), {}, flags_.hash.key_file.has_value()});
    set().rules().strip_cr = spelling_.strip_cr;
    if (spelling_.normalizer) set().rules().normalisation = spelling_.normalizer->name();
    set().rules().made_from = source_text(cutter_, lines_);
    if (!flags_.live) return;
    if (!state_->make_live(*file_)) throw StateAppeared{};
    file_.emplace(state_->open(known_output()));
  }

  void go_on_with_state() {
    state_->expect_sort(flags_.live, flags_.size.memory.has_value());
    file_.emplace(state_->open(known_output()));
    go_on();
  }

  // The output that a state may know.
  std::optional<std::string> known_output() const {
    if (!resumable_) return std::nullopt;
    return full_path(*flags_.output.path);
  }

  // The set on a server that others may have begun, or begin at the same moment.
  void join_others() {
    const std::string& url = *flags_.state;
    const bool there = remote_exists(url);
    if (!there && is_plain_file(flags_.output.path) && size_of(*flags_.output.path) > 0)
      refuse(
          fmt::format("{} has lines, and {}, which would be made now, does not know them; give "
                      "another output",
                      *flags_.output.path, remote_address(url).shown()));
    if (there)
      file_.emplace(open_live_set(url, flags_.hash.key_file, Verify::checksums));
    else
      file_.emplace(join_remote_set(url, remote_wish()));
    if (flags_.size.keys && want_of(flags_.size).keys != set().capacity())
      refuse(fmt::format("{} was planned for {} keys; leave --keys out, or name another set",
                         file_->remote->address().shown(), print_count(set().capacity())));
    go_on();
  }

  RedisSet::Wish remote_wish() {
    const bool strip = crlf_of(flags_.lines, Crlf::keep) == Crlf::strip;
    auto wish = wished_set(want_, flags_.files, lines_, {strip, normalizer_of(flags_.keys)});
    wish.made_from = source_text(cutter_, lines_);
    return wish;
  }

  void go_on() {
    expect_line_keys(set(), *flags_.state);
    expect_source(set(), *flags_.state, {cutter_, lines_, flags_.keys.same_keys}, messages_);
    expect_clock(set(), *flags_.state);
    SizedSet sized = kept_set(std::move(set()), want_, *flags_.state);
    file_->set = std::move(sized.set);
    by_ = sized.by;
    span_ = std::chrono::milliseconds(set().time_span());
    const bool strip = set().rules().strip_cr;
    if (flags_.lines.crlf && (crlf_of(flags_.lines, Crlf::keep) == Crlf::strip) != strip)
      refuse(fmt::format("{} {} carriage returns; leave --crlf out", *flags_.state,
                         strip ? "strips" : "keeps"));
    spelling_ = {strip, normalizer_of(flags_.keys, set(), *flags_.state)};
    against_.expect_spelled_as(spelling_, flags_);
    how_.make_keys = keys_.made_with(spelling_);
    how_.on_head = keys_.on_head(flags_.files);
    how_.same_head = keys_.same_head();
  }

  void open_against() {
    against_.open(flags_, when(), messages_);
    for (const AgainstSets::One& one : against_.each())
      how_.against.push_back({&one.file.set, keys_.made_with(one.spelling)});
  }

  // -- where lines go -----------------------------------------------------------------------------

  // With a state and a file of our own, the two agree at every moment: the state knows a length up
  // to which the output is just what it was given. It is saved with that length before a byte is
  // cut or written, and whatever is behind it after a crash is cut off: lines that the state does
  // not know and that come again.
  LineWriter open_out() {
    if (remote_) return open_shared_out();
    tell_of_unended();
    if (!resumable_) {
      LineWriter out = open_output(flags_.output);
      // So that another run that begins at the same time waits for this one.
      if (state_ && !state_->exists()) state_->hold_place(*file_).value();
      return out;
    }
    const std::string& path = *flags_.output.path;
    const std::uint64_t size = size_of(path);
    const std::uint64_t from = bytes_to_keep(path, size);
    auto out = LineWriter::resume(path, from, [&]() -> Result<void> {
      // Locked from here on; before, another run may have been at it.
      if (size_of(path) != size) refuse(fmt::format("{} was changed by another run", path));
      file_->output = {full_path(path), from, false};
      return state_->save(*file_);
    });
    if (!out) throw Failure(out.error());
    if (from > 0 && cutter_.has_header()) how_.printed_head = Head{header_of(path, lines_), path};
    return std::move(*out);
  }

  // What a set on a server has, does not come again: nothing that was printed may be taken back.
  LineWriter open_shared_out() {
    if (!is_plain_file(flags_.output.path)) return open_output(flags_.output);
    const std::string& path = *flags_.output.path;
    const std::uint64_t size = size_of(path);
    if (size > 0 && flags_.output.force)
      refuse(
          fmt::format("--force would drop the lines of {}, and {} would not print them again; give "
                      "another output, or leave --force out to append",
                      path, file_->remote->address().shown()));
    auto out = LineWriter::resume(path, whole_lines_in(path), [&]() -> Result<void> {
      if (size_of(path) != size) refuse(fmt::format("{} was changed by another run", path));
      return {};
    });
    if (!out) throw Failure(out.error());
    if (size > 0 && cutter_.has_header()) how_.printed_head = Head{header_of(path, lines_), path};
    return std::move(*out);
  }

  // A run that was killed may have left half a line.
  std::uint64_t whole_lines_in(const std::string& path) {
    const std::uint64_t whole = bytes_of_whole_lines(path, lines_.delimiter);
    if (whole != size_of(path))
      messages_.warning(fmt::format(
          "{} ends in the middle of a line, which is cut off: a run that was killed left it, and "
          "lines that it was working on may be missing",
          path));
    return whole;
  }

  bool is_known_output(const std::string& path) const {
    return file_->output && file_->output->path == full_path(path);
  }

  // How much of the output a state knows; `bytes` are there. What a run wrote that did not end is
  // kept also with --force: those lines do not come again, and the same command must continue.
  std::uint64_t bytes_to_keep(const std::string& path, std::uint64_t bytes) const {
    const bool known = is_known_output(path);
    const bool unended = known && !file_->output->ended && file_->output->bytes > 0;
    if (flags_.output.force && !(unended && bytes >= file_->output->bytes)) return 0;
    if (bytes == 0 && !unended) return 0;
    if (!known) refuse(fmt::format("{} exists; --force replaces it", path));
    const WrittenOutput& output = *file_->output;
    if (bytes < output.bytes || (output.ended && bytes != output.bytes))
      refuse(
          fmt::format("{} has {} bytes, and {} left it with {}: somebody has changed it. Give "
                      "another output, or --force to start it over",
                      path, bytes, *flags_.state, output.bytes));
    return output.bytes;
  }

  void tell_of_unended() {
    std::vector<WrittenOutput> unended;
    if (state_) unended = state_->unended();
    if (state_ && !state_->live() && file_->output && !file_->output->ended)
      unended.push_back(*file_->output);
    std::erase_if(unended, [&](const WrittenOutput& output) {
      return resumable_ && output.path == full_path(*flags_.output.path);
    });
    warn_of_unended(unended, flags_.state.value_or(""), messages_);
  }

  std::optional<LineWriter> open_dups() {
    if (!flags_.dups) return std::nullopt;
    OutputFlags where{flags_.dups, flags_.output.force};
    return open_output(where);
  }

  // -- the work -----------------------------------------------------------------------------------

  void fill_in(Progress& progress, const DedupReport& before) {
    how_.repeated = flags_.repeated;
    how_.refuse_no_key = !flags_.keys.skip_bad;
    how_.empty_keys = empty_keys_of(flags_.keys);
    how_.threads = want_.threads;
    how_.progress = [this, &progress, before](const DedupReport& now) {
      progress.update(before.file_bytes_in + now.file_bytes_in, now.lines_in);
      if (served_ != nullptr) served_->tell(before, now, set());
    };
    how_.on_overfull = [this](const DedupReport& now) { warn_overfull(now); };
    if (span_.count() > 0)
      how_.before_adding = [span = span_](AnySet& set) {
        using namespace std::chrono;
        const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch());
        return set.advance_to(static_cast<std::uint64_t>(now.count()),
                              static_cast<std::uint64_t>(span.count()));
      };
  }

  // A window that is given its lines again has forgotten the first of them, and would print them;
  // so would any set those without a key, which it never knew.
  void plan_checkpoints(LineWriter& out) {
    if (!state_) return;
    if (flags_.checkpoint)
      how_.checkpoint_every = parse_duration("--checkpoint", *flags_.checkpoint).value();
    else if (resumable_ && !forgets() && !flags_.keys.skip_bad)
      how_.checkpoint_every = default_checkpoint;
    else
      return;
    how_.checkpoint = [this, &out](const DedupReport& so_far) {
      return may_go_on_from(so_far) ? save(out, false) : Result<void>{};
    };
  }

  // Records that are printed without being remembered would be printed again by a run that goes
  // on from here: the last checkpoint before the first of them stays the one to go on from.
  bool may_go_on_from(const DedupReport& so_far) {
    if (!resumable_ || so_far.empty == 0 || how_.empty_keys != EmptyKeys::keep) return true;
    if (flags_.checkpoint && !std::exchange(told_no_checkpoint_, true))
      messages_.warning(no_checkpoint_sentence(*flags_.state));
    return false;
  }

  Result<void> save(LineWriter& out, bool ended) {
    if (resumable_) {
      if (auto synced = out.sync(); !synced) return synced;
      file_->output->bytes = out.bytes_written();
      file_->output->ended = ended;
    }
    return state_->save(*file_);
  }

  DedupReport print_all() {
    LineWriter out = open_out_alone();
    std::optional<LineWriter> dups = open_dups();
    how_.repeats_out = dups ? &*dups : nullptr;
    Progress progress(messages_, when(), total_bytes(flags_.files));
    fill_in(progress, {});
    plan_checkpoints(out);
    BlockInputs inputs(flags_.files, lines_);
    std::optional<StopSignals> signals;
    // With --repeated and --dups a later run would tell what this one has read as repeats.
    if (remote_ || (state_ && !flags_.repeated && !flags_.dups))
      how_.stop = &signals.emplace().raised();
    const auto found = find(inputs, out);
    progress.finish();
    if (remote_) end_shared(out, found, dups);
    // What was not read must not be remembered as printed: the state stays as it was saved.
    reader_gone_ = out.reader_gone() || (dups && dups->reader_gone());
    if (reader_gone_) return {};
    const DedupReport report = found ? *found : throw Failure(found.error());
    if (state_ && resumable_) save(out, true).value();
    close_output(out);
    if (dups) close_output(*dups);
    if (state_ && !resumable_) state_->expect_saved(save(out, true));
    if (state_) state_->close();
    if (how_.stop != nullptr && how_.stop->load())
      messages_.warning(
          fmt::format("stopped by a signal after {} lines; what was printed is saved "
                      "in {}",
                      print_count(report.lines_in), *flags_.state));
    return report;
  }

  // Of several first runs one makes the state; the others find it, and wait for it to end.
  LineWriter open_out_alone() {
    if (!state_ || state_->exists()) return open_out();
    const DirectoryLock alone(state_->path());
    if (state_->has_appeared()) throw StateAppeared{};
    return open_out();
  }

  Result<DedupReport> find(BlockInputs& inputs, LineWriter& out) {
    if (!tallies_) return with_advice(dedup(set(), inputs, out, how_), want_);
    auto found = tally(set(), inputs, out, how_, *tallies_);
    if (!found) return found.error();
    distinct_ = found->distinct;
    spool_bytes_ = found->spool_bytes;
    return std::move(*found);
  }

  // How many lines would be printed, instead of them.
  DedupReport print_distinct() {
    LineWriter out = open_output(flags_.output);
    LineWriter nowhere = LineWriter::create("/dev/null", Overwrite::refuse).value();
    Progress progress(messages_, when(), total_bytes(flags_.files));
    fill_in(progress, {});
    BlockInputs inputs(flags_.files, lines_);
    const auto found = find(inputs, nowhere);
    progress.finish();
    if (!found) throw Failure(found.error());
    out.append(fmt::format("{}\n", found->lines_out));
    if (const auto flushed = out.flush(); !flushed && !out.reader_gone()) flushed.value();
    reader_gone_ = out.reader_gone();
    if (!reader_gone_) close_output(out);
    return *found;
  }

  // A set on a server has what it was given, whatever became of the lines: that must be told.
  void end_shared(LineWriter& out, const Result<DedupReport>& found,
                  const std::optional<LineWriter>& dups) {
    warn_in_doubt(*file_->remote,
                  "they were printed, and may have been by others, or be once more by a later run",
                  messages_);
    if (out.reader_gone() || (dups && dups->reader_gone()))
      refuse(
          fmt::format("the reader of the output is gone; lines that it did not read are in {}, and "
                      "will not come again",
                      file_->remote->address().shown()));
    if (!out.good() || (dups && !dups->good()))
      throw Failure(Error{
          Code::io, fmt::format("{}. Lines that could not be written are in {}, and will not come "
                                "again",
                                found ? "the output failed" : found.error().sentence,
                                file_->remote->address().shown())});
    if (!found) {
      std::string_view why = found.error().sentence;
      if (why.ends_with('.')) why.remove_suffix(1);
      // What is wrong with the set or the input is wrong the next time too.
      throw Failure(Error{
          found.error().code,
          fmt::format("{}. Every line that was added was printed{}", why,
                      found.error().code == Code::io ? "; run it again for the others" : "")});
    }
    file_->remote->tell_adds().value();
    if (how_.stop->load())
      refuse(
          fmt::format("stopped by a signal after {} lines; every line that was added was "
                      "printed. Run it again for the others",
                      print_count(found->lines_in)));
  }

  // Each file by itself, all with one set. A file without repeats is not touched.
  DedupReport replace_files() {
    for (const std::string& path : flags_.files) {
      const auto file = InputFile::open(path, lines_.decode).value();
      if (file.compressed())
        refuse(fmt::format(
            "{} is compressed or UTF-16, and would be replaced by plain UTF-8 text; use --output",
            path));
    }
    std::optional<LineWriter> dups = open_dups();
    how_.repeats_out = dups ? &*dups : nullptr;
    Progress progress(messages_, when(), total_bytes(flags_.files));
    DedupReport sum;
    for (const std::string& path : flags_.files) {
      fill_in(progress, sum);
      const FileWatch watch = FileWatch::begin(path).value();
      auto out = LineWriter::create(path, Overwrite::replace);
      if (!out) throw Failure(out.error());
      const std::vector<std::string> only = {path};
      how_.on_head = keys_.on_head(only);
      how_.mark = mark_of(InputFile::open(path, lines_.decode).value());
      BlockInputs inputs(only, lines_);
      const auto found = find(inputs, *out);
      if (!found) throw Failure(found.error());
      if (found->repeats > 0) put_in_place(*out, watch);
      add_up(sum, *found);
    }
    if (dups) close_output(*dups);
    return sum;
  }

  // -- what is told -------------------------------------------------------------------------------

  When when() const {
    if (flags_.quiet) return When::never;
    const bool prints = !flags_.in_place && (!flags_.output.path || *flags_.output.path == "-");
    return prints ? progress_beside_data(flags_.speech) : progress_of(flags_.speech);
  }

  void warn_overfull(const DedupReport& so_far) {
    messages_.warning(fmt::format(
        "the set is overfull after {} lines, and the chance that a new line is lost now rises "
        "above {}: {}",
        print_count(so_far.lines_in), print_rate(set().rate_asked()),
        remote_ ? fmt::format("it was planned for {} keys; begin another with a larger --keys",
                              print_count(set().capacity()))
                : why_overfull(by_, set().capacity())));
  }

  void warn(const DedupReport& report) {
    if (report.no_key > 0)
      messages_.warning(fmt::format(
          "{} {} no key and {} {}", print_count(report.no_key),
          report.no_key == 1 ? "line has" : "lines have", report.no_key == 1 ? "was" : "were",
          flags_.tally.distinct ? "counted, each as a different one" : "printed unchanged"));
    if (report.empty > 0 && !flags_.keys.empty && !cutter_.whole_line())
      messages_.warning(empty_sentence(report.empty, lines_.csv_separator ? "record" : "line",
                                       "not taken for repeats",
                                       "takes them for repeats of each other, --empty drop leaves "
                                       "them out"));
    if (report.expected_lost < told_from) return;
    messages_.warning(fmt::format("about {} new lines were probably taken for repeats and {}; {}",
                                  print_about(report.expected_lost),
                                  flags_.repeated         ? "printed"
                                  : flags_.tally.distinct ? "not counted"
                                                          : "lost",
                                  advice_lost()));
  }

  // For the set that loses most: that of this run, or one of --against.
  std::string advice_lost() {
    const double own_rate = set().exact() ? 0 : measured(set()).rate_now();
    if (std::string other = against_.advice_if_worse_than(own_rate); !other.empty()) return other;
    return fmt::format("{}a lower --rate makes fewer",
                       remote_ ? "" : "--exact makes no such error, ");
  }

  void tell(const DedupReport& found) {
    const bool unasked = messages_.on_terminal() && !flags_.quiet && !flags_.tally.distinct;
    if (!flags_.speech.json && !flags_.stats && !unasked) return;
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
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
    if (!tallies_) report.text("kind", std::string(set().kind().name));
    if (tallies_) report.count("distinct", distinct_);
    if (tallies_) report.bytes("spool_bytes", spool_bytes_);
    if (remote_) report.count("in_doubt", file_->remote->in_doubt());
    if (flags_.keys.part_of_line()) report.count("without_key", found.no_key);
    if (flags_.keys.part_of_line() || flags_.keys.empty) report.count("empty_keys", found.empty);
    if (spelling_.normalizer) report.count("not_normalized", keys_.not_normalized());
    messages_.plain(flags_.speech.json ? report.as_json() : report.as_text());
  }

  const DedupFlags& flags_;
  Messages& messages_;
  ServedRun* const served_;  // who shows this run; nullptr: nobody
  const Clock::time_point start_ = Clock::now();
  const FieldCutter cutter_;
  const LineRules lines_;
  DedupKeys keys_;
  const std::optional<TallyRules> tallies_;  // what is known at the end only
  std::uint64_t distinct_ = 0;
  std::uint64_t spool_bytes_ = 0;
  const bool remote_;  // the state is a set on a server
  const bool resumable_;
  SetWant want_;
  Spelling spelling_;
  AgainstSets against_;
  std::optional<StateFile> state_;
  std::optional<SetFile> file_;
  SizedBy by_ = SizedBy::sample;
  std::chrono::milliseconds span_{0};  // of a window that forgets by time
  DedupRules how_;
  bool reader_gone_ = false;
  bool told_no_checkpoint_ = false;
};

// Tables that grow leave holes in a heap, and each thread has a heap of its own: -m 64M of an exact
// set came to 92 MiB. Mapped one by one, they go back to the system when they are freed.
void give_back_what_is_freed() {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_THRESHOLD, 64 << 10);
#endif
}

Exit run(const DedupFlags& flags, Messages& messages) {
  obey(flags.speech, messages);
  expect_fitting(flags);
  expect_stdin_once(flags.against, flags.files);
  expect_input(flags.files, "dedup");
  expect_text(flags.files, flags.lines);
  if (flags.size.memory) give_back_what_is_freed();
  std::optional<ServedRun> served;
  if (flags.serve) served.emplace(flags, messages);
  for (;;) try {
      const Exit exit = DedupRun(flags, messages, served ? &*served : nullptr).run();
      StopSignals::raise_again();
      return exit;
    } catch (const DedupRun::StateAppeared&) {
      continue;
    }
}

}  // namespace

Command dedup_command() {
  auto flags = std::make_shared<DedupFlags>();
  return {
      .name = "dedup",
      .summary = "print each line the first time it comes",
      .usage = "dedup [FLAGS] [FILE...]",
      .story = dedup_story,
      .flags = dedup_flags(*flags),
      .operands = {.rest = &flags->files},
      .run = [flags](Messages& messages) { return run(*flags, messages); },
  };
}

}  // namespace bloomery::cli

// bloomery dedup: print each line the first time it comes.
//
// If the set is wrong: a new line is lost, about `expected_lost` of them; --exact loses none.
//          A state and its output always agree: see DedupRun::open_out.
#include <fmt/format.h>
#include <sys/stat.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <CLI/App.hpp>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>

#include <bloomery/engines/dedup.hpp>
#include <bloomery/engines/input_file.hpp>
#include <bloomery/sets/any_set.hpp>

#include "command.hpp"
#include "dedup_keys.hpp"
#include "dedup_set.hpp"
#include "flags.hpp"
#include "inputs.hpp"
#include "key_flags.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "set_file.hpp"
#include "set_lines.hpp"
#include "state_file.hpp"
#include "units.hpp"

namespace bloomery::cli {
namespace {

struct DedupFlags {
  SizeFlags size;
  bool exact = false;
  bool repeated = false;
  Word dups;
  Word state;
  Word checkpoint;
  std::vector<std::string> against;
  Word window;
  bool in_place = false;
  Word threads;
  LineFlags lines;
  KeyFlags keys;
  OutputFlags output;
  HashFlags hash;
  bool stats = false;
  bool quiet = false;
  bool strict = false;
  SpeechFlags speech;
  std::vector<std::string> files;
};

constexpr auto default_checkpoint = std::chrono::milliseconds(60'000);

constexpr const char* story =
    R"(Lines come out in the order they came in, while they come in. A line is
remembered in a few bits, so a new line can be taken for a repeat and be lost,
with at most the chance --rate. The report tells how many lines that probably
was; above half a line there is a warning. --exact remembers 128-bit hashes
instead, 18 to 23 bytes a line, and loses nothing (use --exact --hardened if
somebody may choose lines to collide).

Without --keys, files are sampled to size the set, and for a pipe the set grows.
--memory is a hard cap on the whole program, but for a line longer than 256 KiB,
which is held whole beside it. If the lines do not fit it at the rate asked for,
files are refused before anything is printed; for a pipe a warning comes at that
moment, and --strict makes it exit code 3.

--state F keeps the set in a file: lines that an earlier run printed are repeats.
With --output the two always agree. F is saved every 60 seconds (--checkpoint),
after the output was synced, with the length of the output in it; a run that was
killed is run again with the same words, cuts the output to that length and goes
on, and what comes out is the same. A later run with the same F and the same
output goes on behind what is there. Without --output F is saved at the end, or
at each --checkpoint.

--window N forgets: a line is a repeat if it came among the last N different
ones; --window 24h: if it came in that time (with --keys, the most lines in it).

The key of a line is the whole line, or a part of it (--field, --csv, --json-key),
spelled in one way if wanted (--normalize); what is printed is the line as it
came. A CSV header is printed once. --against F drops what a set file has, by the
spelling that is stored in F.

The report (--stats, --json, or when standard error is a terminal):
  lines_in, lines_out, repeats, memory_bytes, rate_now, expected_lost, seconds,
  bytes_in

Exit codes: 0 good, 2 error, 3 overfull with --strict.

Examples:
  bloomery dedup access.log > once.log
  bloomery dedup --stats *.gz > once.txt
  bloomery dedup --exact -o unique.txt names.txt
  bloomery dedup -i names.txt                   # only the repeats
  bloomery dedup --state seen.bloom -o new.txt today.txt
  bloomery dedup --against blocked.bloom mails.txt
  bloomery dedup --csv --column email --normalize email people.csv
  tail -f log | bloomery dedup --window 24h -n 10M
  find . -print0 | bloomery dedup -0
)";

void add_flags(CLI::App& parser, DedupFlags& flags) {
  add_size_flags(parser, flags.size, "chance that a new line is taken for a repeat; 1e-6");
  parser.get_option("--memory")
      ->description("most memory for the whole program: 512M, 2G (binary units)");
  parser.add_flag("--exact", flags.exact,
                  "lose no line; 18 to 23 bytes of memory for each different one");
  parser.add_flag("-i,--repeated", flags.repeated, "print the repeats instead of the first ones");
  parser.add_option("-D,--dups", flags.dups, "write the repeats to this file as well")
      ->type_name("FILE");
  parser.add_option("--state", flags.state, "remember lines in this set file from run to run")
      ->type_name("F");
  parser
      .add_option("--checkpoint", flags.checkpoint,
                  "how often the state is saved: 60s, 5min; 60s by default with --output")
      ->type_name("TIME");
  parser
      .add_option("--against", flags.against,
                  "drop the lines that this set file has; may be given several times")
      ->type_name("F")
      ->expected(1)
      ->take_all();
  parser
      .add_option("--window", flags.window,
                  "forget lines after so many others, or so much time: 10M, 24h")
      ->type_name("N|TIME");
  parser.add_flag("--in-place", flags.in_place,
                  "replace each file by its lines that did not come before");
  parser
      .add_option("-T,--threads", flags.threads,
                  "how many; the same lines come out with any; 0, the default: all cores")
      ->type_name("N");
  add_line_flags(parser, flags.lines);
  add_crlf_flag(parser, flags.lines,
                "whether a carriage return at the end of a line counts (keep, the default) or two "
                "lines that differ only in it are the same (strip)");
  add_key_flags(parser, flags.keys, "they are printed, and counted");
  add_output_flags(parser, flags.output);
  add_hash_flags(parser, flags.hash);
  add_key_file_flag(parser, flags.hash.key_file);
  parser.add_flag("--stats", flags.stats, "the report on standard error");
  parser.add_flag("-q,--quiet", flags.quiet, "no report and no progress; warnings stay");
  parser.add_flag("--strict", flags.strict, "exit with 3 if the set became overfull");
  add_speech_flags(parser, flags.speech);
  add_progress_flag(parser, flags.speech);
}

// A file that others can see grow, and that can be cut: not a pipe, not a device.
bool is_plain_file(const Word& path) {
  if (!path || *path == "-" || path->starts_with("/dev/")) return false;
  std::error_code unseen;
  const auto status = std::filesystem::status(*path, unseen);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

// One spelling for one file, also before it is there.
std::string full_path(const std::string& path) {
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path)).string();
}

bool is_same_file(const std::string& one, const std::string& other) {
  std::error_code unseen;
  return full_path(one) == full_path(other) || std::filesystem::equivalent(one, other, unseen);
}

void expect_fitting(const DedupFlags& flags) {
  if (flags.checkpoint && !flags.state)
    refuse("--checkpoint saves a state; name it with --state F");
  if (flags.checkpoint && (flags.repeated || flags.dups))
    refuse(
        "--checkpoint can not be used with --repeated or --dups: a run that is gone on with would "
        "take what it had read before for repeats");
  const bool prints = !flags.in_place && (!flags.output.path || *flags.output.path == "-");
  if (flags.dups && *flags.dups == "-" && prints)
    refuse(
        "--dups - would mix the repeats with the other lines; give -o a file, or use --repeated");
  if (!flags.in_place) return;
  if (flags.state)
    refuse(
        "--in-place and --state exclude each other: a second run would find every line in the "
        "state, and empty the files; use --output");
  if (flags.output.path || flags.repeated)
    refuse("--in-place writes the kept lines back; leave --output and --repeated out");
  if (flags.files.empty()) refuse("--in-place needs the files to replace");
  std::map<std::pair<dev_t, ino_t>, std::string> seen;
  for (const std::string& path : flags.files) {
    if (!is_plain_file(path))
      refuse(fmt::format("--in-place replaces files, and {} is none", path));
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) continue;  // told by who reads it
    const auto [before, first] = seen.try_emplace({facts.st_dev, facts.st_ino}, path);
    if (!first)
      refuse(
          fmt::format("{} and {} are one file: all its lines would be repeats the second time; "
                      "name it once",
                      before->second, path));
  }
}

// Refuses two names for one file where the one would be lost to the other.
void expect_apart(const DedupFlags& flags) {
  struct Named {
    std::string flag;
    std::string path;
  };
  std::vector<Named> written;
  if (flags.state) written.push_back({"--state", *flags.state});
  if (flags.output.path && *flags.output.path != "-")
    written.push_back({"--output", *flags.output.path});
  if (flags.dups && *flags.dups != "-") written.push_back({"--dups", *flags.dups});
  for (std::size_t i = 0; i < written.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      if (is_same_file(written[i].path, written[j].path))
        refuse(fmt::format("{} and {} name the same file, {}", written[j].flag, written[i].flag,
                           written[i].path));
    // Without a state the output takes its place only when all was read.
    if (written[i].flag == "--output" && !flags.state) continue;
    for (const std::string& path : flags.files)
      if (path != "-" && is_same_file(path, written[i].path))
        refuse(fmt::format("{} is an input; give {} another name", path, written[i].flag));
  }
}

Threads threads_of(const DedupFlags& flags) {
  if (!flags.threads || *flags.threads == "0") return {0};
  const auto count = parse_keys("--threads", *flags.threads);
  if (!count || *count > most_threads)
    refuse(fmt::format("--threads does not take '{}'; give a number from 0 (all cores) to {}",
                       *flags.threads, most_threads));
  return {static_cast<unsigned>(*count)};
}

void add_up(DedupReport& sum, const DedupReport& more) {
  sum.lines_in += more.lines_in;
  sum.lines_out += more.lines_out;
  sum.repeats += more.repeats;
  sum.no_key += more.no_key;
  sum.bytes_in += more.bytes_in;
  sum.file_bytes_in += more.file_bytes_in;
  sum.memory_bytes = more.memory_bytes;
  sum.rate_now = more.rate_now;
  sum.expected_lost += more.expected_lost;
}

class DedupRun {
 public:
  DedupRun(const DedupFlags& flags, Messages& messages)
      : flags_(flags),
        messages_(messages),
        cutter_(cutter_of(flags.keys)),
        lines_(line_rules_of(flags.lines, cutter_)),
        keys_(cutter_, std::max<std::size_t>(1, flags.files.size())),
        resumable_(flags.state && is_plain_file(flags.output.path) && !flags.repeated &&
                   !flags.dups) {
    want_ = {.size = flags.size,
             .hash = flags.hash,
             .exact = flags.exact,
             .saved = flags.state.has_value(),
             .threads = threads_of(flags)};
    if (flags.window) want_.window = window_of(*flags.window);
  }

  Exit run() {
    open_sets();
    const DedupReport report = flags_.in_place ? replace_files() : print_all();
    if (reader_gone_) return Exit::good;
    warn(report);
    tell(report);
    return flags_.strict && set().overfull() ? Exit::overfull : Exit::good;
  }

 private:
  using Clock = std::chrono::steady_clock;

  AnySet& set() { return file_->set; }
  bool forgets() { return AnySet::find_row(set().kind().name)->forgets; }

  // -- what is asked, and remembered --------------------------------------------------------------

  void open_sets() {
    open_against();
    if (flags_.state) state_.emplace(*flags_.state, flags_.hash.key_file, messages_);
    if (state_ && state_->exists()) return go_on_with_state();
    spelling_ = {crlf_of(flags_.lines, Crlf::keep) == Crlf::strip, normalizer_of(flags_.keys)};
    how_.make_keys = keys_.made_with(spelling_);
    how_.on_head = keys_.on_head(flags_.files);
    SizedSet sized = new_set(want_, {flags_.files, lines_, how_});
    by_ = sized.by;
    if (want_.window) span_ = want_.window->span;
    file_.emplace(SetFile{std::move(sized.set), {}, flags_.hash.key_file.has_value()});
    set().rules().strip_cr = spelling_.strip_cr;
    if (spelling_.normalizer) set().rules().normalisation = spelling_.normalizer->name();
  }

  void go_on_with_state() {
    file_.emplace(state_->open());
    expect_line_keys(set(), *flags_.state);
    SizedSet sized = kept_set(std::move(set()), want_, *flags_.state);
    file_->set = std::move(sized.set);
    by_ = sized.by;
    span_ = std::chrono::milliseconds(set().time_span());
    const bool strip = set().rules().strip_cr;
    if (flags_.lines.crlf && (crlf_of(flags_.lines, Crlf::keep) == Crlf::strip) != strip)
      refuse(fmt::format("{} {} carriage returns; leave --crlf out", *flags_.state,
                         strip ? "strips" : "keeps"));
    spelling_ = {strip, normalizer_of(flags_.keys, set(), *flags_.state)};
    how_.make_keys = keys_.made_with(spelling_);
    how_.on_head = keys_.on_head(flags_.files);
  }

  void open_against() {
    // Their addresses are lent out.
    against_.reserve(flags_.against.size());
    for (const std::string& path : flags_.against) {
      against_.push_back({open_set(path, against_key(path), Verify::checksums), {}});
      Other& other = against_.back();
      expect_line_keys(other.file.set, path);
      if (other.file.set.input() != InputForm::hashed)
        refuse(fmt::format("{} is a set of integers; 'bloomery check -v' asks it", path));
      warn_if_overfull(other.file.set, path, messages_);
      // --normalize is for the set that is made; others know their own.
      other.spelling = {other.file.set.rules().strip_cr,
                        normalizer_of(KeyFlags{}, other.file.set, path)};
      how_.against.push_back({&other.file.set, keys_.made_with(other.spelling)});
    }
  }

  // A key file is for those sets that want one.
  Word against_key(const std::string& path) const {
    if (!flags_.hash.key_file) return {};
    const auto image = open_image(path, {.verify = Verify::header});
    return image || image.error().code != Code::mismatch ? Word{} : flags_.hash.key_file;
  }

  // -- where lines go -----------------------------------------------------------------------------

  // With a state and a file of our own, the two agree at every moment: the state knows a length up
  // to which the output is just what it was given. It is saved with that length before a byte is
  // cut or written, and whatever is behind it after a crash is cut off: lines that the state does
  // not know and that come again.
  LineWriter open_out() {
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
    if (from > 0 && cutter_.has_header()) how_.printed_head = Head{header_of(path), path};
    return std::move(*out);
  }

  std::string header_of(const std::string& path) const {
    LineRules rules = lines_;
    rules.decode = nullptr;
    auto reader = LineReader::open(path, rules).value();
    static_cast<void>(reader.next().value());
    return reader.header();
  }

  bool is_known_output(const std::string& path) const {
    return file_->output && file_->output->path == full_path(path);
  }

  // Of a file that is missing: 0.
  static std::uint64_t size_of(const std::string& path) {
    std::error_code failed;
    const bool exists = std::filesystem::exists(path, failed);
    const std::uint64_t bytes = exists ? std::filesystem::file_size(path, failed) : 0;
    if (failed) refuse(fmt::format("{} can not be looked at: {}", path, failed.message()));
    return bytes;
  }

  // How much of the output a state knows; `bytes` are there. What a run wrote that did not end is
  // kept also with --force: those lines do not come again, and the same words shall go on.
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
                      "another output, or --force to begin it anew",
                      path, bytes, *flags_.state, output.bytes));
    return output.bytes;
  }

  void tell_of_unended() {
    if (!file_->output || file_->output->ended) return;
    if (resumable_ && is_known_output(*flags_.output.path)) return;
    messages_.warning(fmt::format(
        "the last run that wrote {} did not end; {} knows its first {} bytes, and what is behind "
        "them comes again. Run it again, or cut it: truncate -s {} {}",
        file_->output->path, *flags_.state, file_->output->bytes, file_->output->bytes,
        file_->output->path));
  }

  std::optional<LineWriter> open_dups() {
    if (!flags_.dups) return std::nullopt;
    OutputFlags where{flags_.dups, flags_.output.force};
    return open_output(where);
  }

  // -- the work -----------------------------------------------------------------------------------

  void fill_in(Progress& progress, std::uint64_t bytes_before) {
    how_.repeated = flags_.repeated;
    how_.refuse_no_key = !flags_.keys.skip_bad;
    how_.threads = want_.threads;
    how_.progress = [&progress, bytes_before](const DedupReport& now) {
      progress.update(bytes_before + now.file_bytes_in, now.lines_in);
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

  // A window that is given its lines again has forgotten the first of them, and would print them.
  void plan_checkpoints(LineWriter& out) {
    if (!flags_.state) return;
    if (flags_.checkpoint)
      how_.checkpoint_every = parse_duration("--checkpoint", *flags_.checkpoint).value();
    else if (resumable_ && !forgets())
      how_.checkpoint_every = default_checkpoint;
    else
      return;
    how_.checkpoint = [this, &out](const DedupReport&) { return save(out, false); };
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
    LineWriter out = open_out();
    std::optional<LineWriter> dups = open_dups();
    how_.repeats_out = dups ? &*dups : nullptr;
    Progress progress(messages_, when(), total_bytes(flags_.files));
    fill_in(progress, 0);
    plan_checkpoints(out);
    BlockInputs inputs(flags_.files, lines_);
    const auto found = dedup(set(), inputs, out, how_);
    progress.finish();
    // What nobody has read shall not be remembered as printed: the state stays as it was saved.
    reader_gone_ = out.reader_gone() || (dups && dups->reader_gone());
    if (reader_gone_) return {};
    const DedupReport report = found ? *found : throw Failure(found.error());
    if (state_ && resumable_) save(out, true).value();
    close_output(out);
    if (dups) close_output(*dups);
    if (state_ && !resumable_) save(out, true).value();
    return report;
  }

  // Each file by itself, all with one set. A file without repeats is not touched.
  DedupReport replace_files() {
    for (const std::string& path : flags_.files) {
      const auto file = InputFile::open(path, lines_.decode).value();
      if (file.compressed())
        refuse(fmt::format("{} is compressed, and would be replaced by plain text; use --output",
                           path));
    }
    std::optional<LineWriter> dups = open_dups();
    how_.repeats_out = dups ? &*dups : nullptr;
    Progress progress(messages_, when(), total_bytes(flags_.files));
    DedupReport sum;
    for (const std::string& path : flags_.files) {
      fill_in(progress, sum.file_bytes_in);
      auto out = LineWriter::create(path, Overwrite::replace);
      if (!out) throw Failure(out.error());
      const std::vector<std::string> only = {path};
      how_.on_head = keys_.on_head(only);
      BlockInputs inputs(only, lines_);
      const auto found = dedup(set(), inputs, *out, how_);
      if (!found) throw Failure(found.error());
      if (found->repeats > 0) close_output(*out);
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
        why_overfull(by_, set().capacity())));
  }

  void warn(const DedupReport& report) {
    if (report.no_key > 0)
      messages_.warning(fmt::format("{} lines have no key and were printed as they are",
                                    print_count(report.no_key)));
    if (report.expected_lost <= 0.5) return;
    messages_.warning(
        fmt::format("about {} new lines were probably taken for repeats and {}; --exact "
                    "makes no such error, a lower --rate makes fewer",
                    print_real(report.expected_lost), flags_.repeated ? "printed" : "lost"));
  }

  void tell(const DedupReport& found) {
    if (!flags_.speech.json && !flags_.stats && (!messages_.on_terminal() || flags_.quiet)) return;
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
    report.text("kind", std::string(set().kind().name));
    if (flags_.keys.part_of_line()) report.count("without_key", found.no_key);
    if (spelling_.normalizer) report.count("not_normalized", keys_.not_normalized());
    messages_.plain(flags_.speech.json ? report.as_json() : report.as_text());
  }

  const DedupFlags& flags_;
  Messages& messages_;
  const Clock::time_point start_ = Clock::now();
  const FieldCutter cutter_;
  const LineRules lines_;
  DedupKeys keys_;
  const bool resumable_;
  SetWant want_;
  Spelling spelling_;
  struct Other {
    SetFile file;
    Spelling spelling;
  };
  std::vector<Other> against_;
  std::optional<StateFile> state_;
  std::optional<SetFile> file_;
  SizedBy by_ = SizedBy::sample;
  std::chrono::milliseconds span_{0};  // of a window that forgets by time
  DedupRules how_;
  bool reader_gone_ = false;
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
  expect_apart(flags);
  expect_input(flags.files, "dedup");
  if (flags.size.memory) give_back_what_is_freed();
  return DedupRun(flags, messages).run();
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

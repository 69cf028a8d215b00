// bloomery build: make a set file from lines.
//
//    -n given, or a kind that grows    one pass: lines --> set
//    else                              one pass: lines --> 64-bit hashes in memory, sorted, repeats
//                                      dropped unless the kind counts them: the number of distinct
//                                      keys is exact, and the file depends only on which lines
//                                      there are, not on their order
//    --allow                           two lists --> filter and exceptions (cascade_builder.hpp)
//    files of very many lines          two passes: lines are counted, repeats too, then added
//    static kinds (fuse, ribbon)       one pass: lines --> 64-bit hashes in memory --> set; more
//                                      lines than fit the cap are refused
//
// If the set is wrong: it is not while it is built; a set that got more keys than it was planned
//          for passes more strangers than asked, which is said at that moment and in the report.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <unordered_set>

#include <bloomery/any_set.hpp>
#include <bloomery/detail/engines/build.hpp>
#include <bloomery/detail/sets/build/cascade_builder.hpp>
#include <bloomery/engines/integers/numbers.hpp>
#include <bloomery/image.hpp>
#include <bloomery/remote/redis_any_set.hpp>
#include <bloomery/text/lines.hpp>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/input/input_keys.hpp>
#include <tools/cli/input/inputs.hpp>
#include <tools/cli/input/line_feed.hpp>
#include <tools/cli/input/once_each.hpp>
#include <tools/cli/report/progress.hpp>
#include <tools/cli/report/report.hpp>
#include <tools/cli/report/units.hpp>
#include <tools/cli/sets/file_lock.hpp>
#include <tools/cli/sets/remote_set.hpp>
#include <tools/cli/sets/set_file.hpp>

#include "build_order.hpp"
#include "command.hpp"

namespace bloomery::cli {
namespace {

// Above this, hashes of all lines would take more than a gibibyte; files are read twice instead.
constexpr std::uint64_t most_gathered = std::uint64_t{1} << 27;
// Static kinds cannot be read twice: hashes of all lines, up to 16 GiB of them.
constexpr std::uint64_t most_gathered_static = std::uint64_t{1} << 31;
constexpr Range range_of_pipes{0, 0xffff'ffff};

constexpr const char* story =
    R"(Without --keys the distinct lines are counted first (8 bytes of memory a line,
up to 16 from a pipe; files of more than 2^27 lines are read twice instead,
counting repeats as keys).
Any two of --keys, --rate and --memory give the third; the keys are known by
counting, so --memory alone gives the lowest rate that fits. With all three,
--memory is a cap.

A line that comes again is one key all the same. Kinds spectral, counting and
two-bit count it; cuckoo keeps a copy for each time with --multiset, at most eight,
and each copy is removed by itself. (Without it and with --keys, building a cuckoo
set takes 18 to 23 bytes of memory a line beside it.)

Kinds fuse and ribbon are the smallest: built from all lines at once (8 bytes of
memory a line, and up to 24 more), with no --keys, and never added to.

Kinds bitmap and two-bit take lines that are unsigned integers, and a --range;
without it files get a first look for the smallest and the largest, and pipes
are given 0..4294967295.

One carriage return at the end of a line is not part of the key (--crlf keep
makes it one). The rule is stored in the set file, and `check` obeys it.

-k, --csv and --json-key take a part of each line as the key; `check` needs these
flags again, since its lines may have another form. --normalize spells keys in one
way (trim, case, email, url, crawl); that is stored in the set file, and `check`
obeys it.

--hardened draws a secret key and stores it in the file; with --key-file the
key stays out of the file, and those who ask need it too. --like F takes kind,
size, hash and key rules of another set file, so that the two can be united.

--allow FILE makes a block list with an allow list, of kind cascade: every line
of the files matches, no line of FILE does, and lines of neither pass at the rate
asked. A line that is in both is an error that names it. It takes 24 bytes of
memory for each allowed line (48 from a pipe) beside the 8 for each other line.
What is built so takes no more lines later.

-o redis://[:password@]host[:port]/database/name puts the set on a Redis server or
Redis Cluster, where any number of programs may use it at once: it is built here
and sent in one go; with --force it takes the place of the one that is there, for
everybody at the same moment. Its kind is blocked.

--live makes a live set: any number of programs add to it and ask it at once, a
key that was added survives the end of whoever added it, and adding costs what is
added (`bloomery add`), not what the set holds. `bloomery seal` makes an ordinary set
file of it. Plan it for all keys that will come with -n; kinds built at once cannot
be live.

A set that gets more keys than planned is written all the same, with a warning;
--strict makes that exit code 3.

The report on standard output: kind, keys, keys_estimated, capacity, bytes,
bits_per_key, fill, rate_asked, rate_now, hash, hardened, lines_in, seconds; with
--skip-bad also bad_in (lines without a key), with -k, --csv, --tsv or --json-key
empty_keys (lines with an empty one, which are left out unless --empty one is given),
with --normalize not_normalized (keys that are not a URL or address, and were only
trimmed), with --allow also allowed, exceptions (allowed lines that had to be listed)
and lines_allowed

Exit codes: 0 good, 2 error, 3 overfull with --strict.

Examples:
  bloomery build -o seen.bloom urls.txt
  bloomery build -o seen.bloom -n 10M -p 0.1% urls.txt
  bloomery build -o pages.bloom --normalize crawl urls.txt
  bloomery build -o mails.bloom --csv --column email --normalize email users.csv
  bloomery build -o phones.map --kind bitmap --range 0..99999999 phones.txt
  bloomery build -o today.bloom --like yesterday.bloom today.txt
  bloomery build -o spam.bloom --allow customers.txt spammers.txt
  bloomery build --live -n 100M -o seen.live urls.txt
  bloomery build -o redis://localhost/0/blocked blocked.txt
)";

// The inputs, with the bar and the warnings that reading them brings.
class Feed {
 public:
  Feed(const BuildFlags& flags, const Order& order, Messages& messages)
      : flags_(flags), order_(order), messages_(messages), keys_(order.keys) {}

  When progress() const { return flags_.quiet ? When::never : progress_of(flags_.speech); }
  // Shown while it lives, if that is long.
  Progress phase(std::string name) const {
    return Progress(messages_, progress(), Phase{std::move(name)});
  }

  // Calls `take(keys)` for every batch of one pass; returns how many lines there were.
  template <class Take>
  std::uint64_t pass(Take&& take) {
    return pass(flags_.files, [&](Lines keys, const Inputs&) { take(keys); });
  }
  // The same over other files; `take` is told where the keys come from.
  template <class Take>
  std::uint64_t pass(const std::vector<std::string>& files, Take&& take) {
    const auto take_all = [&](Lines lines, const Inputs& inputs) {
      take(keys_.keys_of(lines, inputs), inputs);
      return true;
    };
    return each_batch({files, order_.lines, progress(), {}, keys_.when_alone()}, messages_,
                      take_all)
        .lines;
  }

  void warn_when_overfull(const AnySet& set) {
    if (warned_ || !set.overfull()) return;
    warned_ = true;
    messages_.warning(
        fmt::format("the set is overfull: it was planned for {} keys and gets more; its "
                    "false-positive rate is {} now, {} was asked for; {}",
                    print_count(set.capacity()), print_rate(set.rate_now()),
                    print_rate(set.rate_asked()), advice_overfull()));
  }

  const BuildFlags& flags() const { return flags_; }
  const Order& order() const { return order_; }
  Messages& messages() { return messages_; }
  InputKeys& keys() { return keys_; }

 private:
  const char* advice_overfull() const {
    if (flags_.like) return "that is the size of the set of --like; leave --like out";
    if (order_.row->grows) return "it may not grow beyond --memory; give more";
    if (flags_.size.keys) return "give a larger --keys, or none to have the keys counted";
    return "the files grew while they were read; run again";
  }

  const BuildFlags& flags_;
  const Order& order_;
  Messages& messages_;
  InputKeys keys_;
  bool warned_ = false;
};

struct Built {
  AnySet set;
  std::uint64_t lines_in;
  std::uint64_t lines_allowed = 0;
};

// Static kinds: all at once, by as many threads as there are cores; repeats are one key.
Built build_static(Feed& feed) {
  const Order& order = feed.order();
  std::vector<Hash> hashes;
  const std::uint64_t lines = feed.pass([&](Lines batch) {
    if (hashes.size() + batch.size() > most_gathered_static)
      refuse(fmt::format("a {} set is built in memory, from at most {} lines; choose blocked",
                         order.row->id.name, print_count(most_gathered_static)));
    for (const std::string_view line : batch) hashes.push_back(order.hasher(line));
  });
  const Progress building = feed.phase("building");
  AnySet set = AnySet::build(order.row->id.name, order.want, std::span<const Hash>(hashes),
                             order.hasher, crew_of(Threads{}))
                   .value();
  set.rules().form = hashes.empty() ? KeyForm::none : KeyForm::text;
  note_rules(set, order);
  return {std::move(set), lines};
}

AnySet make_set(const Order& order, const Want& want) {
  if (order.remote) {
    RedisLaw law = plan_redis_law(want).value();
    law.hasher = order.hasher;
    AnySet set = local_set_for(law).value();
    note_rules(set, order);
    return set;
  }
  AnySet set = AnySet::make(order.row->id.name, want, order.hasher).value();
  if (!order.shape.empty() && order.shape != set.shape_facts())
    refuse(
        "the set of --like has a shape that its keys and rate do not give; it cannot be "
        "copied");
  note_rules(set, order);
  return set;
}

// Adds them; a set that has no room for one is refused with what would help.
template <class Keys>
void add_or_say_full(AnySet& set, const Keys& keys, Feed& feed) {
  const auto added = set.add_all(keys);
  if (added) return;
  if (added.error().code != Code::full || feed.order().row->grows) throw Failure(added.error());
  refuse(fmt::format(
      "the set is full: it was planned for {} keys and has no room for one more. {}Give "
      "a larger --keys, or none to have the keys counted",
      print_count(set.capacity()),
      feed.flags().multiset
          ? fmt::format("With --multiset a line that comes more than eight times has "
                        "none in any {} set. ",
                        set.kind().name)
          : ""));
}

// Brings the keys into the order in which they are added, and returns how many to plan for. What
// counts is given the repeats too, and planned without them; a multiset is planned for all;
// what forgets must see the keys as they came. Elsewhere neither order nor repeats matter: sorted,
// the file depends only on which lines there are.
std::uint64_t arrange(std::vector<Hash>& hashes, const KindRow& row, bool multiset) {
  const auto distinct_among = [](const std::vector<Hash>& sorted) {
    std::uint64_t distinct = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i)
      distinct += i == 0 || sorted[i] != sorted[i - 1];
    return distinct;
  };
  if (row.forgets) {
    std::vector<Hash> sorted = hashes;
    std::sort(sorted.begin(), sorted.end());
    return distinct_among(sorted);
  }
  std::sort(hashes.begin(), hashes.end());
  if (row.counts) return distinct_among(hashes);
  if (!multiset) hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  return hashes.size();
}

Built stream_text(Feed& feed, const Want& want) {
  AnySet set = make_set(feed.order(), want);
  OnceEach once(*feed.order().row, feed.flags().multiset);
  const std::uint64_t lines = feed.pass([&](Lines batch) {
    add_or_say_full(set, once.first_ones(batch), feed);
    feed.warn_when_overfull(set);
  });
  return {std::move(set), lines};
}

// Forgets repeats where they mean nothing, so that a list of a few lines that come again and again
// takes no more memory than they do. Whether half of a full vector would go is told by one hash in
// a thousand: sorting a list without repeats more often than once would take long.
class Gathered {
 public:
  explicit Gathered(const KindRow& row) : forgets_repeats_(repeats_are_one(row)) {}
  void make_room(std::size_t more) {
    if (!forgets_repeats_ || hashes.size() + more <= limit_) return;
    if (repeats_itself()) {
      std::sort(hashes.begin(), hashes.end());
      hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
    }
    limit_ = std::max(limit_, 2 * hashes.size());
  }
  static bool repeats_are_one(const KindRow& row) {
    return !row.forgets && !row.counts && !row.keeps_copies;
  }

  std::vector<Hash> hashes;

 private:
  bool repeats_itself() const {
    constexpr std::uint64_t one_in = 1024;
    std::unordered_set<std::uint64_t> different;
    for (const Hash hash : hashes)
      if (hash.bits % one_in == 0) different.insert(hash.bits);
    return different.size() * one_in < hashes.size() / 2;
  }

  bool forgets_repeats_;
  std::size_t limit_ = std::size_t{1} << 23;
};

Built gather_text(Feed& feed, std::uint64_t likely_lines) {
  const Hasher& hasher = feed.order().hasher;
  Gathered gathered(*feed.order().row);
  std::vector<Hash>& hashes = gathered.hashes;
  hashes.reserve(likely_lines);
  const std::uint64_t lines = feed.pass([&](Lines batch) {
    gathered.make_room(batch.size());
    for (const std::string_view line : batch) hashes.push_back(hasher(line));
  });
  if (hashes.empty())
    feed.messages().warning("the input has no lines; the set is planned for 1 key");
  Want want = feed.order().want;
  {
    const Progress sorting = feed.phase("sorting");
    want.keys =
        std::max<std::uint64_t>(1, arrange(hashes, *feed.order().row, feed.flags().multiset));
  }
  const Progress building = feed.phase("building");
  AnySet set = make_set(feed.order(), want);
  add_or_say_full(set, std::span<const Hash>(hashes), feed);
  // The set saw hashes, but they are those of lines under its own hasher.
  set.rules().form = hashes.empty() ? KeyForm::none : KeyForm::text;
  return {std::move(set), lines};
}

Built build_text(Feed& feed) {
  if (feed.order().row->built) return build_static(feed);
  Want want = feed.order().want;
  if (want.keys > 0 || feed.order().row->grows) return stream_text(feed, want);
  const auto& files = feed.flags().files;
  const bool once = Gathered::repeats_are_one(*feed.order().row);
  const auto likely = once ? estimate_keys(files, feed.order().lines).value()
                           : estimate_lines(files, feed.order().lines).value();
  if (!likely || *likely <= most_gathered) return gather_text(feed, likely.value_or(0));
  {
    const Progress counting = feed.phase("counting lines");
    want.keys = count_lines(files, feed.order().lines).value().value();
  }
  return stream_text(feed, want);
}

// Where the keys of several files came from, by their number over all of them.
class Places {
 public:
  // The next keys are those of the last batch of `inputs`.
  void note(const Inputs& inputs, const InputKeys& keys, std::uint64_t count) {
    unit_ = keys.unit();
    std::uint64_t line = inputs.first_line();
    for (const std::uint32_t missing : keys.without_key()) {
      const std::uint64_t before = inputs.first_line() + missing - line;
      note_run(inputs.name(), line, before);
      line += before + 1;
      count -= before;
    }
    note_run(inputs.name(), line, count);
  }
  std::uint64_t count() const { return count_; }
  std::string of(std::uint64_t number) const {
    auto run = std::upper_bound(runs_.begin(), runs_.end(), number,
                                [](std::uint64_t n, const Run& one) { return n < one.number; });
    --run;
    return fmt::format("{}, {} {}", run->name, unit_, run->line + number - run->number);
  }

 private:
  // Lines of one file that follow each other.
  struct Run {
    std::string name;
    std::uint64_t number;  // of the first of them, over all files
    std::uint64_t line;
  };
  void note_run(const std::string& name, std::uint64_t line, std::uint64_t count) {
    if (count == 0) return;
    // A file begins with a lower number than the one before it ended with.
    if (line != next_line_) runs_.push_back({name, count_, line});
    next_line_ = line + count;
    count_ += count;
  }

  std::vector<Run> runs_;
  std::string_view unit_;
  std::uint64_t next_line_ = 0;
  std::uint64_t count_ = 0;
};

std::span<const WideHash> wide_hashes(Lines lines, const Hasher& hasher,
                                      std::span<WideHash, lines_per_batch> hashes) {
  for (std::size_t i = 0; i < lines.size(); ++i) hashes[i] = hasher.wide(lines[i]);
  return hashes.first(lines.size());
}

Built build_cascade(Feed& feed) {
  const Order& order = feed.order();
  const auto likely = [&](const std::vector<std::string>& files) {
    return std::min(most_gathered, estimate_lines(files, order.lines).value().value_or(0));
  };
  CascadeBuilder builder(order.want);
  builder.reserve(likely(feed.flags().allow), likely(feed.flags().files)).value();
  std::array<WideHash, lines_per_batch> hashes;
  Places allowed;
  Places blocked;
  const auto allow = [&](Lines lines, const Inputs& inputs) {
    allowed.note(inputs, feed.keys(), lines.size());
    builder.allow_all(wide_hashes(lines, order.hasher, hashes)).value();
  };
  const auto block = [&](Lines lines, const Inputs& inputs) {
    const std::uint64_t before = blocked.count();
    blocked.note(inputs, feed.keys(), lines.size());
    auto taken = builder.block_all(wide_hashes(lines, order.hasher, hashes));
    if (taken) return;
    if (const auto& both = builder.conflict())
      refuse(fmt::format("{} is in both lists: {}, and {} of --allow; take it out of one of them",
                         quoted(lines[both->blocked - before]), blocked.of(both->blocked),
                         allowed.of(both->allowed)));
    throw Failure(taken.error());
  };
  const std::uint64_t lines_allowed = feed.pass(feed.flags().allow, allow);
  const std::uint64_t lines = feed.pass(feed.flags().files, block);
  if (blocked.count() == 0)
    feed.messages().warning("the input has no lines; the set is planned for 1 key");
  const KeyRules rules{.form = blocked.count() == 0 ? KeyForm::none : KeyForm::text};
  const Progress building = feed.phase("building");
  AnySet set = AnySet::of(std::move(builder).finish().value(), order.hasher, rules);
  note_rules(set, order);
  feed.warn_when_overfull(set);
  return {std::move(set), lines, lines_allowed};
}

// The same where an integer is only part of a line.
template <class Take>
std::uint64_t pass_number_fields(Feed& feed, const std::optional<Range>& range, Take&& take) {
  std::vector<Ordinal> numbers;
  return feed.pass(feed.flags().files, [&](Lines keys, const Inputs& inputs) {
    numbers.clear();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto place = [&] { return feed.keys().place_of(feed.keys().line_of(i), inputs); };
      const auto number = parse_integer(keys[i], IntegerFormat::text);
      if (!number)
        refuse(fmt::format("{}: {} is not an unsigned decimal integer, and a {} holds integers",
                           place(), quoted(keys[i]), feed.order().row->id.name));
      if (range && (*number < range->low || *number > range->high))
        refuse(fmt::format("{}: {} is outside the range {}..{}; give a wider range", place(),
                           *number, range->low, range->high));
      numbers.push_back({*number});
    }
    take(std::span<const Ordinal>(numbers));
  });
}

// Calls `take(numbers)` for every batch of one pass; a line that is not a number of the range is an
// error with its place.
template <class Take>
std::uint64_t pass_numbers(Feed& feed, const std::optional<Range>& range, Take&& take) {
  if (feed.flags().keys.part_of_line()) return pass_number_fields(feed, range, take);
  const NumberRules rules{.lines = feed.order().lines, .range = range};
  NumberReader reader(feed.flags().files, rules);
  Progress progress(feed.messages(), feed.progress(), total_bytes(feed.flags().files));
  std::uint64_t numbers = 0;
  for (;;) {
    const auto batch = reader.next();
    if (!batch) throw Failure(batch.error());
    if (batch->empty()) return numbers;
    take(*batch);
    numbers += batch->size();
    progress.update(reader.file_bytes_read(), numbers);
  }
}

Range first_look(Feed& feed) {
  if (!all_regular(feed.flags().files)) return range_of_pipes;
  Range range{std::numeric_limits<std::uint64_t>::max(), 0};
  pass_numbers(feed, std::nullopt, [&](std::span<const Ordinal> numbers) {
    for (const Ordinal number : numbers) {
      range.low = std::min(range.low, number.value);
      range.high = std::max(range.high, number.value);
    }
  });
  feed.keys().forget_counts();
  if (range.low <= range.high) return range;
  feed.messages().warning("the input has no lines; the set is planned for the range 0..0");
  return {0, 0};
}

Built build_numbers(Feed& feed) {
  Want want = feed.order().want;
  if (!want.range.given()) want.range = first_look(feed);
  const std::uint64_t cap = std::exchange(want.memory_bytes, 0);
  const std::uint64_t bytes = feed.order().row->planned_bytes(want).value();
  if (cap > 0 && bytes > cap)
    refuse(fmt::format("a {} of {}..{} takes {}, more than --memory allows",
                       feed.order().row->id.name, want.range.low, want.range.high,
                       print_bytes(bytes)));
  AnySet set = make_set(feed.order(), want);
  const std::uint64_t lines = pass_numbers(
      feed, want.range, [&](std::span<const Ordinal> numbers) { set.add_all(numbers).value(); });
  return {std::move(set), lines};
}

Built build_set(Feed& feed) {
  if (feed.order().row->two_lists) return build_cascade(feed);
  return feed.order().row->input == InputForm::ordinal ? build_numbers(feed) : build_text(feed);
}

// Of both lists, since standard input can be read only once.
void expect_inputs(const BuildFlags& flags) {
  std::vector<std::string> files = flags.files;
  if (files.empty() && !flags.allow.empty()) files.push_back("-");
  files.insert(files.end(), flags.allow.begin(), flags.allow.end());
  expect_lines(files);
  expect_apart(*flags.output.path, files);
  expect_input(files, "build -o F");
}

Exit run(const BuildFlags& flags, Messages& messages) {
  using Clock = std::chrono::steady_clock;
  obey(flags.speech, messages);
  const Order order = order_of(flags);
  std::optional<PlaceLock> lock;  // whoever changes the file that is replaced waits
  if (order.remote) {
    expect_uploadable(*flags.output.path, flags.output.force);
  } else {
    set_output(flags.output, "build");
    lock.emplace(*flags.output.path, messages);
  }
  const std::string& path = *flags.output.path;
  expect_inputs(flags);
  const auto start = Clock::now();
  Feed feed(flags, order, messages);
  Built built = build_set(feed);
  SetFile file{std::move(built.set), {}, flags.hash.key_file.has_value()};
  {
    const Progress writing = feed.phase("writing " + path);
    const Overwrite overwrite = flags.output.force ? Overwrite::replace : Overwrite::refuse;
    if (order.remote)
      file = upload_set(path, file, overwrite);
    else if (flags.live)
      save_live(path, file, overwrite);
    else
      save_set(path, file, overwrite);
  }
  warn_empty(messages, feed.keys(), feed.keys().empty(), "not added", "adds it");
  if (flags.speech.json || !flags.quiet) {
    Report report;
    describe(report, file.set);
    report.count("lines_in", built.lines_in);
    if (order.row->two_lists) report.count("lines_allowed", built.lines_allowed);
    report_keys(report, feed.keys());
    report.seconds("seconds", std::chrono::duration<double>(Clock::now() - start).count());
    print_out(flags.speech.json ? report.as_json() : report.as_text());
  }
  return flags.strict && file.set.overfull() ? Exit::overfull : Exit::good;
}

}  // namespace

Command build_command() {
  auto flags = std::make_shared<BuildFlags>();
  return {
      .name = "build",
      .summary = "make a set file from lines",
      .usage = "build -o F [FLAGS] [FILE...]",
      .story = story,
      .flags = build_flags(*flags),
      .operands = {.rest = &flags->files},
      .run = [flags](Messages& messages) { return run(*flags, messages); },
  };
}

}  // namespace bloomery::cli

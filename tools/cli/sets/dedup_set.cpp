#include "dedup_set.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include <bloomery/detail/engines/input/input_file.hpp>
#include <bloomery/engines/dedup/distinct.hpp>

#include <tools/cli/report/refuse.hpp>
#include <tools/cli/report/units.hpp>

namespace bloomery::cli {
namespace {

// The program itself: its code, its libraries, the buffers of its outputs.
constexpr std::uint64_t program_bytes = std::uint64_t{10} << 20;
constexpr std::uint64_t least_keys_of_a_state = 1'000'000;
// Fewer whole hashes are soon moved.
constexpr std::uint64_t fewest_planned_keys = 500'000;
constexpr std::uint64_t least_set_bytes = std::uint64_t{1} << 20;

// Whole hashes, of 64 or 128 bits, unless a rate is asked for: such a set needs no plan.
bool keeps_whole_hashes(const SetWant& want) { return want.exact || !want.size.rate; }

// Sets that grow by themselves. Not scalable: it is smaller than a chain that has grown, and
// takes several times as long to add to (docs/kinds.md).
const KindRow& growing_row(const SetWant& want) {
  if (want.exact) return *AnySet::find_row("hash-set");
  return *AnySet::find_row(want.size.rate ? "chain" : "compact");
}

// How many keys this kind holds in that memory at that rate.
std::uint64_t fitting_keys(const KindRow& row, Want want) {
  if (want.rate != 0) {
    want.keys = 0;
    return row.complete(want).value().keys;
  }
  std::uint64_t low = 0, high = want.memory_bytes / 4 + 1;
  while (low + 1 < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const bool fits = row.planned_bytes({.keys = middle}).value() <= want.memory_bytes;
    (fits ? low : high) = middle;
  }
  return low;
}

// What saving takes beside a set of whole hashes, for each byte of the set: a copy of the hashes.
// 16 bytes a key beside 18.8 at least, 8 beside 7.5.
double copy_of_set(const SetWant& want) {
  if (!want.saved || !keeps_whole_hashes(want)) return 0;
  return want.exact ? 0.86 : 1.07;
}

// A small table is there twice for a moment while it grows, and the heap has pages of its own.
constexpr std::uint64_t growing_bytes = std::uint64_t{16} << 20;

// The --memory that leaves so much for the set: set_memory() the other way round.
std::uint64_t memory_for(const SetWant& want, std::uint64_t set_bytes) {
  std::uint64_t left =
      set_bytes + static_cast<std::uint64_t>(copy_of_set(want) * static_cast<double>(set_bytes));
  if (keeps_whole_hashes(want)) left += std::min(growing_bytes, left * 2 / 3 + 8);
  return program_bytes + dedup_overhead(want.threads) + left;
}

[[noreturn]] void refuse_too_many(const std::string& which, std::uint64_t keys, const KindRow& row,
                                  const Want& want, std::uint64_t fitting, const SetWant& asked) {
  Want needed = want;
  needed.keys = keys;
  needed.memory_bytes = 0;
  const std::uint64_t bytes = memory_for(asked, row.planned_bytes(needed).value());
  refuse(fmt::format("{} do not fit --memory {}{}, only {} do; give --memory {}M, or {}", which,
                     *asked.size.memory,
                     want.rate == 0 ? "" : fmt::format(" at rate {}", print_rate(want.rate)),
                     print_count(fitting), bytes / (std::uint64_t{1} << 20) + 1,
                     asked.exact      ? "a --rate instead of --exact"
                     : want.rate == 0 ? "a --rate, such as 1e-6, for a smaller set"
                                      : "a higher --rate"));
}

// With a cap the number of keys is told, or counted, so that nobody hears of it too late. Lines
// that fit are not counted; those of a pipe cannot be.
Want fit(Want want, SizedBy& by, const KindRow& row, const SetWant& asked,
         const KeyedLines& lines) {
  const std::uint64_t fitting = fitting_keys(row, want);
  // A state without a plan gets all there is, since what later runs bring must fit too; but a set
  // of whole hashes grows, up to the cap.
  const bool whole = keeps_whole_hashes(asked);
  const bool takes_all = asked.saved && by == SizedBy::sample && !whole;
  if (want.keys == 0) {
    by = SizedBy::memory;
    want.keys = whole ? 0 : fitting;
    return want;
  }
  if (want.keys <= fitting && !takes_all) return want;
  if (want.keys > fitting && by == SizedBy::keys)
    refuse_too_many(print_count(want.keys) + " keys (--keys)", want.keys, row, want, fitting,
                    asked);
  const std::uint64_t distinct =
      want.keys <= fitting ? want.keys
                           : estimate_distinct(lines.files, lines.rules, lines.how).value();
  if (distinct > fitting)
    refuse_too_many("about " + print_count(distinct) + " different lines", distinct, row, want,
                    fitting, asked);
  by = SizedBy::memory;
  // What is planned need not grow, and growing stops short of the cap.
  want.keys = whole ? distinct : fitting;
  return want;
}

// What is kept from run to run meets lines that somebody may have chosen, and is hardened unless
// a seed is asked for.
Hasher hasher_of_new(const SetWant& want) {
  HashFlags hash = want.hash;
  if (want.saved && !hash.seed) hash.hardened = true;
  return hasher_of(hash);
}

SizedSet new_window(const SetWant& want) {
  const WindowWant& window = *want.window;
  Want size = want_of(want.size);
  if (size.rate == 0) size.rate = default_rate;
  if (window.timed() && size.keys == 0)
    refuse(
        "--window of time needs --keys: the most lines that come in that time, since memory for "
        "them is planned");
  if (!window.timed() && size.keys != 0)
    refuse("--window N says how many lines are remembered; leave --keys out");
  if (!window.timed()) size.keys = window.lines;
  const KindRow& row = *AnySet::find_row("window");
  const std::uint64_t memory = set_memory(want);
  size.memory_bytes = 0;
  if (memory != 0 && row.planned_bytes(size).value() > memory)
    refuse(fmt::format("a window of {} lines at rate {} takes {}, more than --memory {} leaves",
                       print_count(size.keys), print_rate(size.rate),
                       print_bytes(row.planned_bytes(size).value()), *want.size.memory));
  return {AnySet::make(row.id.name, size, hasher_of_new(want)).value(), SizedBy::keys};
}

}  // namespace

WindowWant window_of(const std::string& text) {
  if (!text.empty() &&
      (text.ends_with('s') || text.ends_with("min") || text.ends_with('h') || text.ends_with('d')))
    return {.span = parse_duration("--window", text).value()};
  const auto lines = parse_keys("--window", text);
  if (!lines)
    refuse(
        fmt::format("--window does not take '{}'; give a number of lines, such as 10M, or a time "
                    "with its unit, such as 90s, 30min, 24h or 7d",
                    text));
  return {.lines = *lines};
}

std::uint64_t set_memory(const SetWant& want) {
  const std::uint64_t cap = want_of(want.size).memory_bytes;
  if (cap == 0) return 0;
  const std::uint64_t beside = program_bytes + dedup_overhead(want.threads);
  if (cap < beside + least_set_bytes)
    refuse(fmt::format("--memory {} leaves no room for the set; give at least {}M",
                       *want.size.memory, (beside + least_set_bytes) >> 20));
  const std::uint64_t left = cap - beside;
  if (!keeps_whole_hashes(want) || want.window) return left;
  const std::uint64_t tables = left - std::min(growing_bytes, left * 2 / 5);
  return static_cast<std::uint64_t>(static_cast<double>(tables) / (1 + copy_of_set(want)));
}

// Whole hashes need no plan, but growing moves every key: in files a sample tells where to begin.
// Of whole lines only: parts of them may be far fewer. Never more than a quarter of the memory
// there is, since a sample can be wrong. 0: with nothing.
std::uint64_t first_keys(const KindRow& row, const KeyedLines& lines) {
  if (lines.how.make_keys) return 0;
  const std::uint64_t keys = likely_keys(lines.files, lines.rules).value().value_or(0);
  if (keys < fewest_planned_keys) return 0;
  const std::uint64_t bytes = row.planned_bytes({.keys = keys}).value();
  const std::uint64_t most = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                             static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 4;
  if (bytes <= most) return keys;
  return static_cast<std::uint64_t>(static_cast<double>(keys) * static_cast<double>(most) /
                                    static_cast<double>(bytes));
}

SizedSet new_set(const SetWant& want, const KeyedLines& lines) {
  if (want.exact && want.size.rate) refuse("--exact and --rate exclude each other");
  if (want.exact && want.window) refuse("--exact and --window exclude each other");
  if (want.window) return new_window(want);
  Want size = want_of(want.size);
  size.memory_bytes = set_memory(want);
  SizedBy by = size.keys > 0 ? SizedBy::keys : SizedBy::sample;
  const bool capped = size.memory_bytes > 0;
  const bool whole = keeps_whole_hashes(want);
  if (size.keys == 0 && (capped ? all_regular(lines.files) : !whole))
    size.keys = dedup_want(lines.files, lines.rules, size.rate, !capped).value().keys;
  if (size.keys == 0 && whole && !capped) size.keys = first_keys(growing_row(want), lines);
  // Nobody knows what later runs bring, and growing from a few lines makes many links.
  if (want.saved && by == SizedBy::sample && !capped && !whole)
    size.keys = std::max(size.keys, least_keys_of_a_state);
  const KindRow& row = capped && !whole ? *AnySet::find_row("blocked") : growing_row(want);
  if (capped) size = fit(size, by, row, want, lines);
  return {AnySet::make(row.id.name, size, hasher_of_new(want)).value(), by};
}

SizedSet hashing_set(const SetWant& want) {
  return {AnySet::make("hash-set", {}, hasher_of_new(want)).value(), SizedBy::sample};
}

RedisSet::Wish wished_set(const SetWant& want, const std::vector<std::string>& files,
                          const LineRules& lines, const Spelling& spelling) {
  Want size = want_of(want.size);
  if (size.rate == 0) size.rate = default_rate;
  // What others will bring nobody knows.
  if (size.keys == 0)
    size.keys = std::max(dedup_want(files, lines, size.rate).value().keys, least_keys_of_a_state);
  RedisSet::Wish wish{.want = size,
                      .hasher = hasher_of_new(want),
                      .key_is_elsewhere = want.hash.key_file.has_value(),
                      .strip_cr = spelling.strip_cr};
  if (spelling.normalizer) wish.normalisation = spelling.normalizer->name();
  return wish;
}

SizedSet kept_set(AnySet set, const SetWant& want, const std::string& path) {
  const auto differs = [&](const std::string& what, const char* flag) {
    refuse(fmt::format("{} {}; leave {} out, or begin another state", path, what, flag));
  };
  if (set.input() != InputForm::hashed)
    refuse(fmt::format("{} is a set of integers, and dedup remembers lines; name another state",
                       path));
  const KindRow& row = *AnySet::find_row(set.kind().name);
  if (row.built || row.two_lists)
    refuse(fmt::format("{} is a {} set, which takes no more keys; --against {} drops what it has",
                       path, row.id.name, path));
  if (want.exact && !set.exact())
    differs(fmt::format("is not exact but a {}", row.id.name), "--exact");
  if (want.window && !row.forgets)
    differs(fmt::format("is a {}, not a window", row.id.name), "--window");
  if (want.window && want.window->span.count() != static_cast<std::int64_t>(set.time_span()))
    differs(set.time_span() == 0
                ? std::string("is a window of lines, not of time")
                : fmt::format("is a window of {}",
                              print_seconds(static_cast<double>(set.time_span()) / 1000)),
            "--window");
  if (want.window && !want.window->timed() && set.capacity() < want.window->lines)
    differs(fmt::format("remembers {} lines", print_count(set.capacity())), "--window");
  const Want size = want_of(want.size);
  if (row.forgets && size.keys != 0 && size.keys != set.capacity())
    differs(fmt::format("was planned for {} lines", print_count(set.capacity())), "--keys");
  if (size.rate != 0 && row.whole_hashes && !row.exact)
    differs("keeps whole 64-bit hashes, at no rate of choice", "--rate");
  if (size.rate != 0 && row.exact) differs("is exact", "--rate");
  if (size.rate != 0 && size.rate != set.rate_asked())
    differs(fmt::format("was made for the rate {}", print_rate(set.rate_asked())), "--rate");
  if (want.hash.seed && set.hasher().mode() == HashMode::hardened)
    differs("is hardened, and has a secret key instead of a seed", "--seed");
  if (want.hash.seed && parse_seed("--seed", *want.hash.seed).value() != set.hasher().seed())
    differs(fmt::format("was made with the seed {}", set.hasher().seed()), "--seed");
  if (want.hash.hardened && set.hasher().mode() != HashMode::hardened)
    differs("is not hardened", "--hardened");
  if (const std::uint64_t memory = set_memory(want); memory != 0) {
    if (set.bytes() > memory)
      refuse(fmt::format("{} takes {} already, more than --memory {} leaves; give more", path,
                         print_bytes(set.bytes()), *want.size.memory));
    set.cap_memory(memory);
  }
  return {std::move(set), SizedBy::state};
}

Result<DedupReport> with_advice(Result<DedupReport> found, const SetWant& want) {
  if (found || found.error().code != Code::full) return found;
  return Error{Code::full, fmt::format("{}; give more --memory, or a --rate{} for a smaller set",
                                       found.error().sentence,
                                       want.exact ? " instead of --exact" : ", such as 1e-6,")};
}

std::string why_overfull(SizedBy by, std::uint64_t capacity) {
  const std::string keys = print_count(capacity);
  switch (by) {
    case SizedBy::keys:
      return fmt::format("--keys or --window planned it for {} keys; give a larger one", keys);
    case SizedBy::memory:
      return fmt::format(
          "only {} keys fit --memory at that rate; give more --memory or a higher --rate", keys);
    case SizedBy::sample:
      return fmt::format("a sample of the files promised {} keys; give --keys", keys);
    case SizedBy::state:
      return fmt::format(
          "the state was planned for {} keys; give more --memory if it is capped, or begin another "
          "state with a larger --keys",
          keys);
  }
  return "";
}

}  // namespace bloomery::cli

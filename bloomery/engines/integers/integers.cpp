#include <bloomery/engines/integers/integers.hpp>

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/sets/bulk/batch.hpp>
#include <bloomery/detail/sets/kinds/bitmap.hpp>
#include <bloomery/detail/sets/kinds/two_bit_map.hpp>

namespace bloomery::inline v0::detail {
namespace {

constexpr std::uint64_t largest_u32 = std::numeric_limits<std::uint32_t>::max();
// Each pass reads all input; with more passes than this, a sort is faster.
constexpr std::uint64_t most_passes = 1000;
// Between two looks whether anybody still reads the output. Whole cache lines in both maps.
constexpr std::uint64_t slice_integers = std::uint64_t{1} << 20;
constexpr std::uint64_t progress_bytes = std::uint64_t{64} << 10;

template <class Map>
constexpr std::uint64_t integers_per_word = 64;
template <>
constexpr std::uint64_t integers_per_word<TwoBitMap> = 32;

std::uint64_t machine_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
}

std::string shown(const Range& range, IntegerFormat format) {
  return format_integer(range.low, format) + ".." + format_integer(range.high, format);
}

void tell_progress(const IntegerRules& rules, const NumberReader& numbers, std::uint64_t& told,
                   IntegerProgress progress) {
  if (!rules.progress || numbers.bytes_read() - told < progress_bytes) return;
  told = numbers.bytes_read();
  progress.bytes_read = numbers.file_bytes_read();
  rules.progress(progress);
}

// How the range is cut: every part but the last has `integers`.
struct Cut {
  std::uint64_t integers = 0;
  std::uint64_t passes = 0;
};

template <class Map>
class Work {
 public:
  Work(const std::vector<std::string>& files, const IntegerRules& rules, LineWriter& out)
      : files_(files), rules_(rules), out_(out) {}

  Result<IntegerReport> all() {
    const auto found = find_range();
    if (!found) return found.error();
    if (!*found) return report_;
    const Range range = **found;
    report_.range = range;
    if (auto fits = check_out_format(range); !fits) return fits.error();
    const auto cut = plan_cut(range);
    if (!cut) return cut.error();
    report_.passes = cut->passes;
    if constexpr (std::is_same_v<Map, TwoBitMap>) report_.once = 0;
    for (std::uint64_t pass = 0; pass < cut->passes; ++pass) {
      Range part{range.low + pass * cut->integers, range.high};
      if (pass + 1 < cut->passes) part.high = part.low + (cut->integers - 1);
      if (auto done = one_pass(part, pass); !done) return done.error();
    }
    if (auto flushed = out_.flush(); !flushed) return flushed.error();
    return report_;
  }

 private:
  NumberRules number_rules() const {
    return {rules_.format, rules_.lines, report_.range, rules_.skip_bad};
  }

  // The range asked for, found, or usual; nothing when the input holds no number at all.
  Result<std::optional<Range>> find_range() {
    if (rules_.range) {
      report_.range = rules_.range;
      return rules_.range;
    }
    if (all_regular(files_)) return first_look();
    if (rules_.format == IntegerFormat::u64le)
      return Error{Code::bad_input,
                   "64-bit integers from a pipe can lie anywhere; give their range"};
    report_.range = Range{0, largest_u32};
    return report_.range;
  }

  Result<std::optional<Range>> first_look() {
    auto looked = look_at_integers(files_, rules_);
    if (!looked) return looked.error();
    report_ = std::move(*looked);
    return report_.range;
  }

  Result<void> check_out_format(const Range& range) const {
    if (rules_.verb == IntegerVerb::count || range.high <= largest_of(rules_.out_format)) return {};
    return Error{Code::bad_input, "the range " + shown(range, IntegerFormat::text) +
                                      " has integers that the output format cannot hold; its "
                                      "largest is " +
                                      std::to_string(largest_of(rules_.out_format))};
  }

  Result<Cut> plan_cut(const Range& range) const {
    const std::uint64_t allowed = allowed_bytes(rules_);
    const std::uint64_t per_word = integers_per_word<Map>;
    const std::uint64_t widest = std::uint64_t{1} << Map::widest;
    const std::uint64_t most = std::min(allowed / 8, widest / per_word) * per_word;
    const std::uint64_t rest = range.high - range.low;  // one less than there are
    if (most != 0 && rest < most) return Cut{most, 1};
    const std::string needs = "the range " + shown(range, rules_.format) + " needs a map of " +
                              std::to_string(rest / per_word * 8 + 8) + " bytes and " +
                              std::to_string(allowed) + " are allowed";
    if (!all_regular(files_))
      return Error{Code::no_memory, needs +
                                        "; several passes would do, but the input can be read only "
                                        "once: give a file, a narrower range or more memory"};
    if (most == 0 || rest / most + 1 > most_passes)
      return Error{Code::no_memory, needs + "; more than " + std::to_string(most_passes) +
                                        " passes would be needed: give a narrower range or more "
                                        "memory"};
    return Cut{most, rest / most + 1};
  }

  Result<void> one_pass(const Range& part, std::uint64_t pass) {
    const auto shape = Map::plan(Want{.range = part});
    if (!shape) return shape.error();
    auto memory = Memory::make(Map::bytes(*shape));
    if (!memory) return memory.error();
    report_.memory_bytes = std::max<std::uint64_t>(report_.memory_bytes, memory->size());
    Map map(*shape, memory->bytes());
    if (auto read = fill(map, pass); !read) return read.error();
    if constexpr (std::is_same_v<Map, TwoBitMap>) *report_.once += map.count_once();
    if (rules_.verb == IntegerVerb::count) return {};
    return print(part, memory->bytes());
  }

  Result<void> fill(Map& map, std::uint64_t pass) {
    NumberReader numbers(files_, number_rules());
    std::uint64_t told = 0;
    std::uint64_t numbers_in = 0;
    for (;;) {
      const auto batch = numbers.next();
      if (!batch) return batch.error();
      if (batch->empty()) break;
      numbers_in += batch->size();
      const auto ordinals = report_.passes == 1 ? *batch : of_part(map, *batch);
      report_.distinct += pipeline(map, ReadyInputs<Ordinal>(ordinals), lookahead_for(map),
                                   adding(map), CountOnly{})
                              .yes;
      tell_progress(rules_, numbers, told, {0, pass + 1, report_.passes});
    }
    if (pass > 0 && numbers_in != report_.numbers_in)
      return Error{Code::mismatch, "the input changed between two passes over it; run again"};
    report_.numbers_in = numbers_in;
    report_.bad_in = numbers.bad();
    report_.first_bad = numbers.first_bad();
    report_.bytes_in = numbers.bytes_read();
    return {};
  }

  // Those that this pass is about.
  std::span<const Ordinal> of_part(const Map& map, std::span<const Ordinal> batch) {
    part_.resize(batch.size());
    std::size_t kept = 0;
    for (const Ordinal n : batch) {
      part_[kept] = n;
      kept += map.in_range(n);
    }
    return std::span<const Ordinal>(part_).first(kept);
  }

  // A kind is arithmetic on lent bytes, so a slice of the bytes is a smaller map.
  Result<void> print(const Range& part, std::span<std::byte> bytes) {
    const std::uint64_t slice_bytes = slice_integers / integers_per_word<Map> * 8;
    const std::uint64_t last = (part.high - part.low) / slice_integers;
    for (std::uint64_t slice = 0; slice <= last; ++slice) {
      const std::uint64_t low = part.low + slice * slice_integers;
      const std::uint64_t high = slice == last ? part.high : low + (slice_integers - 1);
      const auto lent = bytes.subspan(slice * slice_bytes);
      print_slice(Map({low, high}, slice == last ? lent : lent.first(slice_bytes)));
      if (!out_.good()) return out_.flush();
    }
    return {};
  }

  void print_slice(const Map& map) {
    const auto each = [&](std::uint64_t value) {
      append_integer(out_, value, rules_.out_format, rules_.lines.delimiter);
      ++report_.numbers_out;
    };
    if constexpr (std::is_same_v<Map, TwoBitMap>) {
      if (rules_.verb == IntegerVerb::once)
        map.for_each_once(each);
      else
        map.for_each_many(each);
    } else {
      if (rules_.verb == IntegerVerb::missing)
        map.for_each_missing(each);
      else
        map.for_each(each);
    }
  }

  const std::vector<std::string>& files_;
  const IntegerRules& rules_;
  LineWriter& out_;
  IntegerReport report_;
  std::vector<Ordinal> part_;
};

}  // namespace

Result<IntegerReport> run_integers(const std::vector<std::string>& files, const IntegerRules& rules,
                                   LineWriter& out) {
  if (const auto readable = check_readable(files); !readable) return readable.error();
  if (rules.range && rules.range->low > rules.range->high)
    return Error{Code::impossible, "the range " + shown(*rules.range, rules.format) +
                                       " is empty; write the smaller end first"};
  if (rules.verb == IntegerVerb::once || rules.verb == IntegerVerb::dups)
    return Work<TwoBitMap>(files, rules, out).all();
  return Work<Bitmap>(files, rules, out).all();
}

Result<IntegerReport> look_at_integers(const std::vector<std::string>& files,
                                       const IntegerRules& rules) {
  NumberReader numbers(files, {rules.format, rules.lines, rules.range, rules.skip_bad});
  IntegerReport report;
  Range found{std::numeric_limits<std::uint64_t>::max(), 0};
  std::uint64_t told = 0;
  for (;;) {
    const auto batch = numbers.next();
    if (!batch) return batch.error();
    if (batch->empty()) break;
    report.numbers_in += batch->size();
    for (const Ordinal n : *batch) {
      found.low = std::min(found.low, n.value);
      found.high = std::max(found.high, n.value);
    }
    tell_progress(rules, numbers, told, {0, 0, 1});
  }
  report.bad_in = numbers.bad();
  report.first_bad = numbers.first_bad();
  report.bytes_in = numbers.bytes_read();
  if (found.low <= found.high) report.range = found;
  return report;
}

std::uint64_t dense_map_bytes(const Range& range, IntegerVerb verb) {
  const bool two_bits = verb == IntegerVerb::once || verb == IntegerVerb::dups;
  const std::uint64_t per_word =
      two_bits ? integers_per_word<TwoBitMap> : integers_per_word<Bitmap>;
  return ((range.high - range.low) / per_word + 1) * 8;
}

std::uint64_t allowed_bytes(const IntegerRules& rules) {
  return rules.memory_bytes != 0 ? rules.memory_bytes : machine_bytes() / 4 * 3;
}

Result<Range> parse_range(std::string_view text, IntegerFormat format) {
  const std::size_t dots = text.find("..");
  const auto part = [&](std::size_t from, std::size_t length) {
    return parse_integer(text.substr(from, length), format);
  };
  if (dots != std::string_view::npos) {
    const auto low = part(0, dots);
    const auto high = part(dots + 2, std::string_view::npos);
    if (low && high && *low <= *high) return Range{*low, *high};
  }
  const std::string example = format == IntegerFormat::ipv4 ? "10.0.0.0..10.255.255.255" : "0..999";
  return Error{Code::bad_input, "'" + std::string(text) + "' is not a range; write it as " +
                                    example + ", with the smaller end first"};
}

}  // namespace bloomery::inline v0::detail

#include <bloomery/engines/integers/sparse_integers.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <bloomery/detail/engines/input/input_file.hpp>
#include <bloomery/engines/integers/numbers.hpp>
#include <bloomery/engines/integers/sparse_numbers.hpp>

namespace bloomery::inline v0::detail {
namespace {

constexpr std::uint64_t largest_u64 = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t least_memory = std::uint64_t{64} << 10;
constexpr std::uint64_t small_map_bytes = std::uint64_t{16} << 20;
// Each pass reads all input.
constexpr std::uint64_t most_passes = 1000;
constexpr std::uint64_t most_missing_unasked = std::uint64_t{1} << 32;
constexpr std::uint64_t progress_bytes = std::uint64_t{16} << 20;
// Between two looks whether anybody still reads the output.
constexpr std::uint64_t printed_at_once = std::uint64_t{1} << 16;

Error no_memory_left() {
  return {Code::no_memory,
          "the system gives no memory for the integers; set a cap, and files are "
          "read in several passes"};
}

// The numbers of one pass: those seen and, for verbs that ask, those seen again.
class Sets {
 public:
  Sets(std::uint64_t most_bytes, bool twice) : seen(most_bytes), again(most_bytes), twice_(twice) {}

  bool settle() {
    if (!twice_) return seen.settle();
    bool good = true;
    good = seen.settle([&](std::uint64_t number) {
      if (again.add(number)) good = good && again.settle();
    }) && good;
    return good && again.settle();
  }
  std::uint64_t bytes() const { return seen.bytes() + (twice_ ? again.bytes() : 0); }

  SparseNumbers seen;
  SparseNumbers again;

 private:
  bool twice_;
};

class Work {
 public:
  Work(const std::vector<std::string>& files, const IntegerRules& rules, LineWriter& out)
      : files_(files),
        rules_(rules),
        out_(out),
        allowed_(allowed_bytes(rules)),
        twice_(rules.verb == IntegerVerb::once || rules.verb == IntegerVerb::dups) {}

  Result<IntegerReport> all() {
    report_.map = IntegerMap::sparse;
    if (allowed_ < least_memory)
      return Error{Code::no_memory, "a sparse map needs " + std::to_string(least_memory) +
                                        " bytes at least and " + std::to_string(allowed_) +
                                        " are allowed; give more memory"};
    if (twice_) report_.once = 0;
    const Range whole = rules_.range.value_or(Range{0, largest_u64});
    Range part = whole;
    // One pair of sets for all passes: the heap keeps holes where the first ones were.
    Sets sets(allowed_, twice_);
    for (;;) {
      const auto bound = one_pass(sets, part);
      if (!bound) return bound.error();
      if (*bound == whole.high) break;
      if (report_.passes == most_passes)
        return Error{Code::no_memory, "after " + std::to_string(most_passes) +
                                          " passes there are still integers left; give more "
                                          "memory"};
      part = {*bound + 1, whole.high};
    }
    if (auto flushed = out_.flush(); !flushed) return flushed.error();
    report_.range = rules_.range ? rules_.range : found();
    return report_;
  }

 private:
  std::optional<Range> found() const {
    return low_found_ <= high_found_ ? std::optional(Range{low_found_, high_found_}) : std::nullopt;
  }

  // Reads everything and keeps what is in `part`, or in as much of its beginning as the memory
  // allows; prints that, and tells where it ends.
  Result<std::uint64_t> one_pass(Sets& sets, Range part) {
    sets.seen.drop_from(0);
    sets.again.drop_from(0);
    NumberReader numbers(files_, {rules_.format, rules_.lines, rules_.range, rules_.skip_bad});
    std::uint64_t told = 0;
    std::uint64_t numbers_in = 0;
    ++report_.passes;
    for (;;) {
      const auto batch = numbers.next();
      if (!batch) return batch.error();
      if (batch->empty()) break;
      numbers_in += batch->size();
      for (const Ordinal n : *batch) {
        low_found_ = std::min(low_found_, n.value);
        high_found_ = std::max(high_found_, n.value);
        if (n.value < part.low || n.value > part.high) continue;
        if (!sets.seen.add(n.value)) continue;
        if (auto settled = settle(sets, part.high); !settled) return settled.error();
      }
      tell(numbers, told);
    }
    if (auto settled = settle(sets, part.high); !settled) return settled.error();
    if (report_.passes > 1 && numbers_in != report_.numbers_in)
      return Error{Code::mismatch, "the input changed between two passes over it; run again"};
    report_.numbers_in = numbers_in;
    report_.bad_in = numbers.bad();
    report_.first_bad = numbers.first_bad();
    report_.bytes_in = numbers.bytes_read();
    if (auto done = finish(sets, part); !done) return done.error();
    return part.high;
  }

  // Lowers `bound` when the memory would be passed.
  Result<void> settle(Sets& sets, std::uint64_t& bound) {
    if (!sets.settle()) return no_memory_left();
    report_.memory_bytes = std::max(report_.memory_bytes, sets.bytes());
    // The rest is room for what is added before the next look.
    while (sets.bytes() > allowed_ - allowed_ / 8) {
      if (sets.seen.count() < 2 || !all_regular(files_))
        return Error{Code::no_memory,
                     "the integers need more than the " + std::to_string(allowed_) +
                         " bytes that are allowed; several passes would do, but the input can be "
                         "read only once: give a file or more memory"};
      const std::uint64_t middle = sets.seen.middle();
      sets.seen.drop_from(middle);
      sets.again.drop_from(middle);
      bound = middle - 1;
    }
    return {};
  }

  Result<void> finish(const Sets& sets, const Range& part) {
    const std::uint64_t distinct = sets.seen.count();
    report_.distinct += distinct;
    if (twice_) *report_.once += distinct - sets.again.count();
    switch (rules_.verb) {
      case IntegerVerb::count: return {};
      case IntegerVerb::sort: return print(sets.seen);
      case IntegerVerb::dups: return print(sets.again);
      case IntegerVerb::once: return print_once(sets);
      case IntegerVerb::missing: return print_missing(sets.seen, part, distinct);
    }
    return {};
  }

  Result<void> check_out_format() const {
    const bool of_range = rules_.verb == IntegerVerb::missing && rules_.range;
    const std::uint64_t largest = of_range ? rules_.range->high : high_found_;
    if (largest <= largest_of(rules_.out_format)) return {};
    return Error{Code::bad_input, std::to_string(largest) +
                                      " is more than the output format can hold; its largest is " +
                                      std::to_string(largest_of(rules_.out_format))};
  }

  Result<void> print(const SparseNumbers& numbers) {
    return print_each(numbers, [&](std::uint64_t number) { put(number); });
  }

  Result<void> print_once(const Sets& sets) {
    SparseNumbers::Walk repeats(sets.again);
    auto block = repeats.next();
    std::size_t at = 0;
    return print_each(sets.seen, [&](std::uint64_t number) {
      if (at == block.size() && !block.empty()) {
        block = repeats.next();
        at = 0;
      }
      if (at < block.size() && block[at] == number)
        ++at;
      else
        put(number);
    });
  }

  // The gaps between the numbers of this part, and at its ends.
  Result<void> print_missing(const SparseNumbers& numbers, Range part, std::uint64_t distinct) {
    if (!rules_.range) {
      if (!found()) return {};
      part.low = std::max(part.low, low_found_);
      part.high = std::min(part.high, high_found_);
      if (part.low > part.high) return {};
      if (part.high - part.low - distinct > most_missing_unasked &&
          part.high - part.low >= distinct)
        return Error{Code::bad_input, "between " + format_integer(part.low, rules_.format) +
                                          " and " + format_integer(part.high, rules_.format) +
                                          " more than 2^32 integers are "
                                          "missing; give the range to print them all the same"};
    }
    std::uint64_t next = part.low;
    bool past_end = false;  // `next` is one above part.high, which may overflow
    auto printed = print_each(numbers, [&](std::uint64_t number) {
      put_range(next, number);
      past_end = number == part.high;
      next = number + 1;
    });
    if (!printed || past_end) return printed;
    put_range(next, part.high);
    if (out_.good()) put(part.high);
    return {};
  }

  // From `from` up to and without `to`.
  void put_range(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t number = from; number < to; ++number) {
      put(number);
      if (number % printed_at_once == 0 && !out_.good()) return;
    }
  }

  template <class Each>
  Result<void> print_each(const SparseNumbers& numbers, Each&& each) {
    if (auto fits = check_out_format(); !fits) return fits.error();
    SparseNumbers::Walk walk(numbers);
    for (auto block = walk.next(); !block.empty(); block = walk.next()) {
      for (const std::uint64_t number : block) each(number);
      if (!out_.good()) return out_.flush();
    }
    return {};
  }

  void put(std::uint64_t number) {
    append_integer(out_, number, rules_.out_format, rules_.lines.delimiter);
    ++report_.numbers_out;
  }

  void tell(const NumberReader& numbers, std::uint64_t& told) const {
    if (!rules_.progress || numbers.bytes_read() - told < progress_bytes) return;
    told = numbers.bytes_read();
    rules_.progress({numbers.file_bytes_read(), report_.passes, 0});
  }

  const std::vector<std::string>& files_;
  const IntegerRules& rules_;
  LineWriter& out_;
  std::uint64_t allowed_;
  bool twice_;
  std::uint64_t low_found_ = largest_u64;
  std::uint64_t high_found_ = 0;
  IntegerReport report_;
};

}  // namespace

Result<IntegerReport> run_sparse_integers(const std::vector<std::string>& files,
                                          const IntegerRules& rules, LineWriter& out) {
  if (const auto readable = check_readable(files); !readable) return readable.error();
  if (rules.range && rules.range->low > rules.range->high)
    return Error{Code::impossible, "the range is empty; write the smaller end first"};
  return Work(files, rules, out).all();
}

Result<IntegerReport> run_smaller_integers(const std::vector<std::string>& files,
                                           const IntegerRules& rules, LineWriter& out) {
  if (const auto readable = check_readable(files); !readable) return readable.error();
  if (!all_regular(files)) {
    const bool fits = rules.range && rules.range->low <= rules.range->high &&
                      dense_map_bytes(*rules.range, rules.verb) <= allowed_bytes(rules);
    return fits ? run_integers(files, rules, out) : run_sparse_integers(files, rules, out);
  }
  IntegerRules ranged = rules;
  std::uint64_t input_bytes = total_bytes(files);
  if (!rules.range) {
    const auto looked = look_at_integers(files, rules);
    if (!looked || !looked->range) return looked;
    ranged.range = looked->range;
    input_bytes = looked->bytes_in;
  } else if (rules.range->low > rules.range->high) {
    return run_integers(files, rules, out);
  }
  const std::uint64_t map_bytes = dense_map_bytes(*ranged.range, rules.verb);
  if (map_bytes <= std::max(small_map_bytes, input_bytes)) return run_integers(files, ranged, out);
  // Without a range, `missing` still refuses to print more numbers than anybody can want.
  return run_sparse_integers(files, rules, out);
}

}  // namespace bloomery::inline v0::detail

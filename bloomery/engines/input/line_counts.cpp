// count_lines, estimate_lines and estimate_keys of lines.hpp.

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <unordered_map>

#include <bloomery/hash.hpp>
#include <bloomery/text/lines.hpp>

namespace bloomery::inline v0 {

using namespace detail;
namespace {

constexpr std::size_t sample_bytes = std::size_t{64} << 10;
constexpr std::uint64_t samples = 64;
// Below this a spread over the blocks of a file says nothing.
constexpr std::uint64_t fewest_samples = 4;
constexpr double least_reserve = 0.002;
// The start of a file says less about its middle than blocks spread over it.
constexpr double compressed_reserve = 0.25;

// Sums of up to 255 fit a byte, and compilers turn that into vectors: four times as fast as
// std::count, and as fast for short lines as for long ones, unlike memchr.
std::uint64_t bytes_equal(std::string_view bytes, char wanted) {
  constexpr std::size_t lanes = 64;
  constexpr std::size_t rounds = 255;
  std::uint64_t count = 0;
  std::size_t at = 0;
  while (bytes.size() - at >= lanes) {
    std::array<std::uint8_t, lanes> sums{};
    for (std::size_t round = 0; round < rounds && bytes.size() - at >= lanes; ++round, at += lanes)
      for (std::size_t i = 0; i < lanes; ++i) sums[i] += bytes[at + i] == wanted;
    for (const std::uint8_t sum : sums) count += sum;
  }
  for (; at < bytes.size(); ++at) count += bytes[at] == wanted;
  return count;
}

std::uint64_t delimiters_in(std::string_view bytes, const std::string& delimiter) {
  if (delimiter.size() == 1) return bytes_equal(bytes, delimiter[0]);
  std::uint64_t found = 0;
  for (std::size_t at = 0; (at = bytes.find(delimiter, at)) != std::string_view::npos; ++found)
    at += delimiter.size();
  return found;
}

// A delimiter of several bytes may lie across two blocks, a newline of CSV in quotes; the reader
// knows about that.
Result<std::uint64_t> count_by_reader(InputFile file, const LineRules& rules) {
  LineReader reader(std::move(file), rules);
  for (;;) {
    const auto batch = reader.next();
    if (!batch) return batch.error();
    if (batch->empty()) return reader.lines_read();
  }
}

Result<std::uint64_t> count_file(InputFile file, const LineRules& rules) {
  if (rules.delimiter.size() > 1 || rules.csv_separator)
    return count_by_reader(std::move(file), rules);
  std::vector<char> block(default_block_bytes);
  std::uint64_t lines = 0;
  char last = rules.delimiter[0];
  for (;;) {
    const auto got = file.read(block);
    if (!got) return got.error();
    if (*got == 0) break;
    lines += delimiters_in({block.data(), *got}, rules.delimiter);
    last = block[*got - 1];
  }
  // A last line without its delimiter is a line.
  return lines + (last != rules.delimiter[0]);
}

struct Guess {
  double lines = 0;
  double variance = 0;
};

// The share of distinct lines in some blocks. One line in eight is looked at, chosen by its hash,
// so that either all repeats of a line are looked at or none. For the whole file the share is at
// most as large: the longer a file, the more of its lines are repeats.
class Variety {
 public:
  // Whole lines of a block only: the first and the last may be cut.
  void look(std::string_view block, const std::string& delimiter) {
    std::size_t start = block.find(delimiter);
    while (start != std::string_view::npos) {
      start += delimiter.size();
      const std::size_t end = block.find(delimiter, start);
      if (end == std::string_view::npos) return;
      ++lines_;
      const std::uint64_t hash = hasher_(block.substr(start, end - start)).bits;
      if (hash % one_in == 0) pairs_ += seen_[hash]++;
      start = end;
    }
  }
  // How many of so many lines are distinct, if all are drawn at random from V possible lines: then
  // one pair in V is equal, and n draws give V (1 - e^(-n/V)) distinct lines. With a reserve for
  // chance. Too low where repeats are close together or some lines are more frequent than others:
  // then the set grows.
  double different(double lines) const {
    if (pairs_ == 0 || lines_ < fewest_lines) return lines;
    const double looked = static_cast<double>(lines_) / one_in;
    const auto pairs = static_cast<double>(pairs_);
    const double possible = one_in * looked * looked / 2 / pairs;
    const double met = possible * -std::expm1(-lines / possible);
    return std::min(lines, met * (1 + std::min(0.15, 1 / std::sqrt(pairs))));
  }
  double part() const {
    if (lines_ < fewest_lines) return 1;
    const double different = static_cast<double>(std::max<std::size_t>(1, seen_.size()) * one_in);
    const double part = different / static_cast<double>(lines_);
    // Where most lines are new, chance in the sample must not make the plan too small.
    return part < 0.5 ? part : 1;
  }

 private:
  static constexpr std::uint64_t one_in = 8;
  static constexpr std::uint64_t fewest_lines = 1000;
  Hasher hasher_;
  std::uint64_t lines_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> seen_;  // how often
  std::uint64_t pairs_ = 0;                                // of equal lines
};

// Takes samples, and scales the number of lines to keys where that is wanted.
struct Sampling {
  const LineRules& rules;
  bool keys = false;
  bool likely = false;  // the most likely number of keys, not a plan that should suffice

  void scale(Guess& guess, const Variety& variety) const {
    if (!keys) return;
    const double part = likely ? variety.different(guess.lines) / guess.lines : variety.part();
    guess.lines *= part;
    guess.variance *= part * part;
  }
};

// Blocks at even distances: a file that was sorted or grew over years is seen everywhere.
Result<Guess> sample_file(const InputFile& file, std::uint64_t blocks, const Sampling& how) {
  Variety variety;
  std::vector<char> block(sample_bytes);
  const std::uint64_t span = file.size_bytes() - sample_bytes;
  double sum = 0;
  double squares = 0;
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const std::uint64_t offset = span / (blocks - 1) * i;
    const auto got = file.read_at(offset, block);
    if (!got) return got.error();
    const std::string_view bytes(block.data(), *got);
    const auto found = static_cast<double>(delimiters_in(bytes, how.rules.delimiter));
    if (how.keys) variety.look(bytes, how.rules.delimiter);
    sum += found;
    squares += found * found;
  }
  const auto taken = static_cast<double>(blocks);
  const double in_file = static_cast<double>(file.size_bytes()) / sample_bytes;
  const double mean = sum / taken;
  const double spread = std::max(0.0, squares / taken - mean * mean) * taken / (taken - 1);
  Guess guess{mean * in_file + 1, spread / taken * in_file * in_file};
  how.scale(guess, variety);
  return guess;
}

// A compressed file has no middle that could be read: the first `most_bytes` of what it holds are
// decoded, and the rest is taken to be like them.
Result<Guess> sample_start(InputFile& file, std::uint64_t most_bytes, const Sampling& how) {
  Variety variety;
  std::vector<char> block(sample_bytes);
  std::uint64_t decoded = 0;
  double lines = 1;  // the last may lack its delimiter
  while (decoded < most_bytes) {
    const auto got = file.read(block);
    // The reader of the lines reports damage, after the good lines; here it only ends the count.
    if (!got && got.error().code == Code::damaged) return Guess{lines, 0};
    if (!got) return got.error();
    if (*got == 0) return Guess{lines, 0};
    decoded += *got;
    const std::string_view bytes(block.data(), *got);
    lines += static_cast<double>(delimiters_in(bytes, how.rules.delimiter));
    if (how.keys) variety.look(bytes, how.rules.delimiter);
  }
  const auto used = static_cast<double>(std::max<std::uint64_t>(1, file.file_bytes_read()));
  const double likely = lines * std::max(1.0, static_cast<double>(file.size_bytes()) / used);
  const double sigma = compressed_reserve / 3 * likely;
  Guess guess{likely, sigma * sigma};
  how.scale(guess, variety);
  return guess;
}

std::vector<std::string> or_stdin(const std::vector<std::string>& files) {
  return files.empty() ? std::vector<std::string>{"-"} : files;
}

}  // namespace

Result<std::optional<std::uint64_t>> count_lines(const std::vector<std::string>& files,
                                                 const LineRules& rules) {
  if (const auto readable = check_readable(files); !readable) return readable.error();
  if (!all_regular(files)) return std::optional<std::uint64_t>{};
  std::uint64_t lines = 0;
  for (const std::string& path : or_stdin(files)) {
    auto file = InputFile::open(path, rules.decode);
    if (!file) return file.error();
    const auto counted = count_file(std::move(*file), rules);
    if (!counted) return counted.error();
    lines += *counted;
  }
  return std::optional(lines);
}

namespace {

Result<std::optional<std::uint64_t>> estimate(const std::vector<std::string>& files,
                                              const Sampling& how) {
  const LineRules& rules = how.rules;
  if (const auto readable = check_readable(files); !readable) return readable.error();
  if (!all_regular(files)) return std::optional<std::uint64_t>{};
  const std::uint64_t bytes = std::max<std::uint64_t>(total_bytes(files), 1);
  std::uint64_t counted_lines = 0;
  Guess guessed;
  for (const std::string& path : or_stdin(files)) {
    auto file = InputFile::open(path, rules.decode);
    if (!file) return file.error();
    const double share = static_cast<double>(file->size_bytes()) / static_cast<double>(bytes);
    const auto blocks =
        std::max(fewest_samples, static_cast<std::uint64_t>(std::ceil(share * double{samples})));
    if (file->compressed()) {
      const auto guess = sample_start(*file, blocks * sample_bytes, how);
      if (!guess) return guess.error();
      guessed.lines += guess->lines;
      guessed.variance += guess->variance;
      continue;
    }
    if (file->size_bytes() <= blocks * sample_bytes) {
      const auto counted = count_file(std::move(*file), rules);
      if (!counted) return counted.error();
      counted_lines += *counted;
      continue;
    }
    const auto guess = sample_file(*file, blocks, how);
    if (!guess) return guess.error();
    guessed.lines += guess->lines;
    guessed.variance += guess->variance;
  }
  const double reserve = std::max(least_reserve * guessed.lines, 3 * std::sqrt(guessed.variance));
  return std::optional(counted_lines +
                       static_cast<std::uint64_t>(std::ceil(guessed.lines + reserve)));
}

}  // namespace

Result<std::optional<std::uint64_t>> estimate_lines(const std::vector<std::string>& files,
                                                    const LineRules& rules) {
  return estimate(files, {.rules = rules});
}

Result<std::optional<std::uint64_t>> estimate_keys(const std::vector<std::string>& files,
                                                   const LineRules& rules) {
  return estimate(files, {.rules = rules, .keys = true});
}

Result<std::optional<std::uint64_t>> likely_keys(const std::vector<std::string>& files,
                                                 const LineRules& rules) {
  return estimate(files, {.rules = rules, .keys = true, .likely = true});
}

}  // namespace bloomery::inline v0

#include "set_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace bloomery::cli {
namespace {

std::string hexadecimal(const Uuid& uuid) {
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i)
    text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
  return text;
}

// The facts are written for people; those that are numbers are numbers in the report.
void describe_shape(Report& report, const AnySet& set) {
  for (const auto& [words, value] : set.shape_facts()) {
    std::string name = words;
    std::replace(name.begin(), name.end(), ' ', '_');
    std::uint64_t number = 0;
    const char* const end = value.data() + value.size();
    const auto read = std::from_chars(value.data(), end, number);
    if (read.ec == std::errc{} && read.ptr == end)
      report.count("shape_" + name, number);
    else
      report.text("shape_" + name, value);
  }
}

}  // namespace

Error file_error(const std::string& path, const Error& error, const std::string& codec) {
  if (error.code == Code::not_ours) {
    const std::string set =
        codec.empty()
            ? ""
            : fmt::format("it is compressed ({}): decompress it first if it is a set file; ",
                          codec);
    return {error.code, fmt::format("{}; {}'bloomery build -o F {}' makes a set of a list of lines",
                                    error.sentence, set, path)};
  }
  // Library sentences about an image may name the file already.
  if (error.sentence.find(path) != std::string::npos) return error;
  return {error.code, fmt::format("{}: {}", path, error.sentence)};
}

std::string hash_name(const AnySet& set) {
  if (set.input() == InputForm::ordinal) return "none";
  return set.hasher().mode() == HashMode::hardened ? "siphash-1-3" : "xxh3-64";
}

void describe_set(Report& report, const AnySet& set, FactsFrom from) {
  const bool bits = from == FactsFrom::bits;
  const auto keys = static_cast<double>(set.adds());
  report.text("kind", std::string(set.kind().name));
  report.count("keys", set.adds());
  if (bits) {
    const double estimated = set.estimate();
    if (std::isfinite(estimated))
      report.count("keys_estimated", static_cast<std::uint64_t>(std::llround(estimated)));
    else
      report.real("keys_estimated", estimated);
  }
  report.count("capacity", set.capacity());
  report.bytes("bytes", set.bytes());
  report.real("bits_per_key", keys > 0 ? static_cast<double>(set.bytes()) * 8 / keys
                                       : std::numeric_limits<double>::quiet_NaN());
  if (bits) report.real("fill", set.fill_ratio());
  report.rate("rate_asked", set.rate_asked());
  report.rate("rate_now", bits ? set.rate_now() : set.expected_rate_now());
  report.text("hash", hash_name(set));
  report.flag("hardened",
              set.input() == InputForm::hashed && set.hasher().mode() == HashMode::hardened);
  if (const auto lists = set.lists()) {
    report.count("allowed", lists->allowed);
    report.count("exceptions", lists->exceptions);
  }
}

void describe_room(Report& report, const AnySet& set) {
  const std::uint64_t keys = set.adds();
  if (AnySet::find_row(set.kind().name)->grows)
    report.real("room_left", std::numeric_limits<double>::infinity());
  else if (set.lists())  // what is built from two lists takes no more
    report.count("room_left", 0);
  else
    report.count("room_left", set.capacity() > keys ? set.capacity() - keys : 0);
}

void describe_inside(Report& report, const AnySet& set) {
  describe_room(report, set);
  report.flag("overfull", set.overfull());
  // The shape of an exact map is its range.
  if (!set.range()) describe_shape(report, set);
  if (const auto stuck = set.stuck()) report.count("stuck_counters", *stuck);
  if (const auto range = set.range())
    report.text("range", fmt::format("{}..{}", range->low, range->high));
}

void describe_keys(Report& report, const AnySet& set, std::string secret_key) {
  if (set.input() == InputForm::hashed) {
    if (set.hasher().mode() == HashMode::fast)
      report.count("seed", set.hasher().seed());
    else
      report.text("secret_key", std::move(secret_key));
  }
  report.text("key_form", std::string(name_of(set.rules().form)));
  if (set.input() == InputForm::hashed)
    report.text("crlf", set.rules().strip_cr ? "strip" : "keep");
  if (!set.rules().normalisation.empty()) report.text("normalisation", set.rules().normalisation);
  if (!set.rules().made_from.empty()) report.text("made_from", set.rules().made_from);
}

void describe_file(Report& report, std::uint64_t bytes, const Uuid& uuid) {
  report.bytes("file_bytes", bytes);
  report.text("uuid", hexadecimal(uuid));
}

}  // namespace bloomery::cli

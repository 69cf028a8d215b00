// Numbers as people write them: what is printed is read back as the same number, and whatever is
// typed gives a value or a sentence.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <tools/cli/flags/escapes.hpp>
#include <tools/cli/flags/key_flags.hpp>
#include <tools/cli/report/units.hpp>

#include <tests/fuzz/byte_feed.hpp>
#include <tests/fuzz/must.hpp>

namespace bloomery::fuzz {
namespace {

using namespace cli;

constexpr std::string_view flag = "--flag";

template <class T>
bool is(const Result<T>& read, const T& value) {
  return read && *read == value;
}

void check_keys(std::string_view text) {
  const auto keys = parse_keys(flag, text);
  if (!keys) return;
  must(*keys > 0, "a number of keys is at least 1");
  must(is(parse_keys(flag, std::to_string(*keys)), *keys), "digits are read back");
  std::string grouped = print_count(*keys);
  for (char& c : grouped) c = c == ',' ? '_' : c;
  must(is(parse_keys(flag, grouped), *keys), "a printed count is read back");
  must(!print_about(static_cast<double>(*keys)).empty(), "a count has words");
}

void check_memory(std::string_view text) {
  const auto bytes = parse_memory(flag, text);
  if (!bytes) return;
  must(*bytes > 0, "a size is at least one byte");
  must(is(parse_memory(flag, std::to_string(*bytes)), *bytes), "digits are read back");
  if (*bytes >= std::uint64_t{1000} << 40) return;  // printed in PiB, which nobody types
  const auto printed = parse_memory(flag, print_bytes(*bytes));
  must(printed.has_value(), "a printed size can be typed");
  const auto [low, high] = std::minmax(*printed, *bytes);
  must(high - low <= high / 128, "a printed size is that size");
}

void check_rate(std::string_view text) {
  const auto rate = parse_rate(flag, text);
  if (!rate) return;
  must(*rate > 0 && *rate < 1, "a rate is between 0 and 1");
  must(is(parse_rate(flag, fmt::format("{:.17g}", *rate)), *rate), "a rate is read back");
  const auto printed = parse_rate(flag, print_rate(*rate));
  // 99.99 % is printed as 100 %.
  must(printed ? std::fabs(*printed - *rate) <= 0.006 * *rate : *rate > 0.999,
       "a printed rate is that rate");
}

void check_duration(std::string_view text) {
  const auto time = parse_duration(flag, text);
  if (!time) return;
  must(time->count() >= 1, "a time is at least a millisecond");
  must(is(parse_duration(flag, fmt::format("{}ms", time->count())), *time), "a time is read back");
  must(!print_seconds(static_cast<double>(time->count()) / 1000).empty(), "a time has words");
}

void check_network(std::string_view text) {
  const auto bits = parse_network(flag, text);
  if (!bits || *bits > 9e15) return;
  must(is(parse_network(flag, fmt::format("{:.0f}", *bits)), *bits), "a speed is read back");
}

void check_range(std::string_view text) {
  const auto range = parse_range(flag, text);
  if (!range) return;
  must(range->low <= range->high, "a range begins before it ends");
  const auto again = parse_range(flag, fmt::format("{}..{}", range->low, range->high));
  must(again && again->low == range->low && again->high == range->high, "a range is read back");
}

void check_seed(std::string_view text) {
  const auto seed = parse_seed(flag, text);
  if (!seed) return;
  must(is(parse_seed(flag, std::to_string(*seed)), *seed), "a seed is read back");
  must(is(parse_seed(flag, fmt::format("0x{:x}", *seed)), *seed), "a seed is read back in hex");
}

void check_escapes(std::string_view text) {
  const std::string bytes = unescaped(flag, text);
  std::string written;
  for (const char c : bytes) written += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
  must(unescaped(flag, written) == bytes, "escaped bytes are read back");
}

void check_fields(std::string_view text) {
  KeyFlags flags;
  flags.fields = {std::string(text)};
  const auto spans = cutter_of(flags).rules().fields;
  std::string written;
  for (const FieldSpan span : spans) {
    written += fmt::format("{}{}", written.empty() ? "" : ",", span.first);
    if (span.is_one()) continue;
    written += span.last == -1 ? "-" : fmt::format("-{}", span.last);
  }
  flags.fields = {written};
  const auto again = cutter_of(flags).rules().fields;
  must(again.size() == spans.size(), "fields are read back");
  for (std::size_t i = 0; i < spans.size(); ++i)
    must(again[i].first == spans[i].first && again[i].last == spans[i].last,
         "fields are read back");
}

using Check = void (*)(std::string_view);
constexpr Check checks[] = {check_keys,  check_memory, check_rate,    check_duration, check_network,
                            check_range, check_seed,   check_escapes, check_fields};

}  // namespace
}  // namespace bloomery::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomery;
  fuzz::ByteFeed feed(data, size);
  const std::size_t which = feed.byte() % std::size(fuzz::checks);
  const std::string_view text = feed.rest();
  try {
    fuzz::checks[which](text);
  } catch (const Failure& refused) {
    fuzz::must(!std::string_view(refused.what()).empty(), "a refusal is a sentence");
  }
  return 0;
}

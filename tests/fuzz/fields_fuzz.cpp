// The key inside a line: many lines at once give the keys of each alone, and keys of several parts
// can be taken apart again.
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/engines/keys/fields.hpp>
#include <bloomery/engines/keys/line_keys.hpp>

#include <tests/fuzz/byte_feed.hpp>
#include <tests/fuzz/must.hpp>

namespace bloomery::fuzz {
namespace {

using namespace detail;

FieldRules rules_from(ByteFeed& feed) {
  FieldRules rules;
  rules.part = static_cast<KeyPart>(feed.byte() % 5);
  const std::uint8_t counts = feed.byte();
  for (unsigned i = 0; i < (counts & 3u); ++i) {
    const auto first = feed.number<std::int8_t>();
    const auto last = feed.number<std::int8_t>();
    if (rules.part != KeyPart::whole_line && rules.part != KeyPart::json)
      rules.fields.emplace_back(first, last);
  }
  if ((counts & 4) != 0) rules.separator = feed.text(1 + (counts >> 7));
  for (unsigned i = 0; i < (counts >> 3 & 3u); ++i) {
    const std::string_view text = feed.short_text();
    if (rules.part == KeyPart::json) rules.json_paths.emplace_back(text);
    if (rules.part == KeyPart::csv || rules.part == KeyPart::tsv) rules.columns.emplace_back(text);
  }
  return rules;
}

bool are_netstrings(std::string_view key) {
  while (!key.empty()) {
    std::size_t length = 0;
    const auto [stop, wrong] = std::from_chars(key.data(), key.data() + key.size(), length);
    if (wrong != std::errc{}) return false;
    key.remove_prefix(static_cast<std::size_t>(stop - key.data()));
    if (!key.starts_with(':') || length + 2 > key.size() || key[length + 1] != ',') return false;
    key.remove_prefix(length + 2);
  }
  return true;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

void check(const FieldCutter& cutter, bool strip_cr, const Normalizer* normalizer,
           std::vector<std::string_view> lines) {
  CsvColumns columns;
  if (cutter.has_header()) {
    auto found = cutter.columns_of(lines.front(), "a file");
    must(cutter.reading_of(lines.front()).empty() == !found, "a header is understood or not");
    if (!found) return;
    columns = std::move(*found);
    lines.erase(lines.begin());
  }
  LineKeys many(cutter, strip_cr, normalizer, &columns);
  LineKeys one(cutter, strip_cr, normalizer, &columns);
  const auto keys = many.keys_of(Lines(lines));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view key = keys[i];
    const auto alone = one.keys_of(Lines(lines).subspan(i, 1))[0];
    must(key == alone && (key.data() == nullptr) == (alone.data() == nullptr),
         "a line has the same key alone and among others");
    if (normalizer == nullptr && !cutter.has_header())
      must(one.why_none(lines[i]).empty() == one.without_key().empty(),
           "there is a reason if and only if there is no key");
    // With a header, a list of columns may be the name of one.
    if (cutter.several_parts() && !cutter.has_header() && one.without_key().empty())
      must(are_netstrings(key), "several parts are netstrings");
  }
}

}  // namespace
}  // namespace bloomery::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomery;
  static const auto url = Normalizer::find("url/1").value();
  fuzz::ByteFeed feed(data, size);
  const std::uint8_t how = feed.byte();
  const auto cutter = detail::FieldCutter::make(fuzz::rules_from(feed));
  if (!cutter) return 0;
  fuzz::check(*cutter, (how & 1) != 0, (how & 2) != 0 ? &url : nullptr,
              fuzz::lines_of(feed.rest()));
  return 0;
}

// CSV: records found in pieces are those found at once, and both are those of a scanner that looks
// at one byte after the other; the ways to get a field agree.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/detail/engines/keys/csv.hpp>

#include <tests/fuzz/byte_feed.hpp>
#include <tests/fuzz/must.hpp>

namespace bloomery::fuzz {
namespace {

using detail::CsvScanner;

struct Found {
  std::vector<std::size_t> ends;
  bool in_quotes = false;
  std::uint64_t newlines = 0;
  bool operator==(const Found&) const = default;
};

// Byte by byte, as docs and RFC 4180 have it.
Found by_the_law(std::string_view bytes, char separator) {
  Found found;
  bool quoted = false;
  bool closing = false;  // behind a quote in a quoted field
  bool start = true;     // of a field
  std::uint64_t inside = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const char c = bytes[at];
    if (quoted && !closing) {
      closing = c == '"';
      inside += c == '\n';
      continue;
    }
    if (closing) {
      closing = false;
      if (c == '"') continue;
      quoted = false;
    }
    if (start && c == '"') {
      quoted = true;
      start = false;
    } else {
      start = c == separator || c == '\n';
      if (c != '\n') continue;
      found.ends.push_back(at);
      found.newlines += inside + 1;
      inside = 0;
    }
  }
  found.in_quotes = quoted && !closing;
  return found;
}

// Comes in pieces of these sizes, in turn. What has not come yet reads as quotes, so that looking
// ahead changes what is found.
Found in_pieces(std::string_view bytes, char separator, std::size_t one, std::size_t other) {
  Found found;
  CsvScanner scanner(separator);
  std::string buffer(bytes.size(), '"');
  std::size_t from = 0;
  for (std::size_t have = 0; have < bytes.size(); std::swap(one, other)) {
    have += bytes.copy(buffer.data() + have, one, have);
    const std::string_view there(buffer.data(), have);
    for (;;) {
      const std::size_t end = scanner.scan(there, from);
      if (end == CsvScanner::npos) break;
      found.ends.push_back(end);
      from = end + 1;
    }
    from = have;
  }
  found.in_quotes = scanner.in_quotes();
  found.newlines = scanner.newlines_before();
  return found;
}

std::string plain(std::string_view field) {
  std::string text(field);
  if (detail::csv_quoted(field)) text.resize(detail::csv_unquote(field, text.data()));
  return text;
}

void check_record(std::string_view record, char separator) {
  const auto fields = detail::csv_split(record, separator);
  must(fields.size() == detail::csv_fields(record, separator), "a record has as many fields");
  std::string_view field;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    must(detail::csv_field(record, separator, i, field), "a field that is counted is there");
    must(plain(field) == fields[i], "a field is the same alone and among all");
  }
  must(!detail::csv_field(record, separator, fields.size(), field), "there is no field behind");
  // What was split can be written again, and is split to the same.
  std::string again;
  for (const std::string& text : fields) {
    again += again.empty() ? "\"" : std::string(1, separator) + "\"";
    for (const char c : text) again += c == '"' ? "\"\"" : std::string(1, c);
    again += '"';
  }
  must(detail::csv_split(again, separator) == fields, "fields that are quoted are read back");
}

}  // namespace
}  // namespace bloomery::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomery::fuzz;
  ByteFeed feed(data, size);
  const std::uint8_t pieces = feed.byte();
  char separator = static_cast<char>(feed.byte());
  if (!bloomery::detail::is_csv_separator(separator)) separator = ',';
  const std::string_view bytes = feed.rest();
  const Found whole = in_pieces(bytes, separator, bytes.size(), 1);
  must(whole == by_the_law(bytes, separator), "records end where the law has them end");
  must(whole == in_pieces(bytes, separator, 1 + pieces % 16, 1 + pieces / 16),
       "records end at the same places in pieces");
  std::size_t start = 0;
  for (const std::size_t end : whole.ends) {
    check_record(bytes.substr(start, end - start), separator);
    start = end + 1;
  }
  check_record(bytes.substr(start), separator);
  return 0;
}

// What a command found out, in order: printed as aligned text for people or as one JSON object.
//
// A number that does not exist becomes null in JSON, "unknown" or "infinite" in text: JSON has
// no word for it and readers of `{"rate": Infinity}` break.
// Only report.cpp knows a JSON library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace bloomery::cli {

// One value as reports write it.
std::string json_of(double value);
std::string json_of(std::string_view text);

class Report {
 public:
  Report() = default;
  // Never copied: without memory in the middle of it, GCC 12 destroys what is not there.
  Report(Report&&) = default;
  Report& operator=(Report&&) = default;

  // The key is the JSON name; people read it with spaces for underscores.
  void count(std::string key, std::uint64_t value);
  void bytes(std::string key, std::uint64_t value);
  void rate(std::string key, double value);
  void real(std::string key, double value);
  void seconds(std::string key, double value);
  void text(std::string key, std::string value);
  void flag(std::string key, bool value);
  // A list of reports that have the same keys; a table in text.
  void rows(std::string key, std::vector<Report> value);

  // One "key  value" a line; every line ends with a newline.
  std::string as_text() const;
  // One line, with the newline.
  std::string as_json() const;

 private:
  using Value = std::variant<bool, std::uint64_t, double, std::string, std::vector<Report>>;
  struct Entry {
    std::string key;
    Value value;
    std::string shown;  // what people read; empty for rows
  };

  std::string table(const std::vector<Report>& rows) const;
  friend struct ReportToJson;

  std::vector<Entry> entries_;
};

}  // namespace bloomery::cli

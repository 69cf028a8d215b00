#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "units.hpp"

namespace bloomery::cli {

void Report::count(std::string key, std::uint64_t value) {
  entries_.push_back({std::move(key), value, print_count(value)});
}

void Report::bytes(std::string key, std::uint64_t value) {
  entries_.push_back({std::move(key), value, print_bytes(value)});
}

void Report::rate(std::string key, double value) {
  entries_.push_back({std::move(key), value, print_rate(value)});
}

void Report::real(std::string key, double value) {
  entries_.push_back({std::move(key), value, print_real(value)});
}

void Report::seconds(std::string key, double value) {
  entries_.push_back({std::move(key), value, print_seconds(value)});
}

void Report::text(std::string key, std::string value) {
  entries_.push_back({std::move(key), value, value});
}

void Report::flag(std::string key, bool value) {
  entries_.push_back({std::move(key), value, value ? "yes" : "no"});
}

void Report::rows(std::string key, std::vector<Report> value) {
  entries_.push_back({std::move(key), std::move(value), ""});
}

namespace {

// "memory_bytes" is a name for programs; its value in text has its unit.
std::string spaced(std::string key) {
  if (key.ends_with("_bytes")) key.replace(key.size() - 6, 6, "_size");
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

}  // namespace

std::string Report::table(const std::vector<Report>& rows) const {
  if (rows.empty()) return "";
  std::vector<std::size_t> widths;
  for (const Entry& entry : rows.front().entries_) {
    std::size_t width = spaced(entry.key).size();
    for (const Report& row : rows)
      width = std::max(width, row.entries_[widths.size()].shown.size());
    widths.push_back(width);
  }
  const auto line = [&](const Report& row, auto cell_of) {
    std::string cells;
    for (std::size_t column = 0; column < widths.size(); ++column) {
      const std::string cell = cell_of(row.entries_[column]);
      // Words stand at the left of their column, numbers at the right.
      const bool right = !std::holds_alternative<std::string>(rows.front().entries_[column].value);
      const std::string gap = column == 0 ? "" : "  ";
      cells += right ? fmt::format("{}{:>{}}", gap, cell, widths[column])
                     : fmt::format("{}{:<{}}", gap, cell, widths[column]);
    }
    cells.erase(cells.find_last_not_of(' ') + 1);
    return cells + "\n";
  };
  std::string lines = line(rows.front(), [](const Entry& entry) { return spaced(entry.key); });
  for (const Report& row : rows) lines += line(row, [](const Entry& entry) { return entry.shown; });
  return lines;
}

std::string Report::as_text() const {
  std::size_t width = 0;
  for (const Entry& entry : entries_)
    if (!std::holds_alternative<std::vector<Report>>(entry.value))
      width = std::max(width, spaced(entry.key).size());
  std::string lines;
  bool after_table = false;
  for (const Entry& entry : entries_) {
    const auto* rows = std::get_if<std::vector<Report>>(&entry.value);
    if (!lines.empty() && (rows != nullptr || after_table)) lines += "\n";
    lines += rows != nullptr ? table(*rows)
                             : fmt::format("{:<{}}  {}\n", spaced(entry.key), width, entry.shown);
    after_table = rows != nullptr;
  }
  return lines;
}

// Outside the class so that the header needs no JSON type. Objects and lists are put together here:
// the library takes memory to destroy its own, and ends the program when there is none.
struct ReportToJson {
  using Json = nlohmann::ordered_json;

  static std::string of(const Report& report) {
    std::string object;
    for (const Report::Entry& entry : report.entries_)
      object += fmt::format("{}{}:{}", object.empty() ? "" : ",", json(entry.key),
                            std::visit([](const auto& value) { return json(value); }, entry.value));
    return "{" + object + "}";
  }

  static std::string json(double value) { return json_of(value); }
  static std::string json(const std::vector<Report>& rows) {
    std::string list;
    for (const Report& row : rows) list += (list.empty() ? "" : ",") + of(row);
    return "[" + list + "]";
  }
  // File names may hold any bytes; what is not UTF-8 becomes U+FFFD, escaped to stay ASCII.
  template <class T>
  static std::string json(const T& value) {
    return Json(value).dump(-1, ' ', true, Json::error_handler_t::replace);
  }
};

std::string json_of(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value).dump() : "null";
}

std::string json_of(std::string_view text) { return ReportToJson::json(std::string(text)); }

std::string Report::as_json() const { return ReportToJson::of(*this) + "\n"; }

}  // namespace bloomery::cli

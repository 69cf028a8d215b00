#include "metrics.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace bloomery::cli {
namespace {

// Length of the UTF-8 sequence at the front, 0 if there is none: readers refuse a whole page for
// one byte that is not UTF-8, and file names may have any.
std::size_t sequence_at(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const unsigned char second = byte(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
    return 0;
  return length;
}

std::string label(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const std::size_t length = sequence_at(text);
    if (text.front() == '\\' || text.front() == '"') escaped += '\\';
    if (text.front() == '\n')
      escaped += "\\n";
    else if (length == 0)
      escaped += "\xef\xbf\xbd";
    else
      escaped += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return escaped;
}

void append_head(std::string& text, std::string_view name, std::string_view type,
                 std::string_view help) {
  fmt::format_to(std::back_inserter(text), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

std::string number(double value) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

void append_all(std::string& text, std::span<const Seen> seen, Seen::Of of) {
  const std::string_view what = of == Seen::Of::run ? "run" : "set";
  const auto measures = measures_of(of);
  for (std::size_t i = 0; i < measures.size(); ++i) {
    bool headed = false;
    for (const Seen& one : seen) {
      // What is not known has no line: NaN would be a value.
      if (one.of != of || one.values.size() <= i || std::isnan(one.values[i])) continue;
      if (!headed) append_head(text, measures[i].metric, measures[i].type, measures[i].help);
      headed = true;
      fmt::format_to(std::back_inserter(text), "{}{{{}=\"{}\"}} {}\n", measures[i].metric, what,
                     label(one.name), number(one.values[i]));
    }
  }
}

void append_sets(std::string& text, std::span<const Seen> seen) {
  const auto each = [&](auto append) {
    for (const Seen& one : seen)
      if (one.of == Seen::Of::set) append(one);
  };
  bool any = false;
  each([&](const Seen&) { any = true; });
  if (!any) return;
  append_head(text, "bloomery_set_up", "gauge", "1 if the last look at the set succeeded.");
  each([&](const Seen& one) {
    text += fmt::format("bloomery_set_up{{set=\"{}\"}} {}\n", label(one.name),
                        one.error.empty() ? 1 : 0);
  });
  append_head(text, "bloomery_set_look_timestamp_seconds", "gauge",
              "When the set was looked at last.");
  each([&](const Seen& one) {
    text += fmt::format("bloomery_set_look_timestamp_seconds{{set=\"{}\"}} {:.3f}\n",
                        label(one.name), one.time);
  });
  append_head(text, "bloomery_set_info", "gauge", "1, with the kind of the set as a label.");
  each([&](const Seen& one) {
    if (!one.kind.empty())
      text += fmt::format("bloomery_set_info{{set=\"{}\",kind=\"{}\"}} 1\n", label(one.name),
                          label(one.kind));
  });
}

}  // namespace

std::string metrics_text(std::span<const Seen> seen, double started, std::size_t watchers) {
  std::string text;
  append_head(text, "bloomery_build_info", "gauge", "1, with the version as a label.");
  text += fmt::format("bloomery_build_info{{version=\"{}\"}} 1\n", BLOOMERY_VERSION);
  append_head(text, "bloomery_serve_start_time_seconds", "gauge", "When this server began.");
  text += fmt::format("bloomery_serve_start_time_seconds {:.3f}\n", started);
  append_head(text, "bloomery_serve_watchers", "gauge", "Pages that follow /api/events now.");
  text += fmt::format("bloomery_serve_watchers {}\n", watchers);
  append_sets(text, seen);
  append_all(text, seen, Seen::Of::set);
  append_all(text, seen, Seen::Of::run);
  return text;
}

}  // namespace bloomery::cli

// What the page and the engine say to each other: texts in, a text out.
//
//    request   u32 length | bytes   the verb
//              u32 length | bytes   a name
//              u32 length | bytes   its value, and so on; numbers are little-endian
//    reply     "ok" newline JSON    or    "error" newline sentence
//
// Names may come again: each `key` of `ask` is one. A missing value was not given.
// See:     engine.js, which writes and reads them; engine.d.ts, what the values mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <bloomery/error.hpp>

#include <tools/cli/report/report.hpp>

namespace bloomery::web {

class Request {
 public:
  // Of bytes that engine.js wrote; an Error is a bug there.
  static Result<Request> of(std::span<const std::byte> bytes);

  std::string_view verb() const { return verb_; }
  // Empty values are not given: a field that nobody filled.
  std::optional<std::string> text(std::string_view name) const;
  std::vector<std::string_view> all(std::string_view name) const;
  // Numbers as JavaScript writes them; an Error names the field.
  Result<double> number(std::string_view name) const;
  Result<std::uint64_t> whole(std::string_view name) const;
  Result<std::vector<double>> numbers(std::string_view name) const;  // "1,3,10"

 private:
  std::string_view verb_;
  std::vector<std::pair<std::string_view, std::string_view>> values_;
};

// JSON of one value, as a Report writes it.
std::string json(std::string_view text);
std::string json(const char* text);
std::string json(double number);
std::string json(std::uint64_t number);
std::string json(bool flag);
template <class T>
std::string json(const std::optional<T>& value) {
  return value ? json(*value) : "null";
}
template <class T>
std::string json(const std::vector<T>& values) {
  std::string list;
  for (const auto& value : values) list += (list.empty() ? "" : ",") + json(value);
  return "[" + list + "]";
}

// An object, written as it is told; the values are JSON already.
class Object {
 public:
  Object& put(std::string_view name, std::string value);
  template <class T>
  Object& set(std::string_view name, const T& value) {
    return put(name, json(value));
  }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

// The line of a report without its newline.
std::string line_of(const cli::Report& report);

// The JSON of what was asked, or why not.
using Answer = Result<std::string>;

}  // namespace bloomery::web

#include "wire.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace bloomery::web {
namespace {

Error broken(std::string what) {
  return {Code::bad_input, "the engine was asked wrongly: " + what};
}

Error no_number(std::string_view name, std::string_view text) {
  return broken(std::string(name) + " is '" + std::string(text) + "', which is not a number");
}

}  // namespace

Result<Request> Request::of(std::span<const std::byte> bytes) {
  std::vector<std::string_view> fields;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint32_t length = 0;
    if (bytes.size() - at < sizeof length) return broken("a length is cut off");
    std::memcpy(&length, bytes.data() + at, sizeof length);
    at += sizeof length;
    if (bytes.size() - at < length) return broken("a field is cut off");
    fields.emplace_back(reinterpret_cast<const char*>(bytes.data() + at), length);
    at += length;
  }
  if (fields.size() % 2 == 0) return broken("a name has no value");
  Request request;
  request.verb_ = fields.front();
  for (std::size_t i = 1; i < fields.size(); i += 2)
    request.values_.emplace_back(fields[i], fields[i + 1]);
  return request;
}

std::optional<std::string> Request::text(std::string_view name) const {
  for (const auto& [known, value] : values_)
    if (known == name && !value.empty()) return std::string(value);
  return std::nullopt;
}

std::vector<std::string_view> Request::all(std::string_view name) const {
  std::vector<std::string_view> found;
  for (const auto& [known, value] : values_)
    if (known == name) found.push_back(value);
  return found;
}

Result<double> Request::number(std::string_view name) const {
  const auto given = text(name);
  if (!given) return broken(std::string(name) + " is missing");
  char* end = nullptr;
  const double value = std::strtod(given->c_str(), &end);
  if (end != given->c_str() + given->size() || !std::isfinite(value))
    return no_number(name, *given);
  return value;
}

Result<std::uint64_t> Request::whole(std::string_view name) const {
  const auto value = number(name);
  if (!value) return value.error();
  constexpr double most = 9007199254740992;  // 2^53: all that JavaScript counts
  if (*value < 0 || *value > most || *value != std::floor(*value))
    return broken(std::string(name) + " is not a whole number");
  return static_cast<std::uint64_t>(*value);
}

Result<std::vector<double>> Request::numbers(std::string_view name) const {
  std::vector<double> found;
  std::string_view rest;
  const auto given = text(name);
  if (given) rest = *given;
  while (!rest.empty()) {
    const std::string one(rest.substr(0, rest.find(',')));
    char* end = nullptr;
    found.push_back(std::strtod(one.c_str(), &end));
    if (one.empty() || end != one.c_str() + one.size() || !std::isfinite(found.back()))
      return no_number(name, *given);
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
  }
  return found;
}

std::string json(std::string_view text) { return cli::json_of(text); }
std::string json(const char* text) { return json(std::string_view(text)); }
std::string json(double number) { return cli::json_of(number); }
std::string json(std::uint64_t number) { return std::to_string(number); }
std::string json(bool flag) { return flag ? "true" : "false"; }

Object& Object::put(std::string_view name, std::string value) {
  if (!text_.empty()) text_ += ',';
  text_ += json(name);
  text_ += ':';
  text_ += value;
  return *this;
}

std::string line_of(const cli::Report& report) {
  std::string line = report.as_json();
  line.pop_back();
  return line;
}

}  // namespace bloomery::web

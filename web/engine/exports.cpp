// The door of the engine in a browser: three functions that JavaScript calls.
//
//    room(bytes)    where a request of so many bytes is to be written
//    run(bytes)     answers it
//    reply()        where the answer lies; reply_bytes() of it
//
// Threads: none; one request at a time.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "verbs.hpp"

namespace bloomery::web {
namespace {

std::vector<std::byte>& request_room() {
  static std::vector<std::byte> room;
  return room;
}

std::string& last_reply() {
  static std::string reply;
  return reply;
}

struct Verb {
  std::string_view name;
  Answer (*answer)(const Request&);
};
constexpr Verb verbs[] = {
    {"about", about},           {"plan", plan},
    {"planNodes", plan_nodes},  {"growth", growth},
    {"curves", curves},         {"lines", lines},
    {"inspect", inspect},       {"ask", ask},
    {"compare", compare},       {"picture", picture},
    {"play.make", play_make},   {"play.add", play_add},
    {"play.ask", play_ask},     {"play.remove", play_remove},
    {"play.fill", play_fill},   {"play.findFalse", play_find_false},
    {"play.state", play_state},
};

Answer answer(std::span<const std::byte> bytes) {
  const auto request = Request::of(bytes);
  if (!request) return request.error();
  for (const Verb& verb : verbs)
    if (verb.name == request->verb()) return verb.answer(*request);
  return Error{Code::unsupported, "the engine has no verb '" + std::string(request->verb()) + "'"};
}

}  // namespace
}  // namespace bloomery::web

extern "C" {

[[clang::export_name("room")]] std::byte* room(std::uint32_t bytes) {
  auto& request = bloomery::web::request_room();
  request.assign(bytes, std::byte{0});
  return request.data();
}

[[clang::export_name("run")]] void run(std::uint32_t bytes) {
  const auto answer = bloomery::web::answer(std::span(bloomery::web::request_room()).first(bytes));
  bloomery::web::last_reply() = answer ? "ok\n" + *answer : "error\n" + answer.error().sentence;
}

[[clang::export_name("reply")]] const char* reply() { return bloomery::web::last_reply().data(); }

[[clang::export_name("reply_bytes")]] std::uint32_t reply_bytes() {
  return static_cast<std::uint32_t>(bloomery::web::last_reply().size());
}
}

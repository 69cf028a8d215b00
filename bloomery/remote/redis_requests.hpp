// Commands on their way to Redis servers, as the bytes that are sent, and what became of each.
//
//    RedisRequests requests;
//    requests.add(slot, Effect::reads, "GETRANGE", key, 0, 63);
//    router.run(requests, [&](std::size_t i, const redisReply& reply) { ... });
//
// Threads: one.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bloomery {

// Who reads may be sent anywhere and again; who writes must know whether it was done.
enum class Effect : std::uint8_t { reads, writes };

enum class Fate : std::uint8_t {
  unsent,    // surely without effect: not sent, or refused by the server
  sent,      // no answer came: it may have had its effect, or not
  answered,  // handed to the caller
};

class RedisRequests {
 public:
  struct Request {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::uint16_t slot = 0;
    Effect effect = Effect::reads;
    Fate fate = Fate::unsent;
    // An answer was lost once, and it was sent again: a write may have been done twice.
    bool repeated = false;
  };

  std::size_t size() const { return requests_.size(); }
  const Request& operator[](std::size_t i) const { return requests_[i]; }
  Request& operator[](std::size_t i) { return requests_[i]; }
  std::string_view bytes(std::size_t i) const {
    return std::string_view(bytes_).substr(requests_[i].begin,
                                           requests_[i].end - requests_[i].begin);
  }
  void clear() {
    requests_.clear();
    bytes_.clear();
  }

  template <class... Words>
  void add(unsigned slot, Effect effect, const Words&... words) {
    begin(slot, effect, sizeof...(words));
    (word(words), ...);
    end();
  }
  // The same in three steps, for commands whose length is known only at run time.
  void begin(unsigned slot, Effect effect, std::size_t words) {
    requests_.push_back({bytes_.size(), 0, static_cast<std::uint16_t>(slot), effect});
    bytes_ += '*';
    put_number(words);
    bytes_ += "\r\n";
  }
  void word(std::string_view text) {
    bytes_ += '$';
    put_number(text.size());
    bytes_ += "\r\n";
    bytes_ += text;
    bytes_ += "\r\n";
  }
  void word(std::integral auto number) {
    char digits[24];
    word(std::string_view(digits, std::to_chars(digits, digits + sizeof digits, number).ptr));
  }
  void end() { requests_.back().end = bytes_.size(); }

 private:
  void put_number(std::size_t number) {
    char digits[24];
    bytes_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }

  std::string bytes_;
  std::vector<Request> requests_;
};

}  // namespace bloomery

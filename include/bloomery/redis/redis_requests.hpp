// Commands on their way to Redis servers, as the bytes that are sent, and what became of each.
//
// For programs that send commands of their own through a RedisRouter; a RedisSet needs none.
//
// Example:
//    #include <bloomery/redis/slots.hpp>
//    RedisRequests requests;
//    requests.add(slot_of("hits"), Effect::writes, "INCRBY", "hits", 2);
//    requests.add(slot_of("name"), Effect::reads, "GET", "name");
//    crawl(requests.bytes(0));                     // *3 $6 INCRBY $4 hits $1 2
//
//    // Many of them are written only when they are sent, so that servers work meanwhile:
//    requests.plan(urls.size(), [&](std::size_t i, RedisRequests& one) {
//      one.add(slot_of(urls[i]), Effect::reads, "GET", urls[i]);
//    });
//
// Errors:  none here: fate of each request says what became of it (redis_router.hpp).
// Limits:  what plan() writes must be the same whenever it is asked for.
// Threads: one.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bloomery::inline v0 {

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
    bool redirected = false;  // by MOVED or ASK
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
    write_ = nullptr;
  }

  // write(i, *this) adds request i, whenever it is sent: the first time, and again after a failure.
  using Write = std::function<void(std::size_t i, RedisRequests& one)>;
  void plan(std::size_t count, Write write) {
    clear();
    requests_.resize(count);
    write_ = std::move(write);
  }
  // Before slot, effect and bytes of request i are looked at.
  void make_ready(std::size_t i) {
    if (!write_) return;
    bytes_.clear();
    in_hand_ = i;
    write_(i, *this);
  }

  template <class... Words>
  void add(unsigned slot, Effect effect, const Words&... words) {
    begin(slot, effect, sizeof...(words));
    (word(words), ...);
    end();
  }
  // The same in three steps, for commands whose length is known only at run time.
  void begin(unsigned slot, Effect effect, std::size_t words) {
    if (!write_) {
      in_hand_ = requests_.size();
      requests_.emplace_back();
    }
    Request& request = requests_[in_hand_];
    request.begin = bytes_.size();
    request.slot = static_cast<std::uint16_t>(slot);
    request.effect = effect;
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
  void end() { requests_[in_hand_].end = bytes_.size(); }

 private:
  void put_number(std::size_t number) {
    char digits[24];
    bytes_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }

  std::string bytes_;
  std::vector<Request> requests_;
  std::size_t in_hand_ = 0;
  Write write_;
};

}  // namespace bloomery::inline v0

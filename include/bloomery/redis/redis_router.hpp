// Sends commands to the server that has their slot: one server, or the nodes of a Redis Cluster.
//
//    requests --slot--> node --pipeline--> replies, in any order over the nodes
//        ^                      |
//        +--- MOVED, ASK, TRYAGAIN, a node that is loading or gone: again, until the timeout
//
// Prefer RedisSet for sets; this is for other keys on the same servers, such as a cache beside it.
//
// Example:
//    #include <bloomery/redis/slots.hpp>
//    auto router = RedisRouter::connect({.host = "localhost"});
//    if (!router) return router.error();
//    RedisRequests requests;
//    requests.add(slot_of("hits"), Effect::writes, "INCR", "hits");
//    const auto done = router->run(requests, [](std::size_t i, RedisReply&) {
//      if (i == 0) crawl("counted");               // the reply is hiredis's
//    });
//    if (!done && requests[0].fate == Fate::sent) crawl("it may have been counted");
//
// What a server refused was surely not done, and goes to the right one. What got no answer may have
// been done: it is sent again, marked as `repeated`, and the caller must know what that means.
// Errors:  gives up when no answer at all came for as long as the timeout; fates tell what was
//          done. The servers that did not answer are then left alone for a while
//          (redis_circuits.hpp).
// Limits:  slots are looked up with CLUSTER SLOTS; nodes must be reachable under the addresses they
//          tell. Answers to requests of one slot come in order unless one had to be sent again.
// Threads: one.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <bloomery/detail/remote/redis_circuits.hpp>
#include <bloomery/detail/remote/redis_link.hpp>
#include <bloomery/error.hpp>
#include <bloomery/redis/redis_address.hpp>
#include <bloomery/redis/redis_requests.hpp>

namespace bloomery::inline v0 {

using detail::RedisReply;

class RedisRouter {
 public:
  // Called once for each request, with an answer that is not an error; it may be moved away.
  using Take = std::function<void(std::size_t i, detail::RedisReply& reply)>;

  static Result<RedisRouter> connect(const RedisAddress& address);
  // Shared with other handles on the same servers.
  void share(std::shared_ptr<detail::RedisCircuits> circuits) { circuits_ = std::move(circuits); }

  bool is_cluster() const { return is_cluster_; }
  // An Error: the address, and what the server said or that no answer came. Fates of `requests`
  // are then true.
  Result<void> run(RedisRequests& requests, const Take& take);
  // One command, and its answer.
  Result<detail::RedisReply> call(RedisRequests& one);
  // The same command to every master (INFO); `take` hears which.
  using TakeOf = std::function<Result<void>(const std::string& node, const redisReply& reply)>;
  Result<void> on_masters(std::string_view command, const TakeOf& take);
  // To every master that was written to since the last call: until `replicas` of it have it all.
  Result<void> wait_for_replicas(unsigned replicas);

  std::uint64_t commands() const { return commands_; }
  // Did no answer come when run() was last called?
  bool lost() const { return lost_; }
  std::vector<std::string> masters() const;
  std::string master_of(unsigned slot) const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t no_request = ~std::size_t{0};

  struct Node {
    detail::RedisHost host;
    bool replica = false;
    std::optional<detail::RedisLink> link = {};
    std::size_t queued_bytes = 0;          // since the last flush
    std::deque<std::size_t> pending = {};  // requests whose answers will come, in order
    bool resting = false;                  // failed in this round; not tried again before the next
    bool written = false;                  // since the last wait_for_replicas
    bool failed = false;                   // in this run, when it was last spoken to
    bool slow = false;                     // after a long wait
    bool on_trial = false;                 // in this run
  };
  // A range of slots has one master and some replicas.
  struct Place {
    std::size_t master = 0;
    std::vector<std::size_t> replicas = {};
  };
  // What one run of requests needs.
  struct Round {
    RedisRequests& requests;
    const Take& take;
    std::vector<std::size_t> again = {};
    std::unordered_map<std::size_t, std::size_t> asking = {};  // request -> node
    std::optional<Error> fatal = {};                           // ends the run
    std::optional<Error> trouble = {};  // the last reason why something is tried again
    Clock::time_point last_answer = {};
    bool pause = false;
    bool tripped = false;  // a circuit is open, or on trial: fail without waiting
    unsigned turns = 0;
  };

  explicit RedisRouter(RedisAddress address) : address_(std::move(address)) {}

  Result<void> find_nodes();
  Result<void> learn_slots(const redisReply& reply, const detail::RedisHost& told_by);
  Result<void> learn_replicas(std::string_view info);
  void refresh();
  std::size_t node_at(const detail::RedisHost& host, bool replica);
  std::vector<std::size_t> master_nodes() const;
  void move_slot(unsigned slot, std::size_t node);
  Result<detail::RedisReply> ask_node(Node& node, std::string_view command);
  std::size_t node_for(const RedisRequests::Request& request);
  Result<void> open(Node& node);
  Result<void> connect(Node& node);
  // Lets it rest if its circuit is open.
  void look_at_circuit(Round& round, Node& node);
  void heard_from(Node& node);
  std::optional<Error> given_up(Round& round);
  Error failed(const Error& error);

  void send(Round& round, std::size_t i);
  void queue(Node& node, std::string_view bytes, std::size_t i);
  void flush_all(Round& round);
  void drain(Round& round, Node& node, std::size_t left);
  void answer(Round& round, std::size_t i, detail::RedisReply& reply);
  void refuse(Round& round, std::size_t i, std::string_view said);
  void lose(Round& round, Node& node, const Error& why);

  RedisAddress address_;
  bool is_cluster_ = false;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::uint16_t> place_of_slot_;  // index into places_
  std::vector<Place> places_;
  bool stale_ = false;  // slots have moved
  std::size_t turn_ = 0;
  std::size_t refreshes_ = 0;
  std::uint64_t commands_ = 0;
  bool lost_ = false;
  std::shared_ptr<detail::RedisCircuits> circuits_ = std::make_shared<detail::RedisCircuits>();
};

// The value of a line "field:value" of INFO; empty if it is missing.
std::string_view info_field(std::string_view info, std::string_view field);

}  // namespace bloomery::inline v0

#include <bloomery/redis/redis_router.hpp>

#include <hiredis/hiredis.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include <bloomery/redis/slots.hpp>
#include <bloomery/remote/redis_told.hpp>

namespace bloomery::inline v0 {

using namespace detail;
namespace {

using std::chrono::milliseconds;

// Answers that may be on their way from one node: enough to keep both sides busy, little enough to
// stay in caches.
constexpr std::size_t most_pending = 1024;
constexpr std::size_t flush_bytes = 16 << 10;
constexpr auto pause_between_tries = milliseconds(20);
// How long a server that did not answer is not tried, and how long the trial after that may take;
// at most half of the timeout, and the whole timeout.
constexpr auto longest_rest = milliseconds(1000);
constexpr auto longest_trial = milliseconds(1000);
// A connection that is refused takes less, a server that is silent more.
constexpr auto slow_failure = milliseconds(100);

std::string_view text_of(const redisReply& reply) { return {reply.str, reply.len}; }

bool passes_by_itself(std::string_view said) {
  for (const std::string_view word : {"TRYAGAIN", "LOADING", "CLUSTERDOWN", "MASTERDOWN", "BUSY "})
    if (said.starts_with(word)) return true;
  return false;
}

Error refused_by_server(std::string_view said) {
  const std::string words(said);
  const auto begins = [&](std::string_view word) { return said.starts_with(word); };
  if (begins("NOAUTH"))
    return {Code::mismatch, "the Redis server wants a password: " + words +
                                "; write redis://:password@host/... or set "
                                "BLOOMERY_REDIS_PASSWORD"};
  if (begins("NOPERM"))
    return {Code::mismatch, "the Redis server does not allow this user what is needed: " + words};
  if (begins("READONLY"))
    return {Code::mismatch,
            "the Redis server is a replica and takes no writes; name its master: " + words};
  if (begins("OOM")) return {Code::full, "the Redis server has no memory left: " + words};
  if (begins("WRONGTYPE"))
    return {Code::not_ours, "a key of the set holds something else: " + words};
  return {Code::io, "the Redis server refuses: " + words};
}

}  // namespace

std::string_view info_field(std::string_view info, std::string_view field) {
  for (std::size_t at = 0; at < info.size();) {
    const std::size_t end = std::min(info.find('\n', at), info.size());
    std::string_view line = info.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with(field) && line.size() > field.size() && line[field.size()] == ':')
      return line.substr(field.size() + 1);
    at = end + 1;
  }
  return {};
}

// -- who is where ---------------------------------------------------------------------------------

Result<RedisRouter> RedisRouter::connect(const RedisAddress& address) {
  RedisRouter router(address);
  router.places_.push_back({router.node_at({address.host, address.port}, false)});
  router.place_of_slot_.assign(cluster_slots, 0);
  // Do not wait for a server that never answered.
  if (auto opened = router.open(*router.nodes_[0]); !opened) return opened.error();
  if (auto found = router.find_nodes(); !found) return found.error();
  return router;
}

Result<void> RedisRouter::find_nodes() {
  RedisRequests one;
  one.add(0, Effect::reads, "INFO");
  const auto info = call(one);
  if (!info) return info.error();
  if ((*info)->type != REDIS_REPLY_STRING)
    return Error{Code::not_ours, address_.shown_server() + " does not answer INFO as Redis does"};
  const std::string_view text = text_of(**info);
  if (info_field(text, "cluster_enabled") != "1") return learn_replicas(text);
  if (address_.login.database != 0)
    return Error{Code::bad_input,
                 "a Redis Cluster has only the database 0; write /0/ in " + address_.shown()};
  is_cluster_ = true;
  one.clear();
  one.add(0, Effect::reads, "CLUSTER", "SLOTS");
  const auto slots = call(one);
  if (!slots) return slots.error();
  return learn_slots(**slots, {address_.host, address_.port});
}

Result<void> RedisRouter::learn_slots(const redisReply& reply, const RedisHost& told_by) {
  const auto ranges = slots_told(reply, told_by);
  if (!ranges) return ranges.error();
  std::vector<Place> places{{node_at(told_by, false)}};
  std::vector<std::uint16_t> place_of_slot(cluster_slots, 0);
  for (const SlotRange& range : *ranges) {
    Place place{.master = node_at(range.master, false)};
    for (const RedisHost& host : range.replicas) place.replicas.push_back(node_at(host, true));
    std::fill(place_of_slot.begin() + range.first, place_of_slot.begin() + range.last + 1,
              static_cast<std::uint16_t>(places.size()));
    places.push_back(std::move(place));
  }
  places_ = std::move(places);
  place_of_slot_ = std::move(place_of_slot);
  return {};
}

Result<void> RedisRouter::learn_replicas(std::string_view info) {
  if (!address_.rules.read_replicas) return {};
  for (const RedisHost& host : replicas_told(info))
    places_[0].replicas.push_back(node_at(host, true));
  return {};
}

std::size_t RedisRouter::node_at(const RedisHost& host, bool replica) {
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i]->host == host && nodes_[i]->replica == replica) return i;
  nodes_.push_back(std::make_unique<Node>(Node{host, replica}));
  return nodes_.size() - 1;
}

std::size_t RedisRouter::node_for(const RedisRequests::Request& request) {
  const Place& place = places_[place_of_slot_[request.slot]];
  if (request.effect == Effect::writes || !address_.rules.read_replicas || place.replicas.empty())
    return place.master;
  // A replica that fails is left out for this round; its master answers as well.
  const std::size_t one = place.replicas[turn_++ % place.replicas.size()];
  return nodes_[one]->resting ? place.master : one;
}

// Asks a node that still answers. What cannot be learned now is learned from the next MOVED.
void RedisRouter::refresh() {
  stale_ = false;
  if (!is_cluster_) return;
  RedisRequests one;
  one.add(0, Effect::reads, "CLUSTER", "SLOTS");
  // A different node each time: one may have lost the others and not know it.
  const std::size_t known = nodes_.size();
  const std::size_t first = refreshes_++;
  for (std::size_t i = 0; i < known; ++i) {
    Node& node = *nodes_[(first + i) % known];
    if (node.resting || !node.pending.empty() || !circuits_->is_closed(node.host)) continue;
    const auto reply = ask_node(node, one.bytes(0));
    if (!reply) {
      node.resting = true;
      continue;
    }
    // One that has lost the others answers from memory, and knows no more than we do.
    if ((*reply)->type == REDIS_REPLY_ARRAY && (*reply)->elements > 0 &&
        learn_slots(**reply, node.host))
      return;
  }
}

Result<void> RedisRouter::open(Node& node) {
  if (node.link) return {};
  const auto start = Clock::now();
  auto connected = connect(node);
  node.failed = !connected;
  node.slow = Clock::now() - start >= slow_failure;
  return connected;
}

Result<void> RedisRouter::connect(Node& node) {
  const milliseconds timeout = address_.rules.timeout;
  auto link = RedisLink::connect(node.host, address_.login,
                                 node.on_trial ? std::min(timeout, longest_trial) : timeout,
                                 node.replica && is_cluster_);
  if (!link) return link.error();
  node.link = std::move(*link);
  node.queued_bytes = 0;
  return {};
}

void RedisRouter::look_at_circuit(Round& round, Node& node) {
  const milliseconds trial = std::min(address_.rules.timeout, longest_trial);
  const auto pass = circuits_->enter(node.host, trial);
  if (pass && *pass == RedisCircuits::Pass::normal) return;
  round.tripped = true;
  if (pass) {
    node.on_trial = true;
    if (node.link) node.link->set_timeout(trial);
  } else {
    node.resting = true;
    round.trouble = pass.error();
  }
}

void RedisRouter::heard_from(Node& node) {
  circuits_->answered(node.host);
  node.failed = false;
  if (std::exchange(node.on_trial, false)) node.link->set_timeout(address_.rules.timeout);
}

// Has the timeout passed? Then the circuits of the nodes that did not answer open.
std::optional<Error> RedisRouter::given_up(Round& round) {
  const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - round.last_answer);
  // A cluster may have chosen another master meanwhile, which the next turn finds.
  const bool tripped = round.tripped && (!is_cluster_ || round.turns > 1);
  if (waited < address_.rules.timeout && !tripped) return std::nullopt;
  const milliseconds rest = std::min(address_.rules.timeout / 2, longest_rest);
  const Error why = round.trouble ? *round.trouble : Error{Code::io, "slots are moving"};
  for (const auto& node : nodes_)
    if (std::exchange(node->failed, false))
      circuits_->failed(node->host, why, node->slow ? rest : milliseconds(0));
  if (tripped) return why;
  return Error{Code::io, "no Redis server has answered for " + std::to_string(waited.count()) +
                             " ms: " + why.sentence};
}

void RedisRouter::move_slot(unsigned slot, std::size_t node) {
  stale_ = true;
  std::size_t place = 0;
  while (place < places_.size() && places_[place].master != node) ++place;
  if (place == places_.size()) places_.push_back({node});
  place_of_slot_[slot] = static_cast<std::uint16_t>(place);
}

std::vector<std::size_t> RedisRouter::master_nodes() const {
  std::set<std::size_t> nodes;
  for (const std::uint16_t place : place_of_slot_) nodes.insert(places_[place].master);
  return {nodes.begin(), nodes.end()};
}

std::vector<std::string> RedisRouter::masters() const {
  std::vector<std::string> names;
  for (const std::size_t n : master_nodes()) names.push_back(to_string(nodes_[n]->host));
  return names;
}

std::string RedisRouter::master_of(unsigned slot) const {
  return to_string(nodes_[places_[place_of_slot_[slot]].master]->host);
}

// -- sending and receiving ------------------------------------------------------------------------

Result<void> RedisRouter::run(RedisRequests& requests, const Take& take) {
  if (nodes_.empty())
    throw std::logic_error("the set was moved from; only assign to it or destroy it");
  Round round{requests, take};
  round.last_answer = Clock::now();
  for (const auto& node : nodes_) node->failed = node->on_trial = false;
  std::vector<std::size_t> todo(requests.size());
  for (std::size_t i = 0; i < todo.size(); ++i) todo[i] = i;
  while (!todo.empty()) {
    round.again.clear();
    round.pause = false;
    ++round.turns;
    for (const auto& node : nodes_) node->resting = false;
    if (stale_) refresh();
    for (const std::size_t i : todo) {
      if (round.fatal) break;
      send(round, i);
    }
    flush_all(round);
    for (std::size_t n = 0; n < nodes_.size(); ++n) drain(round, *nodes_[n], 0);
    if (round.fatal) return failed(*round.fatal);
    if (round.again.empty()) break;
    if (auto error = given_up(round)) return failed(*error);
    if (round.pause) std::this_thread::sleep_for(pause_between_tries);
    std::sort(round.again.begin(), round.again.end());
    todo.swap(round.again);
  }
  lost_ = false;
  return {};
}

Error RedisRouter::failed(const Error& error) {
  lost_ = error.code == Code::io;
  return {error.code, address_.shown() + ": " + error.sentence};
}

void RedisRouter::send(Round& round, std::size_t i) {
  round.requests.make_ready(i);
  const auto asked = round.asking.find(i);
  const bool asking = asked != round.asking.end();
  const std::size_t to = asking ? asked->second : node_for(round.requests[i]);
  if (asking) round.asking.erase(asked);
  Node& node = *nodes_[to];
  if (!circuits_->all_closed() && !node.resting && !node.on_trial) look_at_circuit(round, node);
  if (!node.resting && !node.link)
    if (const auto opened = open(node); !opened) {
      node.resting = true;
      // Only a server that is gone may come back.
      if (opened.error().code != Code::io) round.fatal = opened.error();
      round.trouble = opened.error();
    }
  if (node.resting) {
    round.again.push_back(i);
    round.pause = stale_ = true;
    return;
  }
  if (asking) {
    static constexpr std::string_view asking_command = "*1\r\n$6\r\nASKING\r\n";
    queue(node, asking_command, no_request);
  }
  round.requests[i].fate = Fate::sent;
  node.written |= round.requests[i].effect == Effect::writes;
  queue(node, round.requests.bytes(i), i);
  if (node.queued_bytes >= flush_bytes) {
    node.queued_bytes = 0;
    if (const auto flushed = node.link->flush(); !flushed)
      return lose(round, node, flushed.error());
  }
  if (node.pending.size() >= most_pending) {
    flush_all(round);
    drain(round, node, most_pending / 2);
  }
}

void RedisRouter::queue(Node& node, std::string_view bytes, std::size_t i) {
  node.link->queue(bytes);
  node.queued_bytes += bytes.size();
  node.pending.push_back(i);
  ++commands_;
}

// So that all nodes work while the replies of one are read.
void RedisRouter::flush_all(Round& round) {
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Node& node = *nodes_[n];
    if (!node.link || node.queued_bytes == 0) continue;
    node.queued_bytes = 0;
    if (const auto flushed = node.link->flush(); !flushed) lose(round, node, flushed.error());
  }
}

void RedisRouter::drain(Round& round, Node& node, std::size_t left) {
  while (node.pending.size() > left) {
    const bool doubted = !circuits_->all_closed();
    const auto start = Clock::now();
    auto reply = node.link->receive();
    if (!reply) {
      node.slow = Clock::now() - start >= slow_failure;
      return lose(round, node, reply.error());
    }
    if (doubted) heard_from(node);
    const std::size_t i = node.pending.front();
    node.pending.pop_front();
    if (i != no_request) answer(round, i, *reply);
  }
}

void RedisRouter::answer(Round& round, std::size_t i, RedisReply& reply) {
  if (reply->type == REDIS_REPLY_ERROR) return refuse(round, i, text_of(*reply));
  round.last_answer = Clock::now();
  round.requests[i].fate = Fate::answered;
  round.take(i, reply);
}

// A refusal had no effect. Slots that move are followed for as long as they do.
void RedisRouter::refuse(Round& round, std::size_t i, std::string_view said) {
  round.requests[i].fate = round.requests[i].repeated ? Fate::sent : Fate::unsent;
  const bool moved = said.starts_with("MOVED ");
  if (moved || said.starts_with("ASK ")) {
    const auto where = redirection_told(said);
    if (!is_cluster_ || !where) {
      round.fatal = Error{Code::not_ours,
                          "the Redis server redirects without an address: " + std::string(said)};
      return;
    }
    const std::size_t node = node_at(where->to, false);
    if (moved) {
      move_slot(where->slot, node);
    } else {
      round.asking[i] = node;
    }
    // Nodes that redirect to each other are treated like one that does not answer.
    round.pause |= round.requests[i].redirected;
    round.requests[i].redirected = true;
    round.trouble = Error{Code::io, "the cluster says " + std::string(said)};
    round.again.push_back(i);
    return;
  }
  if (passes_by_itself(said)) {
    round.trouble = Error{Code::io, "the Redis server says " + std::string(said)};
    round.again.push_back(i);
    round.pause = stale_ = true;
    return;
  }
  if (!round.fatal) round.fatal = refused_by_server(said);
}

void RedisRouter::lose(Round& round, Node& node, const Error& why) {
  node.link.reset();
  node.queued_bytes = 0;
  node.resting = node.failed = true;
  round.pause = stale_ = true;
  round.trouble = why;
  if (why.code != Code::io && !round.fatal) round.fatal = why;
  for (const std::size_t i : node.pending) {
    if (i == no_request) continue;
    round.requests[i].repeated = true;
    round.again.push_back(i);
  }
  node.pending.clear();
}

Result<RedisReply> RedisRouter::call(RedisRequests& one) {
  RedisReply kept;
  auto done = run(one, [&](std::size_t, RedisReply& reply) { kept = std::move(reply); });
  if (!done) return done.error();
  return kept;
}

// -- to nodes, not to slots -----------------------------------------------------------------------

Result<RedisReply> RedisRouter::ask_node(Node& node, std::string_view command) {
  if (auto opened = open(node); !opened) return opened.error();
  node.link->queue(command);
  ++commands_;
  auto reply = node.link->receive();
  if (!reply)
    node.link.reset();
  else if ((*reply)->type == REDIS_REPLY_ERROR)
    return refused_by_server(text_of(**reply));
  return reply;
}

Result<void> RedisRouter::on_masters(std::string_view command, const TakeOf& take) {
  for (const std::size_t n : master_nodes()) {
    auto reply = ask_node(*nodes_[n], command);
    // A connection that was idle for long may be closed: once more with a new one.
    if (!reply && !nodes_[n]->link) reply = ask_node(*nodes_[n], command);
    if (!reply) return reply.error();
    if (auto taken = take(to_string(nodes_[n]->host), **reply); !taken) return taken.error();
  }
  return {};
}

Result<void> RedisRouter::wait_for_replicas(unsigned replicas) {
  RedisRequests one;
  // Its answer must come before our own timeout.
  one.add(0, Effect::reads, "WAIT", replicas, address_.rules.timeout.count() * 7 / 8);
  for (const auto& node : nodes_) {
    if (!std::exchange(node->written, false)) continue;
    // WAIT is about what this very connection wrote.
    if (!node->link)
      return Error{Code::io, to_string(node->host) + " was lost before its replicas had it all"};
    const auto reply = ask_node(*node, one.bytes(0));
    if (!reply) return reply.error();
    if ((*reply)->type != REDIS_REPLY_INTEGER ||
        (*reply)->integer < static_cast<long long>(replicas))
      return Error{Code::io, "of " + to_string(node->host) + " only " +
                                 std::to_string((*reply)->integer) +
                                 " replicas have what was "
                                 "added, and " +
                                 std::to_string(replicas) + " are wanted (wait=)"};
  }
  return {};
}

}  // namespace bloomery::inline v0

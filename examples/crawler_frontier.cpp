// The frontier of a crawler, shared by any number of workers through a Redis server or cluster.
//
//    crawler_frontier --frontier redis://HOST:PORT/0/NAME --graph FILE --worker NAME [--keys N]
//                     [--rate R] [--set redis://...] [--lease MS] [--json] [SEED_URL...]
//
// Gives each page to one worker, takes the links it finds there, and prints the URLs of the pages
// it has crawled. FILE stands for the web, a page in a line: URL<TAB>LINK LINK... A worker ends
// when nothing is left to do or in hand anywhere; SIGTERM ends it after the pages in hand. The
// set holds URLs as the profile crawl/1 spells them, the queue as they were found, to fetch them
// so. The queue lies in one slot:
//
//    {NAME}:todo        URLs to be crawled     {NAME}:working:W   in hand of worker W
//    {NAME}:found:W     journal of W           {NAME}:lease:W     W lives; whose process it is
//    {NAME}:workers     who may have something in hand
//
//    take   todo -> working            done   working is forgotten, and only then
//    links  ask the set; journal those it has not; add them to it; journal of the new ones -> todo
//
// Each arrow is one script, which does the same again when its answer was lost and it is sent
// twice. A worker that is started again, or whose lease has ended (any other sees to that), leaves
// pages in hand, which go back, and a journal: links perhaps marked in the set and not yet in the
// queue. All of those go to the queue. So a crash can repeat, never lose: the pages in hand, and of
// the journal what another worker has found before it was taken over.
//
// If the set is wrong: a new page is taken for an old one, at the rate R, and never crawled. Links
//          whose answer was lost may be old: they are crawled, and counted as in_doubt.
// Limits:  the set does not grow (--keys). A lease must be longer than a batch of pages takes. A
//          server that crashed and comes back with older data repeats what came since; when set
//          and queue are on different servers (--set, or a cluster) and only the queue is older,
//          the links in between are lost.
// See:     docs/jobs.md "A crawler frontier"; crawler_frontier_test.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <hiredis/hiredis.h>

#include <bloomery/bloomery.hpp>
#include <bloomery/engines/normalize.hpp>
#include <bloomery/remote/redis_router.hpp>
#include <bloomery/remote/redis_set.hpp>
#include <bloomery/remote/slots.hpp>

namespace {

using bloomery::Code;
using bloomery::Failure;
using bloomery::RemoteAdd;
using Texts = std::vector<std::string>;

// What a worker has in memory, and may have to repeat.
constexpr std::size_t pages_in_hand = 64;
constexpr std::size_t links_in_journal = 4096;
// Longer ones are traps more often than pages.
constexpr std::size_t longest_link = 2000;

struct Options {
  std::string frontier;
  std::string set;  // empty: beside the queue
  std::string graph;
  std::string worker;
  std::uint64_t keys = 1'000'000;
  double rate = 1e-4;
  std::uint64_t lease_ms = 30'000;
  bool json = false;
  Texts seeds;
};

struct Counts {
  std::uint64_t crawled = 0;     // pages, by this worker
  std::uint64_t discovered = 0;  // links that were surely new
  std::uint64_t repeats = 0;     // links that were not
  std::uint64_t in_doubt = 0;    // links that may have been new, and were queued
  std::uint64_t retaken = 0;     // pages that a worker had in hand when it ended
  std::uint64_t refused = 0;     // links that are no http or https URL, or too long
};

volatile std::sig_atomic_t stop_asked = 0;

[[noreturn]] void refuse(std::string sentence) {
  throw Failure({Code::bad_input, std::move(sentence)});
}

// Who holds a worker's name. Whoever takes it over has another token.
struct Lease {
  std::string worker;
  std::string token;
};

struct LeaseLost : Failure {
  explicit LeaseLost(const Lease& lease)
      : Failure({Code::exists, "another process is the worker " + lease.worker +
                                   " now: the name was given twice, or --lease is shorter than "
                                   "its pages took"}) {}
};

// The lists. Every step checks that the lease is ours, renews it, and may be sent twice.
class Queue {
 public:
  Queue(bloomery::RedisAddress address, std::uint64_t lease_ms)
      : address_(std::move(address)),
        prefix_("{" + address_.name + "}:"),
        lease_ms_(lease_ms),
        router_(bloomery::RedisRouter::connect(address_).value()) {}

  // Pages that were in hand under this name. `by_force`: also from a process that still lives.
  std::uint64_t claim(const Lease& lease, bool by_force) {
    const std::string seize = "redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])";
    const Texts in_hand = run(lease, {.step = "return {tostring(redis.call('LLEN', KEYS[2]))}",
                                      .before = by_force ? seize : ""});
    return std::stoull(in_hand.at(0));
  }
  void give_back(const Lease& lease) {
    run(lease, {"while redis.call('LMOVE', KEYS[2], KEYS[4], 'RIGHT', 'LEFT') do end return {}"});
  }
  // Politeness has its place here: one list of URLs for each of some hundred parts of the hosts, a
  // worker that takes from lists nobody else takes from now, and a time before which it does not.
  Texts take(const Lease& lease) {
    const std::string step = R"(
      if redis.call('LLEN', KEYS[2]) == 0 then
        for i = 1, ARGV[4] do
          if not redis.call('LMOVE', KEYS[4], KEYS[2], 'LEFT', 'RIGHT') then break end
        end
      end
      return redis.call('LRANGE', KEYS[2], 0, -1)
    )";
    return run(lease, {step}, {std::to_string(pages_in_hand)});
  }
  void done(const Lease& lease) { run(lease, {"redis.call('DEL', KEYS[2]) return {}"}); }

  void journal(const Lease& lease, const Texts& links) {
    run(lease, {"redis.call('DEL', KEYS[3])" + push("KEYS[3]") + "return {}"}, links);
  }
  Texts journal_of(const Lease& lease) {
    return run(lease, {"return redis.call('LRANGE', KEYS[3], 0, -1)"});
  }
  // Without a journal this is done already: by us, or by who took us for dead.
  void publish(const Lease& lease, const Texts& links) {
    run(lease, {"if redis.call('DEL', KEYS[3]) == 1 then" + push("KEYS[4]") + "end return {}"},
        links);
  }

  struct Others {
    std::string dead;  // has something in hand, and no lease
    bool busy = false;
    bool todo = false;
  };
  // Names of keys are made here, which a cluster allows as long as they lie in the slot of KEYS.
  Others look_at_others(const Lease& lease) {
    const std::string step = R"(
      local dead, busy = '', ''
      for _, worker in ipairs(redis.call('SMEMBERS', KEYS[5])) do
        local in_hand = redis.call('LLEN', ARGV[4] .. 'working:' .. worker) +
                        redis.call('LLEN', ARGV[4] .. 'found:' .. worker)
        local lives = redis.call('EXISTS', ARGV[4] .. 'lease:' .. worker) == 1
        if in_hand > 0 and not lives then dead = worker end
        if in_hand > 0 and lives then busy = 'busy' end
        if in_hand == 0 and not lives then redis.call('SREM', KEYS[5], worker) end
      end
      return {dead, busy, redis.call('LLEN', KEYS[4]) > 0 and 'todo' or ''}
    )";
    const Texts seen = run(lease, {step}, {prefix_});
    return {seen.at(0), !seen.at(1).empty(), !seen.at(2).empty()};
  }
  void leave(const Lease& lease) {
    const std::string step = R"(
      redis.call('DEL', KEYS[1])
      if redis.call('EXISTS', KEYS[2], KEYS[3]) == 0 then redis.call('SREM', KEYS[5], ARGV[3]) end
      return {}
    )";
    run(lease, {step});
  }

 private:
  struct Script {
    std::string step;
    std::string before = {};  // the check of the lease
  };

  // A thousand at a time: Lua hands on no more than some thousand values.
  static std::string push(const std::string& list) {
    return " for i = 4, #ARGV, 1000 do redis.call('RPUSH', " + list +
           ", unpack(ARGV, i, math.min(i + 999, #ARGV))) end ";
  }

  // A lease that ended and that nobody has taken is ours still.
  Texts run(const Lease& lease, const Script& parts, const Texts& values = {}) {
    const std::string script = parts.before + R"(
      local holder = redis.call('GET', KEYS[1])
      if holder and holder ~= ARGV[1] then return 0 end
      redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
      redis.call('SADD', KEYS[5], ARGV[3])
    )" + parts.step;
    const std::string names[] = {
        prefix_ + "lease:" + lease.worker, prefix_ + "working:" + lease.worker,
        prefix_ + "found:" + lease.worker, prefix_ + "todo", prefix_ + "workers"};
    bloomery::RedisRequests one;
    one.begin(bloomery::slot_of(prefix_), bloomery::Effect::writes,
              3 + std::size(names) + 3 + values.size());
    one.word("EVAL");
    one.word(script);
    one.word(std::size(names));
    for (const std::string& name : names) one.word(name);
    one.word(lease.token);
    one.word(lease_ms_);
    one.word(lease.worker);
    for (const std::string& value : values) one.word(value);
    one.end();
    const bloomery::RedisReply reply = std::move(router_.call(one).value());
    if (const unsigned replicas = address_.rules.wait_replicas; replicas > 0)
      router_.wait_for_replicas(replicas).value();
    if (reply->type == REDIS_REPLY_INTEGER) throw LeaseLost(lease);
    return texts_of(*reply);
  }
  static Texts texts_of(const redisReply& reply) {
    if (reply.type != REDIS_REPLY_ARRAY)
      throw Failure({Code::not_ours, "the Redis server does not answer EVAL as Redis does"});
    Texts texts;
    for (std::size_t i = 0; i < reply.elements; ++i)
      texts.emplace_back(reply.element[i]->str, reply.element[i]->len);
    return texts;
  }

  bloomery::RedisAddress address_;
  std::string prefix_;
  std::uint64_t lease_ms_;
  bloomery::RedisRouter router_;
};

bloomery::RedisAddress address_of(const std::string& url) {
  const auto address = bloomery::parse_redis_url(url);
  if (!address) refuse(address.error().sentence);
  if (address->rules.ttl.count() != 0)
    refuse("a frontier can not have a ttl: pages would come again, links would be lost");
  return *address;
}

class Frontier {
 public:
  explicit Frontier(const Options& options)
      : normalizer_(bloomery::Normalizer::find("crawl").value()),
        seen_(bloomery::RedisSet::open_or_make(
                  address_of(options.set.empty() ? options.frontier : options.set),
                  {.want = {.keys = options.keys, .rate = options.rate},
                   .normalisation = std::string(normalizer_.name())})
                  .value()),
        queue_(address_of(options.frontier), options.lease_ms),
        lease_{options.worker, random_token()},
        look_every_(std::chrono::milliseconds(options.lease_ms)) {
    if (seen_.law().normalisation != normalizer_.name())
      refuse("the set " + seen_.address().shown() + " has other keys than " +
             std::string(normalizer_.name()) + " gives");
    take_over(lease_, true);
  }

  // Empty: nothing is left, here and with all others, or we were asked to stop.
  Texts take() {
    while (stop_asked == 0) {
      Texts pages = queue_.take(lease_);
      const auto now = std::chrono::steady_clock::now();
      if (!pages.empty() && now - last_look_ < look_every_) return pages;
      last_look_ = now;
      const Queue::Others others = queue_.look_at_others(lease_);
      if (!others.dead.empty()) take_over_dead(others.dead);
      if (!pages.empty()) return pages;
      if (others.dead.empty() && !others.todo && !others.busy) return {};
      if (others.dead.empty() && !others.todo)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return {};
  }
  // A link as it stood on a page, made absolute.
  void offer(std::string_view link) {
    room_.clear();
    const std::string_view key = key_of(link, room_);
    if (key.empty()) {
      ++counts.refused;
    } else if (const auto [at, first] = keys_at_hand_.emplace(key); first) {
      links_.emplace_back(link);
      keys_.push_back(*at);
    } else {
      ++counts.repeats;
    }
    if (links_.size() >= links_in_journal) publish();
  }
  void publish() {
    keep_only_absent();
    if (!links_.empty()) {
      queue_.journal(lease_, links_);
      std::vector<RemoteAdd> answers(keys_.size());
      seen_.add_all(keys_, answers).value();
      Texts fresh;
      for (std::size_t i = 0; i < links_.size(); ++i) {
        if (answers[i] != RemoteAdd::seen) fresh.push_back(std::move(links_[i]));
        counts.repeats += answers[i] == RemoteAdd::seen;
        counts.discovered += answers[i] == RemoteAdd::fresh;
        counts.in_doubt += answers[i] == RemoteAdd::in_doubt;
      }
      queue_.publish(lease_, fresh);
    }
    forget_links();
  }
  // The pages that were taken are crawled, and what they link to is published.
  void done(std::size_t pages) {
    publish();
    queue_.done(lease_);
    counts.crawled += pages;
  }
  void leave() {
    seen_.tell_adds().value();
    queue_.leave(lease_);
  }

  // Empty: nothing for a crawler. Valid until the room is cleared.
  std::string_view key_of(std::string_view link, bloomery::KeyRoom& room) {
    if (link.size() > longest_link) return {};
    const bloomery::Normalized url = normalizer_(link, scratch_, room);
    return url.fits && url.key.starts_with("http://") ? url.key : std::string_view();
  }
  bool overfull() const { return seen_.adds() > seen_.law().capacity; }
  double rate() const { return seen_.expected_rate_now(); }

  Counts counts;

 private:
  static std::string random_token() {
    std::random_device random;
    return std::to_string(random()) + "-" + std::to_string(random());
  }

  // The journal shall hold nothing that was crawled long ago.
  void keep_only_absent() {
    const auto there = std::make_unique<bool[]>(keys_.size());
    seen_.may_contain_all(keys_, {there.get(), keys_.size()}).value();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (there[i]) continue;
      if (kept != i) links_[kept] = std::move(links_[i]);
      keys_[kept++] = keys_[i];
    }
    counts.repeats += keys_.size() - kept;
    links_.resize(kept);
    keys_.resize(kept);
  }
  void forget_links() {
    links_.clear();
    keys_.clear();
    keys_at_hand_.clear();
  }

  // What a worker left: its journal first, since its pages are not done before that is published.
  void take_over(const Lease& lease, bool by_force) {
    counts.retaken += queue_.claim(lease, by_force);
    const Texts left = queue_.journal_of(lease);
    bloomery::KeyRoom room;
    std::vector<std::string_view> keys;
    for (const std::string& link : left) keys.push_back(key_of(link, room));
    const bloomery::RemoteCounts added = seen_.add_all(keys).value();
    counts.discovered += added.fresh;
    counts.in_doubt += left.size() - added.fresh;
    queue_.publish(lease, left);
    queue_.give_back(lease);
  }
  void take_over_dead(const std::string& worker) {
    if (worker == lease_.worker) return;
    const Lease of_dead{worker, lease_.token};
    try {
      take_over(of_dead, false);
      queue_.leave(of_dead);
    } catch (const LeaseLost&) {  // it was started again, or another was faster
    }
  }

  bloomery::Normalizer normalizer_;
  bloomery::RedisSet seen_;
  Queue queue_;
  Lease lease_;
  std::chrono::steady_clock::duration look_every_;
  std::chrono::steady_clock::time_point last_look_ = std::chrono::steady_clock::now();
  // Links that wait to be published, each once, and their keys, which lie in the set of keys.
  Texts links_;
  std::vector<std::string_view> keys_;
  std::unordered_set<std::string> keys_at_hand_;
  bloomery::KeyRoom room_;
  bloomery::UrlScratch scratch_;
};

// Stands for the network: where the page of each URL is in the file. A real crawler fetches here,
// and makes links absolute.
class Graph {
 public:
  Graph(const std::string& path, Frontier& frontier) : file_(path, std::ios::binary) {
    if (!file_) refuse(path + " can not be read");
    std::streamoff at = 0;
    for (std::string line; std::getline(file_, line); ++at) {
      room_.clear();
      place_of_.emplace(frontier.key_of(line.substr(0, line.find('\t')), room_), at);
      at += static_cast<std::streamoff>(line.size());
    }
    file_.clear();
  }
  // nullopt: there is no such page.
  std::optional<std::string> links_of(const std::string& url, Frontier& frontier) {
    room_.clear();
    const auto found = place_of_.find(std::string(frontier.key_of(url, room_)));
    if (found == place_of_.end()) return std::nullopt;
    std::string line;
    file_.seekg(found->second);
    if (!std::getline(file_, line)) throw Failure({Code::io, "the graph can not be read again"});
    const std::size_t tab = line.find('\t');
    return tab == std::string::npos ? std::string() : line.substr(tab + 1);
  }

 private:
  std::ifstream file_;
  std::unordered_map<std::string, std::streamoff> place_of_;
  bloomery::KeyRoom room_;
};

void crawl(const std::string& url, Graph& graph, Frontier& frontier) {
  std::cout << url << '\n';
  const auto links = graph.links_of(url, frontier);
  if (!links) return;
  for (std::size_t at = 0; at < links->size();) {
    const std::size_t end = std::min(links->find(' ', at), links->size());
    if (end > at) frontier.offer(std::string_view(*links).substr(at, end - at));
    at = end + 1;
  }
}

void report(const Options& options, const Frontier& frontier) {
  const Counts& counts = frontier.counts;
  const std::pair<const char*, std::uint64_t> rows[] = {
      {"crawled", counts.crawled},   {"discovered", counts.discovered}, {"repeats", counts.repeats},
      {"in_doubt", counts.in_doubt}, {"retaken", counts.retaken},       {"refused", counts.refused},
  };
  if (options.json) std::cerr << "{";
  for (const auto& [name, count] : rows)
    if (options.json)
      std::cerr << '"' << name << "\": " << count << ", ";
    else
      std::cerr << name << ' ' << count << '\n';
  if (options.json)
    std::cerr << "\"rate\": " << frontier.rate() << "}\n";
  else
    std::cerr << "rate " << frontier.rate() << '\n';
}

int run(const Options& options) {
  Frontier frontier(options);
  Graph graph(options.graph, frontier);
  for (const std::string& seed : options.seeds) frontier.offer(seed);
  frontier.publish();
  bool warned = false;
  for (Texts pages; !(pages = frontier.take()).empty();) {
    for (const std::string& url : pages) crawl(url, graph, frontier);
    // What is said to be done must have been printed.
    if (!std::cout.flush()) throw Failure({Code::io, "the output can not be written"});
    frontier.done(pages.size());
    if (frontier.overfull() && !std::exchange(warned, true))
      std::cerr
          << "crawler_frontier: there are more pages than --keys said; more and more new ones "
             "are taken for old\n";
  }
  frontier.leave();
  report(options, frontier);
  return 0;
}

template <class Number>
Number number(const std::string& flag, const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0))
    refuse(flag + " takes a number above 0, not '" + text + "'");
  return value;
}

Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (!flag.starts_with("--")) {
      options.seeds.push_back(flag);
      continue;
    }
    if (flag == "--json") {
      options.json = true;
      continue;
    }
    if (++i == argc) refuse(flag + " takes a value; the options stand in the head of the source");
    const std::string value = argv[i];
    if (flag == "--frontier")
      options.frontier = value;
    else if (flag == "--set")
      options.set = value;
    else if (flag == "--graph")
      options.graph = value;
    else if (flag == "--worker")
      options.worker = value;
    else if (flag == "--keys")
      options.keys = number<std::uint64_t>(flag, value);
    else if (flag == "--rate")
      options.rate = number<double>(flag, value);
    else if (flag == "--lease")
      options.lease_ms = number<std::uint64_t>(flag, value);
    else
      refuse("there is no option " + flag);
  }
  if (options.frontier.empty() || options.graph.empty() || options.worker.empty())
    refuse("--frontier redis://host:port/0/name, --graph FILE and --worker NAME are needed");
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { stop_asked = 1; });
  std::signal(SIGPIPE, SIG_IGN);  // a server that goes away while we write to it comes back
  try {
    return run(options_of(argc, argv));
  } catch (const std::exception& failure) {  // Failure, or a rate that no set can have
    std::cerr << "crawler_frontier: " << failure.what() << '\n';
    return 2;
  }
}

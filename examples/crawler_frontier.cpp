// The frontier of a crawler, shared by any number of workers through a Redis server or cluster.
//
//    crawler_frontier --frontier redis://HOST:PORT/0/NAME --graph FILE --worker NAME [--keys N]
//                     [--rate R] [--set redis://...] [--lease MS] [--json] [SEED_URL...]
//
// Gives each page to one worker, takes the links it finds there, and prints the URLs of the pages
// it has crawled. FILE stands for the web, a page in a line: URL<TAB>LINK LINK... A worker ends
// when nothing is left to do or in progress anywhere (exit code 0); SIGTERM ends it after its
// current pages (3). The set holds URLs as the profile crawl/1 spells them, the queue holds them as
// they were found, since that is what must be fetched.
//
//    take   todo -> working            done   working is forgotten, and only then
//    links  ask the set; journal those it has not; add them to it; journal of the new ones -> todo
//
// Each arrow is one idempotent script: it may be sent again when its answer was lost. A worker that
// is started again, or whose lease has ended (any other worker notices), leaves unfinished pages
// and a journal: links that may be marked in the set but are not in the queue yet. Both go back to
// the queue. So a crash can repeat work but never lose it: it can repeat unfinished pages, and
// links of the journal that another worker has also found. A frontier that was lost (keys deleted,
// or the server empty) ends its workers with 2 (crawler_queue.hpp).
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

#include <bloomery/bloomery.hpp>
#include <bloomery/redis/redis_set.hpp>
#include <bloomery/text/normalize.hpp>

#include "crawler_queue.hpp"

namespace {

using bloomery::Code;
using bloomery::Failure;
using bloomery::RemoteAdd;
using examples::FrontierLost;
using examples::Lease;
using examples::LeaseLost;
using examples::Queue;
using examples::Texts;

// What a worker has in memory beside its pages, and may have to repeat.
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
  std::uint64_t retaken = 0;     // pages that a worker had in progress when it ended
  std::uint64_t refused = 0;     // links that are not http or https URLs, or too long
};

volatile std::sig_atomic_t stop_asked = 0;

[[noreturn]] void refuse(std::string sentence) {
  throw Failure({Code::bad_input, std::move(sentence)});
}

bloomery::RedisAddress address_of(const std::string& url) {
  const auto address = bloomery::parse_redis_url(url);
  if (!address) refuse(address.error().sentence);
  if (address->rules.ttl.count() != 0)
    refuse("a frontier cannot have a ttl: pages would come again, links would be lost");
  return *address;
}

class Frontier {
 public:
  explicit Frontier(const Options& options)
      : normalizer_(bloomery::Normalizer::find("crawl").value()),
        queue_(address_of(options.frontier), options.lease_ms),
        seen_(open_set(options)),
        lease_{options.worker, random_token()},
        look_every_(std::chrono::milliseconds(options.lease_ms)) {
    if (seen_.law().normalisation != normalizer_.name())
      refuse("the set " + seen_.address().shown() + " has other keys than " +
             std::string(normalizer_.name()) + " gives");
    begin();
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
      complete = others.dead.empty() && !others.todo && !others.busy;
      if (complete) return {};
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
  bool complete = false;  // nothing was left, here and with all others

 private:
  // A new set beside a queue would give each page again.
  bloomery::RedisSet open_set(const Options& options) {
    const auto address = address_of(options.set.empty() ? options.frontier : options.set);
    const bool begun = queue_.look().here;
    if (begun && !bloomery::RedisSet::exists(address).value())
      throw FrontierLost(queue_.name(), "its set is gone");
    if (!begun && options.seeds.empty())
      refuse("the frontier " + queue_.name() + " does not exist yet: begin it with a SEED_URL");
    return bloomery::RedisSet::open_or_make(address,
                                            {.want = {.keys = options.keys, .rate = options.rate},
                                             .normalisation = std::string(normalizer_.name())})
        .value();
  }
  // If the queue is lost but the set is not, the set holds pages that nobody would crawl. To notice
  // that, the set has a key that is not a page, added after the queue's token and before all pages.
  void begin() {
    const std::string mark = "frontier " + queue_.name();
    const bool marked = seen_.may_contain(mark).value();
    if (marked && !queue_.look().here) throw FrontierLost(queue_.name(), "its queue is gone");
    if (marked) return;
    if (queue_.begin(random_token()).in_set && !seen_.may_contain(mark).value())
      throw FrontierLost(queue_.name(), "its set was made again");
    seen_.add(mark).value();
    queue_.note_in_set();
  }

  static std::string random_token() {
    std::random_device random;
    return std::to_string(random()) + "-" + std::to_string(random());
  }

  // The journal must hold nothing that was crawled long ago.
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
  Queue queue_;
  bloomery::RedisSet seen_;
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
    if (!file_) refuse(path + " cannot be read");
    std::streamoff at = 0;
    for (std::string line; std::getline(file_, line); ++at) {
      room_.clear();
      place_of_.emplace(frontier.key_of(line.substr(0, line.find('\t')), room_), at);
      at += static_cast<std::streamoff>(line.size());
    }
    file_.clear();
  }
  // nullopt: the file has no such page.
  std::optional<std::string> links_of(const std::string& url, Frontier& frontier) {
    room_.clear();
    const auto found = place_of_.find(std::string(frontier.key_of(url, room_)));
    if (found == place_of_.end()) return std::nullopt;
    std::string line;
    file_.seekg(found->second);
    if (!std::getline(file_, line)) throw Failure({Code::io, "the graph cannot be read again"});
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
  const char* complete = frontier.complete ? "true" : "false";
  if (options.json)
    std::cerr << "\"rate\": " << frontier.rate() << ", \"complete\": " << complete << "}\n";
  else
    std::cerr << "rate " << frontier.rate() << "\ncomplete " << complete << '\n';
}

int run(const Options& options) {
  Frontier frontier(options);
  Graph graph(options.graph, frontier);
  for (const std::string& seed : options.seeds) frontier.offer(seed);
  frontier.publish();
  bool warned = false;
  for (Texts pages; !(pages = frontier.take()).empty();) {
    for (const std::string& url : pages) crawl(url, graph, frontier);
    // A page must be printed before it is reported as done.
    if (!std::cout.flush()) throw Failure({Code::io, "the output cannot be written"});
    frontier.done(pages.size());
    if (frontier.overfull() && !std::exchange(warned, true))
      std::cerr
          << "crawler_frontier: there are more pages than --keys said; more and more new ones "
             "are taken for old\n";
  }
  frontier.leave();
  report(options, frontier);
  return frontier.complete ? 0 : 3;
}

constexpr std::string_view help_text =
    R"(usage: crawler_frontier --frontier URL --graph FILE --worker NAME [OPTION...] [SEED_URL...]

Crawls the pages that can be reached from SEED_URLs, together with all other workers of the same
frontier. Prints the URLs of its own pages, and a report to the standard error.

  --frontier URL  redis://HOST:PORT/0/NAME, where queue and set are
  --graph FILE    stands for the web, a page in a line: URL<TAB>LINK LINK...
  --worker NAME   of this worker alone; the same when it is started again
  --keys N        pages there will ever be (1000000)
  --rate R        at which new pages may be taken for old ones (0.0001)
  --set URL       redis://... for the set, if it is elsewhere
  --lease MS      after which a silent worker is taken for dead (30000)
  --json          the report as JSON

Exit codes: 0 the crawl is complete; 2 an error, also a frontier that was lost; 3 SIGTERM or SIGINT
came, the pages in progress are done, and others may be left.
)";

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
    if (++i == argc) refuse(flag + " takes a value; see --help");
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
      refuse("unknown option " + flag);
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
    if (argc == 2 && (argv[1] == std::string_view("--help") || argv[1] == std::string_view("-h"))) {
      std::cout << help_text;
      return 0;
    }
    return run(options_of(argc, argv));
  } catch (const std::exception& failure) {  // Failure, or a rate that no set can have
    std::cerr << "crawler_frontier: " << failure.what() << '\n';
    return 2;
  }
}

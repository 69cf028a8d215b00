// A mail block list with an allow list: rebuilt every night, added to during the day, asked all the
// time.
//
//    mail_block_list update --state DIR blocked.txt more.txt.gz --allow customers.txt
//    mail_block_list add --state DIR complaints.txt
//    mail_block_list check --state DIR < senders.txt
//
//    address --email/1--> key --> today's additions (exact)  --listed--> blocked
//                                  not listed
//                                 list (Cascade)             --maybe-->  blocked,  else pass
//
// Every blocked address is blocked, no allowed one is, and of those in neither list one in ten
// thousand is (--rate). The list takes about 22 bits a line of the files, however long the
// addresses are, and is built without holding the addresses in memory.
// An update takes effect in one step (generations.hpp); running checks notice it with the next
// lines and use it.
// Limits:  45 bytes of memory for each allowed address while a list is built. Blocked addresses
//          that come from a pipe take 8 bytes each, unless --keys says how many there are.
// See:     docs/jobs.md "A mail block list"; tests/tools/programs/example_mail_block_list_test.py.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <bloomery/text/decompress.hpp>
#include <bloomery/text/line_writer.hpp>
#include <bloomery/text/lines.hpp>
#include <bloomery/text/normalize.hpp>

#include "generations.hpp"

namespace {

using bloomery::Code;
using bloomery::Error;
using bloomery::Failure;
using bloomery::Inputs;
using bloomery::Lines;
using bloomery::WideHash;
using List = bloomery::Set<bloomery::Cascade>;
using Additions = bloomery::Set<bloomery::HashSet>;
using Files = std::vector<std::string>;

constexpr const char* usage =
    R"(usage: mail_block_list update --state DIR BLOCKED... [--allow ALLOWED]... [--rate P]
                              [--keys N] [--allow-wins] [--forget-today] [--skip-bad]
       mail_block_list add --state DIR [--skip-bad] [FILE...]
       mail_block_list check --state DIR [FILE...]

Files have one address a line, and may be compressed; - is the standard input.

update   builds tonight's list, which is in force in one step
  --allow ALLOWED   addresses that are never blocked; may be given several times
  --rate P          chance that an address of neither list is blocked; 0.0001
  --keys N          blocked addresses to expect, where they come from a pipe
  --allow-wins      an address of both lists passes, and is counted; else it is an error
  --forget-today    all addresses that were added by day are dropped, not only those that the
                    lists have now
add      blocks more addresses until an update has them
check    prints every line after "blocked", "pass" or "bad" (no address), and a tab
  --skip-bad        lines that are not addresses are left out and counted; else they are an error

Exit codes: 0 good, 2 error.
)";

struct Options {
  std::string verb = {};
  std::string state = {};
  Files files = {};
  Files allow = {};
  double rate = 1e-4;
  std::uint64_t keys = 0;
  bool allow_wins = false;
  bool forget_today = false;
  bool skip_bad = false;
};

[[noreturn]] void refuse(std::string sentence) {
  throw Failure({Code::bad_input, std::move(sentence)});
}

bloomery::LineRules line_rules() {
  return {.strip_cr = true, .decode = bloomery::open_decompressor};
}

const bloomery::Hasher hasher{};
constexpr std::string_view profile = "email/1";

// Addresses to keys; an empty key where a line is not an address.
class Keys {
 public:
  Lines of(Lines lines) {
    room_.clear();
    keys_.clear();
    for (const std::string_view line : lines) {
      const auto [key, fits] = normalizer_(line, scratch_, room_);
      keys_.push_back(fits ? key : std::string_view{});
    }
    return keys_;
  }

 private:
  bloomery::Normalizer normalizer_ = bloomery::Normalizer::find(profile).value();
  bloomery::UrlScratch scratch_;
  bloomery::KeyRoom room_;
  std::vector<std::string_view> keys_;
};

struct Place {
  const Inputs& inputs;
  std::uint64_t line;  // of the batch, from 0
  std::string text(std::string_view line_there) const {
    return inputs.name() + ", line " + std::to_string(inputs.first_line() + line) + ": " +
           bloomery::quoted(line_there);
  }
};

// Calls take(hash, place, line) for every address of the files; returns how many lines were not
// addresses.
template <class Take>
std::uint64_t each_address(const Files& files, bool skip_bad, Take&& take) {
  if (files.empty()) return 0;  // Inputs would read the standard input
  Inputs inputs(files, line_rules());
  Keys keys;
  std::uint64_t bad = 0;
  for (;;) {
    const Lines lines = inputs.next().value();
    if (lines.empty()) return bad;
    const Lines made = keys.of(lines);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const Place place{inputs, i};
      if (!made[i].empty())
        take(hasher.wide(made[i]), place, lines[i]);
      else if (skip_bad)
        ++bad;
      else
        refuse(place.text(lines[i]) + " is not an e-mail address; mend it, or give --skip-bad");
    }
  }
}

// Gathers hashes into batches, since small calls would cost more.
template <class Flush>
class Batch {
 public:
  explicit Batch(Flush flush) : flush_(std::move(flush)) {}
  void add(WideHash hash) {
    hashes_[used_++] = hash;
    if (used_ == hashes_.size()) finish();
  }
  void finish() { flush_(std::span<const WideHash>(hashes_).first(std::exchange(used_, 0))); }

 private:
  Flush flush_;
  std::array<WideHash, 1024> hashes_;
  std::size_t used_ = 0;
};

// What is in force: tonight's list and what was added since.
struct InForce {
  std::string generation;
  List list;
  std::optional<Additions> today;
};

// nullopt when there was no update yet. If a generation is replaced while it is being opened, opens
// the new one instead.
std::optional<InForce> open_in_force(const examples::Generations& state) {
  for (;;) {
    const auto now = state.current().value();
    if (!now) return std::nullopt;
    auto list = List::open(state.file(*now, "list.blm"));
    std::optional<bloomery::Result<Additions>> today;
    if (std::filesystem::exists(state.file(*now, "today.blm")))
      today.emplace(Additions::open(state.file(*now, "today.blm")));
    if (state.current().value() != now) continue;
    if (!list) throw Failure(list.error());
    if (list->rules().normalisation != profile)
      refuse(state.file(*now, "list.blm").string() + " is not a list of " + std::string(profile));
    InForce found{*now, std::move(*list), std::nullopt};
    if (today) found.today.emplace(std::move(*today).value());
    return found;
  }
}

void say(std::string_view what, std::uint64_t count) {
  std::cerr << what << std::string(what.size() < 24 ? 24 - what.size() : 1, ' ') << count << '\n';
}

// --- update ------------------------------------------------------------------------------------

// An address that was added by day is dropped when tonight's lists have it themselves. The others
// may have been added after those lists were written: dropping one could unblock an address that
// somebody has just blocked.
class Update {
 public:
  explicit Update(const Options& options)
      : options_(options), state_(options.state), builder_({.keys = keys(), .rate = options.rate}) {
    if (auto now = open_in_force(state_)) today_ = std::move(now->today);
  }

  void run() {
    take_allowed();
    take_blocked();
    if (blocked_ == 0) refuse("no address to block was given; the list in force stays");
    const bloomery::AnySet list =
        bloomery::AnySet::of(std::move(builder_).finish().value(), hasher,
                             {bloomery::KeyForm::text, true, std::string(profile)});
    put_in_force(list);
    report(list);
  }

 private:
  // 0: nobody knows.
  std::uint64_t keys() const {
    if (options_.keys > 0) return options_.keys;
    return bloomery::count_lines(options_.files, line_rules()).value().value_or(0);
  }

  void take_allowed() {
    Batch allow([&](std::span<const WideHash> hashes) {
      allowed_.add_all(hashes, nullptr).value();
      builder_.allow_all(hashes).value();
    });
    bad_ += each_address(options_.allow, options_.skip_bad,
                         [&](WideHash hash, auto&&...) { allow.add(hash); });
    allow.finish();
  }

  void take_blocked() {
    Batch block([&](std::span<const WideHash> hashes) { builder_.block_all(hashes).value(); });
    const auto take = [&](WideHash hash, const Place& place, std::string_view line) {
      if (allowed_.contains(hash)) return take_of_both(place, line);
      if (today_ && today_->contains(hash)) arrived_.add(hash);
      block.add(hash);
      ++blocked_;
    };
    bad_ += each_address(options_.files, options_.skip_bad, take);
    block.finish();
  }
  void take_of_both(const Place& place, std::string_view line) {
    if (!options_.allow_wins)
      refuse(place.text(line) +
             " is on the allow list too; take it out of one of them, or give --allow-wins");
    ++in_both_;
  }

  void put_in_force(const bloomery::AnySet& list) {
    // From here on `add` waits, and what it has added so far is in what is read now.
    state_.lock(true).value();
    Additions left{bloomery::Want{}};
    if (const auto now = open_in_force(state_); now && now->today && !options_.forget_today)
      now->today->for_each([&](WideHash hash) {
        if (!arrived_.contains(hash) && !allowed_.contains(hash)) left.add(hash);
      });
    const std::string next = state_.begin().value();
    bloomery::save_image(state_.file(next, "list.blm"),
                         {.parts = list.parts().value(), .hasher = hasher, .rules = list.rules()})
        .value();
    if (left.count() > 0) left.save(state_.file(next, "today.blm"));
    state_.commit().value();
    left_ = left.count();
  }

  void report(const bloomery::AnySet& list) const {
    if (list.overfull())
      std::cerr << "mail_block_list: warning: there are more blocked addresses than --keys says; "
                   "strangers are blocked at a rate of "
                << list.rate_now() << '\n';
    say("blocked addresses", blocked_);
    say("allowed addresses", allowed_.count());
    say("exceptions listed", list.lists()->exceptions);
    say("in both, allowed", in_both_);
    say("bad lines left out", bad_);
    say("added by day, kept", left_);
    say("bytes of the list", list.bytes());
  }

  const Options& options_;
  examples::Generations state_;
  bloomery::CascadeBuilder builder_;
  bloomery::HashSet allowed_ = bloomery::HashSet::make({}).value();
  std::optional<Additions> today_;                                   // when the update began
  bloomery::HashSet arrived_ = bloomery::HashSet::make({}).value();  // those of them that are here
  std::uint64_t blocked_ = 0;
  std::uint64_t in_both_ = 0;
  std::uint64_t bad_ = 0;
  std::uint64_t left_ = 0;
};

void update(const Options& options) {
  Files all = options.files;
  all.insert(all.end(), options.allow.begin(), options.allow.end());
  if (std::count(all.begin(), all.end(), "-") > 1)
    refuse("the standard input can be one list only");
  bloomery::check_readable(all).value();
  Update(options).run();
}

// --- add ---------------------------------------------------------------------------------------

void add(const Options& options) {
  // Reads all input before it takes the lock: somebody may be typing it.
  std::vector<WideHash> hashes;
  const std::uint64_t bad = each_address(options.files, options.skip_bad,
                                         [&](WideHash hash, auto&&...) { hashes.push_back(hash); });
  examples::Generations state(options.state);
  if (!state.current().value()) refuse(options.state + " has no list yet; run update first");
  state.lock(true).value();
  auto before = open_in_force(state);
  if (!before) refuse(options.state + " has lost its list");
  Additions today = before->today ? std::move(*before->today) : Additions{bloomery::Want{}};
  // Also those that the list seems to block: by chance, perhaps, and not after the next update.
  std::uint64_t fresh = 0;
  for (const WideHash hash : hashes) fresh += today.add(hash);
  if (fresh > 0) {
    const std::string next = state.begin().value();
    std::filesystem::create_hard_link(state.file(before->generation, "list.blm"),
                                      state.file(next, "list.blm"));
    today.save(state.file(next, "today.blm"));
    state.commit().value();
  }
  say("addresses", hashes.size());
  say("not added before", fresh);
  say("added since the update", today.count());
  say("bad lines left out", bad);
}

// --- check -------------------------------------------------------------------------------------

struct Answers {
  std::uint64_t blocked = 0;
  std::uint64_t pass = 0;
  std::uint64_t bad = 0;
  std::uint64_t changes = 0;  // of what is in force, the first included
};

void answer(Lines lines, Keys& keys, const InForce& now, bloomery::LineWriter& out,
            Answers& answers) {
  const Lines made = keys.of(lines);
  std::array<bool, bloomery::lines_per_batch> listed{};
  now.list.may_contain_all(made, std::span<bool>(listed).first(made.size()));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (made[i].empty()) {
      out.append("bad\t");
      ++answers.bad;
    } else if (listed[i] || (now.today && now.today->may_contain(hasher.wide(made[i])))) {
      out.append("blocked\t");
      ++answers.blocked;
    } else {
      out.append("pass\t");
      ++answers.pass;
    }
    out.append(lines[i]);
    out.append("\n");
  }
}

void check(const Options& options) {
  const examples::Generations state(options.state);
  std::optional<InForce> now;
  Inputs inputs(options.files, line_rules());
  Keys keys;
  bloomery::LineWriter out(STDOUT_FILENO, "standard output");
  Answers answers;
  while (out.good()) {
    // Flush before waiting for input: a program may wait for our answer before it sends more.
    if (!inputs.ready()) out.flush().value();
    const Lines lines = inputs.next().value();
    if (lines.empty()) break;
    const auto generation = state.current().value();
    if (!generation) refuse(options.state + " has no list yet; run update first");
    if (!now || now->generation != *generation) {
      now = open_in_force(state);
      if (!now) refuse(options.state + " has lost its list");
      ++answers.changes;
    }
    answer(lines, keys, *now, out, answers);
  }
  auto closed = out.close();
  if (out.reader_gone()) std::exit(2);
  closed.value();
  say("blocked", answers.blocked);
  say("pass", answers.pass);
  say("bad", answers.bad);
  say("lists in force", answers.changes);
}

// --- the words of the command line -------------------------------------------------------------

template <class T>
T number_of(std::string_view flag, std::string_view word) {
  T value{};
  const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
  if (read.ec != std::errc{} || read.ptr != word.data() + word.size() || !(value > 0))
    refuse(std::string(flag) + " does not take '" + std::string(word) + "'; give a number above 0");
  return value;
}

// nullopt: the command line is not valid; the caller prints the usage.
std::optional<Options> read_options(std::span<char*> words) {
  if (words.empty()) return std::nullopt;
  Options options{.verb = words[0]};
  const bool updates = options.verb == "update";
  if (!updates && options.verb != "add" && options.verb != "check") return std::nullopt;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const bool has_value = i + 1 < words.size();
    if (word == "--state" && has_value)
      options.state = words[++i];
    else if (word == "--skip-bad" && options.verb != "check")
      options.skip_bad = true;
    else if (word == "--allow" && updates && has_value)
      options.allow.emplace_back(words[++i]);
    else if (word == "--rate" && updates && has_value)
      options.rate = number_of<double>(word, words[++i]);
    else if (word == "--keys" && updates && has_value)
      options.keys = number_of<std::uint64_t>(word, words[++i]);
    else if (word == "--allow-wins" && updates)
      options.allow_wins = true;
    else if (word == "--forget-today" && updates)
      options.forget_today = true;
    else if (word.starts_with('-') && word != "-")
      return std::nullopt;
    else
      options.files.emplace_back(word);
  }
  if (options.state.empty() || (updates && options.files.empty())) return std::nullopt;
  if (options.files.empty()) options.files.emplace_back("-");
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const auto options = read_options({argv + 1, static_cast<std::size_t>(argc - 1)});
    if (!options) {
      std::cerr << usage;
      return 2;
    }
    if (options->verb == "update")
      update(*options);
    else if (options->verb == "add")
      add(*options);
    else
      check(*options);
  } catch (const std::exception& failure) {
    std::cerr << "mail_block_list: error: " << failure.what() << '\n';
    return 2;
  }
}

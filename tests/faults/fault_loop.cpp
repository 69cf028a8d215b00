// Makes the Nth call, or the Nth allocation, of every verb fail, for N = 1, 2, ... until a run has
// no fault left.
//
//    fault_loop BLOOMERY FAILING_CALLS.so FAILING_MALLOC.so [--most N] [--jobs N] [--only TEXT]
//
//    --most N    about so many faults of each case and sort, evenly spread; without it all
//                (of "no allocation at all from the Nth on", every fifth)
//    --only      cases whose name has this text
//
// The law: a run ends with the right output, files and exit code; or with 2, a sentence, and every
// file as it was or as it is to be. Nothing else is left. A call that was interrupted or that did a
// part of its work must not make it fail.
//
// One line for each thing that is wrong, then what was counted. Exit 1 when anything is wrong.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <regex>
#include <set>
#include <span>
#include <string_view>

#include "cases.hpp"

namespace bloomery::faults {
namespace {

struct Wish {
  std::string bloomery, calls, malloc;
  std::size_t most = 0;
  int jobs = 2;
  std::string only = {};
};

// Shared by the processes that do the work.
struct Tally {
  std::atomic<std::size_t> next_case, runs, faults, right, refused, wrong;
};

struct Reference {
  Files before;
  Run run;
  Files after;
  std::set<std::string> varying;  // files that are different in every run: their key is random
};

bool starts_with(const std::string& whole, const std::string& part) {
  return whole.compare(0, part.size(), part) == 0;
}

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    all.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

// Reports tell how long it took.
std::string without_times(const std::string& text) {
  static const std::regex times("(seconds|per_second)[^0-9]*[0-9.e+-]+[^\\n,}]*");
  return std::regex_replace(text, times, "$1");
}

// From some call on there is no memory at all: all numbers would take as long as all else together.
constexpr std::size_t every_nth = 5;

class CaseLoop {
 public:
  CaseLoop(const Case& one, const Wish& wish, Place& place, const Files& made, Tally& tally)
      : case_(one), wish_(wish), place_(place), tally_(tally), words_{wish.bloomery} {
    words_.insert(words_.end(), one.words.begin(), one.words.end());
    for (const std::string& name : one.needs) right_.before[name] = made.at(name);
    if (!one.pipe.empty()) pipe_ = made.at(one.pipe);
  }

  void run() {
    if (!find_right()) return;
    for_calls();
    for_allocations(0);
    for_allocations(1);
  }

 private:
  // What the run without a fault does; twice, to see what differs.
  bool find_right() {
    place_.put(right_.before);
    const Run first = place_.run(words_, pipe_);
    const Files files = place_.files();
    place_.put(right_.before);
    right_.run = place_.run(words_, pipe_);
    right_.after = place_.files();
    for (const auto& [name, bytes] : right_.after)
      if (!files.contains(name) || files.at(name) != bytes || is_live_state(name))
        right_.varying.insert(name);
    const int most = case_.refused ? 2 : 1;
    const bool good = first.exit <= most && first.exit == right_.run.exit &&
                      without_times(first.out) == without_times(right_.run.out);
    if (good) return true;
    ++tally_.wrong;
    say(right_.run, "does not do it without a fault");
    return false;
  }

  bool every_one() const { return wish_.most == 0 || case_.whole; }

  std::size_t stride(std::size_t faults) const {
    return std::max<std::size_t>(1, faults / wish_.most);
  }

  // How many there are: the last one that fails is looked for by doubling.
  std::size_t count(FaultyProgram& program) {
    const auto fails = [&](std::size_t at) { return once(program, {.at = at}).injected(); };
    std::size_t end = 1;
    while (fails(end)) end *= 2;
    std::size_t begin = end / 2;
    while (begin + 1 < end) {
      const std::size_t middle = (begin + end) / 2;
      (fails(middle) ? begin : end) = middle;
    }
    return begin;
  }

  void for_calls() {
    constexpr std::size_t usual_ways = 3;
    FaultyProgram program(place_, words_, wish_.calls, pipe_);
    const std::size_t step = every_one() ? 1 : stride(usual_ways * count(program));
    for (std::size_t at = 1;; at += step) {
      const Run run = once(program, {.at = at});
      if (!run.injected()) return;
      for (std::size_t how = 1; how < run.ways; ++how) once(program, {.at = at, .how = how});
    }
  }

  void for_allocations(unsigned long every) {
    FaultyProgram program(place_, words_, wish_.malloc, pipe_);
    std::size_t step = every_one() ? 1 : stride(count(program));
    if (every != 0) step *= every_nth;
    for (std::size_t at = 1; once(program, {.at = at, .every = every}).injected(); at += step)
      continue;
  }

  Run once(FaultyProgram& program, const Fault& fault) {
    place_.put(right_.before);
    const Run run = program.run(fault);
    ++tally_.runs;
    tally_.faults += run.injected();
    const auto wrong = what_is_wrong(run);
    if (wrong) {
      ++tally_.wrong;
      if (told_.insert(*wrong + run.call + run.how).second)
        say(run,
            fmt::format("{} [at {} how {} every {}]", *wrong, fault.at, fault.how, fault.every));
    } else {
      ++(run.exit == 2 && !case_.refused ? tally_.refused : tally_.right);
    }
    return run;
  }

  std::optional<std::string> what_is_wrong(const Run& run) {
    if (run.hung) return "hangs";
    if (run.exit >= 128) return fmt::format("ends by signal {}", run.exit - 128);
    const Files now = place_.files();
    // What could not be unlinked stays.
    const bool may_stay = run.call == "unlinkat" || run.call == "unlink" || run.call == "remove";
    if (!place_.temporary().empty() && !may_stay) return "leaves a temporary file";
    for (const auto& [name, bytes] : now)
      if (!right_.before.contains(name) && !right_.after.contains(name) && !may_stay)
        return fmt::format("leaves {}", name.substr(0, 10));
    const bool same =
        run.exit == right_.run.exit &&
        (run.out == right_.run.out || without_times(run.out) == without_times(right_.run.out));
    if (same) {
      if (const auto wrong = not_right(now)) return wrong;
      if (!case_.refused || run.err == right_.run.err) return check_again(run, now);
    }
    if (run.exit != 2)
      return fmt::format("exits with {} instead of {}{}", run.exit, right_.run.exit,
                         run.out == right_.run.out ? "" : ", with other output");
    const bool heard = run.call != "fwrite" && run.call != "fclose";
    if (run.err.find("bloomery: error: ") == std::string::npos && heard) return "says nothing";
    const bool carries_on = (run.how == "EINTR" || run.how == "short") && run.call != "getrandom";
    if (carries_on) return fmt::format("gives up after {} of {}", run.how, run.call);
    if (run.err.find("bad_alloc") != std::string::npos) return "says bad_alloc";
    if (!is_begun(run.out)) return "prints something else";
    if (const auto wrong = not_old_or_new(now)) return wrong;
    return check_again(run, now);
  }

  // What was printed before the error is right.
  bool is_begun(const std::string& out) const {
    return case_.tells_failures || starts_with(right_.run.out, out) ||
           starts_with(without_times(right_.run.out), without_times(out));
  }

  // Its bytes tell of processes.
  bool is_live_state(const std::string& name) const {
    const auto& words = case_.words;
    const bool made_live =
        name == "S" && std::find(words.begin(), words.end(), "--live") != words.end();
    return case_.law != Law::files && (made_live || name.ends_with(".live"));
  }

  bool is_output(const std::string& name) const {
    return case_.law == Law::state_and_output && (name == "OUT" || name == "old.txt");
  }

  std::optional<std::string> not_right(const Files& now) const {
    for (const auto& [name, bytes] : right_.after) {
      if (!now.contains(name)) return "succeeds without " + name;
      if (now.at(name) != bytes && !right_.varying.contains(name))
        return "succeeds with a wrong " + name;
    }
    return {};
  }

  std::optional<std::string> not_old_or_new(const Files& now) const {
    for (const auto& [name, bytes] : right_.before)
      if (!now.contains(name)) return "loses " + name;
    for (const auto& [name, bytes] : now) {
      const bool old = right_.before.contains(name) && right_.before.at(name) == bytes;
      const bool done = right_.after.contains(name) && right_.after.at(name) == bytes;
      // A state at a checkpoint, and its output: the run that follows is judged.
      if (old || done || case_.law != Law::files) continue;
      return "leaves a part of " + name;
    }
    return {};
  }

  static std::size_t count_lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  // What is left of a live set.
  std::optional<std::string> check_live(const Run& run) {
    const std::string& set = case_.needs[0];
    Run told = place_.run({wish_.bloomery, "verify", set});
    if (told.exit != 0) return "leaves a set that does not verify: " + told.out + told.err;
    const bool refused = run.exit != right_.run.exit;
    if (refused) {
      told = place_.run({wish_.bloomery, "add", "-q", set, "more"});
      if (told.exit != 0) return "leaves a set that takes no keys: " + told.err;
    }
    std::vector<std::string> asking = {wish_.bloomery, "check", "-c", set};
    std::size_t lines = 0;
    const auto expect = [&](const std::string& file) {
      asking.push_back(file);
      lines += count_lines(right_.before.at(file));
    };
    if (case_.words[0] != "remove") expect("in");
    if (refused || case_.words[0] == "add") expect("more");
    if (lines == 0) return {};
    told = place_.run(asking);
    if (told.out != std::to_string(lines) + "\n") return "loses a key: " + told.out + told.err;
    return {};
  }

  // The same run once more, with nothing that fails.
  std::optional<std::string> check_again(const Run& run, const Files& now) {
    if (case_.law == Law::live) return check_live(run);
    if (case_.law == Law::files || (now == right_.before && run.out.empty())) return {};
    const Run again = place_.run(words_, pipe_);
    if (again.exit != right_.run.exit) return fmt::format("cannot be run again: {}", again.err);
    const Files after = place_.files();
    if (case_.law == Law::state) {
      auto seen = lines_of(run.out);
      seen.merge(lines_of(again.out));
      if (seen != lines_of(right_.run.out)) return "loses a line";
      if (run.exit == right_.run.exit && !again.out.empty()) return "forgets a line";
      return {};
    }
    for (const auto& [name, bytes] : right_.after)
      if (is_output(name) && after.at(name) != bytes) return "run again, its output is another";
    return {};
  }

  void say(const Run& run, const std::string& what) const {
    std::string err = run.err.substr(0, 300);
    if (!err.empty() && err.back() == '\n') err.pop_back();
    fmt::print("WRONG {}: {}, after {} of {} (exit {}): {}\n", case_.name, what, run.how, run.call,
               run.exit, err);
    std::fflush(stdout);
  }

  const Case& case_;
  const Wish& wish_;
  Place& place_;
  Tally& tally_;
  std::vector<std::string> words_;
  std::string pipe_;
  Reference right_;
  std::set<std::string> told_;
};

void work(const Wish& wish, const std::vector<Case>& cases, const std::filesystem::path& root,
          Tally& tally) {
  Place place(root);
  const Files made = made_files(wish.bloomery, place);
  for (std::size_t at = tally.next_case++; at < cases.size(); at = tally.next_case++)
    CaseLoop(cases[at], wish, place, made, tally).run();
}

int loop(const Wish& wish) {
  auto cases = all_cases();
  std::erase_if(cases,
                [&](const Case& one) { return one.name.find(wish.only) == std::string::npos; });
  // In memory, where there is such a place: files are made a million times.
  std::string root = std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
  root += "/bloomery-faults-XXXXXX";
  if (::mkdtemp(root.data()) == nullptr) return 2;
  void* const shared =
      ::mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Tally& tally = *new (shared) Tally{};
  std::fflush(stdout);
  for (int job = 0; job < wish.jobs; ++job) {
    if (::fork() != 0) continue;
    work(wish, cases, std::filesystem::path(root) / std::to_string(job), tally);
    std::_Exit(0);
  }
  bool all_ended = true;
  for (int status = 0; ::wait(&status) > 0;) all_ended &= status == 0;
  std::filesystem::remove_all(root);
  fmt::print(
      "{} cases, {} runs, {} faults: {} right results, {} refused with a sentence, {} wrong\n",
      cases.size(), tally.runs.load(), tally.faults.load(), tally.right.load(),
      tally.refused.load(), tally.wrong.load());
  const bool tried = tally.faults > 10 * cases.size() && tally.refused > cases.size();
  if (!tried) fmt::print("too few faults: are the shims loaded?\n");
  return all_ended && tried && tally.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace bloomery::faults

int main(int count, char** words) {
  const std::span<char*> all(words, static_cast<std::size_t>(count));
  if (all.size() < 4) return 2;
  bloomery::faults::Wish wish{.bloomery = all[1], .calls = all[2], .malloc = all[3]};
  for (std::size_t at = 4; at + 1 < all.size(); at += 2) {
    const std::string_view flag = all[at];
    if (flag == "--most") wish.most = std::stoul(all[at + 1]);
    if (flag == "--jobs") wish.jobs = std::stoi(all[at + 1]);
    if (flag == "--only") wish.only = all[at + 1];
  }
  return bloomery::faults::loop(wish);
}

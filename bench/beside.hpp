// One set beside its roofline: each run measures both in turn, on the same keys.
//
//    run:  build | roofline write | add_all     all members
//          roofline write | add                 all members, or a window of them
//          roofline read | ask_all | ask        a window of members, then strangers
//
// S is a Set<K> or whatever has its verbs (peers.cpp); operations that it lacks are left out. The
// pages of a set are touched before its clock starts, but for `build`: a set united with an empty
// one has written all of its own. What takes memory as it grows (hash-set) cannot be helped so.
// Answers are checked after the clock: a member that is not found ends the benchmark.
// Threads: one, but for the operations that say so.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <bloomery/detail/engines/parallel.hpp>
#include <bloomery/detail/sets/plan.hpp>

#include <bench/findings.hpp>
#include <bench/keys.hpp>
#include <bench/roofline.hpp>

namespace bloomery::bench {

// Times of one operation, run by run.
class Samples {
 public:
  void add(double ns, const Roof& roof) {
    ns_.push_back(ns);
    first_ns_.push_back(roof.first);
    first_ratio_.push_back(ns / roof.first);
    second_ns_.push_back(roof.second);
    second_ratio_.push_back(ns / roof.second);
  }
  bool empty() const { return ns_.empty(); }
  Timing timing(Operation operation, std::uint64_t keys) const {
    return {operation,          keys,
            median(ns_),        *std::min_element(ns_.begin(), ns_.end()),
            median(first_ns_),  median(first_ratio_),
            median(second_ns_), median(second_ratio_)};
  }

 private:
  // Of an even number the mean of the middle two.
  static double median(std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return (all[(all.size() - 1) / 2] + all[all.size() / 2]) / 2;
  }

  std::vector<double> ns_, first_ns_, first_ratio_, second_ns_, second_ratio_;
};

template <class S, class Input, class Key>
class Beside {
 public:
  Beside(const KeyStore<Key>& keys, const Want& want, Roofline roofline)
      : keys_(keys), want_(want), roofline_(std::move(roofline)), answers_(touched_answers()) {}

  Finding measure(const std::string& subject, const Task& task) {
    const auto start = std::chrono::steady_clock::now();
    const auto seconds = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    Finding finding{.subject = subject};
    // After the first, a run that would end too late is not begun.
    for (double last = 0; finding.runs < task.most_runs; ++finding.runs) {
      const double before = seconds();
      if (finding.runs != 0 && before + last > task.seconds) break;
      run(finding, task);
      last = seconds() - before;
    }
    for (std::size_t i = 0; i < operation_count; ++i)
      if (!samples_[i].empty())
        finding.timings.push_back(samples_[i].timing(static_cast<Operation>(i), timed_[i]));
    return finding;
  }

 private:
  using Keys = std::span<const Key>;
  static constexpr bool bulk_adds = requires(S set, Keys keys) { set.add_all(keys); };
  static constexpr bool bulk_asks = requires(const S set, Keys keys, std::span<bool> answers) {
    set.may_contain_all(keys, answers);
  };
  static constexpr bool threads_add = requires(S set, Keys keys, Threads threads) {
    set.add_all(keys, threads);
  };
  static constexpr bool threads_ask =
      requires(const S set, Keys keys, std::span<bool> answers, Threads threads) {
    set.may_contain_all(keys, answers, threads);
  };
  static constexpr bool by_lines = requires(S set, Keys keys) { set.add_all_by_lines(keys); };
  // Smaller sets lie in the caches anyway.
  static constexpr std::uint64_t worth_bringing_together = std::uint64_t{64} << 20;
  static constexpr bool adds_one = requires(S set, const Key& key) { set.add(key); };
  static constexpr bool unites = requires(S set) { set.unite(set); };

  void run(Finding& finding, const Task& task) {
    S set = filled();
    finding.bytes = set.bytes();
    finding.bits_per_key = static_cast<double>(set.bytes()) * 8 /
                           static_cast<double>(std::max<std::size_t>(1, members().size()));
    if (task.threads > 1) with_threads(set, task.threads);
    const std::size_t found = ask(set, window(), Operation::ask_all_hit, Operation::ask_hit);
    if (found != window().size()) throw std::logic_error("a key that was added is not found");
    const Keys strangers = keys_.strangers();
    finding.rate =
        static_cast<double>(ask(set, strangers, Operation::ask_all_miss, Operation::ask_miss)) /
        static_cast<double>(strangers.size());
  }

  // A set of all members, after every way of adding was timed.
  S filled() {
    std::optional<S> built;
    double build_ns = 0;
    // Before the roofline, so that it stands between the two ways of adding all.
    if constexpr (bulk_adds)
      build_ns = ns_per_key(members().size(), [&] {
        built.emplace(made());
        keep(built->add_all(members()));
      });
    if constexpr (!adds_one) {
      note(Operation::build, members(), write_roofline(members()), build_ns);
      return std::move(*built);
    } else if constexpr (!bulk_adds) {
      S set = made();
      add_one_by_one(set, members());
      return set;
    } else {
      built.reset();
      const std::size_t all = members().size();
      const Keys head = members().first(all <= window_keys ? all : all - window_keys);
      S set = touched();
      const Roof roofline = write_roofline(head);
      note(Operation::build, members(), roofline, build_ns);
      note(Operation::add_all, head, roofline,
           ns_per_key(head.size(), [&] { keep(set.add_all(head)); }));
      if constexpr (by_lines)
        if (set.bytes() >= worth_bringing_together && set.kind().has_one_line()) {
          S other = touched();
          const Roof beside = write_roofline(head);
          note(Operation::add_by_lines, head, beside,
               ns_per_key(head.size(), [&] { keep(other.add_all_by_lines(head)); }));
        }
      if (head.size() < all) {
        add_one_by_one(set, members().subspan(head.size()));
      } else {
        S other = touched();
        add_one_by_one(other, members());
      }
      return set;
    }
  }

  void add_one_by_one(S& set, Keys keys) {
    const Roof roofline = write_roofline(keys);
    std::size_t fresh = 0;
    note(Operation::add, keys, roofline, ns_per_key(keys.size(), [&] {
           for (const Key& key : keys) fresh += set.add(key);
         }));
    keep(fresh);
  }

  // Returns how many passed.
  std::size_t ask(const S& set, Keys keys, Operation bulk, Operation single) {
    const Roof roofline = roofline_.template read<Input>(keys, keys_.range_bits());
    const std::span<bool> answers(answers_.get(), keys.size());
    if constexpr (bulk_asks)
      note(bulk, keys, roofline,
           ns_per_key(keys.size(), [&] { set.may_contain_all(keys, answers); }));
    std::size_t passed = 0;
    const double ns = ns_per_key(keys.size(), [&] {
      for (const Key& key : keys) passed += set.may_contain(key);
    });
    note(single, keys, roofline, ns);
    if (bulk_asks &&
        std::count(answers.begin(), answers.end(), true) != static_cast<std::ptrdiff_t>(passed))
      throw std::logic_error("bulk and single asks differ");
    return passed;
  }

  void with_threads(const S& set, unsigned threads) {
    // With fewer keys it would be one thread beside a roofline of several.
    const std::size_t worth = std::size_t{threads} * bloomery::detail::least_added_per_thread;
    if constexpr (threads_add)
      if (members().size() >= worth) add_with_threads(threads);
    if constexpr (threads_ask)
      if (window().size() >= threads * bloomery::detail::least_asked_per_thread)
        ask_with_threads(set, threads);
  }

  void add_with_threads(unsigned threads) {
    if constexpr (threads_add) {
      S other = touched();
      const Roof roofline = roofline_.template write<Input>(members(), keys_.range_bits(), threads);
      note(Operation::add_threads, members(), roofline,
           ns_per_key(members().size(), [&] { keep(other.add_all(members(), Threads{threads})); }));
    }
  }

  void ask_with_threads(const S& set, unsigned threads) {
    if constexpr (threads_ask) {
      const std::span<bool> answers(answers_.get(), window().size());
      const Roof roofline = roofline_.template read<Input>(window(), keys_.range_bits(), threads);
      note(Operation::ask_threads, window(), roofline, ns_per_key(window().size(), [&] {
             set.may_contain_all(window(), answers, Threads{threads});
           }));
    }
  }

  S made() const { return S::make(want_).value(); }
  S touched() const {
    S set = made();
    if constexpr (unites) {
      set.unite(made());
    } else if constexpr (requires { set.advance(); }) {
      for (int turn = 0; turn < 5; ++turn) set.advance();  // clears every generation
    } else {
      keep(set.add_all(members()));
      keep(set.remove_all(members()));
    }
    return set;
  }

  Keys members() const { return keys_.members(); }
  Keys window() const {
    return members().first(std::min<std::size_t>(members().size(), window_keys));
  }
  Roof write_roofline(Keys keys) {
    return roofline_.template write<Input>(keys, keys_.range_bits());
  }
  void note(Operation operation, Keys keys, const Roof& roofline, double ns) {
    const auto i = static_cast<std::size_t>(operation);
    samples_[i].add(ns, roofline);
    timed_[i] = keys.size();
  }

  std::unique_ptr<bool[]> touched_answers() const {
    const std::size_t most = std::max(window().size(), keys_.strangers().size());
    return std::make_unique<bool[]>(most);
  }

  const KeyStore<Key>& keys_;
  Want want_;
  Roofline roofline_;
  std::unique_ptr<bool[]> answers_;
  std::array<Samples, operation_count> samples_;
  std::array<std::uint64_t, operation_count> timed_{};
};

}  // namespace bloomery::bench

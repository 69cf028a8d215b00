// Who works on the pieces of a build. Kinds start no threads; build.hpp hands in a crew of
// several.
//
//    crew.share(pieces, most, [&](unsigned worker, std::uint64_t piece) { ... });
//
// Each piece is done once, by one worker; which one is chance. So what comes out must depend on the
// pieces alone.
// Limits:  a piece that runs out of memory ends the sharing with an Error; whatever else it throws
//          is thrown by share().
// Threads: share() returns when all workers have ended.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

class Crew {
 public:
  using Work = std::function<void(unsigned worker)>;
  // Calls work(0) to work(workers - 1) at once; or work(0) alone, where no threads are given. What
  // they throw is thrown.
  using Run = std::function<void(unsigned workers, const Work& work)>;

  // The caller alone.
  Crew() = default;
  Crew(unsigned workers, Run run) : workers_(std::max(1U, workers)), run_(std::move(run)) {}

  unsigned workers() const { return workers_; }

  // Calls piece(worker, i) for all i below `pieces`, by at most `most` workers. Worker numbers are
  // below both `most` and workers().
  template <class Piece>
  Result<void> share(std::uint64_t pieces, unsigned most, Piece&& piece) const {
    std::atomic<std::uint64_t> next = 0;
    std::atomic<bool> starved = false;
    const Work work = [&](unsigned worker) {
      const bool done = had_memory([&] {
        for (std::uint64_t i; (i = next++) < pieces && !starved;) piece(worker, i);
      });
      if (!done) starved = true;
    };
    const auto workers =
        static_cast<unsigned>(std::min<std::uint64_t>({workers_, most, std::max(pieces, one)}));
    if (workers > 1 && run_)
      run_(workers, work);
    else
      work(0);
    if (starved) return Error{Code::no_memory, "the system does not give the memory to build with"};
    return {};
  }

 private:
  static constexpr std::uint64_t one = 1;

  unsigned workers_ = 1;
  Run run_;
};

}  // namespace bloomery::inline v0::detail

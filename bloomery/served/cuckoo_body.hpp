// What CF.* commands ask of a filter, whichever engine it is of: one virtual call per command.
//
//    CF.* --> CuckooBody --> NativeCuckoo     (our own, the default)
//                        --> CompatCuckoo     (types and bytes of RedisBloom)
//
// See:     filter_body.hpp for what Bloom filters are asked as well.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <bloomery/served/add_outcome.hpp>
#include <bloomery/served/filter_body.hpp>

namespace bloomery::inline v0::detail::served {

class CuckooBody : public FilterBody {
 public:
  struct Info {
    std::uint64_t bytes = 0;
    std::uint64_t buckets = 0;
    std::uint64_t filters = 0;
    std::uint64_t keys = 0;
    std::uint64_t removed = 0;
    std::uint64_t bucket_size = 0;
    std::uint64_t expansion = 0;
    std::uint64_t max_iterations = 0;
  };

  ~CuckooBody() override { --alive; }
  static inline std::atomic<std::uint64_t> alive = 0;  // for INFO

  // Has it grown as often as this setting allows?
  virtual bool has_grown_out(std::uint64_t most_expansions) const = 0;
  // Does CF.SCANDUMP give an empty filter, too?
  virtual bool dumps_when_empty() const { return false; }
  struct Adding {
    bool only_absent = false;  // else once more each time, and an added copy is fresh
    std::uint64_t cap_bytes = UINT64_MAX;
  };
  // In order, also behind one that finds no room.
  virtual void add_all(std::span<const std::string_view> keys, const Adding& adding,
                       std::span<AddOutcome> answers) = 0;
  virtual std::uint64_t count(std::string_view key) const = 0;
  // Takes out one copy; false if the filter has no copy.
  virtual bool remove(std::string_view key) = 0;
  // Has so much been removed that the filter should be compacted?
  virtual bool wants_compaction() const { return false; }
  // A bounded part of a compaction. Replicas are told which, so that they do the same.
  struct Compaction {
    std::uint64_t table = INT64_MAX;  // from here on, or the newest; these two are the filter's own
    std::uint64_t place = 0;
    bool through_all = true;  // else up to the first table that keeps something
    std::uint64_t steps = most_steps;
    // A step takes some hundred nanoseconds at most, with a cache miss for every look.
    static constexpr std::uint64_t most_steps = 20'000;
  };
  virtual void compact(const Compaction& part) = 0;
  // Where the last part left off.
  const std::optional<Compaction>& unfinished() const { return unfinished_; }
  virtual Info info() const = 0;
  virtual std::string debug_line() const = 0;

 protected:
  CuckooBody() { ++alive; }
  CuckooBody(CuckooBody&& other) noexcept
      : FilterBody(std::move(other)), unfinished_(other.unfinished_) {
    ++alive;
  }
  CuckooBody& operator=(CuckooBody&&) = default;

  std::optional<Compaction> unfinished_;
};

}  // namespace bloomery::inline v0::detail::served

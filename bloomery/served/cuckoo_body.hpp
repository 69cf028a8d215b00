// What CF.* commands ask of a filter, whichever engine it is of.
//
//    CF.* --> CuckooBody --> NativeCuckooBody --> NativeCuckoo     (our own, the default)
//                        --> CompatCuckooBody --> CompatCuckoo     (types and bytes of RedisBloom)
//
// A body is the value of a key of a server.
// Threads: commands run one at a time; a body may be destroyed on another thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <bloomery/served/bloom_body.hpp>
#include <bloomery/served/host_bytes.hpp>
#include <bloomery/served/mover.hpp>

namespace bloomery::inline v0::detail::served {

class CuckooBody : public InHostMemory {
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
  using Piece = BloomBody::Piece;

  CuckooBody() { ++alive; }
  CuckooBody(const CuckooBody&) = delete;
  CuckooBody& operator=(const CuckooBody&) = delete;
  virtual ~CuckooBody() { --alive; }
  static inline std::atomic<std::uint64_t> alive = 0;  // for INFO

  // Has it grown as often as this setting allows?
  virtual bool has_grown_out(std::uint64_t most_expansions) const = 0;
  // Does CF.SCANDUMP give an empty filter, too?
  virtual bool dumps_when_empty() const { return false; }
  struct Adding {
    bool only_absent = false;  // else once more each time
    std::uint64_t cap_bytes = UINT64_MAX;
  };
  // In order, also behind one that finds no room.
  virtual void add_all(std::span<const std::string_view> keys, const Adding& adding,
                       std::span<AddOutcome> answers) = 0;
  virtual void may_contain_all(std::span<const std::string_view> keys,
                               std::span<bool> answers) const = 0;
  virtual std::uint64_t count(std::string_view key) const = 0;
  virtual bool remove(std::string_view key) = 0;
  // Has so much been removed that the filter should be compacted?
  virtual bool wants_compaction() const { return false; }
  // A bounded part of a compaction. Replicas are told which, so that they do the same.
  struct Compaction {
    std::uint64_t table = INT64_MAX;  // from here on; these two are the filter's own
    std::uint64_t place = 0;
    bool through_all = true;  // else up to the first table that keeps something
    std::uint64_t steps = most_steps;
    // Of some hundred nanoseconds at most, when every look waits for memory.
    static constexpr std::uint64_t most_steps = 20'000;
  };
  virtual void compact(const Compaction& part) = 0;
  // Where the last part left off.
  const std::optional<Compaction>& unfinished() const { return unfinished_; }
  virtual Info info() const = 0;
  virtual std::uint64_t payload_bytes() const = 0;
  virtual std::uint64_t memory_bytes() const = 0;
  virtual std::string debug_line() const = 0;
  // The saved form, piece by piece from position 0 on; good until the filter changes.
  virtual Piece piece(std::uint64_t position) const = 0;
  // Takes a piece that came with this `next`, after the first.
  virtual bool load_piece(std::uint64_t next, std::string_view bytes) = 0;
  // Null when there is not enough memory for it.
  virtual std::unique_ptr<CuckooBody> clone() const = 0;
  // For active defragmentation: moves parts from a number on; the next number, or 0 at the end.
  virtual std::uint64_t move_parts(const Mover& mover, std::uint64_t from) = 0;

 protected:
  std::optional<Compaction> unfinished_;
};

}  // namespace bloomery::inline v0::detail::served

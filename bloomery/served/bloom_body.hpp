// What BF.* commands ask of a filter, whichever engine it is of: one virtual call per command.
//
//    BF.* --> BloomBody --> NativeBloomBody --> NativeBloom     (our own, the default)
//                       --> CompatBloomBody --> CompatBloom     (types and bytes of RedisBloom)
//
// A body is the value of a key of a server. Keys come in spans, so that an engine can wait for the
// memory of many at once.
// Threads: commands run one at a time; a body may be destroyed on another thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/served/host_bytes.hpp>
#include <bloomery/served/mover.hpp>

namespace bloomery::inline v0::detail::served {

enum class AddOutcome {
  fresh,
  seen,
  full,       // the filter may not grow
  refused,    // it cannot grow any more
  no_memory,  // or not within its cap, or what the host has
};

class NativeBloomBody;

class BloomBody : public InHostMemory {
 public:
  struct Info {
    std::uint64_t capacity = 0;
    std::uint64_t bytes = 0;
    std::uint64_t filters = 0;
    std::uint64_t keys = 0;
    std::optional<std::uint32_t> expansion;  // none when it does not grow
  };
  // A piece of the saved form, and the position of the next one; 0: there are no more.
  struct Piece {
    std::uint64_t next = 0;
    std::string_view lent;  // by the filter
    std::string own;        // or made for this
    std::string_view bytes() const { return own.empty() ? lent : own; }
  };
  enum class Loaded { done, no_link, too_big, no_memory, damaged };

  BloomBody() { ++alive; }
  BloomBody(const BloomBody&) = delete;
  BloomBody& operator=(const BloomBody&) = delete;
  virtual ~BloomBody() { --alive; }
  static inline std::atomic<std::uint64_t> alive = 0;  // for INFO

  // Answers are as many as keys; after the first failure no more are given. How many were.
  virtual std::size_t add_all(std::span<const std::string_view> keys, std::uint64_t cap_bytes,
                              std::span<AddOutcome> answers) = 0;
  virtual void may_contain_all(std::span<const std::string_view> keys,
                               std::span<bool> answers) const = 0;
  // Does an add of what was seen change the filter all the same?
  virtual bool changes_when_seen() const { return false; }
  // This, if it is of our own engine; else null.
  virtual NativeBloomBody* native() { return nullptr; }
  virtual Info info() const = 0;
  // May look at every bit.
  virtual double rate_now() const = 0;
  virtual std::uint64_t payload_bytes() const = 0;
  virtual std::uint64_t memory_bytes() const = 0;
  virtual std::vector<std::string> debug_lines() const = 0;
  // The saved form, piece by piece from position 0 on; good until the filter changes.
  virtual Piece piece(std::uint64_t position) const = 0;
  // Takes a piece that came with this `next`, after the first.
  virtual Loaded load_piece(std::uint64_t next, std::string_view bytes) = 0;
  // Null when there is not enough memory for it.
  virtual std::unique_ptr<BloomBody> clone() const = 0;
  // For active defragmentation: moves parts from a number on; the next number, or 0 at the end.
  virtual std::uint64_t move_parts(const Mover& mover, std::uint64_t from) = 0;
};

}  // namespace bloomery::inline v0::detail::served

// What BF.* commands ask of a filter, whichever engine it is of: one virtual call per command.
//
//    BF.* --> BloomBody --> NativeBloom     (our own, the default)
//                       --> CompatBloom     (types and bytes of RedisBloom)
//
// See:     filter_body.hpp for what cuckoo filters are asked as well.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <bloomery/served/add_outcome.hpp>
#include <bloomery/served/filter_body.hpp>

namespace bloomery::inline v0::detail::served {

class NativeBloom;

class BloomBody : public FilterBody {
 public:
  struct Info {
    std::uint64_t capacity = 0;
    std::uint64_t bytes = 0;
    std::uint64_t filters = 0;
    std::uint64_t keys = 0;
    std::optional<std::uint32_t> expansion;  // none when it does not grow
  };

  ~BloomBody() override { --alive; }
  static inline std::atomic<std::uint64_t> alive = 0;  // for INFO

  // One answer for each key, up to and including the first failure. Returns how many were given.
  virtual std::size_t add_all(std::span<const std::string_view> keys, std::uint64_t cap_bytes,
                              std::span<AddOutcome> answers) = 0;
  // Does adding a key that was seen change the filter?
  virtual bool changes_when_seen() const { return false; }
  // This, if it is of our own engine; else nullptr.
  virtual NativeBloom* native() { return nullptr; }
  virtual Info info() const = 0;
  // The false-positive rate now. May read every bit.
  virtual double rate_now() const = 0;
  virtual std::vector<std::string> debug_lines() const = 0;

 protected:
  BloomBody() { ++alive; }
  BloomBody(BloomBody&& other) noexcept : FilterBody(std::move(other)) { ++alive; }
  BloomBody& operator=(BloomBody&&) = default;
};

}  // namespace bloomery::inline v0::detail::served

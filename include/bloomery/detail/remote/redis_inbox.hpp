// Bytes as they come from a Redis server, cut into whole replies (RESP 2).
//
//    append(bytes) ... --> next() --> the bytes of one reply, or none while some are missing
//
// hiredis parses only what is whole and sound: it takes the server's word for the length of an
// array and asks for that much memory, and it goes on for as long as bytes trickle in.
// Limits:  a reply has at most `most_bytes` and is nested at most `most_depth` deep; anything else
//          is an Error of Code::not_ours before there is memory for it. The largest that the set
//          asks for is a shard of 1 MiB.
// Threads: one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

class RedisInbox {
 public:
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;
  static constexpr std::size_t most_depth = 7;

  void append(std::string_view bytes);
  // Good until the next call of either. Nothing: not all of it has come.
  Result<std::optional<std::string_view>> next();

 private:
  // One header line and what it announces; false while bytes are missing.
  Result<bool> take_item();
  Result<bool> take_text(std::int64_t length, std::size_t after);
  Result<bool> take_array(std::int64_t length, std::size_t after);
  void item_ended();

  std::string bytes_;
  std::size_t begin_ = 0;  // of the reply that is being read
  std::size_t at_ = 0;     // of its next item
  // Items that are still to come in the arrays that are open, the innermost last.
  std::array<std::int64_t, most_depth> left_ = {};
  std::size_t depth_ = 0;
  bool whole_ = false;
};

}  // namespace bloomery::inline v0::detail

// The interface between a writer and the codecs: bytes in, compressed bytes out.
//
//    lines --> | buffer | --encode--> | compressed | --> file            LineWriter owns both ends
//
// An Encoder opens nothing and writes nothing. This library has only this interface; bloomery::text
// has the codecs (compress.hpp), as with decoder.hpp.
// Threads: one Encoder, one thread.
#pragma once

#include <string>
#include <string_view>

#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

// How much of the input must be in the output.
enum class EncodeUntil {
  more,     // as it suits the codec: more bytes follow
  flushed,  // all of it, so that a reader can decode it; more bytes follow
  end,      // all of it, and the end of the stream; the Encoder is not used again
};

class Encoder {
 public:
  virtual ~Encoder() = default;

  // Takes all of `in`, at most most_encoded_at_once bytes, and appends what it makes to `out`.
  virtual Result<void> encode(std::string_view in, EncodeUntil until, std::string& out) = 0;
};

inline constexpr std::size_t most_encoded_at_once = std::size_t{1} << 20;

}  // namespace bloomery::inline v0::detail

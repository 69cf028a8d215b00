// The interface between a file and the codecs: compressed bytes in, bytes out.
//
//    first bytes --recognise--> Decoder or none
//    file --> | compressed | --decode--> | bytes |         InputFile owns both ends
//
// A Decoder opens nothing and reads nothing: it gets bytes and a buffer for its output, so that
// only the file knows about pipes, offsets and waiting. This library has only this interface;
// bloomery::text has the codecs (decompress.hpp). A program without it reads bytes as they are.
// Threads: one Decoder, one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

// What a call took from its input and put into its output.
struct Decoded {
  std::size_t taken = 0;
  std::size_t made = 0;
  // The stream is damaged or ends too early, after what was made. The sentence follows a file name
  // and a colon. The Decoder is not used again.
  std::optional<Error> failed = {};
};

class Decoder {
 public:
  virtual ~Decoder() = default;

  // Takes some of `in`, makes some of `out`, which has room. `last`: no byte comes after `in`.
  // A call that takes nothing, makes nothing and does not fail needs more of the file or, with
  // `last`, has come to a good end.
  virtual Decoded decode(std::span<const char> in, std::span<char> out, bool last) = 0;
};

// What the first bytes of a file say about it.
struct Recognised {
  bool decided = true;                         // false: needs more bytes to decide
  std::unique_ptr<Decoder> decoder = nullptr;  // nullptr: the bytes are read as they are
  std::size_t skip = 0;                        // leading bytes that are not content
};

// Told the first bytes of a file, at least recognised_bytes of them unless the file is shorter
// (`all`: no more will come) or a pipe has not given them yet; undecided only for fewer than those.
// An Error: the file cannot be read as this format. Its sentence follows a file name and a colon.
using OpenDecoder = std::function<Result<Recognised>(std::string_view first_bytes, bool all)>;
// The header of a tar archive has 512; headers of compressed files are shorter.
inline constexpr std::size_t recognised_bytes = 1024;

}  // namespace bloomery::inline v0::detail

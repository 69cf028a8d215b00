// Compressed streams: decoded at once and in small pieces they give the same bytes and the same
// Error.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <bloomery/text/decompress.hpp>

#include <tests/fuzz/byte_feed.hpp>
#include <tests/fuzz/must.hpp>

namespace bloomery::fuzz {
namespace {

// A few bytes may stand for gigabytes.
constexpr std::size_t most_made = std::size_t{1} << 16;

struct Outcome {
  std::string made;
  std::optional<Error> failed;
  bool whole = false;  // came to its end, good or not, before most_made
};

// `in_bytes` and `out_bytes` at a time.
Outcome decoded(std::string_view stream, std::size_t in_bytes, std::size_t out_bytes) {
  auto recognised =
      open_decompressor(stream.substr(0, std::min(stream.size(), detail::recognised_bytes)), true);
  must(recognised.has_value(), "there is memory for a decoder");
  detail::Decoder& decoder = *recognised->decoder;
  Outcome outcome;
  static std::vector<char> out(most_made);
  std::size_t taken = 0;
  std::size_t offered = 0;
  while (outcome.made.size() < most_made) {
    const bool last = offered == stream.size();
    // A copy of its own size: reads beyond the piece are seen.
    const std::vector<char> in(stream.begin() + static_cast<std::ptrdiff_t>(taken),
                               stream.begin() + static_cast<std::ptrdiff_t>(offered));
    auto step = decoder.decode(in, std::span(out).first(out_bytes), last);
    must(step.taken <= in.size() && step.made <= out_bytes, "a step stays in its buffers");
    outcome.made.append(out.data(), step.made);
    taken += step.taken;
    if (step.failed) {
      outcome.failed = std::move(step.failed);
      outcome.whole = true;
      break;
    }
    if (step.taken > 0 || step.made > 0) continue;
    if (last) {
      must(taken == stream.size(), "a good end is behind the last byte");
      outcome.whole = true;
      break;
    }
    offered = std::min(stream.size(), offered + in_bytes);
  }
  return outcome;
}

// What libzstd says in brackets depends on how much of a block it has seen.
std::string_view without_cause(std::string_view sentence) {
  return sentence.substr(0, sentence.find('('));
}

void check(std::string_view stream, std::size_t in_bytes, std::size_t out_bytes) {
  const Outcome whole = decoded(stream, stream.size(), most_made);
  const Outcome pieces = decoded(stream, in_bytes, out_bytes);
  const std::size_t both = std::min(whole.made.size(), pieces.made.size());
  must(whole.made.compare(0, both, pieces.made, 0, both) == 0, "pieces give the same bytes");
  if (!whole.whole || !pieces.whole) return;
  must(whole.failed.has_value() == pieces.failed.has_value(), "pieces fail as the whole does");
  if (!whole.failed) {
    must(whole.made.size() == pieces.made.size(), "pieces give all bytes");
    return;
  }
  must(whole.failed->code == pieces.failed->code &&
           without_cause(whole.failed->sentence) == without_cause(pieces.failed->sentence),
       "pieces give the same Error", whole.failed->sentence + " / " + pieces.failed->sentence);
}

// libzstd's oldest formats, 22 to 27 b5 2f fd, are recognised only where four bytes come at once.
bool has_old_frame(std::string_view stream) {
  for (std::size_t at = 0; (at = stream.find("\xb5\x2f\xfd", at + 1)) != stream.npos;)
    if (stream[at - 1] >= 0x22 && stream[at - 1] <= 0x27) return true;
  return false;
}

// A window of up to 128 MiB would be allocated for a few bytes, which costs the fuzzer its speed.
bool has_large_window(std::string_view stream) {
  for (std::size_t at = 0; (at = stream.find("\x28\xb5\x2f\xfd", at)) != stream.npos; at += 4) {
    if (at + 5 >= stream.size()) return false;
    const bool single = (stream[at + 4] & 0x20) != 0;
    if (single || static_cast<unsigned char>(stream[at + 5]) >= 0x50) return true;
  }
  return false;
}

}  // namespace
}  // namespace bloomery::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomery;
  fuzz::ByteFeed feed(data, size);
  const std::size_t in_bytes = 1 + feed.byte() % 64;
  const std::size_t out_bytes = 1 + feed.byte();
  const std::string_view stream = feed.rest();
  if (compressed_as(stream.substr(0, detail::recognised_bytes)).empty()) return 0;
  if (!fuzz::has_large_window(stream) && !fuzz::has_old_frame(stream))
    fuzz::check(stream, in_bytes, out_bytes);
  return 0;
}

// Images as bytes and on streams: image_bytes, write_image, read_image. The same bytes as a file.
#include <algorithm>
#include <array>
#include <cstring>
#include <istream>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/image.hpp>
#include <bloomery/storage/image_layout.hpp>
#include <bloomery/storage/image_plan.hpp>
#include <bloomery/storage/image_source.hpp>

namespace bloomery::inline v0 {

using namespace detail;
namespace {

const std::string at_hand = "the image";
const std::string on_stream = "the image on the stream";

struct Piece {
  std::uint64_t offset;
  std::span<const std::byte> bytes;
};

// Calls put(Piece) for all that is not padding, from the first byte to the last. The superblocks
// come first and hold sums over the rest, so the payloads are gone through before.
template <class Put>
Result<void> put_in_order(const Image& image, ImagePlan& plan, Put&& put) {
  ChunkSums chunks{plan.block.uuid};
  for (const Part& part : image.parts.parts) chunks.append_all(part.payload);
  const auto table = std::as_bytes(std::span(chunks.sums));
  plan.seal(table);
  std::vector<Piece> pieces = {{plan.layout.directory.offset, plan.directory},
                               {plan.layout.table.offset, table}};
  for (std::size_t i = 0; i < image.parts.parts.size(); ++i)
    pieces.push_back({plan.layout.payloads[i].offset, image.parts.parts[i].payload});
  std::ranges::sort(pieces, {}, &Piece::offset);
  for (std::uint64_t slot = 0; slot < 2; ++slot) {
    const auto bytes = encode_slot(plan.block, slot);
    if (auto done = put(Piece{slot * slot_bytes, bytes}); !done) return done.error();
  }
  for (const Piece& piece : pieces)
    if (auto done = put(piece); !done) return done.error();
  return {};
}

Result<void> resize(std::vector<std::byte>& bytes, std::uint64_t length) {
  const auto grow = [&] { bytes.resize(static_cast<std::size_t>(length)); };
  if (length > bytes.max_size() || !had_memory(grow))
    return Error{Code::no_memory, at_hand + " needs " + std::to_string(length) +
                                      " bytes, and there is not enough memory for them"};
  return {};
}

Error lost(const char* what) { return {Code::io, on_stream + " cannot be " + what}; }

// Reads what is there, in growing steps: a length that only the stream claims allocates nothing.
Result<void> read_rest(std::istream& in, std::uint64_t length, std::vector<std::byte>& bytes) {
  std::uint64_t step = std::uint64_t{1} << 20;
  while (bytes.size() < length) {
    const std::size_t have = bytes.size();
    const auto more = static_cast<std::size_t>(std::min<std::uint64_t>(length - have, step));
    if (auto done = resize(bytes, have + more); !done) return done.error();
    in.read(reinterpret_cast<char*>(bytes.data() + have), static_cast<std::streamsize>(more));
    if (in.bad()) return lost("read");
    bytes.resize(have + static_cast<std::size_t>(in.gcount()));
    if (bytes.size() < have + more) return {};  // cut short: the reader of images says so
    step *= 2;
  }
  return {};
}

}  // namespace

Result<std::vector<std::byte>> image_bytes(const Image& image) {
  auto plan = plan_image(at_hand, image);
  if (!plan) return plan.error();
  std::vector<std::byte> bytes;
  if (auto done = resize(bytes, plan->layout.file_bytes); !done) return done.error();
  auto done = put_in_order(image, *plan, [&](const Piece& piece) -> Result<void> {
    if (!piece.bytes.empty())
      std::memcpy(bytes.data() + piece.offset, piece.bytes.data(), piece.bytes.size());
    return {};
  });
  if (!done) return done.error();
  return bytes;
}

Result<Image> read_image(std::span<const std::byte> bytes, const OpenOptions& options) {
  return image_from(at_hand, BytesSource(bytes), options);
}

Result<void> write_image(std::ostream& out, const Image& image) {
  auto plan = plan_image(on_stream, image);
  if (!plan) return plan.error();
  std::uint64_t at = 0;
  const auto put = [&](const Piece& piece) -> Result<void> {
    static constexpr std::array<char, slot_bytes> zeros{};
    while (at < piece.offset) {
      const auto some = std::min<std::uint64_t>(piece.offset - at, zeros.size());
      out.write(zeros.data(), static_cast<std::streamsize>(some));
      at += some;
    }
    out.write(reinterpret_cast<const char*>(piece.bytes.data()),
              static_cast<std::streamsize>(piece.bytes.size()));
    at += piece.bytes.size();
    return out ? Result<void>{} : Result<void>{lost("written")};
  };
  if (auto done = put_in_order(image, *plan, put); !done) return done.error();
  if (auto done = put({plan->layout.file_bytes, {}}); !done) return done.error();
  out.flush();
  return out ? Result<void>{} : Result<void>{lost("written")};
}

Result<Image> read_image(std::istream& in, const OpenOptions& options) {
  std::vector<std::byte> bytes;
  if (auto done = read_rest(in, least_image_bytes, bytes); !done) return done.error();
  const auto length = image_length(on_stream, bytes);
  if (!length) return length.error();
  if (auto done = read_rest(in, *length, bytes); !done) return done.error();
  return image_from(on_stream, BytesSource(bytes), options);
}

}  // namespace bloomery::inline v0

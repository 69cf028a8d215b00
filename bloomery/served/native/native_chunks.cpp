#include <bloomery/detail/hash/xxh3.hpp>
#include <bloomery/served/native/native_chunks.hpp>

#include <utility>

namespace bloomery::inline v0::detail::served {
namespace {

constexpr std::string_view magic = "BLMRYset";
constexpr char version = 1;
constexpr std::size_t head_bytes = 16;
constexpr std::size_t sum_bytes = 8;

std::uint64_t sum_of(std::string_view bytes) { return xxh3_64(bytes.data(), bytes.size(), 0); }

}  // namespace

Error damaged_chunk(const char* what) {
  return {Code::damaged, std::string("the chunk is damaged: ") + what};
}

ChunkWriter::ChunkWriter(ChunkKind kind) : bytes_(magic) {
  bytes_.push_back(static_cast<char>(kind));
  bytes_.push_back(version);
  bytes_.resize(head_bytes);
}

void ChunkWriter::put_hasher(const Hasher& hasher) {
  put(static_cast<std::uint64_t>(hasher.mode()));
  put(hasher.seed());
  put(hasher.key().low);
  put(hasher.key().high);
}

std::string ChunkWriter::finish() && {
  put(sum_of(bytes_));
  return std::move(bytes_);
}

Result<ChunkReader> ChunkReader::open(std::string_view chunk) {
  if (chunk.size() < head_bytes + sum_bytes || !chunk.starts_with(magic))
    return Error{Code::not_ours, "these bytes are not a chunk of a native set"};
  if (chunk.size() > 2 * most_chunk_bytes) return damaged_chunk("it is too long");
  const auto kind = static_cast<std::uint8_t>(chunk[magic.size()]);
  if (kind < 1 || kind > 4) return damaged_chunk("its kind is unknown");
  if (chunk[magic.size() + 1] != version)
    return Error{Code::unsupported, "the chunk was written by a later version"};
  for (std::size_t i = magic.size() + 2; i < head_bytes; ++i)
    if (chunk[i] != 0) return damaged_chunk("its head is not as it was written");
  const std::string_view summed = chunk.substr(0, chunk.size() - sum_bytes);
  std::uint64_t sum = 0;
  std::memcpy(&sum, chunk.data() + summed.size(), sizeof sum);
  if (sum != sum_of(summed)) return damaged_chunk("its checksum is wrong");
  return ChunkReader(static_cast<ChunkKind>(kind), summed.substr(head_bytes));
}

std::uint64_t ChunkReader::word() {
  std::uint64_t word = 0;
  const auto from = bytes(sizeof word);
  if (!from.empty()) std::memcpy(&word, from.data(), sizeof word);
  return word;
}

std::span<const std::byte> ChunkReader::bytes(std::uint64_t length) {
  if (length > body_.size()) {
    sound_ = false;
    return {};
  }
  const auto taken = std::as_bytes(std::span(body_.substr(0, length)));
  body_.remove_prefix(length);
  return taken;
}

Result<Hasher> ChunkReader::hasher() {
  const std::uint64_t mode = word();
  const std::uint64_t seed = word();
  const std::uint64_t low = word();
  const std::uint64_t high = word();
  if (mode == static_cast<std::uint64_t>(HashMode::fast) && low == 0 && high == 0)
    return Hasher(seed);
  if (mode == static_cast<std::uint64_t>(HashMode::hardened) && seed == 0)
    return Hasher::hardened({low, high});
  return damaged_chunk("it names no known hash");
}

}  // namespace bloomery::inline v0::detail::served

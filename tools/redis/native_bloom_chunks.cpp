// How a NativeBloom goes into chunks and comes out of them.
//
//    head     rate | capacity | expansion | nonscaling | window | hasher: 4 words | items |
//             has shards | bits: 0 none, 1 blocked, 2 window; then
//             their length | capacity | rate | adds | shape, as in docs/format.md
//    bits     offset | as many as fit
//    shards   native_shards.cpp
#include <algorithm>
#include <cstring>
#include <utility>

#include <tools/redis/native_bloom.hpp>

namespace bloomery::redis {
namespace {

// Cursors: 0 head, 1 + offset bits, shards_cursor + place shards. All are below 2^53, since numbers
// are doubles in JavaScript and Lua; the bits of a key take at most 2^46 bytes (bf-max-key-bytes).
constexpr std::uint64_t shards_cursor = std::uint64_t{1} << 51;
constexpr std::uint64_t end_cursor = shards_cursor + PrefixShards::end_place;
static_assert(end_cursor < std::uint64_t{1} << 53);
constexpr std::uint64_t bits_in_chunk = most_chunk_bytes - 64;
// No set has counted further.
constexpr std::uint64_t most_adds = std::uint64_t{1} << 56;

template <class K>
Result<void> check_shape(const Part& part, std::uint64_t length) {
  const auto shape = decode_shape<K>(part.shape);
  if (!shape) return shape.error();
  return K::check(*shape, length);
}

}  // namespace

// -- out ------------------------------------------------------------------------------------------

// Borrows the payload; none of kind 0.
Part NativeBloom::bits() const {
  if (blocked_) return blocked_->part();
  if (window_) return window_->part();
  if (loading_ == nullptr) return {};
  return {.kind = loading_->kind,
          .shape = loading_->shape,
          .capacity = loading_->capacity,
          .rate_asked = loading_->rate_asked,
          .adds = loading_->adds,
          .payload = loading_->payload};
}

std::string NativeBloom::head() const {
  ChunkWriter writer(ChunkKind::bloom);
  writer.put_real(want_.rate);
  writer.put(want_.capacity);
  writer.put(want_.expansion);
  writer.put(want_.nonscaling);
  writer.put(want_.window);
  writer.put_hasher(want_.hasher);
  writer.put(items_);
  writer.put(shards_ != nullptr);
  const Part part = bits();
  writer.put(part.kind == 0 ? 0 : part.kind == BlockedBloom::id.number ? 1 : 2);
  if (part.kind != 0) {
    writer.put(part.payload.size());
    writer.put(part.capacity);
    writer.put_real(part.rate_asked);
    writer.put(part.adds);
    writer.put_bytes(part.shape);
  }
  return std::move(writer).finish();
}

Result<Chunk> NativeBloom::dump(std::uint64_t cursor) const {
  if (cursor > end_cursor) return Error{Code::bad_input, "no dump has such a cursor"};
  if (cursor == 0) return Chunk{1, head()};
  const Part part = bits();
  const std::uint64_t there = loading_ != nullptr ? loaded_ : part.payload.size();
  if (cursor < shards_cursor && cursor - 1 < there) {
    const std::uint64_t offset = cursor - 1;
    const std::uint64_t length = std::min(bits_in_chunk, there - offset);
    ChunkWriter writer(ChunkKind::bits);
    writer.put(offset);
    writer.put_bytes(part.payload.subspan(offset, length));
    return Chunk{cursor + length, std::move(writer).finish()};
  }
  const std::uint64_t place = cursor < shards_cursor ? 0 : cursor - shards_cursor;
  if (shards_ == nullptr || place >= shards_->loaded_to()) return Chunk{};
  ChunkWriter writer(ChunkKind::shards);
  const std::uint64_t next = shards_->dump(place, writer);
  return Chunk{shards_cursor + next, std::move(writer).finish()};
}

std::uint64_t NativeBloom::digest() const {
  std::uint64_t sum = 0;
  for (auto chunk = dump(0); chunk && chunk->next != 0; chunk = dump(chunk->next))
    sum = XXH3_64bits_withSeed(chunk->bytes.data(), chunk->bytes.size(), sum);
  return sum;
}

Result<NativeBloom> NativeBloom::clone() const {
  NativeBloom set(want_);
  set.items_ = items_;
  set.whole_ = whole_;
  set.loaded_ = loaded_;
  if (blocked_) {
    auto copy = Blocked::from_part(blocked_->part());
    if (!copy) return copy.error();
    set.blocked_.emplace(std::move(*copy));
  }
  if (window_) {
    auto copy = Window::from_part(window_->part());
    if (!copy) return copy.error();
    set.window_.emplace(std::move(*copy));
  }
  if (loading_ != nullptr) {
    set.loading_ = std::make_unique<Part>(bits());
    auto copy = Memory::copy_of(loading_->payload);
    if (!copy) return copy.error();
    set.loading_->memory = std::move(*copy);
    set.loading_->payload = set.loading_->memory.bytes();
  }
  if (shards_ != nullptr) {
    auto copy = shards_->clone();
    if (!copy) return copy.error();
    set.shards_ = std::make_unique<PrefixShards>(std::move(*copy));
  }
  return set;
}

// -- in -------------------------------------------------------------------------------------------

bool NativeBloom::is_first_chunk(std::string_view chunk) {
  const auto reader = ChunkReader::open(chunk);
  return reader && reader->kind() == ChunkKind::bloom;
}

Result<NativeBloom> NativeBloom::load(std::string_view first, std::uint64_t memory_cap) {
  auto reader = ChunkReader::open(first);
  if (!reader) return reader.error();
  if (reader->kind() != ChunkKind::bloom) return damaged_chunk("it is not the first of a dump");
  BloomWant want;
  want.rate = reader->real();
  want.capacity = reader->word();
  const std::uint64_t expansion = reader->word();
  const std::uint64_t nonscaling = reader->word();
  want.expansion = static_cast<std::uint32_t>(expansion);
  want.nonscaling = nonscaling == 1;
  want.window = reader->word();
  auto hasher = reader->hasher();
  if (!hasher) return hasher.error();
  want.hasher = *hasher;
  want.memory_cap = memory_cap;
  if (auto sound = check(want); !sound) return sound.error();
  NativeBloom set(want);
  set.items_ = reader->word();
  const std::uint64_t has_shards = reader->word();
  if (nonscaling > 1 || has_shards > 1 || expansion > 0xffff'ffff || set.items_ > most_adds ||
      (has_shards == 1 && (want.nonscaling || want.window != 0)))
    return damaged_chunk("it tells of a set that can not be");
  if (auto read = set.read_bits(*reader); !read) return read.error();
  if (!reader->ended_well()) return damaged_chunk("its length does not fit what it tells");
  if (set.loading_ == nullptr && has_shards == 0) return damaged_chunk("it tells of no set at all");
  if (has_shards == 1)
    set.shards_ = std::make_unique<PrefixShards>(PrefixShards::to_load(set.shards_law()));
  set.whole_ = false;
  return set;
}

Result<void> NativeBloom::read_bits(ChunkReader& reader) {
  const std::uint64_t which = reader.word();
  if (which == 0) return {};
  const bool is_window = which == 2;
  auto part = std::make_unique<Part>();
  part->kind = is_window ? WindowBloom::id.number : BlockedBloom::id.number;
  const std::uint64_t length = reader.word();
  part->capacity = reader.word();
  part->rate_asked = reader.real();
  part->adds = reader.word();
  const auto shape = reader.bytes(is_window ? 24 : 16);
  part->shape.assign(shape.begin(), shape.end());
  const bool rate_is_sound = part->rate_asked > 0 && part->rate_asked < 1;
  if (which > 2 || is_window != (want_.window != 0) || part->capacity > most_adds ||
      part->adds > most_adds || !rate_is_sound)
    return damaged_chunk("it tells of bits that can not be");
  auto sound = is_window ? check_shape<WindowBloom>(*part, length)
                         : check_shape<BlockedBloom>(*part, length);
  if (!sound) return sound.error();
  const std::uint64_t cap = want_.memory_cap == 0 ? most_loaded_bytes : want_.memory_cap;
  if (length > cap) return Error{Code::full, "the set takes more memory than a key may have"};
  auto memory = Memory::make(length);
  if (!memory) return memory.error();
  part->memory = std::move(*memory);
  part->payload = part->memory.bytes();
  loading_ = std::move(part);
  return {};
}

Result<void> NativeBloom::load_chunk(std::string_view chunk) {
  auto reader = ChunkReader::open(chunk);
  if (!reader) return reader.error();
  const bool is_bits = reader->kind() == ChunkKind::bits;
  if (!is_bits && reader->kind() != ChunkKind::shards)
    return damaged_chunk("it is the first of another dump");
  auto done = is_bits ? load_bits(*reader) : load_shards(*reader);
  whole_ = has_all();
  if (!done) return done.error();
  if (!reader->ended_well()) return damaged_chunk("its length does not fit what it tells");
  return {};
}

bool NativeBloom::has_all() const {
  if (loading_ != nullptr || (!blocked_ && !window_ && shards_ == nullptr)) return false;
  return shards_ == nullptr || shards_->is_whole();
}

Result<void> NativeBloom::load_bits(ChunkReader& reader) {
  if (loading_ == nullptr) return damaged_chunk("the set has all its bits already");
  const std::uint64_t offset = reader.word();
  const auto bytes = reader.bytes(reader.left());
  const std::span<std::byte> all = loading_->memory.bytes();
  if (offset != loaded_ || bytes.size() > all.size() - loaded_)
    return damaged_chunk("its bits do not follow those of the chunk before");
  if (!bytes.empty()) std::memcpy(all.data() + loaded_, bytes.data(), bytes.size());
  loaded_ += bytes.size();
  if (loaded_ != all.size()) return {};
  const std::unique_ptr<Part> part = std::move(loading_);
  if (want_.window != 0) {
    auto window = Window::from_part(std::move(*part));
    if (!window) return window.error();
    window_.emplace(std::move(*window));
  } else {
    auto blocked = Blocked::from_part(std::move(*part));
    if (!blocked) return blocked.error();
    blocked_.emplace(std::move(*blocked));
  }
  return {};
}

// A set that had no shards when its dump began may have some at its end.
Result<void> NativeBloom::load_shards(ChunkReader& reader) {
  if (loading_ != nullptr || want_.nonscaling || window_)
    return damaged_chunk("shards do not follow the chunk before");
  const bool is_first = shards_ == nullptr;
  if (is_first) shards_ = std::make_unique<PrefixShards>(PrefixShards::to_load(shards_law()));
  auto done = shards_->load(reader, memory_left());
  if (done) return {};
  // A whole set stays whole when the first chunk too many is no good.
  if (is_first) shards_.reset();
  return done.error();
}

}  // namespace bloomery::redis

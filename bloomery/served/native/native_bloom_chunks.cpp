// How a NativeBloom goes into chunks and comes out of them.
//
//    head     rate | capacity | expansion | nonscaling | window | hasher: 4 words | items |
//             has shards | bits: 0 none, 1 blocked, 2 window; then
//             their length | capacity | rate | adds | shape, as in docs/format.md;
//             with neither shards nor bits: how many hashes | the hashes, and that is all
//    bits     offset | as many as fit
//    shards   native_shards.cpp
#include <algorithm>
#include <cstring>
#include <utility>

#include <bloomery/detail/hash/xxh3.hpp>
#include <bloomery/served/native/native_bloom.hpp>

namespace bloomery::inline v0::detail::served {
namespace {

// Cursors: 0 head, 1 + offset bits, shards_cursor + place shards. All are below 2^53, since numbers
// are doubles in JavaScript and Lua; the bits of a key take at most 2^46 bytes (bf-max-key-bytes).
constexpr std::uint64_t shards_cursor = std::uint64_t{1} << 51;
constexpr std::uint64_t end_cursor = shards_cursor + PrefixShards::end_place;
// Behind the head of a set that is only a list. Another cursor than 1, so that a dump that began
// with a list ends there, also when the set has grown since.
constexpr std::uint64_t listed_cursor = std::uint64_t{1} << 52;
static_assert(end_cursor < listed_cursor);
constexpr std::uint64_t bits_in_chunk = most_chunk_bytes - 64;
// Higher counts than this are not valid.
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
  const Part& part = loading_->part;
  return {.kind = part.kind,
          .shape = part.shape,
          .capacity = part.capacity,
          .rate_asked = part.rate_asked,
          .adds = part.adds,
          .payload = part.memory.bytes()};
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
    writer.put(loading_ != nullptr ? loading_->length : part.payload.size());
    writer.put(part.capacity);
    writer.put_real(part.rate_asked);
    writer.put(part.adds);
    writer.put_bytes(part.shape);
  }
  if (state_ == State::listed) first_.write(writer);
  return std::move(writer).finish();
}

Piece NativeBloom::piece(std::uint64_t cursor) const {
  if (cursor > end_cursor) return {};
  if (cursor == 0) return {.next = state_ == State::listed ? listed_cursor : 1, .own = head()};
  const Part part = bits();
  const std::uint64_t there = loading_ != nullptr ? loading_->loaded : part.payload.size();
  if (cursor < shards_cursor && cursor - 1 < there) {
    const std::uint64_t offset = cursor - 1;
    const std::uint64_t length = std::min(bits_in_chunk, there - offset);
    ChunkWriter writer(ChunkKind::bits);
    writer.put(offset);
    writer.put_bytes(part.payload.subspan(offset, length));
    return {.next = cursor + length, .own = std::move(writer).finish()};
  }
  const std::uint64_t place = cursor < shards_cursor ? 0 : cursor - shards_cursor;
  if (shards_ == nullptr || place >= shards_->loaded_to()) return {};
  ChunkWriter writer(ChunkKind::shards);
  const std::uint64_t next = shards_->dump(place, writer);
  return {.next = shards_cursor + next, .own = std::move(writer).finish()};
}

std::uint64_t NativeBloom::digest() const {
  std::uint64_t sum = 0;
  for_each_piece(*this, [&](std::uint64_t, std::string_view bytes) {
    sum = xxh3_64(bytes.data(), bytes.size(), sum);
  });
  return sum;
}

Result<NativeBloom> NativeBloom::copy() const {
  NativeBloom set(want_);
  set.items_ = items_;
  set.state_ = state_;
  auto listed = first_.clone();
  if (!listed) return Error{Code::no_memory, "there is not enough memory for a copy"};
  set.first_ = std::move(*listed);
  if (blocked_) {
    auto copy = Blocked::from_part(blocked_->part());
    if (!copy) return copy.error();
    set.blocked_ = std::make_unique<Blocked>(std::move(*copy));
  }
  if (window_) {
    auto copy = Window::from_part(window_->part());
    if (!copy) return copy.error();
    set.window_ = std::make_unique<Window>(std::move(*copy));
  }
  if (loading_ != nullptr) {
    set.loading_ = std::make_unique<Loading>(Loading{bits(), loading_->length, loading_->loaded});
    set.loading_->part.payload = {};
    if (loading_->loaded != 0) {
      auto copy = Memory::copy_of(loading_->part.memory.bytes());
      if (!copy) return copy.error();
      set.loading_->part.memory = std::move(*copy);
    }
  }
  if (shards_ != nullptr) {
    auto copy = shards_->clone();
    if (!copy) return copy.error();
    set.shards_ = std::make_unique<PrefixShards>(std::move(*copy));
  }
  return set;
}

std::unique_ptr<FilterBody> NativeBloom::clone() const {
  auto twin = copy();
  if (!twin) return nullptr;
  return std::make_unique<NativeBloom>(std::move(*twin));
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
    return damaged_chunk("it describes a set that is not possible");
  if (auto read = set.read_bits(*reader); !read) return read.error();
  const bool has_bits = set.loading_ != nullptr;
  // There are bits if and only if the set was planned with some; only a list has neither bits nor
  // shards.
  if (has_bits != (set.is_blocked() || want.window != 0) && (has_bits || has_shards == 1))
    return damaged_chunk("it describes a set that is not possible");
  if (!has_bits && has_shards == 0) {
    if (auto read = set.read_listed(*reader); !read) return read.error();
  } else {
    set.state_ = State::loading;
  }
  if (!reader->ended_well()) return damaged_chunk("its length does not match its contents");
  if (has_shards == 1)
    set.shards_ = std::make_unique<PrefixShards>(PrefixShards::to_load(set.shards_law()));
  return set;
}

// A list is all there is of the set, so every item is in it; a window has none.
Result<void> NativeBloom::read_listed(ChunkReader& reader) {
  auto listed = FirstHashes::read(reader, want_.window != 0 ? 0 : most_listed);
  if (!listed) return listed.error();
  if (listed->size() != items_ || (want_.nonscaling && items_ > want_.capacity))
    return damaged_chunk("it describes a set that is not possible");
  const auto bytes = planned_bytes();
  if (!bytes) return bytes.error();
  if (want_.memory_cap != 0 && sizeof *this + *bytes > want_.memory_cap)
    return Error{Code::full, "the set takes more memory than a key may have"};
  first_ = std::move(*listed);
  return {};
}

Result<void> NativeBloom::read_bits(ChunkReader& reader) {
  const std::uint64_t which = reader.word();
  if (which == 0) return {};
  const bool is_window = which == 2;
  auto loading = std::make_unique<Loading>();
  Part* const part = &loading->part;
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
    return damaged_chunk("it describes bits that are not possible");
  auto sound = is_window ? check_shape<WindowBloom>(*part, length)
                         : check_shape<BlockedBloom>(*part, length);
  if (!sound) return sound.error();
  const std::uint64_t cap = want_.memory_cap == 0 ? most_loaded_bytes : want_.memory_cap;
  if (length > cap) return Error{Code::full, "the set takes more memory than a key may have"};
  loading->length = length;
  loading_ = std::move(loading);
  return {};
}

Result<void> NativeBloom::load_piece(std::uint64_t, std::string_view chunk) {
  auto reader = ChunkReader::open(chunk);
  if (!reader) return reader.error();
  const bool is_bits = reader->kind() == ChunkKind::bits;
  if (!is_bits && reader->kind() != ChunkKind::shards)
    return damaged_chunk("it is the first of another dump");
  if (state_ == State::listed) return damaged_chunk("the set has all its keys already");
  auto done = is_bits ? load_bits(*reader) : load_shards(*reader);
  state_ = has_all() ? State::laid_out : State::loading;
  if (!done) return done.error();
  if (!reader->ended_well()) return damaged_chunk("its length does not match its contents");
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
  if (offset != loading_->loaded || bytes.size() > loading_->length - loading_->loaded)
    return damaged_chunk("its bits do not follow those of the chunk before");
  if (bytes.empty()) return damaged_chunk("it brings no bits");
  Memory& memory = loading_->part.memory;
  if (memory.size() == 0) {
    auto made = Memory::make(loading_->length);
    if (!made) return made.error();
    memory = std::move(*made);
  }
  std::memcpy(memory.bytes().data() + offset, bytes.data(), bytes.size());
  loading_->loaded += bytes.size();
  return loading_->loaded == loading_->length ? take_bits() : Result<void>{};
}

// All bits are there.
Result<void> NativeBloom::take_bits() {
  const std::unique_ptr<Loading> loading = std::move(loading_);
  Part& part = loading->part;
  part.payload = part.memory.bytes();
  if (want_.window != 0) {
    auto window = Window::from_part(std::move(part));
    if (!window) return window.error();
    window_ = std::make_unique<Window>(std::move(*window));
  } else {
    auto blocked = Blocked::from_part(std::move(part));
    if (!blocked) return blocked.error();
    blocked_ = std::make_unique<Blocked>(std::move(*blocked));
  }
  tell_dense();
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
  // A whole set stays whole when the first chunk too many is damaged.
  if (is_first) shards_.reset();
  return done.error();
}

}  // namespace bloomery::inline v0::detail::served

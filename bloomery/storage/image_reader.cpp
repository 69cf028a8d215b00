// read_image and verify_image: bytes from outside, believed only after they are checked.
//
//    8 KiB: superblocks -> directory -> layout  |  mapping -> padding, table -> chunks
//           nothing here is trusted             |  every offset is known to lie in the file
#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <bloomery/detail/hash/xxh3.hpp>
#include <bloomery/image.hpp>
#include <bloomery/storage/image_layout.hpp>
#include <bloomery/storage/image_source.hpp>

namespace bloomery::inline v0::detail {
namespace {

// Sentences about one file.
struct About {
  std::string name;

  Error not_ours(const std::string& what) const {
    return {Code::not_ours, name + " is not a bloomery image: " + what};
  }
  Error unsupported(const std::string& what) const {
    return {Code::unsupported, name + " cannot be read by this version: " + what};
  }
  Error damaged(const std::string& what) const {
    return {Code::damaged,
            name + " is damaged: " + what + "; restore it from a copy or build it again"};
  }
  // For sentences that were made without knowing the file.
  Error wrapped(const Error& error) const {
    return error.code == Code::unsupported ? unsupported(error.sentence) : damaged(error.sentence);
  }
};

using Head = ImageHead;

using Slots = std::array<std::byte, 2 * slot_bytes>;

std::span<const std::byte, slot_bytes> slot_of(const Slots& slots, std::size_t slot) {
  return std::span<const std::byte, slot_bytes>(slots.data() + slot * slot_bytes, slot_bytes);
}

bool starts_with_magic(std::span<const std::byte> bytes) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

// The first bytes of a file that is not an image, made printable.
std::string quoted(std::span<const std::byte> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text = "'";
  for (const std::byte byte : bytes.first(std::min<std::size_t>(bytes.size(), 8))) {
    const auto value = std::to_integer<unsigned>(byte);
    if (value >= 0x20 && value <= 0x7e && value != '\\' && value != '\'')
      text += static_cast<char>(value);
    else
      text += {'\\', 'x', digits[value >> 4], digits[value & 15]};
  }
  return text + "'";
}

// -- superblocks ----------------------------------------------------------------------------------

Result<void> check_magic(const About& about, const ImageSource& source, const Slots& slots) {
  const std::uint64_t size = source.size_bytes();
  const auto bytes = std::span(slots).first(std::min<std::uint64_t>(size, slots.size()));
  if (bytes.empty()) return about.not_ours("it is empty");
  if (starts_with_magic(bytes)) {
    if (size >= least_image_bytes) return {};
    return about.damaged("it is cut off after " + std::to_string(size) + " bytes");
  }
  // The second slot shows that it was ours, and so does a magic that a text-mode copy has changed.
  const bool second = bytes.size() == slots.size() && starts_with_magic(bytes.subspan(slot_bytes));
  constexpr std::size_t telling = 5;
  const bool same = std::memcmp(bytes.data(), magic.data(), std::min(bytes.size(), telling)) == 0;
  if (same && size < telling)
    return about.damaged("it is cut off after " + std::to_string(size) + " bytes");
  if (second || same)
    return about.damaged("its first bytes are " + quoted(bytes) + " (was it copied in text mode?)");
  return about.not_ours("it begins with " + quoted(bytes));
}

Result<void> check_version(const About& about, const Slots& slots) {
  // Magic, version and mark: all that every later format keeps in its place.
  constexpr std::size_t lasting_bytes = 16;
  if (std::memcmp(slots.data(), slots.data() + slot_bytes, lasting_bytes) != 0)
    return about.damaged("its two superblocks differ");
  const Superblock block = decode_slot(slot_of(slots, 0));
  if (block.mark == __builtin_bswap32(endianness_mark))
    return about.unsupported("its numbers are big-endian");
  if (block.mark != endianness_mark) return about.damaged("its byte order mark is neither");
  if (block.major > 1)
    return about.unsupported("it was written by a newer version, in format " +
                             std::to_string(block.major) + "; this one reads format 1");
  if (block.major == 0) return about.damaged("its format is 0");
  return {};
}

Result<void> check_slots(const About& about, const Slots& slots) {
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const auto bytes = slot_of(slots, slot);
    std::uint64_t sum = 0;
    std::memcpy(&sum, bytes.data() + slot_sum_at, sizeof sum);
    if (sum != slot_sum(bytes, slot))
      return about.damaged(std::string("superblock ") + "AB"[slot] +
                           " does not match its checksum");
  }
  if (std::memcmp(slots.data(), slots.data() + slot_bytes, slot_sum_at) != 0)
    return about.damaged("its two superblocks differ");
  const auto bytes = slot_of(slots, 0);
  const auto again = encode_slot(decode_slot(bytes), 0);
  if (std::memcmp(again.data(), bytes.data(), again.size()) != 0)
    return about.damaged("an unused byte of its superblock is not zero");
  return {};
}

// Behind the image of a live file are a page for the processes that share it and its log.
Result<void> check_live_fields(const About& about, const Superblock& block, std::uint64_t size) {
  const LiveFields& live = block.live;
  if (block.state != State::live) {
    if (live == LiveFields{}) return {};
    return about.damaged("it is sealed and has a log");
  }
  if (live.regions == 0 || live.regions > 2 || live.region_bytes == 0 ||
      live.region_bytes % page_bytes != 0 || live.form > KeyForm::mixed)
    return about.damaged("its log has an impossible shape");
  const std::uint64_t behind = size - std::min(size, block.file_bytes);
  if (block.file_bytes > size || behind < page_bytes ||
      (behind - page_bytes) / live.region_bytes < live.regions)
    return about.damaged("its log is cut off");
  return {};
}

// The slots of a live file are written in turns, and one may be torn: the newer of those that match
// their checksum counts. Nothing if the file is not live, or neither does.
std::optional<Superblock> newest_live(const Slots& slots) {
  std::optional<Superblock> newest;
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const auto bytes = slot_of(slots, slot);
    const Superblock block = decode_slot(bytes);
    const auto again = encode_slot(block, slot);
    if (block.state != State::live || std::memcmp(again.data(), bytes.data(), again.size()) != 0)
      continue;
    if (!newest || block.generation > newest->generation) newest = block;
  }
  return newest;
}

// Unknown ro_compat flags forbid writing to the file, which this library never does: the mapping is
// private and saving makes a new file. Unknown compat flags forbid nothing.
Result<void> check_usable(const About& about, const Superblock& block, std::uint64_t size) {
  const bool live = block.state == State::live;
  if (block.incompat != (live ? live_feature : 0))
    return about.unsupported("it uses features (flags " + std::to_string(block.incompat) +
                             ") that came later");
  if (block.state == State::building) return about.damaged("it was never finished");
  if (!live && block.state != State::sealed) return about.damaged("its state is unknown");
  if (auto sound = check_live_fields(about, block, size); !sound) return sound.error();
  if (!live && block.file_bytes != size)
    return about.damaged("it should have " + std::to_string(block.file_bytes) + " bytes and has " +
                         std::to_string(size));
  if (block.uuid == Uuid{}) return about.damaged("its uuid is zero");
  return {};
}

Result<void> check_hash(const About& about, const Superblock& block) {
  if (block.hash != HashId::xxh3_64 && block.hash != HashId::siphash_1_3)
    return about.unsupported("its hash function " +
                             std::to_string(static_cast<unsigned>(block.hash)) + " came later");
  const bool fast = block.hash == HashId::xxh3_64;
  if (block.mode != (fast ? HashMode::fast : HashMode::hardened))
    return about.damaged("its hash function and its hash mode contradict each other");
  if ((fast ? block.key_check : block.seed) != 0)
    return about.damaged("its hash has both a seed and a secret key");
  return {};
}

Result<Superblock> read_superblock(const About& about, const ImageSource& source) {
  Slots slots{};
  const auto there = std::min<std::uint64_t>(source.size_bytes(), slots.size());
  if (auto done = source.read(0, std::span(slots).first(there)); !done) return done.error();
  if (auto sound = check_magic(about, source, slots); !sound) return sound.error();
  if (auto sound = check_version(about, slots); !sound) return sound.error();
  const auto live = newest_live(slots);
  if (!live)
    if (auto sound = check_slots(about, slots); !sound) return sound.error();
  const Superblock block = live ? *live : decode_slot(slot_of(slots, 0));
  if (auto sound = check_usable(about, block, source.size_bytes()); !sound) return sound.error();
  if (auto sound = check_hash(about, block); !sound) return sound.error();
  return block;
}

// -- directory and layout -------------------------------------------------------------------------

Result<Directory> read_directory(const About& about, const ImageSource& source,
                                 const Superblock& block) {
  constexpr std::uint64_t most_bytes =
      directory_head_bytes + record_bytes * most_records + most_note_bytes;
  const Region& place = block.directory;
  if (place.offset != directory_at ||
      place.length > std::min(most_bytes, source.size_bytes() - directory_at))
    return about.damaged("its directory is not where it must be, or too long");
  std::vector<std::byte> bytes(static_cast<std::size_t>(place.length));
  if (auto done = source.read(place.offset, bytes); !done) return done.error();
  if (xxh3_64(bytes.data(), bytes.size(), 0) != block.directory_sum)
    return about.damaged("its directory does not match its checksum");
  auto directory = decode_directory(bytes);
  if (!directory) return about.wrapped(directory.error());
  if (auto sound = check_form(directory->parts); !sound) return about.wrapped(sound.error());
  for (std::size_t i = 0; i < directory->payloads.size(); ++i) {
    const auto sound = check_record(directory->parts.parts[i], directory->payloads[i].length, i);
    if (!sound) return about.wrapped(sound.error());
  }
  if (directory->key && block.mode == HashMode::fast)
    return about.damaged("it has a secret key that its hash does not use");
  return directory;
}

// Every offset in the file must be the one that its lengths lead to.
Result<Layout> read_layout(const About& about, const Superblock& block,
                           const Directory& directory) {
  std::vector<std::uint64_t> lengths;
  for (const Region& payload : directory.payloads) lengths.push_back(payload.length);
  auto layout = lay_out(block.directory.length, lengths);
  if (!layout) return about.damaged("its payloads are longer than any file");
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (directory.payloads[i] != layout->payloads[i])
      return about.damaged("payload " + std::to_string(i) + " starts at " +
                           std::to_string(directory.payloads[i].offset) + " instead of " +
                           std::to_string(layout->payloads[i].offset));
  if (block.table != layout->table || block.chunk_bytes != chunk_bytes)
    return about.damaged("its chunk table does not fit its payloads");
  if (block.file_bytes != layout->file_bytes)
    return about.damaged("its payloads take " + std::to_string(layout->file_bytes) +
                         " bytes and it says " + std::to_string(block.file_bytes));
  return std::move(*layout);
}

Result<Head> read_head(const About& about, const ImageSource& source) {
  const auto block = read_superblock(about, source);
  if (!block) return block.error();
  auto directory = read_directory(about, source, *block);
  if (!directory) return directory.error();
  auto layout = read_layout(about, *block, *directory);
  if (!layout) return layout.error();
  if (directory->key && Hasher::hardened(*directory->key).key_check() != block->key_check)
    return about.damaged("its secret key does not match its check value");
  return Head{*block, std::move(*directory), std::move(*layout)};
}

// Bytes and streams cannot be shared, and a live file is more than its image.
Result<Head> read_sealed_head(const About& about, const ImageSource& source) {
  auto head = read_head(about, source);
  if (head && head->block.state == State::live)
    return Error{Code::unsupported,
                 about.name +
                     " is a live set, which is read from its file only; seal it to make an "
                     "ordinary set file of it"};
  return head;
}

// -- the mapping ----------------------------------------------------------------------------------

// Gives bytes of the image: of a mapping, of a copy, or read when they are wanted. Valid until the
// next call.
using Fetch = std::function<Result<std::span<const std::byte>>(std::uint64_t, std::size_t)>;

// At a time: so that a disk that cannot read becomes an Error here and not a signal at the first
// question, and what is read in pieces needs no more memory than this.
constexpr std::size_t piece_bytes = 64 * chunk_bytes;

Fetch within(std::span<const std::byte> image) {
  return [image](std::uint64_t offset, std::size_t length) -> Result<std::span<const std::byte>> {
    return image.subspan(offset, length);
  };
}

// Between the regions and behind the last one.
Result<void> check_padding(const About& about, const Layout& layout, const Fetch& fetch) {
  std::vector<Region> regions = {layout.directory, layout.table};
  regions.insert(regions.end(), layout.payloads.begin(), layout.payloads.end());
  regions.push_back({layout.file_bytes, 0});
  std::uint64_t at = directory_at;
  for (const Region& region : regions) {
    const auto padding = fetch(at, static_cast<std::size_t>(region.offset - at));
    if (!padding) return padding.error();
    if (!all_zero(*padding))
      return about.damaged("the padding before byte " + std::to_string(region.offset) +
                           " is not zero");
    at = region.end();
  }
  return {};
}

// The chunks of one piece, of which the first has this number; `offset` is where it lies.
Result<void> check_piece(const About& about, const Head& head, std::span<const std::byte> piece,
                         std::uint64_t offset, std::uint64_t chunk,
                         std::span<const std::byte> table) {
  for (std::size_t at = 0; at < piece.size(); at += chunk_bytes, ++chunk) {
    const auto length = std::min<std::size_t>(chunk_bytes, piece.size() - at);
    std::uint64_t sum = 0;
    std::memcpy(&sum, table.data() + chunk * sizeof sum, sizeof sum);
    if (chunk_sum(piece.subspan(at, length), head.block.uuid, chunk) != sum)
      return about.damaged("the " + std::to_string(length) + " bytes from byte " +
                           std::to_string(offset + at) + " on do not match their checksum");
  }
  return {};
}

Result<void> check_chunks(const About& about, const Head& head, const Fetch& fetch,
                          std::span<const std::byte> table) {
  std::uint64_t chunk = 0;
  for (const Region& payload : head.layout.payloads) {
    for (std::uint64_t at = 0; at < payload.length; at += piece_bytes) {
      const auto length =
          static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, payload.length - at));
      const auto piece = fetch(payload.offset + at, length);
      if (!piece) return piece.error();
      if (auto sound = check_piece(about, head, *piece, payload.offset + at, chunk, table); !sound)
        return sound.error();
      chunk += (length + chunk_bytes - 1) / chunk_bytes;
    }
  }
  return {};
}

Result<void> check_table(const About& about, const Head& head, std::span<const std::byte> table) {
  if (xxh3_64(table.data(), table.size(), 0) == head.block.table_sum) return {};
  return about.damaged("its chunk table does not match its checksum");
}

Result<Memory> read_checked(const About& about, const ImageSource& source, const Head& head,
                            const OpenOptions& options) {
  const bool whole = options.verify == Verify::checksums;
  const bool copied = options.bytes == Bytes::copied;
  auto image = source.all(options);
  if (!image) return image.error();
  const auto bytes = std::as_const(*image).bytes();
  const auto table = bytes.subspan(head.layout.table.offset, head.layout.table.length);
  if (!copied)
    if (auto done = source.load(table); !done) return done.error();
  if (auto sound = check_table(about, head, table); !sound) return sound.error();
  if (auto sound = check_padding(about, head.layout, within(bytes)); !sound) return sound.error();
  if (!whole) return image;
  const Fetch loaded = [&](std::uint64_t offset,
                           std::size_t length) -> Result<std::span<const std::byte>> {
    const auto piece = bytes.subspan(offset, length);
    if (!copied)
      if (auto done = source.load(piece); !done) return done.error();
    return piece;
  };
  if (auto sound = check_chunks(about, head, loaded, table); !sound) return sound.error();
  return image;
}

// -- the key --------------------------------------------------------------------------------------

Result<Hasher> make_hasher(const About& about, const Head& head,
                           const std::optional<SecretKey>& given) {
  if (head.block.mode == HashMode::fast) return Hasher(head.block.seed);
  if (!given && !head.directory.key)
    return Error{Code::mismatch,
                 about.name +
                     " is hardened and its secret key is kept elsewhere; give the key "
                     "file it was built with"};
  const Hasher hasher = Hasher::hardened(given ? *given : *head.directory.key);
  if (hasher.key_check() != head.block.key_check)
    return Error{Code::mismatch, about.name +
                                     " was built with another secret key; give the key "
                                     "file it was built with"};
  return hasher;
}

}  // namespace

Parts parts_in(ImageHead& head, const Memory& image) {
  Parts parts = std::move(head.directory.parts);
  for (std::size_t i = 0; i < parts.parts.size(); ++i) {
    Part& part = parts.parts[i];
    const Region& place = head.layout.payloads[i];
    part.memory = image.part(place.offset, place.length);
    part.payload = std::as_const(part.memory).bytes();
  }
  return parts;
}

Result<Image> image_from(const std::string& name, const ImageSource& source,
                         const OpenOptions& options) {
  const About about{name};
  auto head = read_sealed_head(about, source);
  if (!head) return head.error();
  const auto hasher = make_hasher(about, *head, options.key);
  if (!hasher) return hasher.error();
  const auto memory = read_checked(about, source, *head, options);
  if (!memory) return memory.error();

  Image image;
  image.parts = parts_in(*head, *memory);
  image.hasher = *hasher;
  image.rules = std::move(head->directory.rules);
  image.output = std::move(head->directory.output);
  image.uuid = head->block.uuid;
  image.key_is_elsewhere = hasher->mode() == HashMode::hardened && !head->directory.key;
  return image;
}

namespace {

VerifiedImage verified(const Head& head, const ImageSource& source, Parts parts) {
  VerifiedImage image{.bytes = source.size_bytes(),
                      .parts = std::move(parts),
                      .rules = head.directory.rules,
                      .uuid = head.block.uuid,
                      .mode = head.block.mode};
  for (const Region& payload : head.layout.payloads) image.payload_bytes += payload.length;
  if (head.block.mode == HashMode::fast)
    image.hasher = Hasher(head.block.seed);
  else if (head.directory.key)
    image.hasher = Hasher::hardened(*head.directory.key);
  return image;
}

}  // namespace

Result<VerifiedImage> verified_from(const std::string& name, const ImageSource& source) {
  const About about{name};
  auto head = read_sealed_head(about, source);
  if (!head) return head.error();
  const auto memory = read_checked(about, source, *head, {});
  if (!memory) return memory.error();
  return verified(*head, source, parts_in(*head, *memory));
}

Result<VerifiedImage> verified_in_pieces(const std::string& name, const ImageSource& source) {
  const About about{name};
  auto head = read_sealed_head(about, source);
  if (!head) return head.error();
  const auto read = [&](std::uint64_t offset, std::size_t length,
                        std::vector<std::byte>& room) -> Result<std::span<const std::byte>> {
    room.resize(length);
    if (auto done = source.read(offset, room); !done) return done.error();
    return std::span<const std::byte>(room);
  };
  std::vector<std::byte> table_room;
  const Region& place = head->layout.table;
  const auto table = read(place.offset, static_cast<std::size_t>(place.length), table_room);
  if (!table) return table.error();
  if (auto sound = check_table(about, *head, *table); !sound) return sound.error();
  std::vector<std::byte> room;
  const Fetch fetch = [&](std::uint64_t offset, std::size_t length) {
    return read(offset, length, room);
  };
  if (auto sound = check_padding(about, head->layout, fetch); !sound) return sound.error();
  if (auto sound = check_chunks(about, *head, fetch, *table); !sound) return sound.error();
  return verified(*head, source, std::move(head->directory.parts));
}

Result<LiveHead> live_head_from(const std::string& name, const ImageSource& source,
                                const std::optional<SecretKey>& key, Secret secret) {
  const About about{name};
  auto head = read_head(about, source);
  if (!head) return head.error();
  if (head->block.state != State::live)
    return Error{Code::mismatch, name +
                                     " is not a live set but an ordinary set file; "
                                     "make a live one first"};
  if (secret == Secret::unneeded) return LiveHead{std::move(*head), Hasher{}};
  const auto hasher = make_hasher(about, *head, key);
  if (!hasher) return hasher.error();
  return LiveHead{std::move(*head), *hasher};
}

Result<void> check_image_bytes(const std::string& name, const ImageHead& head,
                               std::span<const std::byte> image, bool summed) {
  const About about{name};
  const auto table = image.subspan(head.layout.table.offset, head.layout.table.length);
  if (summed)
    if (auto sound = check_table(about, head, table); !sound) return sound.error();
  return check_padding(about, head.layout, within(image));
}

Result<bool> is_live_image(const ImageSource& source) {
  Slots slots{};
  const auto there = std::min<std::uint64_t>(source.size_bytes(), slots.size());
  if (auto read = source.read(0, std::span(slots).first(there)); !read) return read.error();
  return starts_with_magic(slots) && newest_live(slots);
}

Result<std::uint64_t> image_length(const std::string& name, std::span<const std::byte> begins) {
  const About about{name};
  const BytesSource source(begins);
  if (begins.size() < least_image_bytes || !starts_with_magic(begins))
    return read_superblock(about, source).error();
  Slots slots;
  std::memcpy(slots.data(), begins.data(), slots.size());
  if (auto sound = check_version(about, slots); !sound) return sound.error();
  if (auto sound = check_slots(about, slots); !sound) return sound.error();
  const Superblock block = decode_slot(slot_of(slots, 0));
  if (auto sound = check_usable(about, block, block.file_bytes); !sound) return sound.error();
  return block.file_bytes;
}

}  // namespace bloomery::inline v0::detail

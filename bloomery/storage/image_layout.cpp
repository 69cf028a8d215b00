#include <bloomery/detail/hash/xxh3.hpp>
#include <bloomery/storage/image_layout.hpp>

#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <bloomery/any_set.hpp>

namespace bloomery::inline v0::detail {
namespace {

// One entry of the directory. Bytes 88 to 127 are unused, and so is the shape behind its length.
struct Record {
  std::uint16_t kind = 0;
  std::uint16_t shape_length = 0;
  std::uint32_t count = 1;  // equal sets side by side in the payload
  std::uint64_t stride = 0;
  std::uint64_t capacity = 0;
  double rate_asked = 0;
  std::uint64_t adds = 0;
  std::array<std::uint64_t, 4> state{};
  Region payload;
  std::array<std::byte, max_shape_bytes> shape{};

  template <class Block, class Visit>
  static void each_field(Block& record, Visit visit) {
    visit(0, record.kind);
    visit(2, record.shape_length);
    visit(4, record.count);
    visit(8, record.stride);
    visit(16, record.capacity);
    visit(24, record.rate_asked);
    visit(32, record.adds);
    visit(40, record.state);
    visit(72, record.payload.offset);
    visit(80, record.payload.length);
    visit(128, record.shape);
  }
};

struct DirectoryHead {
  Form form = Form::single;
  std::uint16_t record_bytes = detail::record_bytes;
  std::uint32_t records = 0;
  std::uint64_t note_bytes = 0;

  template <class Block, class Visit>
  static void each_field(Block& head, Visit visit) {
    visit(0, head.form);
    visit(2, head.record_bytes);
    visit(4, head.records);
    visit(8, head.note_bytes);
  }
};

struct NoteHead {
  std::uint16_t type = 0;
  std::uint32_t length = 0;

  template <class Block, class Visit>
  static void each_field(Block& head, Visit visit) {
    visit(0, head.type);
    visit(4, head.length);
  }
};

constexpr std::size_t note_head_bytes = 8;

// Bytes that no field covers are left as they are. Words are little-endian as this machine's are
// (siphash.hpp asserts it), so a copy is all there is to do.
template <class Block>
void put(const Block& block, std::span<std::byte> bytes) {
  Block::each_field(block, [&](std::size_t at, const auto& field) {
    assert(at + sizeof field <= bytes.size() && "a field lies inside its table");
    std::memcpy(bytes.data() + at, &field, sizeof field);
  });
}

template <class Block>
Block taken(std::span<const std::byte> bytes) {
  Block block;
  Block::each_field(block, [&](std::size_t at, auto& field) {
    assert(at + sizeof field <= bytes.size() && "a field lies inside its table");
    std::memcpy(&field, bytes.data() + at, sizeof field);
  });
  return block;
}

// Whether these bytes hold the block and nothing but zeros beside it.
template <class Block>
bool only_holds(const Block& block, std::span<const std::byte> bytes) {
  std::vector<std::byte> again(bytes.size());
  put(block, again);
  return std::memcmp(again.data(), bytes.data(), bytes.size()) == 0;
}

Error damaged(std::string what) { return {Code::damaged, std::move(what)}; }

std::string record_name(std::size_t number) { return "record " + std::to_string(number); }

// -- notes, out -----------------------------------------------------------------------------------

constexpr std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t step) {
  return (bytes + step - 1) / step * step;
}

constexpr std::size_t output_head_bytes = 16;

void append_note(std::vector<std::byte>& notes, std::uint16_t type, const void* value,
                 std::size_t length) {
  const std::size_t at = notes.size();
  notes.resize(at + note_head_bytes + rounded_up(length, 8));
  put(NoteHead{type, static_cast<std::uint32_t>(length)}, std::span(notes).subspan(at));
  if (length != 0) std::memcpy(notes.data() + at + note_head_bytes, value, length);
}

// u64 length, u64 1 if the run ended, the path.
void append_output(std::vector<std::byte>& notes, const WrittenOutput& output) {
  std::vector<std::byte> value(output_head_bytes + output.path.size());
  const std::array<std::uint64_t, 2> words = {output.bytes, output.ended ? 1u : 0u};
  std::memcpy(value.data(), words.data(), sizeof words);
  std::memcpy(value.data() + sizeof words, output.path.data(), output.path.size());
  append_note(notes, output_note, value.data(), value.size());
}

// In the order of their numbers, so that equal rules give equal bytes.
std::vector<std::byte> encode_notes(const Image& image) {
  std::vector<std::byte> notes;
  const auto form = static_cast<std::uint16_t>(image.rules.form);
  append_note(notes, key_form_note, &form, sizeof form);
  const std::uint8_t strip = image.rules.strip_cr ? 1 : 0;
  append_note(notes, carriage_return_note, &strip, sizeof strip);
  const std::string& profile = image.rules.normalisation;
  if (!profile.empty()) append_note(notes, normalisation_note, profile.data(), profile.size());
  if (image.hasher.mode() == HashMode::hardened && !image.key_is_elsewhere) {
    const SecretKey key = image.hasher.key();
    const std::array<std::uint64_t, 2> words = {key.low, key.high};
    append_note(notes, secret_key_note, words.data(), sizeof words);
  }
  if (image.output) append_output(notes, *image.output);
  const std::string& source = image.rules.made_from;
  if (!source.empty()) append_note(notes, made_from_note, source.data(), source.size());
  return notes;
}

// -- notes, in ------------------------------------------------------------------------------------

Result<void> take_output(std::span<const std::byte> value, Directory& directory) {
  std::array<std::uint64_t, 2> words{};
  if (value.size() <= sizeof words || value.size() > sizeof words + most_path_bytes)
    return damaged("the note on the output has no path, or one that is too long");
  std::memcpy(words.data(), value.data(), sizeof words);
  if (words[1] > 1) return damaged("the note on the output neither says that it ended nor not");
  const auto path = value.subspan(sizeof words);
  directory.output = WrittenOutput{
      {reinterpret_cast<const char*>(path.data()), path.size()}, words[0], words[1] == 1};
  return {};
}

Result<void> take_key_form(std::span<const std::byte> value, Directory& directory) {
  std::uint16_t form = 0;
  if (value.size() != sizeof form) return damaged("the key form is not 2 bytes long");
  std::memcpy(&form, value.data(), sizeof form);
  if (form > static_cast<std::uint16_t>(KeyForm::mixed))
    return Error{Code::unsupported, "its key form " + std::to_string(form) + " is not known here"};
  directory.rules.form = static_cast<KeyForm>(form);
  return {};
}

Result<void> take_note(std::uint16_t type, std::span<const std::byte> value, Directory& directory) {
  switch (type) {
    case key_form_note: return take_key_form(value, directory);
    case carriage_return_note:
      if (value.size() != 1 || std::to_integer<unsigned>(value[0]) > 1)
        return damaged("the rule for carriage returns is neither 0 nor 1");
      directory.rules.strip_cr = value[0] == std::byte{1};
      return {};
    case normalisation_note:
      directory.rules.normalisation.assign(reinterpret_cast<const char*>(value.data()),
                                           value.size());
      if (value.empty()) return damaged("the normalisation has no name");
      if (auto sound = check_normalisation(directory.rules.normalisation); !sound)
        return damaged(sound.error().sentence);
      return {};
    case secret_key_note: {
      std::array<std::uint64_t, 2> words{};
      if (value.size() != sizeof words) return damaged("the secret key is not 16 bytes long");
      std::memcpy(words.data(), value.data(), sizeof words);
      directory.key = SecretKey{words[0], words[1]};
      return {};
    }
    case output_note: return take_output(value, directory);
    case made_from_note:
      directory.rules.made_from.assign(reinterpret_cast<const char*>(value.data()), value.size());
      if (value.empty()) return damaged("the note on what its keys were made from is empty");
      if (auto sound = check_made_from(directory.rules.made_from); !sound)
        return damaged(sound.error().sentence);
      return {};
    default:
      if ((type & critical) == 0) return {};
      return Error{Code::unsupported, "it needs the feature " + std::to_string(type ^ critical) +
                                          ", which this version lacks"};
  }
}

Result<void> take_notes(std::span<const std::byte> notes, Directory& directory) {
  int last = 0;
  bool form_seen = false;
  while (!notes.empty()) {
    if (notes.size() < note_head_bytes) return damaged("its last note is cut off");
    const auto head = taken<NoteHead>(notes);
    const std::uint64_t padded = rounded_up(head.length, 8);
    if (!only_holds(head, notes.first(note_head_bytes)))
      return damaged("an unused byte of a note is not zero");
    if (padded > notes.size() - note_head_bytes) return damaged("a note is longer than its place");
    const int number = head.type & ~critical;
    if (number <= last) return damaged("its notes are out of order");
    last = number;
    form_seen = form_seen || head.type == key_form_note;
    const auto value = notes.subspan(note_head_bytes, head.length);
    if (!all_zero(notes.subspan(note_head_bytes + head.length, padded - head.length)))
      return damaged("an unused byte of a note is not zero");
    if (auto done = take_note(head.type, value, directory); !done) return done.error();
    notes = notes.subspan(note_head_bytes + padded);
  }
  if (!form_seen) return damaged("it does not say what form its keys have");
  return {};
}

// -- records --------------------------------------------------------------------------------------

void put_record(const Part& part, const Region& payload, std::span<std::byte> into) {
  Record record;
  record.kind = part.kind;
  record.shape_length = static_cast<std::uint16_t>(part.shape.size());
  record.count = part.count;
  record.stride = payload.length / part.count;
  record.capacity = part.capacity;
  record.rate_asked = part.rate_asked;
  record.adds = part.adds;
  record.state = part.state;
  record.payload = payload;
  if (!part.shape.empty()) std::memcpy(record.shape.data(), part.shape.data(), part.shape.size());
  put(record, into);
}

Result<void> take_record(std::span<const std::byte> bytes, Directory& directory) {
  const std::size_t number = directory.parts.parts.size();
  const auto record = taken<Record>(bytes);
  if (record.shape_length > max_shape_bytes)
    return damaged(record_name(number) + " has a shape of " + std::to_string(record.shape_length) +
                   " bytes; the most is " + std::to_string(max_shape_bytes));
  const auto shape = std::span(record.shape).first(record.shape_length);
  if (!only_holds(record, bytes) || !all_zero(std::span(record.shape).subspan(record.shape_length)))
    return damaged("an unused byte of " + record_name(number) + " is not zero");
  if (record.count != 1 && directory.parts.form != Form::sharded)
    return Error{Code::unsupported, record_name(number) + " holds " + std::to_string(record.count) +
                                        " sets side by side; this version reads one"};
  if (record.count == 0 || record.payload.length % record.count != 0 ||
      record.stride != record.payload.length / record.count)
    return damaged("the stride of " + record_name(number) + " is not its payload");
  Part part;
  part.kind = record.kind;
  part.count = record.count;
  part.shape.assign(shape.begin(), shape.end());
  part.capacity = record.capacity;
  part.rate_asked = record.rate_asked;
  part.adds = record.adds;
  part.state = record.state;
  directory.parts.parts.push_back(std::move(part));
  directory.payloads.push_back(record.payload);
  return {};
}

}  // namespace

// -- superblock -----------------------------------------------------------------------------------

std::uint64_t slot_sum(std::span<const std::byte, slot_bytes> bytes, std::uint64_t slot) {
  return xxh3_64(bytes.data(), slot_sum_at, slot);
}

SlotBytes encode_slot(const Superblock& block, std::uint64_t slot) {
  SlotBytes bytes{};
  put(block, bytes);
  const std::uint64_t sum = slot_sum(bytes, slot);
  std::memcpy(bytes.data() + slot_sum_at, &sum, sizeof sum);
  return bytes;
}

Superblock decode_slot(std::span<const std::byte, slot_bytes> bytes) {
  return taken<Superblock>(bytes);
}

// -- layout ---------------------------------------------------------------------------------------

namespace {

// Walks through a file from its start and notices when it would pass 2^63 - 1.
class Walk {
 public:
  bool fits() const { return fits_; }
  std::uint64_t at() const { return at_; }
  void skip(std::uint64_t bytes) {
    fits_ = fits_ && bytes <= most - at_;
    if (fits_) at_ += bytes;
  }
  void align(std::uint64_t step) { skip((step - at_ % step) % step); }
  Region take(std::uint64_t bytes) {
    const Region region{at_, bytes};
    skip(bytes);
    return region;
  }

 private:
  static constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  std::uint64_t at_ = 0;
  bool fits_ = true;
};

}  // namespace

std::optional<Layout> lay_out(std::uint64_t directory_bytes,
                              std::span<const std::uint64_t> payload_bytes) {
  constexpr std::uint64_t most_chunks = std::numeric_limits<std::int64_t>::max() / 8;
  std::uint64_t chunks = 0;
  for (const std::uint64_t bytes : payload_bytes) {
    if (chunks_of(bytes) > most_chunks - chunks) return {};
    chunks += chunks_of(bytes);
  }
  Layout layout;
  Walk walk;
  walk.skip(directory_at);
  layout.directory = walk.take(directory_bytes);
  walk.align(page_bytes);
  layout.table = walk.take(8 * chunks);
  walk.align(page_bytes);
  for (const std::uint64_t bytes : payload_bytes) {
    walk.align(bytes >= large_payload_bytes ? huge_page_bytes : page_bytes);
    layout.payloads.push_back(walk.take(bytes));
  }
  walk.align(page_bytes);
  layout.file_bytes = walk.at();
  if (!walk.fits()) return {};
  return layout;
}

// -- directory ------------------------------------------------------------------------------------

std::uint64_t directory_bytes_of(const Image& image) {
  return directory_head_bytes + record_bytes * image.parts.parts.size() +
         encode_notes(image).size();
}

std::vector<std::byte> encode_directory(const Image& image, std::span<const Region> payloads) {
  const auto& parts = image.parts.parts;
  assert(parts.size() == payloads.size() && "every part has one payload");
  const auto notes = encode_notes(image);
  std::vector<std::byte> bytes(directory_head_bytes + record_bytes * parts.size());
  DirectoryHead head;
  head.form = image.parts.form;
  head.records = static_cast<std::uint32_t>(parts.size());
  head.note_bytes = notes.size();
  put(head, bytes);
  for (std::size_t i = 0; i < parts.size(); ++i)
    put_record(parts[i], payloads[i],
               std::span(bytes).subspan(directory_head_bytes + record_bytes * i, record_bytes));
  bytes.insert(bytes.end(), notes.begin(), notes.end());
  return bytes;
}

Result<Directory> decode_directory(std::span<const std::byte> bytes) {
  if (bytes.size() < directory_head_bytes) return damaged("its directory is cut off");
  const auto head = taken<DirectoryHead>(bytes);
  if (!only_holds(head, bytes.first(directory_head_bytes)))
    return damaged("an unused byte of its directory is not zero");
  if (head.record_bytes != record_bytes)
    return Error{Code::unsupported, "its records have " + std::to_string(head.record_bytes) +
                                        " bytes; this version reads those of 256"};
  const std::uint64_t behind_head = bytes.size() - directory_head_bytes;
  if (head.records > most_records || head.records * record_bytes > behind_head ||
      head.note_bytes != behind_head - head.records * record_bytes)
    return damaged("its directory has no room for the " + std::to_string(head.records) +
                   " records that it promises");
  Directory directory;
  directory.parts.form = head.form;
  for (std::size_t i = 0; i < head.records; ++i) {
    const auto record = bytes.subspan(directory_head_bytes + record_bytes * i, record_bytes);
    if (auto done = take_record(record, directory); !done) return done.error();
  }
  const auto notes = bytes.subspan(directory_head_bytes + record_bytes * head.records);
  if (auto done = take_notes(notes, directory); !done) return done.error();
  return directory;
}

// -- what is true of every image ------------------------------------------------------------------

Result<void> check_form(const Parts& parts) {
  const auto form = static_cast<std::uint16_t>(parts.form);
  if (form < static_cast<std::uint16_t>(Form::single) ||
      form > static_cast<std::uint16_t>(Form::cascade))
    return Error{Code::unsupported, "its form " + std::to_string(form) + " is not known here"};
  if (parts.parts.empty() || parts.parts.size() > most_records)
    return damaged("it has " + std::to_string(parts.parts.size()) + " parts; an image has 1 to " +
                   std::to_string(most_records));
  if (parts.form == Form::sharded && parts.parts.size() != 1)
    return damaged("its shards are " + std::to_string(parts.parts.size()) + " parts, not one");
  for (const Part& part : parts.parts)
    if (part.count == 0 || (part.count != 1 && parts.form != Form::sharded))
      return damaged("only a sharded set has parts that are several sets side by side");
  if (parts.form == Form::single && parts.parts.size() != 1)
    return damaged("it is a single set and has " + std::to_string(parts.parts.size()) + " parts");
  return {};
}

Result<void> check_record(const Part& part, std::uint64_t payload_bytes, std::size_t number) {
  if (part.shape.size() > max_shape_bytes)
    return damaged(record_name(number) + " has a shape of " + std::to_string(part.shape.size()) +
                   " bytes; the most is " + std::to_string(max_shape_bytes));
  if (!std::isfinite(part.rate_asked) || part.rate_asked < 0 || part.rate_asked > 1)
    return damaged("the rate of " + record_name(number) + " is not between 0 and 1");
  if (auto sound = AnySet::check_part(part, payload_bytes); !sound) {
    const Code code = sound.error().code;
    return Error{code == Code::unsupported ? code : Code::damaged,
                 record_name(number) + ": " + sound.error().sentence};
  }
  return {};
}

Result<void> check_normalisation(const std::string& text) {
  if (text.size() > most_normalisation_bytes)
    return Error{Code::bad_input, "the name of the normalisation is longer than 255 bytes"};
  for (const char letter : text)
    if (letter < 0x21 || letter > 0x7e)
      return Error{Code::bad_input, "the name of the normalisation has more than printable ASCII"};
  return {};
}

Result<void> check_made_from(const std::string& text) {
  if (text.size() > most_made_from_bytes)
    return Error{Code::bad_input,
                 "the flags that say what its keys were made from take more than 32768 bytes"};
  for (const char letter : text)
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f)
      return Error{Code::bad_input,
                   "the flags that say what its keys were made from have control characters"};
  return {};
}

// -- bytes ----------------------------------------------------------------------------------------

std::uint64_t chunk_sum(std::span<const std::byte> chunk, const Uuid& uuid, std::uint64_t number) {
  std::uint64_t low = 0;
  std::memcpy(&low, uuid.data() + 8, sizeof low);
  return xxh3_64(chunk.data(), chunk.size(), low ^ number);
}

bool all_zero(std::span<const std::byte> bytes) {
  // Each byte equals the one before it, and the first is zero.
  return bytes.empty() || (bytes[0] == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}  // namespace bloomery::inline v0::detail

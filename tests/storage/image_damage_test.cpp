// Broken and hostile bytes: the answer is an Error with a code that tells which, never a set.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <bloomery/image.hpp>
#include <tests/storage/image_samples.hpp>
#include <tests/storage/scratch_directory.hpp>

namespace bloomery::detail {
namespace {

constexpr std::uint64_t top = std::numeric_limits<std::uint64_t>::max();

bool tells_damage(const Error& error) {
  return error.code == Code::not_ours || error.code == Code::damaged ||
         error.code == Code::unsupported;
}

// Changes one byte of a file at a time, in place.
class Pen {
 public:
  explicit Pen(const std::filesystem::path& path) : file_(::open(path.c_str(), O_WRONLY)) {}
  ~Pen() { ::close(file_); }
  bool put(std::size_t at, std::byte byte) const {
    return ::pwrite(file_, &byte, 1, static_cast<off_t>(at)) == 1;
  }

 private:
  int file_;
};

void expect_every_flip_noticed(const std::filesystem::path& path, const FileBytes& bytes) {
  const Pen pen(path);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const std::byte change : {std::byte{0x01}, std::byte{0xff}}) {
      ASSERT_TRUE(pen.put(at, bytes[at] ^ change));
      const auto opened = open_image(path);
      ASSERT_FALSE(opened) << "byte " << at;
      ASSERT_TRUE(tells_damage(opened.error())) << "byte " << at << opened.error().sentence;
    }
    ASSERT_TRUE(pen.put(at, bytes[at]));
  }
  EXPECT_TRUE(open_image(path));
}

TEST(ImageDamage, AnyFlippedByteIsNoticed) {
  const ScratchDirectory scratch;
  Image image = small_image();
  image.rules.normalisation = "url/1";
  image.hasher = Hasher::hardened({1, 2});
  const auto bytes = bytes_of(scratch, image);
  ASSERT_EQ(bytes.size(), 20480U);
  expect_every_flip_noticed(scratch / "bytes_of.bloom", bytes);
}

TEST(ImageDamage, AnyFlippedByteBetweenPayloadsIsNoticed) {
  const ScratchDirectory scratch;
  const auto bytes = bytes_of(
      scratch, image_of(Form::cascade, bitmap_part(0, 64), empty_part(), bitmap_part(5, 640)));
  ASSERT_EQ(bytes.size(), 24576U);
  expect_every_flip_noticed(scratch / "bytes_of.bloom", bytes);
}

TEST(ImageDamage, HeaderVerificationSkipsThePayloadsOnly) {
  const ScratchDirectory scratch;
  const auto bytes = bytes_of(scratch, small_image());
  const auto path = scratch / "bytes_of.bloom";
  const Pen pen(path);
  const auto opens_with = [&](std::size_t at) {
    EXPECT_TRUE(pen.put(at, bytes[at] ^ std::byte{1}));
    const bool opens = open_image(path, {.verify = Verify::header}).has_value();
    EXPECT_FALSE(verify_image(path)) << at;
    EXPECT_TRUE(pen.put(at, bytes[at]));
    return opens;
  };
  EXPECT_TRUE(opens_with(16384)) << "a byte of the payload";
  EXPECT_FALSE(opens_with(16384 + 64)) << "padding behind the payload";
  EXPECT_FALSE(opens_with(12288)) << "a byte of the chunk table";
  EXPECT_FALSE(opens_with(12288 + 8)) << "padding behind the chunk table";
  EXPECT_FALSE(opens_with(8192)) << "a byte of the directory";
  EXPECT_FALSE(opens_with(4096 + 200)) << "the second superblock";
}

TEST(ImageDamage, AnyOtherLengthIsNoticed) {
  const ScratchDirectory scratch;
  const auto bytes = bytes_of(scratch, small_image());
  const auto path = scratch / "bytes_of.bloom";
  for (const std::size_t more : {1, 7, 8, 4095, 4096, 65536, 1 << 20}) {
    std::filesystem::resize_file(path, bytes.size() + more);
    const auto opened = open_image(path);
    ASSERT_FALSE(opened) << more;
    EXPECT_EQ(opened.error().code, Code::damaged);
  }
  for (std::size_t length = bytes.size(); length-- > 0;) {
    std::filesystem::resize_file(path, length);
    const auto opened = open_image(path);
    ASSERT_FALSE(opened) << length;
    ASSERT_TRUE(tells_damage(opened.error())) << length << opened.error().sentence;
  }
}

TEST(ImageDamage, SwappedAndForeignChunksAreNoticed) {
  const ScratchDirectory scratch;
  const auto path = scratch / "a";
  // Two chunks of equal length, with their sums changed places as well.
  save_image(path, image_of(Form::single, bitmap_part(0, 16 * 65536, 11))).value();
  auto bytes = read_whole(path);
  bytes[16384] = std::byte{1};  // else both chunks are the same
  std::swap_ranges(bytes.begin() + 16384, bytes.begin() + 16384 + 65536,
                   bytes.begin() + 16384 + 65536);
  std::swap_ranges(bytes.begin() + 12288, bytes.begin() + 12296, bytes.begin() + 12296);
  write_whole(path, Surgeon(bytes).sealed());
  EXPECT_FALSE(open_image(path));
  EXPECT_TRUE(open_image(path, {.verify = Verify::header}));
}

// -- hostile fields under checksums that fit ------------------------------------------------------

struct Hostile {
  std::string what;
  Code code;
  std::function<void(Surgeon&)> change;
};

void expect_refused(const FileBytes& sound, const std::vector<Hostile>& cases) {
  const ScratchDirectory scratch;
  const auto path = scratch / "hostile.bloom";
  write_whole(path, Surgeon(sound).sealed());
  ASSERT_TRUE(open_image(path)) << "the surgeon leaves a sound image sound";
  for (const Hostile& hostile : cases) {
    Surgeon surgeon(sound);
    hostile.change(surgeon);
    write_whole(path, surgeon.sealed());
    for (const Verify verify : {Verify::checksums, Verify::header}) {
      const auto opened = open_image(path, {.verify = verify});
      ASSERT_FALSE(opened) << hostile.what;
      EXPECT_EQ(opened.error().code, hostile.code) << hostile.what << opened.error().sentence;
      EXPECT_NE(opened.error().sentence.find(path.string()), std::string::npos);
    }
  }
}

template <class T>
Hostile field(std::string what, Code code, std::size_t at, T value) {
  return {std::move(what), code, [=](Surgeon& surgeon) { surgeon.put(at, value); }};
}

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

TEST(ImageDamage, HostileSuperblocksAreRefused) {
  const ScratchDirectory scratch;
  std::vector<Hostile> cases = {
      field("future major", Code::unsupported, 8, u16{2}),
      field("major 0", Code::damaged, 8, u16{0}),
      field("big-endian", Code::unsupported, 12, u32{0x04030201}),
      field("no byte order", Code::damaged, 12, u32{0}),
      field("unknown incompat flag", Code::unsupported, 16, u32{0x80000000}),
      field("building", Code::damaged, 28, u32{1}),
      field("live", Code::unsupported, 28, u32{3}),
      field("state 0", Code::damaged, 28, u32{0}),
      {"uuid of zeros", Code::damaged,
       [](Surgeon& surgeon) { surgeon.put(40, u64{0}).put(48, u64{0}); }},
      field("unknown hash", Code::unsupported, 64, u16{3}),
      field("hash and mode apart", Code::damaged, 66, u8{2}),
      field("key check without key", Code::damaged, 80, u64{5}),
      field("unused byte at 67", Code::damaged, 67, u8{1}),
      field("unused byte at 144", Code::damaged, 144, u8{1}),
      field("unused byte at 4087", Code::damaged, 4087, u8{1}),
      field("chunk size", Code::damaged, 136, u64{4096}),
      field("chunk size 0", Code::damaged, 136, u64{0}),
      field("directory length 0", Code::damaged, 96, u64{0}),
      field("directory one byte short", Code::damaged, 96, u64{319}),
  };
  for (const std::size_t at : {56, 88, 96, 112, 120})  // every offset and length
    for (const u64 value : {u64{0}, u64{1}, u64{4096}, u64{1} << 40, u64{1} << 63, top - 4095, top})
      cases.push_back(field("place " + std::to_string(at) + " is " + std::to_string(value),
                            Code::damaged, at, value));
  expect_refused(bytes_of(scratch, small_image()), cases);
}

TEST(ImageDamage, HostileDirectoriesAreRefused) {
  const ScratchDirectory scratch;
  constexpr auto head = Surgeon::directory;
  constexpr auto record = Surgeon::record;
  std::vector<Hostile> cases = {
      field("form 0", Code::unsupported, head, u16{0}),
      field("form 5", Code::unsupported, head, u16{5}),
      field("records of another size", Code::unsupported, head + 2, u16{512}),
      field("no records", Code::damaged, head + 4, u32{0}),
      field("two records in one's place", Code::damaged, head + 4, u32{2}),
      field("2^32 - 1 records", Code::damaged, head + 4, u32{0xffffffff}),
      field("2^24 records", Code::damaged, head + 4, u32{1 << 24}),
      field("more notes", Code::damaged, head + 8, u64{40}),
      field("2^64 - 1 bytes of notes", Code::damaged, head + 8, top),
      field("unused byte of the head", Code::damaged, head + 31, u8{1}),
      field("unknown kind", Code::unsupported, record, u16{9999}),
      field("shape of 129 bytes", Code::damaged, record + 2, u16{129}),
      field("shape of 65535 bytes", Code::damaged, record + 2, u16{0xffff}),
      field("shape too short", Code::damaged, record + 2, u16{8}),
      field("two sets side by side", Code::unsupported, record + 4, u32{2}),
      field("stride", Code::damaged, record + 8, u64{8}),
      field("rate NaN", Code::damaged, record + 24, std::numeric_limits<double>::quiet_NaN()),
      field("rate infinite", Code::damaged, record + 24, std::numeric_limits<double>::infinity()),
      field("rate below 0", Code::damaged, record + 24, -0.5),
      field("rate above 1", Code::damaged, record + 24, 1.5),
      field("unused byte of a record", Code::damaged, record + 88, u8{1}),
      field("unused byte of a shape", Code::damaged, record + 255, u8{1}),
      field("shape upside down", Code::damaged, record + 128, u64{1000}),
      field("shape of another length", Code::damaged, record + 136, u64{5000}),
      field("shape of everything", Code::damaged, record + 136, top),
  };
  for (const u64 value : {u64{0}, u64{8192}, u64{16383}, u64{20480}, u64{1} << 63, top - 63, top})
    cases.push_back(
        field("payload at " + std::to_string(value), Code::damaged, record + 72, value));
  for (const u64 value : {u64{0}, u64{63}, u64{72}, u64{1} << 40, u64{1} << 63, top - 16383, top})
    cases.push_back({"payload of " + std::to_string(value), Code::damaged, [=](Surgeon& surgeon) {
                       surgeon.put(record + 80, value).put(record + 8, value);
                     }});
  expect_refused(bytes_of(scratch, small_image()), cases);
}

TEST(ImageDamage, HostileNotesAreRefused) {
  const ScratchDirectory scratch;
  Image image = small_image();
  image.rules.normalisation = "url/1";
  // Key form at 8480, carriage returns at 8496, normalisation at 8512; each 8 + 8 bytes.
  constexpr std::size_t notes = Surgeon::record + Surgeon::record_bytes;
  expect_refused(bytes_of(scratch, image),
                 {field("unknown critical note", Code::unsupported, notes + 32, u16{0x8007}),
                  field("critical free text", Code::unsupported, notes + 32, u16{0x8005}),
                  field("no key form", Code::damaged, notes, u16{1}),
                  field("note 0", Code::damaged, notes, u16{0x8000}),
                  field("the same note twice", Code::damaged, notes + 16, u16{0x8001}),
                  field("out of order", Code::damaged, notes + 32, u16{0x8001}),
                  field("unused bytes", Code::damaged, notes + 2, u16{1}),
                  field("longer than its place", Code::damaged, notes + 36, u32{9}),
                  field("2^32 - 1 long", Code::damaged, notes + 36, u32{0xffffffff}),
                  field("key form too long", Code::damaged, notes + 4, u32{3}),
                  field("unknown key form", Code::unsupported, notes + 8, u16{6}),
                  field("padding", Code::damaged, notes + 10, u8{1}),
                  field("carriage returns 2", Code::damaged, notes + 24, u8{2}),
                  field("a blank in the normalisation", Code::damaged, notes + 41, u8{' '}),
                  field("a normalisation of no name", Code::damaged, notes + 36, u32{0}),
                  field("a key that is not used", Code::damaged, notes + 32, u16{0x8004})});
}

TEST(ImageDamage, HostileNotesOnWhatKeysWereMadeFromAreRefused) {
  const ScratchDirectory scratch;
  Image image = small_image();
  image.rules.made_from = "-k 2";
  // Behind key form and carriage returns: head at +32, text at +40.
  constexpr std::size_t notes = Surgeon::record + Surgeon::record_bytes;
  expect_refused(bytes_of(scratch, image),
                 {field("a control character", Code::damaged, notes + 41, u8{7}),
                  field("a delete", Code::damaged, notes + 41, u8{0x7f}),
                  field("no text", Code::damaged, notes + 36, u32{0}),
                  field("a critical one", Code::unsupported, notes + 32, u16{0x8007})});
}

TEST(ImageDamage, HostileNotesOnTheOutputAreRefused) {
  const ScratchDirectory scratch;
  Image image = small_image();
  image.output = WrittenOutput{"/tmp/out", 7, true};
  // Behind key form and carriage returns: head at +32, length at +40, ended at +48, path at +56.
  constexpr std::size_t notes = Surgeon::record + Surgeon::record_bytes;
  expect_refused(bytes_of(scratch, image),
                 {field("no path", Code::damaged, notes + 36, u32{16}),
                  field("too short", Code::damaged, notes + 36, u32{9}),
                  field("ended and not", Code::damaged, notes + 48, u64{2})});
}

TEST(ImageDamage, OverlappingPayloadsAreRefused) {
  const ScratchDirectory scratch;
  const auto sound =
      bytes_of(scratch, image_of(Form::cascade, bitmap_part(0, 512), bitmap_part(0, 512)));
  constexpr std::size_t second = Surgeon::record + Surgeon::record_bytes + 72;
  expect_refused(sound, {field("on the first", Code::damaged, second, u64{16384}),
                         field("in the first", Code::damaged, second, u64{16384 + 64}),
                         field("on the chunk table", Code::damaged, second, u64{12288}),
                         field("behind the end", Code::damaged, second, u64{24576}),
                         {"changed places", Code::damaged, [](Surgeon& surgeon) {
                            surgeon.put(Surgeon::record + 72, u64{20480}).put(second, u64{16384});
                          }}});
}

TEST(ImageDamage, OnlyTheFirstSuperblockIsNotEnough) {
  const ScratchDirectory scratch;
  auto bytes = bytes_of(scratch, small_image());
  Surgeon surgeon(bytes);
  bytes = surgeon.put(32, u64{2}).sealed();  // generation 2 in both
  FileBytes mixed = bytes_of(scratch, small_image());
  std::copy_n(bytes.begin(), 4096, mixed.begin());  // A of one save, B of another: both sums fit
  write_whole(scratch / "a", mixed);
  const auto opened = open_image(scratch / "a");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::damaged);
  EXPECT_NE(opened.error().sentence.find("superblocks differ"), std::string::npos);
}

TEST(ImageDamage, WhatLaterVersionsMayAddIsReadOver) {
  const ScratchDirectory scratch;
  Image image = small_image();
  image.rules.normalisation = "url/1";
  constexpr std::size_t notes = Surgeon::record + Surgeon::record_bytes;
  const std::vector<std::function<void(Surgeon&)>> harmless = {
      [](Surgeon& surgeon) { surgeon.put(10, u16{7}); },           // minor
      [](Surgeon& surgeon) { surgeon.put(20, u32{0x80000001}); },  // ro_compat
      [](Surgeon& surgeon) { surgeon.put(24, u32{0x80000001}); },  // compat
      [](Surgeon& surgeon) { surgeon.put(32, u64{99}); },          // generation
      [](Surgeon& surgeon) { surgeon.put(notes + 32, u16{5}); },   // free text
      [](Surgeon& surgeon) { surgeon.put(notes + 32, u16{0x7fff}); },
  };
  const auto sound = bytes_of(scratch, image);
  for (std::size_t i = 0; i < harmless.size(); ++i) {
    Surgeon surgeon(sound);
    harmless[i](surgeon);
    write_whole(scratch / "a", surgeon.sealed());
    EXPECT_TRUE(open_image(scratch / "a")) << i;
  }
}

TEST(ImageDamage, SentencesSayWhatTheFileIsInstead) {
  const ScratchDirectory scratch;
  const auto sentence = [&](const std::string& text, Code code) {
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    write_whole(scratch / "a", {first, first + text.size()});
    const auto opened = open_image(scratch / "a");
    EXPECT_FALSE(opened);
    EXPECT_EQ(opened.error().code, code);
    return opened.error().sentence;
  };
  const std::string name = (scratch / "a").string();
  EXPECT_EQ(sentence("PK\x03\x04 and so on", Code::not_ours),
            name + " is not a bloomery image: it begins with 'PK\\x03\\x04 and'");
  EXPECT_EQ(sentence("", Code::not_ours), name + " is not a bloomery image: it is empty");
  EXPECT_EQ(sentence(std::string(50'000, '\0'), Code::not_ours),
            name +
                " is not a bloomery image: it begins with "
                "'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00'");
  EXPECT_NE(sentence("\x89"
                     "BLMY\n\x1a" +
                         std::string(50'000, 'x'),
                     Code::damaged)
                .find("text mode"),
            std::string::npos);
  const auto missing = open_image(scratch / "missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::io);
  EXPECT_NE(missing.error().sentence.find("No such file or directory"), std::string::npos);
  EXPECT_FALSE(open_image(scratch.path()));
}

}  // namespace
}  // namespace bloomery::detail

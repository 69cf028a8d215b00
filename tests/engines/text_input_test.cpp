#include <bloomery/engines/input/text_input.hpp>

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>

#include <bloomery/engines/input/not_text.hpp>
#include <bloomery/engines/input/utf16.hpp>

namespace bloomery::detail {
namespace {

using namespace std::string_literals;

struct Outcome {
  std::string text;
  std::string failed;
};

// Everything that a decoder makes of `bytes`, given and taken in pieces of chance.
Outcome decoded(Decoder& decoder, std::string_view bytes, std::mt19937_64& chance) {
  Outcome outcome;
  std::size_t taken = 0;
  std::size_t offered = 0;
  for (;;) {
    std::string out(1 + chance() % 9, '?');
    Decoded step =
        decoder.decode({bytes.data() + taken, offered - taken}, out, offered == bytes.size());
    taken += step.taken;
    outcome.text += out.substr(0, step.made);
    if (step.failed) {
      outcome.failed = step.failed->sentence;
      return outcome;
    }
    if (step.taken > 0 || step.made > 0) continue;
    if (offered == bytes.size()) return outcome;
    offered = std::min(bytes.size(), offered + 1 + chance() % 5);
  }
}

std::string utf16(const std::u16string& units, ByteOrder order) {
  std::string bytes;
  for (const char16_t unit : units) {
    const char low = static_cast<char>(unit & 0xff);
    const char high = static_cast<char>(unit >> 8);
    bytes += order == ByteOrder::little ? std::string{low, high} : std::string{high, low};
  }
  return bytes;
}

std::string gzipped(const std::string& bytes) {
  std::string packed(compressBound(bytes.size()) + 64, '\0');
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<unsigned>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<unsigned>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

TEST(Utf16, AnyPiecesGiveTheSameText) {
  constexpr std::uint64_t seed = 20261116;
  std::mt19937_64 chance(seed);
  const std::u16string units = u"a\n\u00fc\u20ac\U0001f600\uffff\U0010ffff\U00010000\0z"s;
  const std::string text =
      "a\n\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbf\xf4\x8f\xbf\xbf\xf0\x90\x80\x80\0z"s;
  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big})
    for (int round = 0; round < 200; ++round) {
      const auto decoder = utf16_decoder(order, 2);
      const Outcome outcome = decoded(*decoder, utf16(units, order), chance);
      EXPECT_EQ(outcome.failed, "") << "seed " << seed;
      EXPECT_EQ(outcome.text, text) << "seed " << seed;
    }
}

TEST(Utf16, HalvesAreErrorsWithTheirPlace) {
  std::mt19937_64 chance(1);
  const auto failure = [&](const std::string& bytes) {
    const auto decoder = utf16_decoder(ByteOrder::little, 2);
    return decoded(*decoder, bytes, chance).failed;
  };
  EXPECT_TRUE(failure("a\0\n\0x"s).starts_with("line 2 (byte 6): "));
  EXPECT_TRUE(failure("a\0\x00\xd8"s).starts_with("line 1 (byte 6): "));
  EXPECT_TRUE(failure("a\0\x00\xd8"s + "b\0"s).starts_with("line 1 (byte 6): "));
  EXPECT_TRUE(failure("\n\0\n\0\x00\xdc"s).starts_with("line 3 (byte 6): "));
  EXPECT_TRUE(failure("\x00\xd8\x00\xd8"s).starts_with("line 1 (byte 4): "));
  EXPECT_EQ(failure(""), "");
}

TEST(TextInput, WhatIsInsideOfAStreamIsLookedAtToo) {
  std::mt19937_64 chance(2);
  const OpenDecoder open = open_text({.otherwise = "or else"});
  const auto outcome_of = [&](const std::string& held) {
    const std::string packed = gzipped(held);
    auto found = open(packed, true);
    EXPECT_TRUE(found && found->decoder != nullptr);
    return decoded(*found->decoder, packed, chance);
  };
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(outcome_of("").text, "");
    EXPECT_EQ(outcome_of("\xef\xbb\xbfone\ntwo").text, "one\ntwo");
    EXPECT_EQ(outcome_of(std::string(100'000, 'x')).text, std::string(100'000, 'x'));
    EXPECT_EQ(outcome_of("\xff\xfe" + utf16(u"\u00fc\n", ByteOrder::little)).text, "\xc3\xbc\n");
    EXPECT_TRUE(outcome_of("PK\x03\x04....").failed.starts_with("this is a zip archive"));
    EXPECT_TRUE(outcome_of("PK\x03\x04....").failed.ends_with("unzip -p FILE; or else"));
    EXPECT_TRUE(outcome_of(gzipped("x")).failed.starts_with("this is a gzip stream inside"));
    EXPECT_TRUE(outcome_of("\xff\xfex").failed.find("odd number") != std::string::npos);
  }
}

TEST(TextInput, APipeIsUndecidedOnlyWhileNoRecordIsWhole) {
  const OpenDecoder open = open_text({.delimiter = ";"});
  const auto decided = [&](const std::string& bytes) { return open(bytes, false)->decided; };
  for (const char* bytes : {"", "O", "PK", "\xef", "\xef\xbb", "\xff", "SQLite", "name"})
    EXPECT_FALSE(decided(bytes)) << bytes;
  EXPECT_FALSE(decided("\xff\xfe"));
  for (const char* bytes : {"O;", "PK;", "\xef;", "\xef\xbb\xbf", ";", "x;", "a;b"})
    EXPECT_TRUE(decided(bytes)) << bytes;
  EXPECT_TRUE(decided(std::string(recognised_bytes, 'x')));
  // Two bytes and the end: a mark and no text.
  const auto end = open("\xff\xfe", true);
  EXPECT_TRUE(end->decided);
  EXPECT_EQ(end->skip, 2u);
}

}  // namespace
}  // namespace bloomery::detail

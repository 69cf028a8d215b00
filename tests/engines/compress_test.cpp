// What the encoders make, read by the decoders of the library: whole, and up to a flush.
#include <bloomery/engines/input/compress.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <bloomery/text/decompress.hpp>
#include <bloomery/text/line_writer.hpp>

#include "scratch.hpp"

namespace bloomery::detail {
namespace {

const std::vector<std::string> names = {"x.gz", "x.bz2", "x.xz", "x.zst", "x.lz4"};

// All that can be decoded of these bytes, of which more may come.
std::string decoded(const std::string& bytes, bool last) {
  auto recognised = open_decompressor(bytes).value();
  if (recognised.decoder == nullptr) return "not recognised";
  std::string text;
  std::vector<char> room(1000);
  for (std::size_t taken = 0;;) {
    const Decoded step =
        recognised.decoder->decode(std::span<const char>(bytes).subspan(taken), room, last);
    EXPECT_FALSE(step.failed) << step.failed->sentence;
    text.append(room.data(), step.made);
    taken += step.taken;
    if (step.failed || (step.taken == 0 && step.made == 0)) return text;
  }
}

TEST(Compress, WhatIsFlushedCanBeRead) {
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    auto encoder = open_compressor(name).value();
    ASSERT_NE(encoder, nullptr);
    std::string bytes;
    encoder->encode("first\n", EncodeUntil::more, bytes).value();
    encoder->encode("second\n", EncodeUntil::flushed, bytes).value();
    EXPECT_EQ(decoded(bytes, false), "first\nsecond\n");
    encoder->encode("", EncodeUntil::flushed, bytes).value();
    encoder->encode("third\n", EncodeUntil::end, bytes).value();
    EXPECT_EQ(decoded(bytes, true), "first\nsecond\nthird\n");
  }
}

TEST(Compress, LargeAndIncompressibleInputComesBack) {
  std::string text;
  std::uint64_t state = 1;
  while (text.size() < most_encoded_at_once) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    text += static_cast<char>(state >> 56);
  }
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    auto encoder = open_compressor(name).value();
    std::string bytes;
    for (int i = 0; i < 3; ++i) encoder->encode(text, EncodeUntil::more, bytes).value();
    encoder->encode({}, EncodeUntil::end, bytes).value();
    EXPECT_TRUE(decoded(bytes, true) == text + text + text);
  }
}

TEST(Compress, AWriterCountsWhatItTookAndEndsTheStreamWhenItIsClosed) {
  const Scratch folder;
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    LineWriter out = LineWriter::create(folder.path(name), Overwrite::refuse).value();
    out.encode_with(open_compressor(name).value());
    LineWriter moved = std::move(out);
    moved.append("a\n");
    EXPECT_EQ(moved.bytes_written(), 2U);
    moved.flush().value();
    moved.append(std::string(3 << 20, 'x'));
    EXPECT_EQ(moved.bytes_written(), 2U + (3 << 20));
    moved.close().value();
    EXPECT_TRUE(decoded(bytes_of(folder.path(name)), true) == "a\n" + std::string(3 << 20, 'x'));
  }
}

TEST(Compress, OnlyTheseNamesAreCompressed) {
  for (const char* name : {"a.gz", "/x/y.tar.zst", "a.b/c.xz"}) EXPECT_TRUE(names_compressed(name));
  for (const char* name : {"a", "", ".gz", "/x/.gz", "a.gz/b", "agz", "a.zip", "a.GZ ", "-"}) {
    EXPECT_FALSE(names_compressed(name)) << name;
    EXPECT_EQ(open_compressor(name).value(), nullptr) << name;
  }
}

}  // namespace
}  // namespace bloomery::detail

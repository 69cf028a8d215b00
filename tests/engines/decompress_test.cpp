// Compressed input, made by the programs that people use: gzip, bzip2, xz, zstd.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <bloomery/detail/engines/input/input_file.hpp>
#include <bloomery/engines/input/codecs.hpp>
#include <bloomery/engines/integers/numbers.hpp>
#include <bloomery/text/decompress.hpp>
#include <bloomery/text/lines.hpp>

#include "scratch.hpp"

namespace bloomery::detail {
namespace {

struct Codec {
  const char* name;
  const char* command;  // from standard input to standard output
  // A file cut to fewer bytes than this is text.
  std::size_t header_bytes;
};

std::ostream& operator<<(std::ostream& out, const Codec& codec) { return out << codec.name; }

class Decompress : public testing::TestWithParam<Codec> {
 protected:
  // What the codec's own program makes of these bytes.
  std::string packed(std::string_view bytes, const std::string& flags = "") {
    const std::string from = scratch.file("unpacked", bytes);
    const std::string to = scratch.path("packed");
    const std::string command =
        std::string(GetParam().command) + " " + flags + " < " + from + " > " + to;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return bytes_of(to);
  }

  Scratch scratch;
};

struct Outcome {
  std::string bytes;
  std::string error;  // empty: none
  Code code = Code::io;
};

// All that a file holds, asked for in pieces of this size.
Outcome read_all(const std::string& path, std::size_t piece = 1000) {
  Outcome outcome;
  auto file = InputFile::open(path, open_decompressor);
  if (!file) return {"", file.error().sentence, file.error().code};
  std::vector<char> block(piece);
  for (;;) {
    const auto got = file->read(block);
    if (!got) {
      outcome.error = got.error().sentence;
      outcome.code = got.error().code;
      return outcome;
    }
    if (*got == 0) return outcome;
    outcome.bytes.append(block.data(), *got);
  }
}

std::string random_lines(std::mt19937_64& random, std::size_t lines) {
  std::string bytes;
  for (std::size_t i = 0; i < lines; ++i)
    bytes += "https://example.org/" + std::to_string(random() % 100'000) + "\n";
  return bytes;
}

TEST_P(Decompress, FileGivesWhatWasPackedInAnyPieces) {
  std::mt19937_64 random(1);
  const std::string bytes = random_lines(random, 20'000);
  const std::string path = scratch.file("in", packed(bytes));
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{7}, std::size_t{4096}, bytes.size()}) {
    const Outcome outcome = read_all(path, piece);
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.bytes, bytes) << piece;
  }
}

TEST_P(Decompress, EmptyInputHasNoLines) {
  const std::string path = scratch.file("in", packed(""));
  const Outcome outcome = read_all(path);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.bytes, "");
  EXPECT_EQ(count_lines({path}, {.decode = open_decompressor}).value(), 0u);
}

TEST_P(Decompress, MembersOneAfterTheOtherAreReadThrough) {
  const std::string path =
      scratch.file("in", packed("one\n") + packed("") + packed("two\nthree\n") + packed(""));
  for (const std::size_t piece : {1, 2, 1000}) {
    const Outcome outcome = read_all(path, piece);
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.bytes, "one\ntwo\nthree\n");
  }
}

TEST_P(Decompress, CutShortAtAnyByteIsAnErrorAfterTheGoodBytes) {
  std::mt19937_64 random(2);
  const std::string bytes = random_lines(random, 30);
  const std::string whole = packed(bytes);
  ASSERT_GT(whole.size(), GetParam().header_bytes);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string cut = whole.substr(0, length);
    const Outcome outcome = read_all(scratch.file("in", cut));
    if (length < GetParam().header_bytes) {
      EXPECT_EQ(outcome.error, "") << length;
      EXPECT_EQ(outcome.bytes, cut) << length;
      continue;
    }
    EXPECT_NE(outcome.error.find("cut short"), std::string::npos) << length << outcome.error;
    EXPECT_EQ(outcome.error.find(scratch.path("in") + ": "), 0u) << outcome.error;
    EXPECT_EQ(outcome.code, Code::damaged);
    EXPECT_TRUE(bytes.starts_with(outcome.bytes)) << length;
  }
}

TEST_P(Decompress, CutInTheSecondMemberIsAnError) {
  const std::string first = packed("one\n");
  const std::string second = packed("two\n");
  for (std::size_t length = 1; length < second.size(); ++length) {
    const Outcome outcome = read_all(scratch.file("in", first + second.substr(0, length)));
    EXPECT_NE(outcome.error, "") << length;
    EXPECT_TRUE(std::string("one\ntwo\n").starts_with(outcome.bytes)) << length;
    EXPECT_GE(outcome.bytes.size(), 4u) << length;
  }
}

// Some bits are not checked (the time stamp of gzip, padding): a flip there changes nothing. No
// flip may change what is read without an Error.
TEST_P(Decompress, FlippedBitNeverChangesWhatIsReadInSilence) {
  std::mt19937_64 random(3);
  const std::string bytes = random_lines(random, 30);
  const std::string whole = packed(bytes);
  std::size_t refused = 0;
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    std::string flipped = whole;
    flipped[byte] = static_cast<char>(flipped[byte] ^ (1 << random() % 8));
    const Outcome outcome = read_all(scratch.file("in", flipped));
    refused += !outcome.error.empty();
    if (!outcome.error.empty() || outcome.bytes == flipped) continue;  // no header: it is text
    EXPECT_EQ(outcome.bytes, bytes) << "byte " << byte;
  }
  EXPECT_GT(refused, whole.size() / 2);
}

TEST_P(Decompress, GarbageAfterTheEndIsAnError) {
  const std::string whole = packed("one\ntwo\n");
  for (const std::string& garbage :
       {std::string("x"), std::string("garbage, and quite long"), std::string("\0\0\0\0x", 5),
        std::string("BZ"), std::string("\x1f\x8b")}) {
    const Outcome outcome = read_all(scratch.file("in", whole + garbage));
    EXPECT_NE(outcome.error, "") << garbage;
    EXPECT_EQ(outcome.bytes, "one\ntwo\n") << garbage;
  }
}

TEST_P(Decompress, ZerosAfterTheEndArePaddingButForZstd) {
  const std::string whole = packed("one\n");
  for (const std::size_t zeros : {4, 512, 100'000}) {
    const Outcome outcome = read_all(scratch.file("in", whole + std::string(zeros, '\0')));
    EXPECT_EQ(outcome.error.empty(), GetParam().name != std::string("zstd")) << outcome.error;
    EXPECT_EQ(outcome.bytes, "one\n");
  }
}

TEST_P(Decompress, PipeGivesTheSameAsAFile) {
  std::mt19937_64 random(4);
  const std::string bytes = random_lines(random, 20'000);
  for (const std::size_t piece : {3, 1000, 1'000'000}) {
    Feed feed(packed(bytes) + packed("last"));
    const Outcome outcome = read_all(feed.path(), piece);
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.bytes, bytes + "last");
  }
}

TEST_P(Decompress, LinesOfPackedFilesAreThoseOfPlainOnes) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 20; ++round) {
    std::string bytes;
    const std::size_t length = random() % 3000;
    for (std::size_t i = 0; i < length; ++i) bytes += "ab\n\0"[random() % 4];
    const LineRules rules{.decode = open_decompressor};
    const std::string plain = scratch.file("plain", bytes);
    const std::string small = scratch.file("small", packed(bytes));
    Inputs left({plain, small}, rules, 1 + random() % 100);
    std::vector<std::string> lines;
    std::uint64_t of_plain = 0;
    for (;;) {
      const auto batch = left.next();
      ASSERT_TRUE(batch);
      if (batch->empty()) break;
      if (left.name() == plain) of_plain += batch->size();
      lines.insert(lines.end(), batch->begin(), batch->end());
    }
    ASSERT_EQ(lines.size(), 2 * of_plain);
    for (std::size_t i = 0; i < of_plain; ++i) ASSERT_EQ(lines[i], lines[of_plain + i]);
    EXPECT_EQ(left.bytes_read(), 2 * bytes.size());
    EXPECT_EQ(left.file_bytes_read(), bytes.size() + bytes_of(small).size());
    EXPECT_EQ(count_lines({small}, rules).value(), of_plain);
    EXPECT_GE(estimate_lines({small}, rules).value(), of_plain);
  }
}

TEST_P(Decompress, EstimateOfALargeFileIsNearTheTruth) {
  std::mt19937_64 random(6);
  const std::size_t lines = 600'000;  // of 25 bytes: three times what is looked at
  const std::string path = scratch.file("in", packed(random_lines(random, lines), "-1"));
  const auto guess = estimate_lines({path}, {.decode = open_decompressor}).value();
  EXPECT_GE(guess, lines);
  EXPECT_LE(guess.value(), lines * 3 / 2);
}

TEST_P(Decompress, DamageDoesNotStopTheEstimate) {
  const std::string whole = packed("one\ntwo\n");
  const std::string path = scratch.file("in", whole.substr(0, whole.size() - 1));
  const LineRules rules{.decode = open_decompressor};
  EXPECT_TRUE(estimate_lines({path}, rules));
  EXPECT_FALSE(count_lines({path}, rules));
}

TEST_P(Decompress, BinaryNumbersAreReadToo) {
  const std::string bytes("\x01\0\0\0\x02\0\0\0", 8);
  NumberRules rules;
  rules.format = IntegerFormat::u32le;
  rules.lines.decode = open_decompressor;
  const std::string path = scratch.file("in", packed(bytes));
  NumberReader reader({path}, rules);
  const auto numbers = reader.next();
  ASSERT_TRUE(numbers);
  ASSERT_EQ(numbers->size(), 2u);
  EXPECT_EQ((*numbers)[1].value, 2u);
  EXPECT_TRUE(reader.next()->empty());
  EXPECT_EQ(reader.bytes_read(), 8u);
  EXPECT_EQ(reader.file_bytes_read(), bytes_of(path).size());
}

TEST_P(Decompress, WithoutADecoderBytesAreWhatTheyAre) {
  const std::string whole = packed("one\n");
  auto file = InputFile::open(scratch.file("in", whole)).value();
  std::vector<char> block(10'000);
  EXPECT_EQ(std::string(block.data(), file.read(block).value()), whole);
  EXPECT_FALSE(file.compressed());
}

// A pipe that stays open: what it gave is read, and then it is not ready.
TEST_P(Decompress, OpenPipeIsReadyOnlyWhileThereIsSomethingToRead) {
  const std::string bytes = "one\ntwo\n";
  for (const std::string& given : {packed(bytes), bytes}) {
    for (std::size_t piece = 1; piece <= bytes.size() + 1; ++piece) {
      int ends[2];
      ASSERT_EQ(::pipe(ends), 0);
      ASSERT_EQ(::write(ends[1], given.data(), given.size()), static_cast<ssize_t>(given.size()));
      auto file = InputFile::open("/dev/fd/" + std::to_string(ends[0]), open_decompressor).value();
      std::string got;
      std::vector<char> block(piece);
      while (got.size() < bytes.size()) {
        ASSERT_TRUE(file.ready()) << piece << got;
        got.append(block.data(), file.read(block).value());
      }
      EXPECT_EQ(got, bytes);
      EXPECT_FALSE(file.ready()) << piece;
      ::close(ends[1]);
      EXPECT_TRUE(file.ready());
      EXPECT_EQ(file.read(block).value(), 0u);
      ::close(ends[0]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, Decompress,
                         testing::Values(Codec{"gzip", "gzip -c", 10},
                                         Codec{"bzip2", "bzip2 -c", 10}, Codec{"xz", "xz -c", 12},
                                         // The program leaves the size out of what it reads from
                                         // a pipe or is redirected to: four bytes and two.
                                         Codec{"zstd", "zstd -q -c", 6}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(DecompressSigns, MagicWithoutAValidHeaderIsText) {
  Scratch scratch;
  const std::vector<std::string> texts = {"BZh",
                                          "BZh9",
                                          "BZh9 is how a bzip2 file begins\n",
                                          "BZh01AY&SY",
                                          "BZhello world, hello\n",
                                          std::string("\x1f\x8b", 2),
                                          std::string("\x1f\x8b\x07\0\0\0\0\0\0\0\0\0", 12),
                                          std::string("\x1f\x8b\x08\xe0\0\0\0\0\0\0\0\0", 12),
                                          std::string("\xfd"
                                                      "7zXZ\0\0\x04\0\0\0\0",
                                                      12),
                                          std::string("\x28\xb5\x2f\xfd\x08\0\0\0\0", 9),
                                          "(",
                                          "P",
                                          "PK",
                                          "P*M",
                                          "P*M again and again\n",
                                          "\xfd",
                                          "B",
                                          "",
                                          "\n"};
  for (const std::string& text : texts) {
    const Outcome outcome = read_all(scratch.file("in", text));
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.bytes, text);
    Feed feed(text);
    EXPECT_EQ(read_all(feed.path(), 3).bytes, text);
  }
}

TEST(DecompressSigns, PipeOfTextIsNotWaitedForToTellThatItIsText) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "B\n", 2), 2);
  auto file = InputFile::open("/dev/fd/" + std::to_string(ends[0]), open_decompressor).value();
  std::vector<char> block(100);
  EXPECT_EQ(file.read(block).value(), 2u);
  EXPECT_FALSE(file.ready());
  ::close(ends[1]);
  ::close(ends[0]);
}

// Header and bytes that trickle in one by one are recognised all the same.
TEST(DecompressSigns, PipeThatTricklesIsRecognised) {
  Scratch scratch;
  const std::string packed_path = scratch.path("packed");
  ASSERT_EQ(std::system(("printf 'one\\n' | gzip -c > " + packed_path).c_str()), 0);
  const std::string packed = bytes_of(packed_path);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::thread writer([&] {
    for (const char c : packed) {
      EXPECT_EQ(::write(ends[1], &c, 1), 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ::close(ends[1]);
  });
  EXPECT_EQ(read_all("/dev/fd/" + std::to_string(ends[0])).bytes, "one\n");
  writer.join();
  ::close(ends[0]);
}

TEST(DecompressSigns, SkippableFramesOfZstdAreSkipped) {
  Scratch scratch;
  const std::string to = scratch.path("packed");
  ASSERT_EQ(std::system(("printf 'one\\n' | zstd -q -c > " + to).c_str()), 0);
  const std::string skippable("\x5a\x2a\x4d\x18\x03\0\0\0abc", 11);
  const Outcome outcome =
      read_all(scratch.file("in", skippable + bytes_of(to) + skippable + bytes_of(to)));
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.bytes, "one\none\n");
}

// liblz4 would decode such a frame without its dictionary.
TEST(DecompressSigns, FramesOfLz4ThatNeedADictionaryAreRefusedWhereverTheyStand) {
  // A good empty frame, and one whose flags name a dictionary.
  const std::string good("\x04\x22\x4d\x18\x60\x40\x82\0\0\0\0", 11);
  const std::string other("\x04\x22\x4d\x18\x61\x40\xa7\x36\0\0\0", 11);
  for (const std::string& stream : {other, good + other})
    for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
      const auto decoder = lz4_decoder().value();
      std::optional<Error> failed;
      std::array<char, 64> out;
      std::size_t taken = 0, offered = 0;
      while (!failed) {
        const bool last = offered == stream.size();
        const auto step =
            decoder->decode(std::span(stream).subspan(taken, offered - taken), out, last);
        failed = step.failed;
        taken += step.taken;
        if (step.taken > 0 || step.made > 0) continue;
        if (last) break;
        offered = std::min(stream.size(), offered + piece);
      }
      ASSERT_TRUE(failed) << piece;
      EXPECT_EQ(failed->code, Code::unsupported) << piece << ": " << failed->sentence;
    }
}

// libzstd looks at the size in the header of such a frame only if it gets all of it at once.
TEST(DecompressSigns, FramesOfZstdThatAreShorterThanTheySayAreDamaged) {
  Scratch scratch;
  // Descriptor: a dictionary of one byte, a content size of two; 276 bytes; two empty blocks.
  const std::string frame("\x28\xb5\x2f\xfd\x41\0\0\x14\0\0\0\0\1\0\0", 15);
  const std::string path = scratch.file("in", frame);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{100}, std::size_t{1000}}) {
    const Outcome outcome = read_all(path, piece);
    EXPECT_EQ(outcome.code, Code::damaged) << piece;
    EXPECT_NE(outcome.error.find("the zstd stream is damaged"), std::string::npos) << outcome.error;
  }
}

// libzstd refuses an empty compressed block only in a frame that it gets at once.
TEST(DecompressSigns, FramesOfZstdAreJudgedAlikeAtOnceAndInPieces) {
  Scratch scratch;
  const std::string frame("\x28\xb5\x2f\xfd\x81\2\0\0\0\0\0\5\0\0", 14);
  const std::string path = scratch.file("in", frame + "x");
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1000}}) {
    const Outcome outcome = read_all(path, piece);
    EXPECT_NE(outcome.error.find("unexpected data after the end"), std::string::npos)
        << outcome.error;
  }
}

// libzstd took the last bytes of such a header for the beginning of another frame, one that needs a
// dictionary here.
TEST(DecompressSigns, AHeaderOfZstdThatEndsLikeTheBeginningOfAFrameIsAHeader) {
  Scratch scratch;
  const std::string frame("\x28\xb5\x2f\xfd\x40\x28\xb5\x2f\xfd\x13\x13", 11);
  const std::string path = scratch.file("in", frame + std::string(50, '\x13'));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{6}, std::size_t{1 << 20}}) {
    const Outcome outcome = read_all(path, piece);
    EXPECT_EQ(outcome.code, Code::damaged) << piece;
    EXPECT_NE(outcome.error.find("the zstd stream is damaged"), std::string::npos) << outcome.error;
  }
}

TEST(DecompressSigns, OtherSettingsOfThePrograms) {
  Scratch scratch;
  std::mt19937_64 random(7);
  const std::string bytes = random_lines(random, 50'000);
  const std::string from = scratch.file("unpacked", bytes);
  for (const std::string command :
       {"gzip -1 -n", "gzip -9", "bzip2 -1", "xz -9e", "xz --check=none", "xz --check=sha256",
        "xz --block-size=100000", "zstd -q -1 --no-check", "zstd -q --ultra -22",
        "zstd -q --long=27", "zstd -q -B100000 -T2"}) {
    const std::string to = scratch.path("packed");
    ASSERT_EQ(std::system((command + " -c " + from + " > " + to).c_str()), 0);
    const Outcome outcome = read_all(to, 10'000);
    EXPECT_EQ(outcome.error, "") << command;
    EXPECT_TRUE(outcome.bytes == bytes) << command;
  }
}

TEST(DecompressSigns, StreamsThatAskForTooMuchMemoryAreRefusedWithTheWayOut) {
  Scratch scratch;
  const std::string from = scratch.file("unpacked", "one\n");
  const std::string to = scratch.path("packed");
  const auto refusal = [&](const std::string& command) {
    EXPECT_EQ(std::system((command + " < " + from + " > " + to).c_str()), 0);
    const Outcome outcome = read_all(to);
    EXPECT_EQ(outcome.code, Code::no_memory) << command << outcome.error;
    return outcome.error;
  };
  EXPECT_NE(refusal("xz -c --lzma2=dict=512MiB").find("xz -dc"), std::string::npos);
  EXPECT_NE(refusal("zstd -q -c --ultra --long=30").find("--long=31"), std::string::npos);
}

}  // namespace
}  // namespace bloomery::detail

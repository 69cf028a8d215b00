#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <string>

#include <bloomery/text/line_writer.hpp>

#include "scratch.hpp"

namespace bloomery::detail {
namespace {

TEST(LineWriter, GathersAndKeepsTheOrderOfSmallAndLargePieces) {
  const Scratch scratch;
  const int fd = ::open(scratch.path("out").c_str(), O_WRONLY | O_CREAT, 0600);
  std::string expected;
  {
    LineWriter out(fd, "out", 64);
    for (std::size_t i = 0; i < 300; ++i) {
      const std::string piece(i % 150, static_cast<char>('a' + i % 26));
      out.append(piece);
      expected += piece;
      out.reserve(20)[0] = '!';
      out.commit(1);
      expected += '!';
    }
    EXPECT_EQ(out.bytes_written(), expected.size());
    EXPECT_TRUE(out.close());
  }
  ::close(fd);
  EXPECT_EQ(bytes_of(scratch.path("out")), expected);
}

TEST(LineWriter, ACreatedFileAppearsOnlyWhenClosed) {
  const Scratch scratch;
  auto out = LineWriter::create(scratch.path("out"), Overwrite::refuse).value();
  out.append("a\n");
  EXPECT_TRUE(out.flush());
  EXPECT_FALSE(std::filesystem::exists(scratch.path("out")));
  EXPECT_TRUE(out.close());
  EXPECT_EQ(bytes_of(scratch.path("out")), "a\n");
  EXPECT_EQ(scratch.files(), 1u);
}

TEST(LineWriter, AFileThatIsNotClosedLeavesNothingBehind) {
  const Scratch scratch;
  const std::string path = scratch.file("out", "before");
  {
    auto out = LineWriter::create(path, Overwrite::replace).value();
    out.append("after");
  }
  EXPECT_EQ(bytes_of(path), "before");
  EXPECT_EQ(scratch.files(), 1u);
}

TEST(LineWriter, ReplacesOnlyWhenTold) {
  const Scratch scratch;
  const std::string path = scratch.file("out", "before");
  ::chmod(path.c_str(), 0640);
  const auto refused = LineWriter::create(path, Overwrite::refuse);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::exists);
  auto out = LineWriter::create(path, Overwrite::replace).value();
  out.append("after");
  EXPECT_TRUE(out.close());
  EXPECT_EQ(bytes_of(path), "after");
  struct stat facts {};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0640u);
}

TEST(LineWriter, RefusesAFileThatSomebodyElseMadeMeanwhile) {
  const Scratch scratch;
  auto out = LineWriter::create(scratch.path("out"), Overwrite::refuse).value();
  out.append("ours");
  scratch.file("out", "theirs");
  const auto closed = out.close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, Code::exists);
  EXPECT_EQ(bytes_of(scratch.path("out")), "theirs");
  EXPECT_EQ(scratch.files(), 1u);
}

TEST(LineWriter, ReplacesTheFileBehindALink) {
  const Scratch scratch;
  const std::string path = scratch.file("real", "before");
  std::filesystem::create_symlink(path, scratch.path("link"));
  auto out = LineWriter::create(scratch.path("link"), Overwrite::replace).value();
  out.append("after");
  EXPECT_TRUE(out.close());
  EXPECT_TRUE(std::filesystem::is_symlink(scratch.path("link")));
  EXPECT_EQ(bytes_of(path), "after");
}

TEST(LineWriter, MakesTheFileThatADanglingLinkPointsTo) {
  const Scratch scratch;
  std::filesystem::create_symlink("nothing", scratch.path("link"));
  auto out = LineWriter::create(scratch.path("link"), Overwrite::refuse).value();
  out.append("a");
  EXPECT_TRUE(out.close());
  EXPECT_TRUE(std::filesystem::is_symlink(scratch.path("link")));
  EXPECT_EQ(bytes_of(scratch.path("nothing")), "a");
}

TEST(LineWriter, TakesTheLongestNameThereIs) {
  const Scratch scratch;
  const std::string path = scratch.path(std::string(255, 'n'));
  auto out = LineWriter::create(path, Overwrite::refuse).value();
  out.append("a");
  EXPECT_TRUE(out.close());
  EXPECT_EQ(bytes_of(path), "a");
}

TEST(LineWriter, AFileMayBeLongerThanTheBuffer) {
  const Scratch scratch;
  auto out = LineWriter::create(scratch.path("out"), Overwrite::refuse).value();
  std::string expected;
  for (int i = 0; i < 300'000; ++i) {
    const std::string line = std::to_string(i) + "\n";
    out.append(line);
    expected += line;
  }
  LineWriter moved = std::move(out);
  EXPECT_EQ(moved.bytes_written(), expected.size());
  EXPECT_TRUE(moved.close());
  EXPECT_EQ(bytes_of(scratch.path("out")), expected);
}

TEST(LineWriter, SaysThatTheDiskIsFull) {
  auto out = LineWriter::create("/dev/full", Overwrite::refuse).value();
  out.append("a");
  const auto flushed = out.flush();
  ASSERT_FALSE(flushed);
  EXPECT_NE(flushed.error().sentence.find("disk is full"), std::string::npos);
  EXPECT_FALSE(out.reader_gone());
  EXPECT_FALSE(out.close());
}

TEST(LineWriter, KnowsThatItsReaderHasGone) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  LineWriter out(ends[1], "pipe", 16);
  out.append("more than sixteen bytes of text");
  EXPECT_FALSE(out.good());
  EXPECT_TRUE(out.reader_gone());
  out.append("dropped");
  EXPECT_FALSE(out.close());
  ::close(ends[1]);
  std::signal(SIGPIPE, before);
}

TEST(LineWriter, NamesADirectoryThatCanNotBeWritten) {
  const Scratch scratch;
  EXPECT_FALSE(LineWriter::create(scratch.path(""), Overwrite::replace));
  const auto refused = LineWriter::create(scratch.path("nowhere/out"), Overwrite::replace);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().sentence.find("nowhere/out"), std::string::npos);
}

TEST(LineWriter, GoesOnBehindTheBytesThatAreKnown) {
  const Scratch scratch;
  const std::string path = scratch.file("out", "one\ntwo\nbroken li");
  {
    auto out = LineWriter::resume(path, 8).value();
    EXPECT_EQ(out.bytes_written(), 8u);
    out.append("three\n");
    EXPECT_TRUE(out.sync());
    EXPECT_EQ(bytes_of(path), "one\ntwo\nthree\n");
    EXPECT_EQ(out.bytes_written(), 14u);
    EXPECT_TRUE(out.close());
  }
  EXPECT_EQ(LineWriter::resume(path, 15).error().code, Code::mismatch);
  EXPECT_EQ(bytes_of(path), "one\ntwo\nthree\n");
  EXPECT_FALSE(LineWriter::resume(scratch.path("missing"), 1));
  auto fresh = LineWriter::resume(scratch.path("fresh"), 0).value();
  fresh.append("a\n");
  EXPECT_TRUE(fresh.close());
  EXPECT_EQ(bytes_of(scratch.path("fresh")), "a\n");
  EXPECT_FALSE(LineWriter::resume("/dev/null", 0));
}

TEST(LineWriter, AFileThatIsGoneOnWithHasOneWriter) {
  const Scratch scratch;
  const std::string path = scratch.file("out", "one\ntwo\n");
  auto first = LineWriter::resume(path, 4).value();
  const auto second = LineWriter::resume(path, 0);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().sentence.find("another run"), std::string::npos);
  EXPECT_EQ(bytes_of(path), "one\n");
  EXPECT_TRUE(first.close());
  EXPECT_TRUE(LineWriter::resume(path, 4));
}

TEST(LineWriter, WhatRefusesBeforeTheCutLeavesTheFile) {
  const Scratch scratch;
  const std::string path = scratch.file("out", "one\ntwo\n");
  const auto refused = LineWriter::resume(path, 4, [&]() -> Result<void> {
    EXPECT_EQ(bytes_of(path), "one\ntwo\n");
    return Error{Code::io, "no"};
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sentence, "no");
  EXPECT_EQ(bytes_of(path), "one\ntwo\n");
}

TEST(LineWriter, ABlockKeepsItsPlaceAmongOtherBytes) {
  const Scratch scratch;
  auto out = LineWriter::create(scratch.path("out"), Overwrite::refuse).value();
  const std::string large(200'000, 'x');
  out.append("a");
  out.append_block(large);
  out.append_block("b");
  EXPECT_TRUE(out.sync());
  EXPECT_TRUE(out.close());
  EXPECT_EQ(bytes_of(scratch.path("out")), "a" + large + "b");
}

}  // namespace
}  // namespace bloomery::detail

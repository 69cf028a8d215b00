#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <bloomery/file.hpp>

#include <tests/storage/scratch_directory.hpp>

namespace bloomery::detail {
namespace {

FileBytes bytes_from(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

Result<void> write_file(const std::filesystem::path& path, const std::string& text,
                        Overwrite overwrite = Overwrite::replace) {
  auto file = DurableFile::create(path, overwrite);
  if (!file) return file.error();
  if (auto done = file->reserve(text.size()); !done) return done;
  if (auto done = file->write(0, bytes_from(text)); !done) return done;
  return file->commit();
}

unsigned mode_of(const std::filesystem::path& path) {
  struct stat facts {};
  EXPECT_EQ(::stat(path.c_str(), &facts), 0);
  return facts.st_mode & 07777;
}

// A limit on the size of files, as a full disk that needs no disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    before_handler_ = ::signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, before_handler_);
  }

 private:
  rlimit before_{};
  void (*before_handler_)(int) = nullptr;
};

TEST(DurableFile, AppearsUnderItsNameOnlyWhenCommitted) {
  const ScratchDirectory scratch;
  auto file = DurableFile::create(scratch / "a", Overwrite::replace).value();
  file.reserve(5).value();
  file.write(0, bytes_from("hello")).value();
  EXPECT_FALSE(std::filesystem::exists(scratch / "a"));
  file.commit().value();
  EXPECT_EQ(read_whole(scratch / "a"), bytes_from("hello"));
  EXPECT_EQ(scratch.names(), std::set<std::string>{"a"});
}

TEST(DurableFile, WhatIsNotWrittenIsZero) {
  const ScratchDirectory scratch;
  auto file = DurableFile::create(scratch / "a", Overwrite::replace).value();
  file.reserve(10000).value();
  file.write(9999, bytes_from("x")).value();
  file.commit().value();
  const auto bytes = read_whole(scratch / "a");
  ASSERT_EQ(bytes.size(), 10000U);
  for (std::size_t i = 0; i < 9999; ++i) ASSERT_EQ(bytes[i], std::byte{0}) << i;
}

TEST(DurableFile, GivenUpLeavesTheTargetAndNothingElse) {
  const ScratchDirectory scratch;
  write_whole(scratch / "a", bytes_from("before"));
  {
    auto file = DurableFile::create(scratch / "a", Overwrite::replace).value();
    file.write(0, bytes_from("half")).value();
  }
  EXPECT_EQ(read_whole(scratch / "a"), bytes_from("before"));
  EXPECT_EQ(scratch.names(), std::set<std::string>{"a"});
}

TEST(DurableFile, RefusesToOverwriteWhenToldSo) {
  const ScratchDirectory scratch;
  write_file(scratch / "a", "first", Overwrite::refuse).value();
  const auto again = write_file(scratch / "a", "second", Overwrite::refuse);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::exists);
  EXPECT_EQ(read_whole(scratch / "a"), bytes_from("first"));
}

TEST(DurableFile, RefusesToOverwriteWhatCameWhileItWasWriting) {
  const ScratchDirectory scratch;
  auto file = DurableFile::create(scratch / "a", Overwrite::refuse).value();
  write_whole(scratch / "a", bytes_from("faster"));
  const auto done = file.commit();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::exists);
  EXPECT_EQ(read_whole(scratch / "a"), bytes_from("faster"));
  EXPECT_EQ(scratch.names(), std::set<std::string>{"a"});
}

TEST(DurableFile, KeepsTheModeOfWhatItReplaces) {
  const ScratchDirectory scratch;
  write_whole(scratch / "a", bytes_from("before"));
  ASSERT_EQ(::chmod((scratch / "a").c_str(), 0604), 0);
  write_file(scratch / "a", "after").value();
  EXPECT_EQ(mode_of(scratch / "a"), 0604U);
  EXPECT_EQ(read_whole(scratch / "a"), bytes_from("after"));
}

TEST(DurableFile, TakesTheModeOfTheUmaskWhenItIsNew) {
  const ScratchDirectory scratch;
  const auto before = ::umask(027);
  write_file(scratch / "a", "new").value();
  ::umask(before);
  EXPECT_EQ(mode_of(scratch / "a"), 0640U);
}

TEST(DurableFile, WritesThroughLinksAndKeepsThem) {
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch / "inner");
  write_whole(scratch / "inner/real", bytes_from("before"));
  std::filesystem::create_symlink("inner/real", scratch / "near");
  std::filesystem::create_symlink(scratch / "near", scratch / "far");
  write_file(scratch / "far", "after").value();
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "far"));
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "near"));
  EXPECT_EQ(read_whole(scratch / "inner/real"), bytes_from("after"));

  std::filesystem::create_symlink("inner/new", scratch / "dangling");
  write_file(scratch / "dangling", "made").value();
  EXPECT_EQ(read_whole(scratch / "inner/new"), bytes_from("made"));
}

TEST(DurableFile, RefusesWhatIsNoRegularFile) {
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch / "dir");
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("loop", scratch / "loop");
  const auto before = scratch.names();
  const std::vector<std::pair<std::filesystem::path, std::string>> odd = {
      {scratch / "dir", "a directory"},
      {scratch / "dir/", "a directory"},
      {scratch / "pipe", "a pipe"},
      {"/dev/full", "a device"},
      {"/dev/null", "a device"},
      {scratch / "missing/a", "No such file or directory"},
      {scratch / "missing/", "names no file"},
      {"", "names no file"},
      {scratch / "loop", "symbolic links"}};
  for (const auto& [path, what] : odd) {
    const auto done = write_file(path, "x");
    ASSERT_FALSE(done) << path;
    EXPECT_EQ(done.error().code, Code::io) << path;
    EXPECT_NE(done.error().sentence.find(what), std::string::npos) << done.error().sentence;
    EXPECT_NE(done.error().sentence.find(path.string()), std::string::npos);
  }
  EXPECT_EQ(scratch.names(), before);
}

TEST(DurableFile, LeavesNothingBehindOnAFullDisk) {
  const ScratchDirectory scratch;
  write_whole(scratch / "a", bytes_from("before"));
  {
    const FileSizeLimit limit(65536);
    auto reserving = DurableFile::create(scratch / "a", Overwrite::replace).value();
    const auto refused = reserving.reserve(1 << 20);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::io);
    auto writing = DurableFile::create(scratch / "b", Overwrite::replace).value();
    const auto cut = writing.write(0, FileBytes(1 << 20));
    ASSERT_FALSE(cut);
    EXPECT_NE(cut.error().sentence.find("File too large"), std::string::npos);
  }
  EXPECT_EQ(read_whole(scratch / "a"), bytes_from("before"));
  EXPECT_EQ(scratch.names(), std::set<std::string>{"a"});
}

// Root is refused nothing, so root becomes somebody else for a while.
class AsSomebody {
 public:
  AsSomebody() { became_ = before_ != 0 || ::seteuid(nobody) == 0; }
  ~AsSomebody() { EXPECT_EQ(::seteuid(before_), 0); }
  bool became() const { return became_; }
  static constexpr uid_t nobody = 65534;

 private:
  uid_t before_ = ::geteuid();
  bool became_ = false;
};

TEST(DurableFile, RespectsProtectedFilesAndDirectories) {
  const ScratchDirectory scratch;
  write_whole(scratch / "a", bytes_from("before"));
  ASSERT_EQ(::chmod((scratch / "a").c_str(), 0444), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(scratch.path().c_str(), AsSomebody::nobody, 0), 0);
    ASSERT_EQ(::chown((scratch / "a").c_str(), AsSomebody::nobody, 0), 0);
  }
  const AsSomebody somebody;
  ASSERT_TRUE(somebody.became()) << "root without the right to be somebody else";
  const auto file = write_file(scratch / "a", "after");
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().sentence.find("Permission denied"), std::string::npos);
  EXPECT_EQ(read_whole(scratch / "a"), bytes_from("before"));

  ASSERT_EQ(::chmod(scratch.path().c_str(), 0555), 0);
  const auto directory = write_file(scratch / "b", "new");
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0755), 0);
  ASSERT_FALSE(directory);
  EXPECT_NE(directory.error().sentence.find("Permission denied"), std::string::npos);
  EXPECT_EQ(scratch.names(), std::set<std::string>{"a"});
}

TEST(StoredFile, ReadsAndMapsWhatIsThere) {
  const ScratchDirectory scratch;
  write_whole(scratch / "a", bytes_from("hello"));
  const auto file = StoredFile::open(scratch / "a").value();
  EXPECT_EQ(file.size_bytes(), 5U);
  FileBytes two(2);
  file.read(3, two).value();
  EXPECT_EQ(two, bytes_from("lo"));
  for (const Reading reading : {Reading::whole, Reading::scattered}) {
    auto memory = file.map(reading).value();
    file.load(memory.bytes()).value();
    EXPECT_EQ(FileBytes(memory.bytes().begin(), memory.bytes().end()), bytes_from("hello"));
    memory.bytes()[0] = std::byte{'j'};
  }
  EXPECT_EQ(read_whole(scratch / "a"), bytes_from("hello")) << "a mapping is private";
}

TEST(StoredFile, OutlivesItsNameAndItsHandle) {
  const ScratchDirectory scratch;
  write_whole(scratch / "a", bytes_from("hello"));
  const auto memory = StoredFile::open(scratch / "a").value().map(Reading::whole).value();
  write_file(scratch / "a", "other").value();
  EXPECT_EQ(memory.bytes()[0], std::byte{'h'});
}

TEST(StoredFile, MapsAnEmptyFileToNoBytes) {
  const ScratchDirectory scratch;
  write_whole(scratch / "a", {});
  EXPECT_EQ(StoredFile::open(scratch / "a").value().map(Reading::whole).value().size(), 0U);
}

TEST(StoredFile, NoticesThatTheFileChangedItsLength) {
  const ScratchDirectory scratch;
  write_whole(scratch / "a", bytes_from("hello"));
  const auto file = StoredFile::open(scratch / "a").value();
  std::filesystem::resize_file(scratch / "a", 3);
  FileBytes five(5);
  EXPECT_FALSE(file.read(0, five));
  EXPECT_FALSE(file.map(Reading::whole));
}

TEST(StoredFile, RefusesWhatIsNoRegularFile) {
  const ScratchDirectory scratch;
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  const std::vector<std::pair<std::filesystem::path, std::string>> odd = {
      {scratch.path(), "a directory"},
      {scratch / "pipe", "a pipe"},
      {"/dev/null", "a device"},
      {scratch / "missing", "No such file or directory"}};
  for (const auto& [path, what] : odd) {
    const auto file = StoredFile::open(path);
    ASSERT_FALSE(file) << path;
    EXPECT_EQ(file.error().code, Code::io);
    EXPECT_NE(file.error().sentence.find(what), std::string::npos) << file.error().sentence;
  }
}

}  // namespace
}  // namespace bloomery::detail

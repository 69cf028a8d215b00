// A watched file: a write to it is reported, a change of its name is not.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <bloomery/bloomery.hpp>
#include <bloomery/storage/file_watch.hpp>
#include <tests/storage/scratch_directory.hpp>

namespace bloomery::detail {
namespace {

class Watched : public testing::Test {
 protected:
  Watched() {
    Set<BlockedBloom> set({.keys = 10'000, .rate = 0.01});
    for (std::uint64_t key = 0; key < 10'000; ++key) set.add(key);
    set.save(path_);
  }
  void overwrite_last_byte() const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-5'000, std::ios::end);
    const int byte = file.get();
    file.seekp(-5'000, std::ios::end);
    file.put(static_cast<char>(byte ^ 1));
  }

  const ScratchDirectory scratch_;
  const std::filesystem::path path_ = scratch_ / "set.blm";
};

TEST_F(Watched, NothingHappens) {
  const auto watch = FileWatch::begin(path_);
  ASSERT_TRUE(watch);
  EXPECT_TRUE(watch->names(path_));
  EXPECT_TRUE(watch->expect_unchanged("F"));
}

TEST_F(Watched, AWriteIsToldAlsoWhenTheTimeIsPutBack) {
  for (const bool hide : {false, true}) {
    const auto watch = FileWatch::begin(path_);
    ASSERT_TRUE(watch);
    const auto before = std::filesystem::last_write_time(path_);
    overwrite_last_byte();
    if (hide) std::filesystem::last_write_time(path_, before);
    const auto told = watch->expect_unchanged("F");
    ASSERT_FALSE(told) << hide;
    EXPECT_EQ(told.error().code, Code::damaged);
    overwrite_last_byte();
  }
}

TEST_F(Watched, AnotherLengthIsTold) {
  for (const int more : {-1, 1}) {
    const auto watch = FileWatch::begin(path_);
    ASSERT_TRUE(watch);
    std::filesystem::resize_file(
        path_, std::filesystem::file_size(path_) + static_cast<std::uintmax_t>(more));
    EXPECT_FALSE(watch->expect_unchanged("F"));
  }
}

TEST_F(Watched, AnotherNameModeOrNoneIsNot) {
  const auto watch = FileWatch::begin(path_);
  ASSERT_TRUE(watch);
  std::filesystem::permissions(path_, std::filesystem::perms::owner_read);
  EXPECT_TRUE(watch->expect_unchanged("F"));
  std::filesystem::rename(path_, scratch_ / "other");
  EXPECT_FALSE(watch->names(path_));
  EXPECT_TRUE(watch->expect_unchanged("F"));
  std::filesystem::remove(scratch_ / "other");
  EXPECT_TRUE(watch->expect_unchanged("F"));
}

TEST_F(Watched, ACopiedImageDoesNotSeeWhatBecomesOfTheFile) {
  const auto image = open_image(path_, {.bytes = Bytes::copied});
  ASSERT_TRUE(image);
  const auto payload = image->parts.parts[0].payload;
  const std::vector<std::byte> before(payload.begin(), payload.end());
  std::filesystem::resize_file(path_, 0);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), payload.begin()));
}

TEST_F(Watched, NothingGetsItsNameWhenItIsRefusedBeforeThat) {
  const auto image = open_image(path_);
  ASSERT_TRUE(image);
  const auto saved =
      save_image(scratch_ / "new.blm", *image, {.before_commit = []() -> Result<void> {
                   return Error{Code::damaged, "no"};
                 }});
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().sentence, "no");
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "new.blm"));
}

}  // namespace
}  // namespace bloomery::detail

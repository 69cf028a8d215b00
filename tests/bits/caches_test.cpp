// The sizes of the caches as the system tells them, and without it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <bloomery/detail/bits/caches.hpp>
#include <tests/storage/scratch_directory.hpp>

namespace bloomery::detail {
namespace {

void tell(const std::filesystem::path& directory, int index, int level, const std::string& size) {
  const auto place = directory / ("index" + std::to_string(index));
  std::filesystem::create_directories(place);
  std::ofstream(place / "level") << level << '\n';
  std::ofstream(place / "size") << size << '\n';
}

TEST(Caches, AreReadFromWhatTheSystemTells) {
  const ScratchDirectory scratch;
  const auto& at = scratch.path();
  tell(at, 0, 1, "32K");
  tell(at, 1, 1, "32K");
  tell(at, 2, 2, "1024K");
  tell(at, 3, 3, "32768K");
  EXPECT_EQ(caches_told_in(at).second, std::uint64_t{1} << 20);
  EXPECT_EQ(caches_told_in(at).shared, std::uint64_t{32} << 20);
}

TEST(Caches, WithoutAThirdLevelTheSecondIsShared) {
  const ScratchDirectory scratch;
  tell(scratch.path(), 0, 1, "64K");
  tell(scratch.path(), 1, 2, "4096K");
  EXPECT_EQ(caches_told_in(scratch.path()).second, std::uint64_t{4} << 20);
  EXPECT_EQ(caches_told_in(scratch.path()).shared, std::uint64_t{4} << 20);
}

TEST(Caches, UntoldOrUnreadableAreGuessed) {
  const ScratchDirectory scratch;
  EXPECT_EQ(caches_told_in(scratch.path()).second, 0U);
  tell(scratch.path(), 0, 2, "plenty");
  EXPECT_EQ(caches_told_in(scratch.path()).second, 0U);
  EXPECT_EQ(caches_told_in(scratch.path()).shared, 0U);
  EXPECT_GT(caches().second, 0U);
  EXPECT_GE(caches().shared, caches().second);
}

}  // namespace
}  // namespace bloomery::detail

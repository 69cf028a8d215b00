// Tells whether a file has changed: for programs that map it, whose answers are wrong if somebody
// else writes to it.
//
//    auto watch = FileWatch::begin("seen.set");          before it is opened
//    auto set = Set<BlockedBloom>::open("seen.set");
//    ...                                                 ask as often as wanted
//    watch->expect_unchanged("seen.set").value();        before the answers are believed
//
// Noted are length, times and the first 8 KiB, which in an image hold the sums of all the rest. A
// file that is replaced under its name (as every command here does it) does not count as changed:
// a program that has the old one mapped keeps it. Only writes to the file itself count.
// A live file (live.hpp) is changed by those who add to it; only when it is cut, or becomes another
// set, does it count as changed.
// Limits:  the times of a file move in steps of some milliseconds; begin() waits until the step of
//          the last change is over, at most 20 ms. What is written through a shared mapping of
//          somebody else moves the times only when the system gets to it.
// Threads: one object, one thread.
// See:     file_watch_test.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <bloomery/error.hpp>
#include <bloomery/file.hpp>

namespace bloomery::inline v0::detail {

class FileWatch {
 public:
  static Result<FileWatch> begin(const std::filesystem::path& path);

  // Is the file that is watched the one under this name?
  bool names(const std::filesystem::path& path) const;

  // Error with Code::damaged when somebody wrote to the file or cut it. When only its name, owner
  // or mode may have changed, an image is read again with all its checksums.
  Result<void> expect_unchanged(const std::string& name) const;

 private:
  struct Facts {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t bytes = 0;
    std::int64_t modified_ns = 0;  // its bytes
    std::int64_t changed_ns = 0;   // its bytes, name, owner or mode
    friend bool operator==(const Facts&, const Facts&) = default;
  };
  static Result<Facts> facts_of(const detail::Descriptor& file, const std::string& name);
  std::vector<char> head() const;
  Result<void> expect_same_live(const std::string& name, std::uint64_t bytes) const;

  detail::Descriptor file_;
  Facts facts_;
  std::vector<char> head_;
  bool is_live_ = false;
};

}  // namespace bloomery::inline v0::detail

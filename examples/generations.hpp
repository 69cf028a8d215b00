// Files that change together: a directory in which one link names the generation in force.
//
//    DIR/current -> 7        a symbolic link, replaced in one step (rename)
//    DIR/7/list.blm ...      the files of generation 7, never changed once the link names them
//    DIR/8/...               one in the making, or left behind by a run that was killed
//
// A reader sees all files of one generation, before or after a change, even after a power loss. A
// replaced generation is deleted; programs that have its files open or mapped keep them.
// Limits:  one machine: locks are flock(2).
// Threads: one object, one thread.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <bloomery/error.hpp>
#include <bloomery/file.hpp>

namespace examples {

class Generations {
 public:
  explicit Generations(std::filesystem::path directory) : directory_(std::move(directory)) {}

  // The name of the generation in force; nullopt when the directory is missing or still empty.
  bloomery::Result<std::optional<std::string>> current() const {
    std::error_code failed;
    const auto named = std::filesystem::read_symlink(directory_ / "current", failed);
    if (failed == std::errc::no_such_file_or_directory) return std::optional<std::string>{};
    if (failed) return refused("cannot be read", failed.message());
    if (!is_number(named.string()))
      return bloomery::Error{bloomery::Code::not_ours,
                             (directory_ / "current").string() + " names " + named.string() +
                                 ", which is not a generation; this directory is not one of ours"};
    return std::optional(named.string());
  }
  std::filesystem::path file(const std::string& generation, std::string_view name) const {
    return directory_ / generation / name;
  }

  // One change at a time: held until this object goes. Makes the directory if it is missing. False
  // when another has it and `wait` is not asked for.
  bloomery::Result<bool> lock(bool wait) {
    std::error_code failed;
    std::filesystem::create_directories(directory_, failed);
    if (failed) return refused("cannot be made", failed.message());
    locked_ = bloomery::detail::Descriptor(
        ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!locked_.is_open()) return refused("cannot be opened", std::strerror(errno));
    int result = 0;
    do {
      result = ::flock(locked_.number(), LOCK_EX | (wait ? 0 : LOCK_NB));
    } while (result != 0 && errno == EINTR);
    if (result != 0 && errno == EWOULDBLOCK) return false;
    if (result != 0) return refused("cannot be locked", std::strerror(errno));
    return true;
  }

  // Under the lock: makes the directory of the next generation; its name.
  bloomery::Result<std::string> begin() {
    const auto now = current();
    if (!now) return now.error();
    next_ = std::to_string(*now ? std::stoull(**now) + 1 : 1);
    std::error_code failed;
    std::filesystem::remove_all(directory_ / next_, failed);  // of a run that was killed
    if (!failed) std::filesystem::create_directory(directory_ / next_, failed);
    if (failed) return refused("cannot be written to", failed.message());
    return next_;
  }

  // What was begun, with its files on the disk, is in force from now on; all others are deleted.
  bloomery::Result<void> commit() {
    std::error_code failed;
    const auto fresh = directory_ / "next";
    std::filesystem::remove(fresh, failed);
    std::filesystem::create_symlink(next_, fresh, failed);
    if (failed) return refused("cannot be written to", failed.message());
    // The directory of the generation must be there before the link that names it.
    if (::fsync(locked_.number()) != 0) return refused("cannot be synced", std::strerror(errno));
    std::filesystem::rename(fresh, directory_ / "current", failed);
    if (failed) return refused("cannot be written to", failed.message());
    if (::fsync(locked_.number()) != 0) return refused("cannot be synced", std::strerror(errno));
    delete_others();
    return {};
  }

 private:
  static bool is_number(const std::string& name) {
    return !name.empty() && name.size() < 20 &&
           std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
  }
  // A generation that cannot be deleted now does no harm, and is tried again next time.
  void delete_others() const {
    std::error_code failed;
    for (std::filesystem::directory_iterator entry(directory_, failed), end; entry != end;
         entry.increment(failed)) {
      const std::string name = entry->path().filename().string();
      if (is_number(name) && name != next_) std::filesystem::remove_all(entry->path(), failed);
    }
  }
  bloomery::Error refused(const std::string& what, const std::string& why) const {
    return {bloomery::Code::io, directory_.string() + " " + what + ": " + why};
  }

  std::filesystem::path directory_;
  bloomery::detail::Descriptor locked_;
  std::string next_;
};

}  // namespace examples

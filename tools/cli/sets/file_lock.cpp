#include "file_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <tools/cli/report/refuse.hpp>

namespace bloomery::cli {
namespace {

// Is the file under this name still the one that was opened?
bool is_current(const std::string& path, int descriptor) {
  struct stat named {};
  struct stat opened {};
  return stat(path.c_str(), &named) == 0 && fstat(descriptor, &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

// To write, though nothing is: network file systems give the lock of a writer only to those who may
// write (flock(2), "NFS details").
detail::Descriptor open_to_lock(const std::string& path) {
  detail::Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open())
    file = detail::Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return file;
}

int wait_for(int descriptor) {
  int failed = 0;
  do {
    failed = flock(descriptor, LOCK_EX) == 0 ? 0 : errno;
  } while (failed == EINTR);
  return failed;
}

}  // namespace

FileLock::FileLock(const std::string& path, Messages& messages) {
  bool told = false;
  for (;;) {
    held_ = open_to_lock(path);
    if (!held_.is_open()) return;
    if (flock(held_.number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK && !told)
        messages.plain(fmt::format("bloomery: waiting for another change of {}\n", path));
      told = true;
      if (const int failed = wait_for(held_.number()); failed != 0)
        refuse(fmt::format("{} cannot be locked: {}", path, std::strerror(failed)));
    }
    // Whoever held it has put a new file under the name; that one is to be locked.
    if (is_current(path, held_.number())) return;
  }
}

bool FileLock::holds(const std::string& path) const {
  return held_.is_open() && is_current(path, held_.number());
}

PlaceLock::PlaceLock(const std::string& path, Messages& messages)
    : lock_(path, messages), live_(detail::LiveReplacement::begin(path).value()) {}

DirectoryLock::DirectoryLock(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  held_ = detail::Descriptor(
      open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  // Where directories cannot be locked, the second of two says that the first was faster.
  if (held_.is_open()) static_cast<void>(wait_for(held_.number()));
}

}  // namespace bloomery::cli

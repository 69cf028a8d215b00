#include <bloomery/storage/scratch_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace bloomery::inline v0::detail {
namespace {

constexpr std::size_t most_at_once = std::size_t{1} << 30;

Error can_not_be_made(const std::string& directory, const std::string& why) {
  return {Code::io, "a temporary file cannot be made in " + directory + ": " + why +
                        "; set TMPDIR to a directory of yours"};
}

int open_nameless(const std::string& directory) {
  int fd = -1;
#ifdef O_TMPFILE
  fd = ::open(directory.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC | O_EXCL, 0600);
  if (fd >= 0) return fd;
#endif
  // Some file systems have no files without a name; there it has one for a moment.
  std::string path = directory + "/.bloomery-XXXXXX";
  fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd >= 0) static_cast<void>(::unlink(path.c_str()));
  return fd;
}

}  // namespace

Result<ScratchFile> ScratchFile::create() {
  std::error_code missing;
  const std::string directory = std::filesystem::temp_directory_path(missing).string();
  if (missing) {
    const char* const named = std::getenv("TMPDIR");
    return can_not_be_made(named == nullptr ? "/tmp" : named, missing.message());
  }
  const int fd = open_nameless(directory);
  if (fd < 0) return can_not_be_made(directory, std::strerror(errno));
  return ScratchFile(directory, fd);
}

Error ScratchFile::refused(int error_number) const {
  if (error_number == ENOSPC || error_number == EDQUOT)
    return {Code::io, "the disk of " + directory_ +
                          " is full, where lines are kept aside until all are read; make room, or "
                          "set TMPDIR to a directory that has more, and run again"};
  return {Code::io,
          "a temporary file in " + directory_ + " cannot be used: " + std::strerror(error_number)};
}

Result<void> ScratchFile::write(std::uint64_t offset, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(file_.number(), bytes.data(), std::min(bytes.size(), most_at_once),
                                 static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return refused(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return {};
}

Result<void> ScratchFile::read(std::uint64_t offset, std::span<char> into) const {
  while (!into.empty()) {
    const ssize_t got = ::pread(file_.number(), into.data(), std::min(into.size(), most_at_once),
                                static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused(errno);
    if (got == 0)
      return Error{Code::damaged, "a temporary file in " + directory_ + " ends too early"};
    into = into.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

}  // namespace bloomery::inline v0::detail

#include <bloomery/engines/input_file.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace bloomery {
namespace {

constexpr const char* stdin_name = "standard input";
// Linux gives at most 2 GiB - 4 KiB at once; asking for more is an error elsewhere.
constexpr std::size_t most_at_once = std::size_t{1} << 30;

Error refused(const std::string& name, int error_number) {
  return {Code::io, name + " can not be read: " + std::strerror(error_number)};
}

Error is_directory(const std::string& name) {
  return {Code::io, name + " is a directory; name the files in it"};
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path) {
  if (path == "-") {
    InputFile file(STDIN_FILENO, stdin_name);
    if (const auto looked = file.look(); !looked) return looked.error();
    return file;
  }
  int fd = -1;
  do {
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return refused(path, errno);
  InputFile file(fd, path);
  if (const auto looked = file.look(); !looked) return looked.error();
  return file;
}

Result<void> InputFile::look() {
  struct stat facts {};
  if (::fstat(fd_, &facts) != 0) return refused(name_, errno);
  if (S_ISDIR(facts.st_mode)) return is_directory(name_);
  if (!S_ISREG(facts.st_mode)) return {};
  const off_t here = ::lseek(fd_, 0, SEEK_CUR);
  if (here < 0) return refused(name_, errno);
  regular_ = true;
  start_ = static_cast<std::uint64_t>(here);
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  size_bytes_ = size > start_ ? size - start_ : 0;
#ifdef POSIX_FADV_SEQUENTIAL
  ::posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
  return {};
}

InputFile::InputFile(InputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      name_(std::move(other.name_)),
      regular_(other.regular_),
      start_(other.start_),
      offset_(other.offset_),
      size_bytes_(other.size_bytes_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = std::exchange(other.fd_, -1);
  name_ = std::move(other.name_);
  regular_ = other.regular_;
  start_ = other.start_;
  offset_ = other.offset_;
  size_bytes_ = other.size_bytes_;
  return *this;
}

InputFile::~InputFile() { close(); }

void InputFile::close() noexcept {
  if (fd_ > STDIN_FILENO) ::close(fd_);
  fd_ = -1;
}

Result<std::size_t> InputFile::read(std::span<char> into) {
  const std::size_t wanted = std::min(into.size(), most_at_once);
  ssize_t got = 0;
  do {
    got = regular_ ? ::pread(fd_, into.data(), wanted, static_cast<off_t>(start_ + offset_))
                   : ::read(fd_, into.data(), wanted);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      // Somebody made our standard input non-blocking; wait as if it were not.
      pollfd waited{fd_, POLLIN, 0};
      ::poll(&waited, 1, -1);
      errno = EINTR;
    }
  } while (got < 0 && errno == EINTR);
  if (got < 0) return refused(name_, errno);
  offset_ += static_cast<std::uint64_t>(got);
  return static_cast<std::size_t>(got);
}

Result<std::size_t> InputFile::read_at(std::uint64_t offset, std::span<char> into) const {
  std::size_t filled = 0;
  while (filled < into.size()) {
    const ssize_t got =
        ::pread(fd_, into.data() + filled, std::min(into.size() - filled, most_at_once),
                static_cast<off_t>(start_ + offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused(name_, errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

bool InputFile::ready() const {
  if (regular_) return true;
  pollfd asked{fd_, POLLIN, 0};
  return ::poll(&asked, 1, 0) > 0;
}

Result<void> check_readable(const std::vector<std::string>& files) {
  for (const std::string& path : files) {
    if (path == "-") continue;
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) return refused(path, errno);
    if (S_ISDIR(facts.st_mode)) return is_directory(path);
    if (::access(path.c_str(), R_OK) != 0) return refused(path, errno);
  }
  return {};
}

namespace {

bool look_at(const std::string& path, struct stat& facts) {
  const int failed = path == "-" ? ::fstat(STDIN_FILENO, &facts) : ::stat(path.c_str(), &facts);
  return failed == 0;
}

}  // namespace

bool all_regular(const std::vector<std::string>& files) {
  const auto regular = [](const std::string& path) {
    struct stat facts {};
    return look_at(path, facts) && S_ISREG(facts.st_mode);
  };
  return files.empty() ? regular("-") : std::all_of(files.begin(), files.end(), regular);
}

std::uint64_t total_bytes(const std::vector<std::string>& files) {
  if (!all_regular(files)) return 0;
  if (files.empty()) return total_bytes({"-"});
  std::uint64_t bytes = 0;
  for (const std::string& path : files) {
    struct stat facts {};
    if (look_at(path, facts)) bytes += static_cast<std::uint64_t>(facts.st_size);
  }
  return bytes;
}

}  // namespace bloomery

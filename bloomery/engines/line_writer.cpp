#include <bloomery/engines/line_writer.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <utility>

namespace bloomery {
namespace {

constexpr std::size_t most_at_once = std::size_t{1} << 30;

Error cannot(const std::string& what, const std::string& path, int error_number) {
  return {Code::io, path + ": cannot " + what + ": " + std::strerror(error_number)};
}

Error already_there(const std::string& path) {
  return {Code::exists, path + " exists already; remove it, name another, or use --force"};
}

// The file behind a link, so that replacing a file keeps the links to it.
std::string behind_links(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? std::string(real.get()) : path;
}

// A name that no other run and no other writer of this one uses.
std::string beside(const std::string& path) {
  static std::atomic<unsigned> writers = 0;
  return path + ".part-" + std::to_string(::getpid()) + "-" + std::to_string(++writers);
}

int open_again(const std::string& path, int flags) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

}  // namespace

LineWriter::LineWriter(int lent_fd, std::string name, std::size_t buffer_bytes)
    : fd_(lent_fd),
      name_(std::move(name)),
      buffer_bytes_(buffer_bytes),
      buffer_(new char[buffer_bytes]) {}

Result<LineWriter> LineWriter::create(const std::string& path, Existing existing) {
  if (path == "-") return LineWriter(STDOUT_FILENO, "standard output");
  struct stat facts {};
  const bool there = ::stat(path.c_str(), &facts) == 0;
  if (there && S_ISDIR(facts.st_mode))
    return Error{Code::io, path + " is a directory; name a file"};
  if (there && !S_ISREG(facts.st_mode)) {
    const int fd = open_again(path, O_WRONLY);
    if (fd < 0) return cannot("open", path, errno);
    LineWriter out(fd, path);
    out.owned_ = true;
    return out;
  }
  if (there && existing == Existing::refuse) return already_there(path);
  const std::string target = there ? behind_links(path) : path;
  const std::string temporary = beside(target);
  const int fd = open_again(temporary, O_WRONLY | O_CREAT | O_EXCL);
  if (fd < 0) return cannot("create", path, errno);
  // The replaced file keeps its mode; where that is refused the usual one has to do.
  if (there && ::fchmod(fd, facts.st_mode & 07777) != 0) errno = 0;
  LineWriter out(fd, path);
  out.owned_ = true;
  out.temporary_ = temporary;
  out.target_ = target;
  out.existing_ = existing;
  return out;
}

LineWriter::LineWriter(LineWriter&& other) noexcept
    : fd_(other.fd_),
      name_(std::move(other.name_)),
      buffer_bytes_(other.buffer_bytes_),
      buffer_(std::move(other.buffer_)),
      used_(std::exchange(other.used_, 0)),
      bytes_written_(other.bytes_written_),
      error_(std::move(other.error_)),
      reader_gone_(other.reader_gone_),
      owned_(std::exchange(other.owned_, false)),
      closed_(std::exchange(other.closed_, true)),
      temporary_(std::exchange(other.temporary_, {})),
      target_(std::move(other.target_)),
      existing_(other.existing_) {}

LineWriter::~LineWriter() {
  if (!closed_ && temporary_.empty()) write_out();
  if (owned_) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void LineWriter::append_slowly(std::string_view bytes) {
  write_out();
  // What is as long as the buffer gains nothing from being copied into it.
  if (bytes.size() >= buffer_bytes_) return write_all(bytes);
  std::memcpy(buffer_.get(), bytes.data(), bytes.size());
  used_ = bytes.size();
}

void LineWriter::write_out() { write_all({buffer_.get(), std::exchange(used_, 0)}); }

void LineWriter::write_all(std::string_view bytes) {
  while (!bytes.empty() && !error_) {
    const ssize_t put = ::write(fd_, bytes.data(), std::min(bytes.size(), most_at_once));
    if (put >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(put));
      bytes_written_ += static_cast<std::uint64_t>(put);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      // Somebody made our standard output non-blocking; wait as if it were not.
      pollfd waited{fd_, POLLOUT, 0};
      ::poll(&waited, 1, -1);
    } else if (errno != EINTR) {
      fail(errno);
    }
  }
}

void LineWriter::fail(int error_number) {
  if (error_number == EPIPE) {
    reader_gone_ = true;
    error_ = Error{Code::io, name_ + ": nobody reads it any more"};
  } else if (error_number == ENOSPC || error_number == EDQUOT) {
    error_ = Error{Code::io, name_ + ": the disk is full after " + std::to_string(bytes_written_) +
                                 " bytes; make room and run again"};
  } else {
    error_ = cannot("write", name_, error_number);
  }
}

Result<void> LineWriter::outcome() const {
  if (error_) return *error_;
  return {};
}

Result<void> LineWriter::flush() {
  write_out();
  return outcome();
}

Result<void> LineWriter::close() {
  if (closed_) return outcome();
  closed_ = true;
  write_out();
  // Some file systems tell only now that there was no room. After EINTR the descriptor is gone.
  if (std::exchange(owned_, false) && ::close(fd_) != 0 && errno != EINTR && !error_) fail(errno);
  if (error_ || temporary_.empty()) return outcome();
  return publish();
}

Result<void> LineWriter::publish() {
  const std::string temporary = std::exchange(temporary_, {});
  const char* from = temporary.c_str();
  const char* to = target_.c_str();
  bool named = false;
  if (existing_ == Existing::replace) {
    named = ::rename(from, to) == 0;
  } else {
    // link() refuses, and never replaces, a file that somebody else made meanwhile. Where the file
    // system has no links, looking first has to do.
    named = ::link(from, to) == 0;
    if (!named && errno != EEXIST && ::access(to, F_OK) != 0) named = ::rename(from, to) == 0;
  }
  const int error_number = errno;
  ::unlink(from);
  if (named) return {};
  error_ = error_number == EEXIST ? already_there(name_) : cannot("create", name_, error_number);
  return outcome();
}

}  // namespace bloomery

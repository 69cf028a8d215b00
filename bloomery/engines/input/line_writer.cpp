#include <bloomery/sets/shown_bytes.hpp>
#include <bloomery/text/line_writer.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>
#include <utility>

namespace bloomery::inline v0 {

using namespace detail;
namespace {

constexpr std::size_t most_at_once = std::size_t{1} << 30;

Error can_not_write(const std::string& name, int error_number) {
  return {Code::io, name + " cannot be written: " + std::strerror(error_number)};
}

// A device or a pipe: not a file that can be replaced.
bool is_special(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
}

// Calls again when a signal came in between. 0, or -1 and errno.
template <class Call>
int unless_interrupted(Call call) {
  int done = call();
  while (done != 0 && errno == EINTR) done = call();
  return done;
}

int open_again(const std::string& path) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

// Makes sure that a new file and its synced bytes are there after a power loss. Best effort: errors
// are ignored.
void sync_directory_of(const std::string& path) {
  std::error_code unseen;
  const auto target = std::filesystem::canonical(path, unseen);
  if (unseen) return;
  const detail::Descriptor directory(
      ::open(target.parent_path().c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (directory.is_open()) static_cast<void>(::fsync(directory.number()));
}

}  // namespace

LineWriter::LineWriter(int lent_fd, std::string name, std::size_t buffer_bytes)
    : fd_(lent_fd),
      name_(std::move(name)),
      buffer_bytes_(buffer_bytes),
      buffer_(new char[buffer_bytes]) {}

Result<LineWriter> LineWriter::create(const std::string& path, Overwrite overwrite) {
  if (path == "-" || path == "/dev/stdout") return LineWriter(STDOUT_FILENO, "standard output");
  if (path == "/dev/stderr") return LineWriter(STDERR_FILENO, "standard error");
  if (is_special(path)) {
    const int fd = open_again(path);
    if (fd < 0) return can_not_write(path, errno);
    LineWriter out(fd, path);
    out.owned_ = detail::Descriptor(fd);
    return out;
  }
  auto file = DurableFile::create(path, overwrite);
  if (!file) return file.error();
  LineWriter out(-1, path);
  out.file_.emplace(std::move(*file));
  return out;
}

Result<LineWriter> LineWriter::resume(const std::string& path, std::uint64_t bytes,
                                      const std::function<Result<void>()>& before_cut) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | (bytes == 0 ? O_CREAT : 0), 0666);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return can_not_write(path, errno);
  LineWriter out(fd, path);
  out.owned_ = detail::Descriptor(fd);
  // Two writers of one file would overwrite each other. Without file locks that goes unnoticed.
  if (unless_interrupted([&] { return ::flock(fd, LOCK_EX | LOCK_NB); }) != 0 &&
      errno == EWOULDBLOCK)
    return Error{Code::io, path + " is being written by another run; run again after it"};
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return can_not_write(path, errno);
  if (!S_ISREG(facts.st_mode))
    return Error{Code::io, path + " is not a regular file, so its output cannot be resumed"};
  if (static_cast<std::uint64_t>(facts.st_size) < bytes)
    return Error{Code::mismatch, path + " has " + std::to_string(facts.st_size) + " bytes, where " +
                                     std::to_string(bytes) + " were written"};
  if (bytes == 0) sync_directory_of(path);
  if (before_cut)
    if (auto done = before_cut(); !done) return done.error();
  const auto length = static_cast<off_t>(bytes);
  if (unless_interrupted([&] { return ::ftruncate(fd, length); }) != 0 ||
      ::lseek(fd, length, SEEK_SET) != length)
    return can_not_write(path, errno);
  out.bytes_taken_ = out.bytes_written_ = bytes;
  return out;
}

LineWriter::LineWriter(LineWriter&& other) noexcept
    : fd_(other.fd_),
      name_(std::move(other.name_)),
      buffer_bytes_(other.buffer_bytes_),
      buffer_(std::move(other.buffer_)),
      used_(std::exchange(other.used_, 0)),
      bytes_flushed_(other.bytes_flushed_),
      bytes_taken_(other.bytes_taken_),
      bytes_written_(other.bytes_written_),
      encoder_(std::move(other.encoder_)),
      encoded_(std::move(other.encoded_)),
      error_(std::move(other.error_)),
      reader_gone_(other.reader_gone_),
      closed_(std::exchange(other.closed_, true)),
      owned_(std::move(other.owned_)),
      file_(std::move(other.file_)) {}

LineWriter::~LineWriter() {
  if (!closed_ && !file_) write_out();
}

void LineWriter::append_slowly(std::string_view bytes) {
  write_out();
  // Bytes as long as the buffer are written directly: a copy would gain nothing.
  if (bytes.size() >= buffer_bytes_) return write_all(bytes);
  std::memcpy(buffer_.get(), bytes.data(), bytes.size());
  used_ = bytes.size();
}

void LineWriter::write_out() { write_all({buffer_.get(), std::exchange(used_, 0)}); }

void LineWriter::write_all(std::string_view bytes) {
  bytes_taken_ += bytes.size();
  if (encoder_ == nullptr) return write_bytes(bytes);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), most_encoded_at_once)))
    encode(bytes.substr(0, most_encoded_at_once), EncodeUntil::more);
}

void LineWriter::encode(std::string_view bytes, EncodeUntil until) {
  if (error_) return;
  encoded_.clear();
  if (const auto done = encoder_->encode(bytes, until, encoded_); !done)
    error_ = Error{done.error().code, name_ + ": " + done.error().sentence};
  write_bytes(encoded_);
}

void LineWriter::write_bytes(std::string_view bytes) {
  if (error_ || bytes.empty()) return;
  if (!file_) return write_in_place(bytes);
  const auto written = file_->write(bytes_written_, std::as_bytes(std::span(bytes)));
  if (!written) error_ = written.error();
  bytes_written_ += bytes.size();
}

void LineWriter::write_in_place(std::string_view bytes) {
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
    error_ = Error{Code::io, name_ + ": the disk is full after " +
                                 detail::shown_bytes(bytes_written_) + "; make room and run again"};
  } else {
    error_ = can_not_write(name_, error_number);
  }
}

Result<void> LineWriter::outcome() const {
  if (error_) return *error_;
  return {};
}

Result<void> LineWriter::flush() {
  write_out();
  // Nobody reads a created file before it is closed.
  const bool more = std::exchange(bytes_flushed_, bytes_taken_) != bytes_taken_;
  if (encoder_ != nullptr && !file_ && more) encode({}, EncodeUntil::flushed);
  return outcome();
}

Result<void> LineWriter::sync() {
  write_out();
  // EINVAL, EROFS: a pipe or a device. A failed sync is never tried again.
  if (!error_ && !file_ && unless_interrupted([&] { return ::fdatasync(fd_); }) != 0 &&
      errno != EINVAL && errno != EROFS)
    fail(errno);
  return outcome();
}

Result<void> LineWriter::close() {
  if (closed_) return outcome();
  closed_ = true;
  write_out();
  if (encoder_ != nullptr) encode({}, EncodeUntil::end);
  // Some file systems tell only now that there was no room. After EINTR the descriptor is gone.
  if (!owned_.close() && errno != EINTR && !error_) fail(errno);
  if (error_ || !file_) return outcome();
  if (const auto named = file_->commit(); !named) error_ = named.error();
  return outcome();
}

}  // namespace bloomery::inline v0

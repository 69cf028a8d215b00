#include <bloomery/detail/engines/input/input_file.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace bloomery::inline v0::detail {
namespace {

constexpr const char* stdin_name = "standard input";
// Linux gives at most 2 GiB - 4 KiB at once; asking for more is an error elsewhere.
constexpr std::size_t most_at_once = std::size_t{1} << 30;
// The default capacity of a pipe; files are read in pieces of the same size.
constexpr std::size_t packed_block_bytes = std::size_t{64} << 10;

Error refused(const std::string& name, int error_number) {
  return {Code::io, name + " cannot be read: " + std::strerror(error_number)};
}

Error is_directory(const std::string& name) {
  return {Code::io, name + " is a directory; name the files in it"};
}

}  // namespace

// The bytes between the file and read():
//
//    file --> packed [taken, filled) --decoder--> into, or a little ahead of it
//
// Without a decoder, `packed` is what was read from a pipe to look at its first bytes, and goes out
// as it is.
struct InputFile::Unpacking {
  OpenDecoder decode = nullptr;  // until the first bytes were looked at
  std::unique_ptr<Decoder> decoder;
  std::vector<char> packed = std::vector<char>(packed_block_bytes);
  std::size_t taken = 0;
  std::size_t filled = 0;
  bool last = false;  // the file has no more than `packed`
  // Decoded before it was asked for: whether a pipe has to be waited for is known only by trying.
  std::array<char, 256> ahead{};
  std::size_t ahead_taken = 0;
  std::size_t ahead_made = 0;
  std::optional<Error> failed;  // for the next read(): what was made before goes out first

  std::span<const char> waiting() const {
    return std::span<const char>(packed).subspan(taken, filled - taken);
  }
  bool has_ahead() const { return ahead_taken < ahead_made; }

  // Bytes made from what is waiting, without the file; 0: more of the file is needed, or it is the
  // end, or failed.
  std::size_t make(std::span<char> into) {
    while (!failed) {
      Decoded step = decoder->decode(waiting(), into, last);
      taken += step.taken;
      failed = std::move(step.failed);
      if (step.made > 0) return step.made;
      if (step.taken == 0) break;
    }
    return 0;
  }

  std::size_t give_ahead(std::span<char> into) {
    const std::size_t bytes = std::min(into.size(), ahead_made - ahead_taken);
    std::memcpy(into.data(), ahead.data() + ahead_taken, bytes);
    ahead_taken += bytes;
    return bytes;
  }

  std::size_t give_packed(std::span<char> into) {
    const std::size_t bytes = std::min(into.size(), filled - taken);
    std::memcpy(into.data(), packed.data() + taken, bytes);
    taken += bytes;
    return bytes;
  }

  // Moves what is waiting to the front; the rest of `packed` is free.
  std::span<char> room() {
    const std::size_t kept = filled - taken;
    if (taken > 0) std::memmove(packed.data(), packed.data() + taken, kept);
    taken = 0;
    filled = kept;
    return std::span(packed).subspan(kept);
  }
};

InputFile::InputFile(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

Result<InputFile> InputFile::open(const std::string& path, OpenDecoder decode) {
  int fd = STDIN_FILENO;
  if (path != "-") do {
      fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    } while (fd < 0 && errno == EINTR);
  if (fd < 0) return refused(path, errno);
  InputFile file(fd, path == "-" ? stdin_name : path);
  if (const auto looked = file.look(); !looked) return looked.error();
  if (decode == nullptr) return file;
  if (const auto recognised = file.recognise(decode); !recognised) return recognised.error();
  return file;
}

// A pipe is looked at when it is first read: opening it must not wait.
Result<void> InputFile::recognise(const OpenDecoder& decode) {
  if (!regular_) {
    unpacking_ = std::make_unique<Unpacking>();
    unpacking_->decode = decode;
    return {};
  }
  std::array<char, recognised_bytes> first{};
  const auto got = read_at(0, first);
  if (!got) return got.error();
  auto recognised = decode({first.data(), *got}, *got < first.size());
  if (!recognised) return about_file(recognised.error());
  skipped_ = recognised->skip;
  start_ += skipped_;
  size_bytes_ -= std::min<std::uint64_t>(size_bytes_, skipped_);
  if (recognised->decoder == nullptr) return {};
  unpacking_ = std::make_unique<Unpacking>();
  unpacking_->decoder = std::move(recognised->decoder);
  return {};
}

Error InputFile::about_file(const Error& error) const {
  return {error.code, name_ + ": " + error.sentence};
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
      size_bytes_(other.size_bytes_),
      skipped_(other.skipped_),
      before_wait_(std::move(other.before_wait_)),
      unpacking_(std::move(other.unpacking_)) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = std::exchange(other.fd_, -1);
  name_ = std::move(other.name_);
  regular_ = other.regular_;
  start_ = other.start_;
  offset_ = other.offset_;
  size_bytes_ = other.size_bytes_;
  skipped_ = other.skipped_;
  before_wait_ = std::move(other.before_wait_);
  unpacking_ = std::move(other.unpacking_);
  return *this;
}

InputFile::~InputFile() { close(); }

void InputFile::close() noexcept {
  if (fd_ > STDIN_FILENO) ::close(fd_);
  fd_ = -1;
}

Result<std::size_t> InputFile::read(std::span<char> into) {
  return unpacking_ == nullptr ? read_file(into) : read_unpacked(into);
}

bool InputFile::compressed() const {
  return unpacking_ != nullptr && unpacking_->decoder != nullptr;
}

std::uint64_t InputFile::file_bytes_read() const {
  return offset_ - (unpacking_ == nullptr ? 0 : unpacking_->waiting().size());
}

Result<std::size_t> InputFile::read_unpacked(std::span<char> into) {
  Unpacking& unpacking = *unpacking_;
  // A pipe is read until its first bytes tell. Text tells with its first byte or two.
  while (unpacking.decode != nullptr) {
    const auto got = read_file(unpacking.room());
    if (!got) return got.error();
    unpacking.filled += *got;
    unpacking.last = *got == 0;
    const auto first = unpacking.waiting();
    auto recognised = unpacking.decode({first.data(), first.size()}, unpacking.last);
    if (!recognised) return about_file(recognised.error());
    if (!recognised->decided && !unpacking.last) continue;
    skipped_ = recognised->skip;
    unpacking.taken += skipped_;
    unpacking.decoder = std::move(recognised->decoder);
    unpacking.decode = nullptr;
  }
  if (unpacking.decoder == nullptr) {
    if (const std::size_t bytes = unpacking.give_packed(into); bytes > 0) return bytes;
    unpacking_.reset();
    return read_file(into);
  }
  if (unpacking.has_ahead()) return unpacking.give_ahead(into);
  for (;;) {
    const std::size_t made = unpacking.make(into);
    if (made > 0) {
      // So that ready() knows whether there is more; a regular file never makes anybody wait.
      if (!regular_ && (made == into.size() || !unpacking.waiting().empty())) {
        unpacking.ahead_taken = 0;
        unpacking.ahead_made = unpacking.make(unpacking.ahead);
      }
      return made;
    }
    if (unpacking.failed) return about_file(*unpacking.failed);
    if (unpacking.last) return std::size_t{0};
    const auto got = read_file(unpacking.room());
    if (!got) return got.error();
    unpacking.filled += *got;
    unpacking.last = *got == 0;
  }
}

Result<void> InputFile::wait_for_more() const {
  pollfd asked{fd_, POLLIN, 0};
  int milliseconds = 0;
  // -1 is left to read(), which goes on after signals.
  while (milliseconds >= 0 && ::poll(&asked, 1, milliseconds) <= 0) {
    const auto next = before_wait_();
    if (!next) return next.error();
    milliseconds = *next;
  }
  return {};
}

Result<std::size_t> InputFile::read_file(std::span<char> into) {
  if (before_wait_ && !regular_)
    if (const auto waited = wait_for_more(); !waited) return waited.error();
  const std::size_t wanted = std::min(into.size(), most_at_once);
  ssize_t got = 0;
  do {
    got = regular_ ? ::pread(fd_, into.data(), wanted, static_cast<off_t>(start_ + offset_))
                   : ::read(fd_, into.data(), wanted);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      // Another program made our standard input non-blocking; wait as if it were not.
      pollfd waited{fd_, POLLIN, 0};
      ::poll(&waited, 1, -1);
      errno = EINTR;
    }
  } while (got < 0 && errno == EINTR);
  if (got < 0) return refused(name_, errno);
  if (got == 0 && became_shorter())
    return Error{Code::io, name_ +
                               " became shorter while it was read, so lines are missing; "
                               "run it again when nobody writes to it"};
  offset_ += static_cast<std::uint64_t>(got);
  return static_cast<std::size_t>(got);
}

// Asked at the end. Files of the kernel end before the size that they tell, and go on telling it.
bool InputFile::became_shorter() const {
  if (!regular_ || offset_ >= size_bytes_) return false;
  struct stat facts {};
  return ::fstat(fd_, &facts) == 0 &&
         static_cast<std::uint64_t>(facts.st_size) < start_ + size_bytes_;
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
  if (unpacking_ != nullptr) {
    const Unpacking& unpacking = *unpacking_;
    if (unpacking.has_ahead() || unpacking.failed || unpacking.last) return true;
    if (unpacking.decoder == nullptr && !unpacking.waiting().empty()) return true;
  }
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

}  // namespace bloomery::inline v0::detail

#include <bloomery/file.hpp>

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

namespace bloomery::inline v0 {

using namespace detail;
namespace {

// Linux moves at most 2^31 - 4096 bytes per call; less keeps the arithmetic plain.
constexpr std::size_t most_bytes_per_call = std::size_t{1} << 30;

std::string system_text(int number) { return std::generic_category().message(number); }

// Calls again when a signal came in between.
template <class Call>
auto unless_interrupted(Call call) {
  auto answer = call();
  while (answer == -1 && errno == EINTR) answer = call();
  return answer;
}

// The name for a file that is not a regular file; nullopt for a regular file.
std::optional<std::string> odd_file(unsigned mode) {
  if (S_ISREG(mode)) return {};
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

Error can_not_read(const std::string& name, int number) {
  return {Code::io, name + " cannot be read: " + system_text(number)};
}

// Where a chain of symbolic links ends, whether or not anything is there.
Result<std::filesystem::path> end_of_links(const std::filesystem::path& path) {
  constexpr int most_links = 40;  // as the kernel allows
  std::filesystem::path at = path;
  for (int links = 0; links < most_links; ++links) {
    std::error_code failed;
    if (!std::filesystem::is_symlink(at, failed)) return at;
    const auto next = std::filesystem::read_symlink(at, failed);
    if (failed) return can_not_read(at.string(), failed.value());
    at = at.parent_path() / next;
  }
  return can_not_read(path.string(), ELOOP);
}

// Differs from every other name of this process; O_EXCL protects against other processes.
std::string fresh_name() {
  static std::atomic<std::uint64_t> names{0};
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  auto mixed = (static_cast<std::uint64_t>(now) ^ static_cast<std::uint64_t>(::getpid()) << 40) +
               names.fetch_add(1, std::memory_order_relaxed);
  std::string name = ".bloomery-";
  for (int digit = 0; digit < 16; ++digit, mixed >>= 4) name += "0123456789abcdef"[mixed & 15];
  return name;
}

// The path of a file without a name.
std::string name_of(const detail::Descriptor& file) {
  return "/proc/self/fd/" + std::to_string(file.number());
}

constexpr const char* access_list = "system.posix_acl_access";

std::optional<std::vector<char>> attribute_of(const std::string& path, const char* name) {
  // The attribute may grow between the two calls: try again.
  for (int tries = 0; tries < 3; ++tries) {
    const ssize_t length = ::getxattr(path.c_str(), name, nullptr, 0);
    if (length < 0) return {};
    std::vector<char> value(static_cast<std::size_t>(length));
    const ssize_t got = ::getxattr(path.c_str(), name, value.data(), value.size());
    if (got < 0 && errno == ERANGE) continue;
    if (got < 0) return {};
    value.resize(static_cast<std::size_t>(got));
    return value;
  }
  return {};
}

// Gives a file the access list of another; if that has none, removes a list that the directory gave
// by default. False when the mode bits may then not mean what they say.
bool copy_access_list(const std::string& from, int to, bool group_kept) {
  const auto list = attribute_of(from, access_list);
  if (list) return group_kept && ::fsetxattr(to, access_list, list->data(), list->size(), 0) == 0;
  if (errno != ENODATA && errno != ENOTSUP) return false;
  return ::fremovexattr(to, access_list) == 0 || errno == ENODATA || errno == ENOTSUP;
}

// Extended attributes of users and administrators, as far as they can be read, and the access list.
bool copy_attributes(const std::string& from, int to, bool group_kept) {
  std::vector<char> names(std::size_t{64} << 10);  // the most that Linux gives
  const ssize_t length = ::listxattr(from.c_str(), names.data(), names.size());
  for (ssize_t at = 0; at < length;) {
    const std::string name(names.data() + at);
    at += static_cast<ssize_t>(name.size() + 1);
    if (!name.starts_with("user.") && !name.starts_with("trusted.")) continue;
    if (const auto value = attribute_of(from, name.c_str()))
      static_cast<void>(::fsetxattr(to, name.c_str(), value->data(), value->size(), 0));
  }
  return copy_access_list(from, to, group_kept);
}

// How often a random name is tried.
constexpr int most_tries = 100;

}  // namespace

bool detail::Descriptor::close() {
  // Not again after EINTR: Linux has released the descriptor by then and may have reused its
  // number.
  return number_ < 0 || ::close(std::exchange(number_, -1)) == 0;
}

// -- StoredFile -----------------------------------------------------------------------------------

Result<StoredFile> StoredFile::open(const std::filesystem::path& path) {
  StoredFile file;
  file.name_ = path.string();
  struct stat facts {};
  // Checked before it is opened: opening some devices has effects (a tape rewinds).
  if (::stat(path.c_str(), &facts) != 0) return can_not_read(file.name_, errno);
  if (const auto odd = odd_file(facts.st_mode))
    return Error{Code::io, file.name_ + " is " + *odd + "; name a regular file"};
  file.file_ = detail::Descriptor(unless_interrupted(
      [&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); }));
  if (!file.file_.is_open() || ::fstat(file.file_.number(), &facts) != 0)
    return can_not_read(file.name_, errno);
  if (const auto odd = odd_file(facts.st_mode))
    return Error{Code::io, file.name_ + " has become " + *odd + "; name a regular file"};
  file.size_bytes_ = static_cast<std::uint64_t>(facts.st_size);
  return file;
}

Result<void> StoredFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const auto got = unless_interrupted([&] {
      return ::pread(file_.number(), into.data(), std::min(into.size(), most_bytes_per_call),
                     static_cast<off_t>(offset));
    });
    if (got < 0) return can_not_read(name_, errno);
    if (got == 0)
      return Error{Code::damaged, name_ +
                                      " became shorter while it was read; try again when "
                                      "nobody writes to it"};
    into = into.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

Result<Memory> StoredFile::map(Reading reading) const {
  if (size_bytes_ == 0) return Memory{};
  if (size_bytes_ > std::numeric_limits<std::size_t>::max() / 2)
    return Error{Code::no_memory, name_ + " is too long to be mapped on this machine"};
  const auto bytes = static_cast<std::size_t>(size_bytes_);
  // MAP_NORESERVE: only pages that are written to cost memory, and a set that is merely asked
  // writes none; counting all of them in advance would refuse images larger than the free memory.
  void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                       file_.number(), 0);
  if (start == MAP_FAILED)
    return Error{errno == ENOMEM ? Code::no_memory : Code::io,
                 name_ + " cannot be mapped: " + system_text(errno)};
  std::shared_ptr<void> owner(start, [bytes](void* at) { ::munmap(at, bytes); });
  struct stat facts {};
  if (::fstat(file_.number(), &facts) != 0) return can_not_read(name_, errno);
  if (static_cast<std::uint64_t>(facts.st_size) != size_bytes_)
    return Error{Code::damaged, name_ +
                                    " changed its length while it was opened; try again when "
                                    "nobody writes to it"};
  ::madvise(start, bytes, reading == Reading::whole ? MADV_WILLNEED : MADV_RANDOM);
  return Memory::adopt(std::move(owner), {static_cast<std::byte*>(start), bytes});
}

Result<Memory> StoredFile::copy() const {
  if (size_bytes_ == 0) return Memory{};
  auto memory = Memory::make(size_bytes_);
  if (!memory) return memory.error();
  if (auto done = read(0, memory->bytes()); !done) return done.error();
  return memory;
}

Result<void> StoredFile::load(std::span<const std::byte> mapped) const {
#ifdef MADV_POPULATE_READ
  if (mapped.empty()) return {};
  // From the page that holds the first byte to the page that holds the last.
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(mapped.data());
  const auto start = first / page * page;
  const auto bytes = (first + mapped.size() - start + page - 1) / page * page;
  const int done = unless_interrupted(
      [&] { return ::madvise(reinterpret_cast<void*>(start), bytes, MADV_POPULATE_READ); });
  if (done != 0 && (errno == EFAULT || errno == EHWPOISON || errno == EIO))
    return can_not_read(name_, EIO);
#else
  static_cast<void>(mapped);
#endif
  return {};
}

// -- DurableFile ----------------------------------------------------------------------------------

Error DurableFile::refused(const std::string& what, int number) const {
  const Code code = number == EEXIST ? Code::exists : Code::io;
  if (number == ENOSPC || number == EDQUOT)
    return {code, name_ + " cannot be written: the disk is full; make room and try again"};
  return {code, name_ + " cannot be written: " + what + system_text(number)};
}

Result<DurableFile> DurableFile::create(const std::filesystem::path& target, Overwrite overwrite,
                                        unsigned mode) {
  DurableFile file(target.string(), overwrite);
  struct stat before {};
  const bool there = ::stat(target.c_str(), &before) == 0;
  if (!there && errno != ENOENT) return file.refused("", errno);
  if (there) {
    if (const auto odd = odd_file(before.st_mode))
      return Error{Code::io, file.name_ + " is " + *odd + "; name a regular file"};
    if (overwrite == Overwrite::refuse)
      return Error{Code::exists,
                   file.name_ + " already exists; choose another name or allow it to be replaced"};
    // A rename checks only the rights of the directory, but a write-protected file must stay.
    if (::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0)
      return file.refused("", errno);
  }
  const auto end = end_of_links(target);
  if (!end) return end.error();
  file.final_ = end->filename().string();
  if (file.final_.empty() || file.final_ == "." || file.final_ == "..")
    return Error{Code::io, "'" + file.name_ + "' names no file; give the file a name"};
  file.directory_name_ = end->has_parent_path() ? end->parent_path().string() : ".";
  file.directory_ = detail::Descriptor(unless_interrupted(
      [&] { return ::open(file.directory_name_.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY); }));
  if (!file.directory_.is_open())
    return file.refused("the directory " + file.directory_name_ + ": ", errno);
  // Never readable by more people than the file it replaces, not even for a moment.
  if (auto made = file.make_temporary(there ? 0600 : mode); !made) return made.error();
  if (there) file.keep_rights(target.string(), before.st_mode, before.st_uid, before.st_gid);
  return file;
}

DurableFile::DurableFile(DurableFile&& other) noexcept
    : name_(std::move(other.name_)),
      overwrite_(other.overwrite_),
      most_bytes_per_call_(other.most_bytes_per_call_),
      directory_name_(std::move(other.directory_name_)),
      final_(std::move(other.final_)),
      temporary_(std::exchange(other.temporary_, {})),
      directory_(std::move(other.directory_)),
      file_(std::move(other.file_)) {}

// Not mkostemp, which fixes mode 0600: with open() the umask and the directory's default access
// list decide, and the umask cannot be asked for without changing it under other threads.
Result<void> DurableFile::make_temporary(unsigned mode) {
#ifdef O_TMPFILE
  // A file without a name goes away with its process, however that ends. It gets its name through
  // /proc; without /proc it has a name from the beginning.
  file_ = detail::Descriptor(unless_interrupted(
      [&] { return ::openat(directory_.number(), ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode); }));
  if (file_.is_open() && ::access(name_of(file_).c_str(), F_OK) == 0) return {};
#endif
  for (int tries = 0; tries < most_tries; ++tries) {
    const std::string name = fresh_name();
    file_ = detail::Descriptor(unless_interrupted([&] {
      return ::openat(directory_.number(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                      mode);
    }));
    if (file_.is_open()) {
      temporary_ = name;
      return {};
    }
    if (errno != EEXIST) break;
  }
  return refused("no file can be made in the directory " + directory_name_ + ": ", errno);
}

// Keeps owner, group and rights as far as the system allows. What cannot be kept makes the rights
// narrower, never wider:
//    group not kept    its bits were for the members of the old group, who are now "others"
//    list not kept     the group bits were the mask of the access list, not the group's own rights
void DurableFile::keep_rights(const std::string& replaced, unsigned mode, unsigned owner,
                              unsigned group) {
  unsigned kept = mode & 0777U;
  if (::fchown(file_.number(), owner, group) != 0 &&
      ::fchown(file_.number(), static_cast<uid_t>(-1), group) != 0)
    kept = (kept & 0700U) | (kept & (kept >> 3) & 07U);
  if (!copy_attributes(replaced, file_.number(), (kept & 070U) == (mode & 070U))) kept &= 0700U;
  static_cast<void>(::fchmod(file_.number(), kept));
}

Result<void> DurableFile::reserve(std::uint64_t bytes) {
  assert(file_.is_open() && "a durable file is written before commit()");
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()))
    return refused("", EFBIG);
  const auto length = static_cast<off_t>(bytes);
  int failed = bytes == 0 ? 0 : EINTR;
  while (failed == EINTR) failed = ::posix_fallocate(file_.number(), 0, length);
  // File systems that cannot reserve say one of these; a full disk is then found by write().
  if (failed != 0 && failed != EOPNOTSUPP && failed != EINVAL && failed != ENOSYS)
    return refused("", failed);
  if (unless_interrupted([&] { return ::ftruncate(file_.number(), length); }) != 0)
    return refused("", errno);
  return {};
}

Result<void> DurableFile::lengthen(std::uint64_t bytes) {
  assert(file_.is_open() && "a durable file is written before commit()");
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()))
    return refused("", EFBIG);
  const auto length = static_cast<off_t>(bytes);
  if (unless_interrupted([&] { return ::ftruncate(file_.number(), length); }) != 0)
    return refused("", errno);
  return {};
}

Result<void> DurableFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  assert(file_.is_open() && "a durable file is written before commit()");
  while (!bytes.empty()) {
    const auto put = unless_interrupted([&] {
      return ::pwrite(file_.number(), bytes.data(), std::min(bytes.size(), most_bytes_per_call_),
                      static_cast<off_t>(offset));
    });
    if (put <= 0) return refused("", put < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return {};
}

Result<detail::Descriptor> DurableFile::lock() const {
  assert(file_.is_open() && "a durable file is locked before commit()");
  detail::Descriptor locked(::fcntl(file_.number(), F_DUPFD_CLOEXEC, 0));
  if (!locked.is_open() ||
      unless_interrupted([&] { return ::flock(locked.number(), LOCK_EX | LOCK_NB); }) != 0)
    return Error{Code::io, name_ + " cannot be locked: " + system_text(errno)};
  return locked;
}

Result<void> DurableFile::commit() {
  assert(file_.is_open() && "a durable file is committed once");
  int failed = 0;
  // A failed sync is never tried again: the kernel has dropped the pages and would say yes.
  if (unless_interrupted([&] { return ::fdatasync(file_.number()); }) != 0) failed = errno;
  if (failed == 0 && temporary_.empty()) failed = name_temporarily();
  // After EINTR it is closed all the same, and synced before that.
  if (failed == 0 && !file_.close() && errno != EINTR) failed = errno;
  if (failed == 0) failed = give_name();
  if (failed != 0) {
    discard();
    if (failed == EEXIST)
      return Error{Code::exists,
                   name_ + " already exists; choose another name or allow it to be replaced"};
    return refused("", failed);
  }
  temporary_.clear();
  // EINVAL: a file system whose directories cannot be synced has nothing more to promise.
  if (unless_interrupted([&] { return ::fsync(directory_.number()); }) != 0 && errno != EINVAL)
    return Error{Code::io, name_ +
                               " is written, but its directory cannot be synced and a power "
                               "loss may undo it: " +
                               system_text(errno)};
  return {};
}

// A link cannot replace a file, so what has no name gets a temporary one just before the final
// one. 0, or what the system says.
int DurableFile::name_temporarily() {
  const std::string own = name_of(file_);
  for (int tries = 0; tries < most_tries; ++tries) {
    temporary_ = fresh_name();
    if (::linkat(AT_FDCWD, own.c_str(), directory_.number(), temporary_.c_str(),
                 AT_SYMLINK_FOLLOW) == 0)
      return 0;
    if (errno != EEXIST) break;
  }
  const int failed = errno;
  temporary_.clear();
  return failed;
}

// From the temporary to the final name. 0, or what the system says.
int DurableFile::give_name() const {
  const int at = directory_.number();
  if (overwrite_ == Overwrite::replace)
    return ::renameat(at, temporary_.c_str(), at, final_.c_str()) == 0 ? 0 : errno;
#ifdef RENAME_NOREPLACE
  if (::renameat2(at, temporary_.c_str(), at, final_.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
#endif
  // A file system without that rename: a hard link never replaces either.
  if (::linkat(at, temporary_.c_str(), at, final_.c_str(), 0) != 0) return errno;
  ::unlinkat(at, temporary_.c_str(), 0);
  return 0;
}

void DurableFile::discard() noexcept {
  file_.close();
  if (!temporary_.empty()) ::unlinkat(directory_.number(), temporary_.c_str(), 0);
  temporary_.clear();
}

}  // namespace bloomery::inline v0

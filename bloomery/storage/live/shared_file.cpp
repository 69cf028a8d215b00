#include <bloomery/storage/live/shared_file.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

namespace bloomery::inline v0::detail {
namespace {

// Bytes far behind every image that locks are named by; nothing is ever stored there.
constexpr off_t door_at = std::numeric_limits<off_t>::max() - 2;
constexpr off_t attached_at = std::numeric_limits<off_t>::max() - 1;

constexpr off_t runs_at = std::numeric_limits<off_t>::max() - (off_t{1} << 40);

template <class Call>
auto unless_interrupted(Call call) {
  auto answer = call();
  while (answer == -1 && errno == EINTR) answer = call();
  return answer;
}

// A lock of this open file: it goes when the last process that has it open ends.
int lock(int file, off_t at, short type, int command) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = at;
  range.l_len = 1;
  return unless_interrupted([&] { return ::fcntl(file, command, &range); });
}

// By another open file. Nothing: that could not be found out.
std::optional<bool> is_held(int file, off_t at) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = at;
  range.l_len = 1;
  if (unless_interrupted([&] { return ::fcntl(file, F_OFD_GETLK, &range); }) != 0) return {};
  return range.l_type != F_UNLCK;
}

// Names as they are in linux/magic.h and the sources of the file systems.
bool shares_pages(int file) {
  struct statfs facts {};
  if (::fstatfs(file, &facts) != 0) return true;
  constexpr std::array<std::uint32_t, 14> remote = {
      0x6969,      // NFS
      0x517b,      // SMB
      0xff534d42,  // CIFS
      0xfe534d42,  // SMB2
      0x01021997,  // 9P
      0x5346414f,  // AFS
      0x6b414653,  // AFS of the kernel
      0x65735546,  // FUSE: sshfs, bindfs, virtiofs; the file may be reached in another way, too
      0x00c36400,  // Ceph
      0x0bd00bd0,  // Lustre
      0x7461636f,  // OCFS2
      0x01161970,  // GFS2
      0x786f4256,  // folders of VirtualBox
      0x73757245,  // Coda
  };
  return std::ranges::find(remote, static_cast<std::uint32_t>(facts.f_type)) == remote.end();
}

// In nanoseconds; 0 where it is not known. The number of a file that was removed is soon another's.
std::uint64_t birth_of([[maybe_unused]] int file) {
#ifdef STATX_BTIME
  struct statx facts {};
  if (::statx(file, "", AT_EMPTY_PATH, STATX_BTIME, &facts) != 0 ||
      (facts.stx_mask & STATX_BTIME) == 0)
    return 0;
  return static_cast<std::uint64_t>(facts.stx_btime.tv_sec) * 1'000'000'000 +
         facts.stx_btime.tv_nsec;
#else
  return 0;
#endif
}

}  // namespace

Error SharedFile::refused(const char* what, int number) const {
  if (number == ENOSPC || number == EDQUOT)
    return {Code::io, name_ + " cannot be written: the disk is full; make room and try again"};
  return {number == ENOMEM ? Code::no_memory : Code::io,
          name_ + " cannot be " + what + ": " + std::generic_category().message(number)};
}

Result<SharedFile> SharedFile::open(const std::filesystem::path& path, Access access) {
  SharedFile file;
  file.name_ = path.string();
  std::error_code unknown;
  file.path_ = std::filesystem::absolute(path, unknown);
  if (unknown) file.path_ = path;
  file.access_ = access;
  const int mode = access == Access::change ? O_RDWR : O_RDONLY;
  file.file_ = Descriptor(unless_interrupted(
      [&] { return ::open(path.c_str(), mode | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); }));
  const char* const what = access == Access::change ? "changed" : "read";
  if (!file.file_.is_open()) return file.refused(what, errno);
  if (access == Access::change && !shares_pages(file.file_.number()))
    return Error{Code::unsupported,
                 file.name_ +
                     " is on a network file system or on FUSE, where processes may see different "
                     "bytes of a file; keep live sets on a local file system"};
  struct stat facts {};
  if (::fstat(file.file_.number(), &facts) != 0) return file.refused("read", errno);
  file.identity_ = {facts.st_dev, facts.st_ino, birth_of(file.file_.number())};
  return file;
}

Result<SharedFile> SharedFile::opened_again() const {
  SharedFile file;
  file.name_ = name_;
  file.path_ = path_;
  file.access_ = access_;
  file.identity_ = identity_;
  const std::string itself = "/proc/self/fd/" + std::to_string(file_.number());
  file.file_ =
      Descriptor(unless_interrupted([&] { return ::open(itself.c_str(), O_RDWR | O_CLOEXEC); }));
  if (!file.file_.is_open()) return refused("opened again", errno);
  return file;
}

// Not fstat: newer kernels give a file whose times were looked at a new time at the next write, and
// the sync after it then writes the journal too: one and a half times as long.
Result<std::uint64_t> SharedFile::size_bytes() const {
  const off_t end = ::lseek(file_.number(), 0, SEEK_END);
  if (end < 0) return refused("read", errno);
  return static_cast<std::uint64_t>(end);
}

bool SharedFile::has_its_name() const {
  struct stat here {
  }, named{};
  return ::fstat(file_.number(), &here) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         here.st_dev == named.st_dev && here.st_ino == named.st_ino;
}

bool SharedFile::is_only_name() const {
  struct stat here {};
  return has_its_name() && ::fstat(file_.number(), &here) == 0 && here.st_nlink == 1;
}

Result<void> SharedFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const auto got = unless_interrupted([&] {
      return ::pread(file_.number(), into.data(), into.size(), static_cast<off_t>(offset));
    });
    if (got < 0) return refused("read", errno);
    if (got == 0) return Error{Code::damaged, name_ + " became shorter while it was read"};
    into = into.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

Result<bool> SharedFile::is_on_disk(std::uint64_t offset, std::span<const std::byte> bytes) const {
  constexpr std::uint64_t piece_bytes = 1U << 20;
  const std::string itself = "/proc/self/fd/" + std::to_string(file_.number());
  const Descriptor past_cache(
      unless_interrupted([&] { return ::open(itself.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT); }));
  if (!past_cache.is_open() && (errno == EINVAL || errno == EOPNOTSUPP)) return true;
  if (!past_cache.is_open()) return refused("read", errno);
  constexpr std::size_t alignment = 4096;
  auto room = Memory::make(piece_bytes + alignment);
  if (!room) return room.error();
  void* aligned = room->bytes().data();
  std::size_t left = room->size();
  auto* const piece = static_cast<std::byte*>(std::align(alignment, piece_bytes, aligned, left));
  // Whole blocks, from and to where such a read may begin and end.
  const std::uint64_t end = offset + bytes.size();
  for (std::uint64_t at = offset / piece_bytes * piece_bytes; at < end; at += piece_bytes) {
    const auto got = unless_interrupted(
        [&] { return ::pread(past_cache.number(), piece, piece_bytes, static_cast<off_t>(at)); });
    if (got < 0 && errno == EINVAL) return true;
    if (got < 0) return refused("read", errno);
    const std::uint64_t from = std::max(at, offset), upto = std::min(at + piece_bytes, end);
    if (static_cast<std::uint64_t>(got) < upto - at) return false;
    if (std::memcmp(piece + (from - at), bytes.data() + (from - offset), upto - from) != 0)
      return false;
  }
  return true;
}

Result<void> SharedFile::sync_name() const {
  std::error_code failed;
  auto target = std::filesystem::weakly_canonical(name_, failed);
  if (failed) target = name_;
  const auto folder = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  const Descriptor directory(unless_interrupted(
      [&] { return ::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY); }));
  // A directory that may be entered and not read: its owner is responsible for the name.
  if (!directory.is_open() && errno == EACCES) return {};
  // EINVAL: a file system whose directories cannot be synced has nothing more to promise.
  if (!directory.is_open() ||
      (unless_interrupted([&] { return ::fsync(directory.number()); }) != 0 && errno != EINVAL))
    return refused("synced", errno);
  return {};
}

namespace {

Memory adopted(void* start, std::uint64_t bytes) {
  std::shared_ptr<void> owner(start, [bytes](void* at) { ::munmap(at, bytes); });
  return Memory::adopt(std::move(owner), {static_cast<std::byte*>(start), bytes});
}

}  // namespace

Result<Memory> SharedFile::map(std::uint64_t offset, std::uint64_t bytes) const {
  const int rights = access_ == Access::change ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const start =
      ::mmap(nullptr, bytes, rights, MAP_SHARED, file_.number(), static_cast<off_t>(offset));
  if (start == MAP_FAILED) return refused("mapped", errno);
  return adopted(start, bytes);
}

Result<Memory> SharedFile::map_privately(std::uint64_t bytes) const {
  void* const start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                             file_.number(), 0);
  if (start == MAP_FAILED) return refused("mapped", errno);
  return adopted(start, bytes);
}

Result<void> SharedFile::write(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto put = unless_interrupted([&] {
      return ::pwrite(file_.number(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    });
    if (put < 0) return refused("written", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return {};
}

Result<void> SharedFile::write(std::uint64_t offset, std::span<const std::byte> first,
                               std::span<const std::byte> second) const {
  const auto piece = [](std::span<const std::byte> bytes) {
    return iovec{const_cast<std::byte*>(bytes.data()), bytes.size()};
  };
  const std::array pieces = {piece(first), piece(second)};
  const auto put = unless_interrupted([&] {
    return ::pwritev(file_.number(), pieces.data(), pieces.size(), static_cast<off_t>(offset));
  });
  if (put < 0) return refused("written", errno);
  // What a call has left, of a disk that is nearly full.
  const auto done = static_cast<std::uint64_t>(put);
  if (done < first.size())
    if (auto rest = write(offset + done, first.subspan(done)); !rest) return rest;
  const std::uint64_t of_second = done < first.size() ? 0 : done - first.size();
  return write(offset + first.size() + of_second, second.subspan(of_second));
}

// Written, not only reserved: the first write to reserved bytes changes what the file system notes
// of the file, which makes its sync dearer.
Result<void> SharedFile::extend(std::uint64_t from, std::uint64_t bytes) const {
  std::vector<std::byte> zeros;
  if (!had_memory([&] { zeros.resize(std::min<std::uint64_t>(bytes, 1U << 20)); }))
    return refused("extended", ENOMEM);
  for (std::uint64_t at = 0; at < bytes; at += zeros.size())
    if (auto done = write(from + at, std::span(zeros).first(static_cast<std::size_t>(
                                         std::min<std::uint64_t>(zeros.size(), bytes - at))));
        !done)
      return done;
  return {};
}

std::optional<std::uint64_t> SharedFile::bytes_before_hole(std::uint64_t offset,
                                                           std::uint64_t bytes) const {
  const off_t hole = ::lseek(file_.number(), static_cast<off_t>(offset), SEEK_HOLE);
  if (hole < 0) return {};
  return std::min(bytes, static_cast<std::uint64_t>(hole) - offset);
}

void SharedFile::expect(Use use, const Memory& mapping, std::uint64_t offset, std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t first = offset / page * page;
  const std::uint64_t end = std::min<std::uint64_t>(offset + bytes, mapping.size());
  if (end <= first) return;
  auto* const start = const_cast<std::byte*>(mapping.bytes().data()) + first;
  // Advice: nothing depends on whether it is taken. Of a shared mapping of a file MADV_DONTNEED
  // forgets no byte.
  const int advice = use == Use::anywhere  ? MADV_RANDOM
                     : use == Use::through ? MADV_WILLNEED
                                           : MADV_DONTNEED;
  static_cast<void>(::madvise(start, end - first, advice));
}

bool SharedFile::is_resident(const Memory& mapping, std::uint64_t offset) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  auto* const start = const_cast<std::byte*>(mapping.bytes().data());
  unsigned char there = 1;
  return ::mincore(start + offset / page * page, page, &there) != 0 || (there & 1U) != 0;
}

int SharedFile::sync(const Memory& mapping, std::uint64_t offset, std::uint64_t bytes) const {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t first = offset / page * page;
  const std::uint64_t end = std::min<std::uint64_t>(offset + bytes, mapping.size());
  if (end <= first) return 0;
  auto* const start = const_cast<std::byte*>(mapping.bytes().data()) + first;
  // Tried again only where nothing was done yet: after a failure the system takes the pages for
  // clean, and the next call would succeed without having written them.
  return unless_interrupted([&] { return ::msync(start, end - first, MS_SYNC); }) == 0 ? 0 : errno;
}

Result<void> SharedFile::lock_door() const {
  if (lock(file_.number(), door_at, F_WRLCK, F_OFD_SETLKW) != 0) return refused("locked", errno);
  return {};
}
void SharedFile::unlock_door() const { lock(file_.number(), door_at, F_UNLCK, F_OFD_SETLK); }

Result<bool> SharedFile::is_door_locked() const { return told(is_held(file_.number(), door_at)); }

Result<bool> SharedFile::attach_alone() const {
  const bool alone = lock(file_.number(), attached_at, F_WRLCK, F_OFD_SETLK) == 0;
  // Whoever took itself for one of several would leave out what only the first one does.
  if (!alone && errno != EAGAIN && errno != EACCES) return refused("locked", errno);
  if (lock(file_.number(), attached_at, F_RDLCK, F_OFD_SETLKW) != 0)
    return refused("locked", errno);
  return alone;
}

void SharedFile::leave() const { lock(file_.number(), attached_at, F_UNLCK, F_OFD_SETLK); }

Result<void> SharedFile::hold_run(std::uint32_t run) const {
  if (lock(file_.number(), runs_at + run, F_WRLCK, F_OFD_SETLK) != 0)
    return refused("locked", errno);
  return {};
}

Result<bool> SharedFile::told(std::optional<bool> held) const {
  return held ? Result<bool>(*held) : Result<bool>(refused("asked for its locks", errno));
}

Result<bool> SharedFile::is_attached() const { return told(is_held(file_.number(), attached_at)); }

Result<bool> SharedFile::is_run_held(std::uint32_t run) const {
  return told(is_held(file_.number(), runs_at + run));
}

namespace {

constexpr std::uint8_t unknown = 0xff;

Boot read_boot() {
  Boot boot;
  boot.fill(unknown);
  const Descriptor file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  std::array<char, 36> text{};
  if (!file.is_open() ||
      ::read(file.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return boot;
  std::size_t digit = 0;
  for (const char letter : text) {
    if (letter == '-' || digit >= 2 * boot.size()) continue;
    const int value = letter <= '9' ? letter - '0' : (letter | 0x20) - 'a' + 10;
    boot[digit / 2] = static_cast<std::uint8_t>(boot[digit / 2] << 4 | (value & 15));
    ++digit;
  }
  return boot;
}

}  // namespace

std::uint64_t thread_numbers() {
  struct stat facts {};
  return ::stat("/proc/self/ns/pid", &facts) == 0 ? facts.st_ino : 0;
}

const Boot& this_boot() {
  static const Boot boot = read_boot();
  return boot;
}

bool is_this_boot(const Boot& boot) {
  return boot == this_boot() && boot != Boot{} &&
         !std::ranges::all_of(boot, [](std::uint8_t byte) { return byte == unknown; });
}

}  // namespace bloomery::inline v0::detail

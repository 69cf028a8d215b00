// All that is asked of the system here goes past the functions that record_disk.cpp replaces.
#include "disk_recorder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace bloomery::cuts {
namespace {

constexpr std::size_t sector_bytes = 512;
constexpr std::size_t stride_bytes = 64 << 10;  // compared at once
constexpr std::size_t copies_begin_at = 1 << 20;
// Programs and tests look for low numbers.
constexpr int first_descriptor = 500;

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "record_disk: %s: %s\n", what, std::strerror(errno));
  std::_Exit(99);
}

int open_plainly(const char* path, int flags, int mode = 0600) {
  const int low = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode));
  if (low < 0) return low;
  const int high = static_cast<int>(::syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, first_descriptor));
  ::syscall(SYS_close, low);
  return high;
}

template <class T>
T* map_plainly(int file, std::size_t bytes, int protection) {
  void* const made =
      reinterpret_cast<void*>(::syscall(SYS_mmap, nullptr, bytes, protection, MAP_SHARED, file, 0));
  if (made == MAP_FAILED) give_up("a file cannot be mapped");
  return static_cast<T*>(made);
}

void put(int file, const void* from, std::size_t bytes, std::uint64_t offset) {
  const char* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t step = ::syscall(SYS_pwrite64, file, at, bytes, offset);
    if (step < 0 && errno == EINTR) continue;
    if (step <= 0) give_up("the trace cannot be written");
    at += step;
    bytes -= static_cast<std::size_t>(step);
    offset += static_cast<std::uint64_t>(step);
  }
}

std::string descriptor_path(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

std::string link_of(const std::string& path) {
  std::array<char, PATH_MAX> text{};
  const long got = ::syscall(SYS_readlinkat, AT_FDCWD, path.c_str(), text.data(), text.size());
  return got < 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(got));
}

std::string without_links(const std::string& path) {
  std::array<char, PATH_MAX> text{};
  return ::realpath(path.c_str(), text.data()) == nullptr ? std::string() : text.data();
}

}  // namespace

DiskRecorder& DiskRecorder::one() {
  // Never destroyed: files are written until the very end.
  static DiskRecorder& recorder = *new DiskRecorder;
  return recorder;
}

DiskRecorder::DiskRecorder() {
  const char* const directory = std::getenv("RECORD_DISK_DIRECTORY");
  const char* const trace = std::getenv("RECORD_DISK_TRACE");
  if (directory == nullptr || trace == nullptr) return;
  directory_ = without_links(directory);
  struct stat facts {};
  if (directory_.empty() || ::stat(directory_.c_str(), &facts) != 0)
    give_up("RECORD_DISK_DIRECTORY is not there");
  device_ = facts.st_dev;
  copies_ = std::string(trace) + ".copies";
  begin_trace(trace);
}

void DiskRecorder::begin_trace(const char* path) {
  trace_ = open_plainly(path, O_RDWR | O_CREAT);
  if (trace_ < 0) give_up("RECORD_DISK_TRACE cannot be made");
  if (::mkdir(copies_.c_str(), 0700) != 0 && errno != EEXIST) give_up("no place for copies");
  struct flock all {};
  all.l_type = F_WRLCK;
  while (::syscall(SYS_fcntl, trace_, F_SETLKW, &all) != 0)
    if (errno != EINTR) give_up("the trace cannot be locked");
  struct stat facts {};
  if (::fstat(trace_, &facts) != 0) give_up("the trace is gone");
  const bool begins = facts.st_size == 0;
  if (begins && ::syscall(SYS_ftruncate, trace_, trace_head_bytes) != 0) give_up("trace");
  head_ = map_plainly<TraceHead>(trace_, trace_head_bytes, PROT_READ | PROT_WRITE);
  if (begins) {
    head_->magic = TraceHead::expected_magic;
    head_->used_bytes = trace_head_bytes;
    record_what_exists("");
  }
  all.l_type = F_UNLCK;
  ::syscall(SYS_fcntl, trace_, F_SETLK, &all);
}

void DiskRecorder::record_what_exists(const std::string& folder) {
  const std::string place = folder.empty() ? directory_ : directory_ + "/" + folder;
  DIR* const all = ::opendir(place.c_str());
  if (all == nullptr) give_up("the directory cannot be read");
  while (const dirent* const entry = ::readdir(all)) {
    const std::string last = entry->d_name;
    if (last == "." || last == "..") continue;
    const std::string name = folder.empty() ? last : folder + "/" + last;
    const std::string path = directory_ + "/" + name;
    struct stat facts {};
    if (::lstat(path.c_str(), &facts) != 0) give_up(path.c_str());
    if (S_ISDIR(facts.st_mode)) record_what_exists(name);
    if (!S_ISREG(facts.st_mode)) continue;
    std::string text = name + '\0';
    const std::size_t begin = text.size();
    text.resize(begin + static_cast<std::size_t>(facts.st_size));
    const int file = open_plainly(path.c_str(), O_RDONLY);
    if (::syscall(SYS_pread64, file, text.data() + begin, text.size() - begin, 0) !=
        static_cast<long>(facts.st_size))
      give_up(path.c_str());
    ::syscall(SYS_close, file);
    record(DiskEventKind::exists, facts.st_ino, text);
  }
  ::closedir(all);
}

// -- turns ----------------------------------------------------------------------------------------

DiskRecorder::Turn::Turn(DiskRecorder& recorder) : recorder_(recorder), alone_(recorder.alone_) {
  const int failed = errno;
  struct flock all {};
  all.l_type = F_WRLCK;
  while (::syscall(SYS_fcntl, recorder_.trace_, F_SETLKW, &all) != 0)
    if (errno != EINTR) give_up("the trace cannot be locked");
  errno = failed;
}

DiskRecorder::Turn::~Turn() {
  const int failed = errno;
  struct flock all {};
  all.l_type = F_UNLCK;
  ::syscall(SYS_fcntl, recorder_.trace_, F_SETLK, &all);
  errno = failed;
}

void DiskRecorder::record(DiskEventKind kind, std::uint64_t file, std::string_view text,
                          std::uint64_t offset, std::uint64_t length, std::uint64_t ticket) {
  const DiskRecord record{kind,  static_cast<std::uint32_t>(text.size()), file, offset, length,
                          ticket};
  const std::uint64_t at = head_->used_bytes;
  put(trace_, &record, sizeof record, at);
  put(trace_, text.data(), text.size(), at + sizeof record);
  // The last text may be shorter than its place in the file; a reader expects all of it.
  const std::uint64_t end = at + sizeof record + padded_to_8(text.size());
  constexpr std::array<char, 8> zeros{};
  put(trace_, zeros.data(), end - at - sizeof record - text.size(),
      at + sizeof record + text.size());
  head_->used_bytes = end;
}

std::uint64_t DiskRecorder::next_ticket() const { return head_->used_bytes; }

void DiskRecorder::wrote(std::uint64_t file, std::uint64_t offset, std::string_view bytes) {
  record(DiskEventKind::write, file, bytes, offset);
  const auto found = mapped_.find(file);
  if (found == mapped_.end()) return;
  grow(found->second, static_cast<std::size_t>(offset) + bytes.size());
  std::memcpy(found->second.copy + offset, bytes.data(), bytes.size());
}

void DiskRecorder::set_length(std::uint64_t file, std::uint64_t length) {
  record(DiskEventKind::length, file, "", 0, length);
  const auto found = mapped_.find(file);
  if (found == mapped_.end()) return;
  Mapped& mapped = found->second;
  // Behind the end all is zero, and will be if the file grows again.
  if (length < mapped.copy_bytes)
    std::memset(mapped.copy + length, 0, mapped.copy_bytes - static_cast<std::size_t>(length));
}

// -- mapped files ---------------------------------------------------------------------------------

std::string DiskRecorder::copy_name(std::uint64_t file) const {
  return copies_ + "/" + std::to_string(file);
}

void DiskRecorder::begin_mapping(int descriptor, std::uint64_t file) {
  if (mapped_.contains(file) || open_copy(descriptor, file, false)) return;
  // Until now all changes of it came through calls: the trace knows the bytes that it has.
  if (!open_copy(descriptor, file, true)) give_up("no copy of a mapped file");
  Mapped& mapped = mapped_.at(file);
  struct stat facts {};
  ::fstat(mapped.descriptor, &facts);
  const auto bytes = static_cast<std::size_t>(facts.st_size);
  grow(mapped, bytes);
  if (bytes > 0) std::memcpy(mapped.copy, mapped.live, bytes);
  ++head_->copies;
}

bool DiskRecorder::open_copy(int descriptor, std::uint64_t file, bool make) {
  const std::string name = copy_name(file);
  const int copy = open_plainly(name.c_str(), O_RDWR | (make ? O_CREAT | O_TRUNC : 0));
  if (copy < 0) return false;
  const int own = open_plainly(descriptor_path(descriptor).c_str(), O_RDONLY);
  if (own < 0) give_up("a mapped file cannot be read");
  mapped_[file] = {.descriptor = own, .copy_file = copy};
  return true;
}

void DiskRecorder::grow(Mapped& mapped, std::size_t bytes) {
  if (bytes > mapped.live_bytes) {
    if (mapped.live_bytes > 0) ::syscall(SYS_munmap, mapped.live, mapped.live_bytes);
    mapped.live = map_plainly<const std::byte>(mapped.descriptor, bytes, PROT_READ);
    mapped.live_bytes = bytes;
  }
  struct stat facts {};
  ::fstat(mapped.copy_file, &facts);
  auto wanted = static_cast<std::size_t>(facts.st_size);
  if (wanted < bytes) {
    wanted = std::max({bytes, 2 * wanted, copies_begin_at});
    if (::syscall(SYS_ftruncate, mapped.copy_file, wanted) != 0) give_up("a copy cannot grow");
  }
  if (wanted <= mapped.copy_bytes) return;
  if (mapped.copy_bytes > 0) ::syscall(SYS_munmap, mapped.copy, mapped.copy_bytes);
  mapped.copy = map_plainly<std::byte>(mapped.copy_file, wanted, PROT_READ | PROT_WRITE);
  mapped.copy_bytes = wanted;
}

void DiskRecorder::compare_mappings() {
  for (auto& [file, mapped] : mapped_) compare(file, mapped);
}

void DiskRecorder::compare(std::uint64_t file, Mapped& mapped) {
  struct stat facts {};
  if (::fstat(mapped.descriptor, &facts) != 0) give_up("a mapped file is gone");
  const auto length = static_cast<std::size_t>(facts.st_size);
  grow(mapped, length);
  std::string changed;  // neighbours go together
  std::size_t begin = 0;
  const auto write_changed = [&] {
    if (!changed.empty()) record(DiskEventKind::write, file, changed, begin);
    std::memcpy(mapped.copy + begin, changed.data(), changed.size());
    changed.clear();
  };
  for (std::size_t stride = 0; stride < length; stride += stride_bytes) {
    const std::size_t end = std::min(stride + stride_bytes, length);
    if (std::memcmp(mapped.live + stride, mapped.copy + stride, end - stride) == 0) continue;
    for (std::size_t at = stride; at < end; at += sector_bytes) {
      const std::size_t bytes = std::min(sector_bytes, end - at);
      if (std::memcmp(mapped.live + at, mapped.copy + at, bytes) == 0) continue;
      if (!changed.empty() && begin + changed.size() != at) write_changed();
      if (changed.empty()) begin = at;
      // Read once: the program may be storing to it.
      changed.append(reinterpret_cast<const char*>(mapped.live + at), bytes);
    }
  }
  if (!changed.empty()) write_changed();
}

void DiskRecorder::forget(std::uint64_t file) {
  mapped_.erase(file);
  known_.erase(file);
  ::syscall(SYS_unlinkat, AT_FDCWD, copy_name(file).c_str(), 0);
}

// -- names ----------------------------------------------------------------------------------------

std::optional<std::string> DiskRecorder::inside(const std::string& path) const {
  if (path == directory_) return "";
  if (!path.starts_with(directory_ + "/")) return {};
  return path.substr(directory_.size() + 1);
}

std::optional<std::uint64_t> DiskRecorder::file_of(int descriptor) {
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_dev != device_)
    return {};
  const auto found = known_.find(facts.st_ino);
  if (found != known_.end() && found->second == head_->copies) return facts.st_ino;
  // Of a file without a name it is "PATH (deleted)", which begins like others.
  if (found == known_.end() && !inside(link_of(descriptor_path(descriptor)))) return {};
  // Another process may have mapped it meanwhile.
  if (!mapped_.contains(facts.st_ino)) open_copy(descriptor, facts.st_ino, false);
  known_[facts.st_ino] = head_->copies;
  return facts.st_ino;
}

std::optional<std::string> DiskRecorder::name_of(int descriptor) const {
  return inside(link_of(descriptor_path(descriptor)));
}

std::optional<std::string> DiskRecorder::name_of(int at, const char* path) const {
  const std::string given = path;
  const auto slash = given.rfind('/');
  std::string folder = at == AT_FDCWD ? "." : descriptor_path(at);
  if (slash != std::string::npos)
    folder = given[0] == '/' ? given.substr(0, slash + 1) : folder + "/" + given.substr(0, slash);
  return inside(without_links(folder) + "/" + given.substr(slash + 1));
}

}  // namespace bloomery::cuts

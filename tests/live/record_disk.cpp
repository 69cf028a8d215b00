// Records all that a program does to the files of one directory, for DiskAfterCut. Loaded before
// the program by LD_PRELOAD.
//
//    RECORD_DISK_DIRECTORY=D    the directory, which is there
//    RECORD_DISK_TRACE=T        the trace; several processes, one after the other or at once,
//                               write to one
//    RECORD_DISK_MARKS=1        what is written to this descriptor is a mark as well (a line of
//                               output acknowledges something); mark_disk() makes one from inside
//    RECORD_DISK_FAILING_SYNC=N the Nth sync of a file by this process fails with EIO
//
// Recorded: files that are made, linked, renamed, unlinked; lengths; all forms of write; stores to
// shared mappings, found by comparing them (512 bytes at a time) at each event; fsync, fdatasync,
// msync, O_DSYNC, RWF_DSYNC, syncs of directories. Not sync_file_range: it promises nothing.
//
// Limits:  of two stores to one sector between two events, only what the sector then has is
//          recorded. Not recorded, and refused loudly: files moved in or exchanged, copied or
//          written by the kernel (sendfile, copy_file_range), opened by fopen() to write. Not seen:
//          system calls without libc (io_uring). A process that is killed between a call and its
//          record leaves a trace without that event; its stores to mappings are found by the next.
// Threads: any number, and processes; their recorded calls take turns, syncs do not.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "disk_recorder.hpp"

namespace {

using bloomery::cuts::DiskEventKind;
using bloomery::cuts::DiskRecorder;
using bloomery::cuts::whole_file;
using Turn = DiskRecorder::Turn;

DiskRecorder& disk() { return DiskRecorder::one(); }

[[noreturn]] void refuse(const char* what) {
  std::fprintf(stderr, "record_disk: %s is not recorded\n", what);
  std::_Exit(99);
}

mode_t mode_of(int flags, va_list rest) {
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return makes ? va_arg(rest, mode_t) : 0;
}

int open_recorded(int at, const char* path, int flags, mode_t mode) {
  const auto call = [&] { return static_cast<int>(::syscall(SYS_openat, at, path, flags, mode)); };
  const bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
  if (!disk().on() || ((flags & (O_CREAT | O_TRUNC)) == 0 && !nameless)) return call();
  const Turn turn(disk());
  disk().compare_mappings();
  struct stat before {};
  const bool existed = !nameless && ::fstatat(at, path, &before, 0) == 0;
  const int file = call();
  if (file < 0) return file;
  struct stat facts {};
  const int failed = errno;
  if (!existed && ::fstat(file, &facts) == 0 && disk().name_of(file)) disk().forget(facts.st_ino);
  if (const auto inode = disk().file_of(file)) {
    if (!existed)
      disk().record(DiskEventKind::create, *inode, nameless ? "" : *disk().name_of(file));
    else if ((flags & O_TRUNC) != 0 && before.st_size > 0)
      disk().set_length(*inode, 0);
  }
  errno = failed;
  return file;
}

// -- writes ---------------------------------------------------------------------------------------

int mark_descriptor() {
  static const int descriptor = [] {
    const char* const text = std::getenv("RECORD_DISK_MARKS");
    return text == nullptr ? -1 : std::atoi(text);
  }();
  return descriptor;
}

void mark(std::string_view text) {
  if (!disk().on()) return;
  const Turn turn(disk());
  disk().compare_mappings();
  disk().record(DiskEventKind::mark, 0, text);
}

std::string_view text_of(const void* bytes, std::size_t count) {
  return {static_cast<const char*>(bytes), count};
}

// Of a write that is durable when it returns.
void record_sync(std::uint64_t inode, std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t ticket = disk().next_ticket();
  disk().record(DiskEventKind::sync, inode, "", offset, length, ticket);
  disk().record(DiskEventKind::synced, inode, "", 0, 0, ticket);
}

constexpr std::int64_t at_position = -1;

// `call` writes; `pieces` is what it was given.
template <class Call>
ssize_t write_recorded(int file, const iovec* pieces, int count, std::int64_t offset, int how,
                       Call call) {
  if (!disk().on()) return call();
  if (file == mark_descriptor()) {
    std::string text;
    for (int i = 0; i < count; ++i) text += text_of(pieces[i].iov_base, pieces[i].iov_len);
    mark(text);
  }
  const Turn turn(disk());
  const auto inode = disk().file_of(file);
  if (!inode) return call();
  disk().compare_mappings();
  struct stat before {};
  ::fstat(file, &before);
  const long flags = ::syscall(SYS_fcntl, file, F_GETFL);
  const bool appends = (flags & O_APPEND) != 0 || (how & RWF_APPEND) != 0;
  if (offset == at_position) offset = ::lseek(file, 0, SEEK_CUR);
  if (appends) offset = before.st_size;
  const ssize_t put = call();
  if (put <= 0) return put;
  const int failed = errno;
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += text_of(pieces[i].iov_base, pieces[i].iov_len);
  bytes.resize(static_cast<std::size_t>(put));
  const auto from = static_cast<std::uint64_t>(offset);
  disk().wrote(*inode, from, bytes);
  if ((flags & O_DSYNC) != 0 || (how & (RWF_DSYNC | RWF_SYNC)) != 0)
    record_sync(*inode, from, bytes.size());
  errno = failed;
  return put;
}

ssize_t write_vector(int file, const iovec* pieces, int count, std::int64_t offset, int how) {
  return write_recorded(file, pieces, count, offset, how, [&] {
    return ::syscall(SYS_pwritev2, file, pieces, count, offset, 0, how);
  });
}

// -- lengths --------------------------------------------------------------------------------------

template <class Call>
int resize_recorded(int file, Call call) {
  if (!disk().on()) return call();
  const Turn turn(disk());
  const auto inode = disk().file_of(file);
  if (!inode) return call();
  disk().compare_mappings();
  struct stat facts {};
  ::fstat(file, &facts);
  const auto before = facts.st_size;
  const int done = call();
  const int failed = errno;
  ::fstat(file, &facts);
  if (facts.st_size != before) disk().set_length(*inode, static_cast<std::uint64_t>(facts.st_size));
  errno = failed;
  return done;
}

int allocate(int file, int mode, off_t offset, off_t length) {
  if ((mode & ~FALLOC_FL_KEEP_SIZE) != 0 && disk().on()) {
    const Turn turn(disk());
    if (disk().file_of(file)) refuse("fallocate with this mode");
  }
  return resize_recorded(
      file, [&] { return static_cast<int>(::syscall(SYS_fallocate, file, mode, offset, length)); });
}

// -- syncs ----------------------------------------------------------------------------------------

bool fails_now(DiskEventKind kind) {
  static const long failing = [] {
    const char* const text = std::getenv("RECORD_DISK_FAILING_SYNC");
    return text == nullptr ? 0 : std::atol(text);
  }();
  static std::atomic<long> syncs = 0;
  return failing != 0 && kind == DiskEventKind::sync && ++syncs == failing;
}

// Others may write while it is carried out; what they write is not covered.
template <class Call>
int sync_recorded(DiskEventKind kind, std::uint64_t inode, std::string_view name,
                  std::uint64_t offset, std::uint64_t length, Call call) {
  std::uint64_t ticket = 0;
  {
    const Turn turn(disk());
    disk().compare_mappings();
    ticket = disk().next_ticket();
    disk().record(kind, inode, name, offset, length, ticket);
  }
  const bool fails = fails_now(kind);
  const int done = fails ? -1 : call();
  const int number = fails ? EIO : errno;
  const Turn turn(disk());
  disk().record(done == 0 ? DiskEventKind::synced : DiskEventKind::sync_failed, inode, "", 0, 0,
                ticket);
  errno = number;
  return done;
}

template <class Call>
int sync_file(int file, Call call) {
  if (!disk().on()) return call();
  std::optional<std::uint64_t> inode;
  std::optional<std::string> name;
  {
    const Turn turn(disk());
    struct stat facts {};
    inode = disk().file_of(file);
    if (::fstat(file, &facts) == 0 && S_ISDIR(facts.st_mode)) name = disk().name_of(file);
  }
  if (name) return sync_recorded(DiskEventKind::sync_names, 0, *name, 0, 0, call);
  if (inode) return sync_recorded(DiskEventKind::sync, *inode, "", 0, whole_file, call);
  return call();
}

// -- mappings -------------------------------------------------------------------------------------

// What the program has mapped, so that msync() finds the file.
struct Mapping {
  std::uintptr_t begin, end;
  std::uint64_t inode, offset;
};

std::vector<Mapping>& mappings() {
  static std::vector<Mapping>& all = *new std::vector<Mapping>;
  return all;
}

void note_mapping(void* start, std::size_t bytes, std::uint64_t inode, off_t offset) {
  const auto begin = reinterpret_cast<std::uintptr_t>(start);
  mappings().push_back({begin, begin + bytes, inode, static_cast<std::uint64_t>(offset)});
}

// Takes [begin, end) out of what is mapped.
void cut_mappings(std::uintptr_t begin, std::uintptr_t end) {
  std::vector<Mapping> left;
  for (const Mapping& one : mappings()) {
    if (one.begin < begin && one.begin < one.end)
      left.push_back({one.begin, std::min(one.end, begin), one.inode, one.offset});
    if (one.end > end) {
      const std::uintptr_t from = std::max(one.begin, end);
      left.push_back({from, one.end, one.inode, one.offset + (from - one.begin)});
    }
  }
  mappings() = std::move(left);
}

void* map_recorded(void* wish, std::size_t bytes, int protection, int flags, int file,
                   off_t offset) {
  const auto call = [&] {
    return reinterpret_cast<void*>(
        ::syscall(SYS_mmap, wish, bytes, protection, flags, file, offset));
  };
  const int kind = flags & MAP_TYPE;
  const bool shared = kind == MAP_SHARED || kind == MAP_SHARED_VALIDATE;
  if (!shared || file < 0 || !disk().on()) return call();
  const Turn turn(disk());
  const auto inode = disk().file_of(file);
  const bool stores = (::syscall(SYS_fcntl, file, F_GETFL) & O_ACCMODE) == O_RDWR;
  if (!inode || !stores) return call();
  disk().begin_mapping(file, *inode);
  disk().compare_mappings();
  void* const start = call();
  if (start != MAP_FAILED) note_mapping(start, bytes, *inode, offset);
  return start;
}

int sync_mapping(void* start, std::size_t bytes, int flags) {
  const auto call = [&] { return static_cast<int>(::syscall(SYS_msync, start, bytes, flags)); };
  if (!disk().on() || (flags & MS_SYNC) == 0) return call();
  const auto begin = reinterpret_cast<std::uintptr_t>(start);
  std::vector<Mapping> covered;
  {
    const Turn turn(disk());
    for (const Mapping& one : mappings())
      if (one.begin < begin + bytes && begin < one.end) covered.push_back(one);
  }
  if (covered.empty()) return call();
  if (covered.size() > 1) refuse("msync of several mappings at once");
  const Mapping& one = covered.front();
  const std::uintptr_t from = std::max(one.begin, begin);
  const std::uintptr_t to = std::min(one.end, begin + bytes);
  return sync_recorded(DiskEventKind::sync, one.inode, "", one.offset + (from - one.begin),
                       to - from, call);
}

// -- names ----------------------------------------------------------------------------------------

std::uint64_t inode_of(int at, const char* path) {
  struct stat facts {};
  return ::fstatat(at, path, &facts, AT_SYMLINK_NOFOLLOW) == 0 ? facts.st_ino : 0;
}

int link_recorded(int from_at, const char* from, int to_at, const char* to, int flags) {
  const auto call = [&] {
    return static_cast<int>(::syscall(SYS_linkat, from_at, from, to_at, to, flags));
  };
  if (!disk().on()) return call();
  const Turn turn(disk());
  const auto name = disk().name_of(to_at, to);
  if (!name) return call();
  disk().compare_mappings();
  const int done = call();
  if (done == 0) disk().record(DiskEventKind::link, inode_of(to_at, to), *name);
  return done;
}

int rename_recorded(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  const auto call = [&] {
    return static_cast<int>(::syscall(SYS_renameat2, from_at, from, to_at, to, flags));
  };
  if (!disk().on()) return call();
  const Turn turn(disk());
  const auto old_name = disk().name_of(from_at, from);
  const auto new_name = disk().name_of(to_at, to);
  if (!old_name && !new_name) return call();
  if (!old_name) refuse("a file that is moved in");
  if ((flags & RENAME_EXCHANGE) != 0) refuse("RENAME_EXCHANGE");
  disk().compare_mappings();
  const int done = call();
  if (done != 0) return done;
  if (new_name)
    disk().record(DiskEventKind::rename, inode_of(to_at, to), *old_name + '\0' + *new_name);
  else
    disk().record(DiskEventKind::unlink, 0, *old_name);
  return done;
}

int unlink_recorded(int at, const char* path, int flags) {
  const auto call = [&] { return static_cast<int>(::syscall(SYS_unlinkat, at, path, flags)); };
  if (!disk().on() || (flags & AT_REMOVEDIR) != 0) return call();
  const Turn turn(disk());
  const auto name = disk().name_of(at, path);
  if (!name) return call();
  disk().compare_mappings();
  const int done = call();
  if (done == 0) disk().record(DiskEventKind::unlink, 0, *name);
  return done;
}

void expect_not_ours(int file, const char* what) {
  if (!disk().on()) return;
  const Turn turn(disk());
  if (disk().file_of(file)) refuse(what);
}

struct AtTheEnd {
  ~AtTheEnd() {
    if (!disk().on()) return;
    const Turn turn(disk());
    disk().compare_mappings();
  }
} at_the_end;

}  // namespace

extern "C" {

void record_disk_mark(const char* text, std::size_t bytes) { mark({text, bytes}); }

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_recorded(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_recorded(AT_FDCWD, path, flags, mode);
}
int openat(int at, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_recorded(at, path, flags, mode);
}
int openat64(int at, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_recorded(at, path, flags, mode);
}
int creat(const char* path, mode_t mode) {
  return open_recorded(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}
FILE* fopen(const char* path, const char* how) {
  if (std::strpbrk(how, "wa+") != nullptr && disk().on() && disk().name_of(AT_FDCWD, path))
    refuse("fopen() to write");
  using Open = FILE* (*)(const char*, const char*);
  return reinterpret_cast<Open>(::dlsym(RTLD_NEXT, "fopen"))(path, how);
}
FILE* fopen64(const char* path, const char* how) { return fopen(path, how); }

ssize_t write(int file, const void* bytes, std::size_t count) {
  const iovec piece{const_cast<void*>(bytes), count};
  return write_recorded(file, &piece, 1, at_position, 0,
                        [&] { return ::syscall(SYS_write, file, bytes, count); });
}
ssize_t pwrite(int file, const void* bytes, std::size_t count, off_t offset) {
  const iovec piece{const_cast<void*>(bytes), count};
  return write_recorded(file, &piece, 1, offset, 0,
                        [&] { return ::syscall(SYS_pwrite64, file, bytes, count, offset); });
}
ssize_t pwrite64(int file, const void* bytes, std::size_t count, off_t offset) {
  return pwrite(file, bytes, count, offset);
}
ssize_t writev(int file, const iovec* pieces, int count) {
  return write_recorded(file, pieces, count, at_position, 0,
                        [&] { return ::syscall(SYS_writev, file, pieces, count); });
}
ssize_t pwritev(int file, const iovec* pieces, int count, off_t offset) {
  return write_vector(file, pieces, count, offset, 0);
}
ssize_t pwritev64(int file, const iovec* pieces, int count, off_t offset) {
  return write_vector(file, pieces, count, offset, 0);
}
ssize_t pwritev2(int file, const iovec* pieces, int count, off_t offset, int how) {
  return write_vector(file, pieces, count, offset, how);
}
ssize_t pwritev64v2(int file, const iovec* pieces, int count, off_t offset, int how) {
  return write_vector(file, pieces, count, offset, how);
}

int ftruncate(int file, off_t length) {
  return resize_recorded(file,
                         [&] { return static_cast<int>(::syscall(SYS_ftruncate, file, length)); });
}
int ftruncate64(int file, off_t length) { return ftruncate(file, length); }
int truncate(const char* path, off_t length) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return file;
  const int done = ftruncate(file, length);
  ::syscall(SYS_close, file);
  return done;
}
int truncate64(const char* path, off_t length) { return truncate(path, length); }
int fallocate(int file, int mode, off_t offset, off_t length) {
  return allocate(file, mode, offset, length);
}
int fallocate64(int file, int mode, off_t offset, off_t length) {
  return allocate(file, mode, offset, length);
}
int posix_fallocate(int file, off_t offset, off_t length) {
  const int kept = errno;
  const int failed = allocate(file, 0, offset, length) == 0 ? 0 : errno;
  errno = kept;
  return failed;
}
int posix_fallocate64(int file, off_t offset, off_t length) {
  return posix_fallocate(file, offset, length);
}

int fsync(int file) {
  return sync_file(file, [&] { return static_cast<int>(::syscall(SYS_fsync, file)); });
}
int fdatasync(int file) {
  return sync_file(file, [&] { return static_cast<int>(::syscall(SYS_fdatasync, file)); });
}
int msync(void* start, std::size_t bytes, int flags) { return sync_mapping(start, bytes, flags); }

void* mmap(void* wish, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  return map_recorded(wish, bytes, protection, flags, file, offset);
}
void* mmap64(void* wish, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  return map_recorded(wish, bytes, protection, flags, file, offset);
}
int munmap(void* start, std::size_t bytes) {
  const auto call = [&] { return static_cast<int>(::syscall(SYS_munmap, start, bytes)); };
  if (!disk().on()) return call();
  const Turn turn(disk());
  const auto begin = reinterpret_cast<std::uintptr_t>(start);
  cut_mappings(begin, begin + bytes);
  return call();
}
void* mremap(void* start, std::size_t bytes, std::size_t new_bytes, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  void* const wish = (flags & MREMAP_FIXED) != 0 ? va_arg(rest, void*) : nullptr;
  va_end(rest);
  const auto call = [&] {
    return reinterpret_cast<void*>(::syscall(SYS_mremap, start, bytes, new_bytes, flags, wish));
  };
  if (!disk().on()) return call();
  const Turn turn(disk());
  const auto begin = reinterpret_cast<std::uintptr_t>(start);
  const auto all = mappings();
  const auto moved =
      std::find_if(all.begin(), all.end(), [&](const Mapping& one) { return one.begin == begin; });
  void* const now = call();
  if (now == MAP_FAILED || moved == all.end()) return now;
  cut_mappings(begin, begin + bytes);
  note_mapping(now, new_bytes, moved->inode, static_cast<off_t>(moved->offset));
  return now;
}

int link(const char* from, const char* to) {
  return link_recorded(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int linkat(int from_at, const char* from, int to_at, const char* to, int flags) {
  return link_recorded(from_at, from, to_at, to, flags);
}
int rename(const char* from, const char* to) {
  return rename_recorded(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat(int from_at, const char* from, int to_at, const char* to) {
  return rename_recorded(from_at, from, to_at, to, 0);
}
int renameat2(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  return rename_recorded(from_at, from, to_at, to, flags);
}
int unlink(const char* path) { return unlink_recorded(AT_FDCWD, path, 0); }
int unlinkat(int at, const char* path, int flags) { return unlink_recorded(at, path, flags); }
int remove(const char* path) {
  const int done = unlink_recorded(AT_FDCWD, path, 0);
  if (done == 0 || errno != EISDIR) return done;
  return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR));
}

int mkostemp(char* pattern, int flags) {
  using Make = int (*)(char*, int);
  const int file = reinterpret_cast<Make>(::dlsym(RTLD_NEXT, "mkostemp"))(pattern, flags);
  if (file >= 0) expect_not_ours(file, "mkostemp()");
  return file;
}
ssize_t copy_file_range(int from, off_t* from_at, int to, off_t* to_at, std::size_t count,
                        unsigned flags) {
  expect_not_ours(to, "copy_file_range()");
  return ::syscall(SYS_copy_file_range, from, from_at, to, to_at, count, flags);
}
ssize_t sendfile(int to, int from, off_t* offset, std::size_t count) {
  expect_not_ours(to, "sendfile()");
  return ::syscall(SYS_sendfile, to, from, offset, count);
}

}  // extern "C"

// System calls that fail when they are told to, loaded before a program by LD_PRELOAD: what does it
// do when the disk is full, breaks, or a signal comes in between?
//
//    FAILING_CALL_AT=17     the 17th call of the program, from main() on
//    FAILING_CALL_HOW=2     fails in the third of the ways that this call can; nothing, if it has
//                           fewer. FAULT_REPORT (fault_report.hpp) tells how many it has.
//
// A call that can be shortened (read, write) also does less than it was asked for.
// Limits:  glibc. What libc calls by itself is not seen: the writes of stdio (fwrite and fclose of
//          standard output fail instead, as they do then), reads of a library that uses fread.
//          With several threads, which call is the 17th is chance.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <span>

#include "fault_report.hpp"

namespace {

using namespace bloomery::faults;

// Besides errors: does a part of what it was asked for.
constexpr int shortened = -1;

// Every call that can be resumed after a signal is interrupted by one.
constexpr int opening[] = {EIO, EMFILE, ENOMEM, EINTR};
constexpr int making[] = {EIO, EMFILE, ENOSPC, EINTR};
constexpr int reading[] = {EIO, EINTR, shortened};
constexpr int writing[] = {EIO, ENOSPC, EINTR, shortened};
constexpr int syncing[] = {EIO, ENOSPC, EINTR};
constexpr int mapping[] = {ENOMEM};
constexpr int lengthening[] = {EIO, ENOSPC, EINTR};
constexpr int naming[] = {EIO, ENOSPC, ENOMEM};
constexpr int unnaming[] = {EIO};
constexpr int looking[] = {EIO, ENOMEM};
constexpr int locking[] = {ENOLCK, EINTR};
constexpr int copying[] = {EMFILE};
constexpr int seeking[] = {EIO};
constexpr int closing[] = {EIO, EINTR};
constexpr int changing[] = {EIO, EPERM};
constexpr int drawing[] = {ENOSYS, EINTR};
constexpr int starting[] = {EAGAIN};
constexpr int polling[] = {ENOMEM, EINTR};

const char* name_of(int fault) { return fault == shortened ? "short" : strerrorname_np(fault); }

// 0: the call is carried out.
int fault(const char* call, std::span<const int> ways) {
  static std::atomic<unsigned long> calls{0};
  if (!main_has_begun || ++calls != wanted.at || wanted.how >= ways.size()) return 0;
  report_fault(call, name_of(ways[wanted.how]), ways.size());
  return ways[wanted.how];
}

struct Told {
  Told() { wanted = {told("FAILING_CALL_AT"), told("FAILING_CALL_HOW"), 0}; }
} told_at_the_start;

int failing(int number) {
  errno = number;
  return -1;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// A call without more: fails, or is carried out.
template <class Function, class... Words>
auto plainly(const char* name, std::span<const int> ways, Words... words) {
  static Function* const real = next<Function>(name);
  using Answer = decltype(real(words...));
  if (const int number = fault(name, ways)) return static_cast<Answer>(failing(number));
  return real(words...);
}

ssize_t fail_or_shorten(int how, std::size_t count, auto call) {
  if (how == 0) return call(count);
  if (how != shortened) return failing(how);
  return call(count > 1 ? count / 2 : count);
}

mode_t mode_of(int flags, va_list rest) {
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return makes ? va_arg(rest, mode_t) : 0;
}

std::span<const int> ways_to_open(int flags) {
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return makes ? std::span<const int>(making) : std::span<const int>(opening);
}

int open_at(const char* name, int at, const char* path, int flags, mode_t mode) {
  static const auto real = next<int(int, const char*, int, ...)>("openat");
  if (const int number = fault(name, ways_to_open(flags))) return failing(number);
  return real(at, path, flags, mode);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_at("open", AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_at("open", AT_FDCWD, path, flags, mode);
}
int openat(int at, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_at("openat", at, path, flags, mode);
}
int openat64(int at, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_at("openat", at, path, flags, mode);
}
FILE* fopen(const char* path, const char* how) {
  static const auto real = next<FILE*(const char*, const char*)>("fopen");
  // Not EINTR: who opens a regular file is not interrupted.
  if (const int number = fault("fopen", std::span(opening).first(3))) {
    errno = number;
    return nullptr;
  }
  return real(path, how);
}
FILE* fopen64(const char* path, const char* how) { return fopen(path, how); }

ssize_t read(int file, void* into, std::size_t count) {
  static const auto real = next<ssize_t(int, void*, std::size_t)>("read");
  return fail_or_shorten(fault("read", reading), count,
                         [&](std::size_t less) { return real(file, into, less); });
}
ssize_t pread(int file, void* into, std::size_t count, off_t offset) {
  static const auto real = next<ssize_t(int, void*, std::size_t, off_t)>("pread");
  return fail_or_shorten(fault("pread", reading), count,
                         [&](std::size_t less) { return real(file, into, less, offset); });
}
ssize_t pread64(int file, void* into, std::size_t count, off_t offset) {
  return pread(file, into, count, offset);
}
ssize_t readv(int file, const iovec* pieces, int count) {
  return plainly<ssize_t(int, const iovec*, int)>("readv", unnaming, file, pieces, count);
}
ssize_t write(int file, const void* from, std::size_t count) {
  static const auto real = next<ssize_t(int, const void*, std::size_t)>("write");
  return fail_or_shorten(fault("write", writing), count,
                         [&](std::size_t less) { return real(file, from, less); });
}
ssize_t pwrite(int file, const void* from, std::size_t count, off_t offset) {
  static const auto real = next<ssize_t(int, const void*, std::size_t, off_t)>("pwrite");
  return fail_or_shorten(fault("pwrite", writing), count,
                         [&](std::size_t less) { return real(file, from, less, offset); });
}
ssize_t pwrite64(int file, const void* from, std::size_t count, off_t offset) {
  return pwrite(file, from, count, offset);
}
ssize_t writev(int file, const iovec* pieces, int count) {
  static const auto real = next<ssize_t(int, const iovec*, int)>("writev");
  const int how = fault("writev", writing);
  if (how == shortened) return real(file, pieces, std::max(1, count / 2));
  return how != 0 ? failing(how) : real(file, pieces, count);
}
ssize_t pwritev2(int file, const iovec* pieces, int count, off_t offset, int flags) {
  static const auto real = next<ssize_t(int, const iovec*, int, off_t, int)>("pwritev2");
  const int how = fault("pwritev2", writing);
  if (how == shortened) return real(file, pieces, std::max(1, count / 2), offset, flags);
  return how != 0 ? failing(how) : real(file, pieces, count, offset, flags);
}
ssize_t pwritev(int file, const iovec* pieces, int count, off_t offset) {
  return pwritev2(file, pieces, count, offset, 0);
}

int fsync(int file) { return plainly<int(int)>("fsync", syncing, file); }
int fdatasync(int file) { return plainly<int(int)>("fdatasync", syncing, file); }
int msync(void* start, std::size_t bytes, int flags) {
  return plainly<int(void*, std::size_t, int)>("msync", syncing, start, bytes, flags);
}
int sync_file_range(int file, off64_t offset, off64_t bytes, unsigned flags) {
  return plainly<int(int, off64_t, off64_t, unsigned)>("sync_file_range", syncing, file, offset,
                                                       bytes, flags);
}

void* mmap(void* wish, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  static const auto real = next<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
  if (const int number = fault("mmap", mapping)) {
    errno = number;
    return MAP_FAILED;
  }
  return real(wish, bytes, protection, flags, file, offset);
}
void* mmap64(void* wish, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  return mmap(wish, bytes, protection, flags, file, offset);
}
void* mremap(void* start, std::size_t bytes, std::size_t new_bytes, int flags, ...) {
  static const auto real = next<void*(void*, std::size_t, std::size_t, int, ...)>("mremap");
  va_list rest;
  va_start(rest, flags);
  void* const wish = (flags & MREMAP_FIXED) != 0 ? va_arg(rest, void*) : nullptr;
  va_end(rest);
  if (const int number = fault("mremap", mapping)) {
    errno = number;
    return MAP_FAILED;
  }
  return real(start, bytes, new_bytes, flags, wish);
}
int madvise(void* start, std::size_t bytes, int advice) {
  return plainly<int(void*, std::size_t, int)>("madvise", mapping, start, bytes, advice);
}
int mprotect(void* start, std::size_t bytes, int protection) {
  return plainly<int(void*, std::size_t, int)>("mprotect", mapping, start, bytes, protection);
}

int ftruncate(int file, off_t length) {
  return plainly<int(int, off_t)>("ftruncate", lengthening, file, length);
}
int ftruncate64(int file, off_t length) { return ftruncate(file, length); }
int fallocate(int file, int mode, off_t offset, off_t length) {
  return plainly<int(int, int, off_t, off_t)>("fallocate", lengthening, file, mode, offset, length);
}
int posix_fallocate(int file, off_t offset, off_t length) {
  static const auto real = next<int(int, off_t, off_t)>("posix_fallocate");
  if (const int number = fault("posix_fallocate", lengthening)) return number;
  return real(file, offset, length);
}
int posix_fallocate64(int file, off_t offset, off_t length) {
  return posix_fallocate(file, offset, length);
}
int posix_fadvise(int file, off_t offset, off_t length, int advice) {
  static const auto real = next<int(int, off_t, off_t, int)>("posix_fadvise");
  if (const int number = fault("posix_fadvise", seeking)) return number;
  return real(file, offset, length, advice);
}

int rename(const char* from, const char* to) {
  return plainly<int(const char*, const char*)>("rename", naming, from, to);
}
int renameat(int from_at, const char* from, int to_at, const char* to) {
  return plainly<int(int, const char*, int, const char*)>("renameat", naming, from_at, from, to_at,
                                                          to);
}
int renameat2(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  return plainly<int(int, const char*, int, const char*, unsigned)>("renameat2", naming, from_at,
                                                                    from, to_at, to, flags);
}
int link(const char* from, const char* to) {
  return plainly<int(const char*, const char*)>("link", naming, from, to);
}
int linkat(int from_at, const char* from, int to_at, const char* to, int flags) {
  return plainly<int(int, const char*, int, const char*, int)>("linkat", naming, from_at, from,
                                                               to_at, to, flags);
}
int unlink(const char* path) { return plainly<int(const char*)>("unlink", unnaming, path); }
int unlinkat(int at, const char* path, int flags) {
  return plainly<int(int, const char*, int)>("unlinkat", unnaming, at, path, flags);
}
int remove(const char* path) { return plainly<int(const char*)>("remove", unnaming, path); }
int mkostemp(char* pattern, int flags) {
  return plainly<int(char*, int)>("mkostemp", making, pattern, flags);
}

using Facts = struct stat;
int stat(const char* path, Facts* facts) {
  return plainly<int(const char*, Facts*)>("stat", looking, path, facts);
}
int lstat(const char* path, Facts* facts) {
  return plainly<int(const char*, Facts*)>("lstat", looking, path, facts);
}
int fstat(int file, Facts* facts) {
  return plainly<int(int, Facts*)>("fstat", looking, file, facts);
}
int fstatat(int at, const char* path, Facts* facts, int flags) {
  return plainly<int(int, const char*, Facts*, int)>("fstatat", looking, at, path, facts, flags);
}
int stat64(const char* path, struct stat64* facts) {
  return plainly<int(const char*, struct stat64*)>("stat64", looking, path, facts);
}
int lstat64(const char* path, struct stat64* facts) {
  return plainly<int(const char*, struct stat64*)>("lstat64", looking, path, facts);
}
int fstat64(int file, struct stat64* facts) {
  return plainly<int(int, struct stat64*)>("fstat64", looking, file, facts);
}
int fstatat64(int at, const char* path, struct stat64* facts, int flags) {
  return plainly<int(int, const char*, struct stat64*, int)>("fstatat64", looking, at, path, facts,
                                                             flags);
}
int statx(int at, const char* path, int flags, unsigned mask, struct statx* facts) {
  return plainly<int(int, const char*, int, unsigned, struct statx*)>("statx", looking, at, path,
                                                                      flags, mask, facts);
}
int access(const char* path, int mode) {
  return plainly<int(const char*, int)>("access", looking, path, mode);
}
int faccessat(int at, const char* path, int mode, int flags) {
  return plainly<int(int, const char*, int, int)>("faccessat", looking, at, path, mode, flags);
}
ssize_t readlink(const char* path, char* into, std::size_t bytes) {
  return plainly<ssize_t(const char*, char*, std::size_t)>("readlink", looking, path, into, bytes);
}
char* realpath(const char* path, char* into) {
  static const auto real = next<char*(const char*, char*)>("realpath");
  if (const int number = fault("realpath", looking)) {
    errno = number;
    return nullptr;
  }
  return real(path, into);
}
off_t lseek(int file, off_t offset, int whence) {
  return plainly<off_t(int, off_t, int)>("lseek", seeking, file, offset, whence);
}
off64_t lseek64(int file, off64_t offset, int whence) { return lseek(file, offset, whence); }

int flock(int file, int operation) {
  return plainly<int(int, int)>("flock", locking, file, operation);
}
int fcntl(int file, int command, ...) {
  static const auto real = next<int(int, int, ...)>("fcntl");
  va_list rest;
  va_start(rest, command);
  void* const more = va_arg(rest, void*);
  va_end(rest);
  int number = 0;
  if (command == F_DUPFD_CLOEXEC || command == F_DUPFD) number = fault("fcntl(dup)", copying);
  if (command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_SETLK ||
      command == F_SETLKW)
    number = fault("fcntl(lock)", locking);
  return number != 0 ? failing(number) : real(file, command, more);
}
int fcntl64(int file, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* const more = va_arg(rest, void*);
  va_end(rest);
  return fcntl(file, command, more);
}

int fchmod(int file, mode_t mode) {
  return plainly<int(int, mode_t)>("fchmod", changing, file, mode);
}
int fchown(int file, uid_t user, gid_t group) {
  return plainly<int(int, uid_t, gid_t)>("fchown", changing, file, user, group);
}
ssize_t getxattr(const char* path, const char* name, void* value, std::size_t bytes) {
  return plainly<ssize_t(const char*, const char*, void*, std::size_t)>("getxattr", changing, path,
                                                                        name, value, bytes);
}
ssize_t listxattr(const char* path, char* names, std::size_t bytes) {
  return plainly<ssize_t(const char*, char*, std::size_t)>("listxattr", changing, path, names,
                                                           bytes);
}
int fsetxattr(int file, const char* name, const void* value, std::size_t bytes, int flags) {
  return plainly<int(int, const char*, const void*, std::size_t, int)>("fsetxattr", changing, file,
                                                                       name, value, bytes, flags);
}
int fremovexattr(int file, const char* name) {
  return plainly<int(int, const char*)>("fremovexattr", changing, file, name);
}

// The descriptor is gone all the same.
int close(int file) {
  static const auto real = next<int(int)>("close");
  const int number = fault("close", closing);
  const int done = real(file);
  return number != 0 ? failing(number) : done;
}
// What a failed write of standard output looks like from outside.
std::size_t fwrite(const void* from, std::size_t bytes, std::size_t count, FILE* stream) {
  static const auto real =
      next<std::size_t(const void*, std::size_t, std::size_t, FILE*)>("fwrite");
  constexpr int has_failed = 0x20;  // _IO_ERR_SEEN
  const int number = stream == stderr ? 0 : fault("fwrite", unnaming);
  if (number == 0) return real(from, bytes, count, stream);
  stream->_flags |= has_failed;
  errno = number;
  return 0;
}
int fclose(FILE* stream) {
  static const auto real = next<int(FILE*)>("fclose");
  const int number = fault("fclose", unnaming);
  const int done = real(stream);
  return number != 0 ? failing(number) : done;
}

int poll(pollfd* all, nfds_t count, int milliseconds) {
  return plainly<int(pollfd*, nfds_t, int)>("poll", polling, all, count, milliseconds);
}
ssize_t getrandom(void* into, std::size_t bytes, unsigned flags) {
  return plainly<ssize_t(void*, std::size_t, unsigned)>("getrandom", drawing, into, bytes, flags);
}
int pthread_create(pthread_t* made, const pthread_attr_t* how, void* (*run)(void*), void* with) {
  static const auto real =
      next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  if (const int number = fault("pthread_create", starting)) return number;
  return real(made, how, run, with);
}

}  // extern "C"

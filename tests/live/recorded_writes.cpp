// A program that writes in every way that record_disk.so knows, in the directory it is told. What
// is recorded of it is compared with what it leaves, by record_disk_test.cpp.
//
//    recorded_writes D          all of it
//    recorded_writes D store    stores to a mapping of "shared", and waits until it is killed
//    recorded_writes D sync     syncs "shared", without mapping it
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "record_disk.hpp"

namespace {

void expect(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::exit(1);
}

void plain_writes() {
  const int file = ::open("plain", O_RDWR | O_CREAT | O_TRUNC, 0600);
  const iovec pieces[] = {{const_cast<char*>("two"), 3}, {const_cast<char*>("pieces"), 6}};
  expect(::write(file, "begin", 5) == 5, "write");
  expect(::writev(file, pieces, 2) == 9, "writev");
  expect(::pwrite(file, "far", 3, 5000) == 3, "pwrite");
  expect(::pwritev(file, pieces, 2, 100) == 9, "pwritev");
  expect(::ftruncate(file, 6000) == 0, "ftruncate");
  expect(::fdatasync(file) == 0, "fdatasync");
  expect(::pwritev2(file, pieces, 2, 200, RWF_DSYNC) == 9, "pwritev2");
  expect(::posix_fallocate(file, 0, 9000) == 0, "posix_fallocate");
  const int appending = ::open("plain", O_WRONLY | O_APPEND | O_DSYNC);
  expect(::write(appending, "end", 3) == 3, "append");
  ::close(appending);
  ::close(file);
}

void nameless() {
  const int file = ::open(".", O_RDWR | O_TMPFILE, 0600);
  expect(::pwrite(file, "no name yet", 11, 0) == 11, "pwrite");
  expect(::fsync(file) == 0, "fsync");
  const std::string own = "/proc/self/fd/" + std::to_string(file);
  expect(::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, "temporary", AT_SYMLINK_FOLLOW) == 0, "linkat");
  expect(::rename("temporary", "named") == 0, "rename");
  ::close(file);
  expect(::link("named", "gone") == 0 && ::unlink("gone") == 0, "unlink");
  const int directory = ::open(".", O_RDONLY | O_DIRECTORY);
  expect(::fsync(directory) == 0, "fsync of the directory");
  ::close(directory);
}

void mapped() {
  constexpr std::size_t bytes = 64 << 10;
  const int file = ::open("mapped", O_RDWR | O_CREAT, 0600);
  expect(::ftruncate(file, bytes) == 0, "ftruncate");
  void* const start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  expect(start != MAP_FAILED, "mmap");
  char* const at = static_cast<char*>(start);
  at[10] = 'a';
  at[20'000] = 'b';
  bloomery::cuts::mark_disk("stored two");
  expect(::msync(at + 4096 * 4, 4096, MS_SYNC) == 0, "msync");
  // Through a call, seen through the mapping.
  expect(::pwrite(file, "call", 4, 30'000) == 4 && at[30'000] == 'c', "pwrite");
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([&, i] {
      for (std::size_t j = 0; j < 100; ++j) {
        at[40'000 + 100 * j + static_cast<std::size_t>(i)] = 'x';
        if (j % 10 == 0) bloomery::cuts::mark_disk("thread");
      }
    });
  for (auto& one : all) one.join();
  ::close(file);
  at[50'000] = 'z';
  ::munmap(start, bytes);
}

int store() {
  const int file = ::open("shared", O_RDWR);
  void* const start = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  expect(start != MAP_FAILED, "mmap");
  static_cast<volatile char*>(start)[7] = 's';
  for (;;) ::pause();
}

int sync_shared() {
  const int file = ::open("shared", O_RDWR);
  expect(::fdatasync(file) == 0, "fdatasync");
  expect(::write(STDOUT_FILENO, "synced", 6) == 6, "write to standard output");
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2 || ::chdir(words[1]) != 0) return 2;
  if (count == 3) return std::strcmp(words[2], "store") == 0 ? store() : sync_shared();
  plain_writes();
  nameless();
  mapped();
  expect(::write(STDOUT_FILENO, "all done\n", 9) == 9, "write to standard output");
  const int last = ::open("existed", O_WRONLY | O_TRUNC);
  expect(::write(last, "new", 3) == 3, "write");
  return 0;
}

// A malloc that fails when it is told to, loaded before a program by LD_PRELOAD: what does it do
// when the system gives no memory?
//
//    FAILING_MALLOC_AT=17      the 17th call of the process fails
//    FAILING_MALLOC_EVERY=1    and all that follow
//    FAILING_MALLOC_COUNT=F    the number of calls goes to the file F at the end
//    FAULT_REPORT=198          the first that fails is told, see fault_report.hpp
//    FAULT_SERVER=197          many runs of one process, see there
//
// Counted from main() on.
// Limits:  glibc. Memory that is mapped (mmap) is not counted. With several threads, which call is
//          the 17th is chance.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "fault_report.hpp"

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}

namespace {

using namespace bloomery::faults;

std::atomic<unsigned long> calls{0};

bool fails() {
  if (!main_has_begun) return false;
  const unsigned long call = ++calls;
  if (wanted.at == 0 || call < wanted.at || (call > wanted.at && wanted.every == 0)) return false;
  if (call == wanted.at) report_fault("malloc", "ENOMEM", 1);
  errno = ENOMEM;
  return true;
}

struct Told {
  Told() { wanted = {told("FAILING_MALLOC_AT"), 0, told("FAILING_MALLOC_EVERY")}; }
} told_at_the_start;

struct Count {
  ~Count() {
    const char* const path = getenv("FAILING_MALLOC_COUNT");
    if (path == nullptr) return;
    char text[32];
    const int length = std::snprintf(text, sizeof text, "%lu", calls.load());
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (write(file, text, static_cast<std::size_t>(length)) != length) _exit(99);
    close(file);
  }
} count;

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) { return fails() ? nullptr : __libc_malloc(bytes); }
void* calloc(std::size_t count, std::size_t bytes) {
  return fails() ? nullptr : __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  return fails() ? nullptr : __libc_realloc(memory, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  return fails() ? nullptr : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  void* const made = memalign(alignment, bytes);
  if (made == nullptr) return ENOMEM;
  *memory = made;
  return 0;
}

}  // extern "C"

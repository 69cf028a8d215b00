// A malloc that fails when it is told to, loaded before a program by LD_PRELOAD: what does it do
// when the system gives no memory?
//
//    FAILING_MALLOC_AT=17      the 17th call of the process fails
//    FAILING_MALLOC_EVERY=1    and all that follow
//    FAILING_MALLOC_COUNT=F    the number of calls goes to the file F at the end
//
// Limits:  glibc. Memory that is mapped (mmap) is not counted. With several threads, which call is
//          the 17th is chance.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}

namespace {

std::atomic<unsigned long> calls{0};

unsigned long told(const char* name) {
  const char* const text = getenv(name);
  return text == nullptr ? 0 : std::strtoul(text, nullptr, 10);
}

bool fails() {
  static const unsigned long at = told("FAILING_MALLOC_AT");
  static const bool every = told("FAILING_MALLOC_EVERY") != 0;
  const unsigned long call = ++calls;
  if (at == 0 || call < at || (call > at && !every)) return false;
  errno = ENOMEM;
  return true;
}

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

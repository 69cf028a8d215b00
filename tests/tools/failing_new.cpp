// An operator new that fails while a file is there, loaded before a program by LD_PRELOAD: what do
// its C++ parts do when there is no memory, while its C parts have some?
//
//    FAILING_NEW=F     while the file F exists, all calls fail
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <new>

void* operator new(std::size_t bytes) {
  static const char* const file = std::getenv("FAILING_NEW");
  if (file != nullptr && access(file, F_OK) == 0) throw std::bad_alloc();
  if (void* const made = std::malloc(bytes)) return made;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void operator delete(void* made) noexcept { std::free(made); }
void operator delete(void* made, std::size_t) noexcept { std::free(made); }
void operator delete[](void* made) noexcept { std::free(made); }
void operator delete[](void* made, std::size_t) noexcept { std::free(made); }

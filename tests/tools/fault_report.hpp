// What the shims that make calls fail have in common: which call fails, counted from main() on, and
// what is told of it.
//
//    FAULT_REPORT=198    a line for each fault, "CALL FAULT FAULTS_OF_THIS_CALL\n", goes to this
//                        descriptor: "write ENOSPC 4"
//    FAULT_SERVER=197    main() is run again and again, each time in a child that fails in another
//                        place: a FaultRequest comes from this socket, the child's number and, when
//                        it has ended, its status go back. Saves the loading of the program.
//
// Limits:  what constructors of libraries do before main() is not counted: nobody could catch it.
#pragma once

#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace bloomery::faults {

inline std::atomic<bool> main_has_begun{false};

inline unsigned long told(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : std::strtoul(text, nullptr, 10);
}

inline void report_fault(const char* call, const char* fault, std::size_t faults) {
  static const auto to = static_cast<int>(told("FAULT_REPORT"));
  if (to == 0) return;
  char line[96];
  const int length = std::snprintf(line, sizeof line, "%s %s %zu\n", call, fault, faults);
  // Past libc: the call may be the one that is made to fail.
  ::syscall(SYS_write, to, line, length);
}

struct FaultRequest {
  unsigned long at = 0;     // the number of the call that fails; 0: none
  unsigned long how = 0;    // in which of its ways
  unsigned long every = 0;  // not 0: all that follow fail too
};
inline FaultRequest wanted;

using Main = int (*)(int, char**, char**);
inline Main real_main = nullptr;

// Returns in a child, which runs main().
inline void serve(int requests) {
  while (::syscall(SYS_read, requests, &wanted, sizeof wanted) == sizeof wanted) {
    const int child = ::fork();
    if (child == 0) return;
    int status = 0;
    ::syscall(SYS_write, requests, &child, sizeof child);
    ::waitpid(child, &status, 0);
    ::syscall(SYS_write, requests, &status, sizeof status);
  }
  ::_exit(0);
}

inline int counted_main(int count, char** words, char** environment) {
  if (const auto requests = static_cast<int>(told("FAULT_SERVER")); requests != 0) {
    serve(requests);
    ::syscall(SYS_close, requests);
  }
  main_has_begun = true;
  return real_main(count, words, environment);
}

}  // namespace bloomery::faults

// glibc calls main() through this. It is here once per shim.
extern "C" inline __attribute__((used, visibility("default"))) int __libc_start_main(
    bloomery::faults::Main main, int count, char** words, void (*init)(), void (*fini)(),
    void (*rtld_fini)(), void* stack_end) {
  using Start =
      int (*)(bloomery::faults::Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  bloomery::faults::real_main = main;
  const auto start = reinterpret_cast<Start>(::dlsym(RTLD_NEXT, "__libc_start_main"));
  return start(bloomery::faults::counted_main, count, words, init, fini, rtld_fini, stack_end);
}

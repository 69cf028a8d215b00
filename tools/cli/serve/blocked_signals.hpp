// While it lives, the signals that end a program wait: for the thread that reads them from
// descriptor(), or for those threads that were started before. Threads that are started meanwhile
// never get them.
//
// What was ignored before (nohup) stays so.
#pragma once

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include <bloomery/file.hpp>
#include <tools/inside.hpp>

namespace bloomery::cli {

class BlockedSignals {
 public:
  BlockedSignals() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  // Can be read when one of them waits.
  Descriptor descriptor() const {
    return Descriptor(::signalfd(-1, &signals_, SFD_NONBLOCK | SFD_CLOEXEC));
  }
  // Those that have come so far: they would else be obeyed when this ends.
  void take(const Descriptor& descriptor) const {
    signalfd_siginfo one;
    while (::read(descriptor.number(), &one, sizeof one) == sizeof one) {
    }
  }

 private:
  sigset_t signals_;
  sigset_t before_;
};

}  // namespace bloomery::cli

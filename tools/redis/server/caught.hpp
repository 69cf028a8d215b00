// What the server calls, with a catch around it: nothing may be thrown through the server, which is
// written in C. Memory that runs out becomes a sentence.
//
//    CommandEntry{"bf.add", caught_command<bf_add>, ...}     replies with the error
//    methods.rdb_load = caught_load<native_load>;            tells the log, loads nothing
//    methods.rdb_save = caught_save<save_native<Body>>;      tells the log, ends the process
//
// Limits:  a command that has begun to reply with an array must not throw any more: its reply would
//          lack elements. So commands get their memory first.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include <tools/redis/server/api.hpp>

namespace bloomery::redis {

// The sentence of what was thrown, without taking memory for it. Inside a catch block only.
struct Thrown {
  char sentence[200] = "not enough memory";

  Thrown() noexcept {
    try {
      throw;
    } catch (const std::bad_alloc&) {
    } catch (const std::exception& thrown) {
      std::snprintf(sentence, sizeof sentence, "%s", thrown.what());
    } catch (...) {
      std::snprintf(sentence, sizeof sentence, "unknown exception");
    }
  }
};

// A command that throws nothing; CommandEntry takes no other.
struct CaughtCommand {
  CommandFunction run;
};

template <CommandFunction run>
inline constexpr CaughtCommand caught_command{[](Ctx* ctx, Str** argv, int argc) noexcept -> int {
  try {
    return run(ctx, argv, argc);
  } catch (...) {
    char reply[sizeof(Thrown::sentence) + 4];
    std::snprintf(reply, sizeof reply, "ERR %s", Thrown().sentence);
    return api.reply_with_error(ctx, reply);
  }
}};

template <void* (*load)(IO*, int)>
void* caught_load(IO* io, int encoding) noexcept {
  try {
    return load(io, encoding);
  } catch (...) {
    api.log_io_error(io, "warning", "a filter was not loaded: %s", Thrown().sentence);
    return nullptr;
  }
}

// The server cannot be told that saving has failed, and a file that cannot be loaded is worse.
[[noreturn]] inline void end_saving(IO* io) noexcept {
  api.log_io_error(io, "warning", "a filter cannot be saved: %s", Thrown().sentence);
  std::abort();
}

template <void (*save)(IO*, void*)>
void caught_save(IO* io, void* value) noexcept {
  try {
    save(io, value);
  } catch (...) {
    end_saving(io);
  }
}

template <void (*rewrite)(IO*, Str*, void*)>
void caught_rewrite(IO* io, Str* key, void* value) noexcept {
  try {
    rewrite(io, key, value);
  } catch (...) {
    end_saving(io);
  }
}

// Of calls where a value says that nothing came of it.
template <class Call, class Value>
Value caught_or(Value otherwise, Call&& call) noexcept {
  try {
    return call();
  } catch (...) {
    api.log(nullptr, "warning", "bloomery: %s", Thrown().sentence);
    return otherwise;
  }
}

}  // namespace bloomery::redis

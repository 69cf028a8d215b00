// For programs that run under record_disk.so: an acknowledgement, in the trace.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <string_view>

namespace bloomery::cuts {

// Writes a mark into the trace, in order with all that was written and synced. Without the recorder
// it does nothing.
inline void mark_disk(std::string_view text) {
  using Mark = void (*)(const char*, std::size_t);
  static const auto mark = reinterpret_cast<Mark>(::dlsym(RTLD_DEFAULT, "record_disk_mark"));
  if (mark != nullptr) mark(text.data(), text.size());
}

}  // namespace bloomery::cuts

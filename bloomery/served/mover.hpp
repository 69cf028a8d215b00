// Active defragmentation: the host moves blocks that it has lent to places where they lie closer.
//
//    the host --> Mover --> body.move_parts(mover, from) --> mover.object / mover.bytes
//
// The host copies a block, gives the old one back and returns the new place, or nullptr when the
// block stays. So only blocks may be moved that nobody else points to, and objects that hold no
// pointer into themselves.
// Threads: nobody uses the body meanwhile.
#pragma once

#include <memory>

#include <bloomery/served/host_bytes.hpp>

namespace bloomery::inline v0::detail::served {

struct Mover {
  void* host;                               // handed to the functions
  void* (*moved)(void* host, void* block);  // the new place, or nullptr
  bool (*should_stop)(void* host);          // its time is over

  template <class T>
  void object(std::unique_ptr<T>& owned) const {
    if (owned == nullptr) return;
    if (void* const place = moved(host, owned.get())) {
      static_cast<void>(owned.release());
      owned.reset(static_cast<T*>(place));
    }
  }
  void bytes(HostBytes& bytes) const {
    bytes.relocate([this](void* block) { return moved(host, block); });
  }
};

}  // namespace bloomery::inline v0::detail::served

// Active defragmentation: the server moves blocks that it has lent to places where they lie closer.
//
//    type method `defrag` --> Mover --> body.move_parts(mover, from) --> mover.object / mover.bytes
//
// The server copies a block, gives the old one back and tells the new place, or null when the block
// stays. So only blocks may be moved that nobody else points to, and objects that hold no pointer
// into themselves.
// Threads: none but the server's main thread, and no command runs meanwhile.
#pragma once

#include <memory>

#include <tools/redis/server_bytes.hpp>

namespace bloomery::redis {

struct Mover {
  void* server;                               // handed to the functions
  void* (*moved)(void* server, void* block);  // the new place, or null
  bool (*should_stop)(void* server);          // its time is over

  template <class T>
  void object(std::unique_ptr<T>& owned) const {
    if (owned == nullptr) return;
    if (void* const place = moved(server, owned.get())) {
      static_cast<void>(owned.release());
      owned.reset(static_cast<T*>(place));
    }
  }
  void bytes(ServerBytes& bytes) const {
    bytes.relocate([this](void* block) { return moved(server, block); });
  }
};

}  // namespace bloomery::redis

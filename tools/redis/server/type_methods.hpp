// The methods of a data type that both command families have alike, whatever the engine.
//
//    native types:  the pieces of the filter one after the other, then an empty one
//
// Body is BloomBody or CuckooBody; what the server hands back as void* was made from one.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include <bloomery/served/mover.hpp>
#include <tools/redis/server/api.hpp>
#include <tools/redis/server/pieces.hpp>
#include <tools/redis/server/saved_io.hpp>
#include <tools/redis/server/settings.hpp>

namespace bloomery::redis {

template <class Body>
const Body& body_of(const void* value) {
  return *static_cast<const Body*>(value);
}

// Moves the body, then its parts. A small value is done at once; a large one, whose freeing is left
// to a thread (effort_to_free), in several calls with a cursor between them. 1: there is more.
template <class Body>
int defrag(DefragCtx* ctx, Str*, void** value) {
  unsigned long from = 0;
  if (api.defrag_cursor_get(ctx, &from) != ok) from = 0;
  if (from == 0) {
    if (void* const place = api.defrag_alloc(ctx, *value)) *value = place;
  }
  static constexpr auto moved = [](void* own, void* block) {
    return api.defrag_alloc(static_cast<DefragCtx*>(own), block);
  };
  static constexpr auto should_stop = [](void* own) {
    return api.defrag_should_stop(static_cast<DefragCtx*>(own)) != 0;
  };
  const Mover mover{ctx, moved, should_stop};
  const std::uint64_t next = static_cast<Body*>(*value)->move_parts(mover, from);
  if (next == 0) return 0;
  api.defrag_cursor_set(ctx, static_cast<unsigned long>(next));
  return 1;
}

// All but rdb_load, rdb_save and aof_rewrite.
template <class Body>
TypeMethods shared_methods() {
  return {.mem_usage = [](const void* value) -> std::size_t {
            return body_of<Body>(value).memory_bytes();
          },
          .digest = [](Digest* sum, void* value) { digest_pieces(sum, body_of<Body>(value)); },
          .free = [](void* value) { delete static_cast<Body*>(value); },
          .free_effort = [](Str*, const void* value) -> std::size_t {
            return effort_to_free(body_of<Body>(value).payload_bytes());
          },
          .copy = [](Str*, Str*, const void* value) -> void* {
            return body_of<Body>(value).clone().release();
          },
          .defrag = defrag<Body>};
}

template <class Body>
void save_native(IO* io, void* value) {
  for_each_piece(body_of<Body>(value), [&](std::uint64_t, std::string_view bytes) {
    api.save_string_buffer(io, bytes.data(), bytes.size());
  });
  api.save_string_buffer(io, "", 0);
}

// A head promises bytes that are not there yet, so RESTORE is held to the cap; what this server
// has saved is not.
template <class Set, class NativeBody>
void* load_native(IO* io, int encoding, const char* type) {
  if (encoding != 1) return refuse(io, type, "its encoding is unknown");
  SavedReader reader(io);
  const HostBytes first = reader.bytes();
  auto set = Set::load(first.text(), native_cap_for(api.get_context_from_io(io)));
  if (!set) return refuse(io, type, set.error().sentence.c_str());
  for (;;) {
    const HostBytes piece = reader.bytes();
    if (reader.failed()) return refuse(io, type, "it ends early");
    if (piece.size() == 0) break;
    if (auto loaded = set->load_chunk(piece.text()); !loaded) {
      return refuse(io, type, loaded.error().sentence.c_str());
    }
  }
  return new NativeBody(std::move(*set));
}

}  // namespace bloomery::redis

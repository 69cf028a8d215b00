#include <tools/redis/server/filter_type.hpp>

#include <cstdint>
#include <string_view>

#include <tools/redis/server/caught.hpp>
#include <tools/redis/server/saved_io.hpp>

namespace bloomery::redis {
namespace {

const FilterBody& body_of(const void* value) { return *static_cast<const FilterBody*>(value); }

void save(IO* io, void* value) {
  SavedWriter writer(io);
  body_of(value).save(writer);
}

void digest(Digest* sum, void* value) {
  for_each_piece(body_of(value), [&](std::uint64_t, std::string_view bytes) {
    api.digest_add_string_buffer(sum, bytes.data(), bytes.size());
  });
  api.digest_end_sequence(sum);
}

// From 1 MiB on giving the bytes back takes long enough to leave it to the thread for it: 0 means
// always, any other number is held against 64.
std::size_t effort_to_free(Str*, const void* value) {
  return body_of(value).payload_bytes() >= (1 << 20) ? 0 : 1;
}

// Moves the body, then its parts. A small value is done at once; a large one, whose freeing is left
// to a thread (effort_to_free), in several calls with a cursor between them. 1: there is more.
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
  const std::uint64_t next = static_cast<FilterBody*>(*value)->move_parts(mover, from);
  if (next == 0) return 0;
  api.defrag_cursor_set(ctx, static_cast<unsigned long>(next));
  return 1;
}

}  // namespace

Type* create_type(Ctx* ctx, const FilterType& type) {
  TypeMethods methods{
      .rdb_load = type.load,
      .rdb_save = caught_save<save>,
      .aof_rewrite = type.rewrite,
      .mem_usage = [](const void* value) -> std::size_t { return body_of(value).memory_bytes(); },
      .digest = [](Digest* sum,
                   void* value) { caught_or(false, [&] { return digest(sum, value), true; }); },
      .free = [](void* value) { delete static_cast<FilterBody*>(value); },
      .free_effort = effort_to_free,
      .copy = [](Str*, Str*, const void* value) -> void* {
        void* const none = nullptr;
        return caught_or(none, [&]() -> void* { return body_of(value).clone().release(); });
      },
      .defrag = [](DefragCtx* ctx, Str* key, void** value) -> int {
        return caught_or(0, [&] { return defrag(ctx, key, value); });
      }};
  return api.create_data_type(ctx, type.name, type.encoding, &methods);
}

void rewrite_pieces(IO* io, const char* command, Str* key, const void* value) {
  for_each_piece(body_of(value), [&](std::uint64_t next, std::string_view bytes) {
    api.emit_aof(io, command, "slb", key, static_cast<long long>(next), bytes.data(), bytes.size());
  });
}

void replicate_first_piece(Ctx* ctx, const char* command, Str* name, const FilterBody& body) {
  const Piece first = body.piece(0);
  api.replicate(ctx, command, "slb", name, static_cast<long long>(first.next), first.bytes().data(),
                first.bytes().size());
}

void* refuse(IO* io, const char* type, const Error& why) {
  api.log_io_error(io, "warning", "%s was not loaded: %s", type, why.sentence.c_str());
  return nullptr;
}

}  // namespace bloomery::redis

// The data types of the server that hold our filters, alike for both families and both engines.
//
//    RDB file           the fields that FilterBody::save writes
//    append-only file   LOADCHUNK of every piece
//    DEBUG DIGEST       over every piece
//
// What the server hands back as void* is a FilterBody*.
// Limits:  loading refuses what is damaged, with a line in the log; it never ends the server.
#pragma once

#include <memory>
#include <utility>

#include <bloomery/error.hpp>
#include <bloomery/served/filter_body.hpp>
#include <tools/redis/server/api.hpp>
#include <tools/redis/server/saved_io.hpp>
#include <tools/redis/server/settings.hpp>

namespace bloomery::redis {

struct FilterType {
  const char* name;
  int encoding;
  void* (*load)(IO*, int encoding);             // a caught_load (caught.hpp)
  void (*rewrite)(IO*, Str* key, void* value);  // a caught_rewrite, for the append-only file
};

// Null when the server has a type of that name.
Type* create_type(Ctx* ctx, const FilterType& type);

// The commands that make the filter again.
void rewrite_pieces(IO* io, const char* command, Str* key, const void* value);

// Lets a replica make the same new filter: its first piece is all there is to say of it.
void replicate_first_piece(Ctx* ctx, const char* command, Str* name, const FilterBody& body);

// Tells the log why a value was not loaded, and gives the null that says so to the server.
void* refuse(IO* io, const char* type, const Error& why);

template <class Body>
void* loaded(IO* io, const char* type, Result<std::unique_ptr<Body>> body) {
  if (!body) return refuse(io, type, body.error());
  return static_cast<FilterBody*>(body->release());
}

// The same for the native engines, whose fields are their pieces. A head promises bytes that are
// not there yet, so RESTORE is held to the cap; what this server has saved is not.
template <class Set>
void* load_native(IO* io, const char* type, int encoding) {
  if (encoding != 1) return refuse(io, type, {Code::unsupported, "its encoding is unknown"});
  SavedReader reader(io);
  auto set = load_pieces<Set>(reader, native_cap_for(api.get_context_from_io(io)));
  if (!set) return refuse(io, type, set.error());
  return static_cast<FilterBody*>(new Set(std::move(*set)));
}

}  // namespace bloomery::redis

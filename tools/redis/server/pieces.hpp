// What the data types of both command families do with the saved form of a filter.
#pragma once

#include <cstdint>
#include <string_view>

#include <tools/redis/server/api.hpp>

namespace bloomery::redis {

template <class Body, class Use>
void for_each_piece(const Body& body, Use use) {
  std::uint64_t position = 0;
  do {
    const typename Body::Piece piece = body.piece(position);
    position = piece.next;
    if (position != 0) use(position, piece.bytes());
  } while (position != 0);
}

// The commands that make the filter again, for the append-only file.
template <class Body>
void rewrite_pieces(IO* io, const char* command, Str* key, const Body& body) {
  for_each_piece(body, [&](std::uint64_t next, std::string_view bytes) {
    api.emit_aof(io, command, "slb", key, static_cast<long long>(next), bytes.data(), bytes.size());
  });
}

// Lets a replica make the same new filter: its first piece is all there is to say of it.
template <class Body>
void replicate_first_piece(Ctx* ctx, const char* command, Str* name, const Body& body) {
  const typename Body::Piece first = body.piece(0);
  api.replicate(ctx, command, "slb", name, static_cast<long long>(first.next), first.bytes().data(),
                first.bytes().size());
}

template <class Body>
void digest_pieces(Digest* sum, const Body& body) {
  for_each_piece(body, [&](std::uint64_t, std::string_view bytes) {
    api.digest_add_string_buffer(sum, bytes.data(), bytes.size());
  });
  api.digest_end_sequence(sum);
}

// From 1 MiB on giving the bytes back takes long enough to leave it to the thread for it: 0 means
// always, any other number is held against 64.
inline std::size_t effort_to_free(std::uint64_t payload_bytes) {
  return payload_bytes >= (1 << 20) ? 0 : 1;
}

}  // namespace bloomery::redis

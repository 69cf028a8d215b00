// What a server asks of the value of a key, whatever filter it is and of whichever engine.
//
//    FilterBody --> BloomBody  --> NativeBloom, CompatBloom      BF.*
//               --> CuckooBody --> NativeCuckoo, CompatCuckoo    CF.*
//
// The saved form comes in pieces: SCANDUMP and LOADCHUNK hand them out one by one, the append-only
// file has a command for each, and replicas get the first one of a new filter. An RDB file holds
// fields; those of the native engines are the pieces, one after the other, then an empty one.
// Threads: commands run one at a time; a body may be destroyed on another thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <bloomery/error.hpp>
#include <bloomery/served/host_bytes.hpp>
#include <bloomery/served/mover.hpp>
#include <bloomery/served/saved_fields.hpp>

namespace bloomery::inline v0::detail::served {

// A piece of the saved form, and the position of the next one; 0: there are no more.
struct Piece {
  std::uint64_t next = 0;
  std::string_view lent = {};  // by the filter
  std::string own = {};        // or made for this
  std::string_view bytes() const { return own.empty() ? lent : own; }
};

class FilterBody : public InHostMemory {
 public:
  virtual ~FilterBody() = default;

  // Keys come in spans, so that an engine can prefetch for many at once.
  virtual void may_contain_all(std::span<const std::string_view> keys,
                               std::span<bool> answers) const = 0;

  virtual std::uint64_t payload_bytes() const = 0;
  // All memory, with the object itself.
  virtual std::uint64_t memory_bytes() const = 0;

  // From position 0 on; good until the filter changes. No bytes at a position that no dump has.
  virtual Piece piece(std::uint64_t position) const = 0;
  // Takes a piece that came with this `next`, after the first. Code::out_of_range: nothing lies
  // there; Code::mismatch: more bytes than lie there; Code::damaged, Code::no_memory as they say.
  virtual Result<void> load_piece(std::uint64_t next, std::string_view bytes) = 0;
  virtual void save(FieldWriter& writer) const = 0;

  // nullptr when there is not enough memory for it.
  virtual std::unique_ptr<FilterBody> clone() const = 0;
  // For active defragmentation: moves parts from a number on; the next number, or 0 at the end.
  virtual std::uint64_t move_parts(const Mover& mover, std::uint64_t from) = 0;

 protected:
  FilterBody() = default;
  FilterBody(FilterBody&&) = default;
  FilterBody& operator=(FilterBody&&) = default;
};

template <class Use>
void for_each_piece(const FilterBody& body, Use use) {
  for (Piece piece = body.piece(0); piece.next != 0; piece = body.piece(piece.next))
    use(piece.next, piece.bytes());
}

// Into an RDB file, and out of it again.
inline void save_pieces(const FilterBody& body, FieldWriter& writer) {
  for_each_piece(body, [&](std::uint64_t, std::string_view bytes) { writer.bytes(bytes); });
  writer.bytes(std::string_view());
}

template <class Set>
Result<Set> load_pieces(FieldReader& reader, std::uint64_t memory_cap) {
  const HostBytes first = reader.bytes();
  auto set = Set::load(first.text(), memory_cap);
  if (!set) return set.error();
  for (;;) {
    const HostBytes piece = reader.bytes();
    if (reader.failed()) return Error{Code::damaged, "it ends early"};
    if (piece.size() == 0) return set;
    if (auto loaded = set->load_piece(0, piece.text()); !loaded) return loaded.error();
  }
}

}  // namespace bloomery::inline v0::detail::served

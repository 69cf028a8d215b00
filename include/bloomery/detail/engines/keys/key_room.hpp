// Room for keys that do not stand in their lines as they are: unescaped, joined, normalised.
//
//    char* place = room.reserve(most);      write up to `most` bytes there
//    auto key = room.keep(place, used);     valid until clear()
//
// Pieces never move, so a key stays where it is while others are made.
// Threads: one room, one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace bloomery::inline v0::detail {

class KeyRoom {
 public:
  // The last reserve that was not kept is forgotten.
  char* reserve(std::size_t most) {
    if (pieces_.empty() || most > pieces_[piece_].bytes - used_) next_piece(most);
    return pieces_[piece_].start.get() + used_;
  }
  std::string_view keep(const char* place, std::size_t bytes) {
    used_ += bytes;
    return {place, bytes};
  }
  // All keys are gone; the memory stays for the next ones.
  void clear() {
    piece_ = 0;
    used_ = 0;
  }

 private:
  struct Piece {
    std::unique_ptr<char[]> start;
    std::size_t bytes;
  };
  static constexpr std::size_t least_bytes = std::size_t{64} << 10;

  void next_piece(std::size_t most) {
    if (!pieces_.empty()) ++piece_;
    used_ = 0;
    while (piece_ < pieces_.size() && pieces_[piece_].bytes < most)
      pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(piece_));
    if (piece_ < pieces_.size()) return;
    const std::size_t bytes = std::max(least_bytes, most);
    pieces_.push_back({std::make_unique_for_overwrite<char[]>(bytes), bytes});
  }

  std::vector<Piece> pieces_;
  std::size_t piece_ = 0;  // in use
  std::size_t used_ = 0;   // of it
};

}  // namespace bloomery::inline v0::detail

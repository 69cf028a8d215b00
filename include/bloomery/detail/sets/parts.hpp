// A set taken apart: what is saved, and what a saved set is put together from.
//
//    Parts  form (single, chain, ...)
//           Part  kind, shape, capacity, rate asked, adds, state, payload
//           Part  ...                                                      one per link or layer
//
// Every kind and composite turns into Parts and back, so storage knows no kind and no kind knows
// storage.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <bloomery/detail/bits/memory.hpp>

namespace bloomery::inline v0::detail {

// Written into files. Never renumber.
enum class Form : std::uint16_t {
  single = 1,
  chain = 2,
  sharded = 3,
  cascade = 4,
};

struct Part {
  std::uint16_t kind = 0;             // KindId::number
  std::uint32_t count = 1;            // equal sets side by side in the payload; sharded has many
  std::vector<std::byte> shape = {};  // field by field, little-endian, no padding; at most 128
  std::uint64_t capacity = 0;         // keys it was planned for
  double rate_asked = 0;
  std::uint64_t adds = 0;                   // keys that were surely new when added
  std::array<std::uint64_t, 4> state = {};  // what a kind keeps outside its bits; zero if nothing
  std::span<const std::byte> payload = {};
  Memory memory = {};  // owns `payload` when the part owns it
};

struct Parts {
  Form form = Form::single;
  std::vector<Part> parts = {};
};

// The same kind, shape and bits. What was planned and counted beside them may differ.
inline bool same_bits(const Parts& one, const Parts& other) {
  return one.form == other.form &&
         std::ranges::equal(one.parts, other.parts, [](const Part& a, const Part& b) {
           return a.kind == b.kind && a.count == b.count && a.shape == b.shape &&
                  a.state == b.state && std::ranges::equal(a.payload, b.payload);
         });
}

inline constexpr std::size_t max_shape_bytes = 128;

}  // namespace bloomery::inline v0::detail

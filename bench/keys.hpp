// The keys of a benchmark: members, which are added, and strangers, which never are.
//
//    number i   scatter(i), a bijection of 0 .. 2^k - 1: no two are equal and none has a neighbour
//    integers   these numbers
//    texts      60 bytes with the number in them, one behind the other in one arena, in the order
//               in which they are added: a file that is being read, not strings spread over a heap
//
//    | members 0 .. n-1 | strangers n .. |      one array, so that 1B integers take 8 GB
//
// The numbers are below `range`, at least four times the members, so that the same integers are
// keys of the exact maps.
// Limits:  below 2^60 keys. Everything is written, so that its pages are there, before it is lent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/error.hpp>
#include <tools/inside.hpp>

namespace bloomery::bench {

using Integer = std::uint64_t;
using Text = std::string_view;
inline constexpr std::size_t text_bytes = 60;

template <class Key>
class KeyStore {
 public:
  static Result<KeyStore> make(std::uint64_t members, std::uint64_t strangers);
  // Of memory that make() would take.
  static std::uint64_t planned_bytes(std::uint64_t members, std::uint64_t strangers);

  std::span<const Key> members() const { return all().first(members_); }
  std::span<const Key> strangers() const { return all().subspan(members_); }
  std::uint64_t range() const { return std::uint64_t{1} << range_bits_; }
  unsigned range_bits() const { return range_bits_; }
  std::uint64_t bytes() const { return keys_.size() + texts_.size(); }

 private:
  std::span<const Key> all() const {
    return {reinterpret_cast<const Key*>(keys_.bytes().data()), keys_.size() / sizeof(Key)};
  }

  Memory keys_;
  Memory texts_;  // what the keys look at, if they are texts
  std::size_t members_ = 0;
  unsigned range_bits_ = 0;
};

extern template class KeyStore<Integer>;
extern template class KeyStore<Text>;

}  // namespace bloomery::bench

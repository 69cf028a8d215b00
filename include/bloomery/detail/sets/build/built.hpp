// What building a static set gives: the shape that these very keys made, and the bytes.
#pragma once

#include <bloomery/detail/bits/memory.hpp>

namespace bloomery::inline v0::detail {

template <class S>
struct Built {
  typename S::Shape shape;
  Memory memory;
};

}  // namespace bloomery::inline v0::detail

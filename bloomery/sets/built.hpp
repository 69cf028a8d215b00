// What building a static set gives: the shape that these very keys made, and the bytes.
#pragma once

#include <bloomery/bits/memory.hpp>

namespace bloomery {

template <class S>
struct Built {
  typename S::Shape shape;
  Memory memory;
};

}  // namespace bloomery

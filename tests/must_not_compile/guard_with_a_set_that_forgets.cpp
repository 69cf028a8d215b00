// expect: a set that forgets keys would hide their rows
#include <bloomery/bloomery.hpp>
#include <bloomery/guard.hpp>

bloomery::Guard<bloomery::Set<bloomery::WindowBloom>>* guard;
auto counts() { return guard->counts(); }

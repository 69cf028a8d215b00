// expect: seen.add(letter)
// A character is neither a text nor a number that anybody counts by.
#include <bloomery/bloomery.hpp>

bool add(bloomery::Set<bloomery::BlockedBloom>& seen, char letter) { return seen.add(letter); }

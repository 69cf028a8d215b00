// expect: a static set takes no more keys
// Its bits were found for the keys it was built from, all at once.
#include <bloomery/bloomery.hpp>

bool add(bloomery::Set<bloomery::BinaryFuse>& listed, std::uint64_t key) { return listed.add(key); }

// expect: listed.clear()
// It cannot begin empty: its bits were found for the keys it was built from, all at once.
#include <bloomery/bloomery.hpp>

void forget(bloomery::Set<bloomery::BinaryFuse>& listed) { listed.clear(); }

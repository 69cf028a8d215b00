// expect: seen.add(flag)
// Nearly always a slip of the pen, such as a comparison.
#include <bloomery/bloomery.hpp>

bool add(bloomery::Set<bloomery::BlockedBloom>& seen, bool flag) { return seen.add(flag); }

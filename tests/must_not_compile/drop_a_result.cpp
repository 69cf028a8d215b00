// expect: nodiscard
// An Error that nobody tests would vanish.
#include <bloomery/error.hpp>

#pragma GCC diagnostic error "-Wunused-result"

bloomery::Result<void> done();

void drop() { done(); }

// expect: unused variable
// So would one that has a name and is never read.
#include <bloomery/error.hpp>

#pragma GCC diagnostic error "-Wunused-variable"

bloomery::Result<void> done();

void forget() { const auto never_read = done(); }

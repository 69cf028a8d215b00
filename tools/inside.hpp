// The tools and the benchmarks are ours: they may use what the library keeps to itself.
#pragma once

#include <bloomery/error.hpp>

namespace bloomery {
namespace bench {
using namespace detail;
}
namespace cli {
using namespace detail;
}
namespace redis {
using namespace detail;
}
}  // namespace bloomery

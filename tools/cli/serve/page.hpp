// The page that is served: docs/planner/index.html, inside of the program.
#pragma once

#include <string>

#include "http/request.hpp"

namespace bloomery::cli {

// page_bytes.cpp, which the build makes of the file.
extern const unsigned char page_bytes[];
extern const unsigned long page_size;

// With the policy of the page itself, which has the sums of its scripts and styles, and frames
// forbidden, which only a header can.
const Reply& page_reply();

}  // namespace bloomery::cli

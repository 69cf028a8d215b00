// The flags of what is served: of `serve`, and of `dedup --serve`.
#pragma once

#include <string>
#include <vector>

#include <tools/cli/flags/flag.hpp>

#include "server.hpp"

namespace bloomery::cli {

// BLOOMERY_TOKEN in the environment where neither flag gives one; empty if there is none.
std::string token_of(const Word& token, const Word& token_file);

}  // namespace bloomery::cli

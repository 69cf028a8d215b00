// What was seen, as Prometheus reads it: the text format 0.0.4.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "seen.hpp"

namespace bloomery::cli {

inline constexpr const char* metrics_type = "text/plain; version=0.0.4; charset=utf-8";

std::string metrics_text(std::span<const Seen> seen, double started, std::size_t watchers);

}  // namespace bloomery::cli

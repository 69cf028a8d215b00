// What a person wants planned, as typed: "10M", "0.1%", "2G", "0..9999999".
//
// No command line and no stream: `bloomery plan` fills it from its flags, the page from its fields,
// and refusals name the flags in both.
#pragma once

#include <optional>
#include <string>

#include <bloomery/want.hpp>
#include <tools/inside.hpp>

namespace bloomery::cli {

using Typed = std::optional<std::string>;

struct PlanText {
  Typed keys = {};
  Typed rate = {};
  Typed memory = {};
  Typed range = {};
  Typed allow = {};
};
// What was given; the rest stays 0.
Result<Want> want_of(const PlanText& text);

}  // namespace bloomery::cli

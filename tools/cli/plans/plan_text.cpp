#include "plan_text.hpp"

#include <bloomery/error.hpp>

#include <tools/cli/report/units.hpp>

namespace bloomery::cli {
namespace {

template <class Value, class Parse>
Result<void> take(const Typed& typed, const char* flag, Parse parse, Value& into) {
  if (!typed) return {};
  const auto value = parse(flag, *typed);
  if (!value) return value.error();
  into = *value;
  return {};
}

}  // namespace

Result<Want> want_of(const PlanText& text) {
  Want want;
  if (auto read = take(text.keys, "--keys", parse_keys, want.keys); !read) return read.error();
  if (auto read = take(text.rate, "--rate", parse_rate, want.rate); !read) return read.error();
  if (auto read = take(text.memory, "--memory", parse_memory, want.memory_bytes); !read)
    return read.error();
  if (auto read = take(text.range, "--range", parse_range, want.range); !read) return read.error();
  if (auto read = take(text.allow, "--allow", parse_keys, want.allowed); !read) return read.error();
  return want;
}

}  // namespace bloomery::cli

// What COMMAND DOCS tells of the words that commands of both families take, and their flags.
//
// Lists end with an empty word, as the server wants them.
#pragma once

#include <tools/redis/server/api.hpp>

namespace bloomery::redis {

inline constexpr const char* writes = "write deny-oom";
inline constexpr const char* reads = "readonly fast";

// [TOKEN value], and [TOKEN].
constexpr Arg option_arg(const char* name, const char* token, ArgKind kind) {
  return {.name = name, .kind = kind, .token = token, .flags = arg_flag::optional};
}
constexpr Arg number_arg(const char* name, const char* token) {
  return option_arg(name, token, ArgKind::integer);
}
constexpr Arg bare_arg(const char* name, const char* token) {
  return option_arg(name, token, ArgKind::pure_token);
}

inline constexpr Arg key_arg{.name = "key", .kind = ArgKind::key, .key_spec_index = 0};
inline constexpr Arg item_arg{.name = "item"};
inline constexpr Arg items_arg{.name = "item", .flags = arg_flag::multiple};
inline constexpr Arg iterator_arg{.name = "iterator", .kind = ArgKind::integer};
inline constexpr Arg error_arg = option_arg("error", "ERROR", ArgKind::real);
inline constexpr Arg engine_arg = option_arg("engine", "ENGINE", ArgKind::string);
inline constexpr Arg secret_arg = option_arg("secret", "SECRET", ArgKind::string);
inline constexpr Arg nocreate_arg = bare_arg("nocreate", "NOCREATE");
// ITEMS item [item ...], the end of an INSERT.
inline constexpr Arg inserted_arg{.name = "items", .token = "ITEMS", .flags = arg_flag::multiple};

inline constexpr Arg only_key[] = {key_arg, {}};
inline constexpr Arg key_item[] = {key_arg, item_arg, {}};
inline constexpr Arg key_items[] = {key_arg, items_arg, {}};
inline constexpr Arg scandump_args[] = {key_arg, iterator_arg, {}};
inline constexpr Arg loadchunk_args[] = {key_arg, iterator_arg, {.name = "data"}, {}};

}  // namespace bloomery::redis

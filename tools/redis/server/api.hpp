// The module interface of the Redis server, typed: what bloomery.so calls, and nothing else.
//
//    server --RedisModule_OnLoad(ctx)--> us --bind(ctx)--> api.open_key(...), api.reply_with_...
//
// The first word of a context is the function that finds all others by name. Names are those of
// the server ("RedisModule_OpenKey" is open_key here). A server that lacks one of them is too old
// and bind() says which; those marked optional may stay null and are tested before use. Valkey has
// every function under the same names.
// Limits:  version 7.0 of the interface; the structures below are laid out as the server has them.
// Threads: the table is written once, before the first command; free() of a value may run on a
//          thread of the server.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tools/inside.hpp>

namespace bloomery::inline v0::detail::served {}

namespace bloomery::redis {

using namespace served;  // the filters behind the commands, which know no server

// What the server hands out; only ever seen through pointers.
struct Ctx;
struct Str;
struct Key;
struct IO;
struct Type;
struct Digest;
struct Command;
struct InfoCtx;
struct DefragCtx;

inline constexpr int ok = 0;
inline constexpr int err = 1;

namespace key_mode {
inline constexpr int read = 1;
inline constexpr int write = 2;
}  // namespace key_mode

namespace key_type {
inline constexpr int empty = 0;
inline constexpr int module = 6;
}  // namespace key_type

namespace context_flag {
inline constexpr int replicated = 1 << 12;  // the command comes from the primary
inline constexpr int loading = 1 << 13;     // or from the append-only file
inline constexpr int resp3 = 1 << 22;
}  // namespace context_flag

namespace module_option {
inline constexpr int handle_io_errors = 1;  // without it a short RDB file ends the server
}

namespace config_flag {
inline constexpr unsigned none = 0;
inline constexpr unsigned immutable = 1;
inline constexpr unsigned memory = 128;     // takes 1gb, 100mb
inline constexpr unsigned bare_name = 512;  // from 8.0 on: no "bf." in front of the name
}  // namespace config_flag

inline constexpr int notify_module = 1 << 13;
inline constexpr long length_follows = -1;

using CommandFunction = int (*)(Ctx*, Str**, int);

// What the server calls on values of a type; version 4, as 7.0 has it.
struct TypeMethods {
  std::uint64_t version = 4;
  void* (*rdb_load)(IO*, int encver) = nullptr;
  void (*rdb_save)(IO*, void*) = nullptr;
  void (*aof_rewrite)(IO*, Str* key, void*) = nullptr;
  std::size_t (*mem_usage)(const void*) = nullptr;
  void (*digest)(Digest*, void*) = nullptr;
  void (*free)(void*) = nullptr;
  int (*aux_load)(IO*, int, int) = nullptr;
  void (*aux_save)(IO*, int) = nullptr;
  int aux_save_triggers = 0;
  std::size_t (*free_effort)(Str* key, const void*) = nullptr;
  void (*unlink)(Str* key, const void*) = nullptr;
  void* (*copy)(Str* from, Str* to, const void*) = nullptr;
  int (*defrag)(DefragCtx*, Str* key, void**) = nullptr;
  std::size_t (*mem_usage2)(void*, const void*, std::size_t) = nullptr;
  std::size_t (*free_effort2)(void*, const void*) = nullptr;
  void (*unlink2)(void*, const void*) = nullptr;
  void* (*copy2)(void*, const void*) = nullptr;
};

// What COMMAND DOCS and COMMAND INFO say. Lists end with a zeroed element.
enum class ArgKind : int {
  string = 0,
  integer = 1,
  real = 2,
  key = 3,
  pure_token = 6,
  one_of = 7,
  block = 8,
};

namespace arg_flag {
inline constexpr int optional = 1;
inline constexpr int multiple = 2;
}  // namespace arg_flag

struct Arg {
  const char* name = nullptr;
  ArgKind kind = ArgKind::string;
  int key_spec_index = -1;
  const char* token = nullptr;
  const char* summary = nullptr;
  const char* since = nullptr;
  int flags = 0;
  const char* deprecated_since = nullptr;
  const Arg* subargs = nullptr;
};

namespace key_flag {
inline constexpr std::uint64_t read_only = 1;
inline constexpr std::uint64_t read_write = 2;
inline constexpr std::uint64_t access = 16;
inline constexpr std::uint64_t update = 32;
inline constexpr std::uint64_t insert = 64;
}  // namespace key_flag

struct KeySpec {
  const char* notes = nullptr;
  std::uint64_t flags = 0;
  int begin_search = 0;  // 2: at a fixed index
  struct KeywordSearch {
    const char* keyword;
    int start_from;
  };
  union {
    int index;
    KeywordSearch keyword;
  } begin = {.keyword = {nullptr, 0}};
  int find_keys = 0;  // 2: a range
  struct Range {
    int last_key, step, limit;
  } range = {0, 0, 0};
};

struct History {
  const char* since;
  const char* changes;
};

struct CommandInfoVersion {
  int version;
  std::size_t history_bytes, key_spec_bytes, arg_bytes;
};

struct CommandInfo {
  const CommandInfoVersion* version;
  const char* summary;
  const char* complexity;
  const char* since;
  const History* history;
  const char* tips;
  int arity;
  const KeySpec* key_specs;
  const Arg* args;
};

using GetNumber = long long (*)(const char* name, void* own);
using SetNumber = int (*)(const char* name, long long value, void* own, Str** why);
using GetText = Str* (*)(const char* name, void* own);
using SetText = int (*)(const char* name, Str* value, void* own, Str** why);
using ApplyConfig = int (*)(Ctx*, void* own, Str** why);

struct Api {
  // Commands, types, the module itself.
  int (*create_command)(Ctx*, const char* name, CommandFunction, const char* flags, int first_key,
                        int last_key, int step) = nullptr;
  Command* (*get_command)(Ctx*, const char*) = nullptr;
  int (*set_command_info)(Command*, const CommandInfo*) = nullptr;
  int (*set_command_acl)(Command*, const char* categories) = nullptr;  // optional: from 7.2 on
  int (*add_acl_category)(Ctx*, const char* name) = nullptr;           // optional: from 7.4 on
  void (*set_module_attribs)(Ctx*, const char*, int version, int api_version) = nullptr;
  int (*is_module_name_busy)(const char*) = nullptr;
  void (*set_module_options)(Ctx*, int) = nullptr;
  Type* (*create_data_type)(Ctx*, const char* name, int encver, TypeMethods*) = nullptr;
  int (*wrong_arity)(Ctx*) = nullptr;
  int (*is_keys_position_request)(Ctx*) = nullptr;
  void (*key_at_pos)(Ctx*, int) = nullptr;
  int (*get_context_flags)(Ctx*) = nullptr;
  int (*get_server_version)() = nullptr;  // 0x00070015 for 7.0.21
  int (*valkey_version)() = nullptr;      // optional: null on Redis
  void (*log)(Ctx*, const char* level, const char* format, ...) = nullptr;

  // Keys.
  Key* (*open_key)(Ctx*, Str*, int mode) = nullptr;
  void (*close_key)(Key*) = nullptr;
  int (*key_type)(Key*) = nullptr;
  Type* (*module_type_get_type)(Key*) = nullptr;
  void* (*module_type_get_value)(Key*) = nullptr;
  int (*module_type_set_value)(Key*, Type*, void*) = nullptr;

  // Saving and loading.
  void (*save_unsigned)(IO*, std::uint64_t) = nullptr;
  std::uint64_t (*load_unsigned)(IO*) = nullptr;
  void (*save_double)(IO*, double) = nullptr;
  double (*load_double)(IO*) = nullptr;
  void (*save_string_buffer)(IO*, const char*, std::size_t) = nullptr;
  char* (*load_string_buffer)(IO*, std::size_t*) = nullptr;
  int (*is_io_error)(IO*) = nullptr;
  Ctx* (*get_context_from_io)(IO*) = nullptr;
  void (*emit_aof)(IO*, const char* command, const char* format, ...) = nullptr;
  void (*log_io_error)(IO*, const char* level, const char* format, ...) = nullptr;
  void (*digest_add_string_buffer)(Digest*, const char*, std::size_t) = nullptr;
  void (*digest_add_long_long)(Digest*, long long) = nullptr;
  void (*digest_end_sequence)(Digest*) = nullptr;

  // Replies.
  int (*reply_with_long_long)(Ctx*, long long) = nullptr;
  int (*reply_with_bool)(Ctx*, int) = nullptr;
  int (*reply_with_double)(Ctx*, double) = nullptr;
  int (*reply_with_error)(Ctx*, const char*) = nullptr;
  int (*reply_with_simple_string)(Ctx*, const char*) = nullptr;
  int (*reply_with_string_buffer)(Ctx*, const char*, std::size_t) = nullptr;
  int (*reply_with_null)(Ctx*) = nullptr;
  int (*reply_with_array)(Ctx*, long) = nullptr;
  int (*reply_with_map)(Ctx*, long) = nullptr;
  void (*reply_set_array_length)(Ctx*, long) = nullptr;

  // What others hear of a change.
  int (*replicate)(Ctx*, const char* command, const char* format, ...) = nullptr;
  int (*replicate_verbatim)(Ctx*) = nullptr;
  int (*notify_keyspace_event)(Ctx*, int type, const char* event, Str* key) = nullptr;

  // Strings and memory.
  const char* (*string_ptr_len)(const Str*, std::size_t*) = nullptr;
  int (*string_to_long_long)(const Str*, long long*) = nullptr;
  int (*string_to_double)(const Str*, double*) = nullptr;
  Str* (*create_string)(Ctx*, const char*, std::size_t) = nullptr;
  void (*free_string)(Ctx*, Str*) = nullptr;
  void* (*try_alloc)(std::size_t) = nullptr;
  void (*free)(void*) = nullptr;
  std::size_t (*malloc_size)(void*) = nullptr;
  void* (*try_calloc)(std::size_t, std::size_t) = nullptr;  // optional: from 7.4 on

  // Active defragmentation.
  void* (*defrag_alloc)(DefragCtx*, void*) = nullptr;
  int (*defrag_should_stop)(DefragCtx*) = nullptr;
  int (*defrag_cursor_set)(DefragCtx*, unsigned long) = nullptr;
  int (*defrag_cursor_get)(DefragCtx*, unsigned long*) = nullptr;

  // Configuration and INFO.
  int (*register_numeric_config)(Ctx*, const char*, long long fallback, unsigned flags,
                                 long long least, long long most, GetNumber, SetNumber, ApplyConfig,
                                 void* own) = nullptr;
  int (*register_string_config)(Ctx*, const char*, const char* fallback, unsigned flags, GetText,
                                SetText, ApplyConfig, void* own) = nullptr;
  int (*load_configs)(Ctx*) = nullptr;
  int (*register_info_func)(Ctx*, void (*)(InfoCtx*, int for_crash)) = nullptr;
  int (*info_add_section)(InfoCtx*, const char*) = nullptr;
  int (*info_add_field_unsigned)(InfoCtx*, const char*, unsigned long long) = nullptr;
  int (*info_add_field_text)(InfoCtx*, const char*, const char*) = nullptr;
};

extern Api api;

// Fills the table. The name of the first function the server lacks, or nullptr.
const char* bind(Ctx* ctx);

}  // namespace bloomery::redis

#include <tools/redis/server/api.hpp>

#include <iterator>

namespace bloomery::redis {
namespace {

// The server writes a function pointer through the second argument, or leaves it alone.
using Find = int (*)(const char* name, void* pointer);

struct Entry {
  const char* name;
  void* pointer;
};

const Entry required[] = {
    {"RedisModule_CreateCommand", &api.create_command},
    {"RedisModule_GetCommand", &api.get_command},
    {"RedisModule_SetCommandInfo", &api.set_command_info},
    {"RedisModule_SetModuleAttribs", &api.set_module_attribs},
    {"RedisModule_IsModuleNameBusy", &api.is_module_name_busy},
    {"RedisModule_SetModuleOptions", &api.set_module_options},
    {"RedisModule_CreateDataType", &api.create_data_type},
    {"RedisModule_WrongArity", &api.wrong_arity},
    {"RedisModule_IsKeysPositionRequest", &api.is_keys_position_request},
    {"RedisModule_KeyAtPos", &api.key_at_pos},
    {"RedisModule_GetContextFlags", &api.get_context_flags},
    {"RedisModule_GetServerVersion", &api.get_server_version},
    {"RedisModule_Log", &api.log},
    {"RedisModule_OpenKey", &api.open_key},
    {"RedisModule_CloseKey", &api.close_key},
    {"RedisModule_KeyType", &api.key_type},
    {"RedisModule_ModuleTypeGetType", &api.module_type_get_type},
    {"RedisModule_ModuleTypeGetValue", &api.module_type_get_value},
    {"RedisModule_ModuleTypeSetValue", &api.module_type_set_value},
    {"RedisModule_SaveUnsigned", &api.save_unsigned},
    {"RedisModule_LoadUnsigned", &api.load_unsigned},
    {"RedisModule_SaveDouble", &api.save_double},
    {"RedisModule_LoadDouble", &api.load_double},
    {"RedisModule_SaveStringBuffer", &api.save_string_buffer},
    {"RedisModule_LoadStringBuffer", &api.load_string_buffer},
    {"RedisModule_IsIOError", &api.is_io_error},
    {"RedisModule_GetContextFromIO", &api.get_context_from_io},
    {"RedisModule_EmitAOF", &api.emit_aof},
    {"RedisModule_LogIOError", &api.log_io_error},
    {"RedisModule_DigestAddStringBuffer", &api.digest_add_string_buffer},
    {"RedisModule_DigestAddLongLong", &api.digest_add_long_long},
    {"RedisModule_DigestEndSequence", &api.digest_end_sequence},
    {"RedisModule_ReplyWithLongLong", &api.reply_with_long_long},
    {"RedisModule_ReplyWithBool", &api.reply_with_bool},
    {"RedisModule_ReplyWithDouble", &api.reply_with_double},
    {"RedisModule_ReplyWithError", &api.reply_with_error},
    {"RedisModule_ReplyWithSimpleString", &api.reply_with_simple_string},
    {"RedisModule_ReplyWithStringBuffer", &api.reply_with_string_buffer},
    {"RedisModule_ReplyWithNull", &api.reply_with_null},
    {"RedisModule_ReplyWithArray", &api.reply_with_array},
    {"RedisModule_ReplyWithMap", &api.reply_with_map},
    {"RedisModule_ReplySetArrayLength", &api.reply_set_array_length},
    {"RedisModule_Replicate", &api.replicate},
    {"RedisModule_ReplicateVerbatim", &api.replicate_verbatim},
    {"RedisModule_NotifyKeyspaceEvent", &api.notify_keyspace_event},
    {"RedisModule_StringPtrLen", &api.string_ptr_len},
    {"RedisModule_StringToLongLong", &api.string_to_long_long},
    {"RedisModule_StringToDouble", &api.string_to_double},
    {"RedisModule_CreateString", &api.create_string},
    {"RedisModule_FreeString", &api.free_string},
    {"RedisModule_TryAlloc", &api.try_alloc},
    {"RedisModule_Free", &api.free},
    {"RedisModule_MallocSize", &api.malloc_size},
    {"RedisModule_DefragAlloc", &api.defrag_alloc},
    {"RedisModule_DefragShouldStop", &api.defrag_should_stop},
    {"RedisModule_DefragCursorSet", &api.defrag_cursor_set},
    {"RedisModule_DefragCursorGet", &api.defrag_cursor_get},
    {"RedisModule_RegisterNumericConfig", &api.register_numeric_config},
    {"RedisModule_RegisterStringConfig", &api.register_string_config},
    {"RedisModule_LoadConfigs", &api.load_configs},
    {"RedisModule_RegisterInfoFunc", &api.register_info_func},
    {"RedisModule_InfoAddSection", &api.info_add_section},
    {"RedisModule_InfoAddFieldULongLong", &api.info_add_field_unsigned},
    {"RedisModule_InfoAddFieldCString", &api.info_add_field_text},
};

const Entry optional[] = {
    {"RedisModule_TryCalloc", &api.try_calloc},
    {"ValkeyModule_GetServerVersion", &api.valkey_version},
    {"RedisModule_SetCommandACLCategories", &api.set_command_acl},
    {"RedisModule_AddACLCategory", &api.add_acl_category},
};

}  // namespace

Api api;

const char* bind(Ctx* ctx) {
  const Find find = *reinterpret_cast<Find*>(ctx);
  for (const Entry& entry : required) {
    if (find(entry.name, entry.pointer) != ok) return entry.name;
  }
  for (const Entry& entry : optional) find(entry.name, entry.pointer);
  return nullptr;
}

}  // namespace bloomery::redis

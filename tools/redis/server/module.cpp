// bloomery.so: what Redis loads. BF.* and CF.* of RedisBloom, and more.
//
//    redis-server --loadmodule build/release/bloomery.so [WORD value]...
//
// Only RedisModule_OnLoad is seen from outside. An error while loading leaves the server as it was.
#include <cstddef>
#include <string>

#include <tools/redis/bf/bf_type.hpp>
#include <tools/redis/cf/cf_type.hpp>
#include <tools/redis/server/api.hpp>
#include <tools/redis/server/caught.hpp>
#include <tools/redis/server/commands.hpp>
#include <tools/redis/server/server_memory.hpp>
#include <tools/redis/server/settings.hpp>

namespace bloomery::redis {
namespace {

// The name and the level of commands are RedisBloom's: programs look for them. Our own version is
// in INFO.
constexpr const char* module_name = "bf";
constexpr int command_level = 20820;

void tell_info(InfoCtx* info, int) {
  api.info_add_section(info, "bloomery");
  api.info_add_field_text(info, "version", BLOOMERY_VERSION);
  api.info_add_field_text(info, "engine", name_of(settings.engine).data());
  api.info_add_field_unsigned(info, "bloom_filters", BloomBody::alive.load());
  api.info_add_field_unsigned(info, "cuckoo_filters", CuckooBody::alive.load());
  api.info_add_field_unsigned(info, "max_key_bytes",
                              static_cast<unsigned long long>(settings.cap_bytes));
}

// The name of the first step that failed, or nullptr.
const char* load(Ctx* ctx, Str** words, int count) {
  if (api.is_module_name_busy(module_name) != 0) return "a module named bf is loaded already";
  api.set_module_attribs(ctx, module_name, command_level, 1);
  api.set_module_options(ctx, module_option::handle_io_errors);
  take_memory_from_server();
  static std::string why;
  why = read_words(words, count);
  if (!why.empty()) return why.c_str();
  if (!register_bf_types(ctx)) return "the server has the types of BF.* already";
  if (!register_cf_types(ctx)) return "the server has the types of CF.* already";
  if (!register_commands(ctx, bf_commands(), "bloom") ||
      !register_commands(ctx, cf_commands(), "cuckoo"))
    return "a command could not be registered";
  if (!register_settings(ctx)) return "a setting could not be registered, or is wrong";
  if (api.register_info_func(ctx, tell_info) != ok) return "INFO could not be registered";
  return nullptr;
}

}  // namespace
}  // namespace bloomery::redis

extern "C" __attribute__((visibility("default"))) int RedisModule_OnLoad(
    bloomery::redis::Ctx* ctx, bloomery::redis::Str** words, int count) {
  using namespace bloomery::redis;
  if (const char* missing = bind(ctx)) {
    if (api.log != nullptr) api.log(ctx, "warning", "bloomery: this server lacks %s", missing);
    return err;
  }
  if (const char* why = caught_or("it cannot be loaded", [&] { return load(ctx, words, count); })) {
    api.log(ctx, "warning", "bloomery: %s", why);
    return err;
  }
  return ok;
}

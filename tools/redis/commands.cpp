#include <tools/redis/commands.hpp>

#include <string_view>

namespace bloomery::redis {

bool register_commands(Ctx* ctx, std::span<const CommandEntry> commands) {
  static constexpr CommandInfoVersion version = {1, sizeof(History), sizeof(KeySpec), sizeof(Arg)};
  for (const CommandEntry& entry : commands) {
    if (api.create_command(ctx, entry.name, entry.run, entry.flags, 1, 1, 1) != ok) {
      api.log(ctx, "warning", "the server has a command %s already", entry.name);
      return false;
    }
    const bool writes = std::string_view(entry.flags).starts_with("write");
    KeySpec keys[2];
    keys[0].flags = writes ? key_flag::read_write | key_flag::access | key_flag::update
                           : key_flag::read_only | key_flag::access;
    keys[0].begin_search = 2;
    keys[0].begin.index = 1;
    keys[0].find_keys = 2;
    keys[0].range = {.last_key = 0, .step = 1, .limit = 0};
    const CommandInfo info = {.version = &version,
                              .summary = entry.summary,
                              .complexity = entry.complexity,
                              .since = "0.1.0",
                              .history = nullptr,
                              .tips = nullptr,
                              .arity = entry.arity,
                              .key_specs = keys,
                              .args = entry.args};
    if (api.set_command_info(api.get_command(ctx, entry.name), &info) != ok) {
      api.log(ctx, "warning", "the server refuses what is told of %s", entry.name);
      return false;
    }
  }
  return true;
}

}  // namespace bloomery::redis

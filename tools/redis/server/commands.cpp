#include <tools/redis/server/commands.hpp>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

namespace bloomery::redis {

namespace {

constexpr int search_index = 2;
constexpr int search_keyword = 3;
constexpr int find_range = 2;

KeySpec first_key(bool writes) {
  KeySpec key;
  key.flags = writes ? key_flag::read_write | key_flag::access | key_flag::update
                     : key_flag::read_only | key_flag::access;
  key.begin_search = search_index;
  key.begin.index = 1;
  key.find_keys = find_range;
  key.range = {.last_key = 0, .step = 1, .limit = 0};
  return key;
}

KeySpec further_keys(MoreKeys more) {
  KeySpec keys;
  if (more == MoreKeys::none) return keys;
  keys.flags = key_flag::read_only | key_flag::access;
  keys.find_keys = find_range;
  if (more == MoreKeys::all) {
    keys.begin_search = search_index;
    keys.begin.index = 2;
    keys.range = {.last_key = -1, .step = 1, .limit = 0};
  } else {
    keys.begin_search = search_keyword;
    keys.begin.keyword = {"LIKE", 4};
    keys.range = {.last_key = 0, .step = 1, .limit = 0};
  }
  return keys;
}

bool is_writer(const CommandEntry& entry) {
  return std::string_view(entry.flags).starts_with("write");
}

// RedisBloom counts these among the fast ones.
bool is_in_fast(std::string_view command) {
  static constexpr std::string_view fast[] = {"bf.reserve", "bf.info", "bf.card", "cf.reserve",
                                              "cf.info"};
  return std::ranges::find(fast, command) != std::end(fast);
}

// May commands be put into the category? Another module may have added one of that name.
bool add_category(Ctx* ctx, const char* category) {
  if (api.set_command_acl == nullptr || api.add_acl_category == nullptr) return false;
  errno = 0;
  if (api.add_acl_category(ctx, category) == ok || errno == EBUSY) return true;
  api.log(ctx, "warning", "bloomery: the server has no room for the ACL category %s", category);
  return false;
}

bool put_in_categories(Ctx* ctx, const CommandEntry& entry, const char* own_category) {
  if (api.set_command_acl == nullptr) return true;
  std::string categories = is_writer(entry) ? "write" : "read";
  if (is_in_fast(entry.name)) categories += " fast";
  if (own_category != nullptr) categories.append(" ").append(own_category);
  return api.set_command_acl(api.get_command(ctx, entry.name), categories.c_str()) == ok;
}

}  // namespace

bool register_commands(Ctx* ctx, std::span<const CommandEntry> commands, const char* category) {
  static constexpr CommandInfoVersion version = {1, sizeof(History), sizeof(KeySpec), sizeof(Arg)};
  const char* const own_category = add_category(ctx, category) ? category : nullptr;
  for (const CommandEntry& entry : commands) {
    const int last_key = entry.more_keys == MoreKeys::all ? -1 : 1;
    if (api.create_command(ctx, entry.name, entry.command.run, entry.flags, 1, last_key, 1) != ok) {
      api.log(ctx, "warning", "the server has a command %s already", entry.name);
      return false;
    }
    if (!put_in_categories(ctx, entry, own_category)) {
      api.log(ctx, "warning", "the server refuses the ACL categories of %s", entry.name);
      return false;
    }
    const KeySpec keys[] = {first_key(is_writer(entry)), further_keys(entry.more_keys), {}};
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

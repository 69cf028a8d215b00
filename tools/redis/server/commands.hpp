// The commands of the module, each with what COMMAND DOCS tells of it.
#pragma once

#include <span>

#include <tools/redis/server/api.hpp>
#include <tools/redis/server/caught.hpp>

namespace bloomery::redis {

// Keys beside the first word behind the name.
enum class MoreKeys {
  none,
  all,         // every further word
  after_like,  // the word behind LIKE
};

struct CommandEntry {
  const char* name;
  CaughtCommand command;
  const char* flags;
  int arity;  // negative: at least so many, the name included
  const char* summary;
  const char* complexity;
  const Arg* args;
  MoreKeys more_keys = MoreKeys::none;
};

std::span<const CommandEntry> bf_commands();
std::span<const CommandEntry> cf_commands();

// Registers them, in the ACL categories that RedisBloom has them in (where the server has
// categories for modules: 7.2), and in one of their own (7.4): @bloom or @cuckoo. False when the
// server refuses a command, which it has said in its log.
bool register_commands(Ctx* ctx, std::span<const CommandEntry> commands, const char* category);

}  // namespace bloomery::redis

// The commands of the module, each with what COMMAND DOCS tells of it.
#pragma once

#include <span>

#include <tools/redis/api.hpp>

namespace bloomery::redis {

struct CommandEntry {
  const char* name;
  CommandFunction run;
  const char* flags;
  int arity;  // negative: at least so many, the name included
  const char* summary;
  const char* complexity;
  const Arg* args;
};

std::span<const CommandEntry> bf_commands();
std::span<const CommandEntry> cf_commands();

// Registers them; false when the server refuses one, which it has said in its log.
bool register_commands(Ctx* ctx, std::span<const CommandEntry> commands);

}  // namespace bloomery::redis

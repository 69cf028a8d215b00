// The secret of a filter's hash: from the system, or as 32 hex digits in a command.
//
// BF.RESERVE and CF.RESERVE are replicated with it, so that a replica hashes alike. Who may read
// the replication stream, the append-only file or the RDB file may read the secret.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <bloomery/hash.hpp>
#include <tools/inside.hpp>

namespace bloomery::redis {

// Nothing when the system gives no random bytes.
std::optional<Hasher> fresh_hasher();
// The digits of a hardened hasher.
std::string secret_of(const Hasher& hasher);
std::optional<Hasher> hasher_from(std::string_view digits);

}  // namespace bloomery::redis

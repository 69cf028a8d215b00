// Sets on Redis servers, named redis://... where others are named as files.
//
// The password may be left out of the word, which others can read in the list of processes, and
// stand in the environment: BLOOMERY_REDIS_PASSWORD.
#pragma once

#include <string>

#include <bloomery/redis/redis_set.hpp>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/report/messages.hpp>
#include <tools/cli/report/report.hpp>

#include "set_file.hpp"

namespace bloomery::cli {

bool is_remote(const std::string& path);
RedisAddress remote_address(const std::string& url);

// The set itself, of a file or on a server: what is added is seen by everybody.
SetFile open_live_set(const std::string& path, const Word& key_file, Verify verify);
// A copy of it as it is now.
SetFile copy_remote_set(const std::string& url, const Word& key_file);

// The set that a run of dedup shares with others; made if it is missing.
SetFile join_remote_set(const std::string& url, const RedisSet::Wish& wish);
bool remote_exists(const std::string& url);

// Is every shard there, whole and sealed? Throws what is not; else how many there are.
std::uint64_t verify_remote_set(const std::string& url);

// Puts a set that was built here on the server, in the place of what has that name.
SetFile upload_set(const std::string& url, const SetFile& built, Overwrite overwrite);
// Before anything is built: can it be put there?
void expect_uploadable(const std::string& url, bool force);

// epoch, shards, largest_key_bytes, masters, expires_in
void describe_remote(Report& report, const RedisSet& remote);
void warn_in_doubt(const RedisSet& remote, std::string_view what, Messages& messages);

}  // namespace bloomery::cli

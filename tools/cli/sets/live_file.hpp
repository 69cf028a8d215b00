// Live files as the commands tell of them.
#pragma once

#include <optional>
#include <string>

#include <bloomery/live.hpp>

#include <tools/cli/report/messages.hpp>
#include <tools/cli/report/report.hpp>

#include "file_lock.hpp"

namespace bloomery::cli {

// False of sets on servers and of what is not there. What cannot be read is refused: it may be
// live.
bool is_live_set(const std::string& path);
// For those who change a set file. Nothing: it is live, and changed by many at once. It is asked
// again when the lock is held, since others may have made it live while they were waited for; from
// then on it stays ordinary as long as the lock is held.
std::optional<FileLock> lock_unless_live(const std::string& path, Messages& messages);
// Was anything done for a program that was killed?
bool is_worth_telling(const Recovery& recovery);
// What that was, in one line with its newline.
std::string recovered_line(const std::string& path, const Recovery& recovery);
// The same in a report: was_cut, lost_power, recovered_records, recovered_keys, undone_keys,
// summed_bytes.
void describe(Report& report, const Recovery& recovery);

}  // namespace bloomery::cli

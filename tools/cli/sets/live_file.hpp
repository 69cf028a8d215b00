// Live files as the commands tell of them.
#pragma once

#include <string>

#include <bloomery/live.hpp>

#include <tools/cli/report/report.hpp>

namespace bloomery::cli {

// False of sets on servers and of what is not there. What cannot be read is refused: it may be
// live.
bool is_live_set(const std::string& path);
// What was done for a program that was killed, in one line with its newline.
std::string recovered_line(const std::string& path, const Recovery& recovery);
// The same in a report: was_cut, lost_power, recovered_records, recovered_keys, summed_bytes.
void describe(Report& report, const Recovery& recovery);

}  // namespace bloomery::cli

#include "live_file.hpp"

#include <fmt/format.h>

#include <utility>

#include <tools/cli/report/units.hpp>

#include "set_file.hpp"

namespace bloomery::cli {

bool is_live_set(const std::string& path) {
  const auto live = is_live(path);
  if (!live) refuse_file(path, live.error());
  return *live;
}

std::optional<FileLock> lock_unless_live(const std::string& path, Messages& messages) {
  if (is_live_set(path)) return {};
  std::optional<FileLock> lock(std::in_place, path, messages);
  if (is_live_set(path)) lock.reset();
  return lock;
}

std::string recovered_line(const std::string& path, const Recovery& recovery) {
  const std::string undone = print_count(recovery.undone_keys);
  // Others had it open still, and closed it.
  if (!recovery.was_cut)
    return fmt::format("bloomery: {}: {} keys of runs that did not end were taken back\n", path,
                       undone);
  std::string line =
      fmt::format("bloomery: {} was not closed {}; its log has {} keys in {} records", path,
                  recovery.sync_failed  ? "after its disk failed to sync it"
                  : recovery.lost_power ? "when the system stopped"
                                        : "by the program that had it open last",
                  print_count(recovery.keys), print_count(recovery.records));
  line += recovery.undone_keys == 0
              ? ", all in the set"
              : fmt::format("; {} of them, of runs that did not end, were taken back", undone);
  if (recovery.summed_bytes > 0)
    line += fmt::format("; checksums of {} were taken again", print_bytes(recovery.summed_bytes));
  return line + "\n";
}

bool is_worth_telling(const Recovery& recovery) {
  return recovery.was_cut || recovery.undone_keys > 0;
}

void describe(Report& report, const Recovery& recovery) {
  report.flag("was_cut", recovery.was_cut);
  report.flag("lost_power", recovery.lost_power);
  // One that was closed is read from its log as well, but nothing was lost that came back.
  report.count("recovered_records", recovery.was_cut ? recovery.records : 0);
  report.count("recovered_keys", recovery.was_cut ? recovery.keys : 0);
  report.count("undone_keys", recovery.undone_keys);
  report.bytes("summed_bytes", recovery.summed_bytes);
}

}  // namespace bloomery::cli

// A new live file, from a set as storage sees it.
#pragma once

#include <filesystem>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/detail/storage/live_options.hpp>
#include <bloomery/image.hpp>
#include <bloomery/storage/live/live_log.hpp>

namespace bloomery::inline v0::detail {

// What the log of a new file begins with.
struct FirstRecords {
  std::vector<LogRecord> records = {};
  std::uint64_t epoch = 1;
};

// Under its name in one step, synced.
Result<void> create_live_file(const std::filesystem::path& path, const KindRow& row,
                              const Image& image, const LiveCreation& how,
                              const FirstRecords& first = {});

}  // namespace bloomery::inline v0::detail

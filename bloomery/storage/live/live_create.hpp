// A new live file, from a set as storage sees it.
#pragma once

#include <filesystem>
#include <span>

#include <bloomery/any_set.hpp>
#include <bloomery/detail/storage/live_options.hpp>
#include <bloomery/image.hpp>
#include <bloomery/storage/live/live_log.hpp>

namespace bloomery::inline v0::detail {

// Under its name in one step, synced. The records are the beginning of its log.
Result<void> create_live_file(const std::filesystem::path& path, const KindRow& row,
                              const Image& image, const LiveCreation& how,
                              std::span<const LogRecord> records = {});

}  // namespace bloomery::inline v0::detail

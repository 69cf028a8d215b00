// A live file as those read it who need an image: as it is at this moment.
#pragma once

#include <filesystem>

#include <bloomery/image.hpp>

namespace bloomery::inline v0::detail {

// With all that was added until now. Adds that come later may show in it, wholly or in part.
Result<Image> live_image(const std::filesystem::path& path, const OpenOptions& options);
// Every checksum that holds: those of chunks that nothing was added to since the last checkpoint,
// and of every record of the log.
Result<VerifiedImage> verified_live(const std::filesystem::path& path);

}  // namespace bloomery::inline v0::detail

// What save_image and create_live share: an image on its way into a new file.
#pragma once

#include <bloomery/error.hpp>
#include <bloomery/file.hpp>
#include <bloomery/storage/image_plan.hpp>

namespace bloomery::inline v0::detail {

// Payloads, chunk table and directory, at the places of the plan; not the superblocks, which the
// sealed plan then has. The file has its length. Bytes that others change meanwhile (a live set)
// are written as they were when they were summed.
Result<void> write_behind_superblocks(DurableFile& file, const Parts& parts, ImagePlan& plan);

}  // namespace bloomery::inline v0::detail

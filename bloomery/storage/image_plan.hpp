// What an image will look like, before the first byte of it is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <bloomery/error.hpp>
#include <bloomery/image.hpp>
#include <bloomery/storage/image_layout.hpp>

namespace bloomery::inline v0::detail {

struct ImagePlan {
  Layout layout;
  std::vector<std::byte> directory;
  Superblock block;  // without checksums until sealed

  // Enters the checksums, of the directory and of this chunk table.
  void seal(std::span<const std::byte> table);
};

// Refuses what image_from would refuse. `name` begins the sentences of Errors.
Result<ImagePlan> plan_image(const std::string& name, const Image& image);

struct ChunkSums {
  Uuid uuid;
  std::vector<std::uint64_t> sums = {};

  // Pieces end where a chunk ends, or where a payload does.
  void append_all(std::span<const std::byte> piece);
};

}  // namespace bloomery::inline v0::detail

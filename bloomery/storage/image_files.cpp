// open_image, verify_image and is_image: the reader on files.
#include <array>
#include <span>
#include <utility>

#include <bloomery/file.hpp>
#include <bloomery/image.hpp>
#include <bloomery/storage/image_layout.hpp>
#include <bloomery/storage/image_source.hpp>
#include <bloomery/storage/live/live_image.hpp>
#include <bloomery/storage/stored_source.hpp>

namespace bloomery::inline v0 {

using namespace detail;

bool is_image(const std::filesystem::path& path) {
  const auto file = StoredFile::open(path);
  std::array<std::uint8_t, magic.size()> begins{};
  if (!file || file->size_bytes() < begins.size()) return false;
  const auto read = file->read(0, std::as_writable_bytes(std::span(begins)));
  return read && begins == magic;
}

Result<Image> open_image(const std::filesystem::path& path, const OpenOptions& options) {
  const auto file = StoredFile::open(path);
  if (!file) return file.error();
  const auto live = is_live_image(StoredSource(*file));
  if (!live) return live.error();
  if (*live) return live_image(path, options);
  return image_from(path.string(), StoredSource(*file), options);
}

Result<VerifiedImage> verify_image(const std::filesystem::path& path) {
  const auto file = StoredFile::open(path);
  if (!file) return file.error();
  const auto live = is_live_image(StoredSource(*file));
  if (!live) return live.error();
  if (*live) return verified_live(path);
  return verified_from(path.string(), StoredSource(*file));
}

}  // namespace bloomery::inline v0

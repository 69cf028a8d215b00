// open_image, verify_image and is_image: the reader on files.
#include <array>
#include <span>
#include <utility>

#include <bloomery/file.hpp>
#include <bloomery/image.hpp>
#include <bloomery/storage/image_layout.hpp>
#include <bloomery/storage/image_source.hpp>

namespace bloomery::inline v0 {

using namespace detail;
namespace {

class FileSource final : public ImageSource {
 public:
  explicit FileSource(const StoredFile& file) : file_(file) {}
  std::uint64_t size_bytes() const override { return file_.size_bytes(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> into) const override {
    return file_.read(offset, into);
  }
  Result<Memory> all(const OpenOptions& options) const override {
    if (options.bytes == Bytes::copied) return file_.copy();
    return file_.map(options.verify == Verify::checksums ? Reading::whole : Reading::scattered);
  }
  Result<void> load(std::span<const std::byte> mapped) const override { return file_.load(mapped); }

 private:
  const StoredFile& file_;
};

}  // namespace

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
  return image_from(path.string(), FileSource(*file), options);
}

Result<VerifiedImage> verify_image(const std::filesystem::path& path) {
  const auto file = StoredFile::open(path);
  if (!file) return file.error();
  return verified_from(path.string(), FileSource(*file));
}

}  // namespace bloomery::inline v0

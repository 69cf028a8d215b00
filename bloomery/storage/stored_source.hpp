// A file as the reader of images sees it.
#pragma once

#include <bloomery/file.hpp>
#include <bloomery/storage/image_source.hpp>

namespace bloomery::inline v0::detail {

class StoredSource final : public ImageSource {
 public:
  explicit StoredSource(const StoredFile& file) : file_(file) {}
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

}  // namespace bloomery::inline v0::detail

// Where the bytes of an image come from, as the reader sees them: a file, or bytes at hand.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/error.hpp>
#include <bloomery/image.hpp>

namespace bloomery::inline v0::detail {

class ImageSource {
 public:
  virtual ~ImageSource() = default;
  virtual std::uint64_t size_bytes() const = 0;
  // Fills all of `into`; the caller has checked that it lies inside.
  virtual Result<void> read(std::uint64_t offset, std::span<std::byte> into) const = 0;
  // The whole image, mapped or copied as the options say.
  virtual Result<Memory> all(const OpenOptions& options) const = 0;
  // Brings bytes of a mapping into memory, or tells why that cannot be done.
  virtual Result<void> load(std::span<const std::byte>) const { return {}; }
};

// Bytes at hand; a set that is opened from them gets a copy.
class BytesSource final : public ImageSource {
 public:
  explicit BytesSource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t size_bytes() const override { return bytes_.size(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> into) const override {
    if (!into.empty()) std::memcpy(into.data(), bytes_.data() + offset, into.size());
    return {};
  }
  Result<Memory> all(const OpenOptions&) const override { return Memory::copy_of(bytes_); }

 private:
  std::span<const std::byte> bytes_;
};

// `name` begins the sentences of Errors.
Result<Image> image_from(const std::string& name, const ImageSource& source,
                         const OpenOptions& options);
Result<VerifiedImage> verified_from(const std::string& name, const ImageSource& source);
// How long the image is that begins with these bytes, at least the first least_image_bytes of it.
Result<std::uint64_t> image_length(const std::string& name, std::span<const std::byte> begins);

}  // namespace bloomery::inline v0::detail

// Where the bytes of an image come from, as the reader sees them: a file, or bytes at hand.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/error.hpp>
#include <bloomery/image.hpp>
#include <bloomery/storage/image_layout.hpp>

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
// The same checks with a few megabytes of memory and never the whole: the parts have no payload, so
// that whether they fit each other is not known.
Result<VerifiedImage> verified_in_pieces(const std::string& name, const ImageSource& source);
// All that is known of an image before its payloads are looked at, and found sound.
struct ImageHead {
  Superblock block;
  Directory directory;
  Layout layout;
};

// Its parts, with their payloads in these bytes of the whole image.
Parts parts_in(ImageHead& head, const Memory& image);

// Does it begin like a live file?
Result<bool> is_live_image(const ImageSource& source);
struct LiveHead : ImageHead {
  Hasher hasher;
};
enum class Secret {
  needed,
  unneeded,  // no key is hashed: the hasher may be any
};
// As image_from, of a live file up to its payloads.
Result<LiveHead> live_head_from(const std::string& name, const ImageSource& source,
                                const std::optional<SecretKey>& key,
                                Secret secret = Secret::needed);
// The padding, and the chunk table where `summed` says that its checksum holds.
Result<void> check_image_bytes(const std::string& name, const ImageHead& head,
                               std::span<const std::byte> image, bool summed);

// How long the image is that begins with these bytes, at least the first least_image_bytes of it.
Result<std::uint64_t> image_length(const std::string& name, std::span<const std::byte> begins);

}  // namespace bloomery::inline v0::detail

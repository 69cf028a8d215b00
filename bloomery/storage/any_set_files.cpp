// AnySet in files, in bytes and on streams: what the kind is, the image tells.
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/image.hpp>

namespace bloomery::inline v0 {

Result<AnySet> AnySet::of(const std::string& name, Result<Image> image) {
  if (!image) return image.error();
  auto set = from_parts(std::move(image->parts), image->hasher, std::move(image->rules));
  if (!set) return Error{set.error().code, name + ": " + set.error().sentence};
  set->uuid_ = image->uuid;
  set->key_is_elsewhere_ = image->key_is_elsewhere;
  return set;
}

Result<Image> AnySet::image() const {
  if (shared())
    return Error{Code::unsupported, "the set lives on servers; it has no image to save here"};
  Image image;
  Result<detail::Parts> whole = parts();
  if (!whole) return whole.error();
  image.parts = std::move(*whole);
  image.hasher = hasher_;
  image.rules = rules_;
  image.uuid = uuid_;
  image.key_is_elsewhere = key_is_elsewhere_;
  return image;
}

Result<Image> image_of(const AnySet& set) { return set.image(); }

Result<AnySet> AnySet::open(const std::filesystem::path& path) { return open(path, OpenOptions{}); }
Result<AnySet> AnySet::open(const std::filesystem::path& path, const OpenOptions& options) {
  return of(path.string(), open_image(path, options));
}
Result<AnySet> AnySet::open(std::istream& in) { return open(in, OpenOptions{}); }
Result<AnySet> AnySet::open(std::istream& in, const OpenOptions& options) {
  return of("the image on the stream", read_image(in, options));
}
Result<AnySet> AnySet::from_bytes(std::span<const std::byte> bytes) {
  return from_bytes(bytes, OpenOptions{});
}
Result<AnySet> AnySet::from_bytes(std::span<const std::byte> bytes, const OpenOptions& options) {
  return of("the image", read_image(bytes, options));
}

Result<void> AnySet::save(const std::filesystem::path& path) const {
  return save(path, SaveOptions{});
}
Result<void> AnySet::save(const std::filesystem::path& path, const SaveOptions& options) const {
  const auto whole = image();
  if (!whole) return Error{whole.error().code, path.string() + ": " + whole.error().sentence};
  return save_image(path, *whole, options);
}
Result<void> AnySet::save(std::ostream& out) const {
  const auto whole = image();
  if (!whole) return whole.error();
  return write_image(out, *whole);
}
Result<std::vector<std::byte>> AnySet::to_bytes() const {
  const auto whole = image();
  if (!whole) return whole.error();
  return image_bytes(*whole);
}

}  // namespace bloomery::inline v0

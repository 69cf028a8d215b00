#include <bloomery/storage/live/live_image.hpp>

#include <memory>
#include <utility>

#include <bloomery/storage/image_source.hpp>
#include <bloomery/storage/live/live_body.hpp>
#include <bloomery/storage/live/live_file.hpp>
#include <bloomery/storage/stored_source.hpp>

namespace bloomery::inline v0::detail {
namespace {

Result<std::shared_ptr<LiveBody>> opened(const std::filesystem::path& path,
                                         const std::optional<SecretKey>& key, Secret secret) {
  auto body =
      LiveBody::open_to_ask(path, {.read_only = true, .key = key}, LiveBody::Sharing::own, secret);
  if (!body) return body.error();
  return std::shared_ptr<LiveBody>(std::move(*body));
}

// What is borrowed from the body keeps it alive from now on.
Result<void> keep(Parts& parts, const std::shared_ptr<LiveBody>& body, Bytes bytes) {
  for (Part& part : parts.parts) {
    if (part.memory.size() != 0) continue;
    if (bytes == Bytes::copied) {
      auto copy = Memory::copy_of(part.payload);
      if (!copy) return copy.error();
      part.memory = std::move(*copy);
    } else {
      auto* const begin = const_cast<std::byte*>(part.payload.data());
      part.memory = Memory::adopt(body, {begin, part.payload.size()});
    }
    part.payload = std::as_const(part.memory).bytes();
  }
  return {};
}

}  // namespace

Result<Image> live_image(const std::filesystem::path& path, const OpenOptions& options) {
  const auto body = opened(path, options.key, Secret::needed);
  if (!body) return body.error();
  if (options.verify == Verify::checksums)
    if (auto sound = (*body)->verify(); !sound && sound.error().code != Code::unsupported)
      return sound.error();
  auto image = (*body)->image();
  if (!image) return image.error();
  if (auto kept = keep(image->parts, *body, options.bytes); !kept) return kept.error();
  return image;
}

Result<VerifiedImage> verified_live(const std::filesystem::path& path) {
  const auto body = opened(path, {}, Secret::unneeded);
  if (!body) return body.error();
  if (auto sound = (*body)->verify(); !sound) return sound.error();
  auto image = (*body)->image();
  if (!image) return image.error();
  if (auto kept = keep(image->parts, *body, Bytes::mapped); !kept) return kept.error();
  std::error_code failed;
  const std::uint64_t bytes = std::filesystem::file_size(path, failed);
  if (failed) return Error{Code::io, path.string() + " cannot be looked at: " + failed.message()};
  return VerifiedImage{bytes, std::move(image->parts), std::move(image->rules)};
}

Result<LiveFacts> live_facts(const std::filesystem::path& path) {
  const auto file = LiveFile::open(path, {}, SharedFile::Access::read, Secret::unneeded);
  if (!file) return file.error();
  return (*file)->facts();
}

Result<bool> is_live_file(const std::filesystem::path& path) {
  std::error_code unseen;
  const auto status = std::filesystem::status(path, unseen);
  if (std::filesystem::status_known(status) && !std::filesystem::is_regular_file(status))
    return false;
  const auto stored = StoredFile::open(path);
  if (!stored) return stored.error();
  return is_live_image(StoredSource(*stored));
}

Result<LiveReplacement> LiveReplacement::begin(const std::filesystem::path& path) {
  LiveReplacement replacement;
  const auto live = is_live_file(path);
  if (!live) return live.error();
  if (!*live) return replacement;
  auto file = SharedFile::open(path, SharedFile::Access::change);
  if (!file) return file.error();
  if (auto locked = file->lock_door(); !locked) return locked.error();
  const auto attached = file->is_attached();
  if (!attached) return attached.error();
  if (*attached)
    return Error{Code::exists, path.string() +
                                   " is a live set that another program has open; end that "
                                   "program, or seal the set first"};
  replacement.file_.emplace(std::move(*file));
  return replacement;
}

}  // namespace bloomery::inline v0::detail

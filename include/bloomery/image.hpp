// The saved form of a set: write it, open it, and check every byte on the way.
//
//    0      superblock A    8192  directory        payloads, each on a 4096 boundary
//    4096   superblock B    ...   chunk checksums  (2 MiB from 1 GiB on)
//
// Prefer Set::open, AnySet::open and their save; this is for programs that look at an image before
// they make a set of it, or that only check it.
//
// Example:
//    #include <bloomery/any_set.hpp>
//    auto image = open_image("seen.bloom", {.verify = Verify::header});
//    if (!image) return image.error();             // names the file, and what to do
//    if (image->rules.form != KeyForm::text) return Error{Code::mismatch, "it holds no texts"};
//    auto set = AnySet::from_parts(std::move(image->parts), image->hasher, image->rules);
//    if (!set) return set.error();
//
//    const auto sound = verify_image("seen.bloom");  // every byte, without a secret key
//    if (!sound) return sound.error();             // Code::damaged says where
//
// Sealed: written to a temporary file beside the target, synced, renamed; the target is the old
// file or the new one, never half of it. Opened as a private mapping, or copied: changes stay in
// memory until they are saved.
// Every length and offset is checked before anything beyond the first 8 KiB is mapped or allocated,
// and every byte is covered by a checksum or must be zero.
// Errors:  every function returns a Result; Code tells not_ours, unsupported, damaged, io and
//          mismatch (a secret key) apart.
// Limits:  checksums show damage, not malice: whoever can write the file can write the sums.
// Threads: any number may open one file; one saves, the others have the old file or the new one.
// See:     docs/format.md, byte by byte; image_damage_test flips every byte and tries every length.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <bloomery/detail/sets/parts.hpp>
#include <bloomery/error.hpp>
#include <bloomery/file.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/key_rules.hpp>

namespace bloomery::inline v0 {

// Names a set across copies; binds its chunks together. All zero: not saved yet.
using Uuid = std::array<std::uint8_t, 16>;

// The output of bloomery dedup --state, which gets each key that was new to the set. Up to this
// length it holds exactly the keys that were added. After a run that did not end there may be more
// bytes, with keys that the saved set does not have.
struct WrittenOutput {
  std::string path = {};  // absolute
  std::uint64_t bytes = 0;
  bool ended = true;  // the run that wrote it came to its end
  friend bool operator==(const WrittenOutput&, const WrittenOutput&) = default;
};

struct Image {
  detail::Parts parts = {};
  Hasher hasher = Hasher{};
  KeyRules rules = {};
  Uuid uuid = {};                 // kept when saved again; at first derived from the content
  bool key_is_elsewhere = false;  // hardened: the secret is in a key file, not in the image
  std::optional<WrittenOutput> output = {};
};

struct SaveOptions {
  Overwrite overwrite = Overwrite::replace;
  // Called when everything is written but the file does not have its name yet; its Error is
  // returned. For sets whose bytes come from files that others may write to (FileWatch).
  std::function<Result<void>()> before_commit = {};
  // Gets the new file, locked (flock) since before it had its name.
  detail::Descriptor* locked = nullptr;
};

enum class Bytes {
  mapped,  // read page by page when needed; changes stay in memory
  copied,  // read at once; what others do to the file later does not matter
};

enum class Verify {
  checksums,  // every byte, about 0.3 s a GB
  // All but the payloads, for an instant start. Damage in them then goes unnoticed, and saving such
  // a set again seals it with sums that fit.
  header,
};

struct OpenOptions {
  Verify verify = Verify::checksums;
  std::optional<SecretKey> key = {};  // for hardened images whose key is elsewhere
  Bytes bytes = Bytes::mapped;
};

// Equal images give equal bytes. On an Error the file at `path` is what it was. A new file with a
// secret key in it is for its owner only (mode 0600); one that is replaced keeps its mode.
Result<void> save_image(const std::filesystem::path& path, const Image& image,
                        const SaveOptions& options = {});
// Code::not_ours, unsupported or damaged: something is wrong with the bytes. io: they cannot be
// read. mismatch: the secret key is missing or wrong.
Result<Image> open_image(const std::filesystem::path& path, const OpenOptions& options = {});
// The same bytes, at hand and on streams: for blocks of other files, messages, object stores. A
// secret key is among them, unless it is kept elsewhere. Opened from them, a set has a copy.
Result<std::vector<std::byte>> image_bytes(const Image& image);
Result<void> write_image(std::ostream& out, const Image& image);
// The bytes must be one whole image and no more.
Result<Image> read_image(std::span<const std::byte> bytes, const OpenOptions& options = {});
// From the position of the stream on; what follows the image is not read.
Result<Image> read_image(std::istream& in, const OpenOptions& options = {});

// Does the file begin like an image? False when it cannot be read.
bool is_image(const std::filesystem::path& path);
// What can be read of an image without its secret key.
struct VerifiedImage {
  std::uint64_t bytes = 0;  // of the file
  detail::Parts parts = {};
  KeyRules rules = {};
  Uuid uuid = {};
  HashMode mode = HashMode::fast;
  std::uint64_t payload_bytes = 0;    // of all its parts
  std::optional<Hasher> hasher = {};  // nothing: hardened, and the secret key is elsewhere
};
// Checks every byte, but needs no secret key. Whether the parts fit each other, AnySet::from_parts
// knows.
Result<VerifiedImage> verify_image(const std::filesystem::path& path);

}  // namespace bloomery::inline v0

// A live file as those read it who need an image: as it is at this moment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <bloomery/image.hpp>
#include <bloomery/storage/live/shared_file.hpp>

namespace bloomery::inline v0::detail {

// False of what is not a regular file, or is not there. An Error of what cannot be read: it may be
// live.
Result<bool> is_live_file(const std::filesystem::path& path);

// With all that was added until now. Adds that come later may show in it, wholly or in part.
Result<Image> live_image(const std::filesystem::path& path, const OpenOptions& options);
// Every checksum that holds: those of chunks that nothing was added to since the last checkpoint,
// and of every record of the log.
Result<VerifiedImage> verified_live(const std::filesystem::path& path);

struct LiveFacts {
  bool in_place = false;
  enum class State { closed, in_use, cut } state = State::closed;
  // Of the log, since the last checkpoint.
  std::uint64_t log_bytes = 0;
  std::uint64_t log_keys = 0;
  // Of those bytes, what a power cut now would lose.
  std::uint64_t unsynced_bytes = 0;
};
// Without its secret key, and without its payload.
Result<LiveFacts> live_facts(const std::filesystem::path& path);

// What takes the place of a live file must not take it from those who add to it: what they add from
// then on would go where nobody looks. While it lives, nobody opens the file to add.
class LiveReplacement {
 public:
  // An Error if somebody has it open. Nothing to do for what is not a live file.
  static Result<LiveReplacement> begin(const std::filesystem::path& path);

 private:
  std::optional<SharedFile> file_;
};

}  // namespace bloomery::inline v0::detail

// One change of a set file at a time: whoever changes it holds this lock from before it is opened
// until after it is replaced. Without it the second of two would write over what the first added.
//
// Limits:  advisory, by flock(2): it binds the commands of this program on one machine (and on
//          network file systems that carry flock).
// Threads: one.
#pragma once

#include <string>
#include <utility>

#include <bloomery/file.hpp>
#include <bloomery/storage/live/live_image.hpp>
#include <tools/inside.hpp>

#include <tools/cli/report/messages.hpp>

namespace bloomery::cli {

class FileLock {
 public:
  // Waits for others, and says so. A file that cannot be opened is left to whoever reads it next.
  FileLock(const std::string& path, Messages& messages);
  FileLock() = default;  // of nothing yet

  // Is the file under this name still the one that is locked?
  bool holds(const std::string& path) const;
  // Takes over a lock; what was held before is let go, and those who wait for it find the new file.
  void take(detail::Descriptor locked) { held_ = std::move(locked); }

 private:
  detail::Descriptor held_;
};

// Held by those who make a set file under this name, from before they read what they make it of.
// A live set under the name must not be open anywhere, and is not opened while this is held: what
// is added to a file that loses its name would be lost.
class PlaceLock {
 public:
  PlaceLock(const std::string& path, Messages& messages);

 private:
  FileLock lock_;
  detail::LiveReplacement live_;
};

// Held for the moment in which a file is made that is not there yet: of two that make it at once
// the second waits, and finds it. Of the directory, since there is nothing else to lock.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& path);

 private:
  detail::Descriptor held_;
};

}  // namespace bloomery::cli

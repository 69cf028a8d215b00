// One change of a set file at a time: whoever changes it holds this lock from before it is opened
// until after it is replaced. Without it the second of two would write over what the first added.
//
// Limits:  advisory, by flock(2): it binds the commands of this program on one machine (and on
//          network file systems that carry flock).
// Threads: one.
#pragma once

#include <string>

#include <bloomery/storage/file.hpp>

#include "messages.hpp"

namespace bloomery::cli {

class FileLock {
 public:
  // Waits for others, and says so. A file that cannot be opened is left to whoever reads it next.
  FileLock(const std::string& path, Messages& messages);
  FileLock() = default;  // of nothing yet

  // Is the file under this name still the one that is locked?
  bool holds(const std::string& path) const;
  // Locks the file that has just been put under the name, without waiting; false when somebody else
  // was faster.
  [[nodiscard]] bool move_to(const std::string& path);

 private:
  detail::Descriptor held_;
};

}  // namespace bloomery::cli

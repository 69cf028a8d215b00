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

 private:
  detail::Descriptor held_;
};

}  // namespace bloomery::cli

// A file without a name, for what does not fit into memory: gone when it is closed, or when the
// program dies.
//
// Made in the directory that TMPDIR names (std::filesystem::temp_directory_path), else in /tmp.
// Threads: one object, one thread.
// See:     spool_test.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <bloomery/error.hpp>
#include <bloomery/file.hpp>

namespace bloomery::inline v0::detail {

class ScratchFile {
 public:
  static Result<ScratchFile> create();

  Result<void> write(std::uint64_t offset, std::span<const char> bytes);
  // Fills all of `into`; an Error when the file ends before.
  Result<void> read(std::uint64_t offset, std::span<char> into) const;

 private:
  ScratchFile(std::string directory, int fd) : directory_(std::move(directory)), file_(fd) {}
  Error refused(int error_number) const;

  std::string directory_;  // for sentences
  detail::Descriptor file_;
};

}  // namespace bloomery::inline v0::detail

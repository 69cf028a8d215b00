// Set files that are mapped while a command asks them, and what others may do to them meanwhile.
//
//    explain_bus_errors();                    once, in main
//    auto opened = MappedSet::open(path, {})  for each set file
//    expect_mapped_unchanged();               before answers, outputs and saved sets are trusted
//
// A file that is overwritten in place changes under the mapping, and one that is cut ends the
// program by SIGBUS. The first is found at the end, without any cost for a key; the second becomes
// a sentence that names the file, and exit code 2.
// Limits:  one table for the whole program. Beyond 64 mapped files the sentence names none.
// Threads: opened and asked by one; the signal may come in any.
#pragma once

#include <memory>
#include <string>

#include <bloomery/error.hpp>
#include <bloomery/image.hpp>
#include <bloomery/storage/file_watch.hpp>
#include <tools/inside.hpp>

namespace bloomery::cli {

class MappedSet {
 public:
  struct Opened {
    Image image;
    std::shared_ptr<const MappedSet> guard;  // lives as long as the image is asked
  };
  // As open_image, with a watch on the file that is mapped.
  static Result<Opened> open(const std::string& path, const OpenOptions& options);

  MappedSet(std::string path, FileWatch watch, const Parts& parts);
  // What was changed is remembered for expect_mapped_unchanged().
  ~MappedSet();
  MappedSet(const MappedSet&) = delete;
  MappedSet& operator=(const MappedSet&) = delete;

  Result<void> check() const { return watch_.expect_unchanged(path_); }

 private:
  const std::string path_;
  const FileWatch watch_;
};

// An Error when one of the files that are or were mapped has been written to since.
Result<void> check_mapped_sets();
// The same, thrown.
void expect_mapped_unchanged();

// While it lives, a SIGBUS that no mapped set explains is laid to this file: it is just being read,
// or it is live. Of several that live at once, all are named.
class ReadingSet {
 public:
  explicit ReadingSet(std::string path);
  ~ReadingSet();
  ReadingSet(const ReadingSet&) = delete;
  ReadingSet& operator=(const ReadingSet&) = delete;

 private:
  const std::string path_;
};

void explain_bus_errors();

}  // namespace bloomery::cli

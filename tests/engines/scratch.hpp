// Files and pipes for the tests of the engines, in a directory of their own that goes with them.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>

#include <bloomery/text/line_writer.hpp>

namespace bloomery::detail {

class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "bloomery-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::filesystem::remove_all(path_); }

  std::string path(const std::string& name) const { return (path_ / name).string(); }
  std::string file(const std::string& name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path(name);
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A pipe with a name, into which a thread writes these bytes once somebody reads.
class Feed {
 public:
  explicit Feed(std::string bytes) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    read_end_ = ends[0];
    writer_ = std::thread([bytes = std::move(bytes), fd = ends[1]] {
      {
        LineWriter out(fd, "pipe");
        out.append(bytes);
        EXPECT_TRUE(out.flush());
      }
      ::close(fd);
    });
  }
  ~Feed() {
    writer_.join();
    ::close(read_end_);
  }
  // Not a regular file: it can be read only once.
  std::string path() const { return "/dev/fd/" + std::to_string(read_end_); }

 private:
  int read_end_ = -1;
  std::thread writer_;
};

}  // namespace bloomery::detail

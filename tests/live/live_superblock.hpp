// What the superblocks and the runtime page of a live file say, for tests that look inside; and the
// file as the system finds it after it was started again.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>

#include <bloomery/storage/image_layout.hpp>
#include <bloomery/storage/live/live_file.hpp>

namespace bloomery::live_test {

// The one that counts.
inline detail::Superblock newest_superblock(const std::string& path) {
  using namespace detail;
  std::ifstream file(path, std::ios::binary);
  Superblock newest;
  newest.generation = 0;
  for (std::uint64_t slot = 0; slot < 2; ++slot) {
    SlotBytes bytes;
    file.seekg(static_cast<std::streamoff>(slot * slot_bytes));
    file.read(reinterpret_cast<char*>(bytes.data()), bytes.size());
    const Superblock block = decode_slot(bytes);
    if (!file || encode_slot(block, slot) != bytes) {
      file.clear();
      continue;
    }
    if (block.generation > newest.generation) newest = block;
  }
  return newest;
}

inline bool says_closed(const std::string& path) {
  return newest_superblock(path).live.boot == detail::Boot{};
}

// Another one when a file with a shorter log took its place.
inline ino_t number_of_file(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) throw std::runtime_error(path + " is not there");
  return facts.st_ino;
}

// The page that processes share, mapped as long as this lives.
class SharedPage {
 public:
  explicit SharedPage(const std::string& path) {
    const auto at = static_cast<off_t>(newest_superblock(path).file_bytes);
    const detail::Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    void* const page =
        ::mmap(nullptr, detail::page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), at);
    if (page == MAP_FAILED) throw std::runtime_error(path + " cannot be mapped");
    runtime_ = static_cast<detail::LiveRuntime*>(page);
  }
  ~SharedPage() { ::munmap(runtime_, detail::page_bytes); }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  detail::LiveRuntime* operator->() const { return runtime_; }

 private:
  detail::LiveRuntime* runtime_;
};

// The run of the system in which it was open gets another number.
inline void restart_system(const std::string& path) {
  using namespace detail;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::uint64_t image_bytes = 0;
  for (std::uint64_t slot = 0; slot < 2; ++slot) {
    SlotBytes bytes;
    file.seekg(static_cast<std::streamoff>(slot * slot_bytes));
    file.read(reinterpret_cast<char*>(bytes.data()), bytes.size());
    Superblock block = decode_slot(bytes);
    const SlotBytes again = encode_slot(block, slot);
    if (!file || std::memcmp(again.data(), bytes.data(), bytes.size()) != 0) {
      file.clear();
      continue;
    }
    image_bytes = block.file_bytes;
    if (block.live.boot == Boot{}) continue;
    block.live.boot[0] ^= 1;
    const SlotBytes aged = encode_slot(block, slot);
    file.seekp(static_cast<std::streamoff>(slot * slot_bytes));
    file.write(reinterpret_cast<const char*>(aged.data()), aged.size());
  }
  if (image_bytes == 0) return;
  // The page that only running processes read.
  char first = 0;
  const auto at = static_cast<std::streamoff>(image_bytes + offsetof(LiveRuntime, boot));
  file.seekg(at);
  if (!file.get(first)) return;
  file.seekp(at);
  file.put(static_cast<char>(first ^ 1));
}

}  // namespace bloomery::live_test

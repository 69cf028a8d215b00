// A live file as the system finds it after it was started again.
#pragma once

#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>

#include <bloomery/storage/image_layout.hpp>
#include <bloomery/storage/live/live_file.hpp>

namespace bloomery::live_test {

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

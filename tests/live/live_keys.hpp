// The keys that live_writer adds, and the lines by which it acknowledges them.
//
//    ready                       the file was made
//    W B FFFF...                 batch B of writer W was added; F is 1 for each key that was new
//
// Batch B of any writer with the same seed has the same keys: several writers want the same ones.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <bloomery/hash.hpp>

namespace bloomery::live_test {

struct Batch {
  unsigned writer = 0;
  std::uint64_t number = 0;
  std::string fresh = {};
};

inline std::vector<std::uint64_t> keys_of(std::uint64_t seed, std::uint64_t batch,
                                          std::size_t count) {
  std::vector<std::uint64_t> keys(count);
  // Small enough for a bitmap; a third of them come in other batches, too.
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t mixed = (seed + batch * 1000 + i) * 0x9e37'79b9'7f4a'7c15U;
    keys[i] = i % 3 == 0 ? mixed >> 54 : (batch * count + i) % (1U << 20);
  }
  return keys;
}

inline std::string name_of(std::uint64_t key) { return "key" + std::to_string(key); }

inline bool read_batch(const std::string& line, Batch& batch) {
  std::istringstream words(line);
  return static_cast<bool>(words >> batch.writer >> batch.number >> batch.fresh);
}

}  // namespace bloomery::live_test

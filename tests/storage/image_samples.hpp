// Small images made by hand, and a Surgeon that changes bytes and makes the checksums fit again.
//
// The offsets below are copied from docs/format.md, not from the code: a test that crafts a file
// with them also pins the document.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/hash/xxh3.hpp>
#include <bloomery/detail/sets/kinds/bitmap.hpp>
#include <bloomery/detail/sets/kinds/hash_set.hpp>
#include <bloomery/detail/sets/parts.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/image.hpp>

#include <tests/storage/scratch_directory.hpp>

namespace bloomery::detail {

// A bitmap of `integers` integers from `low` on; byte i of its payload is i * factor.
inline Part bitmap_part(std::uint64_t low, std::uint64_t integers, unsigned factor = 7) {
  const Bitmap::Shape shape{low, low + integers - 1};
  Part part;
  part.kind = Bitmap::id.number;
  part.shape = encode_shape<Bitmap>(shape);
  part.capacity = integers;
  part.adds = 3;
  part.state = {1, 2, 3, 4};
  part.memory = Memory::make(Bitmap::bytes(shape)).value();
  const auto bytes = part.memory.bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * factor);
  part.payload = bytes;
  return part;
}

// An exact hash set of nothing: its payload has no bytes.
inline Part empty_part() {
  Part part;
  part.kind = HashSet::id.number;
  part.shape.resize(8);  // no keys
  return part;
}

template <class... Part>
Image image_of(Form form, Part... parts) {
  Image image;
  image.parts.form = form;
  (image.parts.parts.push_back(std::move(parts)), ...);
  image.rules = {KeyForm::number, false, {}};
  return image;
}

// 20480 bytes as a file: superblocks, directory, chunk table, one chunk of 64 bytes.
inline Image small_image() { return image_of(Form::single, bitmap_part(0, 512)); }

// Saved, and read back as bytes.
inline FileBytes bytes_of(const ScratchDirectory& scratch, const Image& image) {
  const auto path = scratch / "bytes_of.bloom";
  save_image(path, image).value();
  return read_whole(path);
}

class Surgeon {
 public:
  static constexpr std::size_t directory = 8192;
  static constexpr std::size_t record = directory + 32;  // the first of them
  static constexpr std::size_t record_bytes = 256;

  explicit Surgeon(FileBytes bytes) : bytes_(std::move(bytes)) {}
  const FileBytes& bytes() const { return bytes_; }

  template <class T>
  T get(std::size_t at) const {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }
  template <class T>
  Surgeon& put(std::size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }

  // Directory, chunk table and both superblocks fit again; slot B becomes a copy of slot A.
  FileBytes sealed() {
    put(104, sum(get<std::uint64_t>(88), get<std::uint64_t>(96), 0));
    put(128, sum(get<std::uint64_t>(112), get<std::uint64_t>(120), 0));
    std::memcpy(bytes_.data() + 4096, bytes_.data(), 4088);
    put(4088, sum(0, 4088, 0));
    put(4096 + 4088, sum(4096, 4088, 1));
    return bytes_;
  }

 private:
  // Of a region; of nothing when a hostile region leaves the file.
  std::uint64_t sum(std::uint64_t offset, std::uint64_t length, std::uint64_t seed) const {
    if (offset > bytes_.size() || length > bytes_.size() - offset) offset = length = 0;
    return xxh3_64(bytes_.data() + offset, length, seed);
  }

  FileBytes bytes_;
};

}  // namespace bloomery::detail

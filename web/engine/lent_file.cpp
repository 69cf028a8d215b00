#include "lent_file.hpp"

#include <algorithm>
#include <array>
#include <string_view>

// core.js. Offsets are doubles: JavaScript's own numbers, whole up to 2^53. 0: all was read.
extern "C" {
[[clang::import_module("engine"), clang::import_name("read")]] int lent_read(unsigned number,
                                                                             double offset,
                                                                             std::byte* into,
                                                                             std::size_t length);
[[clang::import_module("engine"), clang::import_name("progress")]] void told_progress(double done,
                                                                                      double all);
}

namespace bloomery::web {
namespace {

// Few enough that a page can be told how far it is, and that a read needs little memory twice.
constexpr std::size_t piece_bytes = std::size_t{4} << 20;

}  // namespace

Result<void> LentFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  for (std::size_t at = 0; at < into.size(); at += piece_bytes) {
    const std::size_t length = std::min(piece_bytes, into.size() - at);
    if (lent_read(number_, static_cast<double>(offset + at), into.data() + at, length) != 0)
      return Error{Code::io, name_ +
                                 " cannot be read: it was changed or removed since it was "
                                 "chosen; choose it again"};
    told_progress(static_cast<double>(offset + at + length), static_cast<double>(bytes_));
  }
  return {};
}

Result<detail::Memory> LentFile::all(const OpenOptions&) const {
  auto memory = detail::Memory::make(bytes_);
  if (!memory) return memory;
  if (auto done = read(0, memory->bytes()); !done) return done.error();
  return memory;
}

std::string compressed_by(const LentFile& file) {
  struct Codec {
    std::string_view name;
    std::string_view begins;
  };
  constexpr std::array codecs = {Codec{"gzip", "\x1f\x8b"}, Codec{"bzip2", "BZh"},
                                 Codec{"xz",
                                       {"\xfd"
                                        "7zXZ\0",
                                        6}},
                                 Codec{"zstd", "\x28\xb5\x2f\xfd"},
                                 Codec{"lz4", "\x04\x22\x4d\x18"}};
  std::array<char, 8> first{};
  const auto there = static_cast<std::size_t>(std::min<std::uint64_t>(file.size_bytes(), 8));
  if (!file.read(0, std::as_writable_bytes(std::span(first).first(there)))) return "";
  const std::string_view begins(first.data(), there);
  for (const Codec& codec : codecs)
    if (begins.starts_with(codec.begins)) return std::string(codec.name);
  return "";
}

}  // namespace bloomery::web

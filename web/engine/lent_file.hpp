// A file that the browser lends: JavaScript reads it piece by piece (core.js).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <bloomery/storage/image_source.hpp>

namespace bloomery::web {

class LentFile final : public detail::ImageSource {
 public:
  // `number` tells two files apart that are lent at once: 0 and 1.
  LentFile(std::string name, std::uint64_t bytes, unsigned number)
      : name_(std::move(name)), bytes_(bytes), number_(number) {}

  const std::string& name() const { return name_; }
  std::uint64_t size_bytes() const override { return bytes_; }
  Result<void> read(std::uint64_t offset, std::span<std::byte> into) const override;
  Result<detail::Memory> all(const OpenOptions& options) const override;

 private:
  std::string name_;
  std::uint64_t bytes_;
  unsigned number_;
};

// "gzip", or nothing, by the first bytes.
std::string compressed_by(const LentFile& file);

}  // namespace bloomery::web

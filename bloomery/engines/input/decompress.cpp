#include <bloomery/text/decompress.hpp>

#include <lzma.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <bloomery/engines/input/codecs.hpp>

namespace bloomery::inline v0 {

using namespace detail;
namespace {

enum class Sign { other, unsure, this_codec };

unsigned char byte_at(std::string_view bytes, std::size_t place) {
  return static_cast<unsigned char>(bytes[place]);
}

// `unsure` when the bytes are a beginning of `magic`.
Sign starts_with(std::string_view bytes, std::string_view magic) {
  const std::size_t known = std::min(bytes.size(), magic.size());
  if (bytes.substr(0, known) != magic.substr(0, known)) return Sign::other;
  return known == magic.size() ? Sign::this_codec : Sign::unsure;
}

// A codec whose header has `length` bytes in all: `good` is asked about a whole one.
template <class Good>
Sign whole_header(std::string_view bytes, std::size_t length, Good&& good) {
  if (bytes.size() < length) return Sign::unsure;
  return good() ? Sign::this_codec : Sign::other;
}

Sign gzip_sign(std::string_view bytes) {
  const Sign magic = starts_with(bytes, {"\x1f\x8b\x08", 3});
  if (magic != Sign::this_codec) return magic;
  constexpr unsigned reserved_flags = 0xe0;
  if (bytes.size() > 3 && (byte_at(bytes, 3) & reserved_flags) != 0) return Sign::other;
  return whole_header(bytes, 10, [] { return true; });
}

Sign bzip2_sign(std::string_view bytes) {
  const Sign magic = starts_with(bytes, "BZh");
  if (magic != Sign::this_codec || bytes.size() == 3)
    return magic == Sign::other ? magic : Sign::unsure;
  if (bytes[3] < '1' || bytes[3] > '9') return Sign::other;
  const Sign block = starts_with(bytes.substr(4), {"\x31\x41\x59\x26\x53\x59", 6});
  const Sign end = starts_with(bytes.substr(4), {"\x17\x72\x45\x38\x50\x90", 6});
  return std::max(block, end);
}

Sign xz_sign(std::string_view bytes) {
  const Sign magic = starts_with(bytes, {"\xfd\x37\x7a\x58\x5a\x00", 6});
  if (magic != Sign::this_codec) return magic;
  return whole_header(bytes, 12, [&] {
    std::array<std::uint8_t, 12> header;
    std::copy_n(bytes.begin(), header.size(), header.begin());
    lzma_stream_flags flags;
    const lzma_ret found = lzma_stream_header_decode(&flags, header.data());
    // Flags of a later version with a right CRC are xz all the same; decoding them says so.
    return found == LZMA_OK || found == LZMA_OPTIONS_ERROR;
  });
}

Sign zstd_sign(std::string_view bytes) {
  const bool skippable = !bytes.empty() && byte_at(bytes, 0) >> 4 == 5;
  if (skippable) {
    const Sign magic = starts_with(bytes.substr(1), {"\x2a\x4d\x18", 3});
    return magic == Sign::this_codec ? whole_header(bytes, 8, [] { return true; }) : magic;
  }
  const Sign magic = starts_with(bytes, {"\x28\xb5\x2f\xfd", 4});
  if (magic != Sign::this_codec) return magic;
  if (bytes.size() == 4) return Sign::unsure;
  const unsigned char descriptor = byte_at(bytes, 4);
  constexpr unsigned reserved_bit = 0x08;
  if ((descriptor & reserved_bit) != 0) return Sign::other;
  return whole_header(bytes, zstd_header_bytes(descriptor), [] { return true; });
}

//    04 22 4d 18 | flags | block size | content size 0 or 8 | dictionary 0 or 4 | checksum
//                  ^ 7-6: version 1; 3: content size; 1: reserved; 0: dictionary
Sign lz4_sign(std::string_view bytes) {
  const Sign magic = starts_with(bytes, {"\x04\x22\x4d\x18", 4});
  if (magic != Sign::this_codec) return magic;
  if (bytes.size() == 4) return Sign::unsure;
  const unsigned char flags = byte_at(bytes, 4);
  if (flags >> 6 != 1 || (flags & 0x02) != 0) return Sign::other;
  const std::size_t length =
      std::size_t{7} + ((flags & 0x08) != 0 ? 8 : 0) + ((flags & 0x01) != 0 ? 4 : 0);
  return whole_header(bytes, length, [&] {
    const std::uint32_t sum = XXH32(bytes.data() + 4, length - 5, 0);
    return ((sum >> 8) & 0xff) == byte_at(bytes, length - 1);
  });
}

struct Codec {
  std::string_view name;
  Sign (*sign)(std::string_view);
  Result<std::unique_ptr<Decoder>> (*open)();
};

constexpr std::array<Codec, 5> codecs = {{{"gzip", gzip_sign, detail::gzip_decoder},
                                          {"bzip2", bzip2_sign, detail::bzip2_decoder},
                                          {"xz", xz_sign, detail::xz_decoder},
                                          {"zstd", zstd_sign, detail::zstd_decoder},
                                          {"lz4", lz4_sign, detail::lz4_decoder}}};

}  // namespace

std::string_view compressed_as(std::string_view first_bytes) {
  for (const Codec& codec : codecs)
    if (codec.sign(first_bytes) == Sign::this_codec) return codec.name;
  return {};
}

Result<Recognised> open_decompressor(std::string_view first_bytes, bool) {
  Recognised recognised;
  for (const Codec& codec : codecs) {
    const Sign sign = codec.sign(first_bytes);
    if (sign == Sign::unsure) recognised.decided = false;
    if (sign != Sign::this_codec) continue;
    auto decoder = codec.open();
    if (!decoder) return decoder.error();
    return Recognised{.decoder = std::move(*decoder)};
  }
  return recognised;
}

}  // namespace bloomery::inline v0

// One Decoder for each codec; decompress.hpp tells which bytes they are for. An Error when the
// codec gets no memory to start with.
#pragma once

#include <cstddef>
#include <memory>

#include <bloomery/detail/engines/input/decoder.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

Result<std::unique_ptr<Decoder>> gzip_decoder();
Result<std::unique_ptr<Decoder>> bzip2_decoder();
Result<std::unique_ptr<Decoder>> xz_decoder();
Result<std::unique_ptr<Decoder>> zstd_decoder();
Result<std::unique_ptr<Decoder>> lz4_decoder();

// Of a frame of zstd, with all that comes before its first block.
std::size_t zstd_header_bytes(unsigned char descriptor);

// The error messages that they share.
Error cut_short(const char* codec);
Error damaged_stream(const char* codec, const char* why);
Error garbage_after(const char* codec);
Error no_memory_for(const char* codec);

}  // namespace bloomery::inline v0::detail

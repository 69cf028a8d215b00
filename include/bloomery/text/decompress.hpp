// Compressed input: gzip, bzip2, xz, zstd and lz4, recognised by their first bytes.
//
// Prefer it wherever a reader may be given a compressed file: what is not compressed is read as it
// is, at no cost.
//
// Example:
//    #include <bloomery/text/lines.hpp>
//    auto reader = LineReader::open("access.log.zst", {.decode = open_decompressor});
//    if (!reader) return reader.error();
//    for (;;) {
//      const auto batch = reader->next();
//      if (!batch) return batch.error();           // damaged: the sentence names file and place
//      if (batch->empty()) break;
//      for (const std::string_view line : *batch) crawl(line);
//    }
//
//    gzip    1f 8b 08, no reserved flag                             10 bytes
//    bzip2   "BZh" and a digit 1 to 9, then the sign of a block
//            (31 41 59 26 53 59) or of the end (17 72 45 38 50 90)  10 bytes
//    xz      fd 37 7a 58 5a 00, flags, and their CRC32              12 bytes
//    zstd    28 b5 2f fd and a frame header without reserved bits,  6 to 18 bytes
//            or a skippable frame: 50..5f 2a 4d 18 and its length    8 bytes
//    lz4     04 22 4d 18 and a frame descriptor with its checksum   7 to 19 bytes
//
// Whatever is shorter, or is not all of that, is read as it is. Members or frames one after the
// other are read through. Checksums are checked. What follows the last member:
//
//    zeros     skipped after gzip and bzip2 (tapes and block devices pad with them, and their
//              own programs skip them); after xz in fours, as its format says; an Error after
//              zstd and lz4
//    garbage   an Error, also where gzip and bzip2 only warn: it may be a member that was damaged
//
// Not through libarchive: version 3.6 does not check the CRC of gzip and takes garbage after a
// member for the end (docs/dead_ends.md): both would lose lines silently.
// Errors:  the reader that decodes returns them.
// Limits:  an xz dictionary above 256 MiB or a zstd window above 128 MiB is refused with the
//          command that decodes it, so that a few bytes cannot ask for gigabytes. A skippable
//          frame at the start is taken for zstd.
// Threads: as Decoder: one stream, one thread.
// See:     tests/engines/decompress_test.cpp, with files of the real programs.
#pragma once

#include <string_view>

#include <bloomery/detail/engines/input/decoder.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0 {

Result<detail::Recognised> open_decompressor(std::string_view first_bytes, bool all = true);

// The codec whose stream begins with these bytes, such as "gzip"; empty: they are not compressed.
std::string_view compressed_as(std::string_view first_bytes);

}  // namespace bloomery::inline v0

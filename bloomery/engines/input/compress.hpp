// Compressed output: gzip, bzip2, xz, zstd and lz4, chosen by the name of the file.
//
//    out.encode_with(open_compressor("kept.txt.gz").value());
//
//    .gz     level 6, as gzip        .bz2    level 9, as bzip2       .lz4    level 1, as lz4
//    .xz     level 6, as xz          .zst    level 3, as zstd
//
// With the checksums that the programs of these names write. The output is one member or frame;
// with bzip2, one for each flush.
// Limits:  xz takes some 94 MiB of memory, the others less than 10.
// Threads: as Encoder.
// See:     tests/tools/input/compressed_output_test.py, read by the programs themselves.
#pragma once

#include <memory>
#include <string_view>

#include <bloomery/detail/engines/input/encoder.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

// Whether the name ends as one of those above, with something before it.
bool names_compressed(std::string_view path);
// nullptr: the name has none of these suffixes, so the output is not compressed.
Result<std::unique_ptr<Encoder>> open_compressor(std::string_view path);

}  // namespace bloomery::inline v0::detail

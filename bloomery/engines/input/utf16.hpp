// UTF-16 as UTF-8: what Windows programs export.
//
// A character beyond U+FFFF is two units, a high surrogate (d800..dbff) and a low one (dc00..dfff).
// One without the other, or half a unit at the end, is an Error that names the line and the byte:
// a character that was replaced would make two different keys one.
// Threads: as Decoder.
#pragma once

#include <cstddef>
#include <memory>

#include <bloomery/detail/engines/input/decoder.hpp>

namespace bloomery::inline v0::detail {

enum class ByteOrder { little, big };

// `skipped`: bytes before what it will be given, for the places in sentences.
std::unique_ptr<Decoder> utf16_decoder(ByteOrder order, std::size_t skipped);

}  // namespace bloomery::inline v0::detail

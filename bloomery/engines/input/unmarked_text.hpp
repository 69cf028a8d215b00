// UTF-16 and UTF-32 without a byte order mark, told from text of single bytes and from UTF-8.
//
//    UTF-32   every four bytes are a character: at least two of them, no surrogate
//    UTF-16   every two bytes are a unit, surrogates in pairs, no U+0000; and one of
//             - three of four units are Latin: a zero beside them      a 00 b 00
//             - three of four have a high byte that no text has        Cyrillic 04, Thai 0e, ...
//             - three of four have one that few texts have, and there  Devanagari 09, Gujarati 0a
//               are newlines or blanks of two bytes
//             - the bytes are not UTF-8, newlines and blanks are of    Chinese, Japanese, Korean
//               two bytes, and less than nine of ten bytes are
//               printable ASCII
//
// Text without a zero byte is refused only by the second rule, so lines of Latin-1, Shift-JIS, GBK
// and KOI8 are text; so is UTF-8 with zero bytes in it, unless every second byte is a control
// character.
// Limits:  a UTF-16 text of Chinese, Japanese or Korean in one line, without a newline, blank or
//          digit in the bytes that are looked at, has no zero byte and is taken for text; so is a
//          short one whose bytes happen to be UTF-8. Those cannot be told from single bytes.
// Threads: pure.
#pragma once

#include <string_view>

namespace bloomery::inline v0::detail {

// "UTF-16LE", "UTF-16BE", "UTF-32LE" or "UTF-32BE"; empty: none of them. `all`: there are no more
// bytes than these.
std::string_view unmarked_encoding(std::string_view first_bytes, bool all);

// The bytes are the beginning of one, and the next few will tell.
bool may_become_unmarked(std::string_view first_bytes);

}  // namespace bloomery::inline v0::detail

// Input that is meant to be lines of text, whatever it comes in.
//
//    file --> decompressed --> UTF-16 as UTF-8, without a byte order mark --> lines
//                 |  |
//                 |  not text (not_text.hpp): an Error that names the format
//                 compressed twice: an Error
//
//    LineRules{.decode = open_text({.delimiter = "\n"})}
//
//    ef bb bf        UTF-8 with a mark: the mark does not belong to the first line
//    ff fe, fe ff    UTF-16 with a mark: decoded (utf16.hpp)
//    a 00 b 00       UTF-16 without one: an Error, unless lines end with a zero byte. At least
//                    three in four of the first units are such, and no other byte is zero
//
// Limits:  reading a pipe waits only until its first record is whole, so that a program that writes
//          a line and waits for the answer gets it. Fewer bytes than a magic has are text.
// Threads: as Decoder.
// See:     text_input_test.cpp; not_text_test.py, with files of the real programs.
#pragma once

#include <string>

#include <bloomery/detail/engines/input/decoder.hpp>

namespace bloomery::inline v0::detail {

struct TextRules {
  std::string delimiter = "\n";
  bool decompress = true;
  // The end of the sentence that refuses a file: how to have its bytes read as they are.
  std::string otherwise = {};
  // Who reads what a command prints, for advice such as "unzip -p FILE | bloomery ...".
  std::string reader = {};
};

OpenDecoder open_text(TextRules rules = {});

}  // namespace bloomery::inline v0::detail

// Bytes that are hard to type, in every flag that takes some:
//
//    \n \t \r \0 \\   newline, tab, carriage return, zero, backslash
//    \xHH              the byte with these two hexadecimal digits
//
// Any other escape is refused: taken as it stands, it would be a delimiter that no line has. A
// backslash that nothing follows is one.
#pragma once

#include <string>
#include <string_view>

namespace bloomery::cli {

// Refuses an empty text: no flag can mean it.
std::string unescaped(std::string_view flag, std::string_view text);

}  // namespace bloomery::cli

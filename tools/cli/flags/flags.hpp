// Flags that several commands share, under the same names and with the same meaning everywhere.
//
// xxx_flags() gives the table; what the words in it mean is read by xxx_of(), whose refusals are
// sentences.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <bloomery/detail/engines/input/decoder.hpp>
#include <bloomery/detail/sets/plan.hpp>
#include <bloomery/hash.hpp>
#include <tools/inside.hpp>

#include <tools/cli/report/messages.hpp>

#include "flag.hpp"

namespace bloomery::cli {

// The false-positive rate where none is given: one absent key in a million passes.
inline constexpr double default_rate = 1e-6;

// -n, -p, -m as typed.
struct SizeFlags {
  Word keys;
  Word rate;
  Word memory;
};
// What --help says of them, where commands differ.
struct SizeTexts {
  std::string rate;
  std::string memory = "most memory for the set: 512M, 2G (binary units)";
};
Flags size_flags(SizeFlags& flags, const SizeTexts& texts);
// What was given; the rest stays 0.
Want want_of(const SizeFlags& flags);

enum class Crlf { keep, strip };

// How bytes become lines.
struct LineFlags {
  bool null = false;
  Word delimiter;
  Word crlf;
  Word decompress;
  bool text = false;
};
Flags line_flags(LineFlags& flags);
Flag crlf_flag(LineFlags& flags, const std::string& text);
// One newline unless told otherwise.
std::string delimiter_of(const LineFlags& flags);
// What makes lines of a file: compressed, in UTF-16, with a byte order mark. Refuses what is not
// text. Unless told to read bytes as they are.
OpenDecoder decoder_of(const LineFlags& flags);
// Of files that are not text: compressed or not.
OpenDecoder binary_decoder_of(const LineFlags& flags);
Crlf crlf_of(const LineFlags& flags, Crlf otherwise);

struct HashFlags {
  Word seed;
  bool hardened = false;
  Word key_file;
};
Flags hash_flags(HashFlags& flags);
Flag key_file_flag(Word& key_file);
// The hash these flags ask for; a hardened one without a key file gets a fresh key from the system.
Hasher hasher_of(const HashFlags& flags);
// 32 hexadecimal digits, or 16 bytes as they are.
SecretKey read_key_file(const std::string& path);

// How a command speaks while and after it works.
struct SpeechFlags {
  bool json = false;
  Word colour;
  Word progress;
};
Flags speech_flags(SpeechFlags& flags);
Flag progress_flag(SpeechFlags& flags);
// Sets the colour; every command does this first.
void obey(const SpeechFlags& flags, Messages& messages);
When progress_of(const SpeechFlags& flags);
// For commands that print data while the bar is drawn: by itself none where both would share a
// terminal.
When progress_beside_data(const SpeechFlags& flags);

}  // namespace bloomery::cli

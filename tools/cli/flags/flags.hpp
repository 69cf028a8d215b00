// Flags that several commands share, under the same names and with the same meaning everywhere.
//
// CLI11 only collects the words; the values are read here, so that every refusal is a sentence of
// ours.
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

namespace CLI {
class App;
}

namespace bloomery::cli {

using Word = std::optional<std::string>;

// -n, -p, -m as typed.
struct SizeFlags {
  Word keys;
  Word rate;
  Word memory;
};
void add_size_flags(CLI::App& parser, SizeFlags& flags, const std::string& rate_text);
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
void add_line_flags(CLI::App& parser, LineFlags& flags);
void add_crlf_flag(CLI::App& parser, LineFlags& flags, const std::string& text);
// One newline unless told otherwise.
std::string delimiter_of(const LineFlags& flags);
// What makes lines of a file: compressed, in UTF-16, with a byte order mark. Refuses what is no
// text. Unless told to read bytes as they are.
OpenDecoder decoder_of(const LineFlags& flags);
// Of files that are no text: compressed or not.
OpenDecoder binary_decoder_of(const LineFlags& flags);
Crlf crlf_of(const LineFlags& flags, Crlf otherwise);

struct HashFlags {
  Word seed;
  bool hardened = false;
  Word key_file;
};
void add_hash_flags(CLI::App& parser, HashFlags& flags);
void add_key_file_flag(CLI::App& parser, Word& key_file);
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
void add_speech_flags(CLI::App& parser, SpeechFlags& flags);
void add_progress_flag(CLI::App& parser, SpeechFlags& flags);
// Sets the colour; every command does this first.
void obey(const SpeechFlags& flags, Messages& messages);
When progress_of(const SpeechFlags& flags);
// For commands that print data while the bar is drawn: by itself none where both would share a
// terminal.
When progress_beside_data(const SpeechFlags& flags);

}  // namespace bloomery::cli

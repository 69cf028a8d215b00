#include "flags.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <cctype>
#include <cstring>
#include <fstream>
#include <string_view>

#include <bloomery/engines/input/text_input.hpp>
#include <bloomery/error.hpp>
#include <bloomery/text/decompress.hpp>

#include <tools/cli/report/refuse.hpp>
#include <tools/cli/report/units.hpp>

#include "escapes.hpp"
#include "suggest.hpp"

namespace bloomery::cli {
namespace {

When when_of(std::string_view flag, const Word& word) {
  if (!word || *word == "auto") return When::automatic;
  if (*word == "always") return When::always;
  if (*word == "never") return When::never;
  refuse(unknown_value(flag, *word, std::vector<std::string>{"auto", "always", "never"}));
}

// Sixteen bytes, lowest first, as the two words of a key.
SecretKey key_from_bytes(const unsigned char* bytes) {
  SecretKey key;
  std::memcpy(&key.low, bytes, sizeof key.low);
  std::memcpy(&key.high, bytes + sizeof key.low, sizeof key.high);
  return key;
}

SecretKey fresh_key() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes))
    refuse("the system gives no random bytes for a hardened hash");
  return key_from_bytes(bytes);
}

int digit_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  const int lower = std::tolower(static_cast<unsigned char>(digit));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Empty if the text is not 32 hexadecimal digits; one newline after them is forgiven.
std::optional<SecretKey> key_from_digits(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.size() != 32) return std::nullopt;
  unsigned char bytes[16];
  for (std::size_t i = 0; i < sizeof bytes; ++i) {
    const int high = digit_value(text[2 * i]);
    const int low = digit_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return key_from_bytes(bytes);
}

}  // namespace

void add_size_flags(CLI::App& parser, SizeFlags& flags, const std::string& rate_text) {
  parser.add_option("-n,--keys", flags.keys, "distinct keys to expect: 10M, 1e9")->type_name("N");
  parser.add_option("-p,--rate", flags.rate, rate_text)->type_name("RATE");
  parser
      .add_option("-m,--memory", flags.memory, "most memory for the set: 512M, 2G (binary units)")
      ->type_name("MEM");
}

Want want_of(const SizeFlags& flags) {
  Want want;
  if (flags.keys) want.keys = parse_keys("--keys", *flags.keys).value();
  if (flags.rate) want.rate = parse_rate("--rate", *flags.rate).value();
  if (flags.memory) want.memory_bytes = parse_memory("--memory", *flags.memory).value();
  return want;
}

void add_line_flags(CLI::App& parser, LineFlags& flags) {
  parser.add_flag("-0,--null", flags.null, "lines end with a zero byte, not with a newline");
  parser
      .add_option("-d,--delimiter", flags.delimiter,
                  "lines end with these bytes; \\n \\t \\r \\0 \\\\ \\xHH are understood")
      ->type_name("STR");
  parser
      .add_option("--decompress", flags.decompress,
                  "auto reads gzip, bzip2, xz, zstd and lz4; never: bytes as they are")
      ->type_name("auto|never");
  parser.add_flag("--text", flags.text,
                  "read bytes as they are: archives too, no UTF-16, byte order marks kept");
}

void add_crlf_flag(CLI::App& parser, LineFlags& flags, const std::string& text) {
  parser.add_option("--crlf", flags.crlf, text)->type_name("keep|strip");
}

std::string delimiter_of(const LineFlags& flags) {
  if (flags.null && flags.delimiter) refuse("--null and --delimiter both say how a line ends");
  if (flags.null) return std::string(1, '\0');
  return flags.delimiter ? unescaped("--delimiter", *flags.delimiter) : "\n";
}

namespace {

bool decompresses(const LineFlags& flags) {
  if (!flags.decompress || *flags.decompress == "auto") return true;
  if (*flags.decompress == "never") return false;
  refuse(
      unknown_value("--decompress", *flags.decompress, std::vector<std::string>{"auto", "never"}));
}

}  // namespace

OpenDecoder decoder_of(const LineFlags& flags) {
  if (flags.text) return binary_decoder_of(flags);
  return open_text({.delimiter = delimiter_of(flags),
                    .decompress = decompresses(flags),
                    .otherwise = "--text reads the bytes as they are"});
}

OpenDecoder binary_decoder_of(const LineFlags& flags) {
  if (!decompresses(flags)) return nullptr;
  return open_decompressor;
}

Crlf crlf_of(const LineFlags& flags, Crlf otherwise) {
  if (!flags.crlf) return otherwise;
  if (*flags.crlf == "keep") return Crlf::keep;
  if (*flags.crlf == "strip") return Crlf::strip;
  refuse(unknown_value("--crlf", *flags.crlf, std::vector<std::string>{"keep", "strip"}));
}

void add_hash_flags(CLI::App& parser, HashFlags& flags) {
  parser.add_option("--seed", flags.seed, "seed of the fast hash; 0 by default")->type_name("N");
  parser.add_flag("--hardened", flags.hardened,
                  "keyed hash, for keys that an opponent may choose; a fresh secret key");
}

void add_key_file_flag(CLI::App& parser, Word& key_file) {
  parser
      .add_option("--key-file", key_file,
                  "the secret key of a hardened hash: 32 hex digits or 16 bytes")
      ->type_name("FILE");
}

Hasher hasher_of(const HashFlags& flags) {
  if (flags.seed && (flags.hardened || flags.key_file))
    refuse("--seed is for the fast hash; a hardened hash has a secret key instead");
  if (flags.key_file) return Hasher::hardened(read_key_file(*flags.key_file));
  if (flags.hardened) return Hasher::hardened(fresh_key());
  return Hasher(flags.seed ? parse_seed("--seed", *flags.seed).value() : 0);
}

SecretKey read_key_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  // Anything longer than a key with its newline is not a key; do not read it all.
  char bytes[64];
  file.read(bytes, sizeof bytes);
  if (!file.is_open() || file.bad())
    refuse(fmt::format("the key file {} cannot be read: {}", path, std::strerror(errno)));
  const std::string_view text(bytes, static_cast<std::size_t>(file.gcount()));
  if (text.size() == 16) return key_from_bytes(reinterpret_cast<const unsigned char*>(bytes));
  if (const auto key = key_from_digits(text)) return *key;
  refuse(fmt::format("{}: a key file holds 32 hexadecimal digits or 16 bytes", path));
}

void add_speech_flags(CLI::App& parser, SpeechFlags& flags) {
  parser.add_flag("--json", flags.json, "the report as one JSON object");
  parser.add_option("--color", flags.colour, "colours in messages")->type_name("auto|always|never");
}

void add_progress_flag(CLI::App& parser, SpeechFlags& flags) {
  parser.add_option("--progress", flags.progress, "a progress bar on standard error")
      ->type_name("auto|always|never");
}

void obey(const SpeechFlags& flags, Messages& messages) {
  messages.set_colour(when_of("--color", flags.colour));
}

When progress_of(const SpeechFlags& flags) { return when_of("--progress", flags.progress); }

When progress_beside_data(const SpeechFlags& flags) {
  const When when = progress_of(flags);
  return when == When::automatic && isatty(STDOUT_FILENO) == 1 ? When::never : when;
}

}  // namespace bloomery::cli

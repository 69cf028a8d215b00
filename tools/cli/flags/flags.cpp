#include "flags.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

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

Flags size_flags(SizeFlags& flags, const SizeTexts& texts) {
  return {
      {"-n,--keys", "N", "distinct keys to expect: 10M, 1e9", &flags.keys},
      {"-p,--rate", "RATE", texts.rate, &flags.rate},
      {"-m,--memory", "MEM", texts.memory, &flags.memory},
  };
}

Want want_of(const SizeFlags& flags) {
  Want want;
  if (flags.keys) want.keys = parse_keys("--keys", *flags.keys).value();
  if (flags.rate) want.rate = parse_rate("--rate", *flags.rate).value();
  if (flags.memory) want.memory_bytes = parse_memory("--memory", *flags.memory).value();
  return want;
}

Flags line_flags(LineFlags& flags) {
  return {
      {"-0,--null", "", "lines end with a zero byte, not with a newline", &flags.null},
      {"-d,--delimiter", "STR",
       "lines end with these bytes; \\n \\t \\r \\0 \\\\ \\xHH are understood", &flags.delimiter},
      {"--decompress", "auto|never",
       "auto reads gzip, bzip2, xz, zstd and lz4; never: bytes as they are", &flags.decompress},
      {"--text", "", "read bytes as they are: archives too, no UTF-16, byte order marks kept",
       &flags.text},
  };
}

Flag crlf_flag(LineFlags& flags, const std::string& text) {
  return {"--crlf", "keep|strip", text, &flags.crlf};
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
                    .otherwise = "--text reads the bytes as they are",
                    .reader = "bloomery ..."});
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

Flags hash_flags(HashFlags& flags) {
  return {
      {"--seed", "N", "seed of the fast hash; 0 by default", &flags.seed},
      {"--hardened", "", "keyed hash, for keys that an opponent may choose; a fresh secret key",
       &flags.hardened},
  };
}

Flag key_file_flag(Word& key_file) {
  return {"--key-file", "FILE", "the secret key of a hardened hash: 32 hex digits or 16 bytes",
          &key_file};
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

Flags speech_flags(SpeechFlags& flags) {
  return {
      {"--json", "", "the report as one JSON object", &flags.json},
      {"--color", "auto|always|never", "colours in messages", &flags.colour},
  };
}

Flag progress_flag(SpeechFlags& flags) {
  return {"--progress", "auto|always|never", "a progress bar on standard error", &flags.progress};
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

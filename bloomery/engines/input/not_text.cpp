#include <bloomery/engines/input/not_text.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace bloomery::inline v0::detail {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t tar_header_bytes = 512;
constexpr std::size_t tar_name_bytes = 100;

// Asked about bytes that begin with the magic and are as many as it said it needs.
using More = bool (*)(std::string_view bytes);

struct Format {
  std::string_view magic;
  std::string_view what;
  std::string_view advice;
  std::size_t needs = 0;  // bytes that `more` looks at; 0: the magic is enough
  More more = nullptr;
};

constexpr std::uint8_t byte_at(std::string_view bytes, std::size_t place) {
  return static_cast<std::uint8_t>(bytes[place]);
}

std::uint32_t word_at(std::string_view bytes, std::size_t place) {
  std::uint32_t word = 0;
  for (std::size_t i = 4; i-- > 0;) word = word << 8 | byte_at(bytes, place + i);
  return word;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "%PDF-1.7" on a line of its own.
bool is_pdf(std::string_view bytes) {
  return is_digit(bytes[5]) && bytes[6] == '.' && is_digit(bytes[7]) &&
         (bytes[8] == '\r' || bytes[8] == '\n');
}

// After the three letters comes a stream of integers or a compressed chunk: no text.
bool is_orc(std::string_view bytes) {
  return std::any_of(bytes.begin() + 3, bytes.begin() + 32,
                     [](char c) { return static_cast<std::uint8_t>(c) < 0x09; });
}

bool is_elf(std::string_view bytes) { return bytes[4] == 1 || bytes[4] == 2; }

// "REDIS0011" and an opcode.
bool is_redis_dump(std::string_view bytes) {
  return std::all_of(bytes.begin() + 5, bytes.begin() + 9, is_digit) && byte_at(bytes, 9) >= 0xf0;
}

// Each member of an archive has a head of 60 bytes that ends so.
bool is_ar(std::string_view bytes) { return bytes.substr(66, 2) == "`\n"; }

// A stream of Arrow messages: the length of the first, which is padded to eight bytes.
bool is_arrow_stream(std::string_view bytes) {
  const std::uint32_t length = word_at(bytes, 4);
  return length > 0 && length % 8 == 0 && length < std::uint32_t{1} << 24;
}

// A block of up to 8 MiB, compressed.
bool is_legacy_lz4(std::string_view bytes) {
  const std::uint32_t length = word_at(bytes, 4);
  return length > 0 && length <= std::uint32_t{8} * 1024 * 1024 + 32904;
}

constexpr std::string_view zip_advice = "print what is in it: unzip -p FILE |";
constexpr std::string_view rar_advice = "print what is in it: unrar p -inul FILE |";
constexpr std::string_view arrow_advice = "write its rows as CSV or JSON lines first";

constexpr Format formats[] = {
    {"PK\x03\x04"sv, "a zip archive (or made as one: xlsx, docx, jar)", zip_advice},
    {"PK\x05\x06"sv, "an empty zip archive", zip_advice},
    {"PK\x07\x08"sv, "a part of a zip archive", zip_advice},
    {"PAR1\x15"sv, "a Parquet file",
     "print its rows first: duckdb -csv -c \"from 'FILE'\" |, and read them as CSV"},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7z archive", "print what is in it: 7z x -so FILE |"},
    {"Rar!\x1a\x07\x00"sv, "a rar archive", rar_advice},
    {"Rar!\x1a\x07\x01\x00"sv, "a rar archive", rar_advice},
    {"SQLite format 3\x00"sv, "an SQLite database",
     "print a column of it: sqlite3 FILE 'select ...' |"},
    {"%PDF-"sv, "a PDF document", "print its text: pdftotext FILE - |", 9, is_pdf},
    {"ORC"sv, "an ORC file", "print its rows first: orc-contents FILE |", 32, is_orc},
    {"Obj\x01"sv, "an Avro file", "print its rows first: avro cat FILE |"},
    {"ARROW1\x00\x00"sv, "an Arrow (Feather) file", arrow_advice},
    {"FEA1\x00\x00\x00\x00"sv, "a Feather file", arrow_advice},
    {"\xff\xff\xff\xff"sv, "a stream of Arrow messages", arrow_advice, 8, is_arrow_stream},
    {"\x7f"
     "ELF"sv,
     "a program or a library (ELF)", "print the texts in it: strings FILE |", 5, is_elf},
    {"\x89"
     "BLMY\r\n\x1a"sv,
     "a set file of bloomery", "open it as a set"},
    {"REDIS"sv, "a dump of a Redis server (RDB)", "ask the server: redis-cli --scan |", 10,
     is_redis_dump},
    {"\xff\xfe\x00\x00"sv, "UTF-32 text", "convert it: iconv -f UTF-32 -t UTF-8 FILE |"},
    {"\x00\x00\xfe\xff"sv, "UTF-32 text", "convert it: iconv -f UTF-32 -t UTF-8 FILE |"},
    {"\x02\x21\x4c\x18"sv, "lz4 in its legacy format", "decode it: lz4 -dc FILE |", 8,
     is_legacy_lz4},
    {"\x1f\x9d\x90"sv, "compressed by compress (.Z)", "decode it: gzip -dc FILE |"},
    {"LZIP\x01"sv, "compressed by lzip", "decode it: lzip -dc FILE |"},
    {"\x89LZO\x00\r\n\x1a\n"sv, "compressed by lzop", "decode it: lzop -dc FILE |"},
    {"\xff\x06\x00\x00sNaPpY"sv, "compressed by Snappy", "decode it: snzip -dc FILE |"},
    {"\x93NUMPY"sv, "an array of NumPy", "write it as text first: numpy.savetxt"},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file", "write a column of it as text first: h5dump"},
    {"!<arch>\n"sv, "an ar archive (a .deb package or a static library)",
     "print what is in it: ar p FILE MEMBER |", 68, is_ar},
    {"\xed\xab\xee\xdb"sv, "an rpm package", "print what is in it: rpm2archive FILE"},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, "an old Word or Excel document",
     "save it as CSV or as text first"},
};

// The sum of all bytes of the header, those of the sum itself taken for blanks.
bool is_tar(std::string_view header) {
  constexpr std::size_t sum_at = 148;
  constexpr std::size_t sum_bytes = 8;
  std::string_view digits = header.substr(sum_at, sum_bytes);
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  std::uint32_t told = 0;
  const auto [stop, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), told, 8);
  if (wrong != std::errc{} || header[0] == '\0') return false;
  std::uint32_t sum = sum_bytes * ' ';
  for (std::size_t i = 0; i < tar_header_bytes; ++i)
    if (i < sum_at || i >= sum_at + sum_bytes) sum += byte_at(header, i);
  return told == sum;
}

// A name, zeros up to the end of its field, and octal digits.
bool may_become_tar(std::string_view bytes) {
  const std::string_view name = bytes.substr(0, tar_name_bytes);
  const std::size_t end = name.find('\0');
  if (end == 0) return false;
  if (end != std::string_view::npos && name.find_first_not_of('\0', end) != std::string_view::npos)
    return false;
  const std::string_view mode = bytes.substr(name.size(), 8);
  return mode.find_first_not_of("01234567 \0"sv) == std::string_view::npos;
}

}  // namespace

NotText find_not_text(std::string_view first_bytes, bool all) {
  NotText found;
  for (const Format& format : formats) {
    const std::size_t known = std::min(first_bytes.size(), format.magic.size());
    if (first_bytes.substr(0, known) != format.magic.substr(0, known)) continue;
    if (first_bytes.size() < std::max(format.magic.size(), format.needs))
      found.unsure = !all;
    else if (format.more == nullptr || format.more(first_bytes))
      return {format.what, format.advice};
  }
  if (first_bytes.size() < tar_header_bytes)
    found.unsure = found.unsure || (!all && may_become_tar(first_bytes));
  else if (is_tar(first_bytes))
    return {"a tar archive", "print what is in it: tar -xOf FILE |"};
  return found;
}

}  // namespace bloomery::inline v0::detail

#include "dedup_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <tools/cli/input/inputs.hpp>
#include <tools/cli/report/units.hpp>

#include "command.hpp"

namespace bloomery::cli {

std::uint64_t bytes_of_whole_lines(const std::string& path, std::string_view delimiter) {
  constexpr std::uint64_t step = 1 << 16;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return 0;
  std::uint64_t end = static_cast<std::uint64_t>(file.tellg());
  std::string chunk;
  while (end > 0) {
    const std::uint64_t begin = end > step ? end - step : 0;
    chunk.resize(end - begin);
    file.seekg(static_cast<std::streamoff>(begin));
    if (!file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()))) break;
    const std::size_t last = chunk.rfind(delimiter);
    if (last != std::string::npos) return begin + last + delimiter.size();
    // A delimiter may lie across two steps.
    end = begin == 0 ? 0 : begin + delimiter.size() - 1;
  }
  return 0;
}

std::uint64_t size_of(const std::string& path) {
  std::error_code failed;
  const bool exists = std::filesystem::exists(path, failed);
  const std::uint64_t bytes = exists ? std::filesystem::file_size(path, failed) : 0;
  if (failed) refuse(fmt::format("{} cannot be looked at: {}", path, failed.message()));
  return bytes;
}

void warn_of_unended(const std::vector<WrittenOutput>& outputs, const std::string& state,
                     Messages& messages) {
  constexpr std::size_t most_told = 3;
  for (std::size_t i = 0; i < std::min(outputs.size(), most_told); ++i)
    messages.warning(fmt::format(
        "the last run that wrote {} did not end; {} knows its first {} bytes, and the lines after "
        "them come again. Run it again, or cut it: truncate -s {} {}",
        outputs[i].path, state, outputs[i].bytes, outputs[i].bytes, outputs[i].path));
  if (outputs.size() > most_told)
    messages.warning(fmt::format("so it is with {} more outputs of {}",
                                 print_count(outputs.size() - most_told), state));
}

void put_in_place(LineWriter& out, const FileWatch& watch) {
  const std::string& path = out.name();
  if (!watch.names(path) || !watch.expect_unchanged(path))
    refuse(
        fmt::format("{} was changed by another program while it was read, and is left as it is "
                    "now; run again when nobody writes to it",
                    path));
  close_output(out);
  if (!watch.expect_unchanged(path))
    refuse(
        fmt::format("{} was changed by another program in the moment in which it was replaced; "
                    "what was written to the old file then is lost",
                    path));
}

void add_up(DedupReport& sum, const DedupReport& more) {
  sum.lines_in += more.lines_in;
  sum.lines_out += more.lines_out;
  sum.repeats += more.repeats;
  sum.no_key += more.no_key;
  sum.empty += more.empty;
  sum.bytes_in += more.bytes_in;
  sum.file_bytes_in += more.file_bytes_in;
  sum.memory_bytes = more.memory_bytes;
  sum.rate_now = more.rate_now;
  sum.expected_lost += more.expected_lost;
}

std::string header_of(const std::string& path, LineRules rules) {
  rules.decode = nullptr;
  auto reader = LineReader::open(path, rules).value();
  static_cast<void>(reader.next().value());
  return reader.header();
}

}  // namespace bloomery::cli

#include "list_set.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <bloomery/image.hpp>

#include <tools/cli/flags/key_flags.hpp>
#include <tools/cli/input/input_keys.hpp>
#include <tools/cli/input/line_feed.hpp>
#include <tools/cli/input/source_text.hpp>
#include <tools/cli/report/refuse.hpp>

#include "remote_set.hpp"

namespace bloomery::cli {
namespace {

// The magic of a set file, up to the byte that ends a line in it.
constexpr std::string_view magic_line =
    "\x89"
    "BLMY";

// Whether these bytes are not text. Zero bytes are in every set file and almost every other binary
// one; where they end lines, the other bytes that no text has must tell.
bool looks_binary(std::string_view line, std::string_view delimiter) {
  if (delimiter.find('\0') == std::string_view::npos)
    return line.find('\0') != std::string_view::npos;
  return std::any_of(line.begin(), line.end(), [](char c) { return c >= '\x01' && c <= '\x08'; });
}

void expect_text(Lines lines, const Inputs& inputs, std::string_view delimiter) {
  const std::uint64_t first = inputs.first_line();
  if (first == 1 && !lines.empty() && lines.front().starts_with(magic_line))
    refuse(fmt::format("{} holds a set file, compressed or in a pipe; a set has to be a plain file",
                       inputs.name()));
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (looks_binary(lines[i], delimiter))
      refuse(
          fmt::format("{} is neither a set file nor a list of lines: line {} has bytes that do not "
                      "occur in text",
                      inputs.name(), first + i));
}

// A list with other ends of lines than -0 or -d say would be one long key, and match nothing.
bool is_one_of_many(Lines lines, std::string_view delimiter) {
  return delimiter != "\n" && lines.size() == 1 && lines[0].find('\n') != std::string_view::npos;
}

// Nobody can tell a set file that was cut off from a list without lines, and with the former every
// answer would be wrong.
void expect_bytes(const std::string& path) {
  std::error_code unseen;
  if (path == "-" || !std::filesystem::is_regular_file(path, unseen)) return;
  if (std::filesystem::file_size(path, unseen) == 0)
    refuse(
        fmt::format("{0} is empty: a set file that was cut off, or a list without lines. Restore "
                    "it, or, if it is a list, pipe it in, as in <(cat {0})",
                    path));
}

}  // namespace

bool is_list(const std::string& path) {
  if (is_remote(path)) return false;
  if (path == "-") return true;
  std::error_code unseen;
  const auto status = std::filesystem::status(path, unseen);
  // What is missing or a directory is told by who opens it.
  if (!std::filesystem::exists(status) || std::filesystem::is_directory(status)) return false;
  if (!std::filesystem::is_regular_file(status)) return true;
  const auto image = open_image(path, {.verify = Verify::header});
  return !image && image.error().code == Code::not_ours;
}

SetFile read_list(const std::string& path, const ListRules& rules, Messages& messages) {
  expect_bytes(path);
  const FieldCutter whole_lines;
  LineRules reading = line_rules_of(rules.lines, whole_lines);
  reading.strip_cr = rules.strip_cr;
  InputKeys keys({whole_lines, rules.normalizer});
  AnySet set =
      AnySet::make("hash-set", {}, hasher_of({.seed = {}, .hardened = true, .key_file = {}}))
          .value();
  bool one_of_many = false;
  const std::vector<std::string> files = {path};
  const auto add = [&](Lines lines, const Inputs& inputs) {
    expect_text(lines, inputs, reading.delimiter);
    one_of_many = inputs.first_line() == 1 && is_one_of_many(lines, reading.delimiter);
    set.add_all(keys.keys_of(lines, inputs)).value();
    return true;
  };
  const LinesRead read = each_batch({files, reading, When::never}, messages, add);
  if (read.lines == 0)
    messages.warning(fmt::format("{} is a list without lines, and nothing matches it",
                                 path == "-" ? "standard input" : path));
  if (one_of_many)
    messages.warning(
        fmt::format("{} is one line with newlines in it, since --null or --delimiter is for lists "
                    "too",
                    path));
  set.rules().strip_cr = rules.strip_cr;
  set.rules().made_from = source_text(whole_lines, reading, WholeLines::list);
  if (rules.normalizer) set.rules().normalisation = rules.normalizer->name();
  return {std::move(set)};
}

void expect_stdin_once(const std::vector<std::string>& sets,
                       const std::vector<std::string>& files) {
  const auto lists = std::count(sets.begin(), sets.end(), "-");
  if (lists == 0) return;
  const auto inputs = files.empty() ? 1 : std::count(files.begin(), files.end(), "-");
  if (lists + inputs > 1)
    refuse(
        "standard input can be read only once, as a list (-) or as the lines that are asked "
        "about; name a file for one of them");
  if (isatty(STDIN_FILENO) == 1)
    refuse("standard input, named as a list (-), is a terminal; name a file or pipe the list in");
}

}  // namespace bloomery::cli

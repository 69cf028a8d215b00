#include "inputs.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include <bloomery/detail/engines/input/input_file.hpp>
#include <bloomery/engines/input/compress.hpp>
#include <bloomery/file.hpp>
#include <bloomery/image.hpp>

#include <tools/cli/report/refuse.hpp>
#include <tools/cli/sets/mapped_set.hpp>
#include <tools/cli/sets/remote_set.hpp>

namespace bloomery::cli {
namespace {

// The library does not know what the flag is called.
[[noreturn]] void refuse_output(const std::string& path, const Error& error) {
  if (error.code != Code::exists) throw Failure(error);
  throw Failure(Error{error.code, path + " exists; --force replaces it"});
}

using FileNumber = std::pair<dev_t, ino_t>;

// Of a regular file; "-" is the standard input.
std::optional<FileNumber> number_of(const std::string& path) {
  struct stat facts {};
  const int failed = path == "-" ? fstat(STDIN_FILENO, &facts) : stat(path.c_str(), &facts);
  if (failed != 0 || !S_ISREG(facts.st_mode)) return {};
  return FileNumber{facts.st_dev, facts.st_ino};
}

std::map<FileNumber, std::string>& noted_inputs() {
  static std::map<FileNumber, std::string> noted;
  return noted;
}

}  // namespace

void note_input(const std::string& path) {
  const auto number = number_of(path);
  if (!number) return;
  const std::string name = path == "-" ? "standard input" : path;
  struct stat out {};
  if (fstat(STDOUT_FILENO, &out) == 0 && FileNumber{out.st_dev, out.st_ino} == *number)
    refuse(fmt::format(
        "{} is read and is the standard output too, so what is written would be read "
        "again or be lost; write to another file{}",
        name, out.st_size == 0 ? " (the shell has emptied it already if it was '>')" : ""));
  noted_inputs().try_emplace(*number, name);
}

void expect_not_input(const std::string& output) {
  const auto number = number_of(output);
  if (!number || output == "-") return;
  if (const auto found = noted_inputs().find(*number); found != noted_inputs().end())
    refuse(fmt::format("{} is an input{}; give the output another name", output,
                       found->second == output ? "" : ", " + found->second));
}

void expect_input(const std::vector<std::string>& files, std::string_view command) {
  const auto stdins = std::count(files.begin(), files.end(), "-");
  if (stdins > 1) refuse("standard input (-) is named more than once, and can be read only once");
  if ((files.empty() || stdins == 1) && isatty(STDIN_FILENO) == 1)
    refuse(
        fmt::format("standard input is a terminal; name a FILE or pipe lines in, as in "
                    "'bloomery {0} FILE'; 'bloomery {0} -h' helps",
                    command));
  check_readable(files).value();
  if (files.empty()) note_input("-");
  for (const std::string& path : files) note_input(path);
}

void expect_text(const std::vector<std::string>& files, const LineFlags& lines) {
  const OpenDecoder decode = decoder_of(lines);
  for (const std::string& path : files)
    if (path != "-" && all_regular({path}))
      static_cast<void>(InputFile::open(path, decode).value());
}

void expect_lines(const std::vector<std::string>& files) {
  for (const std::string& path : files) {
    std::error_code unseen;
    if (path == "-" || !std::filesystem::is_regular_file(path, unseen)) continue;
    if (is_image(path))
      refuse(fmt::format(
          "{} is a set file, and lines are wanted; 'bloomery merge union' joins sets", path));
  }
}

void expect_apart(const std::string& output, const std::vector<std::string>& files) {
  const auto number = number_of(output);
  std::vector<std::string> inputs = files;
  if (inputs.empty()) inputs.push_back("-");
  for (const std::string& path : inputs)
    if (number && number_of(path) == number)
      refuse(fmt::format("{} is an input, and would be replaced by the set; give -o another name",
                         output));
}

Flags output_flags(OutputFlags& flags) {
  return {
      {"-o,--output", "FILE",
       "write to this file; compressed if it ends in .gz, .bz2, .xz, .zst, .lz4", &flags.path},
      {"-f,--force", "", "replace the output file if there is one", &flags.force},
  };
}

LineWriter open_output(const OutputFlags& flags) {
  if (flags.path && is_remote(*flags.path))
    refuse("lines cannot be written to a Redis server; give -o a file name");
  if (!flags.path || *flags.path == "-") return LineWriter(STDOUT_FILENO, "standard output");
  expect_not_input(*flags.path);
  auto created =
      LineWriter::create(*flags.path, flags.force ? Overwrite::replace : Overwrite::refuse);
  if (!created) refuse_output(*flags.path, created.error());
  created->encode_with(open_compressor(*flags.path).value());
  return std::move(*created);
}

void expect_own_output(const Word& path, const std::vector<std::string>& read) {
  for (const std::string& one : read) {
    std::error_code unseen;
    if (path && std::filesystem::equivalent(one, *path, unseen))
      refuse(fmt::format("{} is read by this command; give -o another name", one));
  }
}

void refuse_compressed(const Word& path, std::string_view why) {
  if (!path || !names_compressed(*path)) return;
  refuse(fmt::format("{} would be compressed, because of its name, and {}", *path, why));
}

void close_output(LineWriter& out) {
  // Before a file appears under its name.
  expect_mapped_unchanged();
  if (const auto closed = out.close(); !closed) refuse_output(out.name(), closed.error());
}

void expect_creatable(const std::string& path, bool force) {
  // Makes a temporary file beside the target and drops it: no other question is as sure.
  const auto made = DurableFile::create(path, force ? Overwrite::replace : Overwrite::refuse);
  if (!made) refuse_output(path, made.error());
}

std::string set_output(const OutputFlags& flags, std::string_view command) {
  if (!flags.path) refuse(fmt::format("{} needs -o F, the set file to make", command));
  if (*flags.path == "-") refuse("a set file cannot go to standard output; give -o a file name");
  if (is_remote(*flags.path))
    refuse(fmt::format("{} makes files; only 'bloomery build -o' puts a set on a server", command));
  expect_creatable(*flags.path, flags.force);
  return *flags.path;
}

}  // namespace bloomery::cli

#include "inputs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>

#include <bloomery/engines/input_file.hpp>

#include "command.hpp"

namespace bloomery::cli {

void expect_input(const std::vector<std::string>& files, std::string_view command) {
  const bool reads_stdin =
      files.empty() || std::find(files.begin(), files.end(), "-") != files.end();
  if (reads_stdin && isatty(STDIN_FILENO) == 1)
    refuse(
        fmt::format("standard input is a terminal; name a FILE or pipe lines in, as in "
                    "'bloomery {0} FILE'; 'bloomery {0} -h' helps",
                    command));
  check_readable(files).value();
}

void add_output_flags(CLI::App& parser, OutputFlags& flags) {
  parser.add_option("-o,--output", flags.path, "write here instead of to standard output")
      ->type_name("FILE");
  parser.add_flag("-f,--force", flags.force, "replace the output file if there is one");
}

LineWriter open_output(const OutputFlags& flags) {
  if (!flags.path || *flags.path == "-") return LineWriter(STDOUT_FILENO, "standard output");
  auto created =
      LineWriter::create(*flags.path, flags.force ? Existing::replace : Existing::refuse);
  return std::move(created).value();
}

std::string quoted(std::string_view line) {
  constexpr std::size_t most_bytes = 40;
  std::string text = "'";
  for (const char c : line.substr(0, most_bytes)) {
    if (c >= ' ' && c <= '~')
      text += c;
    else
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text + (line.size() > most_bytes ? "'..." : "'");
}

}  // namespace bloomery::cli

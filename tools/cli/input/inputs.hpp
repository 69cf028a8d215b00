// What every command that reads lines and writes lines does before and after.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <bloomery/text/line_writer.hpp>

#include <tools/cli/flags/flags.hpp>

namespace bloomery::cli {

// Refuses files that cannot be read, and a standard input at which somebody would have to type:
// better a hint than a silent wait. Standard input can be given once: a pipe is empty the second
// time. `command` is for the hint.
void expect_input(const std::vector<std::string>& files, std::string_view command);

// Refuses files that are not text (text_input.hpp) before lines of those before them are printed. A
// pipe is looked at when its turn comes.
void expect_text(const std::vector<std::string>& files, const LineFlags& lines);

// Refuses a standard output, or a file to be written, that is one of the inputs or sets: what is
// read would be what was just written, or be lost. expect_input() tells of the lines, others here.
void note_input(const std::string& path);
void expect_not_input(const std::string& output);

// Refuses a set file where lines are wanted: its bytes would be taken for lines.
void expect_lines(const std::vector<std::string>& files);
// Refuses an output that is one of the inputs: it would be replaced by a set.
void expect_apart(const std::string& output, const std::vector<std::string>& files);

struct OutputFlags {
  Word path;
  bool force = false;
};
Flags output_flags(OutputFlags& flags);
// The file, compressed if its name says so, or the standard output.
LineWriter open_output(const OutputFlags& flags);
// Refuses an output that is one of the sets, inputs or lists that are read.
void expect_own_output(const Word& path, const std::vector<std::string>& read);
// Where compressed output cannot be. `why` ends the sentence, and says what to do.
void refuse_compressed(const Word& path, std::string_view why);
void close_output(LineWriter& out);
// Refuses now what could not be made later: building may take long.
void expect_creatable(const std::string& path, bool force);
// The set file that -o names, checked so. `command` is for the sentence.
std::string set_output(const OutputFlags& flags, std::string_view command);

}  // namespace bloomery::cli

// Everything that is not data goes through here to standard error.
//
//    bloomery: error: ...      bloomery: warning: ...      a report      the progress bar
//
// Colours only on a terminal, or with --color always; NO_COLOR (any value but the empty one) turns
// the automatic choice off. A bar that is on the screen is wiped before a sentence is written.
// Threads: any number may speak at once; the colour is set by one, before.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace bloomery::cli {

// What --color and --progress take.
enum class When { automatic, always, never };

class Messages {
 public:
  Messages();

  void set_colour(When when);
  bool on_terminal() const { return on_terminal_; }

  // One sentence without the final point; the program's name and the colour come by themselves.
  void error(std::string_view sentence);
  void warning(std::string_view sentence);
  // Text as it is.
  void plain(std::string_view text);

  // Draws over the bar that is there; an empty line wipes it.
  void bar(std::string_view line);
  // How many letters a bar may have: one that is wrapped by the terminal cannot be drawn over.
  std::size_t columns() const;

 private:
  void draw(std::string_view line);
  void say(std::string_view word, std::string_view colour, std::string_view sentence);

  bool on_terminal_;
  bool coloured_;
  bool bar_drawn_ = false;
  std::mutex speaking_;
};

// Text to standard output. A write that fails is found when main closes it.
void print_out(std::string_view text);

}  // namespace bloomery::cli

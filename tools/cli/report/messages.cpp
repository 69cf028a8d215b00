#include "messages.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>

namespace bloomery::cli {
namespace {

bool environment_forbids_colour() {
  const char* value = std::getenv("NO_COLOR");
  return value != nullptr && *value != '\0';
}

void write_stderr(std::string_view text) {
  // There is nobody to tell when this fails.
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

Messages::Messages() : on_terminal_(isatty(STDERR_FILENO) == 1) { set_colour(When::automatic); }

void Messages::set_colour(When when) {
  coloured_ = when == When::always ||
              (when == When::automatic && on_terminal_ && !environment_forbids_colour());
}

void Messages::error(std::string_view sentence) { say("error", "\033[1;31m", sentence); }

void Messages::warning(std::string_view sentence) { say("warning", "\033[1;33m", sentence); }

void Messages::plain(std::string_view text) {
  const std::lock_guard alone(speaking_);
  draw("");
  write_stderr(text);
}

void Messages::bar(std::string_view line) {
  const std::lock_guard alone(speaking_);
  draw(line);
}

std::size_t Messages::columns() const {
  constexpr std::size_t usual = 80;
  winsize size{};
  if (!on_terminal_ || ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return usual;
  return size.ws_col;
}

void Messages::draw(std::string_view line) {
  if (line.empty() && !bar_drawn_) return;
  write_stderr(fmt::format("\r{}\033[K", line));
  bar_drawn_ = !line.empty();
  std::fflush(stderr);
}

void Messages::say(std::string_view word, std::string_view colour, std::string_view sentence) {
  const std::lock_guard alone(speaking_);
  const std::string_view plain = coloured_ ? "\033[0m" : "";
  if (!coloured_) colour = "";
  try {
    draw("");
    // What was printed before the error must appear before it.
    std::fflush(stdout);
    write_stderr(fmt::format("bloomery: {}{}:{} {}\n", colour, word, plain, sentence));
  } catch (const std::bad_alloc&) {
    // Piece by piece: the sentence may be that there is not enough memory.
    for (const std::string_view piece :
         {std::string_view("bloomery: "), colour, word, std::string_view(":"), plain,
          std::string_view(" "), sentence, std::string_view("\n")})
      write_stderr(piece);
  }
}

void print_out(std::string_view text) { (void)std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace bloomery::cli

#include "serve_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <tools/cli/report/refuse.hpp>

namespace bloomery::cli {
namespace {

constexpr const char* token_variable = "BLOOMERY_TOKEN";
// 16 letters of a random text cannot be tried out over a network.
constexpr std::size_t fewest_letters = 16;
constexpr std::size_t most_letters = 256;

std::string first_line_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!file || (!std::getline(file, line) && !file.eof()))
    refuse(fmt::format("--token-file: {} cannot be read: {}", path, std::strerror(errno)));
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

std::string checked(const std::string& from, std::string token) {
  const bool plain = std::all_of(token.begin(), token.end(),
                                 [](char letter) { return letter > ' ' && letter <= '~'; });
  if (token.size() < fewest_letters || token.size() > most_letters || !plain)
    refuse(
        fmt::format("{}: a token is {} to {} letters, digits and signs without spaces, such as "
                    "openssl rand -hex 16 prints",
                    from, fewest_letters, most_letters));
  return token;
}

}  // namespace

std::string token_of(const Word& token, const Word& token_file) {
  if (token && token_file) refuse("--token and --token-file exclude each other");
  if (token) return checked("--token", *token);
  if (token_file) return checked("--token-file " + *token_file, first_line_of(*token_file));
  const char* const given = std::getenv(token_variable);
  return given == nullptr || *given == '\0' ? "" : checked(token_variable, given);
}

}  // namespace bloomery::cli

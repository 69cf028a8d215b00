// The words of a command line that are not flags: file names, mostly.
//
//    dedup -fo out a '[b,c]' -- -d     flags: -fo out     operands: a  [b,c]  -d
//
// CLI11 never sees them. It would read '[b,c]' as the list of b and c, 'build' in the middle of a
// line as one more command, and '++' as the end of one; a file of that name would be another file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "flag.hpp"

namespace bloomery::cli {

// Where the operands of a command go.
struct Operands {
  struct Single {
    std::string name;  // as the usage calls it
    std::string* into;
    std::vector<std::string> words = {};  // what it may be; empty: the name of a file
  };
  std::vector<Single> needed = {};  // one word each, before all others
  std::vector<std::string>* rest = nullptr;
  std::string needed_rest = {};  // the name of the rest if there must be at least one; else empty
  const std::vector<std::string>* unless = nullptr;  // words of a flag that stand for the needed

  // One needed word, then `more`. A list of words in braces inside of a Command would be shorter,
  // but GCC 12 destroys a vector that is not yet there when its memory is refused.
  static Operands after(Single first, Operands more);

  // Refuses a word that is missing or one too many; `command` is for the sentence.
  void take(std::span<const std::string> words, const std::string& command) const;
};

struct Words {
  std::vector<std::string> flags;  // each with its value, as CLI11 wants them
  std::vector<std::string> operands;
};
// A flag that is unknown stays among the flags, for CLI11 to refuse.
Words split_words(std::span<char*> words, const Flags& flags);

}  // namespace bloomery::cli

// How the command says no: main prints the sentence and exits with 2.
#pragma once

#include <string>

namespace bloomery::cli {

// Every error that a user can mend is a Failure with a sentence.
[[noreturn]] void refuse(std::string sentence);

}  // namespace bloomery::cli

#include "refuse.hpp"

#include <utility>

#include <bloomery/error.hpp>

namespace bloomery::cli {

void refuse(std::string sentence) { throw Failure(Error{Code::bad_input, std::move(sentence)}); }

}  // namespace bloomery::cli

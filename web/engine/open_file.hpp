// The set that this worker has open.
#pragma once

#include <string>

#include <bloomery/any_set.hpp>
#include <bloomery/image.hpp>

#include "wire.hpp"

namespace bloomery::web {

struct OpenSet {
  std::string name;
  AnySet set;
  Uuid uuid{};
  bool key_is_elsewhere = false;
};

// Loaded and verified when it is first wanted, unless `inspect` has done so.
Result<const OpenSet*> held_set(const Request& request);

}  // namespace bloomery::web

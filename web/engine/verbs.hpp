// What the engine can be asked; each verb is a method of engine.d.ts.
#pragma once

#include "wire.hpp"

namespace bloomery::web {

// plans.cpp
Answer about(const Request& request);
Answer plan(const Request& request);
Answer plan_nodes(const Request& request);

}  // namespace bloomery::web

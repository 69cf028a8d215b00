// What the engine can be asked; each verb is a method of engine.d.ts.
#pragma once

#include "wire.hpp"

namespace bloomery::web {

// plans.cpp
Answer about(const Request& request);
Answer plan(const Request& request);
Answer plan_nodes(const Request& request);
// growth.cpp
Answer growth(const Request& request);
Answer curves(const Request& request);
// lines.cpp
Answer lines(const Request& request);

// files.cpp
Answer inspect(const Request& request);
Answer ask(const Request& request);
Answer compare(const Request& request);
// picture.cpp
Answer picture(const Request& request);
// play.cpp
Answer play_make(const Request& request);
Answer play_add(const Request& request);
Answer play_ask(const Request& request);
Answer play_remove(const Request& request);
Answer play_fill(const Request& request);
Answer play_find_false(const Request& request);
Answer play_state(const Request& request);

}  // namespace bloomery::web

// What `bloomery plan --nodes` says: a set shared on a Redis Cluster, on paper.
#pragma once

#include <bloomery/error.hpp>
#include <bloomery/want.hpp>

#include <tools/cli/report/report.hpp>

#include "plan_text.hpp"

namespace bloomery::cli {

// As typed, beside keys, rate and memory.
struct NodesText {
  Typed nodes = {};  // missing or empty: as few as do
  Typed replicas = {};
  Typed network = {};
};
Result<Report> nodes_report(const NodesText& text, const Want& want);

}  // namespace bloomery::cli

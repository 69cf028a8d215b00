// bloomery plan --nodes: a set shared on a Redis Cluster, on paper.
#pragma once

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/report/report.hpp>

namespace bloomery::cli {

struct NodesFlags {
  Word nodes;  // given but empty: as few as do
  Word replicas;
  Word network;

  bool given() const { return nodes.has_value(); }
};
Flags nodes_flags(NodesFlags& flags);
// Refuses flags that belong to --nodes and stand without it.
void expect_nodes(const NodesFlags& flags);

Report nodes_report(const NodesFlags& flags, const Want& want);

}  // namespace bloomery::cli

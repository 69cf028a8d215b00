// about, plan, planNodes: the reports of `bloomery plan`.
#include <bloomery/any_set.hpp>

#include <tools/cli/plans/nodes_report.hpp>
#include <tools/cli/plans/plan_report.hpp>

#include "cells.hpp"
#include "verbs.hpp"
#include "wants.hpp"

namespace bloomery::web {
namespace {

std::string facts_of(const KindRow& row) {
  Object facts;
  facts.set("kind", row.id.name);
  facts.set("input", std::string_view(row.input == InputForm::ordinal ? "integers" : "text"));
  facts.set("exact", row.exact);
  facts.set("grows", row.grows);
  facts.set("removes", row.removes);
  facts.set("counts", row.counts);
  facts.set("forgets", row.forgets);
  facts.set("built", row.built);
  facts.set("two_lists", row.two_lists);
  facts.set("merges", row.merges);
  facts.set("playable", playable(row));
  return facts.text();
}

Answer lined(const Result<cli::Report>& report) {
  if (!report) return report.error();
  return line_of(*report);
}

}  // namespace

cli::PlanText plan_text_of(const Request& request) {
  return {.keys = request.text("keys"),
          .rate = request.text("rate"),
          .memory = request.text("memory"),
          .range = request.text("range"),
          .allow = request.text("allow")};
}

Answer about(const Request&) {
  std::string kinds;
  for (const KindRow& row : AnySet::register_rows())
    kinds += (kinds.empty() ? "" : ",") + facts_of(row);
  Object reply;
  reply.set("version", BLOOMERY_VERSION).put("kinds", "[" + kinds + "]");
  return reply.text();
}

Answer plan(const Request& request) {
  const auto want = cli::want_of(plan_text_of(request));
  if (!want) return want.error();
  return lined(cli::plan_report(*want));
}

Answer plan_nodes(const Request& request) {
  const auto want = cli::want_of(plan_text_of(request));
  if (!want) return want.error();
  return lined(cli::nodes_report({.nodes = request.text("nodes"),
                                  .replicas = request.text("replicas"),
                                  .network = request.text("network")},
                                 *want));
}

}  // namespace bloomery::web

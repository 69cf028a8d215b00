#include "nodes_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tools/cli/report/units.hpp>

#include "cluster_plan.hpp"

namespace bloomery::cli {
namespace {

constexpr std::uint64_t default_node_bytes = std::uint64_t{16} << 30;
// Beyond it the gossip between nodes was not meant to work (Redis Cluster specification).
constexpr std::uint64_t most_usual_nodes = 1000;
// cluster-node-timeout, as a server has it unless told otherwise.
constexpr double node_timeout_seconds = 15;

Result<std::uint64_t> small_number(std::string_view flag, const std::string& text,
                                   std::uint64_t low, std::uint64_t high) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc{} || read.ptr != end || number < low || number > high)
    return Error{Code::bad_input,
                 fmt::format("{} does not take '{}'; give a whole number from {} to {}", flag, text,
                             low, high)};
  return number;
}

Result<ClusterWant> cluster_want(const NodesText& text, const Want& want) {
  ClusterWant cluster{.keys = want.keys, .rate = want.rate, .node_bytes = want.memory_bytes};
  if (text.nodes && !text.nodes->empty()) {
    const auto masters = small_number("--nodes", *text.nodes, 1, cluster_slots);
    if (!masters) return masters.error();
    cluster.masters = *masters;
  } else if (cluster.node_bytes == 0) {
    cluster.node_bytes = default_node_bytes;
  }
  if (text.replicas) {
    const auto replicas = small_number("--replicas", *text.replicas, 0, 5);
    if (!replicas) return replicas.error();
    cluster.replicas = *replicas;
  }
  if (text.network) {
    const auto network = parse_network("--network", *text.network);
    if (!network) return network.error();
    cluster.network = *network;
  }
  return cluster;
}

Report command_row(std::string name, std::uint64_t commands, const Traffic& traffic,
                   double microseconds, const ClusterPlan& plan) {
  // As many a second as the fullest master allows, by its one thread or by its network.
  const auto busier = static_cast<double>(std::max(traffic.sent, traffic.received));
  const double a_second = std::min(1e6 / microseconds, plan.want.network / 8 / busier);
  Report row;
  row.text("per_key", std::move(name));
  row.count("commands", commands);
  row.count("sent", traffic.sent);
  row.count("received", traffic.received);
  row.real("server_us", microseconds);
  row.count("most_a_second", static_cast<std::uint64_t>(a_second / plan.node_share()));
  return row;
}

Report loading_row(std::string way, double seconds, std::string limit) {
  Report row;
  row.text("loading", std::move(way));
  row.seconds("seconds", seconds);
  row.text("limited_by", std::move(limit));
  return row;
}

std::vector<Report> loading_rows(const ClusterPlan& plan) {
  const double cpu = plan.add_cpu_seconds();
  const double network = plan.add_network_seconds();
  std::vector<Report> rows;
  rows.push_back(loading_row("every key added", std::max(cpu, network),
                             cpu >= network ? "one thread of each master" : "network"));
  rows.push_back(
      loading_row("shards built by one thread", plan.build_seconds(), "memory of its machine"));
  rows.push_back(loading_row("and sent by one machine", plan.upload_seconds(), "network of it"));
  rows.push_back(
      loading_row("or by one a master", plan.shared_upload_seconds(), "network of each"));
  return rows;
}

Report event_row(std::string event, double share, std::uint64_t bytes, double seconds) {
  Report row;
  row.text("when", std::move(event));
  row.rate("share_of_keys", share);
  row.bytes("bytes", bytes);
  row.seconds("seconds", seconds);
  return row;
}

// How long the keys of a master that fails are out of reach, and what becomes of them.
std::pair<double, std::string> failure_of(const ClusterWant& want) {
  constexpr double for_ever = std::numeric_limits<double>::infinity();
  if (want.replicas == 0) return {for_ever, "is lost with it: it has no replica, so load it again"};
  if (want.masters < least_masters)
    return {for_ever, "cannot be answered: fewer than three masters promote no replica"};
  return {node_timeout_seconds,
          "cannot be answered until a replica is promoted; adds not replicated yet are lost"};
}

std::vector<Report> event_rows(const ClusterPlan& plan) {
  auto [seconds, what] = failure_of(plan.want);
  Report failing = event_row("a master fails", plan.node_share(), plan.most_node_memory(), seconds);
  failing.text("what", std::move(what));
  Report joining = event_row("a master joins", 1 / static_cast<double>(plan.want.masters + 1),
                             plan.joining_bytes(), plan.joining_seconds());
  joining.text("what", "moves to it slot by slot, at its network's rate, while the set is in use");
  std::vector<Report> rows;
  rows.push_back(std::move(failing));
  rows.push_back(std::move(joining));
  return rows;
}

}  // namespace

Result<Report> nodes_report(const NodesText& text, const Want& want) {
  if (want.keys == 0 || want.rate == 0 || want.range.given() || want.allowed > 0)
    return Error{
        Code::bad_input,
        "plan --nodes needs --keys and --rate, as in 'bloomery plan --nodes -n 10G -p 1%'; "
        "--memory is that of one node, and --range and --allow have no place in it"};
  const auto asked = cluster_want(text, want);
  if (!asked) return asked.error();
  const auto planned = plan_cluster(*asked);
  if (!planned) return planned.error();
  const ClusterPlan& plan = *planned;
  Report report;
  report.count("keys", want.keys);
  report.rate("rate", want.rate);
  report.count("masters", plan.want.masters);
  report.count("replicas", plan.want.replicas);
  report.count("nodes", plan.nodes());
  report.bytes("memory", plan.memory());
  report.bytes("memory_with_replicas", plan.memory() * (1 + plan.want.replicas));
  report.bytes("memory_a_node", plan.most_node_memory());
  report.real("bits_per_key",
              static_cast<double>(plan.memory()) * 8 / static_cast<double>(want.keys));
  report.count("probes", plan.probes);
  report.count("shards", plan.shards);
  report.count("shards_a_node", plan.most_node_shards);
  report.count("shards_a_node_least", plan.least_node_shards);
  report.bytes("largest_key", plan.shard_bytes);
  std::vector<Report> commands;
  commands.push_back(command_row("check", 1, plan.check, ClusterPlan::check_microseconds, plan));
  commands.push_back(command_row("add", 2, plan.add, plan.add_microseconds(), plan));
  report.rows("commands", std::move(commands));
  report.rows("loading", loading_rows(plan));
  report.rows("events", event_rows(plan));
  report.text("basis", "computed; server times as measured at 1 %, network as told");
  if (plan.nodes() > most_usual_nodes)
    report.text("note", fmt::format("Redis Cluster is made for up to {} nodes; give each more "
                                    "--memory, or make several clusters",
                                    print_count(most_usual_nodes)));
  return report;
}

}  // namespace bloomery::cli

// bloomery plan: what every kind would cost, and which one to take; or, with --nodes, a set that is
// shared on a Redis Cluster. Both are decided in tools/cli/plans/.
#include <memory>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/plans/nodes_report.hpp>
#include <tools/cli/plans/plan_report.hpp>
#include <tools/cli/report/refuse.hpp>
#include <tools/cli/report/report.hpp>

#include "command.hpp"

namespace bloomery::cli {
namespace {

struct NodesFlags {
  Word nodes;  // given but empty: as few as do
  Word replicas;
  Word network;

  bool given() const { return nodes.has_value(); }
  NodesText text() const { return {.nodes = nodes, .replicas = replicas, .network = network}; }
};

Flags nodes_flags(NodesFlags& flags) {
  return {
      {"--nodes", "[N]", "a set shared on a Redis Cluster of N masters, or as few as do",
       &flags.nodes},
      {"--replicas", "R", "--nodes: of each master; 1 by default", &flags.replicas},
      {"--network", "BITS", "--nodes: bits a second of each machine: 10G, 2.5G; 10G by default",
       &flags.network},
  };
}

// Flags that belong to --nodes and stand without it.
void expect_nodes(const NodesFlags& flags) {
  if (flags.replicas || flags.network) refuse("--replicas and --network are for --nodes");
}

struct PlanFlags {
  SizeFlags size;
  Word range;
  Word allow;
  NodesFlags nodes;
  SpeechFlags speech;
};

constexpr const char* story =
    R"(Any two of --keys, --rate and --memory give the third; with all three, --memory
is a cap, and kinds that do not fit it are left out. Nothing is made or written.
--range adds the exact maps of integers, --allow N the cascade: a block list of
--keys and an allow list of N keys in one set, without an error on either.

Which kind to take: `blocked` has one cache miss per key and costs little
more than the smallest from 10 % down to about 0.1 %; below 0.01 % it uses two
lines. `classic` is the smallest of the grow-only kinds, with several misses.
`chain` needs no number of keys in advance. `fuse` and `ribbon` are smaller
than all of them and need all keys at once. Exact maps (bitmap, two-bit) are
right always, and pay for their range, not for their keys.

--nodes plans a set that many programs share on a Redis Cluster, with one block of
64 bytes a key, in strings of at most 64 KiB: how many masters it takes if the set
may have --memory of each (16G), or what each of N has; bytes on the network and
server time of a check and an add; how long loading takes; what a node that fails
or joins means. All of it is computed, on server times that were measured once
(docs/scale.md): measure your own before you buy machines.

Exit codes: 0 good, 2 error.

Examples:
  bloomery plan -n 10M -p 1%          # how much memory
  bloomery plan -n 1e9 -m 2G          # at what rate
  bloomery plan -p 0.1% -m 512M       # for how many keys
  bloomery plan -n 1M -p 1% --range 0..99999999
  bloomery plan -n 20M -p 1% --allow 1M
  bloomery plan --nodes -n 100G -p 1% -m 32G
  bloomery plan --nodes=12 -n 10G -p 0.1% --replicas 2 --network 25G
)";

Flags flags_of(PlanFlags& flags) {
  return joined({
      size_flags(flags.size, {.rate = "false-positive rate: 0.1%, 1e-3, 1/1000"}),
      {"--range", "A..B", "show the exact maps of these integers too", &flags.range},
      {"--allow", "N", "keys that must never match: show the cascade too", &flags.allow},
      nodes_flags(flags.nodes),
      speech_flags(flags.speech),
  });
}

PlanText text_of(const PlanFlags& flags) {
  return {.keys = flags.size.keys,
          .rate = flags.size.rate,
          .memory = flags.size.memory,
          .range = flags.range,
          .allow = flags.allow};
}

Exit run(const PlanFlags& flags, Messages& messages) {
  obey(flags.speech, messages);
  const Want want = want_of(text_of(flags)).value();
  if (!flags.nodes.given()) expect_nodes(flags.nodes);
  const Report report =
      (flags.nodes.given() ? nodes_report(flags.nodes.text(), want) : plan_report(want)).value();
  print_out(flags.speech.json ? report.as_json() : report.as_text());
  return Exit::good;
}

}  // namespace

Command plan_command() {
  auto flags = std::make_shared<PlanFlags>();
  return {
      .name = "plan",
      .summary = "how large, how exact, which kind: before anything is made",
      .usage = "plan [--nodes[=N]] -n N -p RATE [-m MEM]   (any two; --nodes: -n and -p)",
      .story = story,
      .flags = flags_of(*flags),
      .run = [flags](Messages& messages) { return run(*flags, messages); },
  };
}

}  // namespace bloomery::cli

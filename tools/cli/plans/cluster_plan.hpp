// A set shared on a Redis Cluster, on paper: from keys and rate to shards, nodes, bytes and times.
//
//    keys --/ mean keys a line--> blocks of 64 bytes --/ 1023--> shards (redis_layout.hpp)
//    shard i --> a Redis string in slot i * 16384 / shards --> the master that has the slot
//
//    check  GETRANGE key 64*b 64*b+63            all bits of a key lie in one block of one shard
//    add    the same, and BITFIELD key SET u1 bit 1 ... GET u8 seal, one SET a probe
//
// Limits:  computed, not measured: the network is taken to give what it is called, clients are
//          taken to be as many as the servers can serve, and nodes to hold nothing else.
// Threads: any number may plan.
// See:     docs/scale.md; tests/tools/keys/plan_nodes_test.py writes the commands and counts bytes.
#pragma once

#include <cstdint>

#include <bloomery/error.hpp>
#include <bloomery/redis/slots.hpp>
#include <tools/inside.hpp>

namespace bloomery::cli {

// What a plan rests on. The one place for figures of Redis; all others follow.
struct MeasuredCost {
  // CPU of the masters in microseconds a command, in pipelines, redis-server 7.0.15, three masters
  // on 2 cores (scripts/bench --redis).
  double getrange = 0.57;             // of 64 bytes
  double bitfield = 2.14;             // of 6 bits and the seal
  double replicated_bitfield = 3.72;  // and sent on to a replica
  // Microseconds to add a text of 60 bytes to a local set, by one thread (docs/benchmarks.md).
  double local_add = 0.012;
  // What a string takes beside the block of memory that holds its bytes: its name, its place in the
  // tables. 16,384 strings of 65,472 bytes in a cluster of one took 65,643 bytes each, of which
  // 65,536 are the block.
  std::uint64_t string_bytes = 107;
};
inline constexpr MeasuredCost measured_cost;

// So that those who are left when one fails are a majority, and promote its replica.
inline constexpr std::uint64_t least_masters = 3;
// What a set is called counts in every command.
inline constexpr const char* planned_name = "urls_seen";

struct ClusterWant {
  std::uint64_t keys = 0;
  double rate = 0;
  std::uint64_t masters = 0;     // 0: as few as the memory of each allows, and a majority needs
  std::uint64_t node_bytes = 0;  // that the set may take of a node; 0: no limit
  std::uint64_t replicas = 1;    // of each master
  double network = 10e9;         // bits a second of each machine
};

// Bytes of commands and replies, as RESP writes them.
struct Traffic {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t both() const { return sent + received; }
};

struct ClusterPlan {
  ClusterWant want;  // with masters filled in
  unsigned probes = 0;
  std::uint64_t blocks = 0;
  std::uint64_t shards = 0;
  std::uint64_t shard_bytes = 0;  // of the string: the largest key
  std::uint64_t shard_memory = 0;
  // Slots are dealt out evenly, shards follow their slots.
  std::uint64_t most_node_shards = 0;
  std::uint64_t least_node_shards = 0;
  Traffic check;
  Traffic add;

  std::uint64_t memory() const { return shards * shard_memory; }  // of the masters
  std::uint64_t most_node_memory() const { return most_node_shards * shard_memory; }
  std::uint64_t nodes() const { return want.masters * (1 + want.replicas); }
  double node_share() const {  // of the keys, on the fullest master
    return static_cast<double>(most_node_shards) / static_cast<double>(shards);
  }

  static constexpr double check_microseconds = measured_cost.getrange;
  double add_microseconds() const {
    return measured_cost.getrange +
           (want.replicas > 0 ? measured_cost.replicated_bitfield : measured_cost.bitfield);
  }

  // Adding every key, with all masters busy.
  double add_cpu_seconds() const;
  double add_network_seconds() const;
  // Building them on machines of one's own, by one thread.
  double build_seconds() const;
  // Sending whole shards that were built elsewhere, by one machine or by one for each master.
  double upload_seconds() const;
  double shared_upload_seconds() const;
  // One more master: what goes to it, and how long its network takes to receive it.
  std::uint64_t joining_bytes() const;
  double joining_seconds() const;
};

Result<ClusterPlan> plan_cluster(const ClusterWant& want);

}  // namespace bloomery::cli

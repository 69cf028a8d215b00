#!/usr/bin/env python3
"""Sets on Redis servers beside redis-benchmark: the table "Sets on Redis" of docs/benchmarks.md.

    scripts/bench --redis [--keys 1000000] [--rate 0.01] [--runs 3]

Starts a server, and a cluster of three masters and three replicas, on loopback ports of their own.
A run is `redis-benchmark -P 64 -t get` and then the set, on the same server, in turns; a row is the
middle run by its ratio. Server time is what INFO commandstats counted for the set's commands.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "tools"))
from redis_cluster import RedisCluster  # noqa: E402
from redis_server import HOST, RedisServer  # noqa: E402

ROWS = ["add new keys", "add them again", "ask members", "ask strangers"]


def gets_a_second(port, cluster):
    """Of one server, or of all masters together."""
    words = ["redis-benchmark", "-h", HOST, "-p", str(port), "-P", "64", "-n", "2000000",
             "-t", "get", "-q", "-r", "100000"] + (["--cluster"] if cluster else [])
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return float(re.findall(r"GET[^:]*: ([0-9.]+) requests per second", said)[-1])


def paces(program, port, options):
    words = [program, f"redis://{HOST}:{port}/0/bench", str(options.keys), str(options.rate)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return [float(word) for word in said.split()]


def server_times(servers):
    """Microseconds of the server for each call, by command, over all servers."""
    calls, spent = {}, {}
    for server in servers:
        for line in server.command("INFO", "commandstats").decode().splitlines():
            found = re.match(r"cmdstat_(getrange|bitfield|get):calls=(\d+),usec=(\d+)", line)
            if found:
                calls[found[1]] = calls.get(found[1], 0) + int(found[2])
                spent[found[1]] = spent.get(found[1], 0) + int(found[3])
    return {name: spent[name] / calls[name] for name in calls}


def measure(title, program, port, servers, cluster, options):
    runs = []
    for turn in range(options.runs):
        print(f"  {turn + 1}/{options.runs} {title}", file=sys.stderr)
        gets = gets_a_second(port, cluster)
        for server in servers:
            server.command("CONFIG", "RESETSTAT")
        runs.append((gets, paces(program, port, options), server_times(servers)))
    print(f"**{title}**\n")
    print("| operation | keys a second | commands a key | of GET -P 64 |")
    print("| --- | ---: | ---: | ---: |")
    for row, name in enumerate(ROWS):
        by_ratio = sorted(runs, key=lambda one: one[1][2 * row] / one[0])
        gets, found, _ = by_ratio[len(by_ratio) // 2]
        print(f"| {name} | {found[2 * row]:,.0f} | {found[2 * row + 1]:.4f} | "
              f"{found[2 * row] / gets:.2f} |")
    times = runs[-1][2]
    print(f"\nGET in these runs: {', '.join(f'{run[0]:,.0f}' for run in runs)} a second. "
          f"Strangers passed: {runs[-1][1][8]:.4%}. Server time a call: "
          + ", ".join(f"{name.upper()} {us:.2f} us" for name, us in sorted(times.items())) + ".\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with RedisServer() as server:
        measure("One server", options.program, server.port, [server], False, options)
    with RedisCluster(masters=3, replicas=0) as cluster:
        measure("Three masters", options.program, cluster.port, cluster.masters, True, options)
    with RedisCluster(masters=3, replicas=1) as cluster:
        measure("Three masters, three replicas", options.program, cluster.port, cluster.masters,
                True, options)


main()

#!/usr/bin/env python3
"""Sets on Redis servers beside redis-benchmark: the table "Sets on Redis" of docs/benchmarks.md.

    scripts/bench --redis [--keys 1000000] [--rate 0.01] [--runs 3]

Starts a server, and a cluster of three masters and three replicas, on loopback ports of their own.
A run is `redis-benchmark -P 64 -t get` and then the set, on the same server, in turns; a row is the
middle run by its ratio. Server time is the CPU that the masters used, as INFO cpu tells it.
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


def measure(title, program, port, cluster, options):
    runs = []
    for turn in range(options.runs):
        print(f"  {turn + 1}/{options.runs} {title}", file=sys.stderr)
        runs.append((gets_a_second(port, cluster), paces(program, port, options)))
    print(f"**{title}**\n")
    print("| operation | keys a second | of GET -P 64 | commands a key | server us a key |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for row, name in enumerate(ROWS):
        by_ratio = sorted(runs, key=lambda one: one[1][3 * row] / one[0])
        gets, found = by_ratio[len(by_ratio) // 2]
        pace, commands, server = found[3 * row : 3 * row + 3]
        print(f"| {name} | {pace:,.0f} | {pace / gets:.2f} | {commands:.4f} | {server:.2f} |")
    print(f"\nGET in these runs: {', '.join(f'{run[0]:,.0f}' for run in runs)} a second. "
          f"Strangers passed: {runs[-1][1][12]:.4%}.\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with RedisServer() as server:
        measure("One server", options.program, server.port, False, options)
    with RedisCluster(masters=3, replicas=0) as cluster:
        measure("Three masters", options.program, cluster.port, True, options)
    with RedisCluster(masters=3, replicas=1) as cluster:
        measure("Three masters, three replicas", options.program, cluster.port, True,
                options)


main()

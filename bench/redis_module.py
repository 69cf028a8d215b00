#!/usr/bin/env python3
"""bloomery.so beside PING: the table "The module" of docs/benchmarks.md.

    scripts/bench --redis-module [--capacity 100000000] [--runs 5]

Starts a server on a loopback port of its own. A run is `redis-benchmark -P 64` with PING and then
with each command, in turns; a row is the middle run by its ratio to the PING of its own run. Items
are random, so that each waits for memory of its own. Server time is the CPU the server used.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "tools"))
from redis_server import HOST, RedisServer  # noqa: E402

ITEM = "item:__rand_int__"
MANY = 100
SMALL = 10_000


def rows(capacity):
    """Name, command, items in a command, how many commands."""
    at = f"reserved for {capacity:,}"
    return [
        ("SISMEMBER, no such key", ["SISMEMBER", "none", ITEM], 1, 1_000_000),
        ("BF.EXISTS, no such key", ["BF.EXISTS", "none", ITEM], 1, 1_000_000),
        (f"BF.EXISTS, reserved for {SMALL:,}", ["BF.EXISTS", "small", ITEM], 1, 1_000_000),
        (f"BF.EXISTS, {at}", ["BF.EXISTS", "large", ITEM], 1, 1_000_000),
        (f"BF.ADD, {at}", ["BF.ADD", "large", ITEM], 1, 1_000_000),
        (f"BF.MEXISTS of {MANY}, {at}", ["BF.MEXISTS", "large"] + [ITEM] * MANY, MANY, 40_000),
        (f"BF.MADD of {MANY}, {at}", ["BF.MADD", "large"] + [ITEM] * MANY, MANY, 40_000),
    ]


def cpu_seconds(server):
    """Of all its threads."""
    told = server.command("INFO", "cpu").decode()
    return sum(float(seconds) for seconds in re.findall(r"used_cpu_(?:user|sys):([0-9.]+)", told))


def pace(server, command, count):
    """Commands a second, and the server's microseconds for one."""
    words = ["redis-benchmark", "-h", HOST, "-p", str(server.port), "-P", "64", "-q"]
    words += ["-n", str(count), "-r", "1000000000", *command]
    before = cpu_seconds(server)
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    used = cpu_seconds(server) - before
    return float(re.findall(r"([0-9.]+) requests per second", said)[-1]), used / count * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module")
    parser.add_argument("--capacity", type=int, default=100_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    table = rows(options.capacity)
    pings, found = [], {name: [] for name, *_ in table}
    with RedisServer("--loadmodule", options.module) as server:
        for key, capacity in [("small", SMALL), ("large", options.capacity)]:
            said = server.command("BF.RESERVE", key, "0.01", str(capacity), timeout=60)
            if not said.startswith(b"+OK"):
                sys.exit(f"bench/redis_module.py: BF.RESERVE {key}: {said.decode().strip()}")
        for turn in range(options.runs):
            print(f"  {turn + 1}/{options.runs}", file=sys.stderr)
            ping = pace(server, ["PING"], 2_000_000)
            pings.append(ping)
            for name, command, items, count in table:
                commands, used = pace(server, command, count)
                found[name].append((commands * items / ping[0], commands * items, used / items))
    print("| command | items a second | of PING | all runs | server us an item |")
    print("| --- | ---: | ---: | --- | ---: |")
    for name, runs in found.items():
        ratio, items, used = sorted(runs)[len(runs) // 2]
        every = ", ".join(f"{one[0]:.2f}" for one in runs)
        print(f"| {name} | {items:,.0f} | {ratio:.2f} | {every} | {used:.2f} |")
    print(f"\nPING in these runs: {', '.join(f'{one[0]:,.0f}' for one in pings)} a second, "
          f"{min(one[1] for one in pings):.2f} to {max(one[1] for one in pings):.2f} us each.")


main()

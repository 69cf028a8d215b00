#!/usr/bin/env python3
"""Adds to a live set a second, beside a sealed set in memory and beside Redis with `appendfsync
always` (BF.MADD of bloomery.so): the same keys, batches and disk, in turns. "synced" is what the
disk allows one writer that does nothing but write and sync what a batch logs.

    live.py [--keys N] [--seconds S] [--rounds N] [--writers N...] [--folder DIR]

Run by `scripts/bench --live`.
"""
import argparse
import os
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

BUILD = Path(os.environ["BLOOMERY_BUILD"])
BATCHES = (1, 64, 4096)
WAYS = ("memory", "none", "interval", "every", "synced")
ALONE = ("memory", "synced")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Redis:
    """A server that syncs each command before it answers."""

    def __init__(self, folder):
        self.port = free_port()
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", folder,
             "--save", "", "--appendonly", "yes", "--appendfsync", "always",
             "--loadmodule", str(BUILD / "bloomery.so")],
            stdout=subprocess.DEVNULL)
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit("redis-server does not answer")

    def stop(self):
        self.process.kill()
        self.process.wait()


def keys_a_second(*words):
    done = subprocess.run([BUILD / "bench" / "bench_live", *map(str, words)], check=True,
                          capture_output=True, text=True)
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--writers", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--batches", type=int, nargs="+", default=BATCHES)
    parser.add_argument("--kind", default="blocked")
    parser.add_argument("--folder", default=".")
    want = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=want.folder, prefix="bench-live-") as folder:
        redis = Redis(folder)
        try:
            found = {}
            cells = [(writers, batch) for writers in want.writers for batch in want.batches]
            for _ in range(want.rounds):
                for writers, batch in cells:
                    load = (want.keys, batch, want.seconds, writers)
                    for way in WAYS:
                        if way in ALONE and writers > 1:
                            continue
                        found.setdefault((writers, batch, way), []).append(
                            keys_a_second(folder, *load, want.kind, way))
                    found.setdefault((writers, batch, "redis"), []).append(
                        keys_a_second("redis", redis.port, *load))
        finally:
            redis.stop()
    print(f"{want.kind}, {want.keys} keys planned at 0.1 %, texts of about 30 bytes; "
          f"keys a second, medians of {want.rounds}\n")
    ways = (*WAYS, "redis")
    print("| writers | batch | " + " | ".join(ways) + " | memory / interval | every / redis |")
    print("| ---: " * (len(ways) + 4) + "|")
    for writers, batch in cells:
        rate = {way: statistics.median(found[writers, batch, way])
                for way in ways if (writers, batch, way) in found}
        slower = f"{rate['memory'] / rate['interval']:.2f}" if "memory" in rate else ""
        print(f"| {writers} | {batch} | "
              + " | ".join(f"{rate[way]:,.0f}" if way in rate else "" for way in ways)
              + f" | {slower} | {rate['every'] / rate['redis']:.1f} |")


if __name__ == "__main__":
    main()

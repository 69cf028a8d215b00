#!/usr/bin/env python3
"""Compressed input and integers through the command, beside the programs people use: the tables
"Compressed input" and "Integers" of docs/benchmarks.md.

    python3 bench/input.py path/to/bloomery [--lines 4000000] [--numbers 5000000] [--runs 3]

Makes its files in a temporary directory. Each command is run in turn, all of them --runs times;
a row is the fastest run: wall time, CPU time of all its programs, peak memory of the largest.
"""
import argparse
import os
import random
import struct
import subprocess
import tempfile
import time


def timed(command, folder):
    """Seconds, CPU seconds and peak KiB of a shell command."""
    start = time.perf_counter()
    shell = subprocess.Popen(["sh", "-c", command + " > /dev/null"], cwd=folder,
                             stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(shell.pid, 0)
    if status != 0:
        raise SystemExit(f"failed: {command}")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss


def table(rows, folder, runs, unit, count):
    best = {}
    for _ in range(runs):
        for name, command in rows:
            best[name] = min(best.get(name, (1e9,)), timed(command, folder))
    print(f"| command | seconds | CPU seconds | {unit} | peak MiB |")
    print("| --- | --- | --- | --- | --- |")
    for name, _ in rows:
        wall, cpu, peak = best[name]
        each = wall / count * 1e9
        print(f"| `{name}` | {wall:.2f} | {cpu:.2f} | {each:.0f} | {peak / 1024:.0f} |")
    print()


def make_lines(folder, lines):
    rng = random.Random(1)
    with open(f"{folder}/urls", "w") as out:
        for _ in range(lines):
            page = rng.randrange(1 << 22) * 2654435761 % (1 << 40)
            out.write(f"https://www.example-{rng.randrange(2000)}.com/articles/{page:x}/"
                      f"page-{rng.randrange(100)}.html\n")
    for program in ["gzip", "zstd -q"]:
        suffix = {"gzip": "gz", "zstd -q": "zst"}[program]
        subprocess.run(f"{program} -c urls > urls.{suffix}", shell=True, cwd=folder, check=True)


def make_numbers(folder, count):
    rng = random.Random(2)
    for name, bits in [("far", 64), ("near", 32)]:
        numbers = [rng.getrandbits(bits) for _ in range(count)]
        for i in range(0, count, 10):
            numbers[i] = numbers[i * 7 % count]
        with open(f"{folder}/{name}.txt", "w") as out:
            out.write("\n".join(map(str, numbers)) + "\n")
        with open(f"{folder}/{name}.bin", "wb") as out:
            out.write(struct.pack(f"<{count}Q", *numbers))


def in_a_child(make, *arguments):
    """So that this process stays small: what it starts begins with its peak memory."""
    child = os.fork()
    if child == 0:
        make(*arguments)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        raise SystemExit("the files could not be made")


def main():
    parser = argparse.ArgumentParser(description="Compressed input and integers")
    parser.add_argument("bloomery")
    parser.add_argument("--lines", type=int, default=4_000_000)
    parser.add_argument("--numbers", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    program = os.path.abspath(options.bloomery)

    def ours(*commands):
        return [(c, c.replace("bloomery", program)) for c in commands]

    with tempfile.TemporaryDirectory() as folder:
        in_a_child(make_lines, folder, options.lines)
        table(ours("bloomery dedup -q urls", "bloomery dedup -q urls.zst",
                   "zstdcat urls.zst | bloomery dedup -q", "bloomery dedup -q urls.gz",
                   "zcat urls.gz | bloomery dedup -q", "zstdcat urls.zst", "zcat urls.gz"),
              folder, options.runs, "ns/line", options.lines)
    with tempfile.TemporaryDirectory() as folder:
        in_a_child(make_numbers, folder, options.numbers)
        sort = "LC_ALL=C sort -n -u --parallel=2 -S50% "
        table(ours("bloomery ints sort far.txt", "bloomery ints sort --map sparse far.txt",
                   "bloomery ints sort --map sparse --format u64le far.bin",
                   "bloomery ints dups --map sparse far.txt",
                   "bloomery ints sort -m 16M --map sparse far.txt", sort + "far.txt",
                   "bloomery ints sort --map sparse near.txt",
                   "bloomery ints sort --map dense near.txt", sort + "near.txt"),
              folder, options.runs, "ns/number", options.numbers)


if __name__ == "__main__":
    main()

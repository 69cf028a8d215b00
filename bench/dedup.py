#!/usr/bin/env python3
"""De-duplication through the command, beside the programs that Debian has for it: the table
"De-duplication" of docs/benchmarks.md.

    scripts/bench --dedup [--lines 50000000] [--repeats 0.3] [--runs 3] [--folder DIR] [--json]
                          [--skip NAME]...

Makes URL-like lines (bench_urls), reads them once so that they are in the page cache, and runs
every command in turn, all of them --runs times; output goes to /dev/null. A row is the run of
middle length: wall time, CPU time, peak memory of the largest process. Slow peers are run once.
The last table is a set of all lines, made and asked, beside DCSO bloom.
"""
import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time


def timed(command, folder):
    """Seconds, CPU seconds and peak KiB of a shell command."""
    start = time.perf_counter()
    environment = dict(os.environ, LC_ALL="C")
    # exec: the peak is that of the program, not of the shell.
    shell = subprocess.Popen(["sh", "-c", "exec " + command + " > /dev/null"], cwd=folder,
                             stderr=subprocess.PIPE, env=environment)
    said = shell.stderr.read().decode(errors="replace")
    _, status, used = os.wait4(shell.pid, 0)
    if status != 0:
        raise SystemExit(f"bench/dedup.py: failed: {command}\n{said}")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss


def measure(rows, folder, runs):
    """Rows are (name, command, slow); absent programs are left out, by name."""
    found = {}
    for turn in range(runs):
        for name, command, slow in rows:
            if turn > 0 and slow:
                continue
            print(f"  {turn + 1}/{runs} {name}", file=sys.stderr)
            found.setdefault(name, []).append(timed(command, folder))
    best = {}
    for name, times in found.items():
        times.sort()
        best[name] = times[len(times) // 2]
    return best


def table(rows, found, lines, first):
    print(f"| command | seconds | CPU seconds | ns a line | peak MiB | times {first} |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, _, _ in rows:
        wall, cpu, peak = found[name]
        print(f"| `{name}` | {wall:.2f} | {cpu:.2f} | {wall / lines * 1e9:.0f} | "
              f"{peak / 1024:.0f} | {wall / found[first][0]:.2f} |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bloomery")
    parser.add_argument("urls", help="bench_urls")
    parser.add_argument("--lines", type=int, default=50_000_000)
    parser.add_argument("--repeats", type=float, default=0.3)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", help="where the files are made; a temporary directory")
    parser.add_argument("--skip", action="append", default=[], metavar="NAME",
                        help="leave out a peer: sort, mawk, gawk, bloom")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="bloomery-bench-", dir=asked.folder) as folder:
        print(f"making {asked.lines} lines ...", file=sys.stderr)
        with open(os.path.join(folder, "urls"), "wb") as file:
            subprocess.run([asked.urls, str(asked.lines), str(asked.repeats)], stdout=file,
                           check=True)
        timed("cat urls", folder)
        ours = shlex.quote(os.path.abspath(asked.bloomery))
        peers = [
            ("sort -u --parallel=2 -S50% urls", "sort"),
            ("mawk '!seen[$0]++' urls", "mawk"),
            ("gawk '!seen[$0]++' urls", "gawk"),
        ]
        rows = [("wc -l urls", "wc -l urls", False)]
        rows += [(f"bloomery {words} urls", f"{ours} {words} urls", False)
                 for words in ("dedup", "dedup -T 1", "dedup -p 1e-6", "dedup --exact",
                               "dedup --exact -T 1")]
        rows += [(name, name, True) for name, program in peers
                 if program not in asked.skip and shutil.which(program)]
        found = measure(rows, folder, asked.runs)

        sets = [("bloomery build -n N -p 1e-6 urls",
                 f"{ours} build -q -f -n {asked.lines} -p 1e-6 -o ours.set urls", False),
                ("bloomery check ours urls", f"{ours} check ours.set urls", False)]
        if "bloom" not in asked.skip and shutil.which("bloom"):
            timed(f"bloom create -p 0.000001 -n {asked.lines} theirs.bloom", folder)
            sets += [("bloom insert theirs < urls", "bloom insert theirs.bloom < urls", True),
                     ("bloom check theirs < urls", "bloom check theirs.bloom < urls", True)]
        made = measure(sets, folder, asked.runs)
        if asked.json:
            print(json.dumps({name: dict(zip(("seconds", "cpu_seconds", "peak_kib"), one))
                              for name, one in (found | made).items()}))
            return
        size = os.path.getsize(os.path.join(folder, "urls"))
        print(f"{asked.lines:,} lines, {size / 1e9:.2f} GB, {asked.repeats:.0%} repeats\n")
        table(rows, found, asked.lines, "wc -l urls")
        table(sets, made, asked.lines, sets[0][0])


if __name__ == "__main__":
    main()

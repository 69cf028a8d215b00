#!/usr/bin/env python3
"""Every kind under each row of kernels that this CPU has, in turns; a Markdown table.

    bench/rows.py BLOOMERY [--keys 1M] [--rounds 3] [--kind KIND] [--strings] [--json]

BLOOMERY is the command, built with its bench (scripts/bench --rows builds it). A round runs each
row once, so a slow moment of the machine falls on all of them; a cell is the median over the
rounds, in ns a key, and beside it the median of its ratio to the better of the two rooflines of
the same run.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

ROWS = ["scalar", "avx2", "avx512", "neon"]


def run(options, row):
    """{(kind, operation): (ns, ratio)} of one run, or a sentence that says why there is none."""
    command = [options.program, "bench", "--json", "--progress", "never", "--keys", options.keys]
    if options.kind:
        command += ["--kind", options.kind]
    if options.strings:
        command.append("--strings")
    ran = subprocess.run(
        command, env={**os.environ, "BLOOMERY_CPU": row}, capture_output=True, text=True
    )
    if ran.returncode != 0:
        return None, (ran.stderr.strip() or f"exit code {ran.returncode}").splitlines()[-1]
    report = json.loads(ran.stdout)
    if report["kernels"] != row:
        return None, f"the command used {report['kernels']}"
    cells = {}
    for kind in report["kinds"]:
        for timing in kind["timings"]:
            ratio = max(timing["roofline_ratio"], timing["second_roofline_ratio"])
            cells[kind["kind"], timing["operation"]] = timing["ns"], ratio
    return cells, None


def measure(options):
    """{row: {(kind, operation): [(ns, ratio), ...]}}"""
    found = {}
    rows = list(ROWS)
    for number in range(options.rounds):
        for row in list(rows):
            cells, why = run(options, row)
            if cells is None:
                if number > 0:
                    raise SystemExit(f"rows.py: {row} failed: {why}")
                rows.remove(row)
                print(f"rows.py: {row} is left out: {why}", file=sys.stderr)
                continue
            for key, cell in cells.items():
                found.setdefault(row, {}).setdefault(key, []).append(cell)
    return found


def median(cells, part):
    return statistics.median(cell[part] for cell in cells)


def markdown(found):
    rows = list(found)
    lines = ["| kind | operation | " + " | ".join(rows) + " |"]
    lines.append("| --- | --- |" + " --- |" * len(rows))
    for key in next(iter(found.values())):
        cells = [found[row].get(key) for row in rows]
        shown = [
            "-" if cell is None else f"{median(cell, 0):.1f} ({median(cell, 1):.2f})"
            for cell in cells
        ]
        lines.append(f"| {key[0]} | {key[1]} | " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--keys", default="1M", help="as of 'bloomery bench'; 1M")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kind")
    parser.add_argument("--strings", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be 1 or more")
    found = measure(options)
    if not found:
        return 2
    if options.json:
        print(
            json.dumps(
                [
                    {
                        "kernels": row,
                        "kind": kind,
                        "operation": operation,
                        "ns": median(cells, 0),
                        "least_ns": min(cell[0] for cell in cells),
                        "most_ns": max(cell[0] for cell in cells),
                        "roofline_ratio": median(cells, 1),
                    }
                    for row, table in found.items()
                    for (kind, operation), cells in table.items()
                ]
            )
        )
    else:
        print(markdown(found), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())

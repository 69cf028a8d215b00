#!/usr/bin/env python3
"""Instructions a key of every kind, counted by valgrind's callgrind; a Markdown table.

    bench/instructions.py BENCH_INSTRUCTIONS [--json]

BENCH_INSTRUCTIONS is the program of that name (scripts/bench --instructions builds it). Counts are
exact and repeat: they depend on the compiler, not on the machine or its load. Hashing the key and
the loop around it are counted too. Debian 12's valgrind knows no AVX-512, so the rows are scalar
and avx2, on aarch64 scalar and neon; on a CPU without AVX2 only scalar.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

KEYS = 4096
ROWS = ["scalar", "neon" if os.uname().machine == "aarch64" else "avx2"]
# As the enums of programs/instructions.cpp count them: (operation, sort of keys), and the column.
COLUMNS = {
    (0, 0): "add",
    (1, 0): "add_all",
    (2, 0): "ask hit",
    (2, 1): "ask miss",
    (3, 0): "ask_all hit",
    (3, 1): "ask_all miss",
}
FORMS = {"unsigned long": "integers", "std::basic_string_view": "strings of 60 bytes"}
MEASURED = re.compile(
    r"^\s*([\d,]+) .*?\bmeasured<(\d+)u?, [^,]*?\)(\d), [^,]*?\)(\d), .*?, ("
    + "|".join(map(re.escape, FORMS))
    + r")\b"
)


def count(program, row):
    """{(kind, form, column): instructions a key}, kinds in the order of the register."""
    with tempfile.TemporaryDirectory(prefix="bloomery-instructions-") as place:
        out = os.path.join(place, "callgrind")
        ran = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program],
            env={**os.environ, "BLOOMERY_CPU": row},
            capture_output=True,
            text=True,
        )
        if ran.returncode != 0:
            return None, ran.stderr.strip().splitlines()[-1]
        kinds = dict(line.split() for line in ran.stdout.splitlines())
        listing = subprocess.run(
            ["callgrind_annotate", "--inclusive=yes", "--threshold=100", out],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    found = {}
    for line in listing.splitlines():
        if match := MEASURED.match(line):
            total, kind, operation, sort, form = match.groups()
            column = COLUMNS[int(operation), int(sort)]
            key = kinds[kind], FORMS[form], column
            found[key] = round(int(total.replace(",", "")) / KEYS, 1)
    order = list(kinds.values())
    return dict(sorted(found.items(), key=lambda item: order.index(item[0][0]))), None


def markdown(tables):
    lines = []
    for row, found in tables.items():
        for form in FORMS.values():
            kinds = list(dict.fromkeys(kind for kind, of, _ in found if of == form))
            columns = list(COLUMNS.values())
            lines += [f"### {form}, {row} kernels", ""]
            lines.append("| instructions a key | " + " | ".join(columns) + " |")
            lines.append("| --- |" + " --- |" * len(columns))
            for kind in kinds:
                counts = [found.get((kind, form, column)) for column in columns]
                cells = ["-" if count is None else f"{count:.0f}" for count in counts]
                lines.append(f"| {kind} | " + " | ".join(cells) + " |")
            lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    tables = {}
    for row in ROWS:
        found, why = count(options.program, row)
        if found:
            tables[row] = found
        else:
            print(f"instructions.py: {row} is left out: {why}", file=sys.stderr)
    if not tables:
        return 2
    if options.json:
        rows = [
            {"kernels": row, "kind": kind, "keys": form, "operation": column, "instructions": value}
            for row, found in tables.items()
            for (kind, form, column), value in found.items()
        ]
        print(json.dumps(rows))
    else:
        print(markdown(tables), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())

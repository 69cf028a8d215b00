#!/usr/bin/env python3
"""Every row of kernels of every CPU at hand saves the same bytes and gives the same answers.

    same_digests.py DIGESTS [ARM_DIGESTS...]

DIGESTS is the program of digests.cpp for this machine; ARM_DIGESTS, if given, is the command that
runs the one for aarch64. Each line names a kind, a sort of keys and a rate; those that differ from
the scalar row of this machine are printed. Also: a row that a CPU lacks, and a name that no row
has, are refused with the sentences that belong to the machine.
"""
import os
import platform
import subprocess
import sys

ARM_ROWS = ["scalar", "neon"]
X86_ROWS = ["scalar", "avx2", "avx512"]
LACKING = "BLOOMERY_CPU={}: this CPU or build has no such instructions; unset it or use scalar"
UNKNOWN = "BLOOMERY_CPU=sse9 is not a known set of instructions; use {}"


def run(command, row):
    """(what it prints, None), or (None, why it refuses)."""
    ran = subprocess.run(
        command, env={**os.environ, "BLOOMERY_CPU": row}, capture_output=True, text=True
    )
    if ran.returncode == 2:
        return None, ran.stderr.strip()
    if ran.returncode != 0:
        sys.exit(f"{row}: {command} ends with {ran.returncode}\n{ran.stderr}")
    return ran.stdout.splitlines(), None


def check_refusals(command, lacking, known):
    for row in lacking:
        if (said := run(command, row)[1]) != LACKING.format(row):
            sys.exit(f"{command} under BLOOMERY_CPU={row} says: {said}")
    if (said := run(command, "sse9")[1]) != UNKNOWN.format(known):
        sys.exit(f"{command} under BLOOMERY_CPU=sse9 says: {said}")


def rows_of(command, is_arm):
    """{name of the row: its lines}"""
    if is_arm:
        check_refusals(command, ["avx2", "avx512"], "scalar or neon")
    elif platform.machine() in ("x86_64", "AMD64"):
        check_refusals(command, ["neon"], "scalar, avx2 or avx512")
    found = {}
    for row in ARM_ROWS if is_arm else X86_ROWS:
        lines, refused = run(command, row)
        if refused and (is_arm or row == "scalar" or refused != LACKING.format(row)):
            sys.exit(f"{row}: {refused}")
        if refused:
            continue
        if lines[0] != f"row {row}":
            sys.exit(f"asked for {row}, got {lines[0]}")
        found[row] = lines[1:]
    return found


def main():
    here, arm = sys.argv[1:2], sys.argv[2:]
    host = platform.machine()
    rows = {(host, name): lines for name, lines in rows_of(here, host == "aarch64").items()}
    if arm:
        rows |= {("aarch64", name): lines for name, lines in rows_of(arm, True).items()}
    law = rows[(host, "scalar")]
    if len(law) < 100:
        sys.exit(f"only {len(law)} lines; have the kinds gone?")
    wrong = []
    for (machine, name), lines in rows.items():
        wrong += [f"{machine} {name}: {line}" for line in lines if line not in law]
        if not wrong and lines != law:
            wrong.append(f"{machine} {name}: {len(lines)} lines, not the {len(law)} in their order")
    if wrong:
        sys.exit(f"not as the scalar row of {host}:\n" + "\n".join(wrong))
    print(f"{len(law)} lines the same in", ", ".join(f"{m} {name}" for m, name in rows))


main()

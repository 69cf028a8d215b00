#!/usr/bin/env python3
"""What the linker makes of our static libraries.

    archives.py COMPILER NM ARCHIVE...

1. Each can go into a shared object: a plug-in of a program or of a language. An object that was not
   compiled as position-independent code stops the link.
2. The objects that are compiled for wider CPUs (kernels_<cpu>.cpp) define no weak symbol. The
   linker keeps one of all the weak definitions of a name, whoever made it: with one of theirs, the
   other files would run instructions that an older CPU does not have.
"""
import os
import subprocess
import sys
import tempfile

# Weak or unique definitions, in code or data. DW.ref.* are pointers for exceptions, not code.
WEAK = {"W", "V", "u"}


def definitions(nm, archive):
    """(object, letter, name) of each symbol."""
    command = [nm, "-A", "--defined-only", archive]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    for line in ran.stdout.splitlines():
        words = line.split()
        yield line.split(":")[1], words[-2], words[-1]


def check_kernels(nm, archive):
    kernels = set()
    weak = {}
    for member, letter, name in definitions(nm, archive):
        if not member.startswith("kernels_"):
            continue
        kernels.add(member)
        if letter in WEAK and not name.startswith("DW.ref."):
            weak.setdefault(member, []).append(name)
    if weak:
        sys.exit(f"{archive}: objects for wider CPUs define weak symbols: {weak}")
    return len(kernels)


def check_position_independent(compiler, archive, directory):
    out = os.path.join(directory, "plugin.so")
    ran = subprocess.run(
        [compiler, "-shared", "-o", out, "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive"],
        capture_output=True,
        text=True,
    )
    if ran.returncode != 0:
        sys.exit(f"{archive} does not go into a shared object:\n{ran.stderr[-2000:]}")


def main():
    compiler, nm, *archives = sys.argv[1:]
    kernels = 0
    with tempfile.TemporaryDirectory() as directory:
        for archive in archives:
            check_position_independent(compiler, archive, directory)
            kernels += check_kernels(nm, archive)
    if os.uname().machine == "x86_64" and kernels < 4:
        sys.exit(f"only {kernels} objects are called kernels_*; have they another name now?")
    print(f"{len(archives)} archives, {kernels} objects for wider CPUs")


main()

#!/usr/bin/env python3
"""No instruction that we chose for a wider CPU stands under a name that files for any CPU share.

    shared_names.py COMPILER NM OBJDUMP [FLAG...]

Compiles verbs.cpp for any CPU, for AVX2 and for AVX-512. Of two definitions of a weak symbol the
linker keeps either. So whatever a wide file and the one for any CPU both define must be free of the
instructions of native_line.hpp and native_split.hpp (this_cpu.hpp).
"""
import os
import re
import subprocess
import sys
import tempfile

# Variable shifts and rotations, tests of whole registers, masks: none that a compiler takes for
# moving bytes about.
CHOSEN = re.compile(r"\b(vpsllv[dq]|vpsrlv[dq]|vprolv[dq]|vpermq|vptest\w*|vpcmp\w*|vpmull[dq])\b")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def weak_symbols(nm, path):
    lines = (line.split() for line in run(nm, "--defined-only", path).splitlines())
    return {words[-1] for words in lines if words[-2] in {"W", "V", "u"}}


def chosen_in(objdump, path):
    """{function: instructions}"""
    found = {}
    name = None
    for line in run(objdump, "-d", "--no-show-raw-insn", path).splitlines():
        begins = re.match(r"[0-9a-f]+ <(.+)>:$", line)
        if begins:
            name = begins.group(1)
        elif name and (chosen := CHOSEN.search(line)):
            found.setdefault(name, set()).add(chosen.group(1))
    return found


def main():
    compiler, nm, objdump, *flags = sys.argv[1:]
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "verbs.cpp")
    with tempfile.TemporaryDirectory() as directory:

        def compiled(cpu):
            out = os.path.join(directory, cpu + ".o")
            # Small code is not inlined, so that there is much to share; nor is it vectorised.
            plain = ["-std=c++20", "-w", "-Os", "-fno-tree-vectorize", "-fno-tree-slp-vectorize"]
            run(compiler, *plain, "-march=" + cpu, *flags, "-c", source, "-o", out)
            return out

        plain = weak_symbols(nm, compiled("x86-64"))
        for cpu in ("x86-64-v3", "x86-64-v4"):
            wide = compiled(cpu)
            chosen = chosen_in(objdump, wide)
            if not chosen:
                sys.exit(f"{cpu}: no wide instruction at all; is what is looked for still used?")
            shared = weak_symbols(nm, wide) & plain
            if bad := {name: sorted(chosen[name]) for name in shared & chosen.keys()}:
                sys.exit(f"{cpu}: functions that a file for any CPU may get: {bad}")
            print(f"{cpu}: {len(chosen)} functions with wide instructions, {len(shared)} shared")


main()

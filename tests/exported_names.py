#!/usr/bin/env python3
"""Builds the shared libraries and checks that they export names of the public headers only.

    exported_names.py CMAKE SOURCE_DIR COMPILER

A name counts as public if a header under include/ spells it. Everything must resolve inside the
libraries: they are linked with --no-undefined.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

cmake, source, compiler = sys.argv[1:]
words = set()
for header in Path(source, "include").rglob("*.hpp"):
    words |= set(re.findall(r"\w+", header.read_text(encoding="utf-8")))

with tempfile.TemporaryDirectory() as build:
    subprocess.run(
        [cmake, "-G", "Ninja", "-S", source, "-B", build, f"-DCMAKE_CXX_COMPILER={compiler}"]
        + ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DBUILD_SHARED_LIBS=ON"]
        + ["-DBLOOMERY_BUILD_TOOLS=OFF", "-DCMAKE_SHARED_LINKER_FLAGS=-Wl,--no-undefined"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    subprocess.run([cmake, "--build", build], check=True, stdout=subprocess.DEVNULL)
    wrong, seen = [], 0
    for name in ("bloomery", "bloomery_text", "bloomery_redis"):
        listed = subprocess.run(
            ["nm", "-DC", "--defined-only", f"{build}/lib{name}.so"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for line in listed.splitlines():
            kind, symbol = line.split(" ", 2)[1:]
            plain = re.sub(r"<.*>|\(.*|\[abi:\w+\]", "", symbol)
            if kind in "TDBR" and "bloomery::" in symbol:
                seen += 1
                last = plain.split("::")[-1].lstrip("~")
                if last not in words and not last.startswith("operator"):
                    wrong.append(f"lib{name}.so exports {symbol}")

for line in wrong:
    print(line)
if seen < 100:
    print(f"only {seen} names are exported; the check sees nothing")
    sys.exit(1)
print(f"{seen} names are exported, all of them public")
sys.exit(1 if wrong else 0)

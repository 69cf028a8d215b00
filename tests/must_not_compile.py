#!/usr/bin/env python3
"""Passes when the compiler refuses a file with the sentence that its first line expects.

    must_not_compile.py COMPILER FILE [FLAG...]

The first line of FILE is `// expect: SENTENCE`. A file refused for any other reason, such as a
missing header, does not pass.
"""
import os
import subprocess
import sys


def main():
    compiler, path, *flags = sys.argv[1:]
    with open(path, encoding="ascii") as source:
        mark, found, sentence = source.readline().strip().partition("// expect: ")
    if mark or not found or not sentence:
        sys.exit(f"{path}:1: the first line must be '// expect: SENTENCE'")

    # Named again, the default directory changes its place in the search order.
    flags = [flag for flag in flags if flag != "-I/usr/include"]
    ran = subprocess.run(
        [compiler, "-std=c++20", "-fsyntax-only", *flags, path],
        env={**os.environ, "LC_ALL": "C"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if ran.returncode == 0:
        sys.exit(f"{path} compiles; it must not")
    if sentence not in ran.stdout:
        sys.exit(f"{path} is refused, but not with '{sentence}':\n{ran.stdout}")


main()

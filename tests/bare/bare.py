#!/usr/bin/env python3
"""Passes when the sets compile without exceptions, without threads and with 32-bit sizes.

    bare.py COMPILER ROOT SOURCE... [FLAG...]

No SOURCE may include a header of threads when BLOOMERY_NO_THREADS is defined. Each is compiled with
-m32, for which the 64-bit headers of this machine will do: one file of the C library is made up.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BARE = ["-std=c++20", "-fno-exceptions", "-DBLOOMERY_NO_THREADS"]
THREADS = re.compile(
    r"/(thread|mutex|shared_mutex|barrier|latch|semaphore|condition_variable|future|stop_token)$"
)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace",
                          env={**os.environ, "LC_ALL": "C"})


def search_path(compiler):
    """Where the compiler looks for <...> when it compiles for 64 bits."""
    said = run(compiler, "-std=c++20", "-E", "-v", "-x", "c++", "/dev/null").stderr
    listed = said.split("#include <...> search starts here:\n")[1].split("End of search list")[0]
    return [line.strip() for line in listed.splitlines()]


def threads_in(compiler, source, flags):
    listed = run(compiler, *BARE, "-M", *flags, source)
    if listed.returncode != 0:
        return listed.stderr
    return "\n".join(f"{source} includes {word}" for word in listed.stdout.split()
                     if THREADS.search(word))


def refused_with_32_bits(compiler, source, flags):
    narrowing = ["-Wall", "-Wextra", "-Werror", "-Wno-psabi"]
    ran = run(compiler, *BARE, "-m32", "-msse2", "-fsyntax-only", *narrowing, *flags, source)
    return "" if ran.returncode == 0 else ran.stderr[:4000]


def main():
    compiler, root, *rest = sys.argv[1:]
    flags = [word for word in rest if word.startswith("-") and word != "-I/usr/include"]
    sources = [str(Path(root) / word) for word in rest if not word.startswith("-")]
    with tempfile.TemporaryDirectory() as made_up:
        stubs = Path(made_up) / "gnu" / "stubs-32.h"
        stubs.parent.mkdir()
        stubs.touch()
        places = [f"-isystem{place}" for place in [made_up, *search_path(compiler)]]
        narrow = [*flags, "-nostdinc", "-nostdinc++", *places]
        with concurrent.futures.ThreadPoolExecutor(2) as several:
            wrong = [
                *several.map(lambda source: threads_in(compiler, source, flags), sources),
                *several.map(lambda file: refused_with_32_bits(compiler, file, narrow), sources),
            ]
    wrong = [text for text in wrong if text]
    sys.exit("\n".join(wrong) if wrong else 0)


main()

#!/usr/bin/env python3
"""Every batch kernel in the built command calls for memory ahead.

GCC 12 takes a function whose only act is a prefetch for one without effect and drops its calls. The
answers stay right and only the speed halves, so nothing else would notice (docs/dead_ends.md).
"""
import os
import platform
import re
import subprocess
import sys
import unittest

MACHINE = platform.machine()
ROWS = {"x86_64": 3, "AMD64": 3, "aarch64": 2, "arm64": 2}.get(MACHINE, 1)
FUSED_ROWS = ROWS - 1  # all but scalar
KERNELS = {
    **dict.fromkeys(("lines_add", "lines_ask", "split_add", "split_ask"), ROWS),
    **dict.fromkeys(
        ("lines_call", "lines_add_fused", "lines_ask_fused",
         "split_call", "split_add_fused", "split_ask_fused"), FUSED_ROWS
    ),
}
PREFETCH = re.compile(r"\b(prefetch\w*|prfm)\b")


def functions(binary):
    """Name and instructions of every function, names without their arguments."""
    listing = subprocess.run(
        ["objdump", "--disassemble", "--demangle", "--no-show-raw-insn", binary],
        check=True, capture_output=True, text=True).stdout
    for piece in re.split(r"\n(?=[0-9a-f]+ <)", listing):
        head, _, body = piece.partition("\n")
        if match := re.match(r"[0-9a-f]+ <(?:.*::)?(\w+)\(", head):
            yield match[1], body


class Prefetch(unittest.TestCase):
    def test_every_kernel_of_every_row_prefetches(self):
        found = {name: [] for name in KERNELS}
        for name, body in functions(os.environ["BLOOMERY"]):
            if name in found:
                found[name].append(bool(PREFETCH.search(body)))
        for name, rows in found.items():
            expected = [True] * KERNELS[name]
            self.assertEqual(rows, expected, f"{name}: which of its rows prefetch")


if __name__ == "__main__":
    sys.exit(unittest.main())

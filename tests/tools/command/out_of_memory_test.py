#!/usr/bin/env python3
"""What the command does when the system gives no memory: one call of malloc after the other fails.
Either the output is right, or a sentence and exit 2. Nothing else may happen: no abort, no line
that is taken for "no JSON" or "no URL". Every verb, and every call of malloc, is in fault_loop.cpp.

    BLOOMERY=path/to/bloomery FAILING_MALLOC=path/to/failing_malloc.so out_of_memory_test.py
"""
import os
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BINARY = os.environ.get("BLOOMERY") or sys.exit("set BLOOMERY to the path of the command")
SHIM = os.environ.get("FAILING_MALLOC") or sys.exit("set FAILING_MALLOC to failing_malloc.so")
PATIENCE = 240

# Strings and names that the parsers have to unescape, authorities that uriparser judges.
TEXT = b"".join(b"%d\n" % (i % 40) for i in range(90))
JSON_LINE = b'{"\\u0061":{"b":["x\\n%d"]},"pad":"%s"}\n'
JSON = b"".join(JSON_LINE % (i % 20, b"p" * (i // 15 * 40)) for i in range(60))
URLS = b"".join(b"http://u%d@[::1]:80/%%7ea?b=2&a=1\n" % (i % 9) for i in range(30))
CSV = b"id,name\n" + b"".join(b'%d,"n ""%d"""\n' % (i, i % 7) for i in range(30))

# name: input, lines of the right output, words
RUNS = {
    "text": (TEXT, 40, ["dedup", "-T", "1"]),
    "threads": (TEXT, 40, ["dedup", "-T", "3"]),
    "exact": (TEXT, 40, ["dedup", "-T", "1", "--exact"]),
    "json": (JSON, 20, ["dedup", "-T", "1", "--json-key", ".a.b[0]"]),
    "json skip": (JSON, 20, ["dedup", "-T", "2", "--json-key", ".a.b[0]", "--skip-bad"]),
    "url": (URLS, 9, ["dedup", "-T", "1", "--normalize", "url"]),
    "csv": (CSV, 8, ["dedup", "-T", "1", "--csv", "--column", "name"]),
}


class OutOfMemory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory(prefix="bloomery-memory-")
        cls.addClassCleanup(place.cleanup)
        cls.folder = Path(place.name)

    @classmethod
    def run_failing(cls, words, **told):
        named = {f"FAILING_MALLOC_{key.upper()}": str(value) for key, value in told.items()}
        return subprocess.run([BINARY, *words], capture_output=True, timeout=PATIENCE,
                              cwd=cls.folder, stdin=subprocess.DEVNULL,
                              env={**os.environ, "LD_PRELOAD": SHIM, **named})

    @classmethod
    def calls_of(cls, name, words, code=0):
        run = cls.run_failing(words, count=cls.folder / f"{name}.calls")
        assert run.returncode == code, (words, run)
        return int((cls.folder / f"{name}.calls").read_text())

    def check(self, words, right, **told):
        run = self.run_failing(words, **told)
        if run.returncode == 0:
            self.assertEqual(run.stdout, right, (words, told, run.stderr))
        else:
            self.assertEqual(run.returncode, 2, (words, told, run.stderr))
            self.assertIn(b"bloomery: error: ", run.stderr, (words, told))
        return run.returncode

    def check_all(self, name):
        content, lines, words = RUNS[name]
        path = self.folder / name.replace(" ", "_")
        path.write_bytes(content)
        words = [*words, path.name]
        right = subprocess.run([BINARY, *words], capture_output=True, cwd=self.folder)
        self.assertEqual((right.returncode, right.stdout.count(b"\n")), (0, lines), right)
        if "json" in name:
            (self.folder / "empty").touch()
            before = self.calls_of(path.name, [*words[:-1], "empty"]) - 10
        else:
            before = self.calls_of(path.name, [*words[:-1], "no such file"], code=2)
        at = range(before, self.calls_of(path.name, words) + 1)
        with ThreadPoolExecutor(4) as pool:
            once = list(pool.map(lambda n: self.check(words, right.stdout, at=n), at))
            # From some call on there is none at all.
            for_ever = list(pool.map(
                lambda n: self.check(words, right.stdout, at=n, every=1), at[::3]))
        # The shim is really there.
        self.assertGreater(once.count(2), 5)
        self.assertGreater(for_ever.count(2), 2)


for name in RUNS:
    setattr(OutOfMemory, f"test_{name.replace(' ', '_')}",
            lambda self, name=name: self.check_all(name))


if __name__ == "__main__":
    unittest.main()

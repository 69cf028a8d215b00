#!/usr/bin/env python3
"""Set files with a flipped byte or a missing end: never an answer, always exit 2 and a sentence.

    BLOOMERY=path/to/bloomery broken_files_test.py [SEED]
"""
import os
import random
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BINARY = os.environ.get("BLOOMERY") or sys.exit("set BLOOMERY to the path of the command")
SEED = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 20260701
# Two superblocks, directory and checksums lie in the first 16 KiB, mostly zeros between.
HEAD_BYTES = 16_384
ONLY_SHOWN = 3


def run(*words, stdin=b""):
    return subprocess.run([BINARY, *map(str, words)], input=stdin, capture_output=True)


class BrokenFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory(prefix="bloomery-broken-")
        cls.addClassCleanup(cls.place.cleanup)
        cls.folder = Path(cls.place.name)
        cls.lines = cls.folder / "lines"
        cls.lines.write_text("".join(f"{i}\n" for i in range(200)))
        cls.originals = {}
        for kind in ["blocked", "bitmap", "chain", "hash-set", "scalable"]:
            path = cls.folder / f"{kind}.good"
            flags = ["-n", 64] if kind == "chain" else []
            made = run("build", "-q", "--kind", kind, *flags, "-o", path, cls.lines)
            assert made.returncode == 0, made.stderr
            cls.originals[kind] = path.read_bytes()

    def setUp(self):
        self.chance = random.Random(f"{SEED} {self.id()}")

    def problem_with(self, job):
        """Why a broken file was not refused as it should be, or None."""
        number, what, content, words = job
        path = self.folder / f"broken{number}.set"
        path.write_bytes(content)
        try:
            ran = run(*words, path, *([self.lines] if words == ["check"] else []))
        finally:
            path.unlink()
        said = ran.stderr.decode(errors="replace")
        good = (
            ran.returncode == 2
            and said.startswith("bloomery: error: ")
            and said.count("\n") == 1
            and path.name in said
            and (ran.stdout == b"" or words == ["verify", "--json"])
        )
        return None if good else f"{what}, {words}: exit {ran.returncode}, {said!r}"

    def refuse_all(self, contents):
        commands = [["check"], ["info"], ["verify"]]
        # Each broken file meets one of the commands in turn: they open files through one door.
        jobs = [
            (number, what, content, commands[number % 3])
            for number, (what, content) in enumerate(contents)
        ]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            problems = [problem for problem in pool.map(self.problem_with, jobs) if problem]
        shown = "\n".join(problems[:ONLY_SHOWN])
        self.assertFalse(problems, f"{len(problems)} of {len(jobs)}:\n{shown}")

    def flipped(self, kind):
        original = self.originals[kind]
        # Bytes that hold something, some that hold nothing, and some behind the head.
        telling = [i for i in range(min(HEAD_BYTES, len(original))) if original[i] != 0]
        places = telling if len(telling) <= 400 else self.chance.sample(telling, 400)
        places += range(self.chance.randrange(97), min(HEAD_BYTES, len(original)), 97)
        places += (self.chance.randrange(len(original)) for _ in range(60))
        for place in sorted(set(places)):
            content = bytearray(original)
            content[place] ^= 1 << self.chance.randrange(8)
            yield f"{kind}: byte {place} flipped", bytes(content)

    def cut(self, kind):
        original = self.originals[kind]
        lengths = {0, 1, 7, 8, 100, 4095, 4096, 4097, 8191, 8192, 8193, len(original) - 1}
        lengths |= {self.chance.randrange(len(original)) for _ in range(30)}
        for length in sorted(lengths):
            yield f"{kind}: cut to {length} bytes", original[:length]
        yield f"{kind}: a byte too many", original + b"\0"

    def test_flipped_bytes_of_a_blocked_set(self):
        self.refuse_all(self.flipped("blocked"))

    def test_flipped_bytes_of_other_kinds(self):
        for kind in ["bitmap", "chain", "hash-set"]:
            self.refuse_all(self.chance.sample(list(self.flipped(kind)), 120))

    def test_truncated_files(self):
        for kind in self.originals:
            self.refuse_all(self.cut(kind))

    def test_the_untouched_files_are_good(self):
        for kind in self.originals:
            ran = run("verify", self.folder / f"{kind}.good")
            self.assertEqual((ran.returncode, ran.stderr), (0, b""))


if __name__ == "__main__":
    print(f"seed {SEED}", flush=True)
    unittest.main()

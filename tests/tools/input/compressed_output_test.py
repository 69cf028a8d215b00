#!/usr/bin/env python3
"""Output that is compressed by the name of -o, read by the programs of these names, by Python and
by the command itself.

    BLOOMERY=path/to/bloomery compressed_output_test.py [SEED]
"""
import bz2
import gzip
import lzma
import os
import random
import subprocess
import sys
import tempfile
import threading
import unittest
import zlib
from pathlib import Path

BINARY = os.environ.get("BLOOMERY") or sys.exit("set BLOOMERY to the path of the command")
SEED = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 20261117
PATIENCE = 240  # seconds after which something hangs, on a machine with much else to do
# What reads each, and checks its checksums.
PROGRAMS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".lz4": "lz4"}
OF_PYTHON = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}


def bloomery(*words, **more):
    return subprocess.run(
        [BINARY, *map(str, words)], capture_output=True, timeout=PATIENCE, **more
    )


def decoded(path):
    program = PROGRAMS[path.suffix]
    return subprocess.run(
        [program, "-dc", path], capture_output=True, check=True, timeout=PATIENCE
    ).stdout


class Compressed(unittest.TestCase):
    def setUp(self):
        self.chance = random.Random(f"{SEED} {self.id()}")
        place = tempfile.TemporaryDirectory(prefix="bloomery-compressed-")
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def good(self, *words, exit=0, **more):
        run = bloomery(*words, **more)
        self.assertEqual((run.returncode, run.stderr), (exit, b""), words)
        return run.stdout

    def assert_refused(self, words, *parts, **more):
        run = bloomery(*words, **more)
        self.assertEqual((run.returncode, run.stdout), (2, b""), words)
        self.assertRegex(run.stderr.decode(), r"\Abloomery: error: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, run.stderr.decode())

    def contents(self):
        long = bytes(self.chance.choices(range(32, 127), k=100)) * 35_000
        yield b""
        yield b"a\n"
        yield b"".join(b"%d\n" % self.chance.getrandbits(64) for _ in range(150_000))
        yield long + b"\n" + b"b\n" * 3

    def test_what_comes_out_is_what_the_plain_output_has(self):
        for number, content in enumerate(self.contents()):
            plain = self.good("dedup", input=content)
            for suffix, of_python in {**dict.fromkeys(PROGRAMS), **OF_PYTHON}.items():
                path = self.folder / f"{number}.txt{suffix}"
                self.assertEqual(self.good("dedup", "-o", path, input=content), b"")
                with self.subTest(suffix=suffix, number=number):
                    self.assertTrue(decoded(path) == plain)
                    if of_python:
                        self.assertTrue(of_python(path.read_bytes()) == plain)
                    self.assertTrue(self.good("dedup", path) == plain)
                    if len(plain) > 1000 and suffix != ".lz4":  # it does not pack digits
                        self.assertLess(path.stat().st_size, 0.95 * len(plain))

    def test_every_verb_that_prints_lines(self):
        known = self.folder / "known.set"
        self.good("build", "-q", "--kind", "spectral", "-o", known, input=b"a\nb\na\n")
        for words, content, wanted, suffix in (
                (["dedup", "-c"], b"a\nb\na\n", b"2\ta\n1\tb\n", ".gz"),
                (["dedup", "--distinct"], b"a\nb\na\n", b"2\n", ".lz4"),
                (["dedup", "-u"], b"a\nb\na\n", b"b\n", ".bz2"),
                (["check", known], b"a\nx\n", b"a\n", ".xz"),
                (["check", "-v", known], b"a\nx\n", b"x\n", ".zst"),
                (["count", known], b"b\na\n", b"1\tb\n2\ta\n", ".lz4"),
                (["ints", "sort"], b"3\n1\n2\n", b"1\n2\n3\n", ".gz"),
                (["ints", "dups"], b"3\n1\n3\n", b"3\n", ".zst")):
            path = self.folder / f"{len(list(self.folder.iterdir()))}{suffix}"
            self.assertEqual(self.good(*words, "-o", path, input=content), b"")
            self.assertEqual(decoded(path), wanted, words)
            # What is there is replaced only when told to.
            before = path.read_bytes()
            self.assert_refused([*words, "-o", path], "exists", input=content)
            self.assertEqual(path.read_bytes(), before)
            self.good(*words, "-f", "-o", path, input=content)
            self.assertEqual(decoded(path), wanted, words)

    def test_what_is_read_is_not_written(self):
        known, lines = self.folder / "known.set", self.folder / "lines"
        self.good("build", "-q", "--kind", "spectral", "-o", known, input=b"a\n")
        lines.write_bytes(b"a\n")
        before = known.read_bytes()
        for verb in ("check", "count"):
            self.assert_refused([verb, known, "-f", "-o", lines, lines], "another name")
            self.assert_refused([verb, known, "-f", "-o", known, lines], "another name")
        self.assert_refused(["check", "-c", known, "-o", self.folder / "x", lines], "--output")
        self.assertEqual((known.read_bytes(), lines.read_bytes()), (before, b"a\n"))

    def test_repeats_too(self):
        out, dups = self.folder / "out.txt", self.folder / "dups.gz"
        self.good("dedup", "-o", out, "-D", dups, input=b"a\nb\na\n")
        self.assertEqual((out.read_bytes(), decoded(dups)), (b"a\nb\n", b"a\n"))

    def test_a_csv_header_comes_once(self):
        one, two = self.folder / "one.csv", self.folder / "two.csv"
        one.write_bytes(b"id,x\n1,a\n")
        two.write_bytes(b"id,x\n1,b\n2,c\n")
        out = self.folder / "out.csv.gz"
        self.good("dedup", "--csv", "--column", "id", "-o", out, one, two)
        self.assertEqual(decoded(out), b"id,x\n1,a\n2,c\n")

    def test_other_names_and_the_standard_output_stay_plain(self):
        for name in ("x.txt", "x.GZ.txt", "x.gz.txt", ".gz", "gz"):
            path = self.folder / name
            self.good("dedup", "-o", path, input=b"a\n")
            self.assertEqual(path.read_bytes(), b"a\n")
        with open(self.folder / "redirected.gz", "wb") as out:
            subprocess.run([BINARY, "dedup", "-o", "-"], input=b"a\n", stdout=out, check=True)
        self.assertEqual((self.folder / "redirected.gz").read_bytes(), b"a\n")

    def test_a_run_that_fails_leaves_what_was_there(self):
        whole = gzip.compress(b"".join(b"%d\n" % self.chance.getrandbits(64) for _ in range(9999)))
        cut = self.folder / "cut.gz"
        cut.write_bytes(whole[:-100])
        for suffix in PROGRAMS:
            out = self.folder / f"out{suffix}"
            self.assert_refused(["dedup", "-o", out, cut], "cut short")
            self.assertFalse(out.exists())
            out.write_bytes(b"old")
            self.assert_refused(["dedup", "-f", "-o", out, cut], "cut short")
            self.assertEqual(out.read_bytes(), b"old")
        self.assertEqual(len(list(self.folder.iterdir())), 1 + len(PROGRAMS))

    def test_a_full_disk_is_told(self):
        full = self.folder / "full.gz"
        full.symlink_to("/dev/full")
        lines = b"".join(b"%d\n" % self.chance.getrandbits(64) for _ in range(50_000))
        self.assert_refused(["dedup", "-o", full], "the disk is full", input=lines)
        # The last bytes come only as the stream is ended.
        self.assert_refused(["dedup", "-o", full], "the disk is full", input=b"a\n")

    def test_a_file_that_may_not_become_so_large(self):
        out = self.folder / "out.xz"
        lines = b"".join(b"%d\n" % self.chance.getrandbits(64) for _ in range(50_000))
        run = subprocess.run(
            ["bash", "-c", f"ulimit -f 100; trap '' XFSZ; {BINARY} dedup -o {out}"], input=lines,
            capture_output=True, timeout=PATIENCE)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertFalse(out.exists())

    def test_lines_go_through_a_named_pipe_as_they_come(self):
        pipe = self.folder / "pipe.gz"
        os.mkfifo(pipe)
        run = subprocess.Popen([BINARY, "dedup", "-o", pipe], stdin=subprocess.PIPE)
        timer = threading.Timer(PATIENCE, run.kill)
        timer.start()
        run.stdin.write(b"first\nfirst\n")
        run.stdin.flush()
        decoder = zlib.decompressobj(wbits=31)
        got = b""
        with open(pipe, "rb", buffering=0) as reader:
            while got != b"first\n":  # before the writer has ended
                piece = reader.read(1 << 16)
                self.assertTrue(piece, got)
                got += decoder.decompress(piece)
            run.stdin.write(b"second\n")
            run.stdin.close()
            got += decoder.decompress(reader.readall())
        self.assertEqual((got, decoder.eof, run.wait()), (b"first\nsecond\n", True, 0))
        timer.cancel()

    def test_what_can_not_be(self):
        out = self.folder / "out.gz"
        self.assert_refused(["dedup", "--state", self.folder / "s", "-o", out], "--state",
                            input=b"a\n")
        self.assert_refused(["dedup", "-m", "1G", "-o", out], "--memory", input=b"a\n")
        self.assert_refused(["dedup", "-m", "1G", "-D", out], "--memory", input=b"a\n")
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    print(f"seed {SEED}", file=sys.stderr)
    unittest.main()

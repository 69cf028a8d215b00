#!/usr/bin/env python3
"""Inputs that are plausible and odd: lists of a few lines that come again and again, JSON lines of
many megabytes, blank lines among numbers, files that are empty, cut while they are read, or no
files at all, and outputs that cannot be written.

    BLOOMERY=path/to/bloomery odd_inputs_test.py
"""
import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BINARY = os.environ.get("BLOOMERY") or sys.exit("set BLOOMERY to the path of the command")
PATIENCE = 240

# A process starts with the peak memory of the one it was forked from, so a small one measures.
MEASURE = """
import os, subprocess, sys
started = subprocess.Popen(sys.argv[2:])
_, status, used = os.wait4(started.pid, 0)
with open(sys.argv[1], "w") as told:
    told.write(str(used.ru_maxrss * 1024))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def run(*words, **more):
    return subprocess.run([BINARY, *map(str, words)], capture_output=True, timeout=PATIENCE, **more)


def shell(command, **more):
    more.setdefault("env", {**os.environ, "B": BINARY})
    return subprocess.run(["bash", "-c", command], capture_output=True, timeout=PATIENCE, **more)


class Case(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="bloomery-odd-")
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def run_measured(self, *words, **more):
        peak = self.folder / "peak"
        outcome = subprocess.run(
            [sys.executable, "-c", MEASURE, peak, BINARY, *map(str, words)],
            capture_output=True, timeout=PATIENCE, cwd=self.folder, **more)
        return outcome, int(peak.read_text())


class Sizes(Case):
    def test_repeats_are_not_planned_for(self):
        """30M lines of which 1,000 are different took memory for 30M keys."""
        lines = b"".join(b"%d\n" % (i % 1000) for i in range(100_000))
        packed = self.write("few.gz", gzip.compress(lines, 1) * 300)
        told = run("dedup", "--json", "-p", "1e-6", packed)
        self.assertEqual((told.returncode, told.stdout.count(b"\n")), (0, 1000), told.stderr)
        self.assertLess(json.loads(told.stderr)["memory_bytes"], 8 << 20)
        plain = self.write("few.txt", lines * 60)
        told = run("dedup", "--json", "-p", "1e-6", plain)
        self.assertLess(json.loads(told.stderr)["memory_bytes"], 8 << 20)
        for words in ([packed], []):
            told, peak = self.run_measured(
                "build", "-q", "-f", "-o", "S", *words,
                input=None if words else lines * 300)
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertLess(peak, 120 << 20, words)
            self.assertEqual(json.loads(run("info", "--json", self.folder / "S").stdout)["keys"],
                             1000)

    def test_what_is_new_behind_the_sample_still_fits(self):
        """The start of the file repeats itself, the rest does not."""
        content = b"0\n" * 3_000_000 + b"".join(b"x%d\n" % i for i in range(400_000))
        packed = self.write("late.gz", gzip.compress(content, 1))
        told = run("dedup", "--json", "-p", "1e-6", packed)
        self.assertGreaterEqual(told.stdout.count(b"\n"), 399_990)
        report = json.loads(told.stderr.splitlines()[-1])
        self.assertLess(report["expected_lost"], 3)
        self.assertLess(report["rate_now"], 1.5e-6)

    def test_a_long_json_line_is_refused_without_taking_its_size_several_times(self):
        line = b'{"a":1,"b":"' + b"x" * (200 << 20) + b'"}'
        path = self.write("long.json", b'{"a":0}\n' + line + b"\n")
        told, peak = self.run_measured("dedup", "--json-key", ".a", path)
        self.assertEqual(told.returncode, 2)
        self.assertIn(b"line 2 has no key, because its JSON is longer than 64 MiB", told.stderr)
        self.assertLess(peak, 700 << 20)
        skipped = run("dedup", "--json-key", ".a", "--skip-bad", path, stdin=subprocess.DEVNULL)
        self.assertEqual((skipped.returncode, len(skipped.stdout)), (0, path.stat().st_size))


class Ints(Case):
    def sorted(self, content, *words):
        outcome = run("ints", "sort", *words, input=content)
        return outcome.returncode, outcome.stdout, outcome.stderr.decode()

    def test_blank_lines_at_the_end_are_passed_over(self):
        for content in (b"2\n1\n\n", b"2\n1\n\n\n\n", b"2\n1\n \n\t\n", b"2\r\n1\r\n\r\n",
                        b"2\n1\n  ", b"\xef\xbb\xbf2\n1\n\n", b"2\n1"):
            self.assertEqual(self.sorted(content)[:2], (0, b"1\n2\n"), content)
        self.assertEqual(self.sorted(b"2,1,\n", "-d", ",")[:2], (0, b"1,2,"))
        self.assertEqual(self.sorted(b"\n\n")[:2], (0, b""))
        self.assertEqual(self.sorted(b"")[:2], (0, b""))
        one, two = self.write("one", b"2\n\n\n"), self.write("two", b"1\n\n")
        self.assertEqual(run("ints", "sort", one, two).stdout, b"1\n2\n")
        told = run("ints", "sort", "--json", "--skip-bad", one, two)
        self.assertEqual(json.loads(told.stderr)["bad_in"], 0)

    def test_blank_lines_elsewhere_are_errors_with_their_line(self):
        for content, line in ((b"\n1\n", 1), (b"1\n\n2\n", 2), (b"1\n2\n \n\n3\n\n", 3),
                              (b"1\n" * 5000 + b"\n" * 3000 + b"2\n", 5001)):
            code, out, told = self.sorted(content)
            self.assertEqual((code, out), (2, b""))
            self.assertIn(f"standard input, line {line}: the line is empty", told)
        code, out, told = self.sorted(b"1\n\n\n2\nx\n\n", "--skip-bad", "--json")
        self.assertEqual((code, out), (0, b"1\n2\n"))
        self.assertIn('"bad_in":3', told)
        # In the second file the lines are its own.
        one, two = self.write("one", b"2\n\n"), self.write("two", b"1\n\n3\n")
        self.assertIn(b"two, line 2: the line is empty", run("ints", "sort", one, two).stderr)

    def test_what_is_a_number(self):
        for text in (b"5", b" 5", b"5 ", b"\t5\r", b"05", b"0000000000000000000000005"):
            self.assertEqual(self.sorted(text + b"\n")[:2], (0, b"5\n"), text)
        for text in (b"+5", b"-5", b"-0", b"5.0", b"5e0", b"0x5", b"5 6", b"5,6", b"five",
                     b"\xc2\xa05", b"18446744073709551616", b"5\0"):
            self.assertEqual(self.sorted(text + b"\n")[:2], (2, b""), text)
        self.assertEqual(self.sorted(b"18446744073709551615\n")[:2], (0, b"18446744073709551615\n"))


class Files(Case):
    def test_empty_ones(self):
        empty = [self.write("plain", b""), self.write("gz", gzip.compress(b"")),
                 self.write("bz2", bz2.compress(b"")), self.write("xz", lzma.compress(b""))]
        made = self.folder / "S"
        self.assertEqual(run("build", "-q", "-o", made, input=b"a\n").returncode, 0)
        for path in (*empty, "/dev/null"):
            for words, code in ((["dedup"], 0), (["check", made], 1), (["add", "-q", made], 0),
                                (["ints", "sort"], 0)):
                outcome = run(*words, path)
                self.assertEqual((outcome.returncode, outcome.stdout), (code, b""), (words, path))
        self.assertEqual(run("dedup", *empty, self.write("a", b"a\n")).stdout, b"a\n")

    def test_different_codecs_and_padding(self):
        files = [self.write("1", gzip.compress(b"1\n2\n") + bytes(1000)),
                 self.write("2", bz2.compress(b"2\n3\n")),
                 self.write("3", lzma.compress(b"3\n4\n")), self.write("4", b"4\n5")]
        outcome = run("dedup", *files)
        self.assertEqual((outcome.returncode, outcome.stdout), (0, b"1\n2\n3\n4\n5\n"), outcome)
        self.assertEqual(run("dedup", input=gzip.compress(b"1\n") + b"\0\0x").returncode, 2)

    def test_what_can_not_be_read_is_named_before_anything_is_done(self):
        good = self.write("good", b"a\n")
        made = self.folder / "S"
        self.assertEqual(run("build", "-q", "-o", made, good).returncode, 0)
        before = made.read_bytes()
        for bad, why in ((self.folder, b"is a directory"), (self.folder / "no", b"No such file")):
            for words in (["dedup"], ["check", made], ["add", made], ["ints", "sort"],
                          ["build", "-o", self.folder / "N"]):
                outcome = run(*words, good, bad)
                self.assertEqual((outcome.returncode, outcome.stdout), (2, b""), (words, bad))
                self.assertIn(why, outcome.stderr)
                self.assertIn(bytes(bad), outcome.stderr)
        self.assertEqual(made.read_bytes(), before)
        self.assertFalse((self.folder / "N").exists())
        outcome = shell(f'"$B" dedup < {self.folder}')
        self.assertEqual(outcome.returncode, 2)

    def test_closed_and_full(self):
        self.write("f", b"a\nb\n")
        for command in ('"$B" dedup <&-', '"$B" ints sort <&-', '"$B" dedup - f <&-'):
            outcome = shell(command, cwd=self.folder)
            self.assertEqual((outcome.returncode, outcome.stdout), (2, b""), command)
            self.assertIn(b"standard input", outcome.stderr)
        for command in ('"$B" dedup f >&-', '"$B" dedup f > /dev/full', '"$B" ints sort n >&-',
                        '"$B" ints count n > /dev/full', '"$B" dedup -o /dev/full -f f',
                        '"$B" info S > /dev/full', '"$B" check S f > /dev/full'):
            self.write("n", b"1\n2\n")
            run("build", "-q", "-f", "-o", self.folder / "S", self.folder / "f")
            outcome = shell(command, cwd=self.folder)
            self.assertEqual((outcome.returncode, outcome.stdout), (2, b""), (command, outcome))
            self.assertIn(b"bloomery: error: ", outcome.stderr)

    def test_a_file_that_is_cut_while_it_is_read_is_told(self):
        """The command is held up by a pipe that is read first in the same file's middle."""
        path = self.write("f", b"".join(b"line %d\n" % i for i in range(300_000)))
        with subprocess.Popen([BINARY, "dedup", "-T", "1", path], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as reader:
            # The pipe is full long before the file is read to its end.
            first = reader.stdout.read(1000)
            os.truncate(path, 1_000_000)
            rest, told = reader.communicate(timeout=PATIENCE)
        self.assertTrue(first.startswith(b"line 0\n"))
        self.assertEqual(reader.returncode, 2, told)
        self.assertIn(b"became shorter while it was read", told)
        # Growing is no fault: what is there at the end is read.
        grown = self.write("g", b"".join(b"line %d\n" % i for i in range(300_000)))
        with subprocess.Popen([BINARY, "dedup", grown], stdout=subprocess.PIPE) as reader:
            reader.stdout.read(1000)
            with open(grown, "ab") as more:
                more.write(b"last\n")
            rest = reader.communicate(timeout=PATIENCE)[0]
        self.assertEqual((reader.returncode, rest[-5:]), (0, b"last\n"))

    def test_files_of_the_kernel_end_before_their_size(self):
        for path in ("/proc/self/limits", "/sys/kernel/mm/transparent_hugepage/enabled"):
            if Path(path).exists():
                self.assertEqual(run("dedup", path).returncode, 0, path)


if __name__ == "__main__":
    unittest.main()

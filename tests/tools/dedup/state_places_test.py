#!/usr/bin/env python3
"""States in odd places and on disks that become full: links, pipes, devices, a limit on file sizes.

    BLOOMERY=path/to/bloomery state_places_test.py [SEED]

A line that a state remembers was printed. After an error the same command, run again where there
is room, ends with the same output as one that never failed.
"""
import os
import random
import resource
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SEED = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 20261116


def limited(size):
    """For preexec_fn: no file grows beyond `size` bytes, as on a disk that is full."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


class Test(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        scratch = tempfile.TemporaryDirectory(prefix="bloomery-places-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def ran(self, *words, stdin=b"", **more):
        return subprocess.run(
            [os.environ["BLOOMERY"], *words], cwd=self.folder, input=stdin, timeout=60,
            stderr=subprocess.PIPE, **({"stdout": subprocess.PIPE} | more),
        )

    def good(self, *words, stdin=b""):
        ran = self.ran(*words, stdin=stdin)
        self.assertEqual((ran.returncode, ran.stderr), (0, b""), words)
        return ran.stdout

    def left_behind(self):
        return [one for one in os.listdir(self.folder) if one.startswith(".bloomery-")]


class Places(Test):
    @unittest.skipUnless(os.access("/dev/shm", os.W_OK), "there is no /dev/shm")
    def test_a_file_in_dev_shm_is_a_file(self):
        with tempfile.TemporaryDirectory(prefix="bloomery-places-", dir="/dev/shm") as shm:
            words = ["dedup", "--state", f"{shm}/S", "-o", f"{shm}/out"]
            self.good(*words, stdin=b"a\nb\n")
            self.good(*words, stdin=b"b\nc\n")
            self.assertEqual(Path(shm, "out").read_bytes(), b"a\nb\nc\n")
            self.good("dedup", "--in-place", f"{shm}/out")

    def test_a_link_stays_a_link_to_the_state(self):
        (self.folder / "there").mkdir()
        for link, real in (("near", "real"), ("far", "there/real"), ("new", "there/none yet")):
            os.symlink(real, self.folder / link)
            if link != "new":
                self.good("dedup", "--state", real, stdin=b"a\n")
            else:
                self.good("dedup", "--state", link, stdin=b"a\n")
            self.assertEqual(self.good("dedup", "--state", link, stdin=b"a\nb\n"), b"b\n")
            self.assertEqual(self.good("dedup", "--state", real, stdin=b"a\nb\nc\n"), b"c\n")
            for name in ("out", "out"):
                self.good("dedup", "--state", link, "-o", f"{link} {name}", stdin=b"d\ne\n")
            self.assertEqual((self.folder / f"{link} out").read_bytes(), b"d\ne\n")
            self.good("add", "-q", link, stdin=b"f\n")
            self.assertEqual(self.good("dedup", "--state", real, stdin=b"f\n"), b"")
            self.assertEqual(os.readlink(self.folder / link), real)

    def test_what_is_no_file_is_refused_before_a_line_is_printed(self):
        os.mkfifo(self.folder / "pipe")
        (self.folder / "folder").mkdir()
        os.symlink("b", self.folder / "a")
        os.symlink("a", self.folder / "b")
        os.symlink("pipe", self.folder / "link to a pipe")
        for name, said in (
            ("pipe", "is a pipe"),
            ("link to a pipe", "is a pipe"),
            ("folder", "is a directory"),
            ("/dev/null", "is a device"),
            ("/dev/full", "is a device"),
            ("a", "symbolic links"),
            ("nowhere/state", "No such file or directory"),
        ):
            ran = self.ran("dedup", "--state", name, stdin=b"a\n")
            self.assertEqual((ran.returncode, ran.stdout), (2, b""), name)
            self.assertIn(f"{name} ", ran.stderr.decode(), name)
            self.assertIn(said, ran.stderr.decode(), name)


class FullDisks(Test):
    lines = b"".join(b"line %d\n" % (i * 7919 % 60_000) for i in range(80_000))
    once = b"".join(dict.fromkeys(lines.splitlines(keepends=True)))

    def test_an_output_that_can_not_be_written_is_not_remembered(self):
        for first in (b"", b"line 7\n"):
            (self.folder / "S").unlink(missing_ok=True)
            if first:
                self.good("dedup", "--state", "S", stdin=first)
            for words in ([], ["-o", "/dev/full"], ["-D", "/dev/full", "-o", "kept"]):
                with open("/dev/full", "wb") as full:
                    ran = self.ran("dedup", "--state", "S", *words, "-f", stdin=self.lines,
                                   stdout=full)
                self.assertEqual(ran.returncode, 2, words)
                self.assertIn(b"the disk is full", ran.stderr)
                (self.folder / "kept").unlink(missing_ok=True)
            rest = self.good("dedup", "--state", "S", stdin=self.lines)
            self.assertEqual(first + rest.replace(first, b"", 1) if first else rest,
                             first + self.once.replace(first, b"", 1) if first else self.once)

    def test_a_state_that_can_not_be_saved_stays_as_it_was(self):
        self.good("dedup", "--state", "S", stdin=b"line 7\n")
        before = (self.folder / "S").read_bytes()
        for _ in range(6):
            size = self.random.randrange(13_000, 400_000)
            ran = self.ran("dedup", "--state", "S", stdin=self.lines, preexec_fn=limited(size))
            self.assertEqual(ran.returncode, 2, (SEED, size))
            self.assertIn(b"S cannot be written: File too large", ran.stderr)
            self.assertIn(b"does not remember the lines that were printed", ran.stderr)
            self.assertEqual((self.folder / "S").read_bytes(), before)
            self.assertEqual(self.left_behind(), [])
        self.assertEqual(self.good("dedup", "--state", "S", stdin=b"line 7\nline 8\n"), b"line 8\n")

    def test_output_and_state_agree_wherever_the_room_ends(self):
        (self.folder / "in").write_bytes(self.lines)
        for kind in ([], ["--exact"], ["-p", "1e-9"]):
            failed = 0
            for _ in range(6):
                for name in ("S", "OUT"):
                    (self.folder / name).unlink(missing_ok=True)
                size = self.random.choice([1, 4096, 20_000, self.random.randrange(900_000)])
                words = ["dedup", *kind, "--state", "S", "-o", "OUT", "in"]
                ran = self.ran(*words, preexec_fn=limited(size))
                failed += ran.returncode == 2
                if ran.returncode != 0:
                    self.assertEqual(ran.returncode, 2, (SEED, kind, size))
                    self.assertIn(b"File too large", ran.stderr)
                # Again, with room.
                self.good(*words)
                self.assertEqual((self.folder / "OUT").read_bytes(), self.once, (SEED, kind, size))
                self.assertEqual(self.left_behind(), [])
            self.assertGreater(failed, 0)

    def test_other_verbs_leave_what_was_there(self):
        self.good("build", "-q", "--kind", "scalable", "-o", "F", stdin=b"line 7\n")
        (self.folder / "in").write_bytes(self.lines)
        before = (self.folder / "F").read_bytes()
        for words in (["add", "F"], ["build", "-o", "N"], ["dedup", "--in-place"]):
            words = [*words, "in"]
            ran = self.ran(*words, preexec_fn=limited(5000))
            self.assertEqual(ran.returncode, 2, words)
            self.assertIn(b"cannot be written: File too large", ran.stderr)
        self.assertEqual((self.folder / "F").read_bytes(), before)
        self.assertEqual((self.folder / "in").read_bytes(), self.lines)
        self.assertEqual(sorted(os.listdir(self.folder)), ["F", "in"])


if __name__ == "__main__":
    if "BLOOMERY" not in os.environ:
        sys.exit("BLOOMERY must name the command to test")
    print(f"seed {SEED}", flush=True)
    unittest.main()

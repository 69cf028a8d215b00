"""A set file that another program overwrites in place or cuts while a command has it open: exit 2
and a sentence, never a wrong answer with exit 0, and never damage that is sealed with good sums.

Commands read standard input from a pipe. More than a pipe holds is written first; when that is
through, the command has opened its sets.
"""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

BLOOMERY = os.environ["BLOOMERY"]
MEMBERS = [b"member%d\n" % i for i in range(1000)]
# Longer than any pipe is by default.
AHEAD = b"".join(b"stranger%d\n" % i for i in range(30_000))


class ChangedSetsTest(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="bloomery-changed-")
        self.addCleanup(self.place.cleanup)
        self.folder = Path(self.place.name)
        self.set = self.folder / "F"
        self.build("F", "blocked")

    def build(self, name, kind, lines=MEMBERS):
        size = [] if kind == "hash-set" else ["-n", "40k", "-p", "1e-6"]
        done = subprocess.run([BLOOMERY, "build", "-q", "-f", "--kind", kind, *size, "-o", name],
                              cwd=self.folder, input=b"".join(lines), capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def meddle(self, words, act, after=b"".join(MEMBERS)):
        """Starts the command, does `act` while the set is open, and hands over the rest."""
        with tempfile.TemporaryFile() as out:
            run = subprocess.Popen([BLOOMERY, *words], cwd=self.folder, stdin=subprocess.PIPE,
                                   stdout=out, stderr=subprocess.PIPE)
            run.stdin.write(AHEAD)
            run.stdin.flush()
            act()
            _, err = run.communicate(after, timeout=60)
            out.seek(0)
            return run.returncode, out.read(), err.decode()

    def overwrite(self):
        """The payload becomes zero, in place, with the length it had."""
        with open(self.set, "r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(12288)
            file.write(bytes(size - 12288))

    def overwrite_and_hide(self):
        before = self.set.stat()
        self.overwrite()
        os.utime(self.set, ns=(before.st_atime_ns, before.st_mtime_ns))

    def cut(self):
        os.truncate(self.set, 8192)

    def expect_told(self, answer):
        status, _, err = answer
        self.assertEqual(status, 2, err)
        self.assertIn("F was ", err)
        self.assertIn("by another program", err)
        self.assertEqual(err.count("\n"), 1, err)

    def test_answers_from_a_changed_set_are_not_trusted(self):
        words = {"check": ["check", "F"], "check -v": ["check", "-v", "F"],
                 "check -c": ["check", "-c", "F"], "check --trust": ["check", "--trust", "F"],
                 "check -s": ["check", "-s", "F", "-s", "G"],
                 "dedup --against": ["dedup", "--against", "F"],
                 "dedup --against -o": ["dedup", "--against", "F", "-f", "-o", "out"]}
        for name, command in words.items():
            for act in (self.overwrite, self.overwrite_and_hide, self.cut):
                with self.subTest(command=name, act=act.__name__):
                    self.build("F", "blocked")
                    self.build("G", "blocked", [b"other\n"])
                    self.expect_told(self.meddle(command, act))
                    self.assertFalse((self.folder / "out").exists())

    def test_count(self):
        for act in (self.overwrite, self.overwrite_and_hide, self.cut):
            with self.subTest(act=act.__name__):
                self.build("F", "spectral")
                self.expect_told(self.meddle(["count", "F"], act))

    def test_a_set_that_is_replaced_renamed_or_removed_is_asked_on(self):
        def replace():
            self.build("F", "blocked", [b"other\n"])

        for act in (replace, lambda: self.set.rename(self.folder / "H"), self.set.unlink,
                    lambda: self.set.chmod(0o600)):
            self.build("F", "blocked")
            status, out, err = self.meddle(["check", "F"], act)
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(out, b"".join(MEMBERS))

    def test_add_and_remove_save_what_they_read_or_nothing(self):
        for kind, command in (("blocked", "add"), ("cuckoo", "remove"), ("hash-set", "add")):
            for act in (self.overwrite, self.overwrite_and_hide, self.cut, self.set.unlink):
                with self.subTest(command=command, act=act.__name__):
                    self.build("F", kind)
                    self.expect_told(self.meddle([command, "F"], act, b"member1\n"))
                    # What the other program left is there, and not sealed.
                    if self.set.exists():
                        verified = subprocess.run([BLOOMERY, "verify", "F"], cwd=self.folder,
                                                  capture_output=True)
                        self.assertEqual(verified.returncode, 2)

    def test_a_state_is_not_saved_over_what_others_wrote(self):
        for act in (self.overwrite, self.cut, self.set.unlink):
            with self.subTest(act=act.__name__):
                self.set.unlink(missing_ok=True)
                first = subprocess.run([BLOOMERY, "dedup", "--state", "F"], cwd=self.folder,
                                       input=b"".join(MEMBERS), capture_output=True)
                self.assertEqual(first.returncode, 0, first.stderr)
                self.expect_told(self.meddle(["dedup", "--state", "F"], act))

    def test_nobody_meddles(self):
        status, out, err = self.meddle(["check", "F"], lambda: None)
        self.assertEqual((status, out, err), (0, b"".join(MEMBERS), ""))
        status, _, err = self.meddle(["add", "-q", "F"], lambda: None)
        self.assertEqual((status, err), (0, ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)

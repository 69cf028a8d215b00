#!/usr/bin/env python3
"""A plain text list wherever a set is asked: against grep -Fxf and Python, on generated lists.

    BLOOMERY=path/to/bloomery text_lists_test.py [SEED]
"""
import bz2
import gzip
import lzma
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SEED = 20261116
ROUNDS = 40
# Bytes that lines are made of: blanks, quotes, high bytes, what looks like flags or patterns.
LETTERS = [b"a", b"b", b"A", b" ", b"\t", b'"', b"'", b"\\", b".", b"*", b"-", b"[", b"\xc3\xa4",
           b"\xff", b",", b"\x1f"]


class Lists(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        scratch = tempfile.TemporaryDirectory(prefix="bloomery-lists-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def write(self, name, text):
        (self.folder / name).write_bytes(text)
        return name

    def run_it(self, *words, stdin=b""):
        return subprocess.run(
            [os.environ["BLOOMERY"], *words], cwd=self.folder, input=stdin, capture_output=True
        )

    def line(self):
        return b"".join(self.random.choices(LETTERS, k=self.random.randrange(4)))

    def test_check_and_dedup_agree_with_grep(self):
        environment = {**os.environ, "LC_ALL": "C"}
        for turn in range(ROUNDS):
            listed = [self.line() for _ in range(self.random.randrange(1, 60))]
            asked = [self.line() for _ in range(self.random.randrange(0, 200))]
            # The last line may lack its newline, unless it is empty: then it would be none.
            last = self.random.choice([b"", b"\n"]) if listed[-1] else b"\n"
            self.write("list", b"\n".join(listed) + last)
            self.write("asked", b"".join(line + b"\n" for line in asked))
            for flags in ([], ["-v"], ["-c"], ["-v", "-c"]):
                grep = subprocess.run(
                    ["grep", "-a", "-Fx", *flags, "-f", "list", "asked"],
                    cwd=self.folder,
                    capture_output=True,
                    env=environment,
                )
                ours = self.run_it("check", *flags, "list", "asked")
                self.assertEqual(
                    (ours.returncode, ours.stdout, ours.stderr),
                    (grep.returncode, grep.stdout, b""),
                    (turn, flags, listed, asked),
                )
            kept, seen = [], set(listed)
            for line in asked:
                if line not in seen:
                    kept.append(line + b"\n")
                seen.add(line)
            ours = self.run_it("dedup", "--exact", "--against", "list", "asked")
            self.assertEqual((ours.returncode, ours.stdout), (0, b"".join(kept)), turn)
            exact = self.run_it("dedup", "--exact", "--strict", "--against", "list", "asked")
            self.assertEqual(exact.returncode, 0)

    def test_lists_may_be_compressed_piped_or_standard_input(self):
        text = b"one\ntwo\n"
        asked = self.write("asked", b"two\nthree\n")
        for name, bytes_ in (
            ("plain", text),
            ("gz", gzip.compress(text)),
            ("bz2", bz2.compress(text)),
            ("xz", lzma.compress(text)),
        ):
            ran = self.run_it("check", self.write(name, bytes_), asked)
            self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, b"two\n", b""), name)
            ran = self.run_it("check", "-", asked, stdin=bytes_)
            self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, b"two\n", b""), name)
            ran = self.run_it("dedup", "--against", "-", asked, stdin=bytes_)
            self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, b"three\n", b""), name)
        shell = f"'{os.environ['BLOOMERY']}' check <(cat plain) asked"
        ran = subprocess.run(["bash", "-c", shell], cwd=self.folder, capture_output=True)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, b"two\n", b""))

    def test_carriage_returns_and_spellings(self):
        self.write("list", b"One@Example.com\r\ntwo@example.com\r\n")
        asked = b"one@example.com\ntwo@example.com\ntwo@example.com\r\n"
        ran = self.run_it("check", "list", stdin=asked)
        self.assertEqual(ran.stdout, b"two@example.com\ntwo@example.com\r\n")
        ran = self.run_it("check", "--normalize", "email", "list", stdin=asked)
        self.assertEqual(ran.stdout, asked)
        ran = self.run_it("dedup", "--normalize", "email", "--against", "list", stdin=asked)
        self.assertEqual((ran.returncode, ran.stdout), (0, b""))
        ran = self.run_it("dedup", "--against", "list", stdin=asked)
        self.assertEqual(ran.stdout, b"one@example.com\n")
        ran = self.run_it("dedup", "--crlf", "keep", "--against", "list", stdin=asked)
        self.assertEqual(ran.stdout, b"one@example.com\ntwo@example.com\n")

    def test_byte_order_marks_and_archives_are_those_of_any_input(self):
        asked = self.write("asked", b"one\ntwo\n")
        for name, bytes_ in (
            ("utf8", b"\xef\xbb\xbfone\n"),
            ("utf16le", b"\xff\xfe" + "one\n".encode("utf-16-le")),
            ("utf16be", b"\xfe\xff" + "one\n".encode("utf-16-be")),
        ):
            ran = self.run_it("check", self.write(name, bytes_), asked)
            self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, b"one\n", b""), name)
        self.write("zip", b"PK\x03\x04" + b"\x14\0" * 20 + b"one\n")
        for words in (["check", "zip", asked], ["dedup", "--against", "zip", asked]):
            ran = self.run_it(*words)
            self.assertEqual((ran.returncode, ran.stdout), (2, b""), words)

    def test_a_state_that_normalises_wants_lists_spelled_alike(self):
        self.write("list", b"ONE\n")
        first = self.run_it("dedup", "--normalize", "case", "--state", "s", stdin=b"two\n")
        self.assertEqual(first.stdout, b"two\n")
        ran = self.run_it("dedup", "--state", "s", "--against", "list", stdin=b"one\n")
        self.assertEqual(ran.returncode, 2)
        self.assertIn(b"give --normalize case too", ran.stderr)
        words = ["dedup", "--normalize", "case", "--state", "s", "--against", "list"]
        self.assertEqual(self.run_it(*words, stdin=b"one\nTwo\nthree\n").stdout, b"three\n")

    def test_parts_of_lines_are_asked_and_the_list_is_taken_whole(self):
        self.write("list", b"ann\nbob,1\n")
        self.write("rows", b"id,name\n1,ann\n2,eve\n")
        ran = self.run_it("check", "--csv", "--column", "name", "list", "rows")
        self.assertEqual((ran.returncode, ran.stdout), (0, b"id,name\n1,ann\n"))
        ran = self.run_it("check", "-k", "2", "-t", ":", "list", stdin=b"x:ann\nx:bob\n")
        self.assertEqual(ran.stdout, b"x:ann\n")

    def test_several(self):
        self.write("list", b"a\nb\n")
        self.run_it("build", "-q", "-o", "set", stdin=b"b\nc\n")
        ran = self.run_it("check", "-s", "list", "-s", "set", "--which", stdin=b"a\nb\nc\nd\n")
        self.assertEqual(ran.stdout, b"list\ta\nlist\tb\nset\tb\nset\tc\n")

    def test_zero_bytes_end_lines_of_both(self):
        self.write("list", b"a\nb\0c\0")
        ran = self.run_it("check", "-0", "list", stdin=b"a\nb\0a\0c\0")
        self.assertEqual((ran.stdout, ran.stderr), (b"a\nb\0c\0", b""))
        self.write("list", b"a\nb\n")
        ran = self.run_it("check", "-0", "list", stdin=b"a\0")
        self.assertEqual(ran.returncode, 1)
        self.assertIn(b"is one line with newlines in it", ran.stderr)

    def test_a_list_without_lines_is_told_and_an_empty_file_refused(self):
        asked = self.write("asked", b"a\n")
        self.write("none.gz", gzip.compress(b""))
        for words, stdin in (
            (["check", "-v", "none.gz", asked], b""),
            (["dedup", "--against", "none.gz", asked], b""),
            (["check", "-v", "-", asked], b""),
        ):
            ran = self.run_it(*words, stdin=stdin)
            self.assertEqual((ran.returncode, ran.stdout), (0, b"a\n"), words)
            self.assertIn(b"is a list without lines", ran.stderr)
        # It may have been a set.
        empty = self.write("empty", b"")
        for words in (["check", "-v", empty, asked], ["dedup", "--against", empty, asked]):
            ran = self.run_it(*words)
            self.assertEqual((ran.returncode, ran.stdout), (2, b""), words)
            self.assertIn(b"empty is empty: a set file that was cut off, or", ran.stderr)

    def test_damaged_sets_are_no_lists(self):
        self.run_it("build", "-q", "-o", "set", stdin=b"a\nb\n")
        whole = (self.folder / "set").read_bytes()
        self.assertEqual(self.run_it("check", "-c", "set", stdin=b"a\n").stdout, b"1\n")
        damaged = [whole[:size] for size in (1, 2, 4, 5, 7, 8, 9, 100, 4096, len(whole) - 1)]
        for place in (0, 1, 4, 5, 7, 8, 40, 4096):
            damaged.append(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        damaged.append(whole.replace(b"\r\n", b"\n"))
        damaged += [b"\0" * 4096 + whole[4096:], gzip.compress(whole), whole[4096:], b"\x7fELF\1\0"]
        for number, bytes_ in enumerate(damaged):
            self.write("bad", bytes_)
            for words in (["check", "bad"], ["check", "-v", "bad"], ["dedup", "--against", "bad"]):
                ran = self.run_it(*words, stdin=b"a\n")
                self.assertEqual((ran.returncode, ran.stdout), (2, b""), (number, words))
                self.assertIn(b"error: bad", ran.stderr, (number, words))
        ran = self.run_it("check", "-", "list", stdin=whole)
        self.assertEqual(ran.returncode, 2)
        self.assertIn(b"a set file", ran.stderr)

    def test_standard_input_is_read_once(self):
        self.write("list", b"a\n")
        for words in (
            ["check", "-"],
            ["check", "-", "-"],
            ["check", "-s", "-", "-s", "-", "list"],
            ["check", "-", "list", "--verify", "-"],
            ["dedup", "--against", "-"],
            ["dedup", "--against", "-", "-"],
        ):
            ran = self.run_it(*words, stdin=b"a\n")
            self.assertEqual((ran.returncode, ran.stdout), (2, b""), words)
            self.assertIn(b"standard input can be read only once", ran.stderr)

    def test_what_needs_a_set_refuses_a_list(self):
        text = self.write("list", b"a\n")
        for words in (
            ["add", text, text],
            ["remove", text, text],
            ["info", text],
            ["merge", "union", "-o", "x", text, text],
            ["fold", "-o", "x", text],
            ["build", "--like", text, "-o", "x", text],
        ):
            ran = self.run_it(*words)
            self.assertEqual((ran.returncode, ran.stdout), (2, b""), words)
            self.assertIn(b"'bloomery build -o F list' makes a set of a list of lines", ran.stderr)
            self.assertEqual((self.folder / text).read_bytes(), b"a\n")
        ran = self.run_it("count", text, text)
        self.assertEqual((ran.returncode, ran.stdout), (2, b""))
        self.assertIn(b"'bloomery dedup --count list' counts them", ran.stderr)
        # It would lie in memory beside what is capped.
        ran = self.run_it("dedup", "-m", "50M", "--against", text, text)
        self.assertEqual((ran.returncode, ran.stdout), (2, b""))
        self.assertIn(b"--memory caps the whole program, and list is a list", ran.stderr)
        ran = self.run_it("check", "--key-file", text, text, stdin=b"a\n")
        self.assertEqual(ran.returncode, 2)
        ran = self.run_it("check", "missing", stdin=b"a\n")
        self.assertEqual(ran.returncode, 2)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        SEED = int(sys.argv.pop(1))
    print(f"seed {SEED}", file=sys.stderr)
    unittest.main()

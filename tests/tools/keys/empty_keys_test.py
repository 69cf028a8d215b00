#!/usr/bin/env python3
"""Records whose key is empty or null: kept, dropped or one key, in every command that has keys.

    BLOOMERY=path/to/bloomery empty_keys_test.py [SEED]
"""
import csv
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SEED = 20261116
CSV = b"id,mail\n1,a@x.org\n2,\n3,a@x.org\n4,\n5,b@x.org\n"
KEPT = b"id,mail\n1,a@x.org\n2,\n4,\n5,b@x.org\n"
DROPPED = b"id,mail\n1,a@x.org\n5,b@x.org\n"
ONE = b"id,mail\n1,a@x.org\n2,\n5,b@x.org\n"
MAIL = ["--csv", "--column", "mail"]


def run(folder, *words, stdin=b""):
    return subprocess.run(
        [os.environ["BLOOMERY"], *words], cwd=folder, input=stdin, capture_output=True
    )


class Test(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.random = random.Random(SEED)
        scratch = tempfile.TemporaryDirectory(prefix="bloomery-empty-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        (self.folder / "in.csv").write_bytes(CSV)

    def run(self, *words, **more):
        if not words or not isinstance(words[0], str):
            return super().run(*words, **more)
        return run(self.folder, *words, **more)

    def good(self, *words, stdin=b""):
        ran = self.run(*words, stdin=stdin)
        self.assertEqual((ran.returncode, ran.stderr), (0, b""), words)
        return ran.stdout

    def size(self, name):
        path = self.folder / name
        return path.stat().st_size if path.exists() else 0

    def report(self, *words, stdin=b"", exits=0):
        ran = self.run(*words, "--json", stdin=stdin)
        self.assertEqual(ran.returncode, exits, ran.stderr)
        text = (ran.stdout + ran.stderr).decode().split("\n")
        return json.loads(next(line for line in text if line.startswith("{")))


class Dedup(Test):
    def test_kept_by_default_and_said(self):
        ran = self.run("dedup", *MAIL, "in.csv")
        self.assertEqual((ran.returncode, ran.stdout), (0, KEPT))
        self.assertEqual(
            ran.stderr,
            b"bloomery: warning: 2 records with an empty key were not taken for repeats; --empty "
            b"one takes them for repeats of each other, --empty drop leaves them out\n",
        )

    def test_what_was_asked_for_needs_no_warning(self):
        for empty, out in (("keep", KEPT), ("drop", DROPPED), ("one", ONE)):
            self.assertEqual(self.good("dedup", *MAIL, "--empty", empty, "in.csv"), out, empty)
        ran = self.run("dedup", *MAIL, "--empty", "none", "in.csv")
        self.assertEqual((ran.returncode, ran.stdout), (2, b""))
        self.assertIn(b"--empty", ran.stderr)

    def test_the_report_adds_up(self):
        for empty, out, repeats in (("keep", 4, 1), ("drop", 2, 1), ("one", 3, 2)):
            found = self.report("dedup", *MAIL, "--empty", empty, "-o", empty, "in.csv")
            counts = [found[name] for name in ("lines_in", "lines_out", "repeats", "empty_keys")]
            self.assertEqual(counts, [5, out, repeats, 2], empty)

    def test_repeats_are_those_that_came_before(self):
        for empty, dups in (("keep", b"3,"), ("drop", b"3,"), ("one", b"3,4,")):
            words = ["dedup", *MAIL, "--empty", empty, "in.csv"]
            out = self.good(*words, "-i")
            self.assertEqual([line[:1] for line in out.split(b"\n")[1:-1]], dups.split(b",")[:-1])
            self.good(*words, "-f", "-D", "dups", "-o", "out")
            self.assertEqual((self.folder / "dups").read_bytes(), out, empty)

    def test_an_empty_line_is_a_line_unless_told(self):
        lines = b"a\n\nb\n\na\n \n \n"
        self.assertEqual(self.good("dedup", stdin=lines), b"a\n\nb\n \n")
        for empty, out in (("keep", b"a\n\nb\n\n \n"), ("drop", b"a\nb\n \n")):
            self.assertEqual(self.good("dedup", "--empty", empty, stdin=lines), out, empty)

    def test_blanks_are_not_empty_unless_trimmed(self):
        lines = b"1;;x\n2; ;x\n3; ;x\n4;;x\n"
        words = ["dedup", "--empty", "drop", "-k", "2", "-t", ";"]
        self.assertEqual(self.good(*words, stdin=lines), b"2; ;x\n")
        self.assertEqual(self.good(*words, "--normalize", "trim", stdin=lines), b"")

    def test_a_null_is_empty_and_not_a_text(self):
        lines = b'{"a":null}\n{"a":""}\n{"a":"null"}\n{"a":null}\n{"a":""}\n{"a":"null"}\n'
        words = ["dedup", "--json-key", ".a"]
        self.assertEqual(
            self.good(*words, "--empty", "one", stdin=lines),
            b'{"a":null}\n{"a":""}\n{"a":"null"}\n',
        )
        self.assertEqual(self.good(*words, "--empty", "drop", stdin=lines), b'{"a":"null"}\n')
        kept = b'{"a":null}\n{"a":""}\n{"a":"null"}\n{"a":null}\n{"a":""}\n'
        self.assertEqual(self.good(*words, "--empty", "keep", stdin=lines), kept)
        # A key that is not there at all stays an error.
        self.assertEqual(self.run(*words, "--empty", "drop", stdin=b'{"b":1}\n').returncode, 2)

    def test_a_key_of_several_parts_is_empty_if_all_of_them_are(self):
        lines = b",x\n,\nx,\n,\n,x\n"
        words = ["dedup", "-k", "1,2", "-t", ",", "--empty"]
        self.assertEqual(self.good(*words, "drop", stdin=lines), b",x\nx,\n")
        self.assertEqual(self.good(*words, "keep", stdin=lines), b",x\n,\nx,\n,\n")

    def test_against_a_set_that_has_the_empty_key(self):
        self.good("build", "-q", "-o", "set", "--empty", "one", stdin=b"\nb@x.org\n")
        words = ["dedup", *MAIL, "--against", "set", "in.csv", "--empty"]
        self.assertEqual(self.good(*words, "keep"), b"id,mail\n1,a@x.org\n2,\n4,\n")
        self.assertEqual(self.good(*words, "one"), b"id,mail\n1,a@x.org\n")

    def test_a_killed_run_with_a_state_prints_kept_records_once(self):
        """A state that is saved in the middle must not lie behind a record that it cannot know."""
        lines = b"".join(b"%d,%s\n" % (i, b"" if i % 7 == 3 else b"k%d" % i) for i in range(2000))
        words = ["dedup", "-k", "2", "-t", ",", "--state", "seen", "-o", "out"]
        words += ["--checkpoint", "1ms"]
        piped = subprocess.Popen(
            [os.environ["BLOOMERY"], *words],
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        fed = 0
        for line in lines.split(b"\n")[:40]:
            # What was printed is saved before the next line is waited for.
            piped.stdin.write(line + b"\n")
            piped.stdin.flush()
            fed += len(line) + 1
            while not self.size("out") >= fed:
                self.assertIsNone(piped.poll())
        piped.kill()
        piped.communicate()
        ran = self.run(*words, stdin=lines)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual((self.folder / "out").read_bytes(), lines)

    def test_counting(self):
        words = ["dedup", *MAIL, "in.csv", "--empty"]
        for empty, distinct, counts, last in (
            ("keep", b"4", b"2 1 1 1", b"2345"),
            ("drop", b"2", b"2 1", b"35"),
            ("one", b"3", b"2 2 1", b"345"),
        ):
            self.assertEqual(self.good(*words, empty, "--distinct"), distinct + b"\n", empty)
            out = self.good(*words, empty, "-c").split(b"\n")[1:-1]
            self.assertEqual(b" ".join(line[:1] for line in out), counts, empty)
            out = self.good(*words, empty, "--keep", "last").split(b"\n")[1:-1]
            self.assertEqual(b"".join(line[:1] for line in out), last, empty)
            found = self.report(*words, empty, "-c", "-o", f"{empty}.txt")
            self.assertEqual(found["repeats"], 5 - int(distinct) - 2 * (empty == "drop"))
            self.assertEqual(found["empty_keys"], 2)

    def test_generated_records_against_python(self):
        values = ["", "", None, "a", "b", "null", " "]
        for round_number in range(20):
            records = [
                {"i": i, "k": self.random.choice(values), "l": self.random.choice(values)}
                for i in range(300)
            ]
            names = self.random.choice([["k"], ["k", "l"]])
            empty = self.random.choice(["keep", "drop", "one"])
            threads = self.random.choice(["1", "2"])
            seen, expected = set(), []
            for record in records:
                key = tuple(record[name] for name in names)
                blank = empty != "one" and not any(key)
                if (blank and empty == "drop") or (not blank and key in seen):
                    continue
                seen.add(key)
                expected.append(record["i"])
            lines = "".join(json.dumps(record) + "\n" for record in records).encode()
            words = [f"--json-key=.{name}" for name in names] + ["--empty", empty, "-T", threads]
            out = self.good("dedup", "--exact", *words, stdin=lines)
            printed = [json.loads(line)["i"] for line in out.split(b"\n")[:-1]]
            self.assertEqual(printed, expected, (SEED, round_number, words))


class Sets(Test):
    def build(self, *words, kind="hash-set"):
        """With "--empty" or without."""
        return self.run("build", "-f", "--kind", kind, "-o", "set", *MAIL, *words, "in.csv")

    def test_build_leaves_the_empty_key_out_and_says_so(self):
        ran = self.build()
        self.assertEqual(ran.returncode, 0)
        self.assertIn(b"empty keys", ran.stdout)
        self.assertEqual(
            ran.stderr,
            b"bloomery: warning: 2 records with an empty key were not added; --empty one adds it\n",
        )
        both = b"a@x.org\nb@x.org\n"
        self.assertEqual(self.good("check", "set", stdin=both), both)
        self.assertEqual(self.run("check", "set", stdin=b"\n").returncode, 1)
        self.assertEqual(self.build("--empty", "one").stderr, b"")
        self.assertEqual(self.good("check", "set", stdin=b"\n"), b"\n")
        # A list of lines may have an empty one.
        self.good("build", "-q", "-f", "-o", "set", stdin=b"\n")
        self.assertEqual(self.good("check", "set", stdin=b"\n"), b"\n")

    def test_add_and_remove(self):
        self.build(kind="counting")
        (self.folder / "new.csv").write_bytes(b"id,mail\n9,\n8,c@x.org\n")
        found = self.report("add", *MAIL, "set", "new.csv")
        self.assertEqual((found["empty_keys"], found["fresh"], found["lines_in"]), (1, 1, 2))
        found = self.report("remove", *MAIL, "set", "new.csv")
        self.assertEqual((found["empty_keys"], found["removed"], found["absent"]), (1, 1, 0))
        found = self.report("add", *MAIL, "--empty", "drop", "set", "new.csv")
        self.assertEqual((found["empty_keys"], found["fresh"], found["lines_in"]), (1, 1, 2))
        self.good("remove", "-q", "--empty", "drop", *MAIL, "set", "new.csv")
        found = self.report("remove", *MAIL, "--empty", "one", "set", "new.csv", exits=1)
        self.assertEqual((found["empty_keys"], found["removed"], found["absent"]), (1, 0, 2))

    def test_check(self):
        self.build("--empty", "one")
        for empty, plain, inverted in (
            ("keep", "135", "24"),
            ("drop", "135", ""),
            ("one", "12345", ""),
        ):
            for words in ([], ["--verify", "in.csv"]):
                words = [*MAIL, "--empty", empty, *words, "set"]
                out = self.run("check", *words, "in.csv").stdout
                self.assertEqual(self.ids(out), plain, words)
                ran = self.run("check", "-v", *words, "in.csv")
                self.assertEqual(self.ids(ran.stdout), inverted, words)
                self.assertEqual(ran.returncode, 0 if inverted else 1, words)
                counted = self.run("check", "-vc", *words, "in.csv").stdout
                self.assertEqual(int(counted), len(inverted))
                # From a pipe the lines wait for the list.
                ran = self.run("check", "-v", *words, stdin=CSV)
                self.assertEqual(self.ids(ran.stdout), inverted, words)
            found = self.report("check", *MAIL, "-c", "--empty", empty, "set", "in.csv")
            self.assertEqual(
                (found["matched"], found["absent"], found["empty_keys"]),
                (len(plain), len(inverted), 2),
            )
        ran = self.run("check", *MAIL, "set", "in.csv")
        self.assertEqual(
            ran.stderr,
            b"bloomery: warning: 2 records with an empty key were taken for absent; --empty one "
            b"asks for it\n",
        )

    @staticmethod
    def ids(out):
        return "".join(row[0] for row in csv.reader(io.StringIO(out.decode())) if row[0] != "id")

    def test_count(self):
        self.build("--empty", "one", kind="spectral")
        lines = {
            "keep": b"2\t1,a@x.org\n0\t2,\n2\t3,a@x.org\n0\t4,\n1\t5,b@x.org\n",
            "drop": b"2\t1,a@x.org\n2\t3,a@x.org\n1\t5,b@x.org\n",
            "one": b"2\t1,a@x.org\n2\t2,\n2\t3,a@x.org\n2\t4,\n1\t5,b@x.org\n",
        }
        for empty, out in lines.items():
            self.assertEqual(self.good("count", *MAIL, "--empty", empty, "set", "in.csv"), out)
        told = self.run("count", *MAIL, "set", "in.csv").stderr
        self.assertIn(b"2 records with an empty key were counted as 0", told)

    def test_a_set_of_text_is_asked_by_json_strings_and_numbers(self):
        self.good("build", "-q", "-o", "set", "--kind", "hash-set", stdin=b"7\nnull\ntrue\n")
        values = [b"7", b'"7"', b"null", b'"null"', b"true", b'"true"', b"7.0"]
        lines = b"".join(b'{"a":%s}\n' % value for value in values)
        words = ["--json-key", ".a", "--empty", "keep"]
        matched = b'{"a":7}\n{"a":"7"}\n{"a":"null"}\n{"a":true}\n{"a":"true"}\n'
        self.assertEqual(self.good("check", *words, "set", stdin=lines), matched)
        words[-1] = "one"
        self.assertEqual(self.good("check", *words, "set", stdin=lines), matched)

    def test_an_empty_field_is_no_integer_and_no_error(self):
        words = ["-o", "map", "--kind", "bitmap", "-k2", "-t,"]
        ran = self.run("build", *words, stdin=b"a,1\nb,\nc,3\n")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(b"1 line with an empty key was not added", ran.stderr)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        SEED = int(sys.argv.pop(1))
    print(f"seed {SEED}", flush=True)
    unittest.main()

#!/usr/bin/env python3
"""Columns by number and in lists, TSV, fields by range and from the last.

    BLOOMERY=path/to/bloomery column_flags_test.py [SEED]
"""
import csv
import io
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SEED = 20261116


def run(folder, *words, stdin=b""):
    return subprocess.run(
        [os.environ["BLOOMERY"], *words], cwd=folder, input=stdin, capture_output=True
    )


class Test(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.random = random.Random(SEED)
        scratch = tempfile.TemporaryDirectory(prefix="bloomery-columns-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def write(self, name, text):
        (self.folder / name).write_bytes(text)
        return name

    def good(self, *words, stdin=b""):
        ran = run(self.folder, *words, stdin=stdin)
        self.assertEqual((ran.returncode, ran.stderr), (0, b""), words)
        return ran.stdout

    def refused(self, *words, stdin=b""):
        ran = run(self.folder, *words, stdin=stdin)
        self.assertEqual(ran.returncode, 2, (words, ran.stderr, ran.stdout))
        return ran.stderr.decode()


class Columns(Test):
    def test_by_number_where_no_column_has_that_name(self):
        text = b"id,mail\n1,a\n2,a\n1,b\n"
        words = ["dedup", "--csv", "--column"]
        self.assertEqual(self.good(*words, "2", stdin=text), b"id,mail\n1,a\n1,b\n")
        self.assertEqual(self.good(*words, "1", stdin=text), b"id,mail\n1,a\n2,a\n")
        self.assertEqual(self.good(*words, "1,2", stdin=text), text)
        self.assertEqual(self.good(*words, "2", "--column", "id", stdin=text), text)
        for number in ("0", "3", "99999999999999999999", "-1", "1-2", " 1"):
            said = self.refused(*words, number, stdin=text)
            self.assertIn(f"no column '{number}'; it has 'id', 'mail'", said)
        # A name goes first.
        text = b"2,1\na,x\na,y\n"
        self.assertEqual(self.good(*words, "2", stdin=text), b"2,1\na,x\n")

    def test_lists_of_names(self):
        text = b"a,b,c\n1,2,3\n1,2,4\n1,3,3\n"
        for words in (["a,b"], ["a", "--column", "b"], ["1,b"], ['"a","b"']):
            out = self.good("dedup", "--csv", "--column", *words, stdin=text)
            self.assertEqual(out, b"a,b,c\n1,2,3\n1,3,3\n", words)
        said = self.refused("dedup", "--csv", "--column", "a,x", stdin=text)
        self.assertIn("no column 'x'", said)
        self.assertIn("no column ''", self.refused("dedup", "--csv", "--column", "a,", stdin=text))

    def test_a_name_with_a_comma_can_be_reached(self):
        words = ["dedup", "--csv", "--column"]
        text = b'"x,y",z\n1,2\n1,3\n'
        self.assertEqual(self.good(*words, '"x,y"', stdin=text), b'"x,y",z\n1,2\n')
        self.assertEqual(self.good(*words, '"x,y",z', stdin=text), text)
        # A list is never one column, whatever the header has, so that a set that is asked later
        # knows how many parts a key has.
        said = self.refused(*words, "x,y", stdin=text)
        self.assertIn("'x,y' is the name of one column, and would be read as a list; ", said)
        self.assertIn("; write '\"x,y\"' for", said)
        text = b'"""q""",q\n1,2\n1,3\n'
        self.assertIn("""write '\"\"\"q\"\"\"' for""", self.refused(*words, '"q"', stdin=text))
        self.assertEqual(self.good(*words, '"""q"""', stdin=text), b'"""q""",q\n1,2\n')
        text = b'"x,y",x,y\n1,2,3\n1,2,4\n2,2,3\n'
        said = self.refused(*words, "x,y", stdin=text)
        self.assertIn("is the name of one column, and would be read as a list", said)
        self.assertEqual(self.good(*words, '"x,y"', stdin=text), b'"x,y",x,y\n1,2,3\n2,2,3\n')
        out = self.good(*words, "x", "--column", "y", stdin=text)
        self.assertEqual(out, b'"x,y",x,y\n1,2,3\n1,2,4\n')

    def test_files_whose_columns_are_found_in_different_ways_do_not_go_together(self):
        self.write("named.csv", b"id,2\na,b\n")
        self.write("plain.csv", b"id,mail\na,b\n")
        words = ["--csv", "--column", "2", "named.csv", "plain.csv"]
        said = self.refused("build", "-o", "set", *words)
        self.assertIn("in one of named.csv and plain.csv, and a number", said)
        self.write("moved.csv", b"mail,id\nb,a\n")
        self.good("build", "-q", "-o", "set", "--csv", "--column", "mail", "plain.csv", "moved.csv")

    def test_twice_the_same_name_is_refused_when_it_is_asked_for(self):
        text = b"a,a,b\n1,2,3\n"
        said = self.refused("dedup", "--csv", "--column", "a", stdin=text)
        self.assertIn("more than one column is called 'a'", said)
        self.assertEqual(self.good("dedup", "--csv", "--column", "b", stdin=text), text)
        self.assertEqual(self.good("dedup", "--csv", "--column", "2", stdin=text), text)

    def test_a_column_is_looked_for_where_there_is_a_header_alone(self):
        for text in (b"id,x\n", b"id,x"):
            self.write("h.csv", text)
            for command in (["dedup"], ["build", "-qfo", "new"]):
                ran = run(self.folder, *command, "--csv", "--column", "id", "h.csv")
                self.assertEqual(ran.returncode, 0)
                said = self.refused(*command, "--csv", "--column", "nosuch", "h.csv")
                self.assertIn("h.csv: the header has no column 'nosuch'", said)
            self.good("build", "-qf", "--kind", "spectral", "-o", "set", stdin=b"7\n")
            for command in ("check", "add", "count"):
                said = self.refused(command, "--csv", "--column", "nosuch", "set", "h.csv")
                self.assertIn("h.csv: the header has no column 'nosuch'", said)
            ran = run(self.folder, "check", "--csv", "--column", "id", "set", "h.csv")
            self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (1, b"id,x\n", b""))

    def test_an_empty_file_has_no_records(self):
        self.write("e.csv", b"")
        self.assertEqual(self.good("dedup", "--csv", "--column", "id", "e.csv"), b"")
        text = self.write("t.csv", b"id\n1\n1\n")
        self.assertEqual(self.good("dedup", "--csv", "--column", "id", "e.csv", text), b"id\n1\n")


class Tsv(Test):
    def test_tabs_separate_and_quotes_are_bytes(self):
        text = b'id\tna"me\r\n1\t"a\r\n2\t"b\n3\t"a\n4\ta, b\n'
        words = ["dedup", "--tsv", "--column"]
        self.assertEqual(
            self.good(*words, 'na"me', stdin=text), b'id\tna"me\r\n1\t"a\r\n2\t"b\n4\ta, b\n'
        )
        self.assertEqual(self.good(*words, "id,2", stdin=text), text)
        self.assertEqual(
            self.good(*words, "1", "--no-header", stdin=b"1\tx\n1\ty\n"), b"1\tx\n"
        )

    def test_what_does_not_go_with_it(self):
        for words, said in (
            (["--csv", "--column", "a"], "--csv and --tsv are two ways"),
            (["-t", ";", "--column", "a"], "the separator of --tsv is the tab"),
            ([], "--tsv needs --column"),
            (["-k", "1", "--column", "a"], "give one of them"),
            (["-0", "--column", "a"], "records of --tsv end with a newline"),
        ):
            self.assertIn(said, self.refused("dedup", "--tsv", *words, stdin=b"a\n"))
        said = self.refused("dedup", "--tsv", "--column", "b", stdin=b"a\tb\n1\n")
        self.assertIn("line 2 has no key, because it has too few fields", said)

    def test_every_command_takes_it(self):
        self.write("t.tsv", b"id\tx\n1\ta\n2\tb\n1\tc\n")
        words = ["--tsv", "--column", "id"]
        self.good("build", "-q", "--tsv", "--kind", "counting", "-o", "set", *words[1:], "t.tsv")
        self.assertEqual(self.good("check", "set", stdin=b"1\n3\n"), b"1\n")
        self.assertEqual(self.good("check", "--tsv", *words[1:], "set", "t.tsv").count(b"\n"), 4)
        out = self.good("count", "--tsv", *words[1:], "set", "t.tsv")
        self.assertEqual(out, b"2\t1\ta\n1\t2\tb\n2\t1\tc\n")
        self.good("add", "-q", "--tsv", *words[1:], "set", "t.tsv")
        self.good("remove", "-q", "--tsv", *words[1:], "set", "t.tsv")
        self.assertEqual(self.good("count", "set", stdin=b"1\n"), b"2\t1\n")

    def test_against_python(self):
        for round_number in range(20):
            word = lambda: "".join(self.random.choices('ab", \\', k=self.random.randint(1, 2)))
            rows = [[word() for _ in range(3)] for _ in range(300)]
            column = self.random.randrange(3)
            text = "p\tq\tr\n" + "".join("\t".join(row) + "\n" for row in rows)
            reader = csv.reader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE)
            seen, expected = set(), []
            for row in list(reader)[1:]:
                if row[column] not in seen:
                    seen.add(row[column])
                    expected.append(row)
            words = ["--exact", "--tsv", "--column", "pqr"[column]]
            out = self.good("dedup", *words, stdin=text.encode())
            printed = [line.split("\t") for line in out.decode().split("\n")[1:-1]]
            self.assertEqual(printed, expected, (SEED, round_number))


class Fields(Test):
    def test_what_people_type(self):
        lines = b"a:x:1\nb:x:1\nc:y:1\nd:x:2\n"
        for field, out in (
            ("-1", b"a:x:1\nd:x:2\n"),
            ("-2", b"a:x:1\nc:y:1\n"),
            ("2-", b"a:x:1\nc:y:1\nd:x:2\n"),
            ("2-3", b"a:x:1\nc:y:1\nd:x:2\n"),
            ("2,3", b"a:x:1\nc:y:1\nd:x:2\n"),
            ("-2-", b"a:x:1\nc:y:1\nd:x:2\n"),
            ("2-2", b"a:x:1\nc:y:1\n"),
            ("3,2-3", b"a:x:1\nc:y:1\nd:x:2\n"),
            ("1-", lines),
        ):
            self.assertEqual(self.good("dedup", "-t:", "-k", field, stdin=lines), out, field)
            self.assertEqual(self.good("dedup", "-t:", f"-k{field}", stdin=lines), out, field)
        for field in "0 0- 3-2 -1-2 2--1 a 1, ,1 1-2-3 - 2.1 -0".split() + [""]:
            said = self.refused("dedup", "-t:", "-k", field, stdin=lines)
            self.assertIn(f"--field does not take '{field}'", said)

    def test_a_field_too_few_is_no_key(self):
        for field in ("3-", "2-3", "-3", "-3-"):
            said = self.refused("dedup", "-t:", "-k", field, stdin=b"a:b\n")
            self.assertIn("it has too few fields", said)

    def test_one_field_of_an_open_range_is_no_other_key(self):
        """The field 1:a,1:b, must not be taken for the fields a and b."""
        lines = b"x;1:a,1:b,\nx;a;b\n"
        self.assertEqual(self.good("dedup", "-t;", "-k", "2-", stdin=lines), lines)

    def test_ranges_against_python(self):
        for round_number in range(40):
            blanks = self.random.random() < 0.5
            gap = lambda: self.random.choice([" ", "  ", "\t "]) if blanks else ":"
            lines = []
            for _ in range(300):
                words = self.random.choices("ab", k=self.random.randint(3, 5))
                lines.append("".join(word + gap() for word in words[:-1]) + words[-1])
            first = self.random.choice([1, 2, 3, -1, -2, -3])
            last = self.random.choice([None, "", 3] if first > 0 else [None, ""])
            field = f"{first}" if last is None else f"{first}-{last}"
            seen, expected = set(), []
            for line in lines:
                parts = line.split() if blanks else line.split(":")
                start = first - 1 if first > 0 else len(parts) + first
                end = start + 1 if last is None else len(parts) if last == "" else last
                key = tuple(parts[start:end])
                if key not in seen:
                    seen.add(key)
                    expected.append(line)
            words = ["-k", field] + ([] if blanks else ["-t", ":"])
            text = "".join(line + "\n" for line in lines).encode()
            out = self.good("dedup", "--exact", *words, stdin=text).decode().split("\n")[:-1]
            self.assertEqual(out, expected, (SEED, round_number, words))


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        SEED = int(sys.argv.pop(1))
    print(f"seed {SEED}", flush=True)
    unittest.main()

#!/usr/bin/env python3
"""The odd ends of CSV and JSON, against the csv and json modules of Python.

    BLOOMERY=path/to/bloomery key_edges_test.py [SEED]

keys_test.py asks sets; here records are de-duplicated, with every command's way of reading a file.
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
BOM = b"\xef\xbb\xbf"


def run(folder, *words, stdin=b""):
    return subprocess.run(
        [os.environ["BLOOMERY"], *words], cwd=folder, input=stdin, capture_output=True
    )


class Raw(str):
    """A number as it is written."""


def key_of(value):
    """The bytes of a JSON value, as docs/format.md has them; objects and arrays are left out."""
    if isinstance(value, bool):
        return json.dumps(value)
    return None if value is None or isinstance(value, (dict, list)) else str(value)


def first_names(pairs):
    """Of a name that comes twice the first counts."""
    found = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return found


class Test(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.random = random.Random(SEED)
        scratch = tempfile.TemporaryDirectory(prefix="bloomery-edges-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def dedup(self, *words, stdin, exits=0):
        ran = run(self.folder, "dedup", "--exact", *words, stdin=stdin)
        self.assertEqual(ran.returncode, exits, (words, ran.stderr))
        return ran.stderr.decode() if exits else ran.stdout


class Csv(Test):
    def test_a_byte_order_mark_is_no_part_of_the_first_name(self):
        for mark in (b"", BOM):
            for name in (b"id", b'"id"'):
                text = mark + name + b",x\n1,a\n1,b\n"
                out = self.dedup("--csv", "--column", "id", stdin=text)
                self.assertTrue(out.endswith(name + b",x\n1,a\n"), out)

    def test_ends_of_records_and_ends_inside_of_fields(self):
        text = b'k,v\r\n"a\r\nb",1\r\n"a\nb",2\n"a\r\nb",3\r\n"a\rb",4\n"a\nb",5'
        kept = b'k,v\r\n"a\r\nb",1\r\n"a\nb",2\n"a\rb",4\n'
        self.assertEqual(self.dedup("--csv", "--column", "k", stdin=text), kept)
        # The carriage return at the end of a record is not part of its last field.
        text = b'v,k\r\n1,a\r\n2,a\n3,"a"\r\n4,"a"\n5,b'
        self.assertEqual(self.dedup("--csv", "--column", "k", stdin=text), b"v,k\r\n1,a\r\n5,b\n")

    def test_ragged_records(self):
        text = b"a,b\n1,x\n2\n3,x,y\n,\n\n4,z\n"
        said = self.dedup("--csv", "--column", "b", stdin=text, exits=2)
        self.assertIn("record 3 has no key, because it has too few fields: '2'", said)
        out = self.dedup("--csv", "--column", "b", "--skip-bad", "--empty", "one", stdin=text)
        self.assertEqual(out, b"a,b\n1,x\n2\n,\n\n4,z\n")

    def test_a_quote_that_is_never_closed_is_an_error_with_its_line(self):
        said = self.dedup("--csv", "--column", "b", stdin=b'a,b\n1,x\n2,"y\n3,z\n', exits=2)
        self.assertIn("line 3: the record that begins here has a quote that is never closed", said)

    def test_files_whose_columns_lie_elsewhere(self):
        (self.folder / "one.csv").write_bytes(b"id,x\n1,a\n2,b\n")
        (self.folder / "two.csv").write_bytes(b"x,y,id\nc,1,1\nd,1,3\n")
        words = ["--csv", "--column", "id", "one.csv", "two.csv"]
        said = self.dedup(*words, stdin=b"", exits=2)
        self.assertIn("two.csv has another header than one.csv", said)
        built = run(self.folder, "build", "-q", "--kind", "hash-set", "-o", "set", *words)
        self.assertEqual((built.returncode, built.stderr), (0, b""))
        asked = run(self.folder, "check", "set", stdin=b"1\n2\n3\na\nc\n")
        self.assertEqual(asked.stdout, b"1\n2\n3\n")

    def test_zero_bytes_are_bytes(self):
        text = b"k,v\na\0b,1\na\0c,2\na,3\na\0b,4\n"
        kept = b"k,v\na\0b,1\na\0c,2\na,3\n"
        self.assertEqual(self.dedup("--csv", "--column", "k", stdin=text), kept)
        self.assertEqual(self.dedup("-t,", "-k1", stdin=text), kept)

    def word(self):
        pieces = ["a", "b", '"', ",", ";", "\n", "\r\n", " ", "\u00fc", "\x1f", "'", "1:"]
        return "".join(self.random.choices(pieces, k=self.random.randint(0, 3)))

    def test_generated_csv(self):
        for round_number in range(40):
            width = self.random.randint(1, 4)
            header = [f"{self.word()}{i}" for i in range(width)]
            rows = [[self.word() for _ in range(width)] for _ in range(200)]
            quoting = self.random.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
            separator = self.random.choice([",", ";", "\t"])
            written = io.StringIO(newline="")
            csv.writer(
                written,
                delimiter=separator,
                quoting=quoting,
                lineterminator=self.random.choice(["\n", "\r\n"]),
            ).writerows([header] + rows)
            chosen = self.random.choices(range(width), k=self.random.randint(1, 3))
            empty = self.random.choice(["keep", "drop", "one"])
            seen, expected = set(), [header]
            for row in rows:
                key = tuple(row[i] for i in chosen)
                blank = empty != "one" and not any(key)
                if (blank and empty == "drop") or (not blank and key in seen):
                    continue
                seen.add(key)
                expected.append(row)
            words = ["--csv", "-t", separator, "--empty", empty]
            for i in chosen:
                # As in CSV, since names have commas and quotes here.
                words += ["--column", '"' + header[i].replace('"', '""') + '"']
            mark = self.random.choice([b"", BOM])
            text = mark + written.getvalue().encode()
            out = self.dedup(*words, stdin=text).removeprefix(BOM).decode()
            printed = list(csv.reader(io.StringIO(out, newline=""), delimiter=separator))
            self.assertEqual(printed, expected, (SEED, round_number, words))


class Counts(Test):
    def test_a_first_look_at_the_lines_is_not_counted(self):
        """With a cap on memory the different lines are counted first, by their keys."""
        lines = 6_000_000
        (self.folder / "big").write_bytes(b"no url\n" * lines)
        words = ["-T1", "-p1e-6", "-m30M", "--normalize", "url", "--json", "big"]
        found = json.loads(run(self.folder, "dedup", *words).stderr)
        self.assertEqual((found["lines_in"], found["not_normalized"]), (lines, lines))


class Json(Test):
    def test_escapes_numbers_and_names_that_come_twice(self):
        lines = [
            (rb'{"a":"a"}', True),
            (rb'{"a":"\u0061"}', False),
            (rb'{"\u0061":"a"}', False),
            (rb'{"a":"A"}', True),
            (rb'{"a":1}', True),
            (rb'{"a":"1"}', False),  # written in two ways, one key
            (rb'{"a":1.0}', True),
            (rb'{"a":1e2}', True),
            (rb'{"a":100}', True),
            (rb'{"a":9007199254740993}', True),
            (rb'{"a":9007199254740992}', True),
            (rb'{"a":-0}', True),
            (rb'{"a":0}', True),
            (rb'{"a":123456789012345678901234567890}', True),
            (rb'{"a":123456789012345678901234567891}', True),
            (rb'{"a":true}', True),
            (rb'{"a":"true"}', False),
            (rb'{"a":"null"}', True),
            (rb'{"a":2,"a":1}', True),  # the first counts
            (rb'{"b":0,"a":2}', False),
            (rb'{"a":"x\u0000y"}', True),
            (rb'{"a":"x"}', True),
            (rb'{"a":"x\u0000y"}', False),
            (rb'{"a":"\ud83d\ude00"}', True),
            ('{"a":"\U0001f600"}'.encode(), False),
            (rb'{"a":" "}', True),
        ]
        text = b"".join(line + b"\n" for line, _ in lines)
        out = self.dedup("--json-key", ".a", stdin=text).split(b"\n")[:-1]
        self.assertEqual(out, [line for line, kept in lines if kept])

    def test_paths_through_arrays(self):
        text = b'[[1,{"b":["x","y"]}]]\n[[2,{"b":["x","z"]}]]\n[[3,{"b":["y","y"]}]]\n'
        path = ".[0][1].b"
        kept = text.split(b"\n")
        self.assertEqual(
            self.dedup("--json-key", f"{path}[0]", stdin=text), kept[0] + b"\n" + kept[2] + b"\n"
        )
        self.assertEqual(
            self.dedup("--json-key", f"{path}[1]", stdin=text), kept[0] + b"\n" + kept[1] + b"\n"
        )
        words = ["--json-key", f"{path}[0]", "--json-key", f"{path}[1]"]
        self.assertEqual(self.dedup(*words, stdin=text), text)
        said = self.dedup("--json-key", f"{path}[2]", stdin=text, exits=2)
        self.assertIn("line 1 has no key, because its JSON has no such key", said)

    def value(self):
        numbers = ["0", "-0", "1", "1.0", "1e0", "10e-1", "9007199254740993", "9007199254740992"]
        texts = ["", "a", "\\u0061", "\\n", "\\\\", '\\"', "null", "true", "1", "\\u0000", "\u00fc"]
        pick = self.random.random()
        if pick < 0.4:
            return self.random.choice(numbers)
        if pick < 0.5:
            return self.random.choice(["true", "false", "null"])
        return '"' + "".join(self.random.choices(texts, k=self.random.randint(0, 2))) + '"'

    def test_generated_json(self):
        for round_number in range(30):
            lines = []
            for _ in range(300):
                space = self.random.choice(["", " "])
                names = self.random.choices(["a", "b", "a", "c"], k=4) + ["a", "b"]
                fields = [f'"{name}"{space}:{space}{self.value()}' for name in names]
                lines.append("{" + f",{space}".join(fields) + "}")
            paths = self.random.choice([["a"], ["b", "a"]])
            empty = self.random.choice(["keep", "drop", "one"])
            seen, expected = set(), []
            for line in lines:
                record = json.loads(
                    line, object_pairs_hook=first_names, parse_int=Raw, parse_float=Raw
                )
                key = tuple(key_of(record[name]) for name in paths)
                blank = empty != "one" and not any(key)
                if (blank and empty == "drop") or (not blank and key in seen):
                    continue
                seen.add(key)
                expected.append(line)
            words = [word for name in paths for word in ("--json-key", f".{name}")]
            text = "".join(line + "\n" for line in lines).encode()
            out = self.dedup(*words, "--empty", empty, stdin=text).decode().split("\n")[:-1]
            self.assertEqual(out, expected, (SEED, round_number, words, empty))


if __name__ == "__main__":
    if "BLOOMERY" not in os.environ:
        sys.exit("BLOOMERY must name the command to test")
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        SEED = int(sys.argv.pop(1))
    print(f"seed {SEED}", flush=True)
    unittest.main()

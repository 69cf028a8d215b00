#!/usr/bin/env python3
"""Keys out of CSV and JSON lines, against the csv and json modules of Python.

    BLOOMERY=path/to/bloomery keys_test.py [SEED]

An exact set is made of the keys that Python finds in some of the records; `check` must then print
those records and no others.
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

SEED = 20240612
ROUNDS = 60


def run(folder, *words, stdin=b""):
    return subprocess.run(
        [os.environ["BLOOMERY"], *words], cwd=folder, input=stdin, capture_output=True
    )


class Keys(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        scratch = tempfile.TemporaryDirectory(prefix="bloomery-keys-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def build(self, keys):
        """An exact set of these bytes; whatever is in them, a zero byte ends them."""
        words = ["build", "-qf", "--kind", "hash-set", "-0", "--crlf", "keep", "-o", "set"]
        built = run(self.folder, *words, stdin=b"".join(key + b"\0" for key in sorted(keys)))
        self.assertEqual((built.returncode, built.stderr.replace(NO_LINE, b"")), (0, b""))

    def check(self, *words):
        ran = run(self.folder, "check", *words)
        self.assertEqual(ran.stderr, b"", words)
        self.assertIn(ran.returncode, (0, 1))
        return ran.stdout

    # -- CSV ----------------------------------------------------------------------------------

    def csv_text(self, rows, separator):
        """Written by hand: quoted where it must be or at random, with odd quotes, ends of both."""
        end = self.random.choice(["\n", "\r\n"])
        lines = []
        for row in rows:
            fields = []
            for field in row:
                must = any(c in field for c in "\r\n" + separator) or field.startswith('"')
                if must or self.random.random() < 0.3 or row == [""]:
                    field = '"' + field.replace('"', '""') + '"'
                    if self.random.random() < 0.05:
                        field += 'x"y'  # behind the closing quote, as it is
                fields.append(field)
            lines.append(separator.join(fields))
        text = end.join(lines)
        return text if self.random.random() < 0.3 else text + end

    def test_csv_columns_are_those_of_the_csv_module(self):
        alphabet = ["a", "b", "7", '"', '"', ",", ";", "\n", "\r\n", " ", "\u00fc", "x" * 50]
        for round_number in range(ROUNDS):
            separator = self.random.choice([",", ";", "\t"])
            width = self.random.randint(1, 5)
            header = [f"c {i}" + self.random.choice(["", '"', ","]) for i in range(width)]
            word = lambda: "".join(self.random.choices(alphabet, k=self.random.randint(0, 4)))
            rows = [[word() for _ in range(width)] for _ in range(self.random.randint(1, 300))]
            text = self.csv_text([header] + rows, separator)
            (self.folder / "in.csv").write_bytes(text.encode())
            parsed = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
            names, records = parsed[0], parsed[1:]
            column = self.random.randrange(width)
            keys = {record[column].encode() for record in records}
            some = {key for key in keys if self.random.random() < 0.5}
            self.build(some)
            name = f'"{names[column]}"' if "," in names[column] else names[column]
            words = ["--csv", "--column", name, "-t", separator, "--empty", "one"]
            out = self.check(*words, "set", "in.csv")
            expected = [names] + [r for r in records if r[column].encode() in some]
            printed = io.StringIO(out.decode(), newline="")
            self.assertEqual(
                list(csv.reader(printed, delimiter=separator)), expected, (SEED, round_number)
            )

    def test_csv_without_a_header_and_with_short_records(self):
        for round_number in range(ROUNDS // 2):
            rows = [
                [self.random.choice("abc\n") for _ in range(self.random.randint(1, 4))]
                for _ in range(100)
            ]
            text = self.csv_text(rows, ",")
            (self.folder / "in.csv").write_bytes(text.encode())
            records = list(csv.reader(io.StringIO(text, newline="")))
            long_enough = [r for r in records if len(r) >= 3]
            self.build({r[2].encode() for r in long_enough})
            words = ["--csv", "--no-header", "--column", "3", "set", "in.csv"]
            out = self.check("--skip-bad", *words)
            printed = list(csv.reader(io.StringIO(out.decode(), newline="")))
            self.assertEqual(printed, long_enough, (SEED, round_number))
            if len(long_enough) < len(records):
                ran = run(self.folder, "check", *words)
                bad = next(i for i, r in enumerate(records) if len(r) < 3)
                self.assertEqual(ran.returncode, 2)
                self.assertIn(f"in.csv, record {bad + 1} has no key".encode(), ran.stderr)

    # -- JSON ---------------------------------------------------------------------------------

    def json_value(self, depth):
        pick = self.random.random()
        if depth > 0 and pick < 0.2:
            return {self.name(): self.json_value(depth - 1) for _ in range(3)}
        if depth > 0 and pick < 0.3:
            return [self.json_value(depth - 1) for _ in range(self.random.randint(0, 3))]
        if pick < 0.6:
            pieces = ["a", "\u00fc", "\U0001f600", '"', "\\", "\n", "{", "}", "]", ":", "\0", " "]
            return "".join(self.random.choices(pieces, k=self.random.randint(0, 6)))
        return self.random.choice(
            [0, -7, 12345678901234567890123, 1.5, -2.5e-7, 1e300, True, False, None]
        )

    def name(self):
        return self.random.choice(["a", "b", "\u00fc", "x y", 'q"', "b\\", "", "a.b", "[0]"])

    @staticmethod
    def key_of(value):
        if isinstance(value, str):
            return value.encode()
        if value is None:
            return None  # in no set: empty_keys_test.py
        if isinstance(value, bool):
            return json.dumps(value).encode()
        return repr(value).encode()

    def test_json_paths_are_those_of_the_json_module(self):
        step = lambda name: '."' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
        for round_number in range(ROUNDS):
            one, two = self.name(), self.name()
            place = self.random.randint(0, 2)
            lines, values = [], []
            for _ in range(200):
                value = self.json_value(2)
                if self.random.random() < 0.7:
                    value = {self.name(): 0, one: [self.json_value(1), {two: value}, [], 5]}
                lines.append(
                    json.dumps(
                        value,
                        ensure_ascii=self.random.random() < 0.5,
                        separators=self.random.choice([(",", ":"), (", ", " : ")]),
                    )
                )
                values.append(self.walk(value, one, place, two))
            # A record that is cut off is no JSON.
            for i in self.random.sample(range(200), 10):
                if lines[i][0] in "{[":
                    lines[i] = lines[i][: self.random.randrange(1, len(lines[i]))]
                    values[i] = None
            (self.folder / "in.json").write_bytes("".join(x + "\n" for x in lines).encode())
            keys = {value for value in values if value is not None}
            some = {key for key in keys if self.random.random() < 0.7 and b"\0" not in key}
            self.build(some)
            path = f"{step(one)}[{place}]{step(two) if place == 1 else ''}"
            out = self.check("--json-key", path, "--skip-bad", "--empty=one", "set", "in.json")
            expected = [x for x, value in zip(lines, values) if value in some]
            self.assertEqual(out.decode().split("\n")[:-1], expected, (SEED, round_number, path))

    def walk(self, value, one, place, two):
        """The key, or None: also for objects and arrays, which are never in the set."""
        for step, holder in ((one, dict), (place, list), (two, dict))[: 3 if place == 1 else 2]:
            # A text can be indexed too.
            if not isinstance(value, holder):
                return None
            if step not in (value if holder is dict else range(len(value))):
                return None
            value = value[step]
        return None if isinstance(value, (dict, list)) else self.key_of(value)


NO_LINE = b"bloomery: warning: the input has no lines; the set is planned for 1 key\n"

if __name__ == "__main__":
    if "BLOOMERY" not in os.environ:
        sys.exit("BLOOMERY must name the command to test")
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        SEED = int(sys.argv.pop(1))
    print(f"seed {SEED}", flush=True)
    unittest.main()

#!/usr/bin/env python3
"""Every verb that reads lines beside Python's own split, csv and json, on generated inputs: byte
order marks, CRLF, empty lines, zero bytes, UTF-16, compression, quotes, escapes, repeats anywhere.

    BLOOMERY=path/to/bloomery nasty_lines_test.py [SEED]
"""
import bz2
import csv
import gzip
import io
import json
import lzma
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BINARY = os.environ.get("BLOOMERY") or sys.exit("set BLOOMERY to the path of the command")
SEED = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 20261116
PATIENCE = 120
ROUNDS = 12
MARK = "\ufeff"

ATOMS = ["a", "A", "b c", "", " ", "\t", "\0", "\r", "\"", "'", "\\", ",", "null", "0", "\u00fc",
         "\u20ac", "\U0001f600", "x" * 700, "\ufeff", "PK", "{}", "-1"]


def run(*words, **more):
    return subprocess.run([BINARY, *map(str, words)], capture_output=True, timeout=PATIENCE, **more)


def split(text, delimiter="\n"):
    lines = text.split(delimiter)
    return lines[:-1] if lines[-1] == "" else lines


class Nasty(unittest.TestCase):
    def setUp(self):
        self.chance = random.Random(f"{SEED} {self.id()}")
        place = tempfile.TemporaryDirectory(prefix="bloomery-nasty-")
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def lines(self, count):
        """Few different ones, so that most repeat. The first is text whatever it is read as."""
        pool = ["".join(self.chance.choices(ATOMS, k=self.chance.randrange(4))) for _ in range(30)]
        return ["first"] + self.chance.choices(pool, k=count)

    def packed(self, text):
        """The same text as files have it."""
        way = self.chance.randrange(4)
        if way == 0:
            content = text.encode()
        elif way == 1:
            content = (MARK + text).encode()
        else:
            content = (MARK + text).encode(("utf-16-le", "utf-16-be")[way - 2])
        pack = self.chance.choice((bytes, gzip.compress, bz2.compress, lzma.compress))
        return pack(content)

    def file(self, text):
        path = self.folder / f"f{self.chance.randrange(10**9)}"
        path.write_bytes(self.packed(text))
        return path

    def joined(self, lines, delimiter):
        return delimiter.join(lines) + self.chance.choice(("", delimiter))

    def test_dedup_check_and_count(self):
        for _ in range(ROUNDS):
            delimiter, flags = self.chance.choice(
                (("\n", []), ("\n", ["-d", r"\n"]), (";;", ["-d", ";;"]),
                 ("\r\n", ["-d", r"\r\n"])))
            texts = [self.joined(self.lines(200), delimiter) for _ in range(2)]
            files = [self.file(text) for text in texts]
            lines = [line for text in texts for line in split(text, delimiter)]
            once = dict.fromkeys(lines)
            end = delimiter.encode()
            outcome = run("dedup", *flags, *files)
            self.assertEqual((outcome.returncode, outcome.stdout.split(end)[:-1]),
                             (0, [line.encode() for line in once]), (flags, outcome.stderr))
            piped = run("dedup", *flags, files[0], "-", input=files[1].read_bytes())
            self.assertEqual(piped.stdout, outcome.stdout)
            known = set(split(texts[0], delimiter))
            made = self.folder / "S"
            told = run("build", "-q", "-f", "-o", made, "--kind", "hash-set", "--crlf", "keep",
                       *flags, files[0])
            self.assertEqual(told.returncode, 0, told)
            hits = run("check", *flags, made, files[1])
            self.assertEqual(hits.stdout.split(end)[:-1],
                             [line.encode() for line in split(texts[1], delimiter)
                              if line in known], flags)

    def test_ints(self):
        for _ in range(ROUNDS):
            numbers = [self.chance.choice((0, 1, 7, 2**32, 2**64 - 1, self.chance.randrange(50)))
                       for _ in range(80)]
            lines = [self.chance.choice(("{}", " {}", "{}\t", "{}\r", "00{}")).format(n)
                     for n in numbers]
            path = self.file("\n".join(lines) + "\n" * self.chance.randrange(4))
            counts = {n: numbers.count(n) for n in numbers}
            for verb, right in (("sort", sorted(counts)), ("count", [len(counts)]),
                                ("once", sorted(n for n in counts if counts[n] == 1)),
                                ("dups", sorted(n for n in counts if counts[n] > 1))):
                outcome = run("ints", verb, path)
                self.assertEqual((outcome.returncode, outcome.stdout.split()),
                                 (0, [b"%d" % n for n in right]), (verb, outcome.stderr))

    def test_csv(self):
        for _ in range(ROUNDS):
            rows = []
            for _ in range(60):
                cells = ["".join(self.chance.choices(
                    ("a", "b", ",", "\"", "\n", "\u00fc", " "), k=self.chance.randrange(3)))
                    for _ in range(3)]
                rows.append(["k" + cells[0], *cells[1:]])
            held = io.StringIO()
            writer = csv.writer(held, lineterminator=self.chance.choice(("\n", "\r\n")))
            writer.writerows([["id", "x", "y"], *rows])
            outcome = run("dedup", "--csv", "--column", "id", self.file(held.getvalue()))
            self.assertEqual(outcome.returncode, 0, outcome.stderr)
            got = list(csv.reader(io.StringIO(outcome.stdout.decode(), newline="")))
            right = {}
            for row in rows:
                right.setdefault(row[0], row)
            self.assertEqual(got, [["id", "x", "y"], *right.values()])

    def test_json_lines(self):
        for _ in range(ROUNDS):
            records = [{"a": {"b": "k" + "".join(self.chance.choices(ATOMS, k=2))},
                        "n": self.chance.randrange(9), "z": "\u00fc\n\""} for _ in range(80)]
            lines = [json.dumps(record, ensure_ascii=self.chance.random() < 0.5)
                     for record in records]
            outcome = run("dedup", "--json-key", ".a.b", self.file("\n".join(lines)))
            right = {}
            for record, line in zip(records, lines):
                right.setdefault(record["a"]["b"], line)
            self.assertEqual((outcome.returncode, outcome.stdout.decode().split("\n")[:-1]),
                             (0, list(right.values())), outcome.stderr)


if __name__ == "__main__":
    print(f"seed {SEED}", flush=True)
    unittest.main()

#!/usr/bin/env python3
"""Keys of several parts, and flags that are given more than once.

    BLOOMERY=path/to/bloomery combined_keys_test.py [SEED]

A key of several parts is what docs/format.md says under "Keys": made here once more, in Python.
"""
import csv
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from shown_flags import bloomery, commands

SEED = 20261116
# What may come again, because the values combine.
COMBINE = {
    "--field", "--column", "--json-key", "--against", "--set", "--allow", "--verify", "--host"
}
# What no verb takes: serve waits for a set that is not there.
NOT_A_SET = {"serve": "redis://"}


def run(folder, *words, stdin=b""):
    return subprocess.run(
        [os.environ["BLOOMERY"], *words], cwd=folder, input=stdin, capture_output=True, timeout=60
    )


def netstrings(parts):
    return b"".join(b"%d:%s," % (len(part), part) for part in parts)


def first_of_each(records, key_of):
    seen, kept = set(), []
    for record in records:
        key = key_of(record)
        if key not in seen:
            seen.add(key)
            kept.append(record)
    return kept


class Test(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        scratch = tempfile.TemporaryDirectory(prefix="bloomery-combined-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def good(self, *words, stdin=b""):
        ran = run(self.folder, *words, stdin=stdin)
        self.assertEqual((ran.returncode, ran.stderr), (0, b""), words)
        return ran.stdout


class Repeats(Test):
    def test_a_flag_of_one_value_is_refused_when_it_comes_twice(self):
        tried = 0
        for name in commands():
            for head in re.findall(r"(?m)^ {2,6}(-[^\n]*?)(?:  |$)", bloomery(name, "-h")):
                if not (value := re.search(r"(--[\w-]+)(?: \S|\[=)", head)):
                    continue
                flag = value.group(1)
                ran = run(self.folder, name, f"{flag}=x", f"{flag}=y",
                          NOT_A_SET.get(name, "/nowhere/set"))
                said = re.search(rf"{flag}\S* was given 2 times", ran.stderr.decode())
                combines = flag in COMBINE and (name, flag) != ("plan", "--allow")
                self.assertEqual(said is None, combines, (name, flag, ran.stderr))
                self.assertEqual(ran.returncode, 2, (name, flag))
                tried += 1
        self.assertGreater(tried, 100)

    def test_short_and_long_names_are_one_flag(self):
        ran = run(self.folder, "dedup", "-o", "a", "--output", "b", stdin=b"x\n")
        self.assertEqual(
            ran.stderr,
            b"bloomery: error: -o/--output was given 2 times, and takes one value; give it once\n",
        )
        self.assertEqual((ran.returncode, os.listdir(self.folder)), (2, []))

    def test_a_state_that_is_named_twice_is_made_under_neither_name(self):
        ran = run(self.folder, "dedup", "--state", "a", "--state", "b", stdin=b"x\n")
        self.assertEqual((ran.returncode, ran.stdout, os.listdir(self.folder)), (2, b"", []))

    def test_brackets_are_part_of_a_value(self):
        text = b"[id],id\n1,2\n1,3\n"
        out = self.good("dedup", "--csv", "--column", "[id]", stdin=text)
        self.assertEqual(out, b"[id],id\n1,2\n")
        (self.folder / "a").write_bytes(b"x\n")
        (self.folder / "[a]").write_bytes(b"y\n")
        self.assertEqual(self.good("dedup", "--against", "[a]", stdin=b"x\ny\n"), b"x\n")
        self.assertEqual(self.good("check", "-s", "[a]", stdin=b"x\ny\n"), b"y\n")
        self.good("build", "-q", "--kind=hash-set", "-o", "f", stdin=b"x\ny\n")
        out = self.good("check", "--verify", "[a]", "f", stdin=b"x\ny\n")
        self.assertEqual(out, b"y\n")
        out = self.good("dedup", "--json-key", "[0].[1]", stdin=b"[[1,2]]\n[[3,2]]\n")
        self.assertEqual(out, b"[[1,2]]\n")

    def test_what_says_the_same_twice_says_it_once(self):
        self.assertEqual(self.good("dedup", "-q", "-q", "--quiet", stdin=b"x\nx\n"), b"x\n")
        ran = run(self.folder, "dedup", "--exact", "--exact=false", stdin=b"x\n")
        self.assertIn(b"--exact was given 2 times", ran.stderr)


class Sets(Test):
    def refused(self, sentence, *words, stdin=b""):
        ran = run(self.folder, *words, stdin=stdin)
        self.assertEqual((ran.returncode, ran.stdout), (2, b""), words)
        self.assertIn(sentence, ran.stderr, words)

    def test_a_list_cannot_be_asked_with_several_parts(self):
        (self.folder / "list").write_bytes(b"1,2\n")
        csv = b"a,b\n1,2\n"
        told = b"list has the keys of a list of whole lines, one part, and this run has those of "
        words = ["--csv", "--column", "a", "--column", "b"]
        self.refused(told, "check", *words, "list", stdin=csv)
        self.refused(told, "dedup", *words, "--against", "list", stdin=csv)
        self.refused(told, "check", "-k", "2-", "list", stdin=b"z 1 2\n")
        self.assertEqual(self.good("check", "-k", "2", "list", stdin=b"z 1,2\n"), b"z 1,2\n")

    def test_what_is_read_is_not_written(self):
        (self.folder / "list").write_bytes(b"1\n")
        (self.folder / "key").write_bytes(b"k" * 16)
        (self.folder / "in").write_bytes(b"1\n2\n")
        for flag in ("-o", "-D"):
            for read, name in (("--against", "list"), ("--key-file", "key")):
                told = name.encode() + b" is read by this command"
                self.refused(told, "dedup", read, name, flag, name, "-f", "in")
        self.assertEqual((self.folder / "list").read_bytes(), b"1\n")
        self.assertEqual((self.folder / "key").read_bytes(), b"k" * 16)


class Combined(Test):
    def test_parts_are_not_mixed_up_whatever_is_in_them(self):
        text = b'x,y\n"a\x1fb",c\na,"b\x1fc"\n'
        (self.folder / "in.csv").write_bytes(text)
        words = ["--csv", "--column", "x", "--column", "y"]
        self.assertEqual(self.good("dedup", "--exact", *words, "in.csv"), text)
        (self.folder / "one.csv").write_bytes(b'x,y\n"a\x1fb",c\n')
        self.good("build", "-q", "--kind", "hash-set", "-o", "set", *words, "one.csv")
        self.assertEqual(self.good("check", *words, "set", "in.csv"), b'x,y\n"a\x1fb",c\n')

    def test_repeated_flags_are_one_key_of_several_parts(self):
        lines = b"a:1:x\na:2:x\nb:1:x\na:1:y\n"
        once = b"a:1:x\na:2:x\nb:1:x\n"
        for words in (["-k", "1", "-k", "2"], ["-k", "1,2"], ["--field=1", "-k2"]):
            self.assertEqual(self.good("dedup", *words, "-t", ":", stdin=lines), once, words)
        lines = b'{"a":1,"b":2}\n{"a":1,"b":3}\n{"b":2,"a":1}\n{"a":12,"b":""}\n'
        out = self.good("dedup", "--json-key", ".a", "--json-key", ".b", stdin=lines)
        self.assertEqual(out, b'{"a":1,"b":2}\n{"a":1,"b":3}\n{"a":12,"b":""}\n')

    def test_anybody_can_make_the_same_key(self):
        self.good("build", "-q", "--kind", "hash-set", "-o", "f", "-k", "2,1", stdin=b"x yy\n")
        asked = b"2:yy,1:x,\n1:x,2:yy,\n"
        self.assertEqual(self.good("check", "--same-keys", "f", stdin=asked), b"2:yy,1:x,\n")
        # The other way round.
        self.good("build", "-q", "--kind", "hash-set", "-o", "g", stdin=b"2:yy,1:x,\n")
        asked = b'{"a":"yy","b":"x"}\n{"a":"y","b":"yx"}\n'
        words = ["--same-keys", "--json-key", ".a", "--json-key", ".b"]
        self.assertEqual(self.good("check", *words, "g", stdin=asked), b'{"a":"yy","b":"x"}\n')

    def test_each_part_is_normalised_by_itself(self):
        lines = b"x;A@B.org ; c@d.org\nx;a@b.org;C@D.ORG\nx;a@b.orgc@d.org;\n"
        words = ["-k", "2,3", "-t", ";", "--normalize", "email"]
        kept = b"x;A@B.org ; c@d.org\nx;a@b.orgc@d.org;\n"
        self.assertEqual(self.good("dedup", *words, stdin=lines), kept)

    def word(self):
        alphabet = ["a", "\x1f", ":", ",", "1", "2", ";", "0:,"]
        return "".join(self.random.choices(alphabet, k=self.random.randint(0, 3)))

    def test_combined_columns_and_fields_against_python(self):
        for round_number in range(20):
            rows = [[self.word() for _ in range(3)] for _ in range(400)]
            chosen = self.random.choices(range(3), k=self.random.randint(2, 4))
            kept = first_of_each(rows, lambda row: tuple(row[i] for i in chosen))
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows([["p", "q", "r"], *rows])
            (self.folder / "in.csv").write_text(text.getvalue())
            words = [word for i in chosen for word in ("--column", "pqr"[i])]
            ran = run(self.folder, "dedup", "--exact", "--csv", *words, "in.csv")
            printed = list(csv.reader(io.StringIO(ran.stdout.decode())))
            self.assertEqual(
                (ran.returncode, self.without_empty(printed[1:], chosen)),
                (0, self.without_empty(kept, chosen)),
                (SEED, round_number),
            )
            lines = "".join("\t".join(row) + "\n" for row in rows).encode()
            words = ["-k", ",".join(str(i + 1) for i in chosen), "-t", "\\t"]
            out = run(self.folder, "dedup", "--exact", *words, stdin=lines).stdout.decode()
            printed = [line.split("\t") for line in out.split("\n")[:-1]]
            self.assertEqual(
                self.without_empty(printed, chosen), self.without_empty(kept, chosen), round_number
            )

    @staticmethod
    def without_empty(rows, chosen):
        """Records of which every part is empty are another test's."""
        return [row for row in rows if any(row[i] for i in chosen)]

    def test_combined_json_values_against_python(self):
        values = ["", "null", None, "a", "1", 1, True, "true", "\xff", "\u00ff", "1:a,", 1.5, "b,"]
        text_of = lambda value: value if isinstance(value, str) else json.dumps(value)
        key_of = lambda record: tuple(
            None if value is None else text_of(value) for value in (record["a"], record["b"])
        )
        records = [
            {"a": self.random.choice(values), "b": self.random.choice(values)} for _ in range(2000)
        ]
        records = [one for one in records if any(x not in ("", None) for x in one.values())]
        lines = "".join(json.dumps(record) + "\n" for record in records).encode()
        out = self.good("dedup", "--exact", "--json-key=.a", "--json-key=.b", stdin=lines)
        printed = [json.loads(line) for line in out.split(b"\n")[:-1]]
        self.assertEqual(printed, first_of_each(records, key_of), SEED)
        # And as docs/format.md has them.
        as_bytes = lambda part: b"\xff" if part is None else part.encode()
        keys = {netstrings(map(as_bytes, key_of(record))) for record in records}
        self.good("build", "-q", "--kind=hash-set", "-o", "s", stdin=b"\n".join(keys) + b"\n")
        words = ["-c", "--same-keys", "--json-key=.a", "--json-key=.b"]
        asked = self.good("check", *words, "s", stdin=lines)
        self.assertEqual(int(asked), len(records))


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        SEED = int(sys.argv.pop(1))
    print(f"seed {SEED}", flush=True)
    unittest.main()

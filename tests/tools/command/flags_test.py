#!/usr/bin/env python3
"""Every flag of every command that its help shows is tried by a test.

    BLOOMERY=path/to/bloomery flags_test.py

A flag is tried if a `$` line of a transcript, or a line of a *_test.py here, has the command and
one of the flag's names; a test named after a command is about no other. Flags are read from the
help, so that a new one without a test fails here.
"""
import re
import unittest
from pathlib import Path

from shown_flags import bloomery, commands, flags_of

HERE = Path(__file__).resolve().parents[1]
ANSWERED_HERE = {"-h", "--help"}
# Words that a shell sets apart; a flag ends at them.
WORD = re.compile(r"[^\s\"'`|;&<>(),\[\]]+")


def flags_in(text):
    """Every flag in a line, those that are written as one word (-qv, -fo) one by one."""
    found = set()
    for word in WORD.findall(text):
        if word.startswith("--"):
            found.add(word.split("=")[0])
        elif re.fullmatch(r"-[A-Za-z0-9]+", word):
            found.update(f"-{letter}" for letter in word[1:])
    return found


def tried():
    """{command: flags}, from all lines that run it."""
    found = {name: set() for name in commands()}
    for path in sorted((HERE / "transcripts").glob("*.txt")):
        for line in path.read_text().splitlines():
            if not line.startswith("$ "):
                continue
            # Each call of the line has its own flags, up to the end of that call.
            for call in re.split(r"[|;&\n]|\$\(", line[2:]):
                for name in re.findall(r"\bbloomery (\w+)", call):
                    if name in found:
                        found[name] |= flags_in(call)
    for path in sorted(HERE.rglob("*_test.py")):
        if path.name == Path(__file__).name:
            continue
        of_one = {path.name.removesuffix("_test.py")} & set(found)  # bench_test.py
        for line in path.read_text().splitlines():
            for name in {*re.findall(r'"(\w+)"', line), *of_one}:
                if name in found:
                    found[name] |= flags_in(line)
    return found


class Flags(unittest.TestCase):
    maxDiff = None

    def test_every_flag_has_a_test(self):
        have = tried()
        lacking = []
        for name in commands():
            for names in flags_of(name):
                if not names & (have[name] | ANSWERED_HERE):
                    lacking.append(f"{name} {'/'.join(sorted(names, key=len))}")
        self.assertEqual(lacking, [], "flags that no transcript and no test tries")

    def test_the_help_is_read_as_it_is_meant(self):
        self.assertIn({"-o", "--output"}, flags_of("build"))
        self.assertIn({"--measure"}, flags_of("info"))
        self.assertIn({"--color"}, flags_of("check"))
        self.assertGreater(len(commands()), 13)

    def test_short_help_is_short_and_long_help_goes_on(self):
        for name in commands():
            short, long = bloomery(name, "-h"), bloomery(name, "--help")
            self.assertTrue(long.startswith(short), name)
            self.assertIn("Exit codes", long, name)
            self.assertIn("Examples:", long, name)
            self.assertNotIn("Examples:", short, name)
            self.assertIn(f"usage: bloomery {name}", short)

    def test_every_command_that_reports_has_json_and_colours(self):
        for name in set(commands()) - {"completions", "help", "man"}:
            names = set().union(*flags_of(name))
            self.assertLessEqual({"--json", "--color"}, names, name)


if __name__ == "__main__":
    unittest.main()

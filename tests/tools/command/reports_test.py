#!/usr/bin/env python3
"""Every --json report of every verb: one object, once, and numbers that are numbers.

    BLOOMERY=path/to/bloomery reports_test.py
"""
import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import register

NUMBER = re.compile(r"\s*[-+]?[0-9][0-9,_]*(\.[0-9]+)?([eE][-+]?[0-9]+)?\s*%?\s*")
# Verbs that have no report.
# serve_test.py has what serve tells.
MUTE = {"help", "completions", "man", "serve"}


def numeric_strings(value, place=""):
    if isinstance(value, dict):
        return [bad for key, one in value.items() for bad in numeric_strings(one, f"{place}.{key}")]
    if isinstance(value, list):
        return [bad for i, one in enumerate(value) for bad in numeric_strings(one, f"{place}[{i}]")]
    return [(place, value)] if isinstance(value, str) and NUMBER.fullmatch(value) else []


class Reports(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="bloomery-reports-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        (self.folder / "lines").write_text("".join(f"{i}\n" for i in range(1, 1001)))
        (self.folder / "allow").write_text("a\nb\n")

    def run_it(self, *words, stdin=""):
        return subprocess.run(
            [os.environ["BLOOMERY"], *words],
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            text=True,
        )

    def report(self, *words, exits=(0,)):
        """The one object that is the report, wherever it goes."""
        ran = self.run_it(*words)
        self.assertIn(ran.returncode, exits, (words, ran.stderr))
        found = []
        for text in (ran.stdout, ran.stderr):
            for line in text.splitlines():
                if line.startswith("{"):
                    found.append(json.loads(line))
        self.assertEqual(len(found), 1, (words, ran.stdout[-500:], ran.stderr[-500:]))
        self.assertEqual(numeric_strings(found[0]), [], words)
        return found[0]

    def test_the_search_finds_numbers(self):
        self.assertEqual(
            numeric_strings({"a": [{"b": "163840"}, {"c": "1,000"}], "d": "1e-06", "e": "0..9"}),
            [(".a[0].b", "163840"), (".a[1].c", "1,000"), (".d", "1e-06")],
        )

    def test_every_kind(self):
        for kind in register.maps() + register.hashed():
            self.report("build", "--json", "--kind", kind, "-o", f"{kind}.set", "lines")
            told = self.report("info", "--json", f"{kind}.set")
            self.assertEqual(told["kind"], kind)
            shape = [value for key, value in told.items() if key.startswith("shape_")]
            self.assertTrue(all(isinstance(value, int) for value in shape), told)
            self.report("verify", "--json", f"{kind}.set")
            self.report("check", "--json", f"{kind}.set", "lines")
        self.report("build", "--json", "--allow", "allow", "-o", "cascade.set", "lines")
        self.report("info", "--json", "cascade.set")
        self.report("info", "--json", "--measure=1000", "blocked.set")

    def test_every_verb(self):
        self.report("build", "--json", "-n", "2000", "-o", "a.set", "lines")
        self.report("build", "--json", "--like", "a.set", "-o", "b.set", "lines")
        self.report("build", "--json", "--kind", "counting", "-o", "c.set", "lines")
        self.report("build", "--json", "-n", "200000", "-o", "large.set", "lines")
        self.report("build", "--json", "--live", "-o", "live.set", "lines")
        self.report("info", "--json", "live.set")
        asked = {
            "dedup": ["lines"],
            "add": ["a.set", "lines"],
            "remove": ["c.set", "allow", "lines"],
            "check": ["-s", "a.set", "-s", "b.set", "lines"],
            "count": ["c.set", "lines"],
            "plan": ["-n", "1M", "-p", "1%"],
            "info": ["a.set"],
            "merge": ["union", "-o", "d.set", "a.set", "b.set"],
            "fold": ["-o", "e.set", "large.set"],
            "verify": ["a.set", "b.set"],
            "seal": ["live.set"],
            "unseal": ["a.set"],
            "ints": ["sort", "lines"],
            "bench": ["-n", "1000", "--quick", "--kind", "blocked"],
        }
        for verb, words in asked.items():
            if verb == "verify":  # one object for each file
                ran = self.run_it(verb, "--json", *words)
                reports = [json.loads(line) for line in ran.stdout.splitlines()]
                self.assertEqual([numeric_strings(one) for one in reports], [[]] * len(reports))
                continue
            self.report(verb, "--json", *words, exits=(0, 1))
        for verb in ("count", "once", "dups", "missing"):
            self.report("ints", verb, "--json", "lines", exits=(0, 1))
        self.report("plan", "--json", "--nodes", "-n", "1G", "-p", "1%")
        self.report("plan", "--json", "-n", "1M", "-m", "1M")
        usage = self.run_it("-h").stdout
        verbs = {line.split()[0] for line in usage.splitlines() if re.match(r"  [a-z]+ ", line)}
        self.assertEqual(verbs - MUTE, {"build", *asked})

    def test_an_error_prints_no_half_report(self):
        for words in (
            ["build", "--json", "-o", "x.set", "missing"],
            ["check", "--json", "lines", "missing"],
            ["info", "--json", "lines"],
            ["dedup", "--json", "missing"],
            ["plan", "--json", "-n", "1M", "-p", "2"],
            ["add", "--json", "missing", "lines"],
            ["ints", "sort", "--json", "allow"],
        ):
            ran = self.run_it(*words)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""), words)
            self.assertTrue(ran.stderr.startswith("bloomery: error: "), (words, ran.stderr))


if __name__ == "__main__":
    unittest.main()

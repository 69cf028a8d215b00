#!/usr/bin/env python3
"""What dedup remembers when nothing is said: whole 64-bit hashes, as many as come."""

import json
import os
import random
import subprocess
import tempfile
import unittest

BLOOMERY = os.environ["BLOOMERY"]
SEED = 16


class DedupDefault(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def run_dedup(self, *words, stdin=b"", code=0):
        ran = subprocess.run([BLOOMERY, "dedup", *words], input=stdin, capture_output=True,
                             cwd=self.directory.name)
        self.assertEqual(ran.returncode, code, ran.stderr)
        return ran

    def report(self, ran):
        return json.loads(ran.stderr.splitlines()[-1])

    def test_every_different_line_comes_once_and_in_order(self):
        print("seed", SEED)
        draw = random.Random(SEED)
        lines = [b"%d\n" % draw.randrange(400_000) for _ in range(300_000)]
        want = b"".join(dict.fromkeys(lines))
        data = b"".join(lines)
        with open(self.path("in"), "wb") as file:
            file.write(data)
        for words, stdin in ((["in"], b""), ([], data), (["-T1", "in"], b"")):
            ran = self.run_dedup("--json", *words, stdin=stdin)
            self.assertEqual(ran.stdout, want)
            told = self.report(ran)
            self.assertEqual(told["kind"], "compact")
            self.assertLess(told["expected_lost"], 1e-7)
            self.assertLess(told["memory_bytes"], 12 * told["lines_out"])

    def test_a_rate_and_exact_choose_other_sets(self):
        data = b"a\nb\na\n"
        for words, kind in ((["-p", "1e-6"], "chain"), (["--exact"], "hash-set"), ([], "compact"),
                            (["-n", "100"], "compact"), (["-m", "64M", "-p", "1%"], "blocked"),
                            (["-m", "64M"], "compact"), (["--window", "10"], "window")):
            ran = self.run_dedup("--json", *words, stdin=data)
            self.assertEqual(ran.stdout, b"a\nb\n", words)
            self.assertEqual(self.report(ran)["kind"], kind, words)

    def test_a_state_remembers_whole_hashes_from_run_to_run(self):
        first = b"".join(b"%d\n" % i for i in range(50_000))
        second = b"".join(b"%d\n" % i for i in range(25_000, 90_000))
        self.assertEqual(self.run_dedup("--state", "s.set", stdin=first).stdout, first)
        ran = self.run_dedup("--state", "s.set", "--json", stdin=second)
        self.assertEqual(ran.stdout, b"".join(b"%d\n" % i for i in range(50_000, 90_000)))
        self.assertEqual(self.report(ran)["kind"], "compact")
        self.assertLess(os.path.getsize(self.path("s.set")), 9 * 90_000)
        for words, told in ((["--exact"], b"is not exact but a compact"),
                            (["-p", "1e-6"], b"keeps whole 64-bit hashes"),
                            (["--window", "10"], b"is a compact, not a window")):
            ran = self.run_dedup("--state", "s.set", *words, stdin=second, code=2)
            self.assertIn(told, ran.stderr)
            self.assertEqual(ran.stdout, b"")

    def test_a_new_state_is_hardened_unless_a_seed_is_given(self):
        data = b"".join(b"%d\n" % i for i in range(1000))
        facts = {}
        for name, words in (("a", []), ("b", []), ("s", ["--seed", "0"]), ("t", ["--seed", "0"]),
                            ("p", ["-p", "1%"]), ("w", ["--window", "10k"]), ("e", ["--exact"])):
            self.run_dedup("--state", name, *words, stdin=data)
            told = subprocess.run([BLOOMERY, "info", "--json", self.path(name)],
                                  capture_output=True, check=True)
            facts[name] = json.loads(told.stdout)
            self.assertEqual(facts[name]["hardened"], name not in "st", name)
            # What lets one compute collisions is for its owner only.
            self.assertEqual(os.stat(self.path(name)).st_mode & 0o077 == 0, name not in "st")
            self.assertEqual(self.run_dedup("--state", name, stdin=data).stdout, b"")
        # Nobody who does not know the key can tell which lines collide: it differs.
        hashes = {}
        for name in "abst":
            with open(self.path(name), "rb") as file:
                hashes[name] = file.read()[-8 * 1000:]
        self.assertNotEqual(hashes["a"], hashes["b"])
        self.assertEqual(hashes["s"], hashes["t"])
        ran = self.run_dedup("--state", "a", "--seed", "0", stdin=data, code=2)
        self.assertIn(b"is hardened, and has a secret key instead of a seed", ran.stderr)
        # A run that keeps nothing needs no key; it is the fast hash.
        self.assertEqual(self.run_dedup(stdin=data).stdout, data)

    def test_what_does_not_fit_the_memory_is_an_error_that_names_the_way_out(self):
        lines = b"".join(b"%d\n" % i for i in range(1_000_000))
        with open(self.path("in"), "wb") as file:
            file.write(lines)
        ran = self.run_dedup("-T1", "-m", "12M", "in", code=2)
        self.assertEqual(ran.stdout, b"")
        self.assertIn(b"do not fit --memory 12M", ran.stderr)
        self.assertIn(b"or a --rate, such as 1e-6, for a smaller set", ran.stderr)
        # A pipe is not known before; what was printed is right.
        ran = self.run_dedup("-T1", "-m", "12M", stdin=lines, code=2)
        self.assertTrue(lines.startswith(ran.stdout))
        self.assertIn(b"give more --memory, or a --rate", ran.stderr)
        self.assertEqual(self.run_dedup("-T1", "-m", "32M", "in").stdout, lines)
        self.assertEqual(self.run_dedup("-T1", "-m", "32M", stdin=lines).stdout, lines)


if __name__ == "__main__":
    unittest.main()

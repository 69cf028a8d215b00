#!/usr/bin/env python3
"""Matches that are probably false are told from half a line on, and --strict makes them exit 3.

    BLOOMERY=path/to/bloomery expected_false_test.py

Sets are asked about lines whose truth is known; the hash has a fixed seed.
"""
import json
import math
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import register

MEMBERS = [f"member {i}" for i in range(8000)]
ASKED_MEMBERS = MEMBERS[:1000]
STRANGERS = [f"stranger {i}" for i in range(5000)]


def lines(texts):
    return "".join(text + "\n" for text in texts)


class Folder(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="bloomery-expected-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def write(self, name, texts):
        (self.folder / name).write_text(lines(texts))
        return name

    def run_it(self, *words, stdin=""):
        return subprocess.run(
            [os.environ["BLOOMERY"], *words],
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            text=True,
        )

    def good(self, *words, stdin=""):
        ran = self.run_it(*words, stdin=stdin)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), words)
        return ran.stdout

    def build(self, name, texts, *flags):
        # A set that is overfull says so, which is not the matter here.
        ran = self.run_it("build", "-qf", "--seed", "7", "-o", name, *flags, stdin=lines(texts))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return name

    def report(self, ran):
        return json.loads([line for line in ran.stderr.splitlines() if line.startswith("{")][0])

    def warnings(self, ran, word="probably"):
        return [line for line in ran.stderr.splitlines() if "warning" in line and word in line]


class Check(Folder):
    def setUp(self):
        super().setUp()
        self.asked = self.write("asked", ASKED_MEMBERS + STRANGERS)
        # Eight times what it was planned for: about half of the strangers pass.
        self.full = self.build("full.set", MEMBERS, "-n", "2000", "-p", "1%")

    def assertNear(self, told, truth):
        self.assertLess(abs(told - truth), 6 * math.sqrt(truth) + 0.02 * truth, (told, truth))

    def test_a_bad_set_says_how_many_matches_are_false(self):
        ran = self.run_it("check", "--json", self.full, self.asked)
        self.assertEqual(ran.returncode, 0)
        report = self.report(ran)
        truth = len([line for line in ran.stdout.splitlines() if line.startswith("s")])
        self.assertGreater(truth, 500)
        self.assertNear(report["expected_false"], truth)
        (warning,) = self.warnings(ran)
        self.assertIn("matches are probably false: full.set has a false-positive rate of", warning)
        self.assertIn("it is overfull: build a larger set", warning)
        self.assertIn("--verify", warning)
        self.assertEqual(report["absent"], 6000 - report["matched"])

    def test_invert_says_that_lines_are_missing(self):
        ran = self.run_it("check", "-v", "--json", self.full, self.asked)
        missing = len(STRANGERS) - len(ran.stdout.splitlines())
        self.assertNear(self.report(ran)["expected_false"], missing)
        (warning,) = self.warnings(ran)
        self.assertIn("lines that are withheld are probably absent: full.set has a", warning)

    def test_counts_and_quiet_tell_too(self):
        for flags in (["-c"], ["-q"], ["-c", "-v"], ["-q", "-v"], ["-c", "--which"], ["-c", "-q"]):
            ran = self.run_it("check", *flags, self.full, self.asked)
            self.assertEqual(len(self.warnings(ran)), 1, (flags, ran.stderr))
            if "-q" in flags:
                self.assertEqual(ran.stdout, "")

    def test_a_set_that_was_asked_for_badly_is_built_with_a_lower_rate(self):
        poor = self.build("poor.set", MEMBERS, "-p", "5%")
        ran = self.run_it("check", poor, self.asked)
        (warning,) = self.warnings(ran)
        self.assertIn("build it with a lower --rate", warning)

    def test_several_sets(self):
        good = self.build("good.set", MEMBERS)
        exact = self.build("exact.set", ["other"], "--kind", "hash-set")
        ran = self.run_it(
            "check", "--json", "-s", good, "-s", self.full, "-s", exact, self.asked
        )
        (warning,) = self.warnings(ran)
        self.assertIn("full.set has a false-positive rate of", warning)
        self.assertNotIn("--verify", warning)
        report = self.report(ran)
        truth = len([line for line in ran.stdout.splitlines() if line.startswith("s")])
        self.assertNear(report["expected_false"], truth)
        told = {row["set"]: row["expected_false"] for row in report["sets"]}
        self.assertNear(told["full.set"], truth)
        self.assertLess(told["good.set"], 0.5)
        self.assertEqual(told["exact.set"], 0)

    def test_strict_is_exit_3(self):
        for flags in ([], ["-v"], ["-c"], ["-q"], ["-c", "--json"]):
            ran = self.run_it("check", "--strict", *flags, self.full, self.asked)
            self.assertEqual(ran.returncode, 3, flags)
        # But an error is an error, and what is good is good.
        self.assertEqual(self.run_it("check", "--strict", self.full, "no such file").returncode, 2)
        good = self.build("good.set", MEMBERS)
        self.good("check", "--strict", good, self.asked)
        self.assertEqual(self.run_it("check", "--strict", good, stdin="x\n").returncode, 1)

    def test_what_is_verified_or_exact_is_not_false(self):
        self.write("list", MEMBERS)
        ran = self.run_it(
            "check", "--strict", "--json", self.full, "--verify", "list", self.asked
        )
        self.assertEqual(ran.returncode, 0)
        self.assertEqual(self.warnings(ran), [])
        self.assertEqual(self.report(ran)["expected_false"], 0)
        self.assertEqual(ran.stdout, lines(ASKED_MEMBERS))
        exact = self.build("exact.set", MEMBERS, "--kind", "hash-set")
        ran = self.run_it("check", "--strict", "--json", exact, self.asked)
        self.assertEqual((ran.returncode, self.report(ran)["expected_false"]), (0, 0))
        self.assertEqual(self.warnings(ran), [])

    def test_members_alone_are_no_false_ones(self):
        poor = self.build("poor.set", MEMBERS, "-p", "5%")
        self.good("check", "-c", "--strict", poor, self.write("members", MEMBERS))

    def test_nothing_asked_or_matched(self):
        for stdin in ("", "nobody\n"):
            poor = self.build("poor.set", MEMBERS, "-p", "1e-3")
            ran = self.run_it("check", "--json", "--strict", poor, stdin=stdin)
            self.assertEqual(ran.returncode, 1)
            self.assertEqual(self.report(ran)["expected_false"], 0)

    def test_a_set_that_says_yes_to_all_is_not_believed(self):
        stuffed = self.build("stuffed.set", MEMBERS, "-n", "20", "-p", "10%")
        ran = self.run_it("check", "--json", "--strict", stuffed, stdin="nobody\n")
        self.assertEqual(ran.returncode, 3)
        self.assertEqual(self.report(ran)["expected_false"], 1)

    def test_lines_without_a_key_are_not_asked(self):
        poor = self.build("poor.set", MEMBERS, "-p", "1%")
        # 20 members, 10,000 lines that have no second field: none of those is a stranger.
        text = "".join(f"x:{m}\n" for m in MEMBERS[:20]) + "x\n" * 10000
        ran = self.run_it(
            "check", "-c", "--json", "--skip-bad", "-k", "2", "-t", ":", poor, stdin=text
        )
        self.assertEqual(ran.stdout, "20\n")
        self.assertEqual(self.report(ran)["expected_false"], 0)

    def test_every_kind_tells_it(self):
        for kind in register.lossy():
            rough = self.build("rough.set", MEMBERS, "--kind", kind, "-p", "5%")
            ran = self.run_it("check", "--json", rough, self.asked)
            truth = len([line for line in ran.stdout.splitlines() if line.startswith("s")])
            self.assertNear(self.report(ran)["expected_false"], truth)
            expected = self.report(ran)["expected_false"]
            self.assertEqual(len(self.warnings(ran)), int(expected >= 0.5), (kind, expected))
            # What grows begins large, and is better than asked.
            self.assertGreater(truth, 0 if kind in ("scalable", "chain") else 50, kind)

    def test_a_set_with_an_allow_list_tells_a_bound(self):
        allowed = self.write("allowed", STRANGERS)
        self.build("cascade.set", MEMBERS, "-p", "1%", "--allow", allowed)
        ran = self.run_it("check", "cascade.set", self.asked)
        self.assertEqual(ran.stdout, lines(ASKED_MEMBERS))
        (warning,) = self.warnings(ran)
        self.assertIn("at most about", warning)

    def test_build_without_a_rate_is_good_enough(self):
        self.build("usual.set", MEMBERS)
        info = json.loads(self.good("info", "--json", "usual.set"))
        self.assertEqual(info["rate_asked"], 1e-6)
        self.assertLess(info["rate_now"], 2e-6)
        self.assertEqual(self.good("check", "usual.set", self.asked), lines(ASKED_MEMBERS))


class CountAndRemove(Folder):
    def test_count_tells_lines_that_were_never_added(self):
        counts = self.build("v.set", MEMBERS, "--kind", "counting", "-p", "5%")
        asked = self.write("asked", ASKED_MEMBERS + STRANGERS)
        ran = self.run_it("count", "--strict", "--json", counts, asked)
        self.assertEqual(ran.returncode, 3)
        truth = len(
            [line for line in ran.stdout.splitlines() if "stranger" in line and line[0] != "0"]
        )
        told = self.report(ran)["expected_false"]
        self.assertLess(abs(told - truth), 6 * math.sqrt(truth))
        self.assertEqual(len(self.warnings(ran)), 1)
        self.assertEqual(self.run_it("count", counts, asked).returncode, 0)
        self.good("count", "--strict", counts, self.write("members", MEMBERS))

    def test_remove_tells_strangers_and_with_strict_changes_nothing(self):
        cuckoo = self.build("c.set", MEMBERS, "--kind", "cuckoo", "-p", "3%")
        before = (self.folder / cuckoo).read_bytes()
        wrong = self.write("wrong", STRANGERS)
        ran = self.run_it("remove", "--strict", cuckoo, wrong)
        self.assertEqual((ran.returncode, len(self.warnings(ran))), (3, 1), ran.stderr)
        self.assertEqual((self.folder / cuckoo).read_bytes(), before)
        ran = self.run_it("remove", "--json", cuckoo, wrong)
        self.assertEqual(ran.returncode, 0)
        report = json.loads(ran.stdout)
        self.assertLess(
            abs(report["expected_false"] - report["removed"]), 6 * math.sqrt(report["removed"])
        )
        (warning,) = self.warnings(ran)
        self.assertIn("members may be missing now", warning)


class Dedup(Folder):
    def test_strict_is_exit_3_when_lines_are_lost(self):
        text = lines(f"line {i}" for i in range(20000))
        poor = ["dedup", "-n", "20000", "-p", "1%", "--seed", "7"]
        ran = self.run_it(*poor, "--json", "--strict", stdin=text)
        self.assertGreaterEqual(self.report(ran)["expected_lost"], 0.5)
        self.assertEqual(ran.returncode, 3)
        self.assertLess(len(ran.stdout), len(text))
        ran = self.run_it(*poor, stdin=text)
        self.assertEqual(ran.returncode, 0)
        self.assertIn("new lines were probably taken for repeats and lost", ran.stderr)
        ran = self.run_it("dedup", "--exact", "--strict", stdin=text)
        self.assertEqual((ran.returncode, ran.stderr, ran.stdout), (0, "", text))

    def test_a_loss_by_another_set_names_that_set(self):
        self.build("poor.set", MEMBERS, "-p", "1%")
        self.build("good.set", MEMBERS)
        text = lines(STRANGERS)
        words = ["dedup", "--exact", "--strict", "--against", "good.set", "--against", "poor.set"]
        ran = self.run_it(*words, stdin=text)
        self.assertEqual(ran.returncode, 3)
        (warning,) = self.warnings(ran)
        self.assertIn("poor.set has a false-positive rate of", warning)
        self.assertNotIn("--exact", warning)
        self.assertEqual(
            self.good("dedup", "--exact", "--strict", "--against", "good.set", stdin=text), text
        )

    def test_few_lines_that_all_look_like_repeats_are_not_believed(self):
        # Most strangers pass, so that none of ten is new says nothing.
        self.build("full.set", MEMBERS, "-n", "1000", "-p", "5%")
        rate = json.loads(self.good("info", "--json", "full.set"))["rate_now"]
        self.assertTrue(0.8 < rate < 0.999, rate)
        passing = self.run_it("check", "full.set", stdin=lines(STRANGERS)).stdout.splitlines()[:10]
        words = ["dedup", "--exact", "--strict", "--against", "full.set"]
        ran = self.run_it(*words, stdin=lines(passing))
        self.assertEqual((ran.returncode, ran.stdout), (3, ""))
        (warning,) = self.warnings(ran)
        self.assertIn("full.set has a false-positive rate of", warning)


if __name__ == "__main__":
    unittest.main()

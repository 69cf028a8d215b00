#!/usr/bin/env python3
"""examples/mail_block_list beside two Python sets: nights, days, and checkers that stay up.

    BLOOMERY_EXAMPLES=directory/of/the/programs example_mail_block_list_test.py
"""
import gzip
import math
import random
import shutil
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from example_program import count_of, path_of, program

PROGRAM = path_of("mail_block_list")
mail_list = program("mail_block_list")
SEED = 20240612


def addresses(first, count):
    return [f"user{number}@mail{number % 977}.example" for number in range(first, first + count)]


def as_typed(address, chance):
    """The same address as others write it."""
    spelled = "".join(chance.choice([c, c.upper()]) for c in address)
    return chance.choice(["", " ", "\t"]) + spelled + chance.choice(["", " ", "\r"])


class MailBlockList(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="bloomery-mail-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.state = self.folder / "state"
        self.chance = random.Random(SEED)

    def file(self, name, lines):
        path = self.folder / name
        whole = "".join(line + "\n" for line in lines).encode()
        path.write_bytes(gzip.compress(whole, 1) if name.endswith(".gz") else whole)
        return path

    def typed(self, name, lines):
        return self.file(name, [as_typed(line, self.chance) for line in lines])

    def update(self, *words, **given):
        code, _, report = mail_list("update", "--state", self.state, *words, **given)
        self.assertEqual(code, 0, report)
        return report

    def add(self, lines):
        code, _, report = mail_list(
            "add", "--state", self.state, given="".join(f"{line}\n" for line in lines).encode()
        )
        self.assertEqual(code, 0, report)
        return report

    def answers(self, lines):
        """{line: what check says of it}, in the order of the lines."""
        given = "".join(line + "\n" for line in lines).encode()
        code, out, report = mail_list("check", "--state", self.state, given=given)
        self.assertEqual(code, 0, report)
        told = [line.split("\t", 1) for line in out.decode().split("\n")[:-1]]
        self.assertEqual([line for _, line in told], [line.rstrip("\r") for line in lines])
        return [answer for answer, _ in told]

    def assert_all(self, lines, answer):
        self.assertEqual(set(self.answers(lines)), {answer})

    def test_no_error_on_either_list_and_few_on_strangers(self):
        print(f"seed {SEED}")
        blocked, allowed = addresses(0, 150000), addresses(1000000, 60000)
        strangers = addresses(2000000, 150000)
        self.chance.shuffle(blocked)
        for rate in (0.01, 0.0001):
            files = [self.typed("1.txt", blocked[:90000]), self.typed("2.gz", blocked[80000:])]
            for name, part in (("good.txt", allowed[:40000]), ("more.txt", allowed[30000:])):
                files += ["--allow", self.typed(name, part)]
            report = self.update("--rate", str(rate), *files)
            self.assertEqual(count_of(report, "blocked addresses"), 160000)  # repeats too
            self.assertEqual(count_of(report, "allowed addresses"), 60000)
            self.assert_all([as_typed(address, self.chance) for address in blocked], "blocked")
            self.assert_all([as_typed(address, self.chance) for address in allowed], "pass")
            wrong = self.answers(strangers).count("blocked")
            expected = rate * len(strangers)
            self.assertLess(wrong, expected + 6 * math.sqrt(expected))
            # Allowed addresses that the filter alone would have blocked: it was put to the test.
            if rate == 0.01:
                self.assertGreater(count_of(report, "exceptions listed"), 100)
            self.assertLess(count_of(report, "bytes of the list") * 8, 160000 * 30)

    def test_nights_and_days_beside_two_sets(self):
        blocked, by_day = set(), set()
        for night in range(4):
            allowed = set(addresses(500000 + night * 5000, 10000))
            blocked = set(addresses(night * 3000, 20000))
            self.update(self.file("b.txt", blocked), "--allow", self.file("a.txt", allowed))
            # What was added by day and is in neither list stays.
            by_day = {address for address in by_day if address not in blocked | allowed}
            self.assert_all(sorted(blocked | by_day), "blocked")
            self.assert_all(sorted(allowed), "pass")
            # Some that tonight's list will have, some that it allows, some that nobody knows.
            more = addresses((night + 1) * 3000 + 18000, 1500) + addresses(
                500000 + (night + 1) * 5000 + 7000, 1500
            )
            more += addresses(900000 + night * 100, 100)
            report = self.add(more)
            by_day |= set(more)
            self.assertEqual(count_of(report, "added since the update"), len(by_day))
            self.assert_all(sorted(blocked | by_day), "blocked")
            self.assert_all(sorted(allowed - by_day), "pass")
        self.assertEqual(count_of(self.add(more), "not added before"), 0)
        report = self.update("--forget-today", self.file("b.txt", ["x@y"]))
        self.assertEqual(count_of(report, "added by day, kept"), 0)
        self.assertGreater(self.answers(sorted(by_day)).count("pass"), len(by_day) * 99 // 100)

    def test_a_checker_notices_updates_and_additions_without_a_restart(self):
        self.update(self.file("b.txt", ["old@x.example"]))
        with subprocess.Popen(
            [PROGRAM, "check", "--state", self.state],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as checker:

            def ask(address):
                checker.stdin.write(address + b"\n")
                checker.stdin.flush()
                answer, line = checker.stdout.readline().split(b"\t")
                self.assertEqual(line, address + b"\n")
                return answer

            self.assertEqual(ask(b"OLD@x.example"), b"blocked")
            self.assertEqual(ask(b"new@x.example"), b"pass")
            self.update(self.file("b.txt", ["new@x.example"]))
            self.assertEqual(ask(b"OLD@x.example"), b"pass")
            self.assertEqual(ask(b"new@x.example"), b"blocked")
            self.add(["day@x.example"])
            self.assertEqual(ask(b"Day@X.example"), b"blocked")
            self.assertEqual(ask(b"no address"), b"bad")
            _, report = checker.communicate(timeout=60)
            self.assertEqual(checker.returncode, 0)
            self.assertEqual(count_of(report.decode(), "lists in force"), 3)

    def test_checkers_see_one_list_or_the_other_while_updates_run(self):
        common, only = addresses(0, 3000), [addresses(10000, 3000), addresses(20000, 3000)]
        files = [self.file(f"{i}.txt", common + only[i]) for i in range(2)]
        self.update(files[0])
        done = threading.Event()

        def change():
            for turn in range(12):
                mail_list("update", "--state", self.state, files[(turn + 1) % 2])
                self.add([f"turn{turn}@x.example"])
            done.set()

        updating = threading.Thread(target=change)
        updating.start()
        try:
            seen = set()
            while not done.is_set():
                # One batch, so one list; what is in all of them is never missed.
                told = self.answers(common[:300] + only[0][:300] + only[1][:300])
                self.assertEqual(set(told[:300]), {"blocked"})
                seen.add((told[300:600].count("blocked"), told[600:].count("blocked")))
        finally:
            updating.join()
        self.assertLessEqual({max(pair) for pair in seen}, {300})
        self.assertLess(max(min(pair) for pair in seen), 10)
        self.assert_all([f"turn{turn}@x.example" for turn in range(12)], "blocked")

    def test_an_address_in_both_lists_is_named_or_allowed(self):
        self.update(self.file("b.txt", ["before@x.example"]))
        both = self.file("b.txt", ["a@x", "b@x", " C@X "])
        good = self.file("a.txt", ["c@x"])
        words = ["update", "--state", self.state, both, "--allow", good]
        code, _, report = mail_list(*words)
        self.assertEqual(code, 2)
        self.assertIn(f"{both}, line 3: ' C@X ' is on the allow list too", report)
        self.assert_all(["before@x.example"], "blocked")  # the old list stays in force
        report = self.update(both, "--allow", good, "--allow-wins")
        self.assertEqual(count_of(report, "in both, allowed"), 1)
        told = self.answers(["a@x", "c@x", "before@x.example"])
        self.assertEqual(told, ["blocked", "pass", "pass"])

    def test_lines_that_are_no_addresses(self):
        bad = self.file("b.txt", ["a@x", "", "no address", "@x", "y@"])
        code, _, report = mail_list("update", "--state", self.state, bad)
        self.assertEqual(code, 2)
        self.assertIn(f"{bad}, line 2: '' is not an e-mail address", report)
        self.assertFalse(self.state.exists())
        self.assertEqual(count_of(self.update("--skip-bad", bad), "bad lines left out"), 4)
        self.assertEqual(self.answers(["a@x", "", "@x"]), ["blocked", "bad", "bad"])
        code, _, report = mail_list("add", "--state", self.state, given=b"b@x\nnone\n")
        self.assertEqual(code, 2)
        self.assertIn("standard input, line 2", report)
        self.assert_all(["b@x"], "pass")

    def test_a_pipe_with_and_without_the_number_of_addresses(self):
        given = "".join(f"{line}\n" for line in addresses(0, 5000)).encode()
        report = self.update("-", given=given)
        counted = count_of(report, "bytes of the list")
        report = self.update("-", "--keys", "5000", given=given)
        self.assertEqual(count_of(report, "bytes of the list"), counted)
        report = self.update("-", "--keys", "1000", given=given)
        self.assertIn("more blocked addresses than --keys says", report)
        self.assert_all(addresses(0, 5000), "blocked")

    def test_refusals(self):
        none = self.folder / "none"
        code, out, report = mail_list("check", "--state", none, given=b"a@x\n")
        self.assertEqual((code, out), (2, b""))
        self.assertIn("has no list yet", report)
        self.assertEqual(mail_list("add", "--state", none, given=b"a@x\n")[0], 2)
        self.assertFalse(none.exists())
        empty = self.file("empty.txt", [])
        self.update(self.file("b.txt", ["a@x"]))
        code, _, report = mail_list("update", "--state", self.state, empty)
        self.assertEqual(code, 2)
        self.assertIn("no address to block", report)
        self.assert_all(["a@x"], "blocked")
        code, _, report = mail_list("update", "--state", self.state, "-", "--allow", "-")
        self.assertEqual(code, 2)
        self.assertIn("one list only", report)
        code, _, report = mail_list("update", "--state", self.state, self.folder / "gone.txt")
        self.assertEqual(code, 2)
        self.assertIn("gone.txt", report)
        misused = [[], ["strange"], ["update", "--state", none], ["check"]]
        for words in (*misused, ["check", "--state", none, "--rate", "1"]):
            code, _, report = mail_list(*words)
            self.assertEqual(code, 2)
            self.assertIn("usage: mail_block_list", report)
        code, _, report = mail_list("update", "--state", none, empty, "--rate", "x")
        self.assertEqual(code, 2)
        self.assertIn("--rate does not take 'x'", report)

    def test_a_damaged_list_answers_nothing(self):
        self.update(self.file("b.txt", addresses(0, 1000)))
        path = self.state / "current" / "list.blm"
        whole = path.read_bytes()
        path.write_bytes(whole[:-70] + bytes([whole[-70] ^ 1]) + whole[-69:])
        code, out, report = mail_list("check", "--state", self.state, given=b"a@x\n")
        self.assertEqual((code, out), (2, b""))
        self.assertIn("list.blm", report)


if __name__ == "__main__":
    unittest.main()

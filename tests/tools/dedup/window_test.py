"""`dedup --window N` beside a model: what came among the last N different lines is never printed.

The seed is printed; BLOOMERY_SEED repeats a run.
"""

import os
import random
import subprocess
import unittest

BLOOMERY = os.environ["BLOOMERY"]


def kept(lines, *words):
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run([BLOOMERY, "dedup", *words], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


class WindowTest(unittest.TestCase):
    def expect_promise(self, values, window):
        """Each value is printed with its number; one that must be a repeat never is, and one that
        did not come among the last 2 * window different ones always is."""
        lines = [f"{value}\t{number}" for number, value in enumerate(values)]
        printed = {int(line.split("\t")[1])
                   for line in kept(lines, "-k", "1", "-p", "1e-7", "--window", str(window))}
        latest = []  # different values, the latest first
        for number, value in enumerate(values):
            since = latest.index(value) if value in latest else None
            if since is None or since > 2 * window:
                self.assertTrue(number in printed, f"line {number} is new and was not printed")
            elif since < window:
                self.assertFalse(number in printed, f"line {number} is a repeat of late")
            if since is not None:
                latest.pop(since)
            latest.insert(0, value)

    def test_lines_that_come_again_and_again_push_nothing_out(self):
        lines = ["x"]
        for turn in range(5):
            lines += [str(i) for i in range(1, 1000)] + [f"rare{turn}"]
        lines.append("x")
        self.assertEqual(kept(lines, "--window", "3000").count("x"), 1)

    def test_draws_with_repeats(self):
        seed = int(os.environ.get("BLOOMERY_SEED", random.SystemRandom().randrange(1 << 32)))
        print(f"seed {seed}", flush=True)
        draw = random.Random(seed)
        for count, window in ((500, 300), (301, 300), (2000, 300), (5, 1), (5, 2)):
            with self.subTest(values=count, window=window):
                self.expect_promise([draw.randrange(count) for _ in range(20_000)], window)


if __name__ == "__main__":
    unittest.main(verbosity=2)

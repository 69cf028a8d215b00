"""Runs of dedup that share a live state: each line is printed by exactly one of them, also when
runs are killed at any moment and run again, as they would be after a crash."""

import fcntl
import os
import random
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

BLOOMERY = os.environ["BLOOMERY"]
SEED = int(os.environ.get("BLOOMERY_LIVE_SEED", "1"))


class LiveStateTest(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="bloomery-live-state-")
        self.addCleanup(self.place.cleanup)
        self.folder = Path(self.place.name)

    def start(self, *words):
        return subprocess.Popen([BLOOMERY, "dedup", *words], cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_all(self, *words, status=0, lines=b""):
        done = subprocess.run([BLOOMERY, *words], cwd=self.folder, input=lines,
                              capture_output=True)
        self.assertEqual(done.returncode, status, (words, done.stderr))
        return done

    def write_inputs(self, count, distinct, rng):
        """Inputs that have most of their lines in common."""
        names = []
        for number in range(count):
            lines = [b"line %d\n" % rng.randrange(distinct) for _ in range(distinct)]
            name = f"in{number}"
            (self.folder / name).write_bytes(b"".join(lines))
            names.append(name)
        return names

    def expect_each_once(self, inputs, outputs):
        wanted = set()
        for name in inputs:
            wanted.update((self.folder / name).read_bytes().splitlines())
        printed = []
        for name in outputs:
            printed += (self.folder / name).read_bytes().splitlines()
        self.assertEqual(len(printed), len(set(printed)), "a line was printed twice")
        self.assertEqual(set(printed), wanted)

    def test_several_runs_print_each_line_once(self):
        rng = random.Random(SEED)
        for flags in ([], ["--exact"], ["--rate", "1e-9", "-n", "100k"]):
            with self.subTest(flags=flags):
                for old in self.folder.iterdir():
                    old.unlink()
                inputs = self.write_inputs(4, 30_000, rng)
                outputs = [name.replace("in", "out") for name in inputs]
                runs = [self.start("--live", "--state", "S", *flags, "-o", out, name)
                        for name, out in zip(inputs, outputs)]
                for run in runs:
                    _, err = run.communicate(timeout=60)
                    self.assertEqual(run.returncode, 0, err)
                self.expect_each_once(inputs, outputs)
                self.run_all("verify", "S")

    def test_killed_runs_are_run_again(self):
        rng = random.Random(SEED)
        print("seed", SEED)
        kills = 0
        for flags in ([], ["--exact"], ["--rate", "1e-9", "-n", "100k"]):
            with self.subTest(flags=flags):
                for old in self.folder.iterdir():
                    old.unlink()
                inputs = self.write_inputs(3, 60_000, rng)
                outputs = [name.replace("in", "out") for name in inputs]
                todo = dict(zip(inputs, outputs))
                words = ["--live", "--state", "S", *flags, "--checkpoint", "5ms"]
                tries = 0
                while todo:
                    tries += 1
                    runs = {name: self.start(*words, "-o", out, name)
                            for name, out in todo.items()}
                    # The first tries are all killed; then some come to their end.
                    time.sleep(rng.uniform(0.002, 0.005 * tries ** 2))
                    for name in list(runs):
                        if tries < 3 or (tries < 12 and rng.random() < 0.8):
                            runs[name].kill()
                            kills += 1
                    for name, run in runs.items():
                        _, err = run.communicate(timeout=60)
                        if run.returncode == 0:
                            del todo[name]
                        else:
                            self.assertEqual(run.returncode, -9, err)
                self.expect_each_once(inputs, outputs)
                self.run_all("verify", "S")
        self.assertGreater(kills, 10)

    def test_what_was_not_printed_comes_again(self):
        """A run that is killed while it waits for more input has added lines that nobody got."""
        self.run_all("dedup", "--live", "--state", "S", lines=b"a\n")
        run = subprocess.Popen([BLOOMERY, "dedup", "--state", "S"], cwd=self.folder,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        run.stdin.write(b"b\n")
        run.stdin.flush()
        self.assertEqual(run.stdout.readline(), b"b\n")
        # While it runs, b is its line.
        self.assertEqual(self.run_all("dedup", "--state", "S", lines=b"a\nb\nc\n").stdout, b"c\n")
        run.kill()
        run.communicate()
        self.assertEqual(self.run_all("dedup", "--state", "S", lines=b"a\nb\nc\n").stdout, b"b\n")
        self.assertEqual(self.run_all("dedup", "--state", "S", lines=b"a\nb\nc\n").stdout, b"")

    def test_a_state_that_is_cut_while_it_is_in_use(self):
        self.run_all("dedup", "--live", "--state", "S", lines=b"a\n")
        for words in ([], ["--live"]):
            state = "S" if not words else "NEW"
            run = subprocess.Popen([BLOOMERY, "dedup", *words, "--state", state], cwd=self.folder,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
            run.stdin.write(b"b\n")
            run.stdin.flush()
            self.assertEqual(run.stdout.readline(), b"b\n")
            os.truncate(self.folder / state, 0)
            _, err = run.communicate(b"c\n", timeout=60)
            self.assertEqual(run.returncode, 2, err)
            self.assertIn(b"error: %s was cut short" % state.encode(), err)

    def test_first_runs_of_both_sorts_make_one_state(self):
        (self.folder / "in").write_bytes(b"a\nb\n")
        directory = os.open(self.folder, os.O_RDONLY)
        self.addCleanup(os.close, directory)
        for turn in range(10):
            fcntl.flock(directory, fcntl.LOCK_EX)
            runs = [self.start(*words, "--state", f"S{turn}", "-o", f"{turn}.{number}", "in")
                    for number, words in enumerate([["--live"], ["--exact"]] * 2)]
            time.sleep(0.02)
            self.assertFalse((self.folder / f"S{turn}").exists(), "made while another may make it")
            fcntl.flock(directory, fcntl.LOCK_UN)
            printed = b""
            for number, run in enumerate(runs):
                _, err = run.communicate(timeout=60)
                if run.returncode != 0:
                    self.assertRegex(err, b"is an ordinary state|is not exact")
                    continue
                printed += (self.folder / f"{turn}.{number}").read_bytes()
            self.assertEqual(printed, b"a\nb\n")

    def test_the_state_is_a_set_like_any_other(self):
        self.run_all("dedup", "--live", "--state", "S", lines=b"a\nb\n")
        self.assertEqual(self.run_all("check", "S", lines=b"a\nx\n").stdout, b"a\n")
        self.assertEqual(self.run_all("dedup", "--against", "S", lines=b"a\nx\n").stdout, b"x\n")
        self.run_all("verify", "S")
        self.run_all("info", "S")

    # -- outputs -------------------------------------------------------------------------------

    def under_way(self, output, line, *words):
        """A run that has printed this line and waits for more; its state does not know that yet."""
        run = subprocess.Popen([BLOOMERY, "dedup", *words, "--state", "S", "-o", output],
                               cwd=self.folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        run.stdin.write(line)
        run.stdin.flush()
        until = time.monotonic() + 30
        while not (self.folder / output).exists() or \
                not (self.folder / output).read_bytes().endswith(line):
            self.assertLess(time.monotonic(), until, "its line is never printed")
        return run

    def killed(self, output, line, *words):
        run = self.under_way(output, line, *words)
        run.kill()
        run.communicate()

    def dedup(self, output, lines, told=b""):
        done = self.run_all("dedup", "--state", "S", "-o", output, lines=lines)
        self.assertRegex(done.stderr, told if told else b"^$")
        return (self.folder / output).read_bytes()

    def test_seal_and_unseal_keep_what_is_known_of_an_output(self):
        self.run_all("dedup", "--live", "--state", "S", "-o", "out", lines=b"a\n")
        known = b"a\n"
        for number, verb in enumerate(("seal", "unseal", "seal")):
            self.assertEqual(self.run_all(verb, "-q", "S").stderr, b"")
            line = b"%d\n" % number
            self.assertEqual(self.dedup("out", known + line), known + line)
            known += line

    def test_seal_and_unseal_keep_what_is_known_of_a_run_that_did_not_end(self):
        for first, verb in ((["--live"], "seal"), ([], "unseal")):
            with self.subTest(verb=verb):
                for old in self.folder.iterdir():
                    old.unlink()
                self.run_all("dedup", *first, "--state", "S", "-o", "out", lines=b"a\n")
                self.killed("out", b"b\n")
                self.assertEqual(self.run_all(verb, "-q", "S").stderr, b"")
                self.assertEqual(self.dedup("out", b"a\nc\n"), b"a\nc\n", "b was cut off")
                self.killed("out", b"d\n")
                self.run_all("unseal" if verb == "seal" else "seal", "-q", "S")
                self.assertEqual(self.dedup("other", b"a\nd\n", b"out did not end; S knows its "
                                            b"first 4 bytes.* truncate -s 4 "), b"d\n")

    def test_seal_tells_which_outputs_it_forgets(self):
        self.run_all("dedup", "--live", "--state", "S", "-o", "gone", lines=b"0\n")
        (self.folder / "gone").unlink()
        for output in ("o1", "o2", "o3"):
            self.run_all("dedup", "--state", "S", "-o", output, lines=output.encode() + b"\n")
        self.killed("o1", b"more\n")
        told = self.run_all("seal", "-q", "S").stderr
        self.assertRegex(told, b"S knows one output, [^ ]*/o1, and has forgotten [^ ]*/o2\\. Give")
        self.assertRegex(told, b"has forgotten [^ ]*/o3\\. Give")
        self.assertEqual(told.count(b"\n"), 2)
        self.assertEqual(self.dedup("o1", b"more\n"), b"o1\nmore\n")

    def test_a_run_that_was_killed_is_told_to_the_next(self):
        self.run_all("dedup", "--live", "--state", "S", "-o", "out", lines=b"a\n")
        self.killed("out", b"b\n")
        going_on = self.under_way("other", b"x\n")
        self.assertEqual(self.dedup("third", b"y\n"), b"y\n", "out may be of the run that goes on")
        going_on.communicate()
        told = (b"^bloomery: warning: the last run that wrote [^ ]*/out did not end; S knows its "
                b"first 2 bytes, .* truncate -s 2 [^ ]*/out\n$")
        self.dedup("third", b"z\n", told)
        self.dedup("out", b"b\n")
        self.dedup("third", b"z\n")

    def test_a_run_that_goes_on_bars_seal(self):
        """What it has printed since its last checkpoint would be cut off, and not come again."""
        going_on = self.under_way("out", b"a\n", "--live")
        self.assertIn(b"S has keys of a run that is under way", self.run_all(
            "seal", "-q", "S", status=2).stderr)
        going_on.communicate(b"b\n", timeout=60)
        self.assertEqual(going_on.returncode, 0)
        self.run_all("seal", "-q", "S")
        self.assertEqual(self.dedup("out", b"a\nb\nc\n"), b"a\nb\nc\n")

    def test_what_does_not_go_together_is_refused(self):
        self.run_all("dedup", "--state", "ordinary", lines=b"a\n")
        self.run_all("dedup", "--live", "--state", "exact", "--exact", lines=b"a\n")
        (self.folder / "text").write_bytes(b"a\nb\n")
        (self.folder / "empty").write_bytes(b"")
        for words, told in ((["--live"], b"--state"),
                            (["--live", "--state", "ordinary"], b"is an ordinary state"),
                            (["--live", "--state", "S", "-m", "64M"], b"--memory"),
                            (["--live", "--state", "S", "--window", "10"], b"--window"),
                            (["--live", "--state", "redis://localhost/0/x"], b"shared anyway"),
                            (["--live", "--state", "text"], b"text is not a bloomery image"),
                            (["--live", "--state", "empty"], b"empty is not a bloomery image"),
                            (["--state", "exact", "-p", "1e-9"], b"exact is exact; leave --rate")):
            done = self.run_all("dedup", *words, lines=b"a\n", status=2)
            self.assertIn(told, done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1)
            self.assertEqual(done.stdout, b"")

    def test_a_long_log_becomes_a_new_image(self):
        """Many runs, one after the other, with much to remember: the file stays in proportion."""
        lines = b"".join(b"%d\n" % number for number in range(400_000))
        for first in range(0, len(lines), len(lines) // 8):
            self.run_all("dedup", "--live", "--state", "S",
                         lines=lines[: first + len(lines) // 8].rsplit(b"\n", 1)[0] + b"\n")
        self.assertEqual(self.run_all("dedup", "--state", "S", lines=lines).stdout, b"")
        size = (self.folder / "S").stat().st_size
        self.assertLess(size, 400_000 * 8 * 4)
        self.run_all("verify", "S")


if __name__ == "__main__":
    unittest.main()

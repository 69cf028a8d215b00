"""Runs of `dedup --state` beside each other, from process substitution, and stopped by a signal."""

import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

BLOOMERY = os.environ["BLOOMERY"]
STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StateRunsTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="bloomery-runs-")
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def start(self, *words, **more):
        return subprocess.Popen([BLOOMERY, "dedup", *words], cwd=self.folder,
                                stderr=subprocess.PIPE, **more)

    def test_first_runs_at_the_same_time_wait_for_each_other(self):
        """Each of five prints what the ones before it did not: all lines once, whoever is first."""
        lines = [b"line%d\n" % i for i in range(2000)]
        (self.folder / "in").write_bytes(b"".join(lines))
        for turn in range(5):
            runs = [self.start("--state", f"S{turn}", "-o", f"OUT{turn}", "in") for _ in range(5)]
            told = [run.communicate(timeout=60)[1].decode() for run in runs]
            self.assertEqual([run.returncode for run in runs], [0] * 5, told)
            self.assertEqual((self.folder / f"OUT{turn}").read_bytes(), b"".join(lines))

    def test_first_runs_that_print_wait_too(self):
        (self.folder / "in").write_bytes(b"a\nb\na\n")
        runs = [self.start("--state", "S", "in", stdout=subprocess.PIPE) for _ in range(4)]
        done = [run.communicate(timeout=60) for run in runs]
        self.assertEqual([run.returncode for run in runs], [0] * 4, done)
        self.assertEqual(b"".join(out for out, _ in done), b"a\nb\n")

    def test_process_substitution(self):
        for words in ("--state S <(printf 'a\\nb\\na\\n')",
                      "--state S -f -o OUT <(printf 'a\\nb\\nc\\n') <(printf 'd\\n')"):
            done = subprocess.run(["bash", "-c", f'"$BLOOMERY" dedup {words}'], cwd=self.folder,
                                  capture_output=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual((self.folder / "OUT").read_bytes(), b"c\nd\n")

    def expect_saved(self, stop, *words):
        """A service that reads what never ends is stopped: what it printed, it remembers."""
        (self.folder / "S").unlink(missing_ok=True)
        (self.folder / "OUT").unlink(missing_ok=True)
        run = self.start("--state", "S", *words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        run.stdin.write(b"a\nb\na\n")
        run.stdin.flush()
        if "-o" in words:
            while not (self.folder / "OUT").exists() or \
                    (self.folder / "OUT").read_bytes() != b"a\nb\n":
                os.sched_yield()
        else:
            self.assertEqual(run.stdout.readline() + run.stdout.readline(), b"a\nb\n")
        run.send_signal(stop)
        rest, told = run.communicate(timeout=60)
        self.assertEqual((run.returncode, rest), (-stop, b""), told)
        self.assertIn(b"what was printed is saved in S", told)
        again = subprocess.run([BLOOMERY, "dedup", "--state", "S", *words], cwd=self.folder,
                               input=b"a\nb\nc\n", capture_output=True, timeout=60)
        self.assertEqual((again.returncode, again.stderr), (0, b""))
        printed = (self.folder / "OUT").read_bytes() if "-o" in words else again.stdout
        self.assertEqual(printed, b"a\nb\nc\n" if "-o" in words else b"c\n")

    def test_a_stopped_run_saves_its_state(self):
        for stop in STOPS:
            for words in ((), ("--exact",), ("--window", "1000"), ("-o", "OUT"), ("-T", "1")):
                with self.subTest(stop=stop, words=words):
                    self.expect_saved(stop, *words)

    def test_a_signal_that_was_ignored_is_ignored(self):
        """As under nohup."""
        run = self.start("--state", "S", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        run.stdin.write(b"a\n")
        run.stdin.flush()
        self.assertEqual(run.stdout.readline(), b"a\n")
        run.send_signal(signal.SIGHUP)
        out, told = run.communicate(b"b\n", timeout=60)
        self.assertEqual((run.returncode, out, told), (0, b"b\n", b""))

    def test_a_report_that_is_lost_tells_that_the_set_was_saved(self):
        (self.folder / "in").write_bytes(b"a\nb\n")
        for words in ("build -n 10k -o F in", "add F in", "remove C in",
                      "merge union -o H F F"):
            subprocess.run(["bash", "-c", '"$BLOOMERY" build -q -f --kind cuckoo -o C in'],
                           cwd=self.folder, check=True)
            done = subprocess.run(["bash", "-c", f'"$BLOOMERY" {words} > /dev/full'],
                                  cwd=self.folder, capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(b"was saved before that", done.stderr, words)
        closed = subprocess.run(["bash", "-c", '"$BLOOMERY" add F in >&-'], cwd=self.folder,
                                capture_output=True, timeout=60)
        self.assertEqual(closed.returncode, 2)
        self.assertIn(b"F was saved before that", closed.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

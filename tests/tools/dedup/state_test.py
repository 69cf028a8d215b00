"""A state and its output after kill -9, at random moments: nothing lost, nothing twice.

The seed is printed; BLOOMERY_SEED repeats a run.
"""

import faulthandler
import hashlib
import json
import os
import random
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

BLOOMERY = os.environ["BLOOMERY"]
KILLS = 100
ENOUGH_SECONDS = 120  # On a disk that is slow to sync, fewer kills must do.
ENOUGH_KILLS = 20
faulthandler.dump_traceback_later(600, exit=True)  # A run that hangs says where.


def bloomery(*words, cwd, **more):
    return subprocess.run([BLOOMERY, *words], cwd=cwd, capture_output=True, **more)


class StateTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory(prefix="bloomery-state-")
        cls.seed = int(os.environ.get("BLOOMERY_SEED", random.SystemRandom().randrange(1 << 32)))
        print(f"seed {cls.seed}", flush=True)
        cls.random = random.Random(cls.seed)
        # 300,000 lines, a third of them repeats.
        seen = 0
        lines = []
        expected = hashlib.sha256()
        for _ in range(300_000):
            if seen and cls.random.random() < 0.33:
                lines.append(b"https://site.example/page/%d\n" % cls.random.randrange(seen))
            else:
                lines.append(b"https://site.example/page/%d\n" % seen)
                expected.update(lines[-1])
                seen += 1
        cls.expected = expected.hexdigest()
        cls.lines = [b"line %d\n" % i for i in range(3000)]
        cls.folder = Path(cls.place.name)
        (cls.folder / "in").write_bytes(b"".join(lines))

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def setUp(self):
        for name in ("S", "S2", "OUT"):
            (self.folder / name).unlink(missing_ok=True)

    def out_sum(self):
        return hashlib.sha256((self.folder / "OUT").read_bytes()).hexdigest()

    def words(self, *more):
        return ["dedup", "--state", "S", "-o", "OUT", "--checkpoint", "1ms", *more, "in"]

    def expect_done(self, *more):
        done = bloomery(*self.words(*more), cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual(self.out_sum(), self.expected)

    def kill_after(self, seconds, *more):
        """True if it was killed, false if it had ended before."""
        run = subprocess.Popen([BLOOMERY, *self.words(*more)], cwd=self.folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        run.send_signal(signal.SIGKILL)
        return run.wait() == -signal.SIGKILL

    def test_killed_at_random_moments(self):
        for kind in ((), ("--exact",)):
            for name in ("S", "OUT"):
                (self.folder / name).unlink(missing_ok=True)
            start = time.monotonic()
            self.expect_done(*kind)
            whole = time.monotonic() - start
            killed = 0
            half_way = 0
            for _ in range(KILLS // 2 * 3):
                late = time.monotonic() - start > ENOUGH_SECONDS // 2 and half_way > 0
                if killed >= (ENOUGH_KILLS if late else KILLS) // 2:
                    break
                self.setUp()
                # One in four is killed again while it goes on.
                for _ in range(2 if self.random.random() < 0.25 else 1):
                    killed += self.kill_after(self.random.uniform(0, whole), *kind)
                    if (self.folder / "S").exists():
                        opened = bloomery("verify", "S", cwd=self.folder)
                        self.assertEqual(opened.returncode, 0, opened.stderr.decode())
                        half_way += (self.folder / "S").stat().st_size > 100_000
                self.expect_done(*kind)
            self.assertGreaterEqual(killed, ENOUGH_KILLS // 2)
            # Some were killed after a checkpoint with lines in it: else nothing was tried.
            self.assertGreater(half_way, 0)
            left = [one.name for one in self.folder.iterdir() if one.name.startswith(".bloomery-")]
            # Between linking and renaming there is a moment in which a name is left behind.
            self.assertLessEqual(len(left), KILLS // 10)

    def test_a_later_run_goes_on_behind_what_is_there(self):
        whole = (self.folder / "in").read_bytes().splitlines(keepends=True)
        (self.folder / "a").write_bytes(b"".join(whole[:200_000]))
        (self.folder / "b").write_bytes(b"".join(whole[150_000:]))
        for name in ("a", "b"):
            done = bloomery("dedup", "--state", "S", "-o", "OUT", name, cwd=self.folder)
            self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual(self.out_sum(), self.expected)

    def test_two_that_begin_a_state_at_once_wait_for_each_other(self):
        # Into files: a pipe that nobody reads yet would stop the one that the other waits for.
        names = [self.folder / "out 0", self.folder / "out 1"]
        runs = []
        for name in names:
            with open(name, "wb") as out:
                runs.append(subprocess.Popen([BLOOMERY, "dedup", "--state", "S", "in"],
                                             cwd=self.folder, stdout=out,
                                             stderr=subprocess.DEVNULL))
        codes = [run.wait() for run in runs]
        outs = [name.read_bytes() for name in names]
        # Who comes in the very moment of creation is refused; nobody prints what is not remembered.
        self.assertIn(0, codes)
        self.assertEqual(hashlib.sha256(b"".join(outs)).hexdigest(), self.expected)

    def test_lines_without_a_key_come_once_after_a_kill(self):
        lines = b"".join(b"bad%d\n" % i if i % 10 == 0 else b"x %d\n" % i for i in range(50_000))
        words = ["dedup", "-k", "2", "--skip-bad", "--state", "S", "-o", "OUT"]
        run = subprocess.Popen([BLOOMERY, *words], cwd=self.folder, stdin=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
        run.stdin.write(lines)
        run.stdin.flush()
        time.sleep(0.3)
        run.kill()
        run.communicate()
        again = bloomery(*words, cwd=self.folder, input=lines)
        self.assertEqual(again.returncode, 0, again.stderr.decode())
        self.assertEqual((self.folder / "OUT").read_bytes(), lines)

    def test_an_output_that_somebody_changed_is_refused(self):
        self.expect_done()
        with open(self.folder / "OUT", "ab") as out:
            out.write(b"mine\n")
        again = bloomery(*self.words(), cwd=self.folder)
        self.assertEqual(again.returncode, 2)
        self.assertIn(b"somebody has changed it", again.stderr)
        self.assertTrue((self.folder / "OUT").read_bytes().endswith(b"mine\n"))

    def test_an_unended_run_is_told_of_when_the_output_is_another(self):
        # A slow machine needs longer to make the state, a fast one ends sooner: try growing times.
        killed = False
        seconds = 0.005
        while not killed:
            self.setUp()
            killed = self.kill_after(seconds) and (self.folder / "S").exists()
            seconds = seconds * 1.3 if seconds < 10 else 0.005
        other = bloomery("dedup", "--state", "S", "in", cwd=self.folder)
        self.assertEqual(other.returncode, 0)
        self.assertIn(b"did not end", other.stderr)

    def kill_half_way(self, *more):
        """A run that is killed when its state knows 1,000 lines of the output, and no more came."""
        words = ["dedup", "--state", "S", "-o", "OUT", "--checkpoint", "1ms", "-T", "2", *more]
        run = subprocess.Popen([BLOOMERY, *words], cwd=self.folder, stdin=subprocess.PIPE)
        run.stdin.write(b"".join(self.lines[:1000]))
        run.stdin.flush()
        known = 0
        while known < 1000:
            time.sleep(0.01)
            info = bloomery("info", "--json", "S", cwd=self.folder)
            known = json.loads(info.stdout)["keys"] if info.returncode == 0 else 0
        run.send_signal(signal.SIGKILL)
        run.communicate()
        return words

    def test_the_same_words_go_on_also_with_force(self):
        words = self.kill_half_way("-f")
        done = bloomery(*words, cwd=self.folder, input=b"".join(self.lines))
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual((self.folder / "OUT").read_bytes(), b"".join(self.lines))
        # A run that ended is not gone on with.
        done = bloomery(*words, cwd=self.folder, input=b"a new line\n" + self.lines[0])
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual((self.folder / "OUT").read_bytes(), b"a new line\n")

    def test_lines_of_an_output_that_is_gone_are_not_lost_silently(self):
        words = self.kill_half_way()
        (self.folder / "OUT").unlink()
        again = bloomery(*words, cwd=self.folder, input=b"".join(self.lines))
        self.assertEqual(again.returncode, 2)
        self.assertIn(b"has 0 bytes", again.stderr)
        self.assertFalse((self.folder / "OUT").exists())

    def test_two_states_do_not_write_one_output_at_once(self):
        first = subprocess.Popen([BLOOMERY, "dedup", "--state", "S", "-o", "OUT"],
                                 cwd=self.folder, stdin=subprocess.PIPE)
        while not (self.folder / "S").exists():
            time.sleep(0.01)
        for force in ([], ["-f"]):
            second = bloomery("dedup", "--state", "S2", "-o", "OUT", *force, cwd=self.folder,
                              input=b"second\n")
            self.assertEqual(second.returncode, 2)
            self.assertIn(b"another run", second.stderr)
            self.assertFalse((self.folder / "S2").exists())
        first.communicate(b"first\n")
        self.assertEqual(first.returncode, 0)
        self.assertEqual((self.folder / "OUT").read_bytes(), b"first\n")
        second = bloomery("dedup", "--state", "S2", "-o", "OUT", cwd=self.folder, input=b"second\n")
        self.assertEqual(second.returncode, 2)
        self.assertIn(b"OUT exists", second.stderr)
        self.assertEqual((self.folder / "OUT").read_bytes(), b"first\n")

    def test_a_checkpoint_waits_for_a_slow_reader_without_work(self):
        run = subprocess.Popen([BLOOMERY, "dedup", "--state", "S", "--checkpoint", "1ms", "-T", "2",
                                "in"], cwd=self.folder, stdout=subprocess.PIPE)
        run.stdout.read(1)
        time.sleep(0.5)

        def ticks():
            return sum(map(int, Path(f"/proc/{run.pid}/stat").read_text().split()[13:15]))

        before = ticks()
        time.sleep(2)
        spent = (ticks() - before) / os.sysconf("SC_CLK_TCK")
        run.communicate()
        self.assertEqual(run.returncode, 0)
        self.assertLess(spent, 0.5)

    def test_a_state_that_is_in_use_is_waited_for(self):
        self.expect_done()
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        first = subprocess.Popen([BLOOMERY, "dedup", "--state", "S", "fifo"], cwd=self.folder,
                                 stdout=subprocess.DEVNULL)
        with open(fifo, "wb") as pipe:
            pipe.write(b"one more line\n")
            pipe.flush()
            second = subprocess.Popen([BLOOMERY, "add", "S", "-"], cwd=self.folder,
                                      stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE)
            self.assertIn(b"waiting for another change", second.stderr.readline())
        self.assertEqual(first.wait(), 0)
        second.communicate(b"and another\n")
        self.assertEqual(second.returncode, 0)
        both = bloomery("check", "-c", "S", cwd=self.folder,
                        input=b"one more line\nand another\n")
        self.assertEqual(both.stdout, b"2\n")
        fifo.unlink()


if __name__ == "__main__":
    unittest.main()

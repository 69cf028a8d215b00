"""Live files from Python: one set for many processes, each key new to one of them."""
import multiprocessing
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import numpy

import bloomery
from bloomery import Bitmap, Set

COMMAND = os.environ["BLOOMERY"]
KINDS = {"blocked": {}, "classic": {}, "sharded": {"shards": 4, "rate": 1e-3}, "compact": {},
         "hash-set": {}}


def command(*words, text=b""):
    return subprocess.run([COMMAND, *map(str, words)], input=text, capture_output=True)


def make(path, kind="blocked", keys=20_000, **more):
    grows = bloomery.kinds()[kind]["grows"]
    Set(None if grows else keys, **({} if grows else {"rate": 1e-9} | more), kind=kind).save(
        path, live=True)


def writer(path, first, count, batch, durability, told):
    """Adds keys until it is killed; acknowledges each batch by one write to the pipe."""
    seen = Set.open(path, live=True, durability=durability)
    for at in range(first, first + count, batch):
        fresh = seen.add_all(numpy.arange(at, at + batch, dtype="u8"))
        line = f"{at} " + "".join("01"[int(new)] for new in fresh) + "\n"
        os.write(told, line.encode())
    seen.close()


class Live(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "seen.live"

    def start(self, *args):
        """A writer in a process of its own, and the end of the pipe that it writes to."""
        reading, writing = os.pipe()
        process = multiprocessing.get_context("fork").Process(
            target=writer, args=(self.path, *args, writing))
        process.start()
        os.close(writing)
        return process, reading

    def acknowledged(self, reading):
        """(key, was it new) for whole lines."""
        with os.fdopen(reading, "rb") as pipe:
            text = pipe.read()
        for line in text[: text.rfind(b"\n") + 1].splitlines():
            at, marks = line.split()
            for i, mark in enumerate(marks):
                yield int(at) + i, mark == ord("1")

    def test_what_one_adds_the_other_sees(self):
        for kind, more in KINDS.items():
            with self.subTest(kind):
                path = self.path.with_suffix("." + kind)
                make(path, kind, **more)
                with Set.open(path, live=True) as one, Set.open(path, live=True) as other:
                    self.assertTrue(one.live and not one.closed)
                    self.assertTrue(one.add("fig"))
                    self.assertIn("fig", other)
                    self.assertFalse(other.add("fig"))
                    self.assertEqual(other.add_all(["fig", "plum"]).tolist(), [False, True])
                    self.assertEqual(one.contains_all(["fig", "plum", "pear"]).tolist(),
                                     [True, True, False])
                    self.assertEqual((one.adds, other.adds, len(one)), (2, 2, 2))
                    self.assertEqual(one.key_form, "text")
                    with self.assertRaises(bloomery.Mismatch):
                        one.add(7)
                # Again, and by the command.
                with Set.open(path, live=True, durability="every") as again:
                    self.assertEqual(again.recovery["was_cut"], False)
                    self.assertFalse(again.add("fig"))
                    self.assertTrue(again.add("kiwi"))
                told = command("check", path, text=b"fig\npear\nkiwi\n")
                self.assertEqual(told.stdout, b"fig\nkiwi\n", told.stderr)

    def test_the_command_and_python_add_to_one_file(self):
        built = command("build", "-q", "--live", "-n", "1000", "-o", self.path, text=b"a\nb\n")
        self.assertEqual(built.returncode, 0, built.stderr)
        with Set.open(self.path, live=True) as seen:
            self.assertEqual(seen.update(["b", "c"]), 1)
            self.assertEqual(command("add", "-q", self.path, text=b"c\nd\n").returncode, 0)
            self.assertIn("d", seen)
            self.assertEqual(seen.adds, 4)

    def test_each_key_is_new_to_exactly_one_process(self):
        for kind in ("blocked", "compact"):
            for durability in ("none", "interval", "every"):
                with self.subTest(kind=kind, durability=durability):
                    make(self.path, kind)
                    running = [self.start(0, 6000, 100, durability) for _ in range(4)]
                    new = {}
                    for process, reading in running:
                        for key, fresh in self.acknowledged(reading):
                            new[key] = new.get(key, 0) + fresh
                        process.join()
                        self.assertEqual(process.exitcode, 0)
                    self.assertEqual(set(new.values()), {1})
                    with Set.open(self.path, live=True) as seen:
                        self.assertEqual(seen.adds, 6000)
                        self.assertLess(abs(len(seen) - 6000), 60)
                        self.assertEqual(seen.update(range(6000)), 0)
                        self.assertEqual(seen.adds, 6000)
                    self.path.unlink()

    def test_nothing_is_lost_to_kill_9(self):
        for kind in ("blocked", "compact"):
            make(self.path, kind, **({"keys": 200_000} if kind == "blocked" else {}))
            known, new = set(), {}
            for round_ in range(8):
                running = [self.start(round_ * 3000, 200_000, 20, "interval") for _ in range(3)]
                time.sleep(0.05 + 0.02 * round_)
                for process, _ in running:
                    os.kill(process.pid, signal.SIGKILL)
                for process, reading in running:
                    for key, fresh in self.acknowledged(reading):
                        known.add(key)
                        new[key] = new.get(key, 0) + fresh
                    process.join()
                    self.assertEqual(process.exitcode, -signal.SIGKILL)
                with Set.open(self.path, live=True) as seen:
                    keys = numpy.fromiter(known, "u8", len(known))
                    self.assertTrue(seen.contains_all(keys).all())
                    self.assertGreaterEqual(seen.adds, sum(new.values()))
                self.assertLessEqual(max(new.values(), default=0), 1)
            self.assertGreater(len(known), 1000)
            self.path.unlink()

    def test_a_child_of_a_fork_uses_the_same_file(self):
        for kind in ("blocked", "compact"):
            for durability in ("none", "interval", "every"):
                make(self.path, kind)
                seen = Set.open(self.path, live=True, durability=durability)
                seen.add("before")
                child = os.fork()
                if child == 0:
                    fine = "before" in seen and seen.add("child") and not seen.add("before")
                    seen.close()
                    del seen
                    os._exit(0 if fine else 1)
                self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
                # The parent's own use of the file goes on: nobody else may take it for closed.
                self.assertIn("child", seen)
                self.assertFalse(seen.add("child"))
                self.assertIn(b"in use", command("info", self.path).stdout)
                # A child that only ends, as those of multiprocessing do.
                child = os.fork()
                if child == 0:
                    del seen
                    os._exit(0)
                self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
                self.assertIn(b"in use", command("info", self.path).stdout)
                self.assertEqual(seen.adds, 2)
                seen.close()
                self.assertEqual(Set.open(self.path, live=True).recovery["was_cut"], False)
                self.path.unlink()

    def test_a_pool_of_processes_shares_a_set_of_the_module(self):
        code = (
            "import multiprocessing, sys, bloomery\n"
            "seen = bloomery.Set.open(sys.argv[1], live=True)\n"
            "def work(n): return sum(seen.add(key) for key in range(n, n + 500))\n"
            "if __name__ == '__main__':\n"
            "    with multiprocessing.get_context('fork').Pool(4) as pool:\n"
            "        print(sum(pool.map(work, [0, 100, 200, 300] * 3)), seen.adds)\n"
        )
        make(self.path)
        ran = subprocess.run([sys.executable, "-c", code, self.path], capture_output=True,
                             timeout=120)
        self.assertEqual((ran.stdout, ran.stderr), (b"800 800\n", b""))

    def test_seal_makes_an_ordinary_file(self):
        make(self.path)
        seen = Set.open(self.path, live=True)
        other = Set.open(self.path, live=True)
        seen.update(["a", "b"])
        other.add("c")
        seen.seal()
        self.assertTrue(seen.closed)
        with self.assertRaisesRegex(bloomery.Mismatch, "sealed"):
            other.add("d")
        other.close()
        sealed = Set.open(self.path)
        self.assertFalse(sealed.live)
        self.assertEqual(sealed.count_contained(["a", "b", "c", "d"]), 3)
        with self.assertRaisesRegex(bloomery.Mismatch, "not a live set"):
            Set.open(self.path, live=True)

    def test_making_a_live_file_twice_is_refused(self):
        made = Set(["a"])
        made.save(self.path, live=True)
        with self.assertRaises(FileExistsError):
            Set(["b"]).save(self.path, live=True)
        with Set.open(self.path, live=True) as seen:
            self.assertEqual(("a" in seen, "b" in seen), (True, False))
            for live in (True, False):
                for source in (made, seen):
                    with self.assertRaisesRegex(FileExistsError, "remove it first"):
                        source.save(self.path, overwrite=True, live=live)
        ordinary = self.path.with_name("ordinary")
        made.save(ordinary)
        with self.assertRaises(FileExistsError):
            made.save(ordinary, live=True)
        made.save(ordinary, overwrite=True, live=True)
        self.assertTrue(Set.open(ordinary, live=True).add("b"))
        with self.assertRaisesRegex(bloomery.Unsupported, "built from all its keys"):
            Set(["a"], kind="ribbon").save(self.path.with_name("static"), live=True)

    def test_copies_are_ordinary_sets_of_that_moment(self):
        for kind, more in KINDS.items():
            with self.subTest(kind):
                path = self.path.with_suffix("." + kind)
                make(path, kind, **more)
                seen = Set.open(path, live=True)
                seen.update(["a", "b"])
                copied = seen.copy()
                seen.add("c")
                self.assertFalse(copied.live)
                self.assertEqual(copied.contains_all(["a", "b", "c"]).tolist(), [True, True, False])
                self.assertTrue(copied.add("d"))
                self.assertNotIn("d", seen)
                self.assertIn("c", Set.from_bytes(seen.to_bytes()))
                seen.save(path.with_suffix(".saved"))
                self.assertEqual(Set.open(path.with_suffix(".saved")), seen)
                self.assertNotEqual(copied, seen)
                self.assertTrue(Set.from_bytes(seen.to_bytes()) <= seen)
                both = copied | seen
                self.assertEqual(both.count_contained(["a", "b", "c", "d"]), 4)
                with self.assertRaisesRegex(bloomery.Unsupported, "live"):
                    seen |= copied
                with self.assertRaisesRegex(TypeError, "live=True"):
                    pickle.dumps(seen)
                self.assertEqual(pickle.loads(pickle.dumps(seen.copy())), seen)
                seen.close()

    def test_a_live_bitmap_lists_its_members(self):
        Bitmap(0, 999, [5]).save(self.path, live=True)
        with Bitmap.open(self.path, live=True) as taken, Set.open(self.path, live=True) as other:
            self.assertIs(type(other), Bitmap)
            self.assertEqual(taken.update([9, 5, 700]), 2)
            self.assertEqual(list(other), [5, 9, 700])
            self.assertEqual(other.to_numpy().tolist(), [5, 9, 700])
            self.assertEqual((other.rank(700), other.select(0)), (2, 5))
            self.assertEqual((taken.adds, len(taken), taken.range), (3, 3, (0, 999)))
            with self.assertRaises(bloomery.OutOfRange):
                taken.add(1000)
            self.assertIn("live", repr(taken))

    def test_removing_and_counting_where_each_has_a_copy(self):
        Set(1000, kind="counting").save(self.path, live=True)
        with Set.open(self.path, live=True) as one, Set.open(self.path, live=True) as other:
            one.update(["a", "a", "b"])
            self.assertEqual(other.count("a"), 2)
            other.remove("a")
            self.assertEqual(one.counts(["a", "b"]).tolist(), [1, 1])
            self.assertTrue(one.discard("b"))
            self.assertNotIn("b", other)
            other.clear()
            self.assertNotIn("a", one)

    def test_read_only_asks(self):
        make(self.path)
        with Set.open(self.path, live=True) as seen:
            seen.add("a")
            with Set.open(self.path, live=True, read_only=True) as reader:
                self.assertIn("a", reader)
                seen.add("b")
                self.assertIn("b", reader)
                with self.assertRaisesRegex(bloomery.Unsupported, "asked only"):
                    reader.add("c")

    def test_a_secret_key_that_is_elsewhere_stays_there(self):
        secret = bytes(range(16))
        key = self.path.with_name("key")
        key.write_text(secret.hex())
        key.chmod(0o600)
        built = command("build", "-q", "--live", "--key-file", key, "-n", "1000", "-o", self.path,
                        text=b"a\n")
        self.assertEqual(built.returncode, 0, built.stderr)
        with self.assertRaises(bloomery.Mismatch):
            Set.open(self.path, live=True)
        seen = Set.open(self.path, live=True, secret=secret)
        self.assertIn("a", seen)
        self.assertTrue(seen.hardened)
        self.assertNotIn(secret, seen.to_bytes())
        self.assertNotIn(secret, seen.copy().to_bytes())
        self.assertIn("a", seen.copy())

    def test_options_that_make_no_sense(self):
        make(self.path)
        for wrong, sentence in (({"durability": "always"}, "'every'"),
                                ({"durability": "every", "interval": 1.0}, "leave it out"),
                                ({"interval": 0}, "seconds"), ({"interval": -1.0}, "seconds"),
                                ({"interval": float("nan")}, "seconds"),
                                ({"interval": 1e12}, "seconds")):
            with self.assertRaisesRegex(ValueError, sentence, msg=wrong):
                Set.open(self.path, live=True, **wrong)
        with self.assertRaises(TypeError):
            Set.open(self.path, live=True, interval="1s")
        for alone in ({"durability": "every"}, {"interval": 1.0}, {"read_only": True}):
            with self.assertRaisesRegex(ValueError, "live=True"):
                Set.open(self.path, **alone)
        ordinary = Set(["a"])
        self.assertEqual((ordinary.live, ordinary.recovery), (False, None))
        for verb in (ordinary.sync, ordinary.checkpoint, ordinary.seal):
            with self.assertRaisesRegex(bloomery.Unsupported, "not live"):
                verb()
        with self.assertRaises(FileNotFoundError):
            Set.open(self.path.with_name("missing"), live=True)
        with self.assertRaises(bloomery.NotOurs):
            self.path.with_name("text").write_text("no set")
            Set.open(self.path.with_name("text"), live=True)

    def test_a_power_cut_is_recovered_and_told(self):
        make(self.path)
        seen = Set.open(self.path, live=True, durability="every")
        seen.update(range(1000))
        # A copy of a file in use is what a disk has after a cut.
        cut = self.path.with_name("cut")
        cut.write_bytes(self.path.read_bytes())
        seen.close()
        with Set.open(cut, live=True) as again:
            self.assertTrue(again.recovery["was_cut"])
            self.assertEqual(again.recovery["keys"], 1000)
            self.assertEqual(again.count_contained(range(1000)), 1000)
            self.assertEqual(again.adds, 1000)

    def test_a_log_that_cannot_grow_is_an_exception_and_loses_nothing_acknowledged(self):
        make(self.path, "compact")
        seen = Set.open(self.path, live=True)
        seen.update(range(1000))
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, limits[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, limits)
        acknowledged = 1000
        with self.assertRaises(OSError) as caught:
            for first in range(1000, 1_000_000, 1000):
                seen.update(range(first, first + 1000))
                acknowledged = first + 1000
        self.assertIn(str(self.path), str(caught.exception))
        # The handle says so from now on, and is closed all the same.
        with self.assertRaises(OSError):
            seen.add(2_000_000)
        try:
            seen.close()
        except OSError:
            pass
        self.assertTrue(seen.closed)
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        with Set.open(self.path, live=True) as again:
            self.assertEqual(again.count_contained(range(acknowledged)), acknowledged)
            self.assertTrue(again.add(2_000_000))

    def test_threads_take_turns_and_others_run_meanwhile(self):
        make(self.path)
        seen = Set.open(self.path, live=True, durability="every")
        new = []

        def work():
            new.extend(key for key in range(300) if seen.add(key))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(new), list(range(300)))
        self.assertEqual(seen.adds, 300)

    def test_the_gil_is_free_while_an_add_waits(self):
        make(self.path)
        ready, stop = os.pipe(), os.pipe()
        # A process that stops in the middle of its adds, with the lock of the file in its hands
        # sooner or later, holds up the others. Python must go on meanwhile.
        busy = os.fork()
        if busy == 0:
            other = Set.open(self.path, live=True, durability="none")
            keys = numpy.arange(1 << 20, dtype="u8")
            os.write(ready[1], b"x")
            while True:
                other.update(keys)
        os.read(ready[0], 1)
        for end in (*ready, *stop):
            os.close(end)
        seen = Set.open(self.path, live=True)
        held_up = False
        for number in range(200):
            os.kill(busy, signal.SIGSTOP)
            done = threading.Event()
            thread = threading.Thread(target=lambda n=number: (seen.add(1 << 40 | n), done.set()))
            thread.start()
            ticks = 0
            end = time.monotonic() + 0.05
            while time.monotonic() < end:
                ticks += 1
                time.sleep(0.001)
            held_up = not done.is_set()
            os.kill(busy, signal.SIGCONT)
            thread.join(60)
            self.assertTrue(done.is_set())
            self.assertGreater(ticks, 3)
            if held_up:
                break
            time.sleep(0.001)
        os.kill(busy, signal.SIGKILL)
        os.waitpid(busy, 0)
        self.assertTrue(held_up, "the other process was never stopped inside an add")


if __name__ == "__main__":
    unittest.main()

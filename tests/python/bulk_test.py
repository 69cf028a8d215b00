"""Many keys: every sort of array gives what single keys give; threads, signals, answers."""
import array
import random
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import numpy

import bloomery
from bloomery import Bitmap, Set, dedup

RANDOM = random.Random(21)


class Arrays(unittest.TestCase):
    def test_arrays_of_every_integer_type_are_single_ints(self):
        for dtype in "b B h H i I l L q Q".split():
            info = numpy.iinfo(dtype)
            numbers = [RANDOM.randint(info.min, info.max) for _ in range(9000)]
            numbers += [info.min, info.max]
            given = numpy.array(numbers, dtype=dtype)
            for kind in ("blocked", "classic", "hash-set"):
                one_by_one = Set(20_000 if kind != "hash-set" else None, kind=kind)
                fresh = [one_by_one.add(n) for n in numbers]
                in_bulk = Set(20_000 if kind != "hash-set" else None, kind=kind)
                self.assertEqual(in_bulk.add_all(given).tolist(), fresh, (dtype, kind))
                self.assertEqual(in_bulk, one_by_one)
                self.assertTrue(in_bulk.contains_all(given).all())
            self.assertTrue(in_bulk.contains_all(array.array(dtype, numbers)).all())
            self.assertTrue(in_bulk.contains_all(memoryview(given)).all())

    def test_tables_of_text_are_single_texts(self):
        words = ["w%d" % RANDOM.randint(0, 10**6) for _ in range(20_000)]
        words += ["", "\u00e4", "\u20ac\u20ac", "\U0001f600", "x" * 40]
        one_by_one = Set(words)
        for given in (words, tuple(words), iter(words), (w.encode() for w in words),
                      numpy.array(words), numpy.array([w.encode() for w in words]),
                      numpy.array(words, dtype=object), [bytearray(w.encode()) for w in words]):
            in_bulk = Set(len(words))
            in_bulk.update(given)
            self.assertEqual(in_bulk, one_by_one, type(given))

    def test_arrays_that_may_not_be_written_to_are_read(self):
        keys = numpy.arange(1000)
        keys.flags.writeable = False
        self.assertEqual(Set(1000).update(keys), Set(1000).update(range(1000)))

    def test_empty_arrays_give_empty_answers(self):
        seen = Set(10)
        for empty in ([], numpy.array([], "u8"), numpy.array([], "S3"), iter([])):
            self.assertEqual(len(seen.add_all(empty)), 0)
            self.assertEqual(len(seen.contains_all(empty)), 0)
            self.assertEqual(seen.update(empty), 0)
        self.assertEqual(seen.key_form, "none")

    def test_answers_go_where_they_are_wanted(self):
        seen = Set(range(100))
        keys = numpy.arange(50, 150)
        for out in (numpy.zeros(100, bool), numpy.zeros(100, "u1"), bytearray(100)):
            self.assertIs(seen.contains_all(keys, out=out), out)
            self.assertEqual(list(map(bool, out))[:50], [True] * 50)
        self.assertIs(seen.contains_all(list(keys), out=out), out)
        counted = Set(["a", "a", "b"], kind="spectral")
        out = numpy.zeros(2, "u8")
        self.assertIs(counted.counts(["a", "b"], out=out), out)
        self.assertEqual(out.tolist(), [2, 1])

    def test_answers_without_numpy_are_memoryviews(self):
        code = (
            "import sys; sys.modules['numpy'] = None; import bloomery\n"
            "got = bloomery.Set(['a']).contains_all(['a', 'b'])\n"
            "assert type(got) is memoryview and got.tolist() == [True, False], got\n"
            "assert bloomery.Bitmap(0, 9, [3]).to_numpy().tolist() == [3]\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_a_bitmap_lists_its_members(self):
        numbers = sorted(RANDOM.sample(range(1000, 60_000), 5000))
        taken = Bitmap(1000, 59_999, numbers)
        self.assertEqual(taken.to_numpy().tolist(), numbers)
        self.assertEqual(taken.to_numpy("uint32").tolist(), numbers)
        self.assertEqual(list(taken), numbers)
        self.assertEqual(len(taken), 5000)
        self.assertEqual([taken.rank(numbers[i]) for i in (0, 17, 4999)], [0, 17, 4999])
        self.assertEqual([taken.select(i) for i in (0, 17, 4999)],
                         [numbers[i] for i in (0, 17, 4999)])
        with self.assertRaises(IndexError):
            taken.select(5000)
        self.assertNotIn(5, taken)
        self.assertFalse(taken.contains_all(numpy.array([-1, 999])).any())
        with self.assertRaises(bloomery.OutOfRange):
            taken.add(999)
        with self.assertRaises(bloomery.Mismatch):
            taken.add("a")

    def test_set_algebra_is_that_of_python(self):
        a = set(RANDOM.sample(range(1000), 300))
        b = set(RANDOM.sample(range(1000), 300))
        ours = [Bitmap(0, 999, keys) for keys in (a, b)]
        for name in ("__or__", "__and__", "__sub__", "__xor__"):
            result = getattr(ours[0], name)(ours[1])
            self.assertEqual(set(result), getattr(a, name)(b), name)
            self.assertEqual(set(ours[0]), a)
        for name in ("__ior__", "__iand__", "__isub__", "__ixor__"):
            left, right = ours[0].copy(), set(a)
            self.assertIs(getattr(left, name)(ours[1]), left)
            self.assertEqual(set(left), getattr(right, name)(b))
        part = Bitmap(0, 999, list(a)[:50])
        self.assertTrue(part <= ours[0] and part < ours[0] and ours[0] > part and part <= part)
        self.assertFalse(part < part or ours[0] <= part)
        for kind in ("blocked", "classic", "hash-set"):
            keys = None if kind == "hash-set" else 2000
            one, two = Set(keys, kind=kind), Set(keys, kind=kind)
            one.update(a)
            two.update(b)
            both = one | two
            self.assertTrue(one <= both and two <= both)
            self.assertFalse(both <= one)
            self.assertTrue(both.contains_all(list(a | b)).all())
            self.assertTrue((one & two).contains_all(list(a & b)).all())
            with self.assertRaises(TypeError):
                one | a
        with self.assertRaises(bloomery.Unsound):
            Set(["a"]) - Set(["a"])
        with self.assertRaises(bloomery.Mismatch):
            Set(10) | Set(1000, rate=1e-5)
        with self.assertRaises(bloomery.Mismatch):
            Set(10) | Set(10, kind="classic")
        with self.assertRaises(bloomery.Unsound):
            Set(10, kind="spectral") <= Set(10, kind="spectral")

    def test_dedup_keeps_the_first_of_each(self):
        things = [RANDOM.randint(0, 500) for _ in range(5000)]
        self.assertEqual(list(dedup(things)), list(dict.fromkeys(things)))
        self.assertEqual(list(dedup(["A", "a", "b"], key=str.lower)), ["A", "b"])
        seen = Set(100)
        self.assertEqual(list(dedup(["a"], seen=seen)) + list(dedup(["a", "b"], seen=seen)),
                         ["a", "b"])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lines"
            path.write_bytes(b"x\ny\nx\ny\nz\nx")
            self.assertEqual(list(dedup(path)), [b"x\n", b"y\n", b"z\n"])
            with path.open() as lines:
                self.assertEqual(list(dedup(lines)), ["x\n", "y\n", "z\n"])
            with path.open("rb") as lines:
                self.assertEqual(list(dedup(lines, key=lambda line: line[:1])),
                                 [b"x\n", b"y\n", b"z\n"])
        with self.assertRaisesRegex(TypeError, "pathlib"):
            dedup("lines")


class Threads(unittest.TestCase):
    def test_many_threads_may_use_one_set(self):
        seen = Set(400_000, rate=0.001)
        parts = [numpy.arange(i, 400_000, 4, dtype="u8") for i in range(4)]
        errors = []

        def work(part):
            try:
                seen.update(part)
                for key in part[:2000].tolist():
                    seen.add(key)
                    if key not in seen:
                        errors.append(key)
                if not seen.contains_all(part, threads=2).all():
                    errors.append("lost")
                seen.copy()
                seen.to_bytes()
                len(seen)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(part,)) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        alone = Set(400_000, rate=0.001)
        alone.update(numpy.arange(400_000, dtype="u8"))
        self.assertEqual(seen, alone)

    def test_sets_that_take_each_other_in_do_not_wait_for_ever(self):
        one, two = Set(200_000), Set(200_000)
        one.update(range(1000))
        two.update(range(1000, 2000))

        def work(left, right):
            for _ in range(200):
                left |= right

        threads = [threading.Thread(target=work, args=pair) for pair in ((one, two), (two, one))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            self.assertFalse(thread.is_alive())
        self.assertTrue(one.contains_all(range(2000)).all())

    def test_several_threads_of_the_engine_give_the_bytes_of_one(self):
        keys = numpy.arange(3_000_000, dtype="u8") * 7919
        one, four = Set(3_000_000), Set(3_000_000)
        self.assertEqual(one.update(keys), four.update(keys, threads=4))
        self.assertEqual(one, four)

    def test_control_c_ends_a_long_call(self):
        code = (
            "import os, signal, threading, itertools, bloomery\n"
            "seen = bloomery.Set(1000)\n"
            "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
            "try:\n"
            "    seen.update(itertools.cycle(['a', 'b']))\n"
            "except KeyboardInterrupt:\n"
            "    assert 'a' in seen\n"
            "    raise SystemExit(7)\n"
        )
        # Tests that are started in the background ignore the signal, and their children would too.
        ran = subprocess.run(
            [sys.executable, "-c", code], timeout=60,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        self.assertEqual(ran.returncode, 7)


if __name__ == "__main__":
    unittest.main()

"""Every misuse is an exception with a sentence, never a crash or a silent wrong answer."""
import copy
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import numpy

import bloomery
from bloomery import Bitmap, Cascade, Set


class Arrays(unittest.TestCase):
    def refused(self, error, words, keys):
        for call in (Set(10).update, Set(10).add_all, Set(10).contains_all,
                     Set(10).count_contained, Set(10, kind="counting").remove_all,
                     Set(10, kind="counting").counts, Bitmap(0, 9).update):
            with self.assertRaisesRegex(error, words):
                call(keys)

    def test_of_a_wrong_type(self):
        self.refused(TypeError, "astype", numpy.zeros(3))
        self.refused(TypeError, "astype", numpy.zeros(3, "f4"))
        self.refused(TypeError, "astype", numpy.zeros(3, bool))
        self.refused(TypeError, "format", numpy.zeros(3, "c16"))
        self.refused(TypeError, "format", numpy.zeros(3, [("a", "i4"), ("b", "i4")]))
        self.refused(TypeError, "view", numpy.zeros(3, "M8[s]"))

    def test_of_a_wrong_shape(self):
        self.refused(ValueError, "ascontiguousarray", numpy.arange(10)[::2])
        self.refused(ValueError, "ascontiguousarray", numpy.arange(10)[::-1])
        self.refused(ValueError, "ravel", numpy.zeros((3, 3), "u8"))
        self.refused(ValueError, "0", numpy.array(5))
        self.refused(ValueError, "byte order", numpy.zeros(3, ">i8"))

    def test_of_what_is_one_key(self):
        self.refused(TypeError, "one key", "fig")
        self.refused(TypeError, "one key", b"fig")
        self.refused(TypeError, "one key", bytearray(b"fig"))
        self.refused(TypeError, "does not hold keys", 5)
        self.refused(TypeError, "does not hold keys", None)
        self.refused(TypeError, "float", [1.5])
        self.refused(TypeError, "missing", [None, "a"])
        self.refused(ValueError, "surrogates", numpy.array(["\udc80"]))

    def test_of_room_for_answers(self):
        seen = Set(10)
        keys = numpy.arange(5)
        read_only = numpy.zeros(5, bool)
        read_only.flags.writeable = False
        for out in (numpy.zeros(4, bool), numpy.zeros(6, bool), numpy.zeros(5, "u8"), read_only,
                    numpy.zeros(10, bool)[::2], numpy.zeros((5, 1), bool), bytes(5)):
            for given in (keys, list(keys)):
                with self.assertRaisesRegex(ValueError, "out "):
                    seen.contains_all(given, out=out)
        with self.assertRaises(TypeError):
            seen.contains_all(keys, out=[False] * 5)
        with self.assertRaisesRegex(ValueError, "threads"):
            seen.update(keys, threads=-1)

    def test_an_iterable_that_fails_passes_its_error_on(self):
        def keys():
            yield "a"
            raise LookupError("no more")

        seen = Set(10)
        with self.assertRaisesRegex(LookupError, "no more"):
            seen.update(keys())

    def test_the_keys_before_an_error_are_in_the_set(self):
        def fails():
            yield from names
            raise LookupError("no more")

        for many in (2, 10_000):
            names = [f"n{i}" for i in range(many)]
            for keys, error in ((fails, LookupError), (lambda: [*names, None], TypeError),
                                (lambda: [*names, "\ud800"], ValueError),
                                (lambda: [*names, 5], bloomery.Mismatch)):
                for kind in ("blocked", "hash-set"):
                    for verb in (Set.update, Set.add_all):
                        seen = Set(20_000, 1e-6, kind=kind)
                        with self.assertRaises(error):
                            verb(seen, keys())
                        self.assertEqual(many, seen.count_contained(names))
                        self.assertEqual(many, seen.adds)

    def test_an_error_of_the_keys_keeps_its_cause_and_trace(self):
        def keys():
            yield "a"
            try:
                raise OSError("the cause")
            except OSError as cause:
                raise LookupError("no more") from cause

        try:
            Set(10).update(keys())
            self.fail("no error")
        except LookupError as error:
            self.assertEqual("the cause", str(error.__cause__))
            self.assertEqual("keys", error.__traceback__.tb_next.tb_frame.f_code.co_name)

    def test_a_masked_array_with_masked_keys(self):
        masked = numpy.ma.array([1, 2, 3], mask=[False, True, False])
        self.refused(ValueError, "compressed", masked)
        seen = Set(10)
        self.assertEqual(2, seen.update(masked.compressed()))
        self.assertEqual([True] * 3, Set(10).add_all(numpy.ma.array([1, 2, 3])).tolist())

    def test_of_answers_where_the_keys_are(self):
        keys = numpy.arange(9000, dtype="u2")
        bits = keys.view(bool)
        counting = Set(10, kind="counting")
        wide = numpy.arange(9000, dtype="u8")
        for call, given, out in ((Set(10).contains_all, keys, bits[:9000]),
                                 (Set(10).add_all, keys, bits[9000:]),
                                 (Set(10).contains_all, keys[1:], bits[:8999]),
                                 (counting.counts, wide, wide),
                                 (counting.remove_all, wide, wide.view(bool)[:9000])):
            with self.assertRaisesRegex(ValueError, "shares its memory"):
                call(given, out=out)
        self.assertEqual(list(range(9000)), keys.tolist())
        Set(10).contains_all(keys[:4500], out=bits[9000:13500])

    def test_numbers_of_numpy_are_numbers(self):
        self.assertEqual(Set(1000), Set(numpy.int64(1000)))
        self.assertEqual(Set(1000, memory=4096), Set(1000, memory=numpy.uint32(4096)))
        self.assertEqual((3, 9), Bitmap(numpy.int8(3), numpy.array([9, 4]).max()).range)
        self.assertEqual(1, len(Set(numpy.array([7]))))
        with self.assertRaisesRegex(TypeError, "not a float: give int"):
            Set(1e6)
        with self.assertRaisesRegex(ValueError, "whole number"):
            Bitmap(0, 9.0)

    def test_a_bool_of_numpy_is_a_bool(self):
        for verb in (Set.add, Set.__contains__):
            with self.assertRaisesRegex(TypeError, "a bool is not a key"):
                verb(Set(10), numpy.bool_(True))
        with self.assertRaisesRegex(TypeError, "a bool is not a key"):
            Set([numpy.bool_(True)])


class Lives(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)

    def test_every_verb_of_a_closed_set(self):
        for made in (Set(["a"]), Bitmap(0, 9, [1]), Set(["a"], kind="counting")):
            other = made.copy()
            made.close()
            made.close()
            self.assertTrue(made.closed)
            self.assertIn("closed", repr(made))
            key = 1 if isinstance(made, Bitmap) else "a"
            calls = [
                lambda: key in made, lambda: made.add(key), lambda: made.remove(key),
                lambda: made.discard(key), lambda: made.count(key), lambda: made.update([key]),
                lambda: made.add_all([key]), lambda: made.contains_all([key]),
                lambda: made.count_contained([key]), lambda: made.remove_all([key]),
                lambda: made.counts([key]), lambda: made.copy(), lambda: copy.copy(made),
                lambda: made.clear(), lambda: made.save(self.path / "x"), made.to_bytes,
                lambda: pickle.dumps(made), lambda: len(made), lambda: bool(made),
                lambda: made | other, lambda: other | made, lambda: made <= other,
                lambda: other <= made, lambda: made == other, made.estimate, made.rate_now,
                made.fill_ratio, lambda: made.kind, lambda: made.adds, lambda: made.rate,
                lambda: made.key_form, lambda: made.range, lambda: made.__enter__(),
                lambda: made.advance_to(1, 1), lambda: made.cap_memory(1),
            ]
            if isinstance(made, Bitmap):
                calls += [made.to_numpy, lambda: list(made), lambda: made.rank(1),
                          lambda: made.select(0)]
            for number, call in enumerate(calls):
                with self.assertRaisesRegex(bloomery.Closed, "closed", msg=number):
                    call()
        walked = Bitmap(0, 999, range(900))
        members = iter(walked)
        next(members)
        walked.close()
        with self.assertRaises(bloomery.Closed):
            list(members)

    def test_files_that_are_not_sets(self):
        path = self.path / "set"
        with self.assertRaises(FileNotFoundError):
            Set.open(path)
        with self.assertRaises(bloomery.NotFound):
            Set.open(str(path))
        with self.assertRaises(OSError):
            Set.open(self.path)
        path.write_bytes(b"PK" * 10_000)
        with self.assertRaisesRegex(bloomery.NotOurs, "set"):
            Set.open(path)
        whole = Set(["a"]).to_bytes()
        for at in (0, 100, 4100, len(whole) - 100):
            damaged = bytearray(whole)
            damaged[at] ^= 1
            path.write_bytes(damaged)
            with self.assertRaises(bloomery.Error):
                Set.open(path)
                raise AssertionError(at)
            with self.assertRaises(bloomery.Error):
                Set.from_bytes(damaged)
                raise AssertionError(at)
        with self.assertRaises(bloomery.Error):
            Set.from_bytes(whole[:-1])
        with self.assertRaises(bloomery.Error):
            Set.from_bytes(b"")
        with self.assertRaises(TypeError):
            Set.from_bytes("text")
        with self.assertRaises(TypeError):
            Set.open(5.5)
        with self.assertRaises(FileExistsError):
            path.write_bytes(b"")
            Set(["a"]).save(path, overwrite=False)
        with self.assertRaises(OSError):
            Set(["a"]).save(self.path / "missing" / "set")
        Set(["a"]).save(path)
        with self.assertRaisesRegex(bloomery.Mismatch, "Set.open"):
            Bitmap.open(path)
        with self.assertRaisesRegex(bloomery.Mismatch, "Set.open"):
            Cascade.from_bytes(path.read_bytes())

    def test_a_name_that_cannot_be_looked_up_is_not_a_file_that_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            loop = Path(folder, "loop")
            loop.symlink_to(loop)
            for live in (False, True):
                with self.assertRaises(bloomery.Io) as caught:
                    Set.open(loop, live=live)
                self.assertNotIsInstance(caught.exception, FileNotFoundError)
                with self.assertRaises(bloomery.NotFound):
                    Set.open(Path(folder, "missing"), live=live)

    def test_a_secret_that_is_missing_or_wrong(self):
        seen = Set(10, secret=bytes(16))
        self.assertEqual(Set.from_bytes(seen.to_bytes()), seen)
        with self.assertRaises(bloomery.Mismatch):
            Set.from_bytes(seen.to_bytes(), secret=bytes(range(16)))

    def test_a_pickle_of_a_later_version_says_so(self):
        made = Set(["a"])
        self.assertEqual(pickle.loads(pickle.dumps(made)), made)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            self.assertEqual(pickle.loads(pickle.dumps(made, protocol)), made)
        # An image of a later format, and its name in an error that was pickled itself.
        later = bytearray(made.to_bytes())
        for superblock in (0, 4096):
            later[superblock + 8] = 0xFF  # the version
        with self.assertRaises(bloomery.Unsupported) as caught:
            pickle.loads(pickle.dumps(made).replace(made.to_bytes(), bytes(later)))
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertIs(type(again), type(caught.exception))
        self.assertEqual(str(again), str(caught.exception))
        bitmap = Bitmap(0, 9, [3])
        self.assertEqual(copy.deepcopy(bitmap), bitmap)
        self.assertIs(type(pickle.loads(pickle.dumps(bitmap))), Bitmap)

    def test_a_child_of_a_fork_has_its_own_copy(self):
        seen = Set(["a"])
        child = os.fork()
        if child == 0:
            fine = "a" in seen and seen.add("b") and "b" in seen
            os._exit(0 if fine else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertNotIn("b", seen)

    def test_a_set_that_a_thread_was_using_at_a_fork_says_so(self):
        code = (
            "import os, threading, time, numpy, bloomery\n"
            "seen = bloomery.Set(4_000_000, kind='classic')\n"
            "keys = numpy.arange(1_000_000, dtype='u8')\n"
            "stop = []\n"
            "def work():\n"
            "    while not stop: seen.update(keys)\n"
            "thread = threading.Thread(target=work); thread.start()\n"
            "time.sleep(0.2)\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    try: 5 in seen\n"
            "    except RuntimeError as error: os._exit(7 if 'forked' in str(error) else 1)\n"
            "    os._exit(2)\n"
            "code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n"
            "stop.append(1); thread.join()\n"
            "raise SystemExit(code)\n"
        )
        # The thread is inside the engine nearly always, and between two calls for a moment.
        for _ in range(5):
            told = subprocess.run([sys.executable, "-c", code], timeout=60).returncode
            if told == 7:
                break
        self.assertEqual(told, 7)

    def test_exceptions_are_those_of_python_too(self):
        for name, also in (("Mismatch", ValueError), ("Unsound", TypeError), ("Io", OSError),
                           ("Exists", FileExistsError), ("NoMemory", MemoryError),
                           ("NotFound", FileNotFoundError), ("Closed", ValueError)):
            made = getattr(bloomery, name)
            self.assertTrue(issubclass(made, bloomery.Error) and issubclass(made, also), name)
        with self.assertRaises(bloomery.Error) as caught:
            Set(10, rate=2)
        self.assertEqual(caught.exception.code, "impossible")
        with self.assertRaises(bloomery.Full):
            capped = Set(kind="hash-set")
            capped.cap_memory(1 << 12)
            capped.update(range(100_000))
        with self.assertRaises(MemoryError):
            Set(1 << 50)

    def test_sets_are_not_hashable_and_have_weak_references(self):
        import weakref

        made = Set(["a"])
        with self.assertRaises(TypeError):
            hash(made)
        watched = weakref.ref(made)
        self.assertIs(watched(), made)
        del made
        self.assertIsNone(watched())

    def test_subclasses_stay_themselves(self):
        class Urls(Set):
            def add(self, key):
                return super().add(key.lower())

        urls = Urls(10)
        urls.add("A")
        self.assertIn("a", urls)
        self.assertIs(type(urls.copy()), Urls)
        self.assertIs(type(Urls.from_bytes(urls.to_bytes())), Urls)
        urls.note = "mine"
        self.assertEqual(urls.note, "mine")

    def test_a_generator_may_ask_the_set_that_it_fills(self):
        seen = Set(100)
        self.assertEqual(seen.update(key for key in ["a", "b"] if key not in seen), 2)

    def test_closing_waits_for_those_who_use_it(self):
        seen = Set(2_000_000, kind="classic")
        keys = numpy.arange(500_000, dtype="u8")
        outcome = []

        def work():
            try:
                while True:
                    seen.update(keys)
            except bloomery.Closed as error:
                outcome.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.05)
        seen.close()
        thread.join(60)
        self.assertEqual(len(outcome), 1)


if __name__ == "__main__":
    unittest.main()

"""Nothing is kept: a hundred thousand cycles leave memory and references as they were.

BLOOMERY_LEAK_CYCLES=1000000 makes it ten times as many. Built for a debug build of CPython
(python3-dbg), which counts the references to all objects together, those are looked at too.
"""
import array
import gc
import os
import sys
import tempfile
import tracemalloc
import unittest
import uuid
from pathlib import Path

import numpy

import bloomery
from arrow_structs import integer_array, text_array
from bloomery import Bitmap, Set

CYCLES = int(os.environ.get("BLOOMERY_LEAK_CYCLES", "100000"))


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def all_references():
    """0 where the interpreter cannot tell, or does not see those of an engine built for another."""
    seen = hasattr(sys, "gettotalrefcount") and "BLOOMERY_BUILT_FOR_IT" in os.environ
    return sys.gettotalrefcount() if seen else 0


class Leaks(unittest.TestCase):
    def cycles(self, work, count, gives_numpy=False):
        """Runs work, then again, and looks at what the second half left behind.

        Debian's numpy is built for the ordinary interpreter: all_references() misses what it does.
        """
        for _ in range(count // 2):
            work()
        gc.collect()
        nothing, before, blocks = sys.getrefcount(None), resident(), sys.getallocatedblocks()
        references = all_references()
        for _ in range(count - count // 2):
            work()
        gc.collect()
        if not gives_numpy:
            # One lost or taken too often in each cycle would be hundreds at least.
            self.assertLess(abs(all_references() - references), 100)
        # The interpreter itself keeps some hundred blocks more or less from time to time.
        self.assertLess(abs(sys.getallocatedblocks() - blocks), max(200, count // 8))
        self.assertLess(abs(sys.getrefcount(None) - nothing), 100)
        # One page a hundred cycles would be a leak of 40 bytes a cycle.
        self.assertLess(resident() - before, max(4 << 20, count * 20))
        tracemalloc.start()
        for _ in range(count // 20):
            work()
        gc.collect()
        traced, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        self.assertLess(traced, 50_000)

    def test_one_key(self):
        seen = Set(1000)
        text = Set(1000)
        word = "f\u00e4g"

        def work():
            seen.add(12345678901)
            12345678901 in seen
            text.add(word)
            b"bytes" in text
            text.add(bytearray(b"xyz"))

        self.cycles(work, CYCLES)

    def test_keys_that_are_refused(self):
        seen = Set(1000)
        texts = Set(1000)
        number, wide = 2**70, uuid.UUID(int=5)

        def work():
            seen.add(7)
            texts.add(wide)
            for wrong in (number, None, 1.5, True):
                try:
                    seen.add(wrong)
                except (TypeError, OverflowError):
                    pass
            try:
                "text" in seen
            except bloomery.Mismatch:
                pass

        self.cycles(work, CYCLES // 10)

    def test_sets_come_and_go(self):
        for numbers in (array.array("Q", range(64)), numpy.arange(64)):
            with self.subTest(type(numbers).__name__):
                self.sets_come_and_go(numbers)

    def sets_come_and_go(self, numbers):
        words = ["a", "b", b"c"]

        def work():
            one = Set(100)
            one.update(numbers)
            other = one.copy()
            one |= other
            one & other
            one == other
            one <= other
            one.add_all(numbers)
            one.contains_all([1, 2])
            len(one), bool(one), repr(one), one.kind, one.rate
            texts = Set(words)
            texts.update(iter(words))
            one.close()
            try:
                one.add(1)
            except bloomery.Closed:
                pass

        self.cycles(work, CYCLES // 10, gives_numpy=isinstance(numbers, numpy.ndarray))

    def test_bitmaps_and_their_members(self):
        def work():
            taken = Bitmap(0, 999, [5, 6, 900])
            list(taken)
            iter(taken)
            taken.to_numpy()
            taken ^ taken.copy()
            try:
                taken.add(5000)
            except bloomery.OutOfRange:
                pass

        self.cycles(work, CYCLES // 10)

    def test_files_and_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "set"
            Set(["a"]).save(path)

            def work():
                with Set.open(path) as seen:
                    "a" in seen
                Set.from_bytes(Set.open(path).to_bytes())
                try:
                    Set.from_bytes(b"junk")
                except bloomery.Error:
                    pass
                try:
                    Set.open(path / "x")
                except OSError:
                    pass

            self.cycles(work, CYCLES // 50)
            self.assertLess(len(os.listdir("/proc/self/fd")), 30)

    def test_arrow(self):
        seen = Set(1000)
        texts = [text_array([b"a", b"b"]), integer_array(numpy.arange(3), nulls=[0, 1, 0])]
        sets = [seen, Set(1000)]

        def work():
            for given, into in zip(texts, sets):
                given.refill(2, -1, 0, 3)
                try:
                    into.update(given)
                except ValueError:
                    pass

        self.cycles(work, CYCLES // 50)

    def test_errors_of_every_bulk_verb(self):
        seen = Set(1000)
        plain = [array.array("d", [1.5]), memoryview(bytes(6))[::2], "text", 5, ["a", None]]
        of_numpy = [numpy.zeros(3), numpy.arange(6)[::2], numpy.zeros((2, 2))]
        wrong = plain

        def work():
            for keys in wrong:
                for verb in (seen.update, seen.add_all, seen.contains_all):
                    try:
                        verb(keys)
                    except (TypeError, ValueError):
                        pass
            try:
                seen.contains_all([1], out=bytearray(2))
            except ValueError:
                pass

        self.cycles(work, CYCLES // 20)
        wrong = of_numpy
        self.cycles(work, CYCLES // 20, gives_numpy=True)


if __name__ == "__main__":
    unittest.main()

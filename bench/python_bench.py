#!/usr/bin/python3
"""The Python package beside the C++ bulk calls, CPython's set and packages that are installed.

    PYTHONPATH=build/release/python bench/python_bench.py [--keys N] [--rounds N] [BUILD]

BUILD is the build folder with bench_python_bulk.so (BLOOMERY_BUILD_BENCH and
BLOOMERY_BUILD_PYTHON). Every ratio is of one run, the two sides in turns; the best of all rounds.
"""
import argparse
import ctypes
import importlib
import multiprocessing
import os
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/python"))
from arrow_structs import text_array  # noqa: E402
from bloomery import Set  # noqa: E402


def timed(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def best(rounds, *sides):
    """The least of each side's seconds, sides in turns."""
    least = [float("inf")] * len(sides)
    for _ in range(rounds):
        for i, side in enumerate(sides):
            least[i] = min(least[i], side())
    return least


def row(what, ours, theirs, keys, beside):
    print(f"{what:<34} {ours / keys * 1e9:8.1f} ns {theirs / keys * 1e9:8.1f} ns {beside:<12}"
          f" ratio {ours / theirs:5.2f}", flush=True)


def pointer(array, kind):
    return array.ctypes.data_as(ctypes.POINTER(kind))


def bulk(engine, count, rounds):
    keys = numpy.random.default_rng(21).integers(0, 2**63, count, "u8")
    out = numpy.empty(count, bool)
    where, room = pointer(keys, ctypes.c_uint64), pointer(out, ctypes.c_bool)
    theirs = engine.bulk_make(count)
    ours = Set(count)

    def cpp_add():
        engine.bulk_free(ctypes.c_void_p(theirs_of[0]))
        theirs_of[0] = engine.bulk_make(count)
        return engine.bulk_add(theirs_of[0], where, count, room)

    def python_add():
        ours.clear()
        return timed(lambda: ours.add_all(keys, out))

    theirs_of = [theirs]
    row("add_all, numpy uint64", *best(rounds, python_add, cpp_add), count, "C++")
    row("contains_all, numpy uint64",
        *best(rounds, lambda: timed(lambda: ours.contains_all(keys, out)),
              lambda: engine.bulk_ask(theirs_of[0], where, count, room)), count, "C++")
    both = [Set(count // 2), Set(count // 2)]
    halves = [keys[: count // 2], keys[count // 2 : count // 2 * 2]]

    def add(i):
        both[i].update(halves[i])

    def threads():
        run = [threading.Thread(target=add, args=(i,)) for i in (0, 1)]
        return timed(lambda: [t.start() for t in run] + [t.join() for t in run])

    row("two threads, a set each", *best(rounds, threads, lambda: timed(lambda: (add(0), add(1)))),
        count, "one thread")


def texts(engine, count, rounds):
    words = [b"https://example.org/%d" % n for n in range(count)]
    out = numpy.empty(count, bool)
    theirs = engine.bulk_make(count)
    ours = Set(count)
    given = text_array(words)
    _, offsets, data = given.kept[0]
    where = (pointer(offsets, ctypes.c_int32), pointer(data, ctypes.c_char))
    room = pointer(out, ctypes.c_bool)

    def python(verb):
        given.refill(count, 0, 0, 3)
        return timed(lambda: verb(given, out))

    row("add_all, Arrow text", *best(rounds, lambda: python(ours.add_all),
                                     lambda: engine.bulk_add_texts(theirs, *where, count, room)),
        count, "C++")
    row("contains_all, Arrow text",
        *best(rounds, lambda: python(ours.contains_all),
              lambda: engine.bulk_ask_texts(theirs, *where, count, room)), count, "C++")
    engine.bulk_free(ctypes.c_void_p(theirs))
    few = [word.decode() for word in words[: count // 10]]
    listed = Set(len(few))
    row("update, list of str",
        *best(rounds, lambda: timed(lambda: (listed.clear(), listed.update(few))),
              lambda: timed(lambda: set(few))), len(few), "set(list)")


def peers():
    """Packages that are installed: name, a filter for n keys, its add and its test."""
    found = []
    for name, make in (
        ("flor", lambda m, n: m.BloomFilter(n=n, p=0.01)),
        ("pybloom_live", lambda m, n: m.BloomFilter(n, 0.01)),
        ("bloom_filter2", lambda m, n: m.BloomFilter(n, 0.01)),
        ("rbloom", lambda m, n: m.Bloom(n, 0.01)),
        ("fastbloom_rs", lambda m, n: m.BloomFilter(n, 0.01)),
    ):
        try:
            found.append((name, importlib.import_module(name), make))
        except ImportError:
            print(f"{name:<34} is not installed")
    return found


def one_key(count, rounds):
    numbers = [random.Random(21).getrandbits(60) for _ in range(count)]
    random.Random(21).shuffle(numbers)
    numbers = [n + i for i, n in enumerate(numbers)]
    ours, theirs = Set(count), set()

    def asking(there, keys):
        def loop():
            for key in keys:
                key in there

        return lambda: timed(loop)

    def adding(there, keys):
        def loop():
            add = there.add
            for key in keys:
                add(key)

        return lambda: timed(loop)

    # The first round adds; the others find the keys there, on both sides.
    row(f"add one int, {count} keys", *best(rounds, adding(ours, numbers), adding(theirs, numbers)),
        count, "set")
    row(f"one int in, {count} keys", *best(rounds, asking(ours, numbers), asking(theirs, numbers)),
        count, "set")
    words = [f"https://example.org/{n}" for n in numbers]
    texts_ours, texts_theirs = Set(words), set(words)
    row(f"one str in, {count} keys",
        *best(rounds, asking(texts_ours, words), asking(texts_theirs, words)), count, "set of str")
    few = [b"%d" % n for n in numbers[:2000]]
    for name, module, make in peers():
        filter_ = make(module, count)
        mine = Set(count)
        row("add one bytes", *best(rounds, adding(mine, few), adding(filter_, few)), len(few), name)
        row("one bytes in", *best(rounds, asking(mine, few), asking(filter_, few)), len(few), name)


def open_one(path, gate, told):
    gate.wait()
    begin = time.perf_counter()
    seen = Set.open(path, verify=False)
    seconds = time.perf_counter() - begin
    5 in seen
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:
        private = sum(int(line.split()[1]) for line in file if line.startswith("Private_"))
    told.put((seconds, private))


def processes(gigabytes):
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        path = Path(folder) / "set"
        made = Set(rate=0.01, memory=gigabytes << 30)
        made.add(5)
        made.save(path)
        made.close()
        gate, told = multiprocessing.Event(), multiprocessing.Queue()
        run = [multiprocessing.Process(target=open_one, args=(path, gate, told)) for _ in range(8)]
        for process in run:
            process.start()
        time.sleep(0.5)
        gate.set()
        facts = [told.get() for _ in run]
        for process in run:
            process.join()
        print(f"open a file of {path.stat().st_size / 2**30:.2f} GiB in 8 processes: at most "
              f"{max(f[0] for f in facts) * 1e3:.1f} ms each, at most "
              f"{max(f[1] for f in facts) / 1024:.1f} MiB private each")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gigabytes", type=int, default=4, help="of the file; 0: none")
    parser.add_argument("build", nargs="?", default=ROOT / "build/release")
    options = parser.parse_args()
    engine = ctypes.CDLL(str(Path(options.build, "bench", "bench_python_bulk.so")))
    engine.bulk_make.restype = ctypes.c_void_p
    engine.bulk_make.argtypes = [ctypes.c_uint64]
    for name in ("bulk_add", "bulk_ask"):
        getattr(engine, name).restype = ctypes.c_double
        getattr(engine, name).argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                                          ctypes.c_void_p]
        texts_call = getattr(engine, name + "_texts")
        texts_call.restype = ctypes.c_double
        texts_call.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                               ctypes.c_void_p]
    for count in (1000, 100_000, 1_000_000):
        one_key(count, options.rounds if count > 1000 else options.rounds * 40)
    bulk(engine, options.keys, options.rounds)
    texts(engine, options.keys, options.rounds)
    if options.gigabytes:
        processes(options.gigabytes)


if __name__ == "__main__":
    main()

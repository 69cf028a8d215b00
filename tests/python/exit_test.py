"""A program ends as it should while daemon threads are still at work on a set."""
import subprocess
import sys
import tempfile
import unittest

START = """
import itertools, sys, threading, time, numpy
from bloomery import Set

def begin(work):
    going = threading.Event()
    def run():
        going.set()
        while True:
            work()
    for _ in range(3):
        threading.Thread(target=run, daemon=True).start()
    going.wait()
    time.sleep(0.2)
"""


class Exit(unittest.TestCase):
    def ends_well(self, code, says=("",)):
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run([sys.executable, "-c", START + code], cwd=folder, timeout=120,
                                 capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(ran.stdout, says)
        self.assertEqual(ran.stderr, "")
        return ran.stdout

    def test_beside_threads_that_add_arrays(self):
        self.ends_well(
            "seen, keys = Set(10**6), numpy.arange(10**6)\nbegin(lambda: seen.update(keys))\n")

    def test_beside_threads_that_ask(self):
        self.ends_well(
            "seen, keys = Set(10**6), numpy.arange(10**6)\n"
            "begin(lambda: seen.contains_all(keys))\n")

    def test_beside_threads_whose_keys_come_from_a_generator(self):
        self.ends_well(
            "begin(lambda: Set(10**6).update(str(i) for i in itertools.count()))\n")

    def test_beside_threads_that_add_to_a_live_file(self):
        self.ends_well(
            "Set(10**6).save('x.live', live=True)\n"
            "seen = Set.open('x.live', live=True)\n"
            "number = itertools.count()\n"
            "begin(lambda: seen.add(next(number)))\n")

    def test_what_comes_last_does_not_wait_for_a_thread_that_is_gone(self):
        program = (
            "import os, types\n"
            "seen, keys = Set(10**6), numpy.arange(10**7)\n"
            "class Last:\n"
            "    def __init__(self): self.seen = seen\n"
            "    def __del__(self, write=os.write, sleep=time.sleep):\n"
            "        sleep(1)\n"
            "        try: self.seen.add(5)\n"
            "        except RuntimeError as error: write(1, str(error).encode())\n"
            "late = sys.modules['late'] = types.ModuleType('late')\n"
            "late.last = Last()\n"
            "begin(lambda: seen.update(keys))\n")
        sentence = ("another thread was using the set when the interpreter ended, and will never "
                    "finish: join() threads before")
        # On a busy machine all threads may have been between two calls when the interpreter ended.
        self.assertTrue(any(self.ends_well(program, ("", sentence)) for _ in range(10)))


if __name__ == "__main__":
    unittest.main()

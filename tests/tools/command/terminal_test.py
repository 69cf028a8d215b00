#!/usr/bin/env python3
"""The command on a terminal: progress after a second, colours, and a hint instead of a wait.

    BLOOMERY=path/to/bloomery terminal_test.py

Standard error is a pseudo terminal of 80 columns; lines come slowly from a pipe.
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BINARY = os.environ.get("BLOOMERY") or sys.exit("set BLOOMERY to the path of the command")
COLUMNS = 80
WIPE = b"\r\x1b[K"
# A pipe has no end to tell: bytes, lines a second, seconds so far, memory.
READING = re.compile(rb"\d[\d.]* (B|KiB)  \d+ lines/s  \d+\.\d+ s  memory [\d.]+ MiB")
# A file has: percent, bytes of total, time left.
OF_TOTAL = re.compile(
    rb"\[[= ]{6,24}\] \d+ %  [\d.]+ of [\d.]+ MiB  [\d.]+[kM]? lines/s  \d.* left"
    rb"  memory [\d.]+ MiB"
)


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    return {**kept, "TERM": "xterm", **more}


class Run:
    """What a command wrote to its terminal, to its standard output, and how it ended."""

    def __init__(self, words, lines=(), pause=0.0, terminal=True, stdin=None, stdout=None, **env):
        reader, writer = os.pipe()
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        heard = []

        def listen():
            while True:
                try:
                    chunk = os.read(master, 4096)
                except OSError:  # the last slave is closed
                    return
                if not chunk:
                    return
                heard.append(chunk)

        listener = threading.Thread(target=listen)
        child = subprocess.Popen(
            [BINARY, *map(str, words)],
            stdin=slave if stdin == "terminal" else reader,
            stdout=slave if stdout == "terminal" else subprocess.PIPE,
            stderr=slave if terminal else subprocess.PIPE,
            env=environment(**env),
        )
        os.close(reader)
        os.close(slave)
        listener.start()

        def feed():
            try:
                for line in lines:
                    os.write(writer, line)
                    time.sleep(pause)
            except BrokenPipeError:
                pass
            os.close(writer)

        feeder = threading.Thread(target=feed)
        feeder.start()
        self.out, err = child.communicate(timeout=60)
        feeder.join()
        listener.join()
        os.close(master)
        self.exit = child.returncode
        self.err = b"".join(heard) if terminal else err

    def drawings(self):
        """The lines that were drawn over each other."""
        return [part.split(b"\x1b[K")[0] for part in self.err.split(b"\r")]


TEXT = b"".join(b"%d\n" % i for i in range(24))
SLOW = {"lines": TEXT.splitlines(keepends=True), "pause": 0.06}


class Terminal(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="bloomery-terminal-")
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)
        self.lines = self.folder / "lines"
        self.lines.write_text("".join(f"{i}\n" for i in range(2000)))
        self.set = self.build("s.set", "-n", 40_000)
        self.counts = self.build("counting.set", "--kind", "counting")
        # Of its own: two that change a file wait for each other, and say so.
        self.shrinking = self.build("shrinking.set", "--kind", "counting")

    def build(self, name, *words):
        path = self.folder / name
        words = [BINARY, "build", "-q", *words, "-o", path, self.lines]
        subprocess.run([str(word) for word in words], check=True)
        return path

    def run_slowly(self, **more):
        """All slow commands at once; they wait most of the time."""
        commands = self.slow_commands()
        with ThreadPoolExecutor(len(commands)) as pool:
            runs = pool.map(lambda words: Run(words, **SLOW, **more), commands)
            return list(zip(commands, runs))

    def slow_commands(self):
        return [
            ["dedup", "--exact"],
            ["build", "-f", "-o", self.folder / "built.set"],
            ["build", "-f", "--kind", "bitmap", "--range", "0..99", "-o", self.folder / "b.set"],
            ["add", self.counts],
            ["remove", self.shrinking],
            ["check", self.set],
            ["check", "-c", self.set, "--verify", self.lines],
            ["count", self.counts],
        ]

    def test_a_slow_pipe_gets_a_bar_after_a_second_and_it_is_wiped(self):
        for words, ran in self.run_slowly():
            self.assertEqual(ran.exit, 0, (words, ran.err))
            self.assertRegex(ran.err, READING, words)
            self.assertIn(WIPE, ran.err, words)
            self.assertLess(max(map(len, ran.drawings())), COLUMNS, words)

    def test_integers_show_bytes_and_memory(self):
        ran = Run(["ints", "sort", "--range", "0..99"], **SLOW)
        self.assertEqual((ran.exit, ran.out), (0, TEXT))
        self.assertRegex(ran.err, rb"B  \d+\.\d+ s  memory [\d.]+ MiB")

    def test_what_is_no_terminal_stays_quiet(self):
        for words, ran in self.run_slowly(terminal=False):
            self.assertEqual((ran.exit, ran.err), (0, b""), words)

    def test_never_and_quiet_draw_nothing(self):
        for flags in [["--progress", "never"], ["-q"]]:
            ran = Run(["build", "-f", "-o", self.folder / "q.set", *flags], **SLOW)
            self.assertEqual((ran.exit, ran.err), (0, b""), flags)

    def test_a_short_command_draws_nothing(self):
        ran = Run(["check", "-c", self.set], lines=[b"7\n"])
        self.assertEqual((ran.exit, ran.out, ran.err), (0, b"1\n", b""))

    def test_data_on_the_same_terminal_is_not_drawn_over(self):
        ran = Run(["check", self.set], stdout="terminal", **SLOW)
        self.assertEqual((ran.exit, ran.err), (0, TEXT.replace(b"\n", b"\r\n")))
        ran = Run(["check", self.set, "--progress", "always"], stdout="terminal", **SLOW)
        self.assertIn(b"memory", ran.err)

    def test_files_have_a_bar_with_an_end(self):
        big = self.folder / "big"
        big.write_text("".join(f"{i}\n" for i in range(400_000)))
        # What is overfull is told after the bar was wiped: add comes last.
        for words in [["check", self.set, big], ["add", self.set, big], ["ints", "count", big]]:
            ran = Run([*words, "--progress", "always"], terminal=False)
            pattern = rb"\] \d+ %  .* of 2.56 MiB" if words[0] == "ints" else OF_TOTAL
            self.assertRegex(ran.err, pattern, words)
            self.assertTrue(ran.err.endswith(b"\x1b[K"), "the bar is wiped at the end")

    def test_phases_have_names(self):
        made = self.folder / "made.set"
        copy = self.folder / "copy.set"
        copy.write_bytes(self.set.read_bytes())
        for words, phases in [
            (["build", "-f", "-o", made, self.lines], [b"sorting", b"building", b"writing"]),
            (["build", "-f", "--kind", "fuse", "-o", made, self.lines], [b"building", b"writing"]),
            (["add", copy, self.lines], [b"reading", b"writing"]),
            (["remove", self.counts, self.lines], [b"reading", b"writing"]),
            (["merge", "union", "-f", "-o", made, self.set, copy], [b"made.set"]),
            (["fold", "-f", "-o", made, self.set], [b"made.set"]),
            (["verify", self.set], [b"verifying"]),
            (["info", self.set], [b"reading"]),
            (["info", "--measure=1000", self.set], [b"reading", b"measuring"]),
            (["check", "-c", self.set, "--verify", self.lines, self.lines], [b"list", b"again"]),
            (["bench", "--quick", "-n", 1000, "--kind", "blocked"], [b"measuring blocked"]),
        ]:
            ran = Run([*words, "--progress", "always"], terminal=False)
            self.assertEqual(ran.exit, 0, (words, ran.err))
            for phase in phases:
                self.assertIn(phase, ran.err, words)
            self.assertRegex(ran.err, rb"memory [\d.]+ (M|G)iB", words)

    def test_a_long_measurement_shows_how_far_it_is(self):
        # One and a half seconds would take 100 million strangers a second.
        words = ["info", "--measure=150M", self.set]
        ran = Run(words)
        self.assertEqual(ran.exit, 0, ran.err)
        self.assertRegex(ran.err, rb"measuring  \d+ %  .*strangers/s  .* left  memory")

    def test_bench_names_the_kind_it_measures(self):
        ran = Run(["bench", "--quick", "-n", 500_000, "--kind", "classic"])
        self.assertEqual(ran.exit, 0, ran.err)
        self.assertIn(b"Nanoseconds", ran.out)

    def test_a_terminal_as_input_gets_a_hint(self):
        for words in [*self.slow_commands(), ["ints", "sort"], ["check", "-s", self.set]]:
            ran = Run(words, stdin="terminal")
            self.assertEqual((ran.exit, ran.out), (2, b""), words)
            self.assertIn(b"standard input is a terminal", ran.err, words)
            self.assertIn(b" -h' helps", ran.err, words)

    def test_colours_only_on_terminals_and_not_against_the_will(self):
        red = b"\x1b[1;31merror:"
        self.assertIn(red, Run(["info", "missing"]).err)
        self.assertNotIn(b"\x1b", Run(["info", "missing"], NO_COLOR="1").err)
        self.assertIn(red, Run(["info", "missing"], NO_COLOR="").err)
        self.assertIn(red, Run(["info", "missing", "--color", "always"], NO_COLOR="1").err)
        self.assertNotIn(b"\x1b", Run(["info", "missing", "--color", "never"]).err)
        self.assertNotIn(b"\x1b", Run(["info", "missing"], terminal=False).err)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""dedup where things go wrong or are odd: closed and full outputs, files that vanish, lines of a
gigabyte, caps, signals, slow pipes. Its oracle is gawk '!seen[$0]++'.

    BLOOMERY=path/to/bloomery dedup_edges_test.py [SEED]

BLOOMERY_BIG=1 takes ten million random lines instead of one.
"""
import json
import os
import random
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

BINARY = os.environ.get("BLOOMERY") or sys.exit("set BLOOMERY to the path of the command")
SEED = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 20260705
RANDOM_LINES = 10_000_000 if os.environ.get("BLOOMERY_BIG") == "1" else 1_000_000
PATIENCE = 240  # seconds after which something hangs, on a machine with much else to do

# A process starts with the peak memory of the one it was forked from, so a small one measures.
MEASURE = """
import os, subprocess, sys
started = subprocess.Popen(sys.argv[2:])
_, status, used = os.wait4(started.pid, 0)
with open(sys.argv[1], "w") as told:
    told.write(str(used.ru_maxrss * 1024))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def dedup(*words, **more):
    return subprocess.run(
        [BINARY, "dedup", *map(str, words)], capture_output=True, timeout=PATIENCE, **more
    )


def shell(command, **more):
    """A pipeline; $B is the command."""
    more.setdefault("env", {**os.environ, "B": BINARY})
    return subprocess.run(["bash", "-c", command], capture_output=True, timeout=PATIENCE, **more)


class Edges(unittest.TestCase):
    def setUp(self):
        self.chance = random.Random(f"{SEED} {self.id()}")
        place = tempfile.TemporaryDirectory(prefix="bloomery-edges-")
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def started(self, *words, **more):
        run = subprocess.Popen(
            [BINARY, "dedup", *map(str, words)], cwd=self.folder, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, **more,
        )
        for pipe in (run.stdin, run.stdout, run.stderr):
            self.addCleanup(pipe.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        return run

    def assert_comes(self, pipe, expected, seconds=20):
        """These bytes come, without anything else happening."""
        got = b""
        end = time.monotonic() + seconds
        while len(got) < len(expected) and time.monotonic() < end:
            if select.select([pipe], [], [], 0.1)[0]:
                piece = os.read(pipe.fileno(), 1 << 16)
                if not piece:
                    break
                got += piece
        self.assertEqual(got, expected)

    def assert_one_sentence(self, stderr):
        self.assertRegex(stderr.decode(), r"\Abloomery: error: [^\n]+\n\Z")


class LikeGawk(Edges):
    def gawk(self, *paths):
        ran = subprocess.run(
            ["gawk", "!seen[$0]++", *paths], stdout=subprocess.PIPE, check=True,
            env={**os.environ, "LC_ALL": "C"},
        )
        return ran.stdout

    def assert_like_gawk(self, *paths):
        expected = self.gawk(*paths)
        for threads in (1, 2, 3, 8):
            ran = dedup("--exact", "-T", threads, *paths)
            self.assertEqual((ran.returncode, ran.stderr), (0, b""))
            self.assertTrue(ran.stdout == expected, f"differs with -T {threads}")
        if len(paths) > 1:
            return
        for threads in ("1", "2"):
            ran = shell('cat "$FILE" | "$B" dedup --exact -T "$T"', **self.args(paths[0], threads))
            self.assertEqual((ran.returncode, ran.stderr), (0, b""))
            self.assertTrue(ran.stdout == expected, "differs through a pipe")

    def args(self, path, threads):
        return {"env": {**os.environ, "B": BINARY, "FILE": str(path), "T": threads}}

    def any_bytes(self, count, longest):
        """Lines of any bytes but the newline, invalid UTF-8 among them, every second a repeat."""
        alphabet = bytes(byte for byte in range(256) if byte != 10)
        pool = [
            bytes(self.chance.choices(alphabet, k=self.chance.randrange(longest)))
            for _ in range(count // 2)
        ]
        return [self.chance.choice(pool) for _ in range(count)]

    def test_odd_lines(self):
        long = [bytes([65 + i]) * 200_000 for i in range(20)]
        cases = {
            "empty": b"",
            "one newline": b"\n",
            "empty lines": b"\n\na\n\nb\n\n",
            "no last newline": b"a\nb\na\nc",
            "no last newline, a repeat": b"a\nb\na",
            "CRLF": b"a\r\nb\na\r\na\nb\r\n\r\n\n\r\n",
            "200 KB lines": b"\n".join(self.chance.choice(long) for _ in range(60)) + b"\n",
            "200 KB lines that differ at the end": b"".join(
                b"y" * 200_000 + b"%d\n" % (i % 7) for i in range(30)
            ),
            "NUL bytes": b"a\0b\na\0c\na\0b\n\0\n\0\0\n\0\na\n",
            "any bytes": b"\n".join(self.any_bytes(20_000, 40)) + b"\n",
            "invalid UTF-8": b"\xff\n\xfe\xff\n\xc3\n\xc3\x28\n\xff\n\xed\xa0\x80\n\xc3\n",
            "1M repeats": b"the same line again\n" * 1_000_000,
        }
        for name, content in cases.items():
            with self.subTest(name):
                self.assert_like_gawk(self.write("lines", content))

    def test_random_lines(self):
        bits = (RANDOM_LINES - 1).bit_length()
        path = self.folder / "lines"
        with open(path, "wb") as out:
            for _ in range(RANDOM_LINES // 100_000):
                out.write(b"".join(b"%x\n" % self.chance.getrandbits(bits) for _ in range(100_000)))
        self.assert_like_gawk(path)

    def test_eight_files(self):
        paths = []
        for number in range(8):
            lines = [b"%d" % self.chance.randrange(60_000) for _ in range(20_000)]
            # Some without a last newline: their last line is whole all the same.
            paths.append(self.write(f"{number}", b"\n".join(lines) + b"\n" * (number % 2)))
        self.assert_like_gawk(*paths)

    def test_any_threads_print_the_same_also_when_lines_are_lost(self):
        lines = [b"%x\n" % self.chance.getrandbits(19) for _ in range(400_000)]
        path = self.write("lines", b"".join(lines))
        for flags in ([], ["-p", "10%"], ["-p", "10%", "--hardened"]):
            # A hardened hash draws its key; with one of its own it is the same each time.
            if "--hardened" in flags:
                flags = [*flags[:-1], "--key-file", self.write("key", b"0123456789abcdef")]
            outs = {dedup(*flags, "-T", threads, path).stdout for threads in (1, 2, 8)}
            self.assertEqual(len(outs), 1, flags)
            [out] = outs
            # Something was lost, else nothing was tried.
            self.assertEqual(out.count(b"\n") < len(set(lines)), bool(flags), flags)
        piped = {
            shell('cat "$FILE" | "$B" dedup -p 10% -T "$T"', **self.args(path, threads)).stdout
            for threads in ("1", "2", "8")
        }
        self.assertEqual(len(piped), 1)


class Outputs(Edges):
    def test_a_reader_that_goes_away_ends_it_quietly(self):
        ends = ['"$B" dedup -T 1', '"$B" dedup -T 2', '"$B" dedup -T 2 -o /dev/stdout',
                '"$B" dedup --exact', '"$B" dedup -T 1 -o /dev/stdout']
        for before in ("", "trap '' PIPE; "):
            for command in ends:
                ran = shell(f"{before}seq 10000000 2>/dev/null | {command} | head -1; "
                            "echo ${PIPESTATUS[1]}")
                self.assertEqual((ran.stdout, ran.stderr), (b"1\n0\n", b""), command)

    def test_a_reader_that_has_gone_is_noticed_while_the_input_stays_open(self):
        for threads in (1, 2, 4):
            run = self.started("-T", threads)
            run.stdin.write(b"a\n")
            self.assert_comes(run.stdout, b"a\n")
            run.stdout.close()
            run.stdin.write(b"b\n")
            self.assertEqual(run.wait(timeout=PATIENCE), 0)
            self.assertEqual(run.stderr.read(), b"")

    def test_a_full_disk(self):
        self.write("in", b"a\na\nb\n")
        self.write("many", b"".join(b"%d\n" % i for i in range(300_000)))
        for command in ('"$B" dedup in > /dev/full', '"$B" dedup many > /dev/full',
                        '"$B" dedup -T 1 many > /dev/full', '"$B" dedup -o /dev/full in',
                        '"$B" dedup -D /dev/full in > out', '"$B" dedup -i in > /dev/full',
                        'cat many | "$B" dedup --exact > /dev/full'):
            ran = shell(command, cwd=self.folder)
            self.assertEqual(ran.returncode, 2, command)
            self.assert_one_sentence(ran.stderr)
            self.assertIn(b"disk is full", ran.stderr)

    def test_files_that_may_not_grow_leave_what_was_there(self):
        self.write("in", b"".join(b"%d\n" % i for i in range(400_000)))
        self.write("first", b"x\ny\nz\n")
        there = self.write("there", b"before\n")
        begun = dedup("--exact", "--state", "S", "-o", "OUT", "first", cwd=self.folder)
        self.assertEqual(begun.returncode, 0, begun.stderr)
        state = (self.folder / "S").read_bytes()

        def limit():
            # Python ignores the signal for this, and children inherit that.
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))

        for words in (["-f", "-o", "there"], ["-D", "there", "-f", "in"],
                      ["--state", "S", "-o", "OUT"]):
            ran = dedup(*words, "in", cwd=self.folder, preexec_fn=limit)
            self.assertEqual(ran.returncode, 2, words)
            self.assert_one_sentence(ran.stderr)
        self.assertEqual(there.read_bytes(), b"before\n")
        self.assertEqual(len((self.folder / "S").read_bytes()), len(state))
        # With room again it goes on where it was.
        again = dedup("--exact", "--state", "S", "-o", "OUT", "in", cwd=self.folder)
        self.assertEqual((again.returncode, again.stderr), (0, b""))
        expected = b"x\ny\nz\n" + (self.folder / "in").read_bytes()
        self.assertTrue((self.folder / "OUT").read_bytes() == expected)

    def test_closed_descriptors_are_never_a_file_of_ours(self):
        self.write("in", b"a\na\nb\n")
        for command in ('"$B" dedup <&-', '"$B" dedup - in <&-', '"$B" dedup in >&-',
                        '"$B" dedup -D D in >&-', '"$B" dedup --state S in >&-',
                        '"$B" dedup in <&- >&-', '"$B" dedup --state S -D D in <&- >&-'):
            ran = shell(command, cwd=self.folder)
            self.assertEqual(ran.returncode, 2, command)
            self.assert_one_sentence(ran.stderr)
            self.assertEqual([one.name for one in self.folder.iterdir()], ["in"], command)
        for command in ('"$B" dedup -o OUT -f in <&- >&-', '"$B" dedup -o OUT -f in <&- >&- 2>&-'):
            self.assertEqual(shell(command, cwd=self.folder).returncode, 0, command)
            self.assertEqual((self.folder / "OUT").read_bytes(), b"a\nb\n")


class Inputs(Edges):
    def test_a_file_that_vanishes_before_its_turn(self):
        os.mkfifo(self.folder / "fifo")
        for threads in (1, 2):
            second = self.write("second", b"never read\n")
            run = self.started("-T", threads, "fifo", "second")
            with open(self.folder / "fifo", "wb") as pipe:
                pipe.write(b"one\ntwo\n")
                pipe.flush()
                self.assert_comes(run.stdout, b"one\ntwo\n")
                second.unlink()
                pipe.write(b"three\none\n")
            self.assertEqual(run.wait(timeout=PATIENCE), 2)
            self.assertEqual(run.stdout.read(), b"three\n")
            sentence = run.stderr.read()
            self.assert_one_sentence(sentence)
            self.assertIn(b"second", sentence)

    def test_a_file_that_is_cut_while_it_is_read(self):
        lines = b"".join(b"%07d\n" % i for i in range(2_000_000))
        for flags in (["-T", 1], ["-T", 2], ["--exact", "-m", "128M"]):
            path = self.write("in", lines)
            run = self.started(*flags, "in")
            os.read(run.stdout.fileno(), 8)
            os.truncate(path, 12)  # the run waits for us in the pipe now, with most of it unread
            got = run.stdout.read()
            self.assertEqual(run.wait(timeout=PATIENCE), 2)
            sentence = run.stderr.read()
            self.assert_one_sentence(sentence)
            self.assertIn(b"in became shorter while it was read", sentence)
            self.assertLess(len(got), len(lines) // 2)
            self.assertTrue(got.endswith(b"\n"))

    def test_what_can_not_be_read_is_named(self):
        self.write("in", b"a\n")
        (self.folder / "folder").mkdir()
        if os.geteuid() == 0:
            # Root may read anything but where the kernel says no.
            closed = "/proc/self/mem"
        else:
            self.write("closed", b"secret\n").chmod(0)
            closed = "closed"
        for name in ("folder", closed, "missing"):
            for words in ([name], ["in", name], ["--exact", "-T", 1, "in", name]):
                ran = dedup(*words, cwd=self.folder)
                self.assertEqual(ran.returncode, 2, words)
                self.assert_one_sentence(ran.stderr)
                self.assertIn(name.encode(), ran.stderr)


class Memory(Edges):
    def measured(self, command, **more):
        """A pipeline in which $M is the command, measured; gives also its peak memory."""
        told = self.folder / "peak"
        script = self.write("measure.py", MEASURE.encode())
        env = {**os.environ, "M": f"{sys.executable} -S {script} {told} {BINARY} dedup"}
        ran = shell(command, cwd=self.folder, env=env, **more)
        return ran, int(told.read_text())

    def test_a_line_of_a_gigabyte(self):
        with open(self.folder / "zeros", "wb") as sparse:
            sparse.truncate(1 << 30)
        # Its length and its last bytes; a digest would take longer than dedup.
        ran, peak = self.measured(
            "$M zeros | (head -c 1073741824 | tail -c 1 | od -An -tu1; od -c)"
        )
        self.assertEqual(ran.stdout.split(), [b"0", b"0000000", b"\\n", b"0000001"])
        self.assertEqual(ran.stderr, b"")
        self.assertLess(peak, 3 << 30)
        ran, peak = self.measured(
            "(head -c 1G /dev/zero | tr '\\0' x; echo; echo short; echo short) "
            "| $M -T 2 -m 64M | (head -c 1073741824 | tail -c 3; cat); echo ${PIPESTATUS[1]}"
        )
        self.assertEqual((ran.stdout, ran.stderr), (b"xxx\nshort\n0\n", b""))
        # The cap is for all but the line itself.
        self.assertLess(peak, (1 << 30) + (64 << 20) * 1.10)

    def test_caps_are_kept(self):
        subprocess.run("seq 2000000 > in; seq 100000 > few", shell=True, cwd=self.folder)
        refused = 0
        for cap, pipe_lines, some_threads in ((32, 7, (1, 2)), (64, 4, (1, 2)), (128, 7, (2,))):
            for threads in some_threads:
                for kind in ("", "--exact", "-p 1e-6"):
                    flags = f"-m {cap}M -T {threads} {kind}"
                    commands = [
                        f"cat few | $M {flags} | tail -1",
                        f"$M {flags} in | tail -1",
                        f"seq {pipe_lines}000000 | $M {flags} | tail -1",
                        f"rm -f S OUT; seq 2000000 | $M {flags} --state S -o OUT --checkpoint 50ms",
                    ]
                    for command in commands:
                        ran, peak = self.measured(command)
                        self.assertLessEqual(peak, cap * (1 << 20) * 1.10, command)
                        if b"bloomery: error" in ran.stderr:
                            refused += 1
                            self.assertIn(b"memory", ran.stderr, command)
                            self.assertNotEqual(kind, "-p 1e-6", command)
        self.assertGreater(refused, 0)

    def test_what_does_not_fit(self):
        subprocess.run("seq 6000000 > in", shell=True, cwd=self.folder)
        cases = [
            # A file is counted before, a pipe cannot be.
            ('"$B" dedup -m 20M in', 2, r"error: about [0-9,]+ different lines do not fit"),
            ('"$B" dedup -m 20M --exact in', 2, r"error: about [0-9,]+ different lines do not fit"),
            ('"$B" dedup -m 20M -n 6M in', 2, r"error: 6,000,000 keys \(--keys\) do not fit"),
            ('cat in | "$B" dedup -m 20M -p 1e-6', 0, r"warning: the set is overfull after [0-9]+"),
            ('cat in | "$B" dedup -m 20M -p 1e-6 --strict', 3, r"warning: the set is overfull "),
            ('cat in | "$B" dedup -m 20M', 2, r"error: the compact set cannot grow beyond"),
            ('cat in | "$B" dedup -m 20M --exact', 2, r"error: the exact set cannot grow beyond"),
            ('"$B" dedup -m 3M in', 2, r"error: --memory 3M leaves no room for the set"),
            # Without a cap it grows, whatever --keys said.
            ('"$B" dedup -n 1000 --exact --strict in', 0, r"^$"),
        ]
        for command, code, sentence in cases:
            ran = shell(command, cwd=self.folder)
            self.assertEqual(ran.returncode, code, (command, ran.stderr))
            self.assertRegex(ran.stderr.decode(), sentence)
            if command.startswith('"$B"') and code == 2:
                self.assertEqual(ran.stdout, b"", command)


class Signals(Edges):
    def test_a_run_that_is_ended_half_way_is_gone_on_with(self):
        numbers = [self.chance.randrange(1 << 19) for _ in range(600_000)]
        lines = [b"https://site.example/%d\n" % number for number in numbers]
        self.write("in", b"".join(lines))
        expected = b"".join(dict.fromkeys(lines))
        words = [BINARY, "dedup", "--exact", "--state", "S", "-o", "OUT"]
        words += ["--checkpoint", "1ms", "in"]
        half_way = 0
        for turn in range(20):
            for name in ("S", "OUT"):
                (self.folder / name).unlink(missing_ok=True)
            wanted = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP][turn % 3]
            run = subprocess.Popen(words, cwd=self.folder, stderr=subprocess.PIPE)
            time.sleep(self.chance.uniform(0, 0.3))
            run.send_signal(wanted)
            run.communicate()
            self.assertIn(run.returncode, (0, -wanted, 128 + wanted))
            half_way += run.returncode != 0 and (self.folder / "OUT").exists()
            again = subprocess.run(words, cwd=self.folder, capture_output=True)
            self.assertEqual((again.returncode, again.stderr), (0, b""))
            self.assertTrue((self.folder / "OUT").read_bytes() == expected)
        self.assertGreater(half_way, 0)


class Overfull(Edges):
    def test_the_warning_comes_when_it_happens(self):
        for threads in (1, 2):
            run = self.started("-m", "18M", "-p", "1e-6", "-T", threads, "--strict")
            # Nobody may wait for us to read what is printed.
            drain = threading.Thread(target=run.stdout.read)
            drain.start()
            warned = False
            lines = (b"".join(b"%d\n" % i for i in range(at, at + 100_000))
                     for at in range(0, 10_000_000, 100_000))
            for piece in lines:
                os.write(run.stdin.fileno(), piece)
                if select.select([run.stderr], [], [], 0)[0]:
                    warned = True
                    break
            warned = warned or bool(select.select([run.stderr], [], [], 20)[0])
            self.assertTrue(warned)
            self.assertRegex(run.stderr.readline().decode(),
                             r"^bloomery: warning: the set is overfull after [0-9,]+ lines, and ")
            self.assertIsNone(run.poll())
            run.stdin.close()
            self.assertEqual(run.wait(timeout=PATIENCE), 3)
            drain.join()

    def test_a_state_tells_its_honest_rate(self):
        # The state of a capped run does not grow.
        ran = shell('seq 3000000 | "$B" dedup -m 18M -p 1e-6 -T 2 --state S --stats --json > out',
                    cwd=self.folder)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        report = json.loads(ran.stderr.splitlines()[-1])
        told = subprocess.run([BINARY, "info", "--json", "--measure", "S"], cwd=self.folder,
                              capture_output=True, check=True)
        info = json.loads(told.stdout)
        self.assertTrue(info["overfull"])
        self.assertGreater(info["rate_now"], 10 * info["rate_asked"])
        self.assertAlmostEqual(info["rate_now"], report["rate_now"], delta=report["rate_now"] / 10)
        self.assertGreater(info["strangers_passed"], 0)
        self.assertLess(info["measured_low"] * 0.9, info["rate_now"])
        self.assertGreater(info["measured_high"] * 1.1, info["rate_now"])
        # What was lost is about what was told.
        lost = 3_000_000 - (self.folder / "out").read_bytes().count(b"\n")
        expected = report["expected_lost"]
        self.assertAlmostEqual(lost, expected, delta=expected / 4 + 10)


class SlowPipes(Edges):
    def test_lines_come_out_at_once(self):
        for threads in (1, 2, 4):
            for flags in ([], ["--exact"], ["-d", "\n\n"]):
                run = self.started("-T", threads, *flags)
                end = b"\n\n" if "-d" in flags else b"\n"
                for number in range(20):
                    line = b"line %d" % number + end
                    run.stdin.write(line + line)
                    self.assert_comes(run.stdout, line)
                run.stdin.close()
                self.assertEqual(run.wait(timeout=PATIENCE), 0)

    def test_half_a_line_holds_nothing_back(self):
        for threads in (1, 2, 4):
            run = self.started("-T", threads)
            for number in range(20):
                run.stdin.write(b"%d\n" % number)
                run.stdin.write(b"half")
                self.assert_comes(run.stdout, b"%d\n" % number)
                run.stdin.write(b" of %d\n" % number)
                self.assert_comes(run.stdout, b"half of %d\n" % number)

    def test_a_file_before_a_pipe_is_not_held_back(self):
        self.write("in", b"a\nb\na\n")
        os.mkfifo(self.folder / "fifo")
        for threads in (1, 2, 4):
            for pipe in ("-", "fifo"):
                run = self.started("-T", threads, "in", pipe)
                self.assert_comes(run.stdout, b"a\nb\n")
                with (run.stdin if pipe == "-" else open(self.folder / pipe, "wb")) as end:
                    end.write(b"b\nc\n")
                self.assert_comes(run.stdout, b"c\n")
                self.assertEqual(run.wait(timeout=PATIENCE), 0)

    def test_a_state_is_saved_while_the_pipe_is_silent(self):
        for threads in (1, 2, 4):
            for more in ([], ["-o", "OUT"]):
                for name in ("S", "OUT"):
                    (self.folder / name).unlink(missing_ok=True)
                run = self.started("-T", threads, "--exact", "--state", "S", *more,
                                   "--checkpoint", "200ms")
                for known in (2, 3):
                    run.stdin.write(b"".join(b"%d\n" % i for i in range(known)))
                    keys, end = -1, time.monotonic() + 20
                    while keys != known and time.monotonic() < end:
                        time.sleep(0.05)
                        told = subprocess.run([BINARY, "info", "--json", "S"], cwd=self.folder,
                                              capture_output=True)
                        keys = json.loads(told.stdout)["keys"] if told.returncode == 0 else -1
                    self.assertEqual(keys, known)
                    self.assertIsNone(run.poll())
                run.stdin.close()
                self.assertEqual(run.wait(timeout=PATIENCE), 0)


if __name__ == "__main__":
    print(f"seed {SEED}", flush=True)
    unittest.main()

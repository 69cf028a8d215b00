#!/usr/bin/env python3
"""dedup --serve shows the run that it is, and prints the lines that it would print unseen, whoever
watches it.

    BLOOMERY=path/to/bloomery dedup_serve_test.py
"""
import json
import os
import random
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from served import BLOOMERY, Served, events_of, until

SEED = int(os.environ.get("BLOOMERY_SERVE_SEED", "1"))
OF_REPORT = ["lines_in", "lines_out", "repeats", "memory_bytes", "expected_lost", "bytes_in",
             "kind"]


class DedupServe(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="bloomery-dedup-serve-")
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def dedup(self, *words, **more):
        return Served("dedup", "--serve", *words, cwd=self.folder, stdin=subprocess.PIPE, **more)

    def test_a_pipe_is_followed_line_by_line(self):
        with self.dedup("--json", "-o", "out") as served, served.watch() as stream:
            given, events = served.process.stdin, events_of(stream)
            run = next(events)[1]["runs"][0]
            self.assertEqual((run["lines_in"], run["state"], run["process"]),
                             (0, "running", served.process.pid))
            lines = 0
            # Also what comes at once behind other lines, before a silence.
            for count in (1, 1, 3, 5000, 1):
                given.write(b"".join(b"line %d\n" % (i % 1000) for i in range(count)))
                given.flush()
                lines += count
                run = next(one for _, one in events if one["runs"][0]["lines_in"] == lines)
                run = run["runs"][0]
                self.assertEqual(run["lines_out"] + run["repeats"], lines)
            self.assertEqual(run["lines_out"], 1000)
            metrics = served.get("/metrics").body.decode()
            self.assertIn('bloomery_dedup_lines_in_total{run="dedup"} 5006\n', metrics)
            self.assertIn('bloomery_dedup_lines_out_total{run="dedup"} 1000\n', metrics)
            self.assertIn('bloomery_dedup_running{run="dedup"} 1\n', metrics)
            history = served.get("/api/history.json").json()["series"]
            self.assertEqual([one["id"] for one in history], ["run"])
            self.assertEqual(history[0]["lines_in"][-1], 5006)
            given.close()
            rest = list(events)
            report = json.loads(served.process.stderr.read())
            self.assertEqual(served.process.wait(), 0)
            self.assertEqual([name for name, _ in rest[-2:]], ["status", "end"])
            last = rest[-2][1]["runs"][0]
            self.assertEqual(last["state"], "done")
            self.assertEqual({name: last[name] for name in OF_REPORT},
                             {name: report[name] for name in OF_REPORT})

    def test_all_files_of_a_run_count_together(self):
        for name in ("a", "b"):
            (self.folder / name).write_bytes(b"".join(b"%d\n" % i for i in range(3000)) * 2)
        with self.dedup("--in-place", "a", "b") as served, served.watch() as stream:
            last = [one for name, one in events_of(stream) if name == "status"][-1]["runs"][0]
            self.assertEqual(served.process.wait(), 0)
        self.assertEqual((last["name"], last["lines_in"], last["lines_out"]),
                         ("dedup a and 1 more", 12_000, 3_000))

    def test_hostile_clients_change_no_line(self):
        rng = random.Random(SEED)
        lines = [b"line %d\n" % rng.randrange(200_000) for _ in range(400_000)]
        wanted = b"".join(dict.fromkeys(lines))
        for words in ((), ("-p", "1e-9"), ("--exact", "-T", "3")):
            with self.subTest(words=words), self.dedup("-q", *words) as served:
                printed = []
                reader = threading.Thread(
                    target=lambda: printed.append(served.process.stdout.read()))
                reader.start()
                stop = threading.Event()
                troubles = [threading.Thread(target=self.trouble, args=(served, stop, seed))
                            for seed in range(4)]
                for one in troubles:
                    one.start()
                watching = [served.watch() for _ in range(100)]
                for first in range(0, len(lines), 40_000):
                    served.process.stdin.write(b"".join(lines[first:first + 40_000]))
                    served.process.stdin.flush()
                    self.assertEqual(served.get("/metrics").status, 200)
                until(lambda: served.status()["runs"][0]["lines_in"] == len(lines))
                self.assertEqual(served.status()["watchers"], 100)
                served.process.stdin.close()
                self.assertEqual(served.process.wait(), 0)
                stop.set()
                reader.join()
                for one in troubles:
                    one.join()
                for one in watching:
                    one.close()
                self.assertEqual(printed[0], wanted)

    @staticmethod
    def trouble(served, stop, seed):
        """Requests that break in every way, until it is told to stop or the server is gone."""
        rng = random.Random(seed)
        held = []
        while not stop.is_set():
            try:
                one = socket.create_connection((served.host, served.port), 5)
                one.settimeout(5)
                one.sendall(rng.choice([
                    b"", b"GET ", rng.randbytes(100), b"X" * 20_000,
                    b"GET /api/events HTTP/1.1\r\nHost: evil.example\r\n\r\n",
                    b"GET /api/history.json HTTP/1.1\r\nHost: localhost\r\n\r\n",
                    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n123456789",
                ]))
                held.append(one)
            except OSError:
                pass
            if len(held) > 40:
                for old in held:
                    old.close()
                held.clear()
        for old in held:
            old.close()

    def test_a_run_that_fails_or_is_stopped_ends_at_once(self):
        with self.dedup("-o", "out", "--state", "state") as served, served.watch() as stream:
            served.process.stdin.write(b"a\nb\n")
            served.process.stdin.flush()
            until(lambda: served.status()["runs"][0]["lines_in"] == 2)
            self.assertEqual(served.end(signal.SIGINT), -signal.SIGINT)
            self.assertEqual([name for name, _ in events_of(stream)][-1], "end")
        self.assertEqual((self.folder / "out").read_bytes(), b"a\nb\n")
        with self.dedup() as served, served.watch():
            self.assertEqual(served.end(signal.SIGTERM), -signal.SIGTERM)
        with self.dedup("--json-key", ".id", "-o", "out2") as served, served.watch() as stream:
            until(lambda: served.status()["watchers"] == 1)
            served.process.stdin.write(b"no json\n")
            served.process.stdin.close()
            self.assertEqual(served.process.wait(), 2)
            self.assertEqual([name for name, _ in events_of(stream)][-1], "end")

    def test_others_need_the_token_of_the_file(self):
        (self.folder / "token").write_text("a-token-of-sixteen\n")
        for words, said in ((["--serve=0.0.0.0:0"], "can be reached from other machines"),
                            (["--serve=nowhere"], "--serve does not take 'nowhere'"),
                            (["--token-file", "token"], "give --serve")):
            done = subprocess.run([BLOOMERY, "dedup", *words], cwd=self.folder, input=b"a\n",
                                  capture_output=True, timeout=20)
            self.assertEqual((done.returncode, done.stdout), (2, b""), words)
            self.assertIn(said, done.stderr.decode())
        served = Served("dedup", "--serve=0.0.0.0:0", "--token-file", "token", cwd=self.folder,
                        stdin=subprocess.PIPE)
        with served:
            served.host = "127.0.0.1"
            self.assertEqual(served.get("/metrics").status, 401)
            self.assertEqual(
                served.get("/metrics", Authorization="Bearer a-token-of-sixteen").status, 200)


if __name__ == "__main__":
    unittest.main()

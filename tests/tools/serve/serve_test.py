#!/usr/bin/env python3
"""bloomery serve shows what `info --json` tells, over time, as JSON, events and metrics.

    BLOOMERY=path/to/bloomery serve_test.py
"""
import json
import os
import re
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from redis_server import RedisServer
from served import BLOOMERY, Served, events_of, until

# The same names and values as in info --json; the others of status.json are its own.
OF_INFO = ["kind", "keys", "keys_estimated", "capacity", "bytes", "bits_per_key", "fill",
           "rate_asked", "rate_now", "hash", "hardened", "room_left", "overfull"]
SAMPLE = re.compile(r'([a-z_]+)(\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})? (\S+)')


def samples(text):
    """{(name, labels): value}; refuses what Prometheus would."""
    types, helped, found, last = {}, set(), {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            helped.add(line.split()[2])
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name in helped and name not in types and kind in ("gauge", "counter"), line
            assert (kind == "counter") == name.endswith("_total"), line
            types[name] = last = kind and name
        else:
            match = SAMPLE.fullmatch(line)
            assert match, line
            assert match[1] == last, f"{line} is not under its TYPE"
            key = (match[1], match[3] or "")
            assert key not in found, f"twice: {line}"
            found[key] = float(match[4])
    return found


class Serve(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="bloomery-serve-")
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def run_command(self, *words, lines=b""):
        done = subprocess.run([BLOOMERY, *words], cwd=self.folder, input=lines,
                              capture_output=True)
        self.assertEqual(done.returncode, 0, (words, done.stderr))
        return done.stdout

    def build(self, name, keys, *words):
        self.run_command("build", "-q", "-f", "-o", name, *words,
                         lines=b"".join(b"%d\n" % key for key in range(keys)))

    def serve(self, *sets, words=("--every", "100ms"), **more):
        return Served("serve", "--listen", "127.0.0.1:0", *words, *sets, cwd=self.folder, **more)

    def expect_as_info(self, seen, name):
        info = json.loads(self.run_command("info", "--json", name))
        self.assertEqual({key: seen[key] for key in OF_INFO}, {key: info[key] for key in OF_INFO})

    def test_sets_of_every_sort_are_told_as_info_tells_them(self):
        self.build("blocked.set", 20_000, "-p", "1%")
        self.build("fuse.set", 5_000, "--kind", "fuse")
        self.build("exact.set", 5_000, "--kind", "hash-set")
        self.build("live.set", 5_000, "--live", "-n", "50k")
        self.run_command("dedup", "--state", "state.set", "-o", "out", lines=b"a\nb\na\n")
        names = ["blocked.set", "fuse.set", "exact.set", "live.set", "state.set"]
        with self.serve(*names) as served:
            sets = {one["name"]: one for one in served.status()["sets"]}
            self.assertEqual(list(sets), names)
            for name in names:
                with self.subTest(name=name):
                    self.expect_as_info(sets[name], name)
                    self.assertEqual(sets[name]["file_bytes"],
                                     (self.folder / name).stat().st_size)
                    self.assertEqual(sets[name]["facts_from"], "bits")
            self.assertEqual(sets["live.set"]["live_state"], "closed")
            self.assertEqual((sets["state.set"]["output_bytes"], sets["state.set"]["output_ended"]),
                             (4, True))

    def test_what_does_not_change_is_told_as_of_now(self):
        self.build("a.set", 1_000)
        with self.serve("a.set") as served, served.watch() as stream:
            events = events_of(stream)
            grown = {}
            while len(grown) < 4:  # the first looks may wait for a busy machine
                seen = next(events)[1]["sets"][0]
                self.assertGreaterEqual(seen["time"], max(grown, default=0))
                grown[seen["time"]] = seen["keys_per_second"]
            times = list(grown)
            self.assertEqual([grown[time] for time in times[1:]], [0, 0, 0])
            series = served.get("/api/history.json").json()["series"][0]
            self.assertLess(set(times[1:]), set(series["time"]))

    def test_a_set_is_followed_as_it_changes(self):
        self.build("a.set", 1_000, "-n", "1M", "-p", "1%")
        with self.serve("a.set") as served, served.watch() as stream:
            events = events_of(stream)
            self.assertEqual(next(events)[1]["sets"][0]["keys"], 1_000)
            self.run_command("add", "-q", "a.set", lines=b"x\ny\nz\n")
            for name, status in events:
                self.assertEqual(name, "status")
                if status["sets"][0]["keys"] != 1_000:
                    break
            self.assertEqual(status["sets"][0]["keys"], 1_003)
            self.expect_as_info(status["sets"][0], "a.set")
            self.assertGreater(status["sets"][0]["keys_per_second"], 0)
            os.unlink(self.folder / "a.set")
            gone = next(one for _, one in events if "error" in one["sets"][0])["sets"][0]
            self.assertIn("a.set cannot be read: No such file", gone["error"])
            self.assertNotIn("keys", gone)
            series = served.get("/api/history.json").json()["series"][0]
            self.assertEqual(series["name"], "a.set")
            self.assertEqual({series["keys"][0], *series["keys"]}, {1_000, 1_003, None})
            self.assertEqual(series["time"], sorted(series["time"]))
            self.assertLessEqual(series["time"][-1], served.status()["sets"][0]["time"])
            self.assertEqual(len(series["fill"]), len(series["time"]))

    def test_a_live_set_is_followed_while_it_is_open(self):
        self.build("live.set", 100, "--live", "-n", "100k", "--kind", "blocked")
        with self.serve("live.set") as served:
            adding = subprocess.Popen([BLOOMERY, "add", "-q", "live.set"], cwd=self.folder,
                                      stdin=subprocess.PIPE)
            adding.stdin.write(b"".join(b"new %d\n" % i for i in range(70_000)))
            adding.stdin.flush()
            until(lambda: served.status()["sets"][0].get("live_state") == "in use")
            adding.stdin.close()
            self.assertEqual(adding.wait(), 0)
            seen = until(lambda: [one for one in served.status()["sets"]
                                  if one.get("live_state") == "closed" and one["keys"] > 60_000])[0]
            self.expect_as_info(seen, "live.set")

    def test_what_cannot_be_read_is_a_sentence(self):
        (self.folder / "text").write_text("a\nb\n")
        (self.folder / "empty").write_bytes(b"")
        self.build("damaged.set", 1_000)
        damaged = self.folder / "damaged.set"
        data = bytearray(damaged.read_bytes())
        data[-100] ^= 1
        damaged.write_bytes(data)
        os.mkfifo(self.folder / "pipe")
        names = ["text", "empty", "damaged.set", "pipe", ".", "redis://127.0.0.1:1/0/x"]
        with self.serve(*names) as served:
            sets = served.status()["sets"]
            self.assertEqual(len(sets), len(names))
            for name, seen in zip(names, sets):
                self.assertIn("error", seen, name)
                self.assertNotIn("kind", seen)
                self.assertIn(seen["error"], served.said)
            self.assertEqual(sets[3]["error"], "pipe is not a file")
            metrics = samples(served.get("/metrics").body.decode())
            self.assertEqual([value for (name, _), value in metrics.items()
                              if name == "bloomery_set_up"], [0] * len(names))
            self.assertEqual(served.end(signal.SIGTERM), 0)

    def test_a_large_file_is_told_by_its_head(self):
        self.build("large.set", 1_000, "--kind", "blocked", "-n", "80M", "-p", "1%")
        with self.serve("large.set") as served:
            seen = served.status()["sets"][0]
        info = json.loads(self.run_command("info", "--json", "large.set"))
        self.assertEqual(seen["facts_from"], "head")
        for name in ("kind", "keys", "capacity", "bytes", "file_bytes", "overfull"):
            self.assertEqual(seen[name], info[name], name)
        self.assertNotIn("fill", seen)

    def test_metrics_have_the_numbers_of_the_status(self):
        odd = 'a "b" \\ c\nd.set'
        self.build(odd, 1_000)
        self.build("b.set", 3_000_000, "-n", "1M", "-p", "1%", "--kind", "blocked")
        with self.serve(odd, "b.set") as served:
            reply = served.get("/metrics")
            self.assertEqual(reply.headers["content-type"],
                             "text/plain; version=0.0.4; charset=utf-8")
            metrics = samples(reply.body.decode())
            first, second = served.status()["sets"]
            label = 'set="a \\"b\\" \\\\ c\\nd.set"'
            self.assertEqual(metrics["bloomery_set_keys", label], first["keys"])
            self.assertEqual(metrics["bloomery_set_info", label + ',kind="' + first["kind"] + '"'],
                             1)
            other = 'set="b.set"'
            for name, key in (("keys", "keys"), ("capacity_keys", "capacity"),
                              ("fill_ratio", "fill"), ("false_positive_ratio", "rate_now"),
                              ("size_bytes", "bytes"), ("file_size_bytes", "file_bytes")):
                self.assertEqual(metrics["bloomery_set_" + name, other], second[key], name)
            self.assertEqual(metrics["bloomery_set_overfull", other], 1)
            self.assertEqual(metrics["bloomery_set_overfull", label], 0)

    def test_a_set_on_a_server(self):
        with RedisServer() as server:
            url = f"redis://127.0.0.1:{server.port}/0/seen"
            self.run_command("build", "-q", "-o", url, "-n", "10k", "-p", "1%",
                             lines=b"".join(b"%d\n" % key for key in range(5_000)))
            with self.serve(url) as served:
                self.expect_as_info(served.status()["sets"][0], url)
                self.assertEqual(served.status()["sets"][0]["epoch"], 1)
                server.stop()
                until(lambda: "error" in served.status()["sets"][0])
                self.assertEqual(served.end(signal.SIGTERM), 0)

    def test_signals_end_it_at_once_with_watchers(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.serve(words=("--every", "100ms")) as served, served.watch() as stream:
                events = events_of(stream)
                self.assertEqual(next(events)[1]["runs"], [])
                self.assertEqual(served.end(number), 0)
                self.assertEqual([name for name, _ in events][-1], "end")

    def test_the_address_is_printed_for_programs(self):
        with self.serve(words=("--json", "--color", "never")) as served:
            told = json.loads(served.process.stdout.readline())
            self.assertEqual(told, {"url": f"http://127.0.0.1:{served.port}/"})

    def test_a_key_file_opens_what_is_hardened(self):
        (self.folder / "key").write_text("00112233445566778899aabbccddeeff\n")
        self.build("hard.set", 100, "--hardened", "--key-file", "key")
        with self.serve("hard.set") as served:
            self.assertIn("key", served.status()["sets"][0]["error"])
        with self.serve("hard.set", words=("--key-file", "key")) as served:
            self.assertTrue(served.status()["sets"][0]["hardened"])

    def test_what_is_refused_before_it_listens(self):
        (self.folder / "short").write_text("abc\n")
        for words, said in (
            (["--listen", "0.0.0.0:0"], "can be reached from other machines"),
            (["--listen", "example.org:80"], "--listen does not take 'example.org:80'"),
            (["--listen", "127.0.0.1:99999"], "--listen does not take"),
            (["--listen", "203.0.113.7:0", "--token", "0123456789abcdef"], "cannot listen"),
            (["--token", "short"], "a token is 16 to 256"),
            (["--token-file", "short"], "a token is 16 to 256"),
            (["--token-file", "none"], "none cannot be read"),
            (["--token", "x" * 16, "--token-file", "short"], "exclude each other"),
            (["--every", "1ms"], "give at least 100ms"),
            (["a.set", "a.set"], "named twice"),
        ):
            done = subprocess.run([BLOOMERY, "serve", *words], cwd=self.folder,
                                  capture_output=True, text=True, timeout=20)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(said, done.stderr)
        with self.serve() as served:
            done = subprocess.run(
                [BLOOMERY, "serve", "--listen", f"127.0.0.1:{served.port}"],
                capture_output=True, text=True, timeout=20)
            self.assertEqual(done.returncode, 2)
            self.assertIn("another program has it", done.stderr)


if __name__ == "__main__":
    unittest.main()

"""Sets on a real Redis Cluster: three masters, three replicas, workers that share a set through it.

The cluster is started once for all tests here, and is stopped whatever happens.
"""
import json
import os
import random
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from redis_cluster import RedisCluster

BLOOMERY = os.environ["BLOOMERY"]
SEED = 20261115
URLS = 1_000_000


def setUpModule():
    global cluster
    print(f"seed {SEED}")
    cluster = RedisCluster(masters=3, replicas=1)
    unittest.addModuleCleanup(cluster.stop)


def url(name):
    return f"redis://127.0.0.1:{cluster.port}/0/{name}"


def run(*words, code=0, **more):
    done = subprocess.run([BLOOMERY, *words], capture_output=True, text=True, timeout=300, **more)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done


class Worker:
    """A dedup that reads lines from us: the last of them only when we say so."""

    def __init__(self, lines, output, *flags):
        self.lines = lines
        self.may_end = threading.Event()
        self.half_way = threading.Event()
        self.process = subprocess.Popen(
            [BLOOMERY, "dedup", "--json", "-o", output, *flags],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        self.feeder = threading.Thread(target=self.feed)
        self.feeder.start()

    def feed(self):
        kept_back = len(self.lines) // 10
        try:
            self.write(self.lines[: len(self.lines) // 5])
            self.half_way.set()
            self.write(self.lines[len(self.lines) // 5 : -kept_back])
            self.may_end.wait()
            self.write(self.lines[-kept_back:])
            self.process.stdin.close()
        except BrokenPipeError:
            self.half_way.set()

    def write(self, lines):
        """At most 40,000 a second: replicas that share two cores with everybody must keep up, since
        a master is given five seconds to hand over."""
        for first in range(0, len(lines), 4000):
            self.process.stdin.write("".join(lines[first : first + 4000]))
            time.sleep(0.1)

    def end(self):
        self.may_end.set()
        self.feeder.join()
        with self.process.stderr:
            said = self.process.stderr.read()
        return self.process.wait(), said


class ManyWorkers(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = Path(self.directory.name)

    def test_two_workers_print_each_url_once_while_slots_move_and_a_replica_takes_over(self):
        choose = random.Random(SEED)
        urls = [f"https://example.com/{choose.getrandbits(40):x}/{i}\n" for i in range(URLS)]
        share = URLS * 6 // 10
        halves = [urls[:share], urls[-share:]]
        choose.shuffle(halves[1])
        outputs = [str(self.root / f"out{i}") for i in range(2)]
        flags = ["--state", url("frontier") + "?timeout=60s", "-n", str(URLS)]
        workers = [Worker(half, out, *flags) for half, out in zip(halves, outputs)]
        try:
            for worker in workers:
                worker.half_way.wait()
            # The shards of a 1M set lie some 200 slots apart; their migration is what is tried.
            moved = cluster.move_slots(first=100, count=1100, to=1)
            cluster.fail_over(0)
            cluster.fail_over(2)
            moved += cluster.move_slots(first=100, count=300, to=0)
            self.assertGreaterEqual(moved, 4)
            self.assertEqual([None, None], [worker.process.poll() for worker in workers])
        finally:
            ends = [worker.end() for worker in workers]
        reports = []
        for code, said in ends:
            self.assertEqual(0, code, said)
            reports.append(json.loads(said.splitlines()[-1]))
        printed = [line for out in outputs for line in Path(out).read_text().splitlines(True)]
        doubts = sum(report["in_doubt"] for report in reports)
        # At 1e-6 about 0.2 of a million are lost while the set fills; ten would be a wonder.
        self.assertLessEqual(len(printed) - len(set(printed)), doubts)
        self.assertGreaterEqual(len(set(printed)), URLS - 10)
        self.assertEqual(set(), set(printed) - set(urls))
        self.assertEqual(0, doubts)
        counted = sum(report["lines_out"] for report in reports)
        self.assertEqual(len(printed), counted)

    def test_every_member_is_found_through_any_node_after_slots_moved(self):
        keys = self.root / "keys"
        keys.write_text("".join(f"key {i}\n" for i in range(50_000)))
        run("build", "-o", url("moved"), str(keys))
        cluster.move_slots(first=8000, count=600, to=0)
        for server in cluster.masters + [one for some in cluster.replicas for one in some]:
            found = run("check", "-c", f"redis://127.0.0.1:{server.port}/0/moved", str(keys))
            self.assertEqual("50000\n", found.stdout)
        cluster.move_slots(first=8000, count=600, to=1)

    def test_bytes_lie_evenly_and_in_small_keys(self):
        # 54M keys would fill them; what counts here is where they lie.
        run("dedup", "--state", url("even"), "-n", "54M", "-p", "1%", input="one\n")
        info = json.loads(run("info", "--json", url("even")).stdout)
        self.assertGreaterEqual(info["shards"], 1000)
        self.assertLessEqual(info["largest_key_bytes"], 1 << 20)
        bytes_of = []
        for server in cluster.masters:
            shards = [key for key in cluster.keys(server) if key.startswith("even.")]
            bytes_of.append(sum(int(cluster.ask(server, "STRLEN", key)) for key in shards))
        self.assertEqual(info["bytes"] + info["shards"], sum(bytes_of))
        self.assertLessEqual(max(bytes_of) / (sum(bytes_of) / len(bytes_of)), 1.1)
        for server in cluster.masters:
            for key in cluster.keys(server):
                if key.startswith("even."):
                    cluster.ask(server, "UNLINK", key)

    def test_replicas_answer_when_asked_to(self):
        keys = self.root / "keys"
        keys.write_text("".join(f"member {i}\n" for i in range(20_000)))
        run("build", "-o", url("copies"), str(keys))
        cluster.wait("replicas have it all", cluster.all_caught_up)
        cluster.wait("all nodes tell the same of each other", cluster.all_agree)
        for server in cluster.servers:
            cluster.ask(server, "CONFIG", "RESETSTAT")
        found = run("check", "-c", url("copies") + "?read=replicas", str(keys))
        self.assertEqual("20000\n", found.stdout)

        def asks(server):
            stats = cluster.ask(server, "INFO", "commandstats")
            lines = [line for line in stats.splitlines() if line.startswith("cmdstat_getrange:")]
            return int(lines[0].split("calls=")[1].split(",")[0]) if lines else 0

        self.assertEqual(0, sum(asks(server) for server in cluster.masters))
        self.assertEqual(20_000, sum(asks(one) for some in cluster.replicas for one in some))

    def test_a_database_other_than_0_is_refused(self):
        other = f"redis://127.0.0.1:{cluster.port}/3/seen"
        said = run("info", other, code=2).stderr
        self.assertIn("database", said)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Filters of bloomery.so on a Redis Cluster of three: moved while they are added to, failed over.

    BLOOMERY_MODULE=path/to/bloomery.so redis_module_cluster_test.py
"""
import random
import threading
import time
import unittest

from redis_cluster import SLOTS, RedisCluster
from redis_module import MODULE
from resp import Resp, RespError

SEED = 20260717
FILTERS = 40  # of each family


class ClusterClient:
    """Follows MOVED and ASK, as clients of a cluster do."""

    def __init__(self, port):
        self.first = port
        self.lines = {}
        self.redirected = 0

    def line(self, port):
        if port not in self.lines:
            self.lines[port] = Resp(port)
        return self.lines[port]

    def ask(self, *words):
        port, asking = self.first, False
        for _ in range(50):
            line = self.line(port)
            if asking:
                line.ask("ASKING")
            reply = line.ask(*words)
            told = str(reply).split() if isinstance(reply, RespError) else [""]
            if told[0] in ("MOVED", "ASK"):
                port, asking = int(told[2].rpartition(":")[2]), told[0] == "ASK"
                self.redirected += told[0] == "ASK"
                continue
            if told[0] in ("TRYAGAIN", "CLUSTERDOWN"):
                time.sleep(0.02)
                continue
            return reply
        raise RuntimeError(f"{words[:2]} finds no node")

    def close(self):
        for line in self.lines.values():
            line.close()


class Load:
    """Adds to random filters until it is stopped, and remembers what was answered."""

    def __init__(self, port, seed):
        self.client = ClusterClient(port)
        self.chance = random.Random(seed)
        self.added = {}
        self.failed = []
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def step(self, number):
        family = self.chance.choice(["BF", "CF"])
        key = f"{family}{self.chance.randrange(FILTERS)}"
        items = [f"{number}-{n}" for n in range(5)]
        command = [f"{family}.INSERT", key, "ITEMS", *items]
        reply = self.client.ask(*command)
        if not isinstance(reply, list) or any(part not in (0, 1) for part in reply):
            self.failed.append((command[:2], reply))
        else:
            self.added.setdefault(key, []).extend(items)

    def run(self):
        number = 0
        try:
            while not self.stopped.is_set():
                self.step(number)
                number += 1
        except Exception as error:  # told by the test, which waits for the thread
            self.failed.append(error)

    def lost(self):
        gone = []
        for key, items in self.added.items():
            for at in range(0, len(items), 500):
                group = items[at : at + 500]
                answers = self.client.ask(f"{key[:2]}.MEXISTS", key, *group)
                gone += [(key, item) for item, found in zip(group, answers) if not found]
        return gone


class Cluster(unittest.TestCase):
    def cluster(self, engine, replicas):
        options = ["--loadmodule", MODULE, "ENGINE", engine]
        cluster = RedisCluster(masters=3, replicas=replicas, options=options)
        self.addCleanup(cluster.stop)
        return cluster

    def load(self, cluster):
        load = Load(cluster.port, SEED)
        self.addCleanup(load.client.close)
        return load

    def reshard_under_load(self, engine):
        cluster = self.cluster(engine, replicas=0)
        load = self.load(cluster)
        for number in range(300):
            load.step(-1 - number)
        load.thread.start()
        try:
            moved = sum(
                cluster.move_slots(first, 600, to)
                for to, first in [(2, 0), (0, SLOTS // 3), (1, 2 * SLOTS // 3)]
            )
            time.sleep(0.2)
        finally:
            load.stopped.set()
            load.thread.join()
        self.assertEqual(load.failed, [], f"seed {SEED}")
        self.assertGreater(moved, 0)
        self.assertEqual(load.lost(), [], f"seed {SEED}")
        self.assertEqual(sum(map(len, map(cluster.keys, cluster.masters))), len(load.added))

    def test_a_reshard_under_load_loses_no_member_of_native_filters(self):
        self.reshard_under_load("native")

    def test_a_reshard_under_load_loses_no_member_of_compat_filters(self):
        self.reshard_under_load("compat")

    def test_a_failover_loses_no_member(self):
        cluster = self.cluster("native", replicas=1)
        load = self.load(cluster)
        for number in range(500):
            load.step(number)
        for number in range(3):
            cluster.fail_over(number)
        self.assertEqual(load.failed, [])
        self.assertEqual(load.lost(), [], f"seed {SEED}")

    def test_keys_of_one_command_lie_in_one_slot(self):
        cluster = self.cluster("native", replicas=0)
        client = ClusterClient(cluster.port)
        self.addCleanup(client.close)
        self.assertEqual(client.ask("BF.RESERVE", "{t}a", 0.01, 100), "OK")
        self.assertEqual(client.ask("BF.RESERVE", "{t}b", 0.01, 100, "LIKE", "{t}a"), "OK")
        client.ask("BF.ADD", "{t}b", "x")
        self.assertIsInstance(client.ask("BF.MERGE", "{t}a", "{t}b"), bytes)
        self.assertEqual(client.ask("BF.EXISTS", "{t}a", "x"), 1)
        for words in [("BF.MERGE", "{t}a", "{u}b"),
                      ("BF.RESERVE", "{u}c", 0.01, 100, "LIKE", "{t}a")]:
            self.assertIn("CROSSSLOT", str(client.ask(*words)), words)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""What a filter takes, and what MEMORY USAGE and INFO tell of it: the truth, everywhere the same.

    BLOOMERY_MODULE=path/to/bloomery.so redis_memory_test.py
"""
import time
import unittest

from redis_module import MODULE, OK, ModuleCase
from redis_server import RedisServer
from resp import Resp

FILTERS = 400
# An empty server takes some MB; a filter that is freed aside takes at least this much.
LARGE = 32 << 20
# RedisBloom 2.8 on Redis 7.0, a filter of one item made by ADD.
REDISBLOOM = {"BF": 347, "CF": 1178}


def fields(flat):
    return dict(zip(flat[::2], flat[1::2]))


class Memory(ModuleCase):
    options = ["--enable-debug-command", "yes"]

    def used(self):
        return int(self.two.ask("INFO", "memory").split(b"used_memory:")[1].split()[0])

    def empty(self):
        """FLUSHALL, and what a thread of the module still frees of large filters is free too."""
        self.two.ask("FLUSHALL", "SYNC")
        self.until(lambda: self.used() < LARGE)

    def fill(self, family, key, items):
        words = ["CF.INSERT", key, "ITEMS"] if family == "CF" else ["BF.MADD", key]
        return [*words, *range(items)]

    def taken(self, family, items, *reserve):
        """What the server says it uses more for each of many such filters, and what it is told."""
        keys = [f"{family}{n:06}" for n in range(FILTERS if items < 1000 else FILTERS // 10)]
        # Twice, since the server counts the buffers of clients as well.
        for _ in range(2):
            self.empty()
            before = self.used()
            if reserve:
                self.two.pipeline([[f"{family}.RESERVE", key, *reserve] for key in keys])
            self.two.pipeline([self.fill(family, key, items) for key in keys])
            used = (self.used() - before) / len(keys)
        told = sum(self.two.pipeline([["MEMORY", "USAGE", key] for key in keys])) / len(keys)
        return used, told

    def test_one_item_takes_no_more_than_in_redisbloom(self):
        for family, most in REDISBLOOM.items():
            used, told = self.taken(family, 1)
            self.assertLessEqual(used, most, family)
            self.assertLessEqual(told, most, family)

    def test_memory_usage_tells_what_the_server_uses(self):
        compat = [100, "ENGINE", "compat"]
        for family, items, *reserve in [
            ("BF", 1), ("BF", 32), ("BF", 33), ("BF", 100), ("BF", 3000), ("BF", 40, 0.01, 20000),
            ("BF", 100, 0.01, 100, "WINDOW", 500), ("BF", 100, 0.01, *compat),
            ("CF", 1), ("CF", 128), ("CF", 129), ("CF", 3000), ("CF", 90, *compat),
        ]:
            with self.subTest(family=family, items=items, reserve=reserve):
                used, told = self.taken(family, items, *reserve)
                # Up to 80 bytes go to the key and to what the allocator rounds.
                self.assertLess(abs(used - told), 80 + used / 10)

    def test_info_tells_the_capacity_that_was_reserved(self):
        ask = self.two.ask
        for capacity in [1, 100, 101, 4096, 4097, 1_000_000, 2**30]:
            ask("FLUSHALL")
            ask("BF.RESERVE", "b", 0.01, capacity)
            ask("CF.RESERVE", "c", max(4, capacity))
            ask("BF.RESERVE", "n", 0.01, capacity, "NONSCALING")
            for items in [0, 1, min(capacity, 5000)]:
                for key in "bn":
                    if items:
                        ask("BF.MADD", key, *range(items))
                    self.assertEqual(ask("BF.INFO", key, "CAPACITY"), [capacity], (key, items))
                if items:
                    ask("CF.INSERTNX", "c", "ITEMS", *range(items))
                told = fields(ask("CF.INFO", "c"))
                places = told[b"Number of buckets"] * told[b"Bucket size"]
                self.assertIn(places - max(4, capacity), [0, 1], items)
        # Beyond it the capacity is the room that there is.
        ask("BF.MADD", "grown", *range(5000))
        self.assertGreaterEqual(ask("BF.INFO", "grown", "CAPACITY")[0], ask("BF.CARD", "grown"))

    def test_the_same_on_a_replica_and_after_a_reload(self):
        replica_server = RedisServer("--loadmodule", MODULE, *self.options, "--replicaof",
                                     f"127.0.0.1 {self.server.port}")
        self.addCleanup(replica_server.stop)
        replica = Resp(replica_server.port)
        self.addCleanup(replica.close)
        self.two.ask("CONFIG", "SET", "repl-diskless-sync-delay", 0)
        self.until(lambda: b"master_link_status:up" in replica.ask("INFO", "replication"))
        for items in [0, 1, 31, 32, 33, 127, 128, 129, 1000, 20_000]:
            for engine in ["native", "compat"]:
                for family, *words in [("BF", 0.01, 500), ("CF", 500)]:
                    key = f"{family}{engine}{items}"
                    self.two.ask(f"{family}.RESERVE", key, *words, "ENGINE", engine)
                    if items:
                        self.two.ask(*self.fill(family, key, items))
                    for item in range(0, items, 3):
                        if family == "CF":
                            self.two.ask("CF.DEL", key, item)
        keys = [key.decode() for key in self.two.ask("KEYS", "*")]
        there = self.facts(self.two, keys)
        self.assertEqual(self.two.ask("WAIT", 1, 10_000), 1)
        self.assertEqual(self.facts(replica, keys), there)
        self.assertEqual(self.two.ask("DEBUG", "RELOAD"), OK)
        self.assertEqual(self.facts(self.two, keys), there)

    def until(self, condition):
        for _ in range(2000):
            if condition():
                return
            time.sleep(0.01)
        self.fail("the replica did not come")

    def facts(self, redis, keys):
        return {key: (redis.ask("MEMORY", "USAGE", key), redis.ask(f"{key[:2]}.INFO", key),
                      redis.ask("DEBUG", "DIGEST-VALUE", key)) for key in keys}


if __name__ == "__main__":
    unittest.main()

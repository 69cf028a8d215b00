#!/usr/bin/env python3
"""Filters of bloomery.so outlive reloads, restarts, kills, failovers and moves, bit for bit.

    BLOOMERY_MODULE=path/to/bloomery.so redis_durability_test.py [COMMANDS]

COMMANDS random commands (2000 if not told) make the filters of each test; what they added is
asked for afterwards, and DEBUG DIGEST compares every bit.
"""
import random
import sys
import time
import unittest

from redis_module import MODULE
from redis_server import RedisServer
from resp import Resp, RespError

COMMANDS = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 2000
SEED = 20260715
PATIENCE = 60.0
OPTIONS = ["--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0"]
# What a replica may have set otherwise without getting other filters.
OTHER_SETTINGS = ["ERROR_RATE", "0.2", "INITIAL_SIZE", "7", "EXPANSION_FACTOR", "3"]
OTHER_SETTINGS += ["CF_INITIAL_SIZE", "8", "CF_BUCKET_SIZE", "3", "CF_MAX_EXPANSIONS", "1"]
OTHER_SETTINGS += ["MAX_KEY_BYTES", "1024"]
OTHER_ENGINE = {"native": "compat", "compat": "native"}


class Commands:
    """Random commands on some filters, and what must be in them afterwards."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.blooms, self.cuckoos = {}, {}
        self.number = 0

    def fresh(self):
        self.number += 1
        return f"{self.chance.getrandbits(32):x}-{self.number}"

    def next(self):
        choose = self.chance
        items = [self.fresh() for _ in range(choose.choice([1, 1, 1, 5, 20]))]
        if choose.random() < 0.5:
            key = f"b{choose.randrange(5)}"
            if key not in self.blooms:
                self.blooms[key] = set()
                if choose.random() < 0.5:
                    # Not 10 and 1: the rates of a thousand links of RedisBloom are too small for
                    # a number, and the filter takes no more.
                    capacity, expansion = choose.choice([(10, 2), (10, 4), (1000, 1), (1000, 2)])
                    return ["BF.RESERVE", key, choose.choice([0.1, 0.01, 0.001]), capacity,
                            "EXPANSION", expansion]
            self.blooms[key].update(items)
            if choose.random() < 0.3:
                return ["BF.INSERT", key, "CAPACITY", 50, "ERROR", 0.02, "ITEMS", *items]
            return ["BF.MADD", key, *items]
        key = f"c{choose.randrange(3)}"
        if key not in self.cuckoos:
            self.cuckoos[key] = []
            return ["CF.RESERVE", key, choose.choice([100, 20000]), "EXPANSION", 2]
        held = self.cuckoos[key]
        turn = choose.random()
        if held and turn < 0.3:
            return ["CF.DEL", key, held.pop(choose.randrange(len(held)))]
        if turn < 0.32:
            return ["CF.COMPACT", key]
        held += items
        return ["CF.INSERT", key, "ITEMS", *items]

    def run(self, redis, count=None):
        for _ in range(count or COMMANDS):
            words = self.next()
            reply = redis.ask(*words)
            for part in reply if isinstance(reply, list) else [reply]:
                if isinstance(part, RespError) or part == -1:
                    raise AssertionError(f"{words[:4]}: {reply}")

    def lost(self, redis):
        """Members that are not found; there shall be none."""
        gone = []
        for command, filters in [("BF.MEXISTS", self.blooms), ("CF.MEXISTS", self.cuckoos)]:
            for key, items in filters.items():
                items = list(items)
                for at in range(0, len(items), 1000):
                    group = items[at : at + 1000]
                    answers = redis.ask(command, key, *group)
                    gone += [(key, item) for item, found in zip(group, answers) if not found]
        return gone


class Compat(unittest.TestCase):
    engine = "compat"

    def setUp(self):
        self.commands = Commands(f"{SEED} {self.id()}")

    def start(self, *options, words=()):
        words = words or ["ENGINE", self.engine]
        server = RedisServer("--loadmodule", MODULE, *words, *OPTIONS, *options)
        self.addCleanup(server.stop)
        return server

    def client(self, server):
        redis = Resp(server.port)
        self.addCleanup(redis.close)
        return redis

    def other_settings(self):
        return [*OTHER_SETTINGS, "ENGINE", OTHER_ENGINE[self.engine]]

    def digest(self, redis):
        return redis.ask("DEBUG", "DIGEST")

    def check(self, redis, digest):
        self.assertEqual(self.commands.lost(redis), [], f"seed {SEED}")
        self.assertEqual(self.digest(redis), digest, f"seed {SEED}")

    def until(self, happened, what):
        end = time.monotonic() + PATIENCE
        while not happened():
            if time.monotonic() > end:
                self.fail(f"{what} did not happen within {PATIENCE} s")
            time.sleep(0.02)

    def restarted(self, server):
        server.kill()
        server.start()
        return self.client(server)

    # -- one server -------------------------------------------------------------------------------

    def test_debug_reload(self):
        redis = self.client(self.start())
        self.commands.run(redis)
        digest = self.digest(redis)
        self.assertEqual(redis.ask("DEBUG", "RELOAD"), "OK")
        self.check(redis, digest)

    def test_save_and_restart(self):
        server = self.start()
        redis = self.client(server)
        self.commands.run(redis)
        digest = self.digest(redis)
        self.assertEqual(redis.ask("SAVE"), "OK")
        self.check(self.restarted(server), digest)

    def append_only(self, preamble):
        # What was written outlives a kill without reaching the disk; only a machine that fails asks
        # for more, and the next test pays for it.
        server = self.start("--appendonly", "yes", "--aof-use-rdb-preamble", preamble,
                            "--appendfsync", "no")
        redis = self.client(server)
        self.commands.run(redis, COMMANDS // 2)
        redis.ask("BGREWRITEAOF")
        done = lambda: b"aof_rewrite_in_progress:0" in redis.ask("INFO", "persistence") and \
            b"aof_rewrite_scheduled:0" in redis.ask("INFO", "persistence")
        self.until(done, "the rewrite")
        self.assertIn(b"aof_last_bgrewrite_status:ok", redis.ask("INFO", "persistence"))
        self.commands.run(redis, COMMANDS // 2)
        digest = self.digest(redis)
        self.check(self.restarted(server), digest)

    def test_killed_with_an_append_only_file_that_began_as_rdb(self):
        self.append_only("yes")

    def test_killed_with_an_append_only_file_of_commands(self):
        self.append_only("no")

    def test_killed_when_every_command_is_synced(self):
        server = self.start("--appendonly", "yes", "--appendfsync", "always")
        redis = self.client(server)
        self.commands.run(redis, COMMANDS // 4)
        digest = self.digest(redis)
        self.check(self.restarted(server), digest)

    def test_an_append_only_file_loads_under_other_settings(self):
        server = self.start("--appendonly", "yes", "--appendfsync", "no")
        redis = self.client(server)
        self.commands.run(redis)
        digest = self.digest(redis)
        server.options[2:4] = self.other_settings()
        self.check(self.restarted(server), digest)

    def test_copy_dump_and_restore(self):
        redis = self.client(self.start())
        self.commands.run(redis, COMMANDS // 4)
        for key in [*self.commands.blooms, *self.commands.cuckoos]:
            value = redis.ask("DEBUG", "DIGEST-VALUE", key)
            self.assertEqual(redis.ask("COPY", key, "copy"), 1)
            self.assertEqual(redis.ask("DEBUG", "DIGEST-VALUE", "copy"), value)
            self.assertEqual(redis.ask("RESTORE", "twin", 0, redis.ask("DUMP", key)), "OK")
            self.assertEqual(redis.ask("DEBUG", "DIGEST-VALUE", "twin"), value)
            # A change of the copy leaves the original alone.
            redis.ask("BF.ADD" if key[0] == "b" else "CF.ADD", "copy", "only in the copy")
            self.assertNotEqual(redis.ask("DEBUG", "DIGEST-VALUE", "copy"), value)
            self.assertEqual(redis.ask("DEBUG", "DIGEST-VALUE", key), value)
            self.assertEqual(redis.ask("UNLINK", "copy", "twin"), 2)
        self.assertEqual(self.commands.lost(redis), [])

    def test_memory_usage_and_its_return(self):
        redis = self.client(self.start())
        used = lambda: int(redis.ask("INFO", "memory").split(b"used_memory:")[1].split()[0])
        before = used()
        redis.ask("BF.RESERVE", "b", 0.01, 10_000_000)
        redis.ask("CF.RESERVE", "c", 8_000_000)
        # Bytes are taken as keys come; reserved bits all at once, with the first that need them.
        redis.ask("BF.MADD", "b", *range(1000))
        for n in range(0, 500_000, 1000):
            redis.ask("CF.INSERT", "c", "ITEMS", *range(n, n + 1000))
        sizes = [redis.ask("MEMORY", "USAGE", key) for key in "bc"]
        self.assertGreater(sizes[0], 10_000_000)
        self.assertGreater(sizes[1], 500_000)
        self.assertGreater(used() - before, sum(sizes) * 0.95, "Redis does not count our bytes")
        self.assertLess(used() - before, sum(sizes) * 1.3, "MEMORY USAGE does not count our bytes")
        redis.ask("UNLINK", "b", "c")
        self.until(lambda: used() - before < 1_000_000, "giving the memory back")
        freed = lambda: b"lazyfreed_objects:2" in redis.ask("INFO", "memory")
        self.until(freed, "counting what another thread freed")

    # -- several servers --------------------------------------------------------------------------

    def in_step(self, primary, replica):
        offset = lambda redis, name: redis.ask("INFO", "replication").split(name)[1].split()[0]

        def caught_up():
            if b"master_link_status:up" not in replica.ask("INFO", "replication"):
                return False
            return offset(primary, b"master_repl_offset:") == offset(replica, b"slave_repl_offset:")

        self.until(caught_up, "replication")

    def pair(self):
        server, other = self.start(), self.start(words=self.other_settings())
        primary, replica = self.client(server), self.client(other)
        self.assertEqual(replica.ask("REPLICAOF", "127.0.0.1", server.port), "OK")
        return primary, replica

    def test_a_replica_gets_what_was_and_what_comes(self):
        server, other = self.start(), self.start(words=self.other_settings())
        primary, replica = self.client(server), self.client(other)
        self.commands.run(primary, COMMANDS // 2)
        replica.ask("REPLICAOF", "127.0.0.1", server.port)
        self.in_step(primary, replica)
        self.check(replica, self.digest(primary))
        self.commands.run(primary, COMMANDS // 2)
        self.in_step(primary, replica)
        self.check(replica, self.digest(primary))

    def test_a_replica_that_was_cut_off_goes_on_where_it_was(self):
        primary, replica = self.pair()
        self.in_step(primary, replica)
        self.commands.run(primary, COMMANDS // 2)
        self.assertEqual(primary.ask("CLIENT", "KILL", "TYPE", "replica"), 1)
        self.commands.run(primary, 50)
        self.until(lambda: b"sync_partial_ok:1" in primary.ask("INFO", "stats"), "a partial sync")
        self.in_step(primary, replica)
        self.check(replica, self.digest(primary))

    def test_a_failover_after_loadchunk_loses_nothing(self):
        source = self.client(self.start())
        self.commands.run(source, COMMANDS // 4)
        primary, replica = self.pair()
        self.in_step(primary, replica)
        for family, filters in [("BF", self.commands.blooms), ("CF", self.commands.cuckoos)]:
            for key in filters:
                position = 0
                while True:
                    position, piece = source.ask(f"{family}.SCANDUMP", key, position)
                    if position == 0:
                        break
                    self.assertEqual(primary.ask(f"{family}.LOADCHUNK", key, position, piece), "OK")
        self.in_step(primary, replica)
        replica.ask("REPLICAOF", "NO", "ONE")
        self.check(replica, self.digest(source))

    def test_what_fails_or_changes_nothing_is_not_replicated(self):
        primary, replica = self.pair()
        self.in_step(primary, replica)
        lines = ["BF.RESERVE b 0.01 1 NONSCALING", "BF.ADD b a", "CF.ADD c a"]
        for line in lines:
            primary.ask(*line.split())
        self.in_step(primary, replica)
        replica.ask("CONFIG", "RESETSTAT")
        for line in [*lines[:2], "BF.ADD b other", "BF.MADD b a x", "BF.LOADCHUNK b 1 x",
                     "BF.EXISTS b a", "CF.ADDNX c a", "CF.DEL c x", "CF.LOADCHUNK c 1 x",
                     "CF.INSERTNX c ITEMS a", "BF.RESERVE d 0 1"]:
            primary.ask(*line.split())
        primary.ask("SET", "mark", 1)
        self.in_step(primary, replica)
        heard = replica.ask("INFO", "commandstats")
        self.assertIn(b"cmdstat_set:", heard)
        self.assertNotIn(b"cmdstat_bf.", heard)
        self.assertNotIn(b"cmdstat_cf.", heard)

    def test_migrate_moves_a_filter_whole(self):
        server, other = self.start(), self.start()
        here, there = self.client(server), self.client(other)
        self.commands.run(here, COMMANDS // 4)
        digest = self.digest(here)
        for key in [*self.commands.blooms, *self.commands.cuckoos]:
            self.assertEqual(here.ask("MIGRATE", "127.0.0.1", other.port, key, 0, 10000), "OK")
        self.assertEqual(here.ask("DBSIZE"), 0)
        self.check(there, digest)


class Native(Compat):
    engine = "native"


if __name__ == "__main__":
    unittest.main()

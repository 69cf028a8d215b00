#!/usr/bin/env python3
"""A module whose C++ finds no memory replies with an error, and a save in the background tells the
log: the server and its filters live on.

    BLOOMERY_MODULE=path/to/bloomery.so FAILING_NEW_SHIM=path/to/failing_new.so \
        redis_no_memory_test.py
"""
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path

from redis_module import MODULE
from redis_server import RedisServer
from resp import Resp, RespError

SHIM = os.environ.get("FAILING_NEW_SHIM") or sys.exit("set FAILING_NEW_SHIM to failing_new.so")
NO_MEMORY = "ERR not enough memory"
MEMBERS = [f"member{n}" for n in range(300)]


def commands(family):
    """Every command of a family, on a filter that is there and on one that is not."""
    words = [f"word{n}" for n in range(1000)]
    both = [
        ["RESERVE", "new", *(["0.01"] if family == "BF" else []), 5000],
        ["ADD", "old", "x"],
        ["ADD", "newer", "x"],
        ["INSERT", "old", "ITEMS", *words],
        ["INSERT", "newest", "CAPACITY", 100, "ITEMS", *words],
        ["EXISTS", "old", MEMBERS[0]],
        ["MEXISTS", "old", *words, *MEMBERS],
        ["INFO", "old"],
        ["DEBUG", "old"],
        ["SCANDUMP", "old", 0],
        ["SCANDUMP", "old", 1],
        ["LOADCHUNK", "loaded", 1, b"\0" * 64],
        ["LOADCHUNK", "old", 2, b"\0" * 64],
    ]
    own = {
        "BF": [["MADD", "old", *words], ["CARD", "old"], ["MERGE", "united", "old"],
               ["INFO", "old", "SIZE"]],
        "CF": [["ADDNX", "old", "y"], ["INSERTNX", "old", "ITEMS", *words], ["COUNT", "old", "x"],
               ["DEL", "old", "x"], ["COMPACT", "old"]],
    }
    return [[f"{family}.{name}", *rest] for name, *rest in both + own[family]]


class NoMemory(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.switch = Path(scratch.name) / "fail"
        named = {"LD_PRELOAD": SHIM, "FAILING_NEW": str(self.switch)}
        before = {name: os.environ.get(name) for name in named}
        os.environ.update(named)
        try:
            self.server = RedisServer("--loadmodule", MODULE)
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value
        self.addCleanup(self.server.stop)
        self.redis = Resp(self.server.port)
        self.addCleanup(self.redis.close)

    def check_family(self, family, engine):
        redis = self.redis
        redis.ask("FLUSHALL")
        reserve = ["0.001", 100] if family == "BF" else [100]
        self.assertEqual(redis.ask(f"{family}.RESERVE", "old", *reserve, "ENGINE", engine), "OK")
        # Long enough to have left the list of the first hashes.
        redis.ask(f"{family}.INSERT", "old", "ITEMS", *MEMBERS)
        refused = 0
        self.switch.touch()
        try:
            for command in [*commands(family), ["COPY", "old", "copied"]]:
                with self.subTest(command=command[:3]):
                    reply = redis.ask(*command)
                    refused += isinstance(reply, RespError) and str(reply) == NO_MEMORY
                    # One reply, whole: the next command gets its own.
                    self.assertEqual(redis.ask("PING"), "PONG")
        finally:
            self.switch.unlink()
        self.assertGreater(refused, 0, "no command ran out of memory")
        for n in range(0, len(MEMBERS), 50):
            some = MEMBERS[n:n + 50]
            self.assertEqual(redis.ask(f"{family}.MEXISTS", "old", *some), [1] * len(some))
        self.assertIn(redis.ask(f"{family}.ADD", "old", "afterwards"), (0, 1))
        self.assertEqual(redis.ask(f"{family}.EXISTS", "old", "afterwards"), 1)

    def test_every_command_replies_and_no_member_is_lost(self):
        for engine in ("native", "compat"):
            for family in ("BF", "CF"):
                with self.subTest(family=family, engine=engine):
                    self.check_family(family, engine)
        self.assertIsNone(self.server.process.poll())

    def saved_in_background(self):
        """What BGSAVE came to, as the server tells it."""
        self.redis.ask("BGSAVE")
        end = time.monotonic() + 20
        while time.monotonic() < end:
            told = self.redis.ask("INFO", "persistence").decode().split("\r\n")
            if "rdb_bgsave_in_progress:0" in told:
                return next(line for line in told if line.startswith("rdb_last_bgsave_status"))
            time.sleep(0.02)
        return "it never ended"

    def test_a_save_without_memory_ends_itself_and_leaves_the_server(self):
        self.redis.ask("BF.INSERT", "old", "ITEMS", *MEMBERS)
        self.assertEqual(self.saved_in_background(), "rdb_last_bgsave_status:ok")
        saved = (self.server.directory / "dump.rdb").read_bytes()
        self.switch.touch()
        try:
            self.assertEqual(self.saved_in_background(), "rdb_last_bgsave_status:err")
        finally:
            self.switch.unlink()
        self.assertIn("a filter cannot be saved: not enough memory", self.server.log())
        self.assertEqual((self.server.directory / "dump.rdb").read_bytes(), saved)
        self.assertEqual(self.redis.ask("BF.MEXISTS", "old", *MEMBERS), [1] * len(MEMBERS))
        self.assertEqual(self.saved_in_background(), "rdb_last_bgsave_status:ok")


if __name__ == "__main__":
    unittest.main()

"""bloomery.so on a real redis-server, for tests: where it is, what many expect, a server to ask.

    class Replies(ModuleCase):
        options = ["ENGINE", "compat"]

        def test_adding(self):
            self.check_replies([([], "BF.ADD f a", *flag(1))])

BLOOMERY_MODULE names the module; without it a test that imports this ends at once.
"""
import os
import struct
import sys
import unittest

from redis_laws import signed
from redis_server import RedisServer
from resp import Resp, RespError

MODULE = os.environ.get("BLOOMERY_MODULE") or sys.exit("set BLOOMERY_MODULE to bloomery.so")
WRONG_TYPE = RespError("WRONGTYPE Operation against a key holding the wrong kind of value")
NOT_FOUND = RespError("ERR not found")
OK = "OK"


def error(text):
    return RespError(text)


def arity(command):
    return error(f"ERR wrong number of arguments for '{command.lower()}' command")


# -- a reply in RESP2 and in RESP3 ----------------------------------------------------------------


def both(reply):
    return reply, reply


def flag(number):
    """0 or 1, which is a boolean in RESP3."""
    return number, number == 1


def flags(*numbers):
    """An array of them."""
    return list(numbers), [number == 1 for number in numbers]


class ModuleCase(unittest.TestCase):
    """One server with the module for all tests of a class, empty before each.

    `options` follow the module on the command line; `two` and `three` speak RESP2 and RESP3."""

    options = []

    @classmethod
    def setUpClass(cls):
        cls.server = RedisServer("--loadmodule", MODULE, *cls.options)
        cls.addClassCleanup(cls.server.stop)
        cls.two, cls.three = Resp(cls.server.port), Resp(cls.server.port, protocol=3)
        cls.addClassCleanup(cls.two.close)
        cls.addClassCleanup(cls.three.close)

    def setUp(self):
        self.two.ask("FLUSHALL")

    def check_replies(self, table):
        """Rows: what went before, the command, its reply in RESP2, in RESP3."""
        for before, line, *expected in table:
            for redis, reply in zip((self.two, self.three), expected):
                with self.subTest(line=line, protocol=2 if redis is self.two else 3):
                    self.two.ask("FLUSHALL")
                    for words in before:
                        self.two.ask(*words)
                    got = redis.ask(*line.split(" "))
                    self.assertEqual(got, reply)
                    self.assertEqual(repr(got), repr(reply))  # 1 is not True

    def check_dump(self, key, law):
        """Byte for byte what the independent encoder says. The version of the format, in the last
        ten bytes, is the server's own: 10 for Redis 7.0, 11 for Valkey 8.0."""
        dump = self.two.ask("DUMP", key)
        (version,) = struct.unpack("<H", dump[-10:-8])
        self.assertGreaterEqual(version, 10)
        self.assertEqual(dump, signed(law.payload()[:-10], version))

    def check_docs(self, commands):
        """Commands of one key, which COMMAND DOCS and COMMAND INFO know."""
        for command in commands:
            with self.subTest(command=command):
                docs = self.three.ask("COMMAND", "DOCS", command)[command.encode()]
                self.assertTrue(docs[b"summary"])
                self.assertEqual(docs[b"arguments"][0][b"type"], b"key")
                info = self.two.ask("COMMAND", "INFO", command)[0]
                self.assertNotEqual(info[1], -1, "an arity of -1 is that of a command unknown")
                self.assertEqual(info[3:6], [1, 1, 1])

#!/usr/bin/env python3
"""Cursors of SCANDUMP are exact in clients whose numbers are doubles: node-redis from npm, Lua.

    BLOOMERY_MODULE=path/to/bloomery.so BLOOMERY_SOURCE=. redis_cursors_test.py

Each case copies filters of several chunks and compares the copies byte for byte.
"""
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from redis_module import OK, ModuleCase

SOURCE = Path(os.environ.get("BLOOMERY_SOURCE") or sys.exit("set BLOOMERY_SOURCE"))
NODE_MODULES = SOURCE / "build" / "node" / "node_modules"
DEBIAN_PYTHON = "/usr/bin/python3"
LARGEST = 2**53 - 1  # the largest integer below which a double holds every integer

LUA = """
local position, chunks = 0, 0
while chunks < 1000 do
  local got = redis.call(ARGV[1] .. '.SCANDUMP', KEYS[1], position)
  position = got[1]
  if position == 0 then return chunks end
  redis.call(ARGV[1] .. '.LOADCHUNK', KEYS[2], position, got[2])
  chunks = chunks + 1
end
return redis.error_reply('ERR no end after 1000 chunks')
"""

PYTHON = """
import sys, redis
client = redis.Redis(port=int(sys.argv[1]))
family = getattr(client, sys.argv[2])()
position = chunks = 0
while True:
    position, piece = family.scandump(sys.argv[3], position)
    if position == 0:
        break
    family.loadchunk(sys.argv[4], position, piece)
    chunks += 1
print(chunks)
"""


class Cursors(ModuleCase):
    options = ["--enable-debug-command", "yes"]
    # Family, key, least chunks. Reserved and grown: bits, then shards.
    filters = [("BF", "grown", 3), ("BF", "reserved", 4), ("BF", "window", 2), ("CF", "counts", 3),
               ("BF", "compat", 2)]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        ask = cls.two.ask
        ask("BF.RESERVE", "reserved", 0.001, 600_000)
        ask("BF.RESERVE", "window", 0.01, 100, "WINDOW", 20_000)
        ask("BF.RESERVE", "compat", 0.01, 100_000, "ENGINE", "compat")
        for key, command, count in [("grown", "BF.MADD", 700_000), ("reserved", "BF.MADD", 700_000),
                                    ("window", "BF.MADD", 30_000), ("compat", "BF.MADD", 1000),
                                    ("counts", "CF.INSERT", 400_000)]:
            before = ["ITEMS"] if command == "CF.INSERT" else []
            cls.two.pipeline([[command, key, *before, *range(at, at + 1000)]
                              for at in range(0, count, 1000)])

    def setUp(self):
        self.two.ask("DEL", "twin")

    def check_copy(self, key, chunks, least):
        self.assertGreaterEqual(chunks, least, key)
        self.assertEqual(self.two.ask("DEBUG", "DIGEST-VALUE", "twin"),
                         self.two.ask("DEBUG", "DIGEST-VALUE", key), key)
        self.two.ask("DEL", "twin")

    def test_every_cursor_is_below_2_to_the_53(self):
        for family, key, least in self.filters:
            position, cursors = 0, []
            while True:
                position, piece = self.two.ask(f"{family}.SCANDUMP", key, position)
                if position == 0:
                    break
                cursors.append(position)
                self.assertEqual(self.two.ask(f"{family}.LOADCHUNK", "twin", position, piece), OK)
            self.assertLessEqual(max(cursors), LARGEST, key)
            self.assertEqual(len(set(cursors)), len(cursors), key)
            self.check_copy(key, len(cursors), least)

    def test_lua(self):
        for family, key, least in self.filters:
            self.check_copy(key, self.two.ask("EVAL", LUA, 2, key, "twin", family), least)

    def test_clients(self):
        node = shutil.which("node") or self.fail("nodejs is missing: scripts/setup test")
        self.assertTrue(NODE_MODULES.exists(), "scripts/setup test brings node-redis from npm")
        program = SOURCE / "tests" / "tools" / "node" / "copy_filter.js"
        url = f"redis://127.0.0.1:{self.server.port}"
        for family, key, least in self.filters:
            clients = {
                "node-redis": [node, program, url, family.lower(), key, "twin"],
                "redis-py": [DEBIAN_PYTHON, "-c", PYTHON, str(self.server.port), family.lower(),
                             key, "twin"],
            }
            for client, command in clients.items():
                with self.subTest(client=client, key=key):
                    self.two.ask("DEL", "twin")
                    ran = subprocess.run(command, capture_output=True, text=True, timeout=60,
                                         env={**os.environ, "NODE_PATH": str(NODE_MODULES)})
                    self.assertEqual((ran.returncode, ran.stderr), (0, ""))
                    self.check_copy(key, int(ran.stdout), least)


if __name__ == "__main__":
    unittest.main()

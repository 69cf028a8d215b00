#!/usr/bin/env python3
"""Client libraries that know RedisBloom talk to bloomery.so: Node's redis and Python's redis.

    BLOOMERY_MODULE=path/to/bloomery.so BLOOMERY_SOURCE=. redis_clients_test.py
"""
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from redis_module import MODULE
from redis_server import RedisServer
from resp import Resp

SOURCE = Path(os.environ.get("BLOOMERY_SOURCE") or sys.exit("set BLOOMERY_SOURCE"))
DEBIAN_NODE_MODULES = "/usr/share/nodejs"
DEBIAN_PYTHON = "/usr/bin/python3"  # the one that Debian's packages are for

# What docs/redis.md shows, and what must come of it.
PYTHON = """
import sys, redis
client = redis.Redis(port=int(sys.argv[1]))
bf, cf = client.bf(), client.cf()
print(bf.create("py", 0.001, 100000))
print(bf.madd("py", "alice", "bob", "alice"))
print(bf.mexists("py", "alice", "carol"))
print(bf.insert("made", ["a"], capacity=50, error=0.1, expansion=1, noScale=None))
print(bf.info("py").insertedNum, bf.info("py").expansionRate, bf.info("py").capacity >= 100000)
print(cf.create("pc", 1000), cf.add("pc", "x"), cf.addnx("pc", "x"), cf.count("pc", "x"))
print(cf.delete("pc", "x"), cf.exists("pc", "x"), cf.info("pc").insertedNum)
position = 0
while True:
    position, piece = bf.scandump("py", position)
    if position == 0:
        break
    bf.loadchunk("twin", position, piece)
print(bf.mexists("twin", "alice", "bob", "carol"))
"""
PYTHON_SAYS = """True
[1, 1, 0]
[1, 0]
[1]
2 2 True
True 1 0 1
1 0 0
[1, 1, 0]
"""


class Clients(unittest.TestCase):
    def start(self, engine):
        server = RedisServer("--loadmodule", MODULE, "ENGINE", engine)
        self.addCleanup(server.stop)
        return server

    def run_node(self, server, lines):
        node = shutil.which("node") or self.fail("nodejs is missing: scripts/setup test")
        env = {**os.environ, "REDIS_URL": f"redis://127.0.0.1:{server.port}",
               "NODE_PATH": DEBIAN_NODE_MODULES}
        program = SOURCE / "examples" / "redis_seen.js"
        return subprocess.run([node, program], input=lines, env=env, capture_output=True,
                              text=True, timeout=60)

    def node(self, engine):
        server = self.start(engine)
        ran = self.run_node(server, "pear\nplum\npear\nfig\npear\n")
        self.assertEqual(ran.stdout, "pear\nplum\nfig\n", ran.stderr)
        self.assertIn("pear: 3 times\n3 lines, ", ran.stderr)
        self.assertEqual(ran.returncode, 0)
        # The next program asks the same filter; what was removed is gone.
        ran = self.run_node(server, "fig\ndate\n")
        self.assertEqual(ran.stdout, "date\n", ran.stderr)
        with Resp(server.port) as redis:
            self.assertEqual(redis.ask("CF.MEXISTS", "counts", "pear", "plum"), [0, 1])

    def test_node_with_native_filters(self):
        self.node("native")

    def test_node_with_filters_of_redisbloom(self):
        self.node("compat")

    def test_python(self):
        for engine in ["native", "compat"]:
            server = self.start(engine)
            ran = subprocess.run([DEBIAN_PYTHON, "-c", PYTHON, str(server.port)],
                                 capture_output=True, text=True, timeout=60)
            self.assertEqual(ran.stderr, "", engine)
            self.assertEqual(ran.stdout, PYTHON_SAYS, engine)


if __name__ == "__main__":
    unittest.main()

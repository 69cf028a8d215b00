#!/usr/bin/env python3
"""What docs/redis.md says of moving from RedisBloom and back: its commands are run as they stand.

    BLOOMERY_MODULE=path/to/bloomery.so BLOOMERY_SOURCE=. redis_moving_test.py
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from redis_module import MODULE, OK
from redis_server import RedisServer, die_with_parent
from resp import Resp

SOURCE = Path(os.environ.get("BLOOMERY_SOURCE") or sys.exit("set BLOOMERY_SOURCE"))
DOCS = (SOURCE / "docs" / "redis.md").read_text()
KEYS = 12_000  # more than one SCAN gives
MISSING = ["CMSk-TYPE", "TopK-TYPE", "TDIS-TYPE"]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def type_id(name, encoding):
    """As an RDB file holds the type of a module: nine letters of six bits, ten bits of encoding."""
    number = 0
    for letter in name:
        number = number << 6 | LETTERS.index(letter)
    return b"\x81" + (number << 10 | encoding).to_bytes(8, "big")


def shown(start):
    """The block of commands in docs/redis.md that begins so."""
    blocks = [b for b in re.findall(r"```sh\n(.*?)```", DOCS, re.S) if b.startswith(start)]
    assert len(blocks) == 1, start
    return blocks[0]


class Moving(unittest.TestCase):
    def saved(self, *words):
        """An RDB file with one filter that these words make."""
        server = RedisServer("--loadmodule", MODULE, "--rdbchecksum", "no")
        self.addCleanup(server.stop)
        with Resp(server.port) as redis:
            self.assertEqual(redis.ask(*words), OK)
            self.assertEqual(redis.ask("SAVE"), OK)
        return (server.directory / "dump.rdb").read_bytes()

    def try_to_load(self, rdb):
        """Runs the second block in a directory with this file; what the server says."""
        directory = Path(tempfile.mkdtemp(prefix="bloomery-moving-"))
        self.addCleanup(shutil.rmtree, directory)
        (directory / "dump.rdb").write_bytes(rdb)
        os.symlink(MODULE, directory / "bloomery.so")
        lines = shown("mkdir try").replace("redis-server ", "exec redis-server ")
        process = subprocess.Popen(["bash", "-c", lines], cwd=directory, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, preexec_fn=die_with_parent)
        said = []
        for line in process.stdout:
            said.append(line)
            if "ready to accept connections" in line:
                process.terminate()
        process.wait(timeout=30)
        process.stdout.close()
        return "".join(said)

    def test_keys_of_types_that_are_missing_are_named(self):
        rdb = self.saved("BF.RESERVE", "f", 0.01, 100, "ENGINE", "compat")
        self.assertIn("ready to accept connections", self.try_to_load(rdb))
        self.assertEqual(rdb.count(type_id("MBbloom--", 4)), 1)
        for name in MISSING:
            said = self.try_to_load(rdb.replace(type_id("MBbloom--", 4), type_id(name, 0)))
            self.assertIn(f"no matching module type '{name}'", said)
            self.assertNotIn("ready to accept connections", said)
            self.assertIn(name, DOCS.split("## Client libraries")[0])

    def test_the_check_beforehand_finds_keys_by_their_type(self):
        server = RedisServer("--loadmodule", MODULE, "bf-engine", "compat")
        self.addCleanup(server.stop)
        directory = Path(tempfile.mkdtemp(prefix="bloomery-moving-"))
        self.addCleanup(shutil.rmtree, directory)
        client = directory / "redis-cli"
        client.write_text(f'#!/bin/sh\nexec {shutil.which("redis-cli")} -p {server.port} "$@"\n')
        client.chmod(0o755)
        with Resp(server.port) as redis:
            redis.pipeline([["BF.ADD", f"b{n}", "a"] for n in range(KEYS)])
            redis.pipeline([["SET", f"s{n}", "a"] for n in range(KEYS)])
        # No RedisBloom is at hand, so one of the types is replaced by one that is there.
        lines = shown("for type").replace("TopK-TYPE", "MBbloom--")
        ran = subprocess.run(["bash", "-c", lines], capture_output=True, text=True, timeout=60,
                             env={**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"})
        self.assertEqual(ran.stderr, "")
        found = sorted(line for line in ran.stdout.splitlines() if line)
        self.assertEqual(found, sorted(f"MBbloom-- b{n}" for n in range(KEYS)))

    def test_native_filters_close_the_way_back(self):
        for name, *words in [("bloomery-", "BF.RESERVE", "f", 0.01, 100),
                             ("bloomeryC", "CF.RESERVE", "f", 100)]:
            directory = Path(tempfile.mkdtemp(prefix="bloomery-moving-"))
            self.addCleanup(shutil.rmtree, directory)
            (directory / "dump.rdb").write_bytes(self.saved(*words))
            with self.assertRaises(RuntimeError) as ended:
                RedisServer(directory=directory).stop()
            self.assertIn(f"no matching module type '{name}'", str(ended.exception))
            self.assertIn(f"'{name}'", DOCS.split("## Client libraries")[0])


if __name__ == "__main__":
    unittest.main()

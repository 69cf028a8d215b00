"""RedisSet against Debian's redis-server."""
import os
import socket
import subprocess
import tempfile
import time
import unittest
import uuid

import numpy

import bloomery
from bloomery.redis import RedisSet


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A redis-server of our own; stop() ends it."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        for _ in range(5):
            self.port = free_port()
            self.process = subprocess.Popen(
                ["redis-server", "--port", str(self.port), "--save", "", "--dir", self.folder.name],
                stdout=subprocess.DEVNULL,
            )
            for _ in range(200):
                if self.process.poll() is not None:
                    break
                try:
                    socket.create_connection(("127.0.0.1", self.port), 1).close()
                    return
                except OSError:
                    time.sleep(0.05)
            self.process.kill()
        raise RuntimeError("redis-server does not start")

    def url(self, name):
        return f"redis://127.0.0.1:{self.port}/0/{name}?timeout=5s"

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.folder.cleanup()


class Remote(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.stop)

    def test_many_programs_share_a_set(self):
        one = RedisSet(self.server.url("shared"), keys=10_000, rate=0.001)
        other = RedisSet(self.server.url("shared"))
        self.assertTrue(one.add("fig"))
        self.assertFalse(other.add("fig"))
        self.assertIn("fig", other)
        self.assertNotIn("plum", other)
        self.assertEqual(other.add_all(["plum", b"fig", "plum"]).tolist(), [True, False, False])
        self.assertEqual(one.contains_all(numpy.array(["plum", "pear"])).tolist(), [True, False])
        self.assertEqual(len(one), 2)
        # The command sees the same.
        told = subprocess.run(
            [os.environ["BLOOMERY"], "check", self.server.url("shared")], input=b"fig\npear\n",
            capture_output=True, check=True,
        )
        self.assertEqual(told.stdout, b"fig\n")
        one.clear()
        self.assertNotIn("fig", other)
        one.close()
        with self.assertRaises(bloomery.Closed):
            one.add("a")
        other.drop()

    def test_integers_and_uuids(self):
        numbers = RedisSet(self.server.url("numbers"), keys=1000)
        self.assertEqual(numbers.add_all(numpy.arange(5)).tolist(), [True] * 5)
        self.assertIn(4, numbers)
        with self.assertRaises(bloomery.Mismatch):
            numbers.add("4")
        texts = RedisSet(self.server.url("uuids"), keys=1000)
        texts.add(uuid.UUID(int=7))
        self.assertIn(uuid.UUID(int=7).bytes, texts)

    def test_what_is_wrong_is_told(self):
        with self.assertRaises(bloomery.Io):
            RedisSet(self.server.url("missing"))
        with self.assertRaises(bloomery.Io):
            RedisSet(f"redis://127.0.0.1:{free_port()}/0/x?timeout=1s", keys=10)
        with self.assertRaises(bloomery.BadInput):
            RedisSet("http://x")
        with self.assertRaises(TypeError):
            RedisSet(self.server.url("typed"), keys=10).add(None)


if __name__ == "__main__":
    unittest.main()

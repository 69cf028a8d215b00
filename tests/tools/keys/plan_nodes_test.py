#!/usr/bin/env python3
"""bloomery plan --nodes beside commands that are really written, slots that are really dealt out,
and the shapes of sets that are really made.

    BLOOMERY=path/to/bloomery plan_nodes_test.py
"""
import itertools
import json
import math
import os
import random
import socket
import subprocess
import tempfile
import time
import unittest
from binascii import crc_hqx
from pathlib import Path

BINARY = Path(os.environ["BLOOMERY"]).resolve()
SLOTS = 16384


def plan(*words):
    ran = subprocess.run([BINARY, "plan", "--json", *words], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def resp(*words):
    encoded = [str(word).encode() for word in words]
    whole = b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded)
    return b"*%d\r\n" % len(words) + whole


def name_of(shard, shards):
    """As redis_layout.hpp names it: the tag is the first number of the slot."""
    slot = shard * SLOTS // shards
    tag = next(n for n in itertools.count() if crc_hqx(str(n).encode(), 0) % SLOTS == slot)
    return f"urls_seen.00000000.g1:{{{tag}}}:{shard}"


def rows(found, table, key):
    return {row[key]: row for row in found[table]}


class PlanNodes(unittest.TestCase):
    def test_bytes_on_the_network_are_those_of_the_commands(self):
        for rate in ("0.2", "1%", "0.01%", "1e-6"):
            found = plan("--nodes", "-n", "10G", "-p", rate)
            size = found["largest_key"] - 1  # and the seal
            name = name_of(found["shards"] - 1, found["shards"])
            check = resp("GETRANGE", name, size - 64, size - 1)
            bits = []
            for bit in range(found["probes"]):
                bits += ["SET", "u1", size * 8 - 512 + bit, 1]
            add = resp("BITFIELD", name, *bits, "GET", "u8", size * 8)
            block = b"$64\r\n" + bytes(64) + b"\r\n"
            before = b"*%d\r\n" % (found["probes"] + 1) + b":0\r\n" * found["probes"]
            before += b":%d\r\n" % 0xB1
            told = rows(found, "commands", "per_key")
            self.assertEqual(told["check"]["sent"], len(check))
            self.assertEqual(told["check"]["received"], len(block))
            self.assertEqual(told["add"]["sent"], len(check) + len(add))
            self.assertEqual(told["add"]["received"], len(block) + len(before))

    def test_shards_are_dealt_out_by_their_slots(self):
        for keys, nodes in (("3M", 7), ("1G", 3), ("2G", 5), ("12G", 11), ("100k", 40)):
            found = plan(f"--nodes={nodes}", "-n", keys, "-p", "1%")
            shards = found["shards"]
            owner = {}
            for node in range(nodes):
                for slot in range(node * SLOTS // nodes, (node + 1) * SLOTS // nodes):
                    owner[slot] = node
            has = [0] * nodes
            for shard in range(shards):
                has[owner[shard * SLOTS // shards]] += 1
            self.assertEqual(found["shards_a_node"], max(has))
            self.assertEqual(found["shards_a_node_least"], min(has))
            self.assertEqual(sum(has), shards)
            if shards > 1000 * nodes:
                self.assertLess(max(has) * nodes / shards, 1.1)
            failing = rows(found, "events", "when")["a master fails"]
            self.assertAlmostEqual(failing["share_of_keys"], max(has) / shards)

    def test_the_size_is_that_of_a_set_of_one_line_a_key(self):
        for rate in (0.1, 0.01, 0.001, 0.0001):
            found = plan("--nodes", "-n", "2M", "-p", str(rate))
            kinds = rows(plan("-n", "2M", "-p", str(rate)), "kinds", "kind")
            blocks = math.ceil(kinds["blocked"]["bytes"] / 64)
            room = found["shards"] * found["largest_key"] // 64
            # The last shard may be smaller than the others.
            self.assertGreaterEqual(room, blocks)
            self.assertLess(room - blocks, 1023)
            self.assertLessEqual(found["largest_key"], 65473)
            self.assertEqual(found["largest_key"] % 64, 1)

    def test_the_rate_is_held_by_that_many_blocks_and_probes(self):
        """Throws keys into blocks: strangers must pass at the rate, not more often."""
        chance = random.Random(7)
        found = plan("--nodes", "-n", "60k", "-p", "2%")
        blocks = found["shards"] * found["largest_key"] // 64
        lines = [0] * blocks
        bits = lambda: sum(1 << bit for bit in chance.sample(range(512), found["probes"]))
        for _ in range(60000):
            lines[chance.randrange(blocks)] |= bits()
        asked = 60000
        passed = 0
        for _ in range(asked):
            probe = bits()
            passed += lines[chance.randrange(blocks)] & probe == probe
        self.assertLess(passed / asked, 0.02 * 1.15)
        self.assertGreater(passed / asked, 0.02 * 0.75)

    def test_memory_of_a_node_is_kept_and_not_one_master_is_spare(self):
        for memory in (1, 4, 16):
            found = plan("--nodes", "-n", "100G", "-p", "1%", "-m", f"{memory}G")
            masters = found["masters"]
            self.assertLessEqual(found["memory_a_node"], memory << 30)
            self.assertEqual(found["nodes"], 2 * masters)
            self.assertEqual(found["memory_with_replicas"], 2 * found["memory"])
            fewer = subprocess.run(
                [BINARY, "plan", f"--nodes={masters - 1}", "-n100G", "-p1%", f"-m{memory}G"],
                capture_output=True,
                text=True,
            )
            self.assertEqual(fewer.returncode, 2)
            self.assertIn(f"it takes {masters}", fewer.stderr)
        usual = plan("--nodes", "-n", "100G", "-p", "1%")
        self.assertEqual(usual, plan("--nodes", "-n", "100G", "-p", "1%", "-m", "16G"))

    def test_loading_goes_by_the_slower_of_server_and_network(self):
        fast = plan("--nodes=10", "-n", "1G", "-p", "1%", "--network", "100G")
        slow = plan("--nodes=10", "-n", "1G", "-p", "1%", "--network", "100M")
        adding = lambda found: rows(found, "loading", "loading")["every key added"]
        self.assertIn("master", adding(fast)["limited_by"])
        self.assertEqual(adding(slow)["limited_by"], "network")
        share = fast["shards_a_node"] / fast["shards"]
        told = rows(fast, "commands", "per_key")["add"]
        self.assertAlmostEqual(adding(fast)["seconds"] / (1e3 * told["server_us"] * share), 1)
        self.assertAlmostEqual(adding(slow)["seconds"] / (1e9 * share * told["sent"] / 12.5e6), 1)
        whole = rows(slow, "loading", "loading")["and sent by one machine"]["seconds"]
        self.assertAlmostEqual(whole / (slow["shards"] * slow["largest_key"] / 12.5e6), 1)
        joining = rows(slow, "events", "when")["a master joins"]
        self.assertAlmostEqual(joining["bytes"] / joining["seconds"] / 12.5e6, 1)
        self.assertAlmostEqual(joining["bytes"] * 11 / (slow["shards"] * 65473), 1, places=2)

    def test_redis_takes_the_memory_that_is_planned(self):
        """A server that is no cluster takes 16 bytes a string less."""
        found = plan("--nodes", "-n", "1G", "-p", "1%")
        per_shard = found["memory"] / found["shards"]
        with tempfile.TemporaryDirectory(prefix="bloomery-redis-") as folder:
            socket_path = str(Path(folder, "redis.sock"))
            command = ["redis-server", "--port", "0", "--unixsocket", socket_path, "--save", ""]
            command += ["--dir", folder, "--logfile", str(Path(folder, "log"))]
            with subprocess.Popen(command) as server:
                try:
                    taken = bytes_of_shards(socket_path, found["largest_key"])
                finally:
                    server.terminate()
        self.assertLess(abs(taken + 16 - per_shard), 50)


def bytes_of_shards(socket_path, size):
    """What a server takes for each of 2,048 strings of this size."""
    deadline = time.monotonic() + 30
    while True:
        try:
            link = socket.socket(socket.AF_UNIX)
            link.connect(socket_path)
            break
        except OSError:
            link.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    with link, link.makefile("rwb") as stream:

        def answer():
            line = stream.readline()
            if line.startswith(b"-") or not line.endswith(b"\r\n"):
                raise AssertionError(f"the server said {line!r}")
            return stream.read(int(line[1:]) + 2) if line.startswith(b"$") else line

        def ask(*words):
            stream.write(resp(*words))
            stream.flush()
            return answer()

        def used():
            return int(ask("INFO", "memory").split(b"used_memory:")[1].split()[0])

        before = used()
        for shard in range(2048):
            ask("SETRANGE", f"urls_seen.g1:{{{shard:05x}}}", size - 1, "\0")
        return (used() - before) / 2048


if __name__ == "__main__":
    unittest.main()

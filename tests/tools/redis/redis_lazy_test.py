#!/usr/bin/env python3
"""RESERVE and the headers of LOADCHUNK take neither time nor memory before there is data.

    BLOOMERY_MODULE=path/to/bloomery.so redis_lazy_test.py

Times are those that the server counts, so that a busy machine does not matter much.
"""
import struct
import unittest

from redis_laws import Bloom
from redis_module import OK, ModuleCase

BILLION = 1_000_000_000
LARGE = {  # what takes 1 GB and more when it is full
    "bits": ("BF.RESERVE", 0.01, BILLION),
    "nonscaling": ("BF.RESERVE", 0.01, BILLION, "NONSCALING"),
    "window": ("BF.RESERVE", 0.01, 100, "WINDOW", BILLION // 4),
    "tables": ("CF.RESERVE", BILLION),
    "compat bits": ("BF.RESERVE", 0.01, BILLION, "ENGINE", "compat"),
    "compat tables": ("CF.RESERVE", BILLION, "ENGINE", "compat"),
}
SLOW_US = 50_000  # it took 300,000 to 22,000,000


class Lazy(ModuleCase):
    options = ["--enable-debug-command", "yes"]

    def setUp(self):
        super().setUp()
        self.two.ask("CONFIG", "RESETSTAT")
        # Another thread gives large filters back.
        for _ in range(1000):
            if self.memory("lazyfree_pending_objects") == 0:
                break

    def memory(self, field):
        text = self.two.ask("INFO", "memory").decode()
        return int(text.split(f"\n{field}:")[1].split()[0])

    def longest_us(self, command):
        text = self.two.ask("INFO", "commandstats").decode()
        stats = text.split(f"cmdstat_{command.lower()}:")[1].split()[0]
        fields = dict(pair.split("=") for pair in stats.split(","))
        return int(fields["usec"])  # of all calls

    def test_reserving_a_gigabyte(self):
        before = self.memory("used_memory")
        for key, (command, *words) in LARGE.items():
            self.two.ask("CONFIG", "RESETSTAT")
            self.assertEqual(self.two.ask(command, key, *words), OK, key)
            self.assertLess(self.longest_us(command), SLOW_US, key)
        self.assertLess(self.memory("used_memory") - before, 100_000)

    def test_the_first_items_touch_little(self):
        for key, (command, *words) in LARGE.items():
            with self.subTest(key=key):
                self.setUp()
                family = command[:2]
                self.two.ask(command, key, *words)
                before = self.memory("used_memory_rss")
                for item in range(40):
                    self.assertEqual(self.two.ask(f"{family}.ADD", key, item), 1)
                self.assertLess(self.longest_us(f"{family}.ADD"), 10 * SLOW_US)
                # 40 items touch at most as many huge pages.
                self.assertLess(self.memory("used_memory_rss") - before, 200_000_000)
                self.assertEqual(self.two.ask(f"{family}.MEXISTS", key, *range(40)), [1] * 40)
                self.assertEqual(self.two.ask(f"{family}.MEXISTS", key, "x", "y"), [0, 0])

    def header(self, tables, buckets):
        """38 bytes: items, buckets, removed, tables, bucket size, iterations, expansion."""
        return struct.pack("<QQQQHHH", 1, buckets, 0, tables, 2, 20, 1)

    def test_headers_promise_and_take_nothing(self):
        self.two.ask("BF.RESERVE", "source", 0.01, 5_000_000)
        self.two.ask("BF.MADD", "source", *range(100))
        _, native = self.two.ask("BF.SCANDUMP", "source", 0)
        before = self.memory("used_memory")
        compat = Bloom(0.01, 100_000_000).header()
        for command, key, header in [
            ("CF.LOADCHUNK", "one", self.header(1, 2**29)),
            ("CF.LOADCHUNK", "many", self.header(4096, 2**17)),
            ("BF.LOADCHUNK", "compat", compat),
            ("BF.LOADCHUNK", "native", native),
        ]:
            self.assertEqual(self.two.ask(command, key, 1, header), OK, key)
            self.assertLess(self.longest_us(command), SLOW_US, key)
        self.assertLess(self.memory("used_memory") - before, 500_000)
        self.assertLess(self.two.ask("MEMORY", "USAGE", "one"), 1000)
        # Questions take nothing either, nor does data that is all zero.
        self.assertEqual(self.two.ask("CF.MEXISTS", "one", "a", "b"), [0, 0])
        self.assertEqual(self.two.ask("CF.COUNT", "many", "a"), 0)
        self.assertEqual(self.two.ask("CF.DEL", "many", "a"), 0)
        self.assertEqual(self.two.ask("BF.EXISTS", "compat", "a"), 0)
        self.assertEqual(self.two.ask("CF.LOADCHUNK", "one", 1001, bytes(1000)), OK)
        self.assertLess(self.memory("used_memory") - before, 500_000)

    def test_what_is_promised_is_saved_copied_and_dumped(self):
        self.two.ask("BF.RESERVE", "b", 0.01, 1_000_000, "ENGINE", "compat")
        self.two.ask("CF.LOADCHUNK", "c", 1, self.header(3, 2**18))
        self.two.ask("BF.RESERVE", "n", 0.01, 1_000_000)
        keys = [("b", "BF"), ("c", "CF"), ("n", "BF")]
        sizes = [self.two.ask("MEMORY", "USAGE", key) for key, _ in keys]
        values = [self.two.ask("DEBUG", "DIGEST-VALUE", key) for key, _ in keys]
        self.assertEqual(self.two.ask("DEBUG", "RELOAD"), OK)
        for (key, family), size, value in zip(keys, sizes, values):
            self.assertLess(size, 1000)
            self.assertEqual(self.two.ask("MEMORY", "USAGE", key), size)
            self.assertEqual(self.two.ask("DEBUG", "DIGEST-VALUE", key), value)
            self.two.ask("COPY", key, "copy")
            self.two.ask("RESTORE", "restored", 0, self.two.ask("DUMP", key))
            position = 0
            while True:
                position, piece = self.two.ask(f"{family}.SCANDUMP", key, position)
                if position == 0:
                    break
                self.two.ask(f"{family}.LOADCHUNK", "loaded", position, piece)
            for twin in ["copy", "restored", "loaded"]:
                self.assertEqual(self.two.ask("DEBUG", "DIGEST-VALUE", twin), value, key + twin)
                self.assertLess(self.two.ask("MEMORY", "USAGE", twin), 1000)
            self.two.ask("DEL", "copy", "restored", "loaded")

    def test_chunks_may_come_in_any_order(self):
        self.two.ask("CF.RESERVE", "c", 4000, "ENGINE", "compat")
        for item in range(9000):
            self.two.ask("CF.ADD", "c", item)
        pieces, position = [], 0
        while True:
            position, piece = self.two.ask("CF.SCANDUMP", "c", position)
            if position == 0:
                break
            pieces.append((position, piece))
        self.assertGreater(len(pieces), 3)
        for position, piece in [pieces[0], *reversed(pieces[1:])]:
            self.assertEqual(self.two.ask("CF.LOADCHUNK", "twin", position, piece), OK)
        self.assertEqual(self.two.ask("DEBUG", "DIGEST-VALUE", "twin"),
                         self.two.ask("DEBUG", "DIGEST-VALUE", "c"))


if __name__ == "__main__":
    unittest.main()

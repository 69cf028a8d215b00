#!/usr/bin/env python3
"""CF.* of the engine compat on a real redis-server: every reply in both protocols, every error.

    BLOOMERY_MODULE=path/to/bloomery.so redis_cf_test.py
"""
import random
import unittest

from redis_laws import Cuckoo
from redis_module import MODULE, NOT_FOUND, OK, WRONG_TYPE, ModuleCase
from redis_module import arity, both, error, flag, flags
from redis_server import RedisServer
from resp import Resp

SEED = 20260712
NO_FILTER = error("Cuckoo filter was not found")
ONE = [("CF.ADD", "f", "a")]
TEXT = [("SET", "f", "a")]
# Two buckets of two places, and no growth: four copies of a key fill it, or two.
TIGHT = [("CF.RESERVE", "f", "4", "EXPANSION", "0")]
STUFFED = TIGHT + [("CF.ADD", "f", "a")] * 4
FULL = error("Filter is full")
INFO = [b"Size", 1080, b"Number of buckets", 512, b"Number of filters", 1]
INFO += [b"Number of items inserted", 1, b"Number of items deleted", 0, b"Bucket size", 2]
INFO += [b"Expansion rate", 1, b"Max iterations", 20]
CAPACITY = error("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]")

# What went before, the command, its reply in RESP2, in RESP3.
TABLE = [
    # CF.RESERVE
    ([], "CF.RESERVE f 1000", *both(OK)),
    ([], "cf.reserve f 1000 bucketsize 4 maxiterations 50 expansion 2", *both(OK)),
    ([], "CF.RESERVE f 4", *both(OK)),
    ([], "CF.RESERVE f 510 BUCKETSIZE 255", *both(OK)),
    ([], "CF.RESERVE f 1000 EXPANSION 0", *both(OK)),
    ([], "CF.RESERVE f x", *both(error("Bad capacity"))),
    ([], "CF.RESERVE f 99999999999999999999", *both(error("Bad capacity"))),
    *[([], f"CF.RESERVE f {n}", *both(CAPACITY)) for n in ["0", "-1", "3", "1073741825"]],
    ([], "CF.RESERVE f 500 BUCKETSIZE 255", *both(CAPACITY)),
    *[
        ([], f"CF.RESERVE f 1000 {word} x", *both(error(f"Couldn't parse {word}")))
        for word in ["BUCKETSIZE", "MAXITERATIONS", "EXPANSION"]
    ],
    *[
        ([], f"CF.RESERVE f 1000 BUCKETSIZE {n}",
         *both(error("BUCKETSIZE: value must be in the range [1, 255]")))
        for n in ["0", "256", "-1"]
    ],
    *[
        ([], f"CF.RESERVE f 1000 MAXITERATIONS {n}",
         *both(error("MAXITERATIONS: value must be in the range [1, 65535]")))
        for n in ["0", "65536", "-1"]
    ],
    *[
        ([], f"CF.RESERVE f 1000 EXPANSION {n}",
         *both(error("EXPANSION: value must be in the range [0, 32768]")))
        for n in ["-1", "32769"]
    ],
    ([], "CF.RESERVE f 1000 WHAT 1", *both(error("Unknown argument received"))),
    ([], "CF.RESERVE f 1000 ENGINE what", *both(error("ERR engine must be native or compat"))),
    ([], "CF.RESERVE f 1000 ERROR 0.1",
     *both(error("ERR ERROR and SECRET need the native engine"))),
    (ONE, "CF.RESERVE f 1000", *both(error("ERR item exists"))),
    (TEXT, "CF.RESERVE f 1000", *both(WRONG_TYPE)),
    ([("BF.ADD", "f", "a")], "CF.RESERVE f 1000", *both(WRONG_TYPE)),
    ([], "CF.RESERVE f", *both(arity("cf.reserve"))),
    ([], "CF.RESERVE f 1000 EXPANSION", *both(arity("cf.reserve"))),
    # CF.ADD, CF.ADDNX
    ([], "CF.ADD f a", *flag(1)),
    (ONE, "CF.ADD f a", *flag(1)),
    (STUFFED, "CF.ADD f a", *both(FULL)),
    (TEXT, "CF.ADD f a", *both(WRONG_TYPE)),
    ([], "CF.ADD f", *both(arity("cf.add"))),
    ([], "CF.ADD f a b", *both(arity("cf.add"))),
    ([], "CF.ADDNX f a", *flag(1)),
    (ONE, "CF.ADDNX f a", *flag(0)),
    (TEXT, "CF.ADDNX f a", *both(WRONG_TYPE)),
    ([], "CF.ADDNX f", *both(arity("cf.addnx"))),
    # CF.INSERT, CF.INSERTNX
    ([], "CF.INSERT f ITEMS a b a", *flags(1, 1, 1)),
    ([], "cf.insert f capacity 1000 items a", *flags(1)),
    (ONE, "CF.INSERT f NOCREATE ITEMS a b", *flags(1, 1)),
    (STUFFED, "CF.INSERT f ITEMS a a", [-1, -1], [False, False]),
    ([], "CF.INSERT f NOCREATE ITEMS a", *both(NOT_FOUND)),
    (TEXT, "CF.INSERT f ITEMS a", *both(WRONG_TYPE)),
    ([], "CF.INSERT f CAPACITY x ITEMS a", *both(error("Bad capacity"))),
    *[
        ([], f"CF.INSERT f CAPACITY {n} ITEMS a",
         *both(error("Capacity must be in the range [cf-bucket-size * 2, 1073741824]")))
        for n in ["0", "3", "1073741825"]
    ],
    ([], "CF.INSERT f WHAT ITEMS a", *both(error("Unknown argument received"))),
    ([], "CF.INSERT f ITEMS", *both(arity("cf.insert"))),
    ([], "CF.INSERT f NOCREATE ITEMS", *both(arity("cf.insert"))),
    ([], "CF.INSERTNX f ITEMS a b a", *both([1, 1, 0])),
    (STUFFED, "CF.INSERTNX f ITEMS a", *both([0])),
    ([], "CF.INSERTNX f NOCREATE ITEMS a", *both(NOT_FOUND)),
    (TEXT, "CF.INSERTNX f ITEMS a", *both(WRONG_TYPE)),
    ([], "CF.INSERTNX f NOCREATE ITEMS", *both(arity("cf.insertnx"))),
    # CF.EXISTS, CF.MEXISTS, CF.COUNT: another type is as good as missing
    (ONE, "CF.EXISTS f a", *flag(1)),
    (ONE, "CF.EXISTS f b", *flag(0)),
    ([], "CF.EXISTS f a", *flag(0)),
    (TEXT, "CF.EXISTS f a", *flag(0)),
    ([], "CF.EXISTS f", *both(arity("cf.exists"))),
    (ONE, "CF.MEXISTS f a b", *flags(1, 0)),
    ([], "CF.MEXISTS f a b", *flags(0, 0)),
    (TEXT, "CF.MEXISTS f a", *flags(0)),
    ([], "CF.MEXISTS f", *both(arity("cf.mexists"))),
    (ONE * 3, "CF.COUNT f a", *both(3)),
    (ONE, "CF.COUNT f b", *both(0)),
    ([], "CF.COUNT f a", *both(0)),
    (TEXT, "CF.COUNT f a", *both(0)),
    ([], "CF.COUNT f", *both(arity("cf.count"))),
    # CF.DEL
    (ONE, "CF.DEL f a", *flag(1)),
    (ONE, "CF.DEL f b", *flag(0)),
    (ONE * 2 + [("CF.DEL", "f", "a")], "CF.COUNT f a", *both(1)),
    ([], "CF.DEL f a", *both(error("Not found"))),
    (TEXT, "CF.DEL f a", *both(error("Not found"))),
    ([], "CF.DEL f", *both(arity("cf.del"))),
    # CF.COMPACT
    (ONE, "CF.COMPACT f", *both(OK)),
    ([], "CF.COMPACT f", *both(NO_FILTER)),
    (TEXT, "CF.COMPACT f", *both(NO_FILTER)),
    ([], "CF.COMPACT", *both(arity("cf.compact"))),
    # CF.INFO, CF.DEBUG
    (ONE, "CF.INFO f", INFO, dict(zip(INFO[::2], INFO[1::2]))),
    ([], "CF.INFO f", *both(NOT_FOUND)),
    (TEXT, "CF.INFO f", *both(WRONG_TYPE)),
    ([], "CF.INFO", *both(arity("cf.info"))),
    (
        [("CF.RESERVE", "f", "100", "BUCKETSIZE", "3", "EXPANSION", "3"), ("CF.ADD", "f", "a")],
        "CF.DEBUG f",
        *both(b"bktsize:3 buckets:64 items:1 deletes:0 filters:1 max_iterations:20 expansion:4"),
    ),
    ([], "CF.DEBUG f", *both(NOT_FOUND)),
    (TEXT, "CF.DEBUG f", *both(WRONG_TYPE)),
    ([], "CF.DEBUG", *both(arity("cf.debug"))),
    # CF.SCANDUMP
    ([("CF.RESERVE", "f", "100")], "CF.SCANDUMP f 0", *both([0, None])),
    (ONE, "CF.SCANDUMP f 1025", *both([0, None])),
    (ONE, "CF.SCANDUMP f 9223372036854775807", *both([0, None])),
    (ONE, "CF.SCANDUMP f x", *both(error("Invalid position"))),
    (ONE, "CF.SCANDUMP f -1", *both(error("Invalid position"))),
    ([], "CF.SCANDUMP f 0", *both(NOT_FOUND)),
    (TEXT, "CF.SCANDUMP f 0", *both(WRONG_TYPE)),
    ([], "CF.SCANDUMP f", *both(arity("cf.scandump"))),
    # CF.LOADCHUNK
    ([], "CF.LOADCHUNK f x data", *both(error("Invalid position"))),
    ([], "CF.LOADCHUNK f 0 data", *both(error("Invalid position"))),
    ([], "CF.LOADCHUNK f -1 data", *both(error("Invalid position"))),
    ([], "CF.LOADCHUNK f 1 data", *both(error("Invalid header"))),
    ([], "CF.LOADCHUNK f 1 " + "x" * 38, *both(error("Couldn't create filter!"))),
    ([], "CF.LOADCHUNK f 5 data", *both(NOT_FOUND)),
    (ONE, "CF.LOADCHUNK f 1 data", *both(error("ERR item exists"))),
    (ONE, "CF.LOADCHUNK f 2 data", *both(error("Couldn't load chunk!"))),
    (ONE, "CF.LOADCHUNK f 1026 data", *both(error("Couldn't load chunk!"))),
    (ONE, "CF.LOADCHUNK f 9223372036854775807 data", *both(error("Couldn't load chunk!"))),
    (ONE, "CF.LOADCHUNK f 1025 data", *both(OK)),
    (TEXT, "CF.LOADCHUNK f 1 data", *both(WRONG_TYPE)),
    ([], "CF.LOADCHUNK f 1", *both(arity("cf.loadchunk"))),
]

# The example of redis.io/commands/cf.scandump: CF.RESERVE cf 8, CF.ADD cf item1.
GOLDEN_CHUNK = bytes.fromhex("0000000007000000")


def pieces_of(redis, key):
    position, pieces = 0, []
    while True:
        position, piece = redis.ask("CF.SCANDUMP", key, position)
        if position == 0:
            return pieces
        pieces.append((position, piece))


class Replies(ModuleCase):
    options = ["ENGINE", "compat", "--rdbcompression", "no"]

    def setUp(self):
        super().setUp()
        self.chance = random.Random(f"{SEED} {self.id()}")

    def test_the_table_of_replies(self):
        self.check_replies(TABLE)

    def test_scandump_gives_the_published_bytes(self):
        self.two.ask("CF.RESERVE", "cf", 8)
        self.two.ask("CF.ADD", "cf", "item1")
        law = Cuckoo(8)
        law.add(b"item1")
        self.assertEqual(pieces_of(self.two, "cf"), [(1, law.header()), (9, GOLDEN_CHUNK)])
        self.assertEqual(bytes(law.tables[0]), GOLDEN_CHUNK)
        self.assertEqual(self.two.ask("TYPE", "cf"), "MBbloomCF")

    def test_a_header_of_an_older_version_with_eight_more_bytes_loads(self):
        law = Cuckoo(8)
        law.add(b"item1")
        self.assertEqual(self.two.ask("CF.LOADCHUNK", "cf", 1, law.header() + b"12345678"), OK)
        self.assertEqual(self.two.ask("CF.LOADCHUNK", "cf", 9, GOLDEN_CHUNK), OK)
        self.assertEqual(self.two.ask("CF.EXISTS", "cf", "item1"), 1)

    def test_filling_kicking_and_growing_follow_the_law(self):
        for words in [(8, 2, 20, 1), (64, 1, 5, 2), (100, 3, 50, 4), (64, 4, 500, 1), (4, 2, 1, 2)]:
            capacity, bucket, iterations, expansion = words
            with self.subTest(words=words):
                self.two.ask("DEL", "f")
                law = Cuckoo(*words)
                self.two.ask("CF.RESERVE", "f", capacity, "BUCKETSIZE", bucket,
                             "MAXITERATIONS", iterations, "EXPANSION", expansion)
                for n in range(5 * capacity):
                    law.add(b"key %d" % n)
                    self.assertEqual(self.two.ask("CF.ADD", "f", b"key %d" % n), 1)
                self.assertGreater(len(law.tables), 1)
                self.check_dump("f", law)
                for n in range(10 * capacity):
                    key = b"key %d" % n
                    self.assertEqual(self.two.ask("CF.EXISTS", "f", key), law.has(key))
                    self.assertEqual(self.two.ask("CF.COUNT", "f", key), law.count(key))

    def test_a_full_filter_is_left_as_it_was(self):
        law = Cuckoo(64, 2, 20, 0)
        self.two.ask("CF.RESERVE", "f", 64, "EXPANSION", 0)
        answers = [law.add(b"%d" % n) for n in range(100)]
        self.assertIn(False, answers)
        got = self.two.ask("CF.INSERT", "f", "ITEMS", *range(100))
        self.assertEqual(got, [1 if answer else -1 for answer in answers])
        self.check_dump("f", law)

    def test_a_payload_of_the_independent_encoder_restores(self):
        law = Cuckoo(50, expansion=2)
        keys = [b"%d" % n for n in range(500)]
        for key in keys:
            law.add(key)
        self.assertEqual(self.two.ask("RESTORE", "f", 0, law.payload()), OK)
        self.assertEqual(self.two.ask("CF.MEXISTS", "f", *keys), [1] * len(keys))
        self.check_dump("f", law)

    def test_the_default_grows_to_32_tables_and_no_further(self):
        limit = error("Maximum expansions reached")
        self.two.ask("CF.RESERVE", "f", 8)
        reply, added = 1, 0
        while reply == 1:
            reply = self.two.ask("CF.ADD", "f", added)
            added += reply == 1
        self.assertEqual(reply, limit)
        self.assertIn(b"filters:32 ", self.two.ask("CF.DEBUG", "f"))
        self.assertEqual(self.two.ask("CF.INSERT", "f", "ITEMS", "a"), limit)
        self.assertEqual(self.two.ask("CF.MEXISTS", "f", *range(added)), [1] * added)

    def test_nothing_that_stays_is_lost_by_removing_and_compacting(self):
        self.two.ask("CF.RESERVE", "f", 100, "EXPANSION", 2)
        copies = {}
        for n in range(3000):
            key = self.chance.randrange(800)
            if copies.get(key, 0) and self.chance.random() < 0.5:
                self.assertEqual(self.two.ask("CF.DEL", "f", key), 1)
                copies[key] -= 1
            elif self.two.ask("CF.ADD", "f", key) == 1:
                copies[key] = copies.get(key, 0) + 1
            if n % 500 == 0:
                self.assertEqual(self.two.ask("CF.COMPACT", "f"), OK)
        for key, number in copies.items():
            self.assertGreaterEqual(self.two.ask("CF.COUNT", "f", key), number, key)
        items = self.two.ask("CF.INFO", "f")[7]
        self.assertEqual(items, sum(copies.values()), f"seed {SEED}")

    def test_removing_all_leaves_one_empty_table(self):
        self.two.ask("CF.RESERVE", "f", 16, "EXPANSION", 1)
        for n in range(100):
            self.two.ask("CF.ADD", "f", n)
        for n in range(100):
            self.assertEqual(self.two.ask("CF.DEL", "f", n), 1)
        self.two.ask("CF.COMPACT", "f")
        self.assertEqual(
            self.two.ask("CF.DEBUG", "f"),
            b"bktsize:2 buckets:8 items:0 deletes:0 filters:1 max_iterations:20 expansion:1",
        )

    def test_events_name_what_changed(self):
        self.two.ask("CONFIG", "SET", "notify-keyspace-events", "Kd")
        lines = ["CF.RESERVE f 16", "CF.ADD f a", "CF.ADDNX f a", "CF.ADDNX f b", "CF.DEL f x",
                 "CF.INSERT f ITEMS c", "CF.INSERTNX f ITEMS c d", "CF.EXISTS f a", "CF.DEL f a",
                 "CF.COMPACT f", "CF.LOADCHUNK f 17 " + "x" * 16]
        changing = [line for line in lines if line not in (lines[2], lines[4], lines[7])]
        with Resp(self.server.port) as ears:
            ears.ask("SUBSCRIBE", "__keyspace@0__:f")
            for line in lines:
                self.two.ask(*line.split())
            heard = [ears.read()[2].decode() for _ in changing]
        self.two.ask("CONFIG", "SET", "notify-keyspace-events", "")
        self.assertEqual(heard, [line.split()[0].lower() for line in changing])

    def test_command_docs_and_info(self):
        names = "reserve add addnx insert insertnx exists mexists count del info debug compact"
        names += " scandump loadchunk"
        self.check_docs(f"cf.{name}" for name in names.split())


class Settings(unittest.TestCase):
    def test_words_behind_loadmodule_are_the_defaults(self):
        words = "CF_INITIAL_SIZE 100 CF_BUCKET_SIZE 4 CF_MAX_ITERATIONS 7 CF_EXPANSION_FACTOR 2"
        words += " CF_MAX_EXPANSIONS 3"
        with RedisServer("--loadmodule", MODULE, "ENGINE", "compat", *words.split()) as server:
            with Resp(server.port) as redis:
                redis.ask("CF.ADD", "f", "a")
                self.assertEqual(
                    redis.ask("CF.DEBUG", "f"),
                    b"bktsize:4 buckets:32 items:1 deletes:0 filters:1 max_iterations:7 "
                    b"expansion:2",
                )
                replies = [redis.ask("CF.ADD", "f", n) for n in range(5000)]
                self.assertEqual(replies[-1], error("Maximum expansions reached"))
                self.assertIn(b"filters:3 ", redis.ask("CF.DEBUG", "f"))

    def test_a_cap_holds_for_new_filters_for_growth_and_for_headers(self):
        words = ["ENGINE", "compat", "MAX_KEY_BYTES", "4096"]
        with RedisServer("--loadmodule", MODULE, *words) as server:
            with Resp(server.port) as redis:
                memory = error("ERR Insufficient memory")
                self.assertEqual(redis.ask("CF.RESERVE", "f", 5000), memory)
                self.assertEqual(redis.ask("CF.RESERVE", "f", 2048), OK)
                replies = [redis.ask("CF.ADD", "f", n) for n in range(6000)]
                self.assertEqual(replies[-1], memory)
                self.assertIn(b"filters:2 ", redis.ask("CF.DEBUG", "f"))
                large = Cuckoo(5000).header()
                self.assertEqual(
                    redis.ask("CF.LOADCHUNK", "g", 1, large), error("Couldn't create filter!")
                )


if __name__ == "__main__":
    unittest.main()

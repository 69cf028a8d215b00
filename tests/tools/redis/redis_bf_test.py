#!/usr/bin/env python3
"""BF.* of the engine compat on a real redis-server: every reply in both protocols, every error.

    BLOOMERY_MODULE=path/to/bloomery.so redis_bf_test.py
"""
import unittest

from redis_laws import Bloom
from redis_module import MODULE, NOT_FOUND, OK, WRONG_TYPE, ModuleCase
from redis_module import arity, both, error, flag, flags
from redis_server import RedisServer
from resp import Resp, RespError

FULL = error("ERR non scaling filter is full")
SMALL = [("BF.RESERVE", "f", "0.01", "4", "NONSCALING"), ("BF.MADD", "f", "a", "b", "c")]
INFO = [b"Capacity", 100, b"Size", 240, b"Number of filters", 1]
INFO += [b"Number of items inserted", 1, b"Expansion rate", 2]

# What went before, the command, its reply in RESP2, in RESP3.
TABLE = [
    # BF.RESERVE
    ([], "BF.RESERVE f 0.01 100", *both(OK)),
    ([], "bf.reserve f 0.01 100 expansion 4", *both(OK)),
    ([], "BF.RESERVE f 0.01 100 NONSCALING", *both(OK)),
    ([], "BF.RESERVE f 0.01 100 NonScaling EXPANSION 0", *both(OK)),
    ([], "BF.RESERVE f 0.01 100 EXPANSION 0", *both(OK)),
    ([], "BF.RESERVE f 0.9 100", *both(OK)),
    ([], "BF.RESERVE f 0.01 1", *both(OK)),
    ([], "BF.RESERVE f x 100", *both(error("ERR bad error rate"))),
    ([], "BF.RESERVE f nan 100", *both(error("ERR bad error rate"))),
    *[
        ([], f"BF.RESERVE f {rate} 100",
         *both(error("ERR error rate must be in the range (0.000000, 1.000000)")))
        for rate in ["0", "1", "-0.1", "1.5", "inf", "-inf"]
    ],
    *[
        ([], f"BF.RESERVE f 0.01 {capacity}", *both(error("ERR bad capacity")))
        for capacity in ["x", "1.5", "99999999999999999999", ""]
    ],
    *[
        ([], f"BF.RESERVE f 0.01 {capacity}",
         *both(error("ERR capacity must be in the range [1, 1073741824]")))
        for capacity in ["0", "-1", "1073741825", "9223372036854775807"]
    ],
    ([], "BF.RESERVE f 0.01 100 EXPANSION", *both(error("ERR no expansion"))),
    ([], "BF.RESERVE f 0.01 100 EXPANSION x", *both(error("ERR bad expansion"))),
    *[
        ([], f"BF.RESERVE f 0.01 100 EXPANSION {expansion}",
         *both(error("ERR expansion must be in the range [0, 32768]")))
        for expansion in ["-1", "32769", "9223372036854775807"]
    ],
    ([], "BF.RESERVE f 0.01 100 EXPANSION 2 NONSCALING",
     *both(error("Nonscaling filters cannot expand"))),
    ([], "BF.RESERVE f 0.0000000001 1073741824",
     *both(error("ERR Insufficient memory to create filter"))),
    ([("BF.ADD", "f", "a")], "BF.RESERVE f 0.01 100", *both(error("ERR item exists"))),
    ([("SET", "f", "a")], "BF.RESERVE f 0.01 100", *both(WRONG_TYPE)),
    ([], "BF.RESERVE f 0.01", *both(arity("bf.reserve"))),
    ([], "BF.RESERVE f 0.01 100 WHAT", *both(error("Unknown argument received"))),
    ([], "BF.RESERVE f 0.01 100 WHAT 1", *both(error("Unknown argument received"))),
    ([], "BF.RESERVE f 0.01 100 ENGINE what", *both(error("ERR engine must be native or compat"))),
    *[
        ([], f"BF.RESERVE f 0.01 100 {words}",
         *both(error("ERR WINDOW, LIKE and SECRET need the native engine")))
        for words in ["WINDOW 5", "LIKE g", "SECRET 0123456789abcdef0123456789abcdef"]
    ],
    # BF.ADD
    ([], "BF.ADD f a", *flag(1)),
    ([("BF.ADD", "f", "a")], "BF.ADD f a", *flag(0)),
    ([*SMALL, ("BF.ADD", "f", "d")], "BF.ADD f e", *both(FULL)),
    ([*SMALL, ("BF.ADD", "f", "d")], "BF.ADD f a", *flag(0)),
    ([("SET", "f", "a")], "BF.ADD f a", *both(WRONG_TYPE)),
    ([], "BF.ADD f", *both(arity("bf.add"))),
    ([], "BF.ADD f a b", *both(arity("bf.add"))),
    # BF.MADD: the array ends at the failure
    ([], "BF.MADD f a b a", *flags(1, 1, 0)),
    (SMALL, "BF.MADD f a d e g", [0, 1, FULL], [False, True, FULL]),
    ([("SET", "f", "a")], "BF.MADD f a", *both(WRONG_TYPE)),
    ([], "BF.MADD f", *both(arity("bf.madd"))),
    # BF.INSERT
    ([], "BF.INSERT f ITEMS a b a", *flags(1, 1, 0)),
    ([], "bf.insert f capacity 1000 error 0.001 expansion 4 items a", *flags(1)),
    ([], "BF.INSERT f NONSCALING CAPACITY 1 ITEMS a b", [1, FULL], [True, FULL]),
    ([], "BF.INSERT f NONSCALING EXPANSION 0 ITEMS a", *flags(1)),
    ([("BF.ADD", "f", "a")], "BF.INSERT f NOCREATE ITEMS a b", *flags(0, 1)),
    ([], "BF.INSERT f NOCREATE ITEMS a", *both(NOT_FOUND)),
    ([("SET", "f", "a")], "BF.INSERT f ITEMS a", *both(WRONG_TYPE)),
    ([("SET", "f", "a")], "BF.INSERT f NOCREATE ITEMS a", *both(WRONG_TYPE)),
    *[
        ([], f"BF.INSERT f CAPACITY {capacity} ITEMS a", *both(error("Bad capacity")))
        for capacity in ["x", "0", "-1", "1073741825"]
    ],
    *[
        ([], f"BF.INSERT f ERROR {rate} ITEMS a", *both(error("Bad error rate")))
        for rate in ["x", "0", "1", "nan"]
    ],
    *[
        ([], f"BF.INSERT f EXPANSION {expansion} ITEMS a", *both(error("Bad expansion")))
        for expansion in ["x", "-1", "32769"]
    ],
    ([], "BF.INSERT f NONSCALING EXPANSION 2 ITEMS a", *flags(1)),
    ([], "BF.INSERT f EXPANSION 2 NONSCALING ITEMS a", *flags(1)),
    ([], "BF.INSERT f EXPANSION 2 NONSCALING CAPACITY 1 ITEMS a b", [1, FULL], [True, FULL]),
    ([("BF.INSERT", "f", "EXPANSION", "2", "NONSCALING", "ITEMS", "a")],
     "BF.INFO f EXPANSION", [None], {b"Expansion rate": None}),
    ([], "BF.INSERT f WHAT ITEMS a", *both(error("Unknown argument received"))),
    ([], "BF.INSERT f ITEMS", *both(arity("bf.insert"))),
    ([], "BF.INSERT f NOCREATE ITEMS", *both(arity("bf.insert"))),
    ([], "BF.INSERT f NOCREATE NONSCALING", *both(arity("bf.insert"))),
    # BF.EXISTS, BF.MEXISTS: another type is as good as missing
    ([("BF.ADD", "f", "a")], "BF.EXISTS f a", *flag(1)),
    ([("BF.ADD", "f", "a")], "BF.EXISTS f b", *flag(0)),
    ([], "BF.EXISTS f a", *flag(0)),
    ([("SET", "f", "a")], "BF.EXISTS f a", *flag(0)),
    ([], "BF.EXISTS f", *both(arity("bf.exists"))),
    ([], "BF.EXISTS f a b", *both(arity("bf.exists"))),
    ([("BF.MADD", "f", "a", "c")], "BF.MEXISTS f a b c", *flags(1, 0, 1)),
    ([], "BF.MEXISTS f a b", *flags(0, 0)),
    ([("SET", "f", "a")], "BF.MEXISTS f a b", *flags(0, 0)),
    ([], "BF.MEXISTS f", *both(arity("bf.mexists"))),
    # BF.CARD
    ([("BF.MADD", "f", "a", "b", "a")], "BF.CARD f", *both(2)),
    ([], "BF.CARD f", *both(0)),
    ([("SET", "f", "a")], "BF.CARD f", *both(WRONG_TYPE)),
    ([], "BF.CARD", *both(arity("bf.card"))),
    ([], "BF.CARD f g", *both(arity("bf.card"))),
    # BF.INFO
    ([("BF.ADD", "f", "a")], "BF.INFO f", INFO, dict(zip(INFO[::2], INFO[1::2]))),
    ([("BF.ADD", "f", "a")], "BF.INFO f capacity", [100], {b"Capacity": 100}),
    ([("BF.ADD", "f", "a")], "BF.INFO f SIZE", [240], {b"Size": 240}),
    ([("BF.ADD", "f", "a")], "BF.INFO f FILTERS", [1], {b"Number of filters": 1}),
    ([("BF.ADD", "f", "a")], "BF.INFO f ITEMS", [1], {b"Number of items inserted": 1}),
    ([("BF.ADD", "f", "a")], "BF.INFO f EXPANSION", [2], {b"Expansion rate": 2}),
    (SMALL, "BF.INFO f EXPANSION", [None], {b"Expansion rate": None}),
    ([("BF.ADD", "f", "a")], "BF.INFO f BITS", [b"1152"], {b"Bits per item": 1152.0}),
    ([("BF.RESERVE", "f", "0.1", "10")], "BF.INFO f RATE", [b"0"], {b"Estimated error rate": 0.0}),
    ([("BF.RESERVE", "f", "0.1", "10")], "BF.INFO f BITS", [None], {b"Bits per item": None}),
    ([("BF.ADD", "f", "a")], "BF.INFO f WHAT", *both(error("Invalid information value"))),
    ([], "BF.INFO f", *both(NOT_FOUND)),
    ([("SET", "f", "a")], "BF.INFO f", *both(WRONG_TYPE)),
    ([], "BF.INFO", *both(arity("bf.info"))),
    ([], "BF.INFO f SIZE ITEMS", *both(arity("bf.info"))),
    # BF.DEBUG
    (
        [("BF.RESERVE", "f", "0.1", "10"), ("BF.ADD", "f", "item1")],
        "BF.DEBUG f",
        *both([
            b"size:1",
            b"bytes:8 bits:64 hashes:5 hashwidth:64 capacity:10 size:1 ratio:0.05",
        ]),
    ),
    ([], "BF.DEBUG f", *both(NOT_FOUND)),
    ([("SET", "f", "a")], "BF.DEBUG f", *both(WRONG_TYPE)),
    ([], "BF.DEBUG", *both(arity("bf.debug"))),
    # BF.SCANDUMP
    ([], "BF.SCANDUMP f 0", *both(NOT_FOUND)),
    ([("SET", "f", "a")], "BF.SCANDUMP f 0", *both(WRONG_TYPE)),
    ([("BF.ADD", "f", "a")], "BF.SCANDUMP f x", *both(error("Second argument must be numeric"))),
    ([("BF.ADD", "f", "a")], "BF.SCANDUMP f -1", *both([0, b""])),
    ([("BF.ADD", "f", "a")], "BF.SCANDUMP f 9223372036854775807", *both([0, b""])),
    ([("BF.ADD", "f", "a")], "BF.SCANDUMP f 145", *both([0, b""])),
    ([], "BF.SCANDUMP f", *both(arity("bf.scandump"))),
    # BF.LOADCHUNK
    ([], "BF.LOADCHUNK f x data", *both(error("ERR Second argument must be numeric"))),
    ([], "BF.LOADCHUNK f 1 data", *both(error("ERR received bad data"))),
    ([], "BF.LOADCHUNK f 2 data", *both(NOT_FOUND)),
    ([("SET", "f", "a")], "BF.LOADCHUNK f 1 data", *both(WRONG_TYPE)),
    ([("BF.ADD", "f", "a")], "BF.LOADCHUNK f 1 data",
     *both(error("ERR invalid offset - no link found"))),
    ([("BF.ADD", "f", "a")], "BF.LOADCHUNK f -5 data",
     *both(error("ERR invalid offset - no link found"))),
    ([("BF.ADD", "f", "a")], "BF.LOADCHUNK f 9223372036854775807 data",
     *both(error("ERR invalid offset - no link found"))),
    ([("BF.ADD", "f", "a")], "BF.LOADCHUNK f 146 data",
     *both(error("ERR invalid chunk - Too big for current filter"))),
    ([("BF.ADD", "f", "a")], "BF.LOADCHUNK f 145 data", *both(OK)),
    ([], "BF.LOADCHUNK f 1", *both(arity("bf.loadchunk"))),
]

# The example of redis.io/commands/bf.scandump: BF.RESERVE bf 0.1 10, BF.ADD bf item1.
GOLDEN_HEADER = bytes.fromhex(
    "0100000000000000 01000000 05000000 02000000"
    "0800000000000000 4000000000000000 0100000000000000 9a9999999999a93f 4af7d49edef01840"
    "05000000 0a00000000000000 00"
)
GOLDEN_CHUNK = bytes.fromhex("0108008000042000")


class Replies(ModuleCase):
    options = ["ENGINE", "compat", "--rdbcompression", "no"]

    def test_the_table_of_replies(self):
        self.check_replies(TABLE)

    def test_scandump_gives_the_published_bytes(self):
        self.two.ask("BF.RESERVE", "bf", "0.1", 10)
        self.two.ask("BF.ADD", "bf", "item1")
        self.assertEqual(self.two.ask("BF.SCANDUMP", "bf", 0), [1, GOLDEN_HEADER])
        self.assertEqual(self.two.ask("BF.SCANDUMP", "bf", 1), [9, GOLDEN_CHUNK])
        self.assertEqual(self.two.ask("BF.SCANDUMP", "bf", 9), [0, b""])

    def test_the_published_bytes_load(self):
        self.assertEqual(self.two.ask("BF.LOADCHUNK", "bf", 1, GOLDEN_HEADER), OK)
        self.assertEqual(self.two.ask("BF.LOADCHUNK", "bf", 9, GOLDEN_CHUNK), OK)
        self.assertEqual(self.two.ask("BF.MEXISTS", "bf", "item1", "item2"), [1, 0])
        self.assertEqual(self.two.ask("BF.CARD", "bf"), 1)
        self.assertEqual(self.two.ask("TYPE", "bf"), "MBbloom--")

    def test_growth_follows_the_law_of_sizes(self):
        for words in [(0.01, 4, 1), (0.01, 4, 2), (0.001, 3, 3), (0.25, 1, 2)]:
            rate, capacity, growth = words
            with self.subTest(words=words):
                self.two.ask("DEL", "f")
                law = Bloom(rate, capacity, growth)
                self.two.ask("BF.RESERVE", "f", rate, capacity, "EXPANSION", growth)
                for n in range(200):
                    key = b"key %d" % n
                    self.assertEqual(self.two.ask("BF.ADD", "f", key), law.add(key), key)
                self.assertGreater(len(law.links), 3)
                self.assertEqual(self.two.ask("BF.SCANDUMP", "f", 0), [1, law.header()])
                position, bits = 1, b""
                while position:
                    position, chunk = self.two.ask("BF.SCANDUMP", "f", position)
                    bits += chunk
                self.assertEqual(bits, b"".join(bytes(link.bits) for link in law.links))
                self.check_dump("f", law)

    def test_a_payload_of_the_independent_encoder_restores(self):
        law = Bloom(0.02, 50)
        keys = [b"%d" % n for n in range(500)]
        for key in keys:
            law.add(key)
        self.assertEqual(self.two.ask("RESTORE", "f", 0, law.payload()), OK)
        self.assertEqual(self.two.ask("BF.MEXISTS", "f", *keys), [1] * len(keys))
        self.check_dump("f", law)

    def test_nonscaling_filters_follow_the_law(self):
        law = Bloom(0.01, 20, scaling=False)
        self.two.ask("BF.RESERVE", "f", 0.01, 20, "NONSCALING")
        answers = [law.add(b"%d" % n) for n in range(30)]
        self.assertIn(None, answers)
        for n, answer in enumerate(answers):
            self.assertEqual(self.two.ask("BF.ADD", "f", n), FULL if answer is None else answer)
        self.check_dump("f", law)

    def test_rates_above_a_quarter_are_a_quarter(self):
        self.two.ask("BF.RESERVE", "f", 0.9, 100)
        self.assertIn(b" ratio:0.125", self.two.ask("BF.DEBUG", "f")[1])

    def test_keys_of_every_length_and_byte(self):
        keys = [bytes([n]) * n for n in range(256)] + [b"\0", b"\r\n", b""]
        law = Bloom(0.001, 1000)
        self.two.ask("BF.RESERVE", "f", 0.001, 1000)
        self.assertEqual(self.two.ask("BF.MADD", "f", *keys), [law.add(key) for key in keys])
        self.check_dump("f", law)

    def test_many_words_in_one_command(self):
        keys = [b"k%d" % n for n in range(5000)]
        self.two.ask("BF.RESERVE", "f", 0.0001, 10000)
        self.assertEqual(sum(self.two.ask("BF.MADD", "f", *keys)), self.two.ask("BF.CARD", "f"))
        self.assertEqual(self.two.ask("BF.MEXISTS", "f", *keys), [1] * len(keys))

    def test_events_name_what_changed(self):
        self.two.ask("CONFIG", "SET", "notify-keyspace-events", "Kd")
        with Resp(self.server.port) as ears:
            ears.ask("SUBSCRIBE", "__keyspace@0__:f")
            for line in ["BF.RESERVE f 0.01 10", "BF.ADD f a", "BF.ADD f a", "BF.MADD f b",
                         "BF.INSERT f ITEMS c", "BF.EXISTS f a", "BF.LOADCHUNK f 9 12345678"]:
                self.two.ask(*line.split())
            heard = [ears.read()[2] for _ in range(5)]
        self.two.ask("CONFIG", "SET", "notify-keyspace-events", "")
        self.assertEqual(
            heard, [b"bf.reserve", b"bf.add", b"bf.madd", b"bf.insert", b"bf.loadchunk"]
        )

    def test_a_watched_key_that_gets_a_member_ends_the_transaction(self):
        self.two.ask("WATCH", "f")
        self.three.ask("BF.ADD", "f", "a")
        self.two.ask("MULTI")
        self.two.ask("PING")
        self.assertIsNone(self.two.ask("EXEC"))

    def test_transactions_and_scripts(self):
        self.two.ask("MULTI")
        self.two.ask("BF.ADD", "f", "a")
        self.two.ask("BF.EXISTS", "f", "a")
        self.assertEqual(self.two.ask("EXEC"), [1, 1])
        script = "return redis.call('BF.MADD', KEYS[1], 'a', 'b')"
        self.assertEqual(self.two.ask("EVAL", script, 1, "f"), [0, 1])

    def test_command_docs_and_info(self):
        names = "reserve add madd insert exists mexists info card debug scandump loadchunk"
        self.check_docs(f"bf.{name}" for name in names.split())
        self.assertEqual(
            self.two.ask("COMMAND", "GETKEYS", "BF.INSERT", "f", "ITEMS", "a"), [b"f"]
        )

    def test_the_section_of_info(self):
        self.two.ask("BF.ADD", "f", "a")
        self.two.ask("BF.ADD", "g", "a")
        told = self.two.ask("INFO", "bf_bloomery").decode()
        self.assertIn("bf_bloom_filters:2\r\n", told)
        self.assertIn("bf_version:", told)

    def test_acl_knows_readers_from_writers(self):
        self.two.ask("ACL", "SETUSER", "reader", "on", ">x", "%R~*", "+@all")
        self.two.ask("BF.ADD", "f", "a")
        with Resp(self.server.port) as reader:
            reader.ask("AUTH", "reader", "x")
            self.assertEqual(reader.ask("BF.EXISTS", "f", "a"), 1)
            self.assertIn("NOPERM", str(reader.ask("BF.ADD", "f", "b")))


class Settings(unittest.TestCase):
    def start(self, *words):
        server = RedisServer("--loadmodule", MODULE, "ENGINE", "compat", *words)
        self.addCleanup(server.stop)
        redis = Resp(server.port)
        self.addCleanup(redis.close)
        return redis

    def test_words_behind_loadmodule_are_the_defaults(self):
        redis = self.start("ERROR_RATE", "0.125", "initial_size", "17", "EXPANSION_FACTOR", "3")
        redis.ask("BF.ADD", "f", "a")
        self.assertIn(b"capacity:17 size:1 ratio:0.0625", redis.ask("BF.DEBUG", "f")[1])
        self.assertEqual(redis.ask("BF.INFO", "f", "EXPANSION"), [3])
        got = redis.ask("CONFIG", "GET", "bf.bf-error-rate")
        self.assertEqual(got, [b"bf.bf-error-rate", b"0.125"])

    def test_config_set_at_run_time(self):
        redis = self.start()
        self.assertEqual(redis.ask("CONFIG", "SET", "bf.bf-error-rate", "0.5"), OK)
        self.assertEqual(redis.ask("CONFIG", "SET", "bf.bf-initial-size", "7"), OK)
        redis.ask("BF.ADD", "f", "a")
        self.assertIn(b"capacity:7 size:1 ratio:0.125", redis.ask("BF.DEBUG", "f")[1])
        for value in ["0", "1", "x", "nan"]:
            refused = redis.ask("CONFIG", "SET", "bf.bf-error-rate", value)
            self.assertIsInstance(refused, RespError)
        self.assertIsInstance(redis.ask("CONFIG", "SET", "bf.bf-initial-size", "0"), RespError)
        self.assertEqual(redis.ask("CONFIG", "GET", "bf.bf-error-rate")[1], b"0.25")

    def test_expansion_factor_0_makes_filters_that_do_not_grow(self):
        redis = self.start("EXPANSION_FACTOR", "0", "INITIAL_SIZE", "1")
        self.assertEqual(redis.ask("BF.MADD", "f", "a", "b"), [1, FULL])
        self.assertEqual(redis.ask("BF.INFO", "f", "EXPANSION"), [None])

    def test_a_cap_holds_for_new_filters_for_growth_and_for_headers(self):
        redis = self.start("MAX_KEY_BYTES", "4096")
        refused = error("ERR Insufficient memory to create filter")
        self.assertEqual(redis.ask("BF.RESERVE", "f", "0.01", "4000"), refused)
        self.assertEqual(redis.ask("BF.RESERVE", "f", "0.01", "1000"), OK)
        replies = [redis.ask("BF.ADD", "f", n) for n in range(2000)]
        self.assertEqual(replies[-1], error("ERR problem inserting into filter"))
        self.assertEqual(redis.ask("BF.INFO", "f", "FILTERS"), [1])
        large = Bloom(0.01, 4000).header()
        self.assertEqual(
            redis.ask("BF.LOADCHUNK", "g", 1, large), error("ERR received bad data")
        )
        self.assertEqual(redis.ask("CONFIG", "SET", "bf.bf-max-key-bytes", "1mb"), OK)
        self.assertEqual(redis.ask("BF.LOADCHUNK", "g", 1, large), OK)

    def test_wrong_words_are_refused_and_the_server_says_why(self):
        for words in [("ERROR_RATE", "2"), ("WHAT", "1"), ("INITIAL_SIZE",), ("INITIAL_SIZE", "0")]:
            with self.subTest(words=words), self.assertRaises(RuntimeError) as refused:
                self.start(*words)
            self.assertIn("bloomery: ", str(refused.exception))


if __name__ == "__main__":
    unittest.main()

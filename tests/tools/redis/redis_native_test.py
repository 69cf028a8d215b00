#!/usr/bin/env python3
"""The native engine of bloomery.so on a real redis-server: what it promises beyond RedisBloom.

    BLOOMERY_MODULE=path/to/bloomery.so redis_native_test.py
"""
import unittest

from redis_module import NOT_FOUND, OK, WRONG_TYPE, ModuleCase
from resp import RespError

SECRET = "0123456789abcdef0123456789abcdef"


def groups(command, key, numbers, *before, size=1000):
    """Commands that take these numbers a thousand at a time."""
    numbers = list(numbers)
    for at in range(0, len(numbers), size):
        yield [command, key, *before, *numbers[at : at + size]]


class Native(ModuleCase):
    options = ["--enable-debug-command", "yes"]

    def add(self, key, numbers, command="BF.MADD", *before):
        return sum(sum(self.two.ask(*words)) for words in groups(command, key, numbers, *before))

    def found(self, key, numbers, command="BF.MEXISTS"):
        return sum(sum(self.two.ask(*words)) for words in groups(command, key, numbers))

    def rate(self, key, command="BF.MEXISTS"):
        """Of 200,000 strangers, how many pass."""
        return self.found(key, range(10**9, 10**9 + 200_000), command) / 200_000

    def test_is_the_default_and_has_types_of_its_own(self):
        self.two.ask("BF.ADD", "b", "a")
        self.two.ask("CF.ADD", "c", "a")
        self.assertEqual(self.two.ask("TYPE", "b"), "bloomery-")
        self.assertEqual(self.two.ask("TYPE", "c"), "bloomeryC")
        self.assertEqual(self.two.ask("CF.ADD", "b", "a"), WRONG_TYPE)
        self.assertEqual(self.two.ask("BF.ADD", "c", "a"), WRONG_TYPE)
        self.assertIn(b"bf_engine:native", self.two.ask("INFO", "bf_bloomery"))

    def test_the_engine_can_be_chosen_for_one_key_and_for_all(self):
        self.two.ask("BF.RESERVE", "b", 0.01, 100, "ENGINE", "compat")
        self.assertEqual(self.two.ask("TYPE", "b"), "MBbloom--")
        self.two.ask("CF.RESERVE", "c", 100, "ENGINE", "compat")
        self.assertEqual(self.two.ask("TYPE", "c"), "MBbloomCF")
        self.assertEqual(self.two.ask("CONFIG", "SET", "bf.bf-engine", "compat"), OK)
        self.two.ask("BF.ADD", "d", "a")
        self.assertEqual(self.two.ask("CONFIG", "SET", "bf.bf-engine", "native"), OK)
        self.assertEqual(self.two.ask("TYPE", "d"), "MBbloom--")
        self.assertIsInstance(self.two.ask("CONFIG", "SET", "bf.bf-engine", "x"), RespError)

    def test_replies_are_those_of_redisbloom(self):
        full = RespError("ERR non scaling filter is full")
        table = [
            ("BF.RESERVE f 0.01 100", OK, OK),
            ("BF.RESERVE f 0.01 100", *[RespError("ERR item exists")] * 2),
            ("BF.MADD f a b a", [1, 1, 0], [True, True, False]),
            ("BF.ADD f c", 1, True),
            ("BF.MEXISTS f a x", [1, 0], [True, False]),
            ("BF.CARD f", 3, 3),
            ("BF.RESERVE n 0.01 2 NONSCALING", OK, OK),
            ("BF.MADD n a b c d", [1, 1, full], [True, True, full]),
            ("BF.INFO n EXPANSION", [None], {b"Expansion rate": None}),
            ("BF.INSERT m EXPANSION 2 NONSCALING CAPACITY 1 ITEMS a b", [1, full], [True, full]),
            ("CF.RESERVE c 100", OK, OK),
            ("CF.ADD c a", 1, True),
            ("CF.ADD c a", 1, True),
            ("CF.COUNT c a", 2, 2),
            ("CF.ADDNX c a", 0, False),
            ("CF.ADDNX c b", 1, True),
            ("CF.INSERT c ITEMS d e", [1, 1], [True, True]),
            ("CF.INSERTNX c ITEMS d g", [0, 1], [0, 1]),
            ("CF.MEXISTS c a x", [1, 0], [True, False]),
            ("CF.DEL c a", 1, True),
            ("CF.DEL c x", 0, False),
            ("CF.COMPACT c", OK, OK),
        ]
        for redis, column in [(self.two, 1), (self.three, 2)]:
            self.two.ask("FLUSHALL")
            for row in table:
                with self.subTest(line=row[0], protocol=column + 1):
                    # 1 is not True.
                    self.assertEqual(repr(redis.ask(*row[0].split())), repr(row[column]))

    def test_bf_info_tells_the_rate_now_and_the_bits_of_an_item(self):
        self.two.ask("BF.RESERVE", "f", 0.01, 100_000)
        self.add("f", range(100_000))
        told = self.three.ask("BF.INFO", "f")
        self.assertEqual(list(told)[:5], [b"Capacity", b"Size", b"Number of filters",
                                          b"Number of items inserted", b"Expansion rate"])
        self.assertAlmostEqual(told[b"Estimated error rate"], self.rate("f"), delta=0.001)
        self.assertLess(told[b"Bits per item"], 10.6)
        self.assertEqual(told[b"Expansion rate"], 2)
        self.assertEqual(len(self.two.ask("BF.INFO", "f")), 14)

    def test_a_reserved_filter_keeps_rate_and_size_beyond_its_capacity(self):
        self.two.ask("BF.RESERVE", "f", 0.01, 100_000)
        for count in [100_000, 200_000, 400_000]:
            self.add("f", range(count))
            self.assertEqual(self.found("f", range(count)), count)
            self.assertLessEqual(self.rate("f"), 0.0107)  # five deviations above 1 %
            bits = 8 * self.two.ask("MEMORY", "USAGE", "f") / self.two.ask("BF.CARD", "f")
            self.assertLess(bits, 11 if count == 100_000 else 24)

    def test_a_filter_from_the_default_keeps_its_rate_and_24_bits(self):
        done = 0
        for count in [10_000, 30_000, 100_000, 300_000]:
            self.add("f", range(done, count))
            done = count
            self.assertEqual(self.found("f", range(count)), count)
            self.assertLessEqual(self.rate("f"), 0.0107)
            bits = 8 * self.two.ask("MEMORY", "USAGE", "f") / self.two.ask("BF.CARD", "f")
            self.assertLess(bits, 24, count)

    def test_a_cuckoo_filter_from_the_default_keeps_its_rate(self):
        self.assertEqual(self.add("f", range(100_000), "CF.INSERT", "ITEMS"), 100_000)
        self.assertEqual(self.found("f", range(100_000), "CF.MEXISTS"), 100_000)
        self.assertLessEqual(self.rate("f", "CF.MEXISTS"), 0.0107)
        for n in range(0, 100_000, 10):
            self.assertEqual(self.two.ask("CF.DEL", "f", n), 1)
        kept = [n for n in range(100_000) if n % 10]
        self.assertEqual(self.found("f", kept, "CF.MEXISTS"), len(kept))
        self.assertEqual(self.two.ask("CF.INFO", "f")[7], 90_000)

    def test_255_copies_of_an_item_fit(self):
        replies = [self.two.ask("CF.ADD", "f", "a") for _ in range(256)]
        self.assertEqual(replies, [1] * 255 + [RespError("Filter is full")])
        self.assertEqual(self.two.ask("CF.COUNT", "f", "a"), 255)
        self.assertEqual(self.two.ask("CF.INSERT", "f", "ITEMS", "b", "a"), [1, -1])

    def test_cf_reserve_takes_a_rate(self):
        self.two.ask("CF.RESERVE", "f", 20_000, "ERROR", 0.0001)
        self.add("f", range(20_000), "CF.INSERT", "ITEMS")
        self.assertLess(self.rate("f", "CF.MEXISTS"), 0.0002)

    def test_a_window_remembers_the_last_adds_and_forgets_older_ones(self):
        self.two.ask("BF.RESERVE", "f", 0.01, 1000, "WINDOW", 1000)
        self.add("f", range(100_000))
        self.assertEqual(self.found("f", range(99_000, 100_000)), 1000)
        self.assertLess(self.found("f", range(0, 50_000)), 1500)

    def test_two_filters_hash_apart_unless_reserved_alike(self):
        strangers = range(10**6, 10**6 + 100_000)
        passed = []
        for key in "ab":
            self.two.ask("BF.RESERVE", key, 0.01, 10_000)
            self.add(key, range(10_000))
            answers = [self.two.ask(*words) for words in groups("BF.MEXISTS", key, strangers)]
            passed.append({n for n, hit in zip(strangers, sum(answers, [])) if hit})
        self.assertGreater(len(passed[0]), 500)
        # Who knows which strangers pass one filter knows nothing of another.
        self.assertLess(len(passed[0] & passed[1]), 60)

    def test_merge_unites_filters_that_were_reserved_alike(self):
        self.two.ask("BF.RESERVE", "a", 0.01, 20_000)
        self.two.ask("BF.RESERVE", "b", 0.01, 20_000, "LIKE", "a")
        self.add("a", range(0, 10_000))
        self.add("b", range(10_000, 20_000))
        rate = self.three.ask("BF.MERGE", "both", "a", "b")
        self.assertEqual(self.found("both", range(20_000)), 20_000)
        self.assertAlmostEqual(rate, self.rate("both"), delta=0.002)
        self.assertAlmostEqual(rate, self.three.ask("BF.INFO", "both", "RATE")[
            b"Estimated error rate"], delta=1e-9)
        self.assertLess(self.found("a", range(10_000, 20_000)), 500)
        self.two.ask("BF.MERGE", "a", "b")
        self.assertEqual(self.found("a", range(20_000)), 20_000)

    def test_merge_says_why_not(self):
        self.two.ask("BF.RESERVE", "a", 0.01, 20_000)
        self.two.ask("BF.RESERVE", "other", 0.01, 20_000)
        self.two.ask("BF.RESERVE", "small", 0.01, 10_000, "LIKE", "a")
        self.two.ask("BF.RESERVE", "compat", 0.01, 100, "ENGINE", "compat")
        self.two.ask("BF.RESERVE", "window", 0.01, 100, "WINDOW", 100, "LIKE", "a")
        self.two.ask("SET", "text", "x")
        self.add("a", range(100))
        digest = self.two.ask("DEBUG", "DIGEST")
        for line, part in [("a other", "secrets"), ("a small", ""), ("a compat", "native engine"),
                           ("a window", "windows"), ("window a", "windows"),
                           ("new missing", "not found"), ("a missing", "not found"),
                           ("a text", "WRONGTYPE"), ("text a", "WRONGTYPE"),
                           ("new a text", "WRONGTYPE"), ("compat a", "native engine")]:
            reply = self.two.ask("BF.MERGE", *line.split())
            self.assertIsInstance(reply, RespError, line)
            self.assertIn(part, str(reply), line)
        self.assertIn("wrong number", str(self.two.ask("BF.MERGE", "a")))
        self.assertEqual(self.two.ask("DEBUG", "DIGEST"), digest)
        self.assertEqual(self.two.ask("COMMAND", "GETKEYS", "BF.MERGE", "a", "b", "c"),
                         [b"a", b"b", b"c"])
        reserve = ["BF.RESERVE", "a", "0.1", "9", "NONSCALING", "LIKE", "b"]
        self.assertEqual(self.two.ask("COMMAND", "GETKEYS", *reserve), [b"a", b"b"])
        self.assertEqual(self.two.ask("COMMAND", "GETKEYS", *reserve[:5]), [b"a"])

    def test_words_of_our_own_that_are_wrong(self):
        self.two.ask("BF.RESERVE", "compat", 0.01, 100, "ENGINE", "compat")
        self.two.ask("SET", "text", "x")
        window = "ERR window must be in the range [1, 1073741824]"
        for words, said in [("LIKE missing", str(NOT_FOUND)), ("LIKE text", str(WRONG_TYPE)),
                            ("LIKE compat", "ERR LIKE needs a filter of the native engine"),
                            ("WINDOW 0", window), ("WINDOW x", window),
                            ("SECRET 12", "ERR secret must be 32 hex digits"),
                            ("SECRET " + "g" * 32, "ERR secret must be 32 hex digits"),
                            ("WINDOW", "Unknown argument received")]:
            reply = self.two.ask("BF.RESERVE", "f", 0.01, 100, *words.split())
            self.assertEqual(reply, RespError(said), words)
            self.assertEqual(self.two.ask("EXISTS", "f"), 0)
        for words, said in [("ERROR 2", "Bad error rate"), ("ENGINE x", "ERR engine must be"),
                            ("SECRET 1", "ERR secret must be 32 hex digits")]:
            self.assertIn(said, str(self.two.ask("CF.RESERVE", "f", 100, *words.split())))

    def test_rates_that_no_native_filter_has(self):
        for words in [("BF.RESERVE", "f", "1e-10", 100), ("CF.RESERVE", "f", 100, "ERROR", 1e-10)]:
            self.assertIn("the rate must be at least 1e-9", str(self.two.ask(*words)))

    def test_equal_secrets_and_commands_give_equal_bits(self):
        for key in "ab":
            self.two.ask("BF.RESERVE", key, 0.01, 1000, "SECRET", SECRET)
            self.add(key, range(5000))
        values = [self.two.ask("DEBUG", "DIGEST-VALUE", key) for key in "ab"]
        self.assertEqual(values[0], values[1])

    def test_scandump_and_loadchunk(self):
        self.two.ask("BF.RESERVE", "b", 0.001, 200_000)
        self.add("b", range(300_000))
        self.add("c", range(50_000), "CF.INSERT", "ITEMS")
        self.two.ask("BF.RESERVE", "w", 0.01, 100, "WINDOW", 5000)
        self.add("w", range(20_000))
        self.two.ask("CF.RESERVE", "empty", 100)
        for key, family in [("b", "BF"), ("c", "CF"), ("w", "BF"), ("empty", "CF")]:
            position, pieces = 0, 0
            while True:
                position, piece = self.two.ask(f"{family}.SCANDUMP", key, position)
                if position == 0:
                    break
                reply = self.two.ask(f"{family}.LOADCHUNK", "twin", position, piece)
                self.assertEqual(reply, OK, key)
                pieces += 1
            self.assertGreater(pieces, 0)
            self.assertEqual(self.two.ask("DEBUG", "DIGEST-VALUE", "twin"),
                             self.two.ask("DEBUG", "DIGEST-VALUE", key), key)
            self.two.ask("DEL", "twin")

    def test_a_filter_that_is_half_loaded_says_maybe_and_takes_nothing(self):
        self.two.ask("BF.RESERVE", "b", 0.01, 10_000)
        self.add("b", range(100))
        self.two.ask("BF.LOADCHUNK", "half", *self.two.ask("BF.SCANDUMP", "b", 0))
        self.assertEqual(self.two.ask("BF.EXISTS", "half", "stranger"), 1)
        self.assertIsInstance(self.two.ask("BF.ADD", "half", "x"), RespError)
        self.assertEqual(self.two.ask("DEBUG", "RELOAD"), OK)
        self.assertEqual(self.two.ask("BF.EXISTS", "half", "stranger"), 1)
        self.assertEqual(
            self.two.ask("BF.LOADCHUNK", "half", *self.two.ask("BF.SCANDUMP", "b", 1)), OK
        )
        self.assertEqual(self.found("half", range(100)), 100)
        self.assertEqual(self.two.ask("BF.EXISTS", "half", "stranger"), 0)

    def test_a_cap_holds(self):
        self.two.ask("CONFIG", "SET", "bf.bf-max-key-bytes", "100kb")
        self.addCleanup(self.two.ask, "CONFIG", "SET", "bf.bf-max-key-bytes", "2gb")
        memory = RespError("ERR Insufficient memory to create filter")
        self.assertEqual(self.two.ask("BF.RESERVE", "b", 0.01, 1_000_000), memory)
        last = None
        for words in groups("BF.MADD", "f", range(200_000)):
            last = self.two.ask(*words)[-1]
        self.assertEqual(last, RespError("ERR problem inserting into filter"))
        self.assertLess(self.two.ask("MEMORY", "USAGE", "f"), 110_000)
        for n in range(200_000):
            last = self.two.ask("CF.ADD", "c", n)
            if last != 1:
                break
        self.assertEqual(last, RespError("ERR Insufficient memory"))
        self.assertLess(self.two.ask("MEMORY", "USAGE", "c"), 110_000)


if __name__ == "__main__":
    unittest.main()

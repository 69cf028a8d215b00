#!/usr/bin/env python3
"""Settings of bloomery.so under the names, ranges and errors of RedisBloom 8.

    BLOOMERY_MODULE=path/to/bloomery.so redis_settings_test.py

Redis before 8 and Valkey put the name of the module before that of a setting: bf.bf-error-rate.
"""
import unittest

from redis_module import MODULE, OK
from redis_server import RedisServer
from resp import Resp, RespError

MOST = 2**30
# Name, default, least, most.
NUMBERS = [
    ("bf-initial-size", 100, 1, MOST),
    ("bf-expansion-factor", 2, 0, 32768),
    ("cf-bucket-size", 2, 1, 255),
    ("cf-initial-size", 1024, 4, MOST),
    ("cf-max-iterations", 20, 1, 65535),
    ("cf-expansion-factor", 1, 0, 32768),
    ("cf-max-expansions", 32, 1, 65536),
]


def not_set(name, why):
    return RespError(f"ERR CONFIG SET failed (possibly related to argument 'bf.{name}') - {why}")


def range_error(name, least, most):
    return f"Value for `{name}` must be in the range [{least}, {most}]"


class Settings(unittest.TestCase):
    def start(self, *words, lines=()):
        server = RedisServer("--loadmodule", MODULE, *words, *lines)
        self.addCleanup(server.stop)
        redis = Resp(server.port)
        self.addCleanup(redis.close)
        return redis

    def setting(self, redis, name):
        return redis.ask("CONFIG", "GET", f"bf.{name}")[1].decode()

    def set(self, redis, name, value):
        return redis.ask("CONFIG", "SET", f"bf.{name}", value)

    def test_names_behind_loadmodule(self):
        given = {name: str(most - 1) for name, _, _, most in NUMBERS}
        given |= {"cf-initial-size": "5000", "cf-bucket-size": "250", "bf-error-rate": "0.0001"}
        given |= {"bf-engine": "compat", "bf-max-key-bytes": "5000000"}
        redis = self.start(*[word for pair in given.items() for word in pair])
        self.assertEqual({name: self.setting(redis, name) for name in given}, given)
        small = ["BF-Initial-Size", "17", "bf-error-rate", "0.125", "ENGINE", "compat"]
        redis = self.start(*small)
        redis.ask("BF.ADD", "f", "a")
        self.assertIn(b"capacity:17 size:1 ratio:0.0625", redis.ask("BF.DEBUG", "f")[1])

    def test_ranges_and_errors(self):
        redis = self.start()
        for name, default, least, most in NUMBERS:
            with self.subTest(name=name):
                self.assertEqual(self.setting(redis, name), str(default))
                for value in [least - 1, most + 1, -(2**63), 2**63 - 1]:
                    self.assertEqual(self.set(redis, name, value),
                                     not_set(name, range_error(name, least, most)))
                for value in ["", "x", "1.5", "2gb", 2**63]:
                    self.assertEqual(self.set(redis, name, value),
                                     not_set(name, f"Invalid value for `{name}`"))
                self.assertEqual(self.setting(redis, name), str(default))
                for value in [most, least, default]:
                    self.assertEqual(self.set(redis, name, value), OK)
                    self.assertEqual(self.setting(redis, name), str(value))

    def test_a_bucket_takes_at_most_half_of_a_filter(self):
        redis = self.start("cf-initial-size", "20")
        self.assertEqual(self.set(redis, "cf-bucket-size", 11),
                         not_set("cf-bucket-size", range_error("cf-bucket-size", 1, 10)))
        self.assertEqual(self.set(redis, "cf-bucket-size", 10), OK)
        self.assertEqual(self.set(redis, "cf-initial-size", 19),
                         not_set("cf-initial-size", range_error("cf-initial-size", 20, MOST)))

    def test_the_rate(self):
        redis = self.start()
        self.assertEqual(self.setting(redis, "bf-error-rate"), "0.01")
        outside = "Value for `bf-error-rate` must be in the range (0.000000, 1.000000)"
        for value in ["0", "1", "-1", "2", "inf"]:
            self.assertEqual(self.set(redis, "bf-error-rate", value),
                             not_set("bf-error-rate", outside), value)
        for value in ["", "x", "nan"]:
            self.assertEqual(self.set(redis, "bf-error-rate", value),
                             not_set("bf-error-rate", "Invalid value for `bf-error-rate`"), value)
        # A higher rate is 0.25, as in RedisBloom, and is told so.
        for value, kept in [("0.5", "0.25"), ("0.25", "0.25"), ("1e-3", "0.001")]:
            self.assertEqual(self.set(redis, "bf-error-rate", value), OK)
            self.assertEqual(self.setting(redis, "bf-error-rate"), kept)

    def test_a_line_wins_over_a_word(self):
        redis = self.start("bf-initial-size", "50", "cf-initial-size", "60",
                           lines=["--bf.bf-initial-size", "70"])
        self.assertEqual(self.setting(redis, "bf-initial-size"), "70")
        self.assertEqual(self.setting(redis, "cf-initial-size"), "60")

    def test_wrong_words_stop_the_server_with_the_reason(self):
        table = [
            (["bf-initial-size", "0"], range_error("bf-initial-size", 1, MOST)),
            (["INITIAL_SIZE", "0"], range_error("bf-initial-size", 1, MOST)),
            (["cf-bucket-size", "256"], range_error("cf-bucket-size", 1, 255)),
            (["bf-error-rate", "x"], "Invalid value for `bf-error-rate`"),
            (["bf-error-rate"], "the word bf-error-rate needs a value"),
            (["bf-errors", "1"], "unknown word bf-errors"),
        ]
        for words, why in table:
            with self.subTest(words=words), self.assertRaises(RuntimeError) as refused:
                self.start(*words)
            self.assertIn(why, str(refused.exception))


if __name__ == "__main__":
    unittest.main()

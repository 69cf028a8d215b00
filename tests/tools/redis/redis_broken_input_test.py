#!/usr/bin/env python3
"""SCANDUMP pieces and RESTORE payloads that lie: an error or a filter, never the end of the server.

    BLOOMERY_MODULE=path/to/bloomery.so redis_broken_input_test.py [COUNT [SEED]]

COUNT mutants (5000 if not told) of each sort. Payloads of RESTORE are signed again after they were
changed, so that the server hands them to us. What is accepted is used and removed again.
BLOOMERY_MODULE_PRELOAD names the runtime of the sanitizer that the module was built with, if any.
"""
import math
import os
import random
import struct
import sys
import time
import unittest

import redis_laws as laws
from redis_module import MODULE
from redis_server import RedisServer
from resp import Resp, RespError

PRELOAD = os.environ.get("BLOOMERY_MODULE_PRELOAD")
NUMBERS = [int(word) for word in sys.argv[1:] if word.isdigit()]
sys.argv = [word for word in sys.argv if not word.isdigit()]
COUNT = NUMBERS[0] if NUMBERS else 5000
SEED = NUMBERS[1] if len(NUMBERS) > 1 else 20260716
CAP = 1 << 20
LONGEST = 60.0  # seconds for a batch of mutants; a hang would take for ever
BATCH = 50
NUMBERS_TO_TRY = [0, 1, 2, 3, 7, 8, 63, 64, 255, 256, 4096, 4097, 65535, 65536, (1 << 31) - 1,
                  1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, 1 << 61, (1 << 63) - 1, 1 << 63,
                  (1 << 64) - 1]
REALS_TO_TRY = [0.0, -0.0, 1.0, 0.5, -1.0, 5e-324, 1e-300, 1e300, math.inf, -math.inf, math.nan]
USE = {
    "BF": ["BF.MADD k a b c", "BF.MEXISTS k a x", "BF.INFO k", "BF.INFO k RATE", "BF.INFO k BITS",
           "BF.CARD k", "BF.DEBUG k", "BF.SCANDUMP k 0", "BF.SCANDUMP k 1", "BF.LOADCHUNK k 9 abc",
           "MEMORY USAGE k", "DUMP k", "COPY k copy", "DEL k copy"],
    "CF": ["CF.INSERT k ITEMS a b c d", "CF.INSERTNX k ITEMS a x", "CF.MEXISTS k a x",
           "CF.COUNT k a", "CF.DEL k a", "CF.DEL k b", "CF.COMPACT k", "CF.INFO k", "CF.DEBUG k",
           "CF.SCANDUMP k 0", "CF.SCANDUMP k 1", "CF.LOADCHUNK k 9 abc", "MEMORY USAGE k", "DUMP k",
           "COPY k copy", "DEL k copy"],
}


def start_server():
    before = os.environ.get("LD_PRELOAD")
    if PRELOAD:
        os.environ["LD_PRELOAD"] = PRELOAD
        # The server leaves much behind when it ends, which is not ours to report.
        os.environ["ASAN_OPTIONS"] = "detect_leaks=0:allocator_may_return_null=1"
    try:
        return RedisServer("--loadmodule", MODULE, "MAX_KEY_BYTES", str(CAP), "--maxmemory", "1gb",
                           "--maxmemory-policy", "noeviction", "--loglevel", "warning",
                           "--rdbcompression", "no")
    finally:
        if PRELOAD:
            os.environ.pop("LD_PRELOAD")
            if before is not None:
                os.environ["LD_PRELOAD"] = before


def samples():
    """Sound filters of both families, small and grown."""
    for growth, keys, scaling in [(2, 1, True), (2, 60, True), (1, 30, True), (2, 3, False)]:
        bloom = laws.Bloom(0.05, 10, growth, scaling)
        for n in range(keys):
            bloom.add(b"%d" % n)
        yield "BF", bloom
    for bucket, expansion, keys in [(2, 1, 1), (2, 1, 40), (3, 2, 60), (4, 0, 8)]:
        cuckoo = laws.Cuckoo(16, bucket, 20, expansion)
        for n in range(keys):
            cuckoo.add(b"%d" % n)
        yield "CF", cuckoo


def fields_of(payload_maker):
    """The fields that a filter would put into its payload, and the name of its type."""
    kept = []
    original = laws.module_payload
    laws.module_payload = lambda name, encver, fields: kept.append((name, fields)) or b""
    try:
        payload_maker()
    finally:
        laws.module_payload = original
    return kept[0]


class BrokenInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = start_server()
        cls.addClassCleanup(cls.server.stop)
        cls.redis = Resp(cls.server.port, timeout=60)
        cls.addClassCleanup(cls.redis.close)
        print(f"seed {SEED}, {COUNT} mutants of each sort", file=sys.stderr)

    def setUp(self):
        self.chance = random.Random(f"{SEED} {self.id()}")
        self.redis.ask("FLUSHALL")
        self.accepted = 0

    def attack(self, mutants):
        """Each mutant is (family, command that may be refused, what was done, what goes before)."""
        batch = []
        for mutant in mutants:
            batch.append(mutant)
            if len(batch) == BATCH:
                self.send(batch)
                batch = []
        self.send(batch)
        memory = self.redis.ask("INFO", "memory")
        used = int(memory.split(b"used_memory_peak:")[1].split()[0])
        self.assertLess(used, 256 << 20, "memory is not bounded")

    def send(self, batch):
        commands = []
        for family, refusable, _, *before in batch:
            commands += [*before, refusable, *(line.split() for line in USE[family])]
        began = time.monotonic()
        try:
            replies = self.redis.pipeline(commands)
        except (OSError, ValueError) as gone:
            told = self.server.log()[-3000:]
            self.fail(f"{gone}; seed {SEED}; one of {[mutant[2] for mutant in batch]}\n{told}")
        took = time.monotonic() - began
        self.assertLess(took, LONGEST, f"seed {SEED}; one of {[mutant[2] for mutant in batch]}")
        at = 0
        for family, _, _, *before in batch:
            self.accepted += not isinstance(replies[at + len(before)], RespError)
            at += len(before) + 1 + len(USE[family])

    # -- RESTORE ----------------------------------------------------------------------------------

    def changed_fields(self, fields):
        fields = list(fields)
        done = []
        for _ in range(self.chance.choice([1, 1, 1, 2, 3])):
            at = self.chance.randrange(len(fields))
            old = fields[at]
            if isinstance(old, bytes):
                new = self.chance.choice([b"", old[:-1], old + b"x", old * 2, bytes(len(old)),
                                          b"\xff" * len(old), old[: len(old) // 2]])
            elif isinstance(old, float):
                near = [old * 2, old / 2, math.nextafter(old, 1), -old]
                new = self.chance.choice(REALS_TO_TRY + near)
            else:
                near = [old + 1, max(0, old - 1), old * 2, old + 8, old ^ 1]
                new = self.chance.choice(NUMBERS_TO_TRY + near) & laws.MASK
            fields[at] = new
            done.append(f"field {at}: {old!r:.20} -> {new!r:.20}")
        if self.chance.random() < 0.05:
            cut = self.chance.randrange(len(fields))
            fields = fields[:cut]
            done.append(f"cut at {cut}")
        return fields, done

    def test_restore_of_changed_fields(self):
        sorts = [(family, *fields_of(sample.payload)) for family, sample in samples()]

        def mutants():
            for _ in range(COUNT):
                family, name, fields = self.chance.choice(sorts)
                fields, done = self.changed_fields(fields)
                encver = 4 if self.chance.random() < 0.95 else self.chance.randrange(1024)
                payload = laws.module_payload(name, encver, fields)
                yield family, ("RESTORE", "k", 0, payload), (name, encver, done)

        self.attack(mutants())
        self.assertGreater(self.accepted, 0, "no mutant was a filter: they are all too wild")
        self.assertLess(self.accepted, COUNT)

    def changed_bytes(self, body, first=0):
        """Some bytes from `first` on flipped, replaced, taken out or put in."""
        body = bytearray(body)
        done = []
        for _ in range(self.chance.choice([1, 1, 2, 8])):
            at = self.chance.randrange(first, len(body))
            how = self.chance.randrange(4)
            if how == 0:
                body[at] ^= 1 << self.chance.randrange(8)
            elif how == 1:
                body[at] = self.chance.choice([0, 1, 2, 4, 5, 0x40, 0x80, 0x81, 0xC3, 0xFF])
            elif how == 2:
                del body[at : at + self.chance.randrange(1, 9)]
            else:
                body[at:at] = self.chance.randbytes(self.chance.randrange(1, 9))
            done.append((how, at))
            if len(body) <= first + 1:
                break
        return bytes(body), done

    def restore_changed(self, bodies):
        """Attacks with mutants of these payloads, each with its family and without its sum."""

        def mutants():
            for _ in range(COUNT):
                family, body = self.chance.choice(bodies)
                body, done = self.changed_bytes(body, first=10)
                yield family, ("RESTORE", "k", 0, laws.signed(body)), done

        self.attack(mutants())

    def test_restore_of_changed_bytes(self):
        bodies = [(family, sample.payload()[:-10]) for family, sample in samples()]
        self.restore_changed(bodies)

    # -- native filters; mutants with a sum of their own are made in native_chunks_test.cpp -------

    def native_samples(self):
        """Keys of filters that the server has made."""
        lines = ["BF.INSERT bn ITEMS a b", "BF.RESERVE br 0.01 5000", "BF.INSERT br ITEMS a b",
                 "BF.RESERVE bw 0.01 100 WINDOW 100", "BF.INSERT bw ITEMS a b",
                 "BF.RESERVE bf 0.01 9 NONSCALING", "CF.INSERT cn ITEMS a a b",
                 "CF.RESERVE ce 100"]
        for line in lines:
            reply = self.redis.ask(*line.split())
            self.assertNotIsInstance(reply, RespError, line)
        return [("BF", key) for key in ("bn", "br", "bw", "bf")] + [("CF", "cn"), ("CF", "ce")]

    def test_restore_of_changed_native_filters(self):
        bodies = [(family, self.redis.ask("DUMP", key)[:-10])
                  for family, key in self.native_samples()]
        self.restore_changed(bodies)

    def test_changed_native_pieces(self):
        pieces = []
        for family, key in self.native_samples():
            first = self.redis.ask(f"{family}.SCANDUMP", key, 0)
            pieces.append((family, first, self.redis.ask(f"{family}.SCANDUMP", key, first[0])))

        def mutants():
            for _ in range(COUNT):
                family, first, second = self.chance.choice(pieces)
                load = f"{family}.LOADCHUNK"
                if self.chance.random() < 0.5 or second[0] == 0:
                    changed, done = self.changed_bytes(first[1])
                    yield family, (load, "k", 1, changed), done
                else:
                    changed, done = self.changed_bytes(second[1])
                    yield family, (load, "k", second[0], changed), done, (load, "k", *first)

        self.attack(mutants())

    # -- LOADCHUNK --------------------------------------------------------------------------------

    def test_headers_that_lie(self):
        sorts = [(family, sample.header()) for family, sample in samples()]

        def mutants():
            for _ in range(COUNT):
                family, header = self.chance.choice(sorts)
                header = bytearray(header)
                done = []
                for _ in range(self.chance.choice([1, 1, 2, 3])):
                    at = self.chance.randrange(len(header))
                    wide = self.chance.choice([1, 2, 4, 8])
                    number = self.chance.choice([*NUMBERS_TO_TRY, self.chance.getrandbits(64)])
                    bits = struct.pack("<Q", number)[:wide]
                    header[at : at + wide] = bits
                    done.append((at, bits.hex()))
                if self.chance.random() < 0.05:
                    header = header[: self.chance.randrange(len(header) + 1)]
                yield family, (f"{family}.LOADCHUNK", "k", 1, bytes(header)), done

        self.attack(mutants())
        self.assertGreater(self.accepted, 0)
        self.assertLess(self.accepted, COUNT)

    def test_chunks_at_any_place(self):
        sorts = list(samples())

        def mutants():
            for _ in range(COUNT):
                family, sample = self.chance.choice(sorts)
                length = self.chance.choice([0, 1, 7, 8, 9, 40, 1000])
                near = self.chance.randrange(1, 200)
                place = self.chance.choice([near, length + 1, length, 1 << 31, (1 << 63) - 1, -1])
                header = (f"{family}.LOADCHUNK", "k", 1, sample.header())
                chunk = (f"{family}.LOADCHUNK", "k", place, self.chance.randbytes(length))
                yield family, chunk, (place, length), header

        self.attack(mutants())
        self.assertGreater(self.accepted, 0)
        self.assertLess(self.accepted, COUNT)

    def test_sizes_near_the_end_of_numbers(self):
        lines = []
        for number in NUMBERS_TO_TRY:
            lines += [f"BF.RESERVE k 0.01 {number}", f"BF.RESERVE k 1e-300 {number}",
                      f"BF.RESERVE k 0.01 1 EXPANSION {number}", f"CF.RESERVE k {number}",
                      f"CF.RESERVE k 1000 BUCKETSIZE {number}",
                      f"CF.RESERVE k 1000 MAXITERATIONS {number}",
                      f"CF.RESERVE k 1000 EXPANSION {number}",
                      f"BF.INSERT k CAPACITY {number} ITEMS a b c",
                      f"CF.INSERT k CAPACITY {number} ITEMS a b c"]
        self.attack((line[:2], line.split(), line) for line in lines)


if __name__ == "__main__":
    unittest.main()

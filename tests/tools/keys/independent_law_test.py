#!/usr/bin/env python3
"""The bits of saved sets, computed a second time.

Written from the comments of block.hpp, budget.hpp and sets/*.hpp and from docs/format.md,
not from the code: sets are built by the command, their payloads read from the image, and each byte
compared with what the law says. Red means: the law as written and the law as compiled differ, so
nobody else could read our files.
"""

import ctypes
import ctypes.util
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

WORD = 2**64 - 1

# First line, probes 0 to 7 and 8 to 15; second line, which block, probes 0 to 7 and 8 to 15;
# classic; ribbon: coefficients, fingerprint, next layer. Golden ratio, then the square roots of 2
# to 19.
REMIX = [
    0x9E3779B97F4A7C15,
    0x6A09E667F3BCC909,
    0xBB67AE8584CAA73B,
    0x3C6EF372FE94F82B,
    0xA54FF53A5F1D36F1,
    0x510E527FADE682D1,
    0x9B05688C2B3E6C1F,
    0x1F83D9ABFB41BD6B,
    0x5BE0CD19137E2179,
]
SALTS = [
    0x47B6137B,
    0x44974D91,
    0x8824AD5B,
    0xA2B7289D,
    0x705495C7,
    0x2DF1424B,
    0x9EFC4947,
    0x5C6BFB31,
]


class Wide(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def xxhash():
    library = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
    arguments = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    library.XXH3_64bits_withSeed.argtypes = arguments
    library.XXH3_64bits_withSeed.restype = ctypes.c_uint64
    library.XXH3_128bits_withSeed.argtypes = arguments
    library.XXH3_128bits_withSeed.restype = Wide
    return library


XXHASH = xxhash()


def hash64(key, seed):
    return XXHASH.XXH3_64bits_withSeed(key, len(key), seed)


def hash128(key, seed):
    both = XXHASH.XXH3_128bits_withSeed(key, len(key), seed)
    return both.high, both.low


# -- the laws -------------------------------------------------------------------------------------


def remix(hash_, use):
    return hash_ * REMIX[use] & WORD


def mulhi(a, b):
    return a * b >> 64


class Bits:
    """Bit b is in byte b // 8 at place b % 8: little-endian words, lowest bit first."""

    def __init__(self, count):
        self.bytes = bytearray(count // 8)

    def set(self, bit):
        self.bytes[bit // 8] |= 1 << bit % 8


def line_round(remixed, probes):
    """The bits of a line, 0 to 511, that one round of probes takes."""
    start = 0 if probes == 8 else remixed >> 13 & 7
    lanes = [(start + i) % 8 for i in range(probes)]
    return [64 * lane + (remixed >> 16 + 6 * lane & 63) for lane in lanes]


def line_bits(first, second, probes):
    bits = line_round(first, min(probes, 8))
    return bits + line_round(second, probes - 8) if probes > 8 else bits


def blocked_places(h, blocks, probes, lines):
    """The bits that a hash takes."""
    first = 512 * mulhi(h, blocks)
    places = [first + bit for bit in line_bits(remix(h, 0), remix(h, 1), probes)]
    if lines == 2:
        second = 512 * mulhi(remix(h, 2), blocks)
        places += [second + bit for bit in line_bits(remix(h, 3), remix(h, 4), probes)]
    return places


def blocked_of_hashes(shape, hashes):
    blocks, probes, lines = struct.unpack("<QII", shape)
    bits = Bits(512 * blocks)
    for h in hashes:
        for bit in blocked_places(h, blocks, probes, lines):
            bits.set(bit)
    return bytes(bits.bytes)


def blocked(shape, keys, seed):
    return blocked_of_hashes(shape, [hash64(key, seed) for key in keys])


def classic(shape, keys, seed):
    count, probes = struct.unpack("<QI", shape)
    bits = Bits(count)
    for key in keys:
        g = hash64(key, seed)
        for _ in range(probes):
            g = g * REMIX[5] & WORD
            bits.set(mulhi(g, count))
    return bytes(bits.bytes)


def split_block(shape, keys, seed):
    (blocks,) = struct.unpack("<Q", shape)
    bits = Bits(256 * blocks)
    for key in keys:
        h = hash64(key, seed)
        block = (h >> 32) * blocks >> 32
        for word, salt in enumerate(SALTS):
            product = (h & 0xFFFFFFFF) * salt & 0xFFFFFFFF
            bits.set(256 * block + 32 * word + (product >> 27))
    return bytes(bits.bytes)


def bitmap(shape, keys, _):
    low, high = struct.unpack("<QQ", shape)
    bits = Bits((high - low + 64) // 64 * 64)
    for key in keys:
        bits.set(int(key) - low)
    return bytes(bits.bytes)


def two_bit(shape, keys, _):
    low, high = struct.unpack("<QQ", shape)
    bits = Bits((high - low + 32) // 32 * 64)
    seen = {}
    for key in keys:
        seen[int(key)] = seen.get(int(key), 0) + 1
    for number, times in seen.items():
        bits.set(2 * (number - low) + (0 if times == 1 else 1))
    return bytes(bits.bytes)


def counter_places(h, counters, probes):
    places = []
    for _ in range(probes):
        h = h * REMIX[5] & WORD
        places.append(mulhi(h, counters))
    return set(places)


def packed(counters, width):
    """Counters side by side, the first one lowest."""
    number = 0
    for i, counter in enumerate(counters):
        number |= counter << i * width
    return number.to_bytes(len(counters) * width // 8, "little")


def counting(shape, keys, seed):
    count, probes = struct.unpack("<QI", shape)
    counters = [0] * count
    for key in keys:
        for place in counter_places(hash64(key, seed), count, probes):
            counters[place] = min(counters[place] + 1, 15)
    return packed(counters, 4)


def spectral(shape, keys, seed):
    count, probes, width, selection = struct.unpack("<QIII", shape)
    counters = [0] * count
    for key in keys:
        places = counter_places(hash64(key, seed), count, probes)
        smallest = min(counters[place] for place in places)
        for place in places:
            if selection or counters[place] == smallest:
                counters[place] = min(counters[place] + 1, 2**width - 1)
    return packed(counters, width)


class Buckets:
    """Four fingerprints a bucket; 0 is an empty place."""

    def __init__(self, count, width):
        self.count, self.width = count, width
        self.places = [[0, 0, 0, 0] for _ in range(count)]

    def partner(self, bucket, fingerprint):
        mixed = fingerprint * REMIX[2] & WORD
        mixed = (mixed ^ mixed >> 32) * REMIX[1] & WORD
        return (2 * mulhi(mixed, self.count // 2) + 1 - bucket) % self.count

    def slot(self, h):
        first = mulhi(h, self.count)
        fingerprint = 1 + mulhi(remix(h, 0), 2**self.width - 1)
        return first, self.partner(first, fingerprint), fingerprint

    def has(self, h):
        first, second, fingerprint = self.slot(h)
        return fingerprint in self.places[first] + self.places[second]

    def add(self, h):
        first, second, fingerprint = self.slot(h)
        ways = [[(first, None)], [(second, None)]]  # buckets, and which place of the one before
        for way in ways:
            bucket = way[-1][0]
            if 0 in self.places[bucket]:
                empty = self.places[bucket].index(0)
                for (before, _), (after, place) in reversed(list(zip(way, way[1:]))):
                    self.places[after][empty] = self.places[before][place]
                    empty = place
                self.places[way[0][0]][empty] = fingerprint
                return
            for place, other in enumerate(self.places[bucket]):
                after = self.partner(bucket, other)
                if len(ways) < 1024 and after not in [step[0] for step in way]:
                    ways.append(way + [(after, place)])
        raise OverflowError("full")

    def bytes(self):
        packed = 0
        for i, fingerprint in enumerate(sum(self.places, [])):
            packed |= fingerprint << i * self.width
        words = -(-self.count * 4 * self.width // 64) + 1
        return packed.to_bytes(8 * words, "little")


def cuckoo(shape, keys, seed):
    buckets = Buckets(*struct.unpack("<QI", shape))
    for key in keys:
        buckets.add(hash64(key, seed))
    return buckets.bytes()


class Generations:
    def __init__(self, blocks, share, probes, count):
        self.blocks, self.share, self.probes, self.count = blocks, share, probes, count
        self.lines = [[set() for _ in range(count)] for _ in range(blocks)]
        self.current, self.adds = 0, [0] * 5

    def place(self, h):
        bits = set(line_bits(remix(h, 0), remix(h, 1), self.probes))
        return self.lines[mulhi(h, self.blocks)], bits

    def has(self, h):
        lines, bits = self.place(h)
        return any(bits <= line for line in lines)

    def add(self, h):
        lines, bits = self.place(h)
        if bits <= lines[self.current]:
            return
        if self.adds[self.current] == self.share:
            self.current = (self.current + 1) % self.count
            self.adds[self.current] = 0
            for block in self.lines:
                block[self.current] = set()
        lines[self.current] |= bits
        self.adds[self.current] += 1

    def bytes(self):
        bits = Bits(512 * self.blocks * self.count)
        for i, line in enumerate(sum(self.lines, [])):
            for bit in line:
                bits.set(512 * i + bit)
        return struct.pack("<8Q", self.current, *self.adds, 0, 0) + bytes(bits.bytes)


def window(shape, keys, seed):
    generations = Generations(*struct.unpack("<QQII", shape))
    for key in keys:
        generations.add(hash64(key, seed))
    return generations.bytes()


class Fuse:
    """Is a hash in the payload of a fuse set?"""

    FIRST, SPREAD, PRINT = 0x9B05688C2B3E6C1F, 0x629A292A367CD507, 0x9159015A3070DD17

    def __init__(self, shape, payload):
        numbers = struct.unpack("<QQQIIII", shape)
        self.keys, self.shards, self.seed, self.segments, bits, self.arity, self.width = numbers
        self.segment = 1 << bits
        self.seeds = struct.unpack_from(f"<{self.shards}Q", payload)
        self.fields = payload[8 * self.shards :]
        fields = self.shards * (self.segments + self.arity - 1) * self.segment
        assert len(self.fields) == ((fields * self.width + 63) // 64 + 1) * 8

    def field(self, at):
        bit = at * self.width
        window = int.from_bytes(self.fields[bit // 8 : bit // 8 + 8], "little")
        return window >> bit % 8 & (1 << self.width) - 1

    def has(self, h):
        if self.keys == 0:
            return False
        product = (h ^ self.seed) * self.FIRST & WORD
        shard, local = mulhi(product, self.shards), product * self.shards & WORD & ~127
        spread = (local ^ self.seeds[shard]) * self.SPREAD & WORD
        spread ^= spread >> 32
        first = mulhi(local, self.segments * self.segment)
        first += shard * (self.segments + self.arity - 1) * self.segment
        total = (spread * self.PRINT & WORD) >> 64 - self.width
        for i in range(self.arity):
            place = first + i * self.segment
            if i > 0:
                place ^= spread >> 20 * (i - 1) & self.segment - 1
            total ^= self.field(place)
        return total == 0


class RibbonLayer:
    def __init__(self, shards, blocks, columns, wide):
        self.shards, self.columns = shards, columns
        self.starts = 64 * blocks - 63
        stretches = -(-self.starts // 128)
        self.wide = -(-stretches * wide // 65536)
        self.wide_blocks = min(blocks, 2 * self.wide + 1) if self.wide else 0
        self.mark_words = -(-2 * stretches // 64)
        self.shard_words = blocks * columns + self.wide_blocks
        self.solution = max(3, shards * self.mark_words)
        if self.solution >= 8:
            self.solution = -(-self.solution // 8) * 8
        self.words = self.solution + shards * self.shard_words

    def ask(self, h, words):
        """True or False, or None if the hash is bumped."""
        shard, start = mulhi(h, self.shards), mulhi(h * self.shards & WORD, self.starts)
        stretch = start // 128
        marks = words[shard * self.mark_words + stretch // 32]
        if start % 128 < (0, 24, 48, 128)[marks >> 2 * (stretch % 32) & 3]:
            return None
        chosen = remix(h, 6)
        chosen = chosen ^ chosen >> 32 | 1
        wanted = remix(h, 7) >> 63 - self.columns
        for column in range(self.columns + (stretch < self.wide)):
            parity = 0
            for i in range(64):
                block, row = divmod(start + i, 64)
                at = self.solution + shard * self.shard_words + block * self.columns
                at += min(block, self.wide_blocks) + column
                if chosen >> i & 1:
                    parity ^= words[at] >> row & 1
            if parity != wanted >> column & 1:
                return False
        return True


class Ribbon:
    """Is a hash in the payload of a ribbon set?"""

    def __init__(self, shape, payload):
        numbers = struct.unpack("<QII9Q", shape)
        columns, wide, listed = numbers[1], numbers[2], numbers[-1]
        self.words = struct.unpack(f"<{len(payload) // 8}Q", payload)
        sizes = zip(numbers[3:11:2], numbers[4:11:2])
        self.layers = [RibbonLayer(*size, columns, wide) for size in sizes if size[0]]
        self.listed = self.words[len(self.words) - listed :]
        assert len(self.words) == sum(layer.words for layer in self.layers) + listed
        assert list(self.listed) == sorted(set(self.listed))

    def has(self, h):
        begin = 0
        for layer in self.layers:
            answer = layer.ask(h, self.words[begin : begin + layer.words])
            if answer is not None:
                return answer
            begin += layer.words
            h = remix(h ^ h >> 32, 8)
        return h in self.listed


def hash_set(_, keys, seed):
    hashes = sorted({hash128(key, seed) for key in keys})
    return b"".join(struct.pack("<QQ", high, low) for high, low in hashes)


def compact(_, keys, seed):
    return b"".join(struct.pack("<Q", h) for h in sorted({hash64(key, seed) for key in keys}))


def scalable(shape, keys, seed):
    """For a table that has not grown: all prefixes have all of their bits."""
    q, slots, width = struct.unpack("<III", shape)
    entries = sorted({hash64(key, seed) >> (65 - q - width) for key in keys})
    blocks = 2 ** (q - 6) + 2
    words = -(-(80 + slots * (1 + width)) // 64)
    images, spills, used = [0] * blocks, [0] * blocks, [0] * blocks
    at = 0
    for i, entry in enumerate(entries):
        quotient = entry >> (width - 1)
        home = quotient // 64
        at = max(at, home * slots)
        block, slot = divmod(at, slots)
        for spilled in range(home + 1, block + 1):
            spills[spilled] += 1
        used[block] += 1
        images[home] |= 1 << quotient % 64
        if i + 1 == len(entries) or entries[i + 1] >> (width - 1) != quotient:
            images[block] |= 1 << (80 + slot)
        field = (entry & 2 ** (width - 1) - 1) << 1 | 1
        images[block] |= field << (80 + slots + slot * width)
        at += 1
    for block in range(blocks):
        images[block] |= spills[block] << 64 | used[block] << 73
    return b"".join(image.to_bytes(8 * words, "little") for image in images) + bytes(8)


# -- the image ------------------------------------------------------------------------------------


def read_parts(path):
    """The form of an image, and the kind number, shape and payload of each of its parts."""
    image = Path(path).read_bytes()
    slots = [image[at : at + 4096] for at in (0, 4096)]
    slots = [slot for slot in slots if slot[:8] == b"\x89BLMY\r\n\x1a"]
    newest = max(slots, key=lambda slot: struct.unpack_from("<Q", slot, 32))
    (directory,) = struct.unpack_from("<Q", newest, 88)
    form, record_bytes, records = struct.unpack_from("<HHI", image, directory)
    assert record_bytes == 256
    parts = []
    for at in range(directory + 32, directory + 32 + records * record_bytes, record_bytes):
        record = image[at : at + record_bytes]
        kind, shape_bytes = struct.unpack_from("<HH", record)
        offset, length = struct.unpack_from("<QQ", record, 72)
        parts.append((kind, record[128 : 128 + shape_bytes], image[offset : offset + length]))
    return form, parts


def read_image(path):
    """The kind number, shape and payload of an image with a single part."""
    form, parts = read_parts(path)
    assert (form, len(parts)) == (1, 1), "not a single set"
    return parts[0]


def texts(count):
    """Lines of 0 to 300 bytes, some of them twice."""
    lines = [b"key-%d" % i for i in range(count)]
    lines += [b"%d" % i * (i % 75 + 1) for i in range(count // 10)]
    return lines + lines[::7] + [b""]


def numbers(count, low, span):
    """Some numbers once, some twice, some three times; both ends of the range."""
    once = [low + i * 7919 % span for i in range(count)]
    many = once + once[::3] + once[::9] + [low, low + span - 1]
    return [b"%d" % number for number in many]


class IndependentLaw(unittest.TestCase):
    def build(self, keys, flags, cpu=None):
        """What read_image gives, or None if this CPU lacks the row."""
        environment = {**os.environ, **({"BLOOMERY_CPU": cpu} if cpu else {})}
        with tempfile.TemporaryDirectory() as scratch:
            (Path(scratch) / "keys").write_bytes(b"".join(key + b"\n" for key in keys))
            ran = subprocess.run(
                [os.environ["BLOOMERY"], "build", "-q", "-o", "set", *flags, "keys"],
                cwd=scratch,
                env=environment,
                capture_output=True,
                text=True,
            )
            if cpu and "no such instructions" in ran.stderr:
                return None
            self.assertEqual(ran.returncode, 0, ran.stderr)
            return read_image(Path(scratch) / "set")

    def compare(self, number, law, keys, *flags, seed=0):
        for cpu in (None, "scalar", "avx2", "avx512", "neon"):
            built = self.build(keys, flags, cpu)
            if built is None:
                continue
            kind, shape, payload = built
            with self.subTest(flags=flags, cpu=cpu, shape=shape.hex()):
                self.assertEqual(kind, number)
                expected = law(shape, keys, seed)
                self.assertEqual(len(payload), len(expected))
                wrong = [i for i, byte in enumerate(payload) if byte != expected[i]]
                self.assertEqual(wrong[:10], [], f"{len(wrong)} bytes differ")

    def hashed(self, number, kind, law, *rates, any_order=True, more=()):
        for rate in rates:
            for seed in (0, 12345678901234567890):
                flags = ["--kind", kind, "-p", rate, "--seed", str(seed), *more]
                self.compare(number, law, texts(1000), *flags, "-n", "1500", seed=seed)
            # Counted first: another road to the same bits, which goes in the order of the hashes.
            if any_order:
                in_order = sorted(texts(100), key=lambda key: hash64(key, 0))
                self.compare(number, law, in_order, "--kind", kind, "-p", rate)

    def test_blocked_bits_are_as_written_for_one_line_and_two(self):
        self.hashed(4, "blocked", blocked, "50%", "1%", "0.02%", "1e-6", "1e-10")

    def test_classic_bits_are_as_written(self):
        self.hashed(3, "classic", classic, "50%", "1%", "1e-9")

    def test_split_block_bits_are_as_written(self):
        self.hashed(5, "split-block", split_block, "5%", "1e-5")

    def test_counting_counters_are_as_written(self):
        self.hashed(6, "counting", counting, "50%", "1%", "1e-9")
        self.compare(6, counting, texts(50) * 5, "--kind", "counting", "-p", "5%")
        self.compare(6, counting, [b"stuck"] * 40 + texts(50), "--kind", "counting", "-p", "5%")

    def test_spectral_counters_are_as_written(self):
        self.hashed(7, "spectral", spectral, "50%", "1%", "1e-9")
        # Fewer keys planned than given: many counters are shared.
        self.compare(7, spectral, texts(900) * 3, "--kind", "spectral", "-p", "5%", "-n", "100")

    def test_cuckoo_fingerprints_are_as_written_and_move_as_written(self):
        copies = ["--multiset"]
        self.hashed(8, "cuckoo", cuckoo, "5%", "1e-3", "1e-7", any_order=False, more=copies)

    def test_window_generations_are_as_written(self):
        self.hashed(9, "window", window, "5%", "1e-4", any_order=False)
        # Smaller than the stream, so that generations are cleared.
        self.compare(9, window, texts(1000), "--kind", "window", "-n", "200")

    def test_bitmap_has_one_bit_for_each_integer_of_its_range(self):
        keys = numbers(2000, 1000, 50_001)
        self.compare(1, bitmap, keys, "--kind", "bitmap", "--range", "1000..51000")
        self.compare(1, bitmap, keys, "--kind", "bitmap", "--range", "0..65535")

    def test_two_bit_has_two_bits_for_each_integer_of_its_range(self):
        keys = numbers(2000, 1000, 50_001)
        self.compare(2, two_bit, keys, "--kind", "two-bit", "--range", "1000..51000")
        self.compare(2, two_bit, keys, "--kind", "two-bit", "--range", "0..65535")

    def test_hash_set_is_the_sorted_wide_hashes(self):
        self.compare(12, hash_set, texts(1000), "--kind", "hash-set")
        for flags in (["-n", "2000"], ["-n", "1250", "-p", "1e-6"], ["-n", "9000", "-p", "20%"]):
            self.compare(13, scalable, texts(1000), "--kind", "scalable", *flags)
        self.compare(12, hash_set, texts(1000), "--kind", "hash-set", "--seed", "7", seed=7)

    def test_compact_is_the_sorted_hashes(self):
        self.compare(14, compact, texts(3000), "--kind", "compact")
        self.compare(14, compact, texts(1000), "--kind", "compact", "--seed", "7", seed=7)

    def answers(self, number, law, members, flags, cpu):
        """Asked by the law and by the command, members and strangers get the same answers."""
        strangers = [b"stranger-%d" % i for i in range(1500)]
        asked = members + strangers
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch)
            (place / "keys").write_bytes(b"".join(key + b"\n" for key in members))
            (place / "asked").write_bytes(b"".join(key + b"\n" for key in asked))
            environment = {**os.environ, **({"BLOOMERY_CPU": cpu} if cpu else {})}

            def run(*words):
                return subprocess.run(
                    [os.environ["BLOOMERY"], *words],
                    cwd=scratch,
                    env=environment,
                    capture_output=True,
                )

            built = run("build", "-q", "-o", "set", *flags, "keys")
            if cpu and b"no such instructions" in built.stderr:
                return
            self.assertEqual(built.returncode, 0, built.stderr)
            kind, shape, payload = read_image(place / "set")
            passed = run("check", "set", "asked").stdout
        self.assertEqual(kind, number)
        seed = int(flags[flags.index("--seed") + 1]) if "--seed" in flags else 0
        read = law(shape, payload)
        expected = [key for key in asked if read.has(hash64(key, seed))]
        self.assertEqual(passed.split(b"\n")[:-1], expected)
        self.assertEqual(expected[: len(members)], members)

    def static(self, number, kind, law):
        for rate, seed, count in (
            ("50%", 0, 300),
            ("1%", 12345678901234567890, 1000),
            ("1/256", 0, 2000),
            ("3e-4", 7, 1000),
            ("1e-9", 0, 600),
            ("5%", 0, 0),
        ):
            members = texts(count) if count else [b"only"]
            flags = ["--kind", kind, "-p", rate, "--seed", str(seed)]
            for cpu in (None, "scalar", "avx2", "avx512", "neon"):
                with self.subTest(flags=flags, cpu=cpu):
                    self.answers(number, law, members, flags, cpu)

    def test_fuse_answers_are_as_written(self):
        self.static(10, "fuse", Fuse)

    def test_ribbon_answers_are_as_written(self):
        self.static(11, "ribbon", Ribbon)

    def test_cascade_is_a_filter_of_low_halves_and_the_sorted_wide_hashes_that_it_matches(self):
        bad = texts(1000)
        good = [b"good-%d" % i for i in range(3000)]
        for rate, seed in (("50%", 0), ("5%", 7), ("1e-5", 0)):
            with self.subTest(rate=rate), tempfile.TemporaryDirectory() as scratch:
                for name, keys in (("bad", bad), ("good", good)):
                    (Path(scratch) / name).write_bytes(b"".join(key + b"\n" for key in keys))
                flags = ["-q", "-o", "set", "--allow", "good", "-p", rate, "--seed", str(seed)]
                subprocess.run(
                    [os.environ["BLOOMERY"], "build", *flags, "bad"], cwd=scratch, check=True
                )
                form, parts = read_parts(Path(scratch) / "set")
                self.assertEqual((form, [part[0] for part in parts]), (4, [4, 12]))
                (_, shape, filtered), (_, listed, exceptions) = parts
                low_halves = [hash128(key, seed)[1] for key in bad]
                self.assertEqual(filtered, blocked_of_hashes(shape, low_halves))
                numbers_of_filter = struct.unpack("<QII", shape)

                def matches(low):
                    places = blocked_places(low, *numbers_of_filter)
                    return all(filtered[bit // 8] >> bit % 8 & 1 for bit in places)

                wide = sorted({hash128(key, seed) for key in good})
                law = [both for both in wide if matches(both[1])]
                self.assertEqual(
                    exceptions, b"".join(struct.pack("<QQ", high, low) for high, low in law)
                )
                self.assertEqual(listed, struct.pack("<Q", len(law)))

    def test_sharded_bits_are_blocked_ones_and_the_second_line_lies_in_the_shard(self):
        keys = texts(1000)
        for rate, shards, expected_lines in (("1%", 7, 1), ("0.02%", 16, 1), ("1e-5", 2, 2)):
            many = ["-n", "200k"] if expected_lines == 2 else []
            with self.subTest(rate=rate), tempfile.TemporaryDirectory() as scratch:
                (Path(scratch) / "keys").write_bytes(b"".join(key + b"\n" for key in keys))
                flags = ["-q", "-o", "set", "--kind", "sharded", "--shards", str(shards)]
                subprocess.run(
                    [os.environ["BLOOMERY"], "build", *flags, *many, "-p", rate, "keys"],
                    cwd=scratch,
                    check=True,
                )
                form, [(kind, shape, payload)] = read_parts(Path(scratch) / "set")
                self.assertEqual((form, kind), (3, 4))
                blocks, probes, lines = struct.unpack("<QII", shape)
                self.assertEqual(lines, expected_lines)
                bits = Bits(512 * blocks * shards)
                for key in keys:
                    h = hash64(key, 0)
                    for bit in blocked_places(h, blocks * shards, probes, 1):
                        bits.set(bit)
                    if lines == 2:
                        second = mulhi(h, shards) * blocks + mulhi(remix(h, 2), blocks)
                        for bit in line_bits(remix(h, 3), remix(h, 4), probes):
                            bits.set(512 * second + bit)
                self.assertEqual(payload, bytes(bits.bytes))

    def test_shapes_cover_short_full_and_second_rounds(self):
        """The cases above are worth little if planning never gives these shapes."""
        shapes = []
        for rate in ("50%", "1%", "0.02%", "1e-6", "1e-10"):
            _, shape, _ = self.build(texts(1000), ["-p", rate, "-n", "1500"])
            shapes.append(struct.unpack("<QII", shape)[1:])
        self.assertTrue(any(probes < 8 and lines == 1 for probes, lines in shapes), shapes)
        self.assertTrue(any(probes > 8 for probes, _ in shapes), shapes)
        self.assertTrue(any(lines == 2 for _, lines in shapes), shapes)


# -- an image from a later version ----------------------------------------------------------------


def normalised(image, note):
    """The same image, saying that its keys were normalised; all checksums fit."""
    image = bytearray(image)
    (length,) = struct.unpack_from("<Q", image, 96)
    (notes,) = struct.unpack_from("<Q", image, 8192 + 8)
    value = struct.pack("<HHI", 0x8003, 0, len(note)) + note + b"\0" * (-len(note) % 8)
    (records,) = struct.unpack_from("<I", image, 8192 + 4)
    at = 8192 + 32 + 256 * records  # behind the notes of lower numbers
    while at < 8192 + length and struct.unpack_from("<H", image, at)[0] & 0x7FFF < 3:
        (size,) = struct.unpack_from("<I", image, at + 4)
        at += 8 + size + -size % 8
    image[at : 8192 + length + len(value)] = value + image[at : 8192 + length]
    struct.pack_into("<Q", image, 8192 + 8, notes + len(value))
    directory = bytes(image[8192 : 8192 + length + len(value)])
    for slot in (0, 1):
        struct.pack_into("<QQ", image, slot * 4096 + 96, len(directory), hash64(directory, 0))
        covered = bytes(image[slot * 4096 : slot * 4096 + 4088])
        struct.pack_into("<Q", image, slot * 4096 + 4088, hash64(covered, slot))
    return bytes(image)


class Normalised(unittest.TestCase):
    def test_a_set_of_a_later_normalisation_is_shown_but_neither_asked_nor_copied(self):
        with tempfile.TemporaryDirectory() as scratch:

            def run(*words):
                return subprocess.run(
                    [os.environ["BLOOMERY"], *words], cwd=scratch, capture_output=True, text=True
                )

            (Path(scratch) / "keys").write_bytes(b"a\nb\n")
            self.assertEqual(run("build", "-q", "-o", "plain", "keys").returncode, 0)
            plain = (Path(scratch) / "plain").read_bytes()
            (Path(scratch) / "set").write_bytes(normalised(plain, b"url/9"))
            self.assertRegex(run("info", "set").stdout, r"normalisation +url/9\n")
            for words in (
                ["check", "set", "keys"],
                ["add", "set", "keys"],
                ["build", "--like", "set", "-o", "x", "keys"],
            ):
                ran = run(*words)
                self.assertEqual((ran.returncode, ran.stdout), (2, ""), words)
                self.assertIn("set: its keys were normalised as 'url/9', which this version",
                              ran.stderr)


if __name__ == "__main__":
    if "BLOOMERY" not in os.environ:
        sys.exit("BLOOMERY must name the command to test")
    unittest.main()

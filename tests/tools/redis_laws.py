"""The filters of RedisBloom once more, in plain Python, and the payloads of DUMP that hold them.

Written from the description of the format (docs/redis.md), not from tools/redis/, so that the two
can be held against each other.
"""
import math
import struct

MASK = (1 << 64) - 1
MULTIPLIER = 0xC6A4A7935BD1E995


def murmur(key, seed):
    h = seed ^ (len(key) * MULTIPLIER & MASK)
    whole = len(key) // 8 * 8
    for at in range(0, whole, 8):
        k = int.from_bytes(key[at : at + 8], "little") * MULTIPLIER & MASK
        k = (k ^ k >> 47) * MULTIPLIER & MASK
        h = (h ^ k) * MULTIPLIER & MASK
    if whole < len(key):
        h = (h ^ int.from_bytes(key[whole:], "little")) * MULTIPLIER & MASK
    h = (h ^ h >> 47) * MULTIPLIER & MASK
    return h ^ h >> 47


class BloomLink:
    def __init__(self, entries, error):
        self.entries, self.error, self.keys = entries, error, 0
        self.bpe = abs(math.log(error) / 0.480453013918201)
        self.probes = math.ceil(0.693147180559945 * self.bpe)
        bits = max(1, int(entries * self.bpe))
        self.bits = bytearray((bits + 63) // 64 * 8)

    def places(self, key):
        a = murmur(key, MULTIPLIER)
        b = murmur(key, a)
        return [(a + i * b & MASK) % (len(self.bits) * 8) for i in range(self.probes)]

    def has(self, key):
        return all(self.bits[bit >> 3] >> (bit & 7) & 1 for bit in self.places(key))

    def add(self, key):
        for bit in self.places(key):
            self.bits[bit >> 3] |= 1 << (bit & 7)
        self.keys += 1


class Bloom:
    """A chain as BF.RESERVE makes it."""

    def __init__(self, rate, capacity, growth=2, scaling=True):
        self.growth, self.options = growth, 5 if scaling else 13
        self.links = [BloomLink(capacity, rate / 2 if scaling else rate)]

    def has(self, key):
        return any(link.has(key) for link in reversed(self.links))

    def add(self, key):
        """1 if it was new, 0 if not, None if the filter is full."""
        if self.has(key):
            return 0
        newest = self.links[-1]
        if newest.keys >= newest.entries:
            if self.options == 13:
                return None
            self.links.append(BloomLink(newest.entries * self.growth, newest.error / 2))
        self.links[-1].add(key)
        return 1

    @property
    def keys(self):
        return sum(link.keys for link in self.links)

    def header(self):
        out = struct.pack("<QIII", self.keys, len(self.links), self.options, self.growth)
        for link in self.links:
            size = len(link.bits)
            out += struct.pack("<QQQddIQB", size, size * 8, link.keys, link.error, link.bpe,
                               link.probes, link.entries, 0)
        return out

    def payload(self):
        fields = [self.keys, len(self.links), self.options, self.growth]
        for link in self.links:
            fields += [link.entries, link.error, link.probes, link.bpe]
            fields += [len(link.bits) * 8, 0, bytes(link.bits), link.keys]
        return module_payload("MBbloom--", 4, fields)


def power_of_two(number):
    """The smallest that is not below."""
    return 1 << max(0, number - 1).bit_length()


class Cuckoo:
    """As CF.RESERVE makes it: tables of one-byte fingerprints, oldest first."""

    def __init__(self, capacity, bucket=2, iterations=20, expansion=1):
        self.bucket, self.iterations = bucket, iterations
        self.expansion = power_of_two(expansion) if expansion else 0
        self.buckets = power_of_two(max(1, capacity // bucket))
        self.keys = self.removed = 0
        self.tables = []
        self.grow()

    def grow(self):
        buckets = self.buckets * self.expansion ** len(self.tables)
        self.tables.append(bytearray(buckets * self.bucket))

    @staticmethod
    def hashed(key):
        h = murmur(key, 0)
        return h, h % 255 + 1

    @staticmethod
    def other(home, mark):
        return home ^ mark * 0x5BD1E995

    def places(self, table, home):
        """The indices of the bucket that is home in this table."""
        start = home % (len(table) // self.bucket) * self.bucket
        return range(start, start + self.bucket)

    def both(self, table, home, mark):
        return [*self.places(table, home), *self.places(table, self.other(home, mark))]

    def has(self, key):
        return self.count(key) > 0

    def count(self, key):
        home, mark = self.hashed(key)
        return sum(table[at] == mark for table in self.tables
                   for at in set(self.both(table, home, mark)))

    def add(self, key):
        """False when the filter is full."""
        home, mark = self.hashed(key)
        while True:
            for table in reversed(self.tables):
                for at in self.both(table, home, mark):
                    if table[at] == 0:
                        table[at] = mark
                        self.keys += 1
                        return True
            if self.push(home, mark):
                self.keys += 1
                return True
            if not self.expansion:
                return False
            self.grow()

    def push(self, home, mark):
        table = bytearray(self.tables[-1])
        victim = 0
        for _ in range(self.iterations):
            at = self.places(table, home)[victim]
            table[at], mark = mark, table[at]
            home = self.other(home, mark)
            for gap in self.places(table, home):
                if table[gap] == 0:
                    table[gap] = mark
                    self.tables[-1][:] = table
                    return True
            victim = (victim + 1) % self.bucket
        return False

    def header(self):
        return struct.pack("<QQQQHHH", self.keys, self.buckets, self.removed, len(self.tables),
                           self.bucket, self.iterations, self.expansion)

    def payload(self):
        fields = [len(self.tables), self.buckets, self.keys, self.removed]
        fields += [self.bucket, self.iterations, self.expansion]
        for table in self.tables:
            fields += [len(table) // self.bucket, bytes(table)]
        return module_payload("MBbloomCF", 4, fields)


# -- DUMP -----------------------------------------------------------------------------------------

RDB_VERSION = 10  # of Redis 7.0
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
POLYNOMIAL = 0xAD93D23594C935A9


def reflected(number, bits):
    return int(format(number, f"0{bits}b")[::-1], 2)


def crc_table():
    low = reflected(POLYNOMIAL, 64)
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (low if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = crc_table()


def crc64(payload):
    crc = 0
    for byte in payload:
        crc = CRC_TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc


def length(number):
    """A number as RDB writes lengths: 6, 14, 32 or 64 bits, big-endian."""
    if number < 1 << 6:
        return bytes([number])
    if number < 1 << 14:
        return struct.pack(">H", 0x4000 | number)
    if number < 1 << 32:
        return b"\x80" + struct.pack(">I", number)
    return b"\x81" + struct.pack(">Q", number)


def module_id(name, encver):
    number = 0
    for letter in name:
        number = number << 6 | LETTERS.index(letter)
    return number << 10 | encver


def field(value):
    if isinstance(value, bytes):
        return length(5) + length(len(value)) + value
    if isinstance(value, float):
        return length(4) + struct.pack("<d", value)
    return length(2) + length(value)


def signed(body, version=RDB_VERSION):
    """With the version and the sum that RESTORE asks for."""
    out = body + struct.pack("<H", version)
    return out + struct.pack("<Q", crc64(out))


def module_payload(name, encver, fields):
    body = b"\x07" + length(module_id(name, encver)) + b"".join(map(field, fields))
    return signed(body + length(0))

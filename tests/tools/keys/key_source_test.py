#!/usr/bin/env python3
"""A state remembers what its keys were made from, and when it was.

    BLOOMERY=path/to/bloomery key_source_test.py
"""
import ctypes
import ctypes.util
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

CSV = b"id,mail\n1,a@x.org\n2,b@x.org\n1,c@x.org\n"
# Each is another key; the text is what the state says of it.
WAYS = {
    "lines": [],
    "lines -0": ["-0"],
    "lines -d ab": ["-d", "ab"],
    "-k 1": ["-k", "1"],
    "-k 2": ["-k", "2"],
    "-k 1,2": ["-k", "1", "-k", "2"],
    "-k 2,1": ["-k", "2,1"],
    "-k 1 -t ,": ["-k1", "-t,"],
    "-k 1 -t '\\x09'": ["-k1", "-t", "\\t"],
    "-k 1 -t '\\\\'": ["-k1", "-t", "\\\\"],
    "--csv --column id": ["--csv", "-t", ",", "--column", "id"],
    "--csv --column mail": ["--column", "mail", "--csv"],
    "--csv --column id --column mail": ["--csv", "--column", "id", "--column", "mail"],
    "--csv --column 'a b' -t ';'": ["--csv", "-t", ";", "--column", "a b"],
    "--csv --column 'it'\\''s'": ["--csv", "--column", "it's"],
    "--csv --no-header --column 1": ["--csv", "--no-header", "--column", "1"],
    "--tsv --column id": ["--tsv", "--column", "id"],
    "-k 2-": ["-k", "2-"],
    "-k 2-4,-1": ["-k2-4", "-k-1"],
    "-k 4-6,6,7-": ["-k", "4,5-6,6", "-k7-"],
    "--json-key .a": ["--json-key", '."a"'],
    "--json-key '.a[0].\"b.c\"'": ["--json-key", '."a".[0]."b.c"'],
    "--csv --column '\"a,b\"'": ["--csv", "--column", '"a,b"'],
    "--csv --column a --column b": ["--csv", "--column", "a,b"],
    "--json-key .a --json-key '.b[0]'": ["--json-key", ".a", "--json-key", ".b[0]"],
}


def run(folder, *words, stdin=b""):
    return subprocess.run(
        [os.environ["BLOOMERY"], *words], cwd=folder, input=stdin, capture_output=True
    )


def xxh3(data, seed=0):
    library = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
    library.XXH3_64bits_withSeed.restype = ctypes.c_uint64
    library.XXH3_64bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    return library.XXH3_64bits_withSeed(data, len(data), seed)


def seal(image):
    """Makes the checksums of one payload of one chunk right again (docs/format.md)."""
    word = lambda at: struct.unpack_from("<Q", image, at)[0]
    put = lambda at, value: struct.pack_into("<Q", image, at, value)
    table, payload = word(112), word(8192 + 32 + 72)
    length = word(8192 + 32 + 80)
    for i in range(word(120) // 8):
        chunk = bytes(image[payload + 65536 * i : payload + min(length, 65536 * (i + 1))])
        put(table + 8 * i, xxh3(chunk, word(48) ^ i))
    for slot in (0, 1):
        put(4096 * slot + 128, xxh3(bytes(image[table : table + word(120)])))
        put(4096 * slot + 4088, xxh3(bytes(image[4096 * slot : 4096 * slot + 4088]), slot))


def notes_of(image):
    """{type: value} of the directory, as docs/format.md has it."""
    (records,) = struct.unpack_from("<I", image, 8192 + 4)
    (length,) = struct.unpack_from("<Q", image, 8192 + 8)
    at, found = 8192 + 32 + 256 * records, {}
    end = at + length
    while at < end:
        kind, unused, size = struct.unpack_from("<HHI", image, at)
        found[kind] = image[at + 8 : at + 8 + size]
        at += 8 + size + -size % 8
    return found


class Sources(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="bloomery-source-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        (self.folder / "in.csv").write_bytes(CSV)

    def run(self, *words, **more):
        if not words or not isinstance(words[0], str):
            return super().run(*words, **more)
        return run(self.folder, *words, **more)

    def good(self, *words, stdin=b""):
        ran = self.run(*words, stdin=stdin)
        self.assertEqual((ran.returncode, ran.stderr), (0, b""), words)
        return ran.stdout

    def info(self, name):
        return json.loads(self.good("info", "--json", name))

    def test_every_other_way_is_refused_and_both_are_named(self):
        for number, (source, words) in enumerate(WAYS.items()):
            self.good("dedup", "--state", f"s{number}", *words)
            self.assertEqual(self.info(f"s{number}")["made_from"], source)
        spoken = lambda source: f"whole {source}" if source.startswith("lines") else source
        for number, mine in enumerate(WAYS):
            before = (self.folder / f"s{number}").read_bytes()
            ways = list(WAYS.items())
            for source, words in [ways[(number + step) % len(ways)] for step in (0, 1, 2, 5, 9)]:
                if source == mine:
                    self.good("dedup", "--state", f"s{number}", *words)
                    continue
                ran = self.run("dedup", "--state", f"s{number}", *words, stdin=b"x\n")
                self.assertEqual((ran.returncode, ran.stdout), (2, b""), (mine, source))
                self.assertEqual(
                    ran.stderr.decode(),
                    f"bloomery: error: s{number} remembers the keys of {spoken(mine)}, and "
                    f"this run has those of {spoken(source)}: no line would be known again. Give "
                    "the same flags, or another state; --same-keys continues if the keys "
                    "are the same\n",
                )
            self.assertEqual((self.folder / f"s{number}").read_bytes(), before)

    def test_the_note_is_where_the_format_has_it(self):
        self.good("build", "-q", "-o", "set", "-k2,1", stdin=b"a b\n")
        notes = notes_of((self.folder / "set").read_bytes())
        self.assertEqual(notes, {0x8001: b"\1\0", 0x8002: b"\1", 0x0007: b"-k 2,1"})
        self.good("build", "-q", "-o", "lines", stdin=b"a b\n")
        self.assertEqual(notes_of((self.folder / "lines").read_bytes())[7], b"list")

    def test_a_second_run_goes_on(self):
        words = ["dedup", "--state", "seen", "--csv", "--column", "id", "in.csv"]
        self.assertEqual(self.good(*words), b"id,mail\n1,a@x.org\n2,b@x.org\n")
        self.assertEqual(self.good(*words), b"id,mail\n")
        words[words.index("id")] = "mail"
        self.assertEqual(self.run(*words).returncode, 2)

    def test_those_who_ask_may_have_the_same_keys_from_elsewhere(self):
        self.good("dedup", "--state", "seen", "--csv", "--column", "id", "-o", "out", "in.csv")
        self.assertEqual(self.good("check", "seen", stdin=b"1\n3\n"), b"1\n")
        self.assertEqual(self.good("check", "-k2", "seen", stdin=b"x 2\n"), b"x 2\n")
        self.assertEqual(self.good("dedup", "--against", "seen", stdin=b"1\n3\n"), b"3\n")
        self.good("add", "-q", "seen", stdin=b"3\n")
        # What was made is what is gone on with.
        self.assertEqual(self.info("seen")["made_from"], "--csv --column id")

    def test_a_set_of_build_is_gone_on_with_as_it_was_built(self):
        words = ["--kind", "chain", "--csv", "--column", "id", "in.csv"]
        self.good("build", "-q", "-o", "set", *words)
        self.assertEqual(self.info("set")["made_from"], "--csv --column id")
        ran = self.run("dedup", "--state", "set", "--csv", "--column", "mail", "in.csv")
        said = b"--csv --column id, and this run has those of --csv --column mail"
        self.assertIn(said, ran.stderr)
        # A list of lines is a list of anybody's keys.
        self.good("build", "-q", "-o", "ids", "--kind", "chain", stdin=b"1\n")
        self.assertEqual(self.info("ids")["made_from"], "list")
        words = ["--csv", "--column", "id", "in.csv"]
        self.assertEqual(self.good("dedup", "--state", "ids", *words), b"id,mail\n2,b@x.org\n")
        self.assertEqual(self.info("ids")["made_from"], "--csv --column id")

    def test_merged_sets_know_what_both_know(self):
        for name, column in (("a", "id"), ("b", "id"), ("c", "mail")):
            words = ["--csv", "--column", column, "in.csv"]
            self.good("build", "-q", "-n", "1000", "-o", name, *words)
        self.good("merge", "union", "-q", "-o", "ab", "a", "b")
        self.good("merge", "union", "-q", "-o", "ac", "a", "c")
        self.assertEqual(self.info("ab")["made_from"], "--csv --column id")
        self.assertNotIn("made_from", self.info("ac"))

    def test_a_window_whose_clock_was_ahead_is_refused(self):
        words = ["dedup", "--window", "24h", "-n", "1000", "--state", "seen"]
        self.good(*words, stdin=b"x\n")
        path = self.folder / "seen"
        image = bytearray(path.read_bytes())
        payload = struct.unpack_from("<Q", image, 8192 + 32 + 72)[0]
        # The head of a window: current, five counts, slice + 1, span.
        slice_at, span_at = payload + 48, payload + 56
        (span,) = struct.unpack_from("<Q", image, span_at)
        self.assertEqual(span, 24 * 3600 * 1000)
        (slice_now,) = struct.unpack_from("<Q", image, slice_at)
        self.assertLessEqual(abs((slice_now - 1) * span / 1000 - time.time()), span / 1000)
        for days, refused in ((0, False), (2, True), (400, True), (2**50, True), (2**64, True)):
            later = min(slice_now + days, 2**64 - 1)
            struct.pack_into("<Q", image, slice_at, later)
            seal(image)
            path.write_bytes(image)
            ran = self.run(*words, stdin=b"x\ny\n")
            if refused:
                self.assertEqual((ran.returncode, ran.stdout), (2, b""), days)
                self.assertIn(b"seen was last used at ", ran.stderr)
                self.assertIn(b"Correct the clock, or begin another state", ran.stderr)
                self.assertEqual(path.read_bytes(), bytes(image))
            else:
                self.assertEqual((ran.returncode, ran.stdout), (0, b"y\n"), ran.stderr)


if __name__ == "__main__":
    if "BLOOMERY" not in os.environ:
        sys.exit("BLOOMERY must name the command to test")
    unittest.main()

#!/usr/bin/env python3
"""Data that is not what it seems: byte order marks, UTF-16, lz4, archives and tables given where
lines are wanted. From files, from pipes, and from pipes that give one byte at a time.

    BLOOMERY=path/to/bloomery not_text_test.py [SEED]
"""
import bz2
import gzip
import io
import json
import lzma
import os
import random
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

BINARY = os.environ.get("BLOOMERY") or sys.exit("set BLOOMERY to the path of the command")
SEED = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 20261116
PATIENCE = 120
MARK = b"\xef\xbb\xbf"

# Gives its standard input one byte at a time; the pipe is read faster than it is filled.
DRIP = """
import os, sys
try:
    for byte in sys.stdin.buffer.read():
        os.write(1, bytes([byte]))
except BrokenPipeError:
    pass
"""


def run(*words, **more):
    return subprocess.run([BINARY, *map(str, words)], capture_output=True, timeout=PATIENCE, **more)


def first_lines(content, delimiter=b"\n"):
    """What dedup prints, in Python."""
    lines = content.split(delimiter)
    if lines[-1] == b"":
        lines.pop()
    return b"".join(line + delimiter for line in dict.fromkeys(lines))


def compress(content, program):
    return subprocess.run([*program, "-c"], input=content, capture_output=True, check=True).stdout


def gzipped(content):
    return gzip.compress(content, mtime=0)


def tar_of(content, form=tarfile.GNU_FORMAT):
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=form) as archive:
        member = tarfile.TarInfo("lines.txt")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return held.getvalue()


class Case(unittest.TestCase):
    def setUp(self):
        self.chance = random.Random(f"{SEED} {self.id()}")
        place = tempfile.TemporaryDirectory(prefix="bloomery-not-text-")
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def by_all_ways(self, words, content):
        """The outcomes with the content as a file, from a pipe, and drop by drop."""
        path = self.write("input", content)
        yield "file", run(*words, path)
        yield "pipe", run(*words, input=content)
        if len(content) > 1600:
            return
        drip = subprocess.Popen([sys.executable, "-c", DRIP], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)
        reader = subprocess.Popen([BINARY, *words], stdin=drip.stdout, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        drip.stdout.close()
        drip.stdin.write(content)
        drip.stdin.close()
        out, err = reader.communicate(timeout=PATIENCE)
        drip.wait()
        yield "drops", subprocess.CompletedProcess(words, reader.returncode, out, err)

    def assert_prints(self, content, expected, *words):
        for way, outcome in self.by_all_ways(["dedup", *words], content):
            self.assertEqual((outcome.returncode, outcome.stdout), (0, expected),
                             (way, words, content[:60], outcome.stderr))

    def assert_refused(self, content, *sentence, words=("dedup",)):
        for way, outcome in self.by_all_ways(list(words), content):
            told = outcome.stderr.decode()
            self.assertEqual((outcome.returncode, outcome.stdout), (2, b""),
                             (way, words, content[:60], told))
            for part in sentence:
                self.assertIn(part, told, way)


class Marks(Case):
    def test_a_mark_is_no_part_of_the_first_key(self):
        self.assert_prints(MARK + b"a\nb\na\n", b"a\nb\n")
        self.assert_prints(MARK, b"")
        self.assert_prints(MARK + b"\n\n", b"\n")
        self.assert_prints(MARK + b"a", b"a\n")
        # Only at the start, and only once.
        self.assert_prints(b"a\n" + MARK + b"a\n", b"a\n" + MARK + b"a\n")
        self.assert_prints(MARK + MARK + b"a\na\n", MARK + b"a\na\n")
        self.assert_prints(MARK[:2] + b"\na\n", MARK[:2] + b"\na\n")
        self.assert_prints(MARK[:2], MARK[:2] + b"\n")
        self.assert_prints(MARK + b"a\na\n", MARK + b"a\na\n", "--text")

    def test_also_in_the_second_file_and_inside_of_compressed_ones(self):
        plain = self.write("plain", b"a\nb\n")
        marked = self.write("marked", MARK + b"a\nc\n")
        packed = self.write("packed", gzipped(MARK + b"c\nd\n"))
        self.assertEqual(run("dedup", plain, marked, packed).stdout, b"a\nb\nc\nd\n")
        self.assert_prints(gzipped(MARK + b"a\na\n"), b"a\n")
        self.assert_prints(gzipped(b""), b"")

    def test_csv_and_json_lines(self):
        one = self.write("one.csv", MARK + b'"id",name\n1,x\n2,y\n')
        two = self.write("two.csv", b'"id",name\n1,z\n3,y\n')
        both = run("dedup", "--csv", "--column", "id", one, two)
        self.assertEqual((both.returncode, both.stdout), (0, b'"id",name\n1,x\n2,y\n3,y\n'), both)
        self.assertEqual(run("dedup", "--csv", "--column", "id", two, one).stdout,
                         b'"id",name\n1,z\n3,y\n2,y\n')
        self.assert_prints(MARK + b'{"a":1}\n{"a":1}\n', b'{"a":1}\n', "--json-key", ".a")

    def test_other_verbs(self):
        marked = self.write("marked", MARK + b"a\nb\n")
        plain = self.write("plain", b"a\nx\n")
        made = self.folder / "S"
        self.assertEqual(run("build", "-q", "-o", made, "--kind", "hash-set", marked).returncode, 0)
        self.assertEqual(run("check", made, plain).stdout, b"a\n")
        self.assertEqual(run("check", made, marked).stdout, b"a\nb\n")
        self.assertEqual(run("add", made, self.write("more", MARK + b"x\n")).returncode, 0)
        self.assertEqual(run("check", made, plain).stdout, b"a\nx\n")
        for verb in ("sort", "count"):
            numbers = run("ints", verb, input=MARK + b"7\n3\n")
            self.assertEqual((numbers.returncode, numbers.stdout),
                             (0, b"3\n7\n" if verb == "sort" else b"2\n"), numbers)

    def test_in_place_keeps_the_mark(self):
        for content, left in ((b"a\nb\na\n", b"a\nb\n"), (b"a\nb\n", b"a\nb\n")):
            path = self.write("f", MARK + content)
            self.assertEqual(run("dedup", "--in-place", path).returncode, 0)
            self.assertEqual(path.read_bytes(), MARK + left)
        path = self.write("f.csv", MARK + b"id\n1\n1\n")
        outcome = run("dedup", "--in-place", "--csv", "--column", "id", path)
        self.assertEqual((outcome.returncode, path.read_bytes()), (0, MARK + b"id\n1\n"), outcome)


class Utf16(Case):
    text = ("a\nZ\u00fcrich \u20ac\n\U0001f600x\n\na\r\nZ\u00fcrich \u20ac\n"
            + "long line " * 300 + "\nlast")

    def test_it_is_read_as_utf_8(self):
        expected = first_lines(self.text.encode())
        for order in ("utf-16-le", "utf-16-be"):
            content = ("\ufeff" + self.text).encode(order)
            self.assert_prints(content, expected)
            self.assert_prints(gzipped(content), expected)
            self.assert_prints("\ufeff".encode(order), b"")
            # Straight as bytes: no line of it comes twice.
            self.assertEqual(run("dedup", "--text", input=content).stdout, first_lines(content))

    def test_random_texts(self):
        letters = "ab\n\r\0\u00e9\u20ac\uffff\U00010000\U0010ffff,"
        for _ in range(12):
            text = "".join(self.chance.choices(letters, k=self.chance.randrange(1, 3000)))
            order = self.chance.choice(("utf-16-le", "utf-16-be"))
            content = ("\ufeffx" + text).encode(order)
            path = self.write("t", content)
            self.assertEqual(run("dedup", "--exact", path).stdout,
                             first_lines(("x" + text).encode()), (order, text[:80]))

    def test_large_and_counted(self):
        text = "".join(f"line {i}\n" for i in range(200_000))
        path = self.write("large", text.encode("utf-16"))
        told = run("dedup", "--json", path)
        self.assertEqual(told.stdout, text.encode())
        self.assertEqual(json.loads(told.stderr)["lines_in"], 200_000)
        self.assertEqual(run("build", "-q", "-o", self.folder / "S", path).returncode, 0)
        self.assertEqual(run("check", "-c", self.folder / "S", path).stdout, b"200000\n")

    def test_csv_json_ints(self):
        table = "id;name\r\n1;x\r\n2;y\r\n1;z\r\n".encode("utf-16")
        self.assert_prints(table, b"id;name\r\n1;x\r\n2;y\r\n",
                           "--csv", "--column", "id", "-t", ";")
        lines = '{"a":"\u00fc"}\n{"a":"\\u00fc"}\n'.encode("utf-16")
        self.assert_prints(lines, '{"a":"\u00fc"}\n'.encode(), "--json-key", ".a")
        self.assertEqual(run("ints", "sort", input="5\n3\n".encode("utf-16")).stdout, b"3\n5\n")

    def test_broken_places_are_named(self):
        little = b"\xff\xfe"
        ok = "ab\n".encode("utf-16-le")
        self.assert_broken(little + ok + b"x", "line 2 (byte 8)", "odd number of bytes")
        self.assert_broken(little + ok + b"\x00\xd8", "line 2", "first half of a surrogate pair")
        self.assert_broken(little + ok + b"\x00\xd8x\x00", "line 2 (byte 10)", "without the second")
        self.assert_broken(little + ok + b"\x00\xdcx\x00", "line 2 (byte 8)", "without the first")
        self.assert_broken(little + b"x", "line 1 (byte 2)", "odd number of bytes")
        for broken in (gzipped(little + ok + b"x"), gzipped(little + ok)[:-3]):
            self.assertEqual(run("dedup", input=broken).returncode, 2)

    def assert_broken(self, content, *sentence):
        for way, outcome in self.by_all_ways(["dedup"], content):
            self.assertEqual(outcome.returncode, 2, (way, content, outcome))
            self.assertIn(outcome.stdout, (b"", b"ab\n"), way)
            for part in sentence:
                self.assertIn(part, outcome.stderr.decode(), way)
            self.assertEqual(run("build", "-q", "-o", self.folder / "never",
                                 self.folder / "input").returncode, 2)
            self.assertFalse((self.folder / "never").exists())

    def test_without_a_mark_it_is_refused(self):
        for order in ("utf-16-le", "utf-16-be"):
            content = ("one\ntwo and more\n" * 60).encode(order)
            self.assert_refused(content, "UTF-16 without a byte order mark", "iconv", "--text")
            self.assert_refused("a\nb".encode(order), "UTF-16 without a byte order mark")
            self.assertEqual(run("dedup", "--text", input=content).returncode, 0)
            # Zero bytes may end lines.
            self.assertEqual(run("dedup", "-0", input=content).returncode, 0)
        self.assert_prints(b"a\0b\0a\0", b"a\0b\0", "-0")
        self.assert_prints(b"a\0\0b\n", b"a\0\0b\n")
        self.assert_prints(b"a\0b\nc\n", b"a\0b\nc\n")

    def test_in_place_refuses(self):
        content = "a\na\n".encode("utf-16")
        path = self.write("f", content)
        self.assertEqual(run("dedup", "--in-place", path).returncode, 2)
        self.assertEqual(path.read_bytes(), content)


class Lz4(Case):
    def test_frames_of_every_shape(self):
        content = b"".join(b"line %d %d\n" % (i % 5000, i % 5000) for i in range(20000))
        expected = first_lines(content)
        for flags in ([], ["-9"], ["-B4"], ["-BD"], ["--no-frame-crc"], ["--content-size"],
                      ["-BX"]):
            packed = compress(content, ["lz4", "-q", *flags])
            self.assert_prints(packed, expected)
            self.assert_prints(packed + packed, expected)
        path = self.write("two.zst", compress(b"1\n2\n", ["zstd", "-q"]))
        mixed = run("dedup", path, self.write("one.lz4", compress(b"2\n3\n", ["lz4", "-q"])))
        self.assertEqual(mixed.stdout, b"1\n2\n3\n")
        self.assert_prints(compress(b"", ["lz4", "-q"]), b"")
        skippable = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
        one = compress(b"1\n", ["lz4", "-q"])
        self.assert_prints(one + skippable + one, b"1\n")

    def test_damage_is_told(self):
        content = b"".join(b"%d\n" % self.chance.randrange(10**12) for _ in range(3000))
        packed = compress(content, ["lz4", "-q"])
        for cut in (8, len(packed) // 2, len(packed) - 5, len(packed) - 1):
            for way, outcome in self.by_all_ways(["dedup"], packed[:cut]):
                self.assertEqual(outcome.returncode, 2, (way, cut))
                self.assertIn(b"cut short", outcome.stderr)
        broken = bytearray(packed)
        broken[len(packed) // 2] ^= 0x40
        self.assertEqual(run("dedup", input=bytes(broken)).returncode, 2)
        followed = run("dedup", input=packed + b"other text\n")
        self.assertIn(b"unexpected data after the end", followed.stderr)
        self.assertEqual(run("dedup", input=packed + b"\0\0\0\0").returncode, 2)

    def test_legacy_frames_are_refused_by_name(self):
        self.assert_refused(compress(b"1\n2\n" * 99, ["lz4", "-q", "-l"]), "legacy", "lz4 -dc")

    def test_its_magic_alone_is_text(self):
        for content in (b"\x04\x22\x4d\x18\n", b"\x04\x22",
                        b"\x04\x22\x4d\x18\x40\x40\xc1\nabc\n"):
            self.assert_prints(content, content if content.endswith(b"\n") else content + b"\n")


class Containers(Case):
    def contents(self):
        """name in the sentence: bytes"""
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w") as archive:
            archive.writestr("lines.txt", "a\nb\n")
        yield "zip archive", held.getvalue()
        held = io.BytesIO()
        zipfile.ZipFile(held, "w").close()
        yield "empty zip archive", held.getvalue()
        for form in (tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT):
            yield "tar archive", tar_of(b"a\nb\n", form)
        # As before POSIX: no magic, but a sum.
        old = bytearray(tar_of(b"a\nb\n", tarfile.USTAR_FORMAT))
        old[257:512] = bytes(255)
        old[148:156] = b" " * 8
        old[148:156] = b"%06o\0 " % sum(old[:512])
        yield "tar archive", bytes(old)
        database = self.folder / "d.sqlite"
        with sqlite3.connect(database) as made:
            made.execute("create table t (a)")
        made.close()
        yield "SQLite", database.read_bytes()
        yield "program", Path(BINARY).read_bytes()[:8192]
        made = self.folder / "S"
        run("build", "-f", "-q", "-o", made, input=b"a\nb\n")
        yield "set file", made.read_bytes()
        yield "UTF-32", "ab\n".encode("utf-32")
        yield "UTF-32", b"\0\0\xfe\xff" + "ab\n".encode("utf-32-be")
        yield "Parquet", b"PAR1\x15\x04\x15\x10" + bytes(40) + b"PAR1"
        yield "7z", b"7z\xbc\xaf\x27\x1c\0\4" + bytes(30)
        yield "rar", b"Rar!\x1a\x07\x01\0" + bytes(30)
        yield "PDF", b"%PDF-1.7\n%\xe2\xe3\n"
        yield "ORC", b"ORC\x08\x03\x10\x02" + b"x" * 40
        yield "Avro", b"Obj\x01\x04\x14avro.codec\x08null"
        yield "Arrow", b"ARROW1\0\0" + bytes(8)
        yield "Arrow", b"\xff\xff\xff\xff\x70\0\0\0" + bytes(0x70)
        yield "Redis", b"REDIS0011\xfa\x09redis-ver"
        yield "compress", b"\x1f\x9d\x90\x61\x14"
        yield "old Word or Excel", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(20)

    def test_each_is_refused_by_name(self):
        for name, content in self.contents():
            self.assert_refused(content, name, "--text reads the bytes as they are")
            raw = run("dedup", "--text", self.write("raw", content))
            self.assertEqual((raw.returncode, raw.stdout), (0, first_lines(content)), name)

    def test_an_archive_whose_magic_is_a_line(self):
        """Drop by drop that line is whole, and answered, before the rest is there."""
        content = b"!<arch>\n" + b"debian-binary".ljust(58) + b"`\n2.0\n"
        for outcome in (run("dedup", self.write("a.deb", content)), run("dedup", input=content)):
            self.assertEqual((outcome.returncode, outcome.stdout), (2, b""), outcome)
            self.assertIn(b"ar archive", outcome.stderr)

    def test_also_inside_of_compressed_files(self):
        archive = tar_of(b"a\nb\n")
        for packed in (gzipped(archive), bz2.compress(archive), lzma.compress(archive),
                       compress(archive, ["zstd", "-q"]), compress(archive, ["lz4", "-q"])):
            self.assert_refused(packed, "tar archive", "tar -xOf", "--text")
        self.assertEqual(run("dedup", "--text", input=gzipped(archive)).stdout,
                         first_lines(archive))
        self.assert_refused(gzipped(gzipped(b"a\n")), "gzip stream inside")
        self.assert_refused(gzipped(bz2.compress(b"a\n")), "bzip2 stream inside")

    def test_every_verb_refuses(self):
        path = self.write("f.tgz", gzipped(tar_of(b"1\n2\n")))
        good = self.folder / "S"
        self.assertEqual(run("build", "-q", "-o", good, input=b"1\n").returncode, 0)
        counts = self.folder / "C"
        self.assertEqual(run("build", "-q", "-o", counts, "--kind", "spectral", "--removable",
                             input=b"1\n").returncode, 0)
        before = good.read_bytes(), counts.read_bytes()
        for words in (["dedup"], ["build", "-o", "N"], ["add", good], ["remove", counts],
                      ["check", good], ["count", counts], ["ints", "sort"], ["ints", "missing"],
                      ["build", "-o", "N", "--allow", path, self.write("a", b"1\n")]):
            for more in ([path], []) if "--allow" not in words else ([],):
                outcome = run(*words, *more, input=None if more else path.read_bytes(),
                              cwd=self.folder)
                self.assertEqual((outcome.returncode, outcome.stdout), (2, b""), (words, outcome))
                self.assertIn(b"tar archive", outcome.stderr, words)
        self.assertEqual((good.read_bytes(), counts.read_bytes()), before)
        self.assertFalse((self.folder / "N").exists())

    def test_a_later_file_is_refused_before_anything_is_printed(self):
        good, bad = self.write("good", b"a\n"), self.write("bad", tar_of(b"a\n"))
        made = self.folder / "S"
        self.assertEqual(run("build", "-q", "-o", made, good).returncode, 0)
        for words in (["dedup"], ["check", made]):
            outcome = run(*words, good, bad)
            self.assertEqual((outcome.returncode, outcome.stdout), (2, b""), outcome)
            self.assertIn(b"bad: this is a tar archive", outcome.stderr)

    def test_binary_numbers_are_not_text(self):
        content = b"".join(i.to_bytes(4, "little") for i in (0x04034b50, 7, 7))
        outcome = run("ints", "sort", "--format", "u32le", input=content)
        self.assertEqual((outcome.returncode, outcome.stdout), (0, b"7\n67324752\n"), outcome)
        content = b"".join(i.to_bytes(4, "little") for i in range(1, 600))
        self.assertEqual(run("ints", "count", "--format", "u32le", input=content).stdout, b"599\n")

    def test_text_that_only_begins_alike_is_text(self):
        for content in (b"PK\n", b"PK\x03\n", b"PAR1\nPAR2\n", b"PAR1", b"ORC\n",
                        b"ORCHID and more\n",
                        b"Orchids of the world, in forty-eight bytes of text\n", b"%PDF-\nx\n",
                        b"%PDF-1.5 is old\n", b"REDIS0011\n", b"REDIS0011 is a dump\n", b"SQLite\n",
                        b"!<arch>\nx\n", b"!<arch>\n" + b"x" * 80 + b"\n", b"7z\n", b"\xff\xfd\n",
                        b"\x7fELF\n", b"Rar!\n", b"O", b"P", b"\xff", b"\xfe\n",
                        b"x" * 257 + b"ustar\n",
                        b"a" * 99 + b"\n" + b"b" * 600 + b"\n"):
            self.assert_prints(content, content if content.endswith(b"\n") else content + b"\n")

    def test_decompress_never_still_wants_text(self):
        packed = gzipped(b"a\nb\n")
        raw = run("dedup", "--decompress", "never", input=packed)
        self.assertEqual((raw.returncode, raw.stdout), (0, first_lines(packed)))
        self.assertEqual(run("dedup", "--decompress", "never", input=MARK + b"a\na\n").stdout,
                         b"a\n")
        both = run("dedup", "--decompress", "never", "--text", input=MARK + b"a\na\n")
        self.assertEqual(both.stdout, MARK + b"a\na\n")


class Waiting(Case):
    def test_a_whole_record_is_answered_at_once(self):
        """Who writes a record and waits for the answer gets it, whatever its bytes begin like."""
        for first, words in ((b"P\n", []), (b"\xef\n", []), (b"\n", []), (b"a\0", ["-0"]),
                             (b"PK\0", ["-0"]), (b"a;", ["-d", ";"]), (b"O;", ["-d", ";"])):
            with subprocess.Popen([BINARY, "dedup", *words], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, bufsize=0) as asked:
                asked.stdin.write(first)
                self.assertEqual(asked.stdout.read(len(first)), first)
                asked.stdin.close()
                self.assertEqual(asked.wait(timeout=PATIENCE), 0)


class Escapes(Case):
    def test_one_rule_for_every_flag(self):
        for typed, meant in ((r"\n", b"\n"), (r"\t", b"\t"), (r"\r", b"\r"), (r"\0", b"\0"),
                             (r"\\", b"\\"), (r"\x1e", b"\x1e"), (r"\r\n", b"\r\n"),
                             (r"a\tb", b"a\tb"), ("\\", b"\\"), (";", b";")):
            content = meant.join((b"1", b"2", b"1", b""))
            outcome = run("dedup", "-d", typed, input=content)
            self.assertEqual((outcome.returncode, outcome.stdout),
                             (0, meant.join((b"1", b"2", b""))), (typed, outcome))
            if meant in (b"\n", b"\r\n"):
                continue
            content = b"x" + meant + b"1\ny" + meant + b"1\n"
            outcome = run("dedup", "-k", "2", "-t", typed, input=content)
            self.assertEqual((outcome.returncode, outcome.stdout), (0, b"x" + meant + b"1\n"),
                             (typed, outcome))

    def test_unknown_escapes_are_refused(self):
        for typed in (r"\q", r"\x1", r"\xzz", r"\012", r"\u0041", r"a\ b", r"\N"):
            for flags in (["-d", typed], ["-k", "1", "-t", typed]):
                for verb in (["dedup"], ["build", "-o", "N"]):
                    outcome = run(*verb, *flags, input=b"1\n", cwd=self.folder)
                    self.assertEqual(outcome.returncode, 2, (typed, verb))
                    self.assertIn(b"knows the escapes", outcome.stderr)
        self.assertEqual(run("ints", "sort", "-d", r"\q", input=b"1\n").returncode, 2)
        self.assertEqual(run("ints", "sort", "-d", r"\t", input=b"2\t1\n").stdout, b"1\t2\t")
        self.assertEqual(run("dedup", "-d", "", input=b"1\n").returncode, 2)


if __name__ == "__main__":
    print(f"seed {SEED}", flush=True)
    unittest.main()

#!/usr/bin/env python3
"""Keys of several parts and sets that cannot have them, or that have nothing else.

    BLOOMERY=path/to/bloomery key_parts_test.py

A key of one part is its bytes; one of several parts is netstrings. A set of the one has no key of
the other, and would call every line absent: it is refused, and never silently.
"""
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from key_source_test import notes_of, xxh3
from redis_server import RedisServer

CSV = b"id,mail\n1,a\n2,b\n"
JSON = b'{"id":1,"mail":"a"}\n{"id":2,"mail":"b"}\n'
# How keys are made, and of how many parts.
ONE = [[], ["-0"], ["-k", "1", "-t,"], ["-k", "-1"], ["--json-key", ".id"]]
ONE += [["--csv", "--column", "id"], ["--csv", "--no-header", "--column", "2"]]
ONE += [["--csv", "--column", '"id"'], ["-k", "2-2", "-t,"], ["--tsv", "--column", "id"]]
TWO = [["-k", "1,2", "-t,"], ["-k", "1-2", "-t,"], ["--csv", "--column", "id,mail"]]
TWO += [["--csv", "--column", "id", "--column", "mail"]]
TWO += [["--csv", "--no-header", "--column", "1,2"]]
TWO += [["--json-key", ".id", "--json-key", ".mail"], ["-k-2,-1", "-t,"]]
THREE = [["-k", "1,2,1", "-t,"], ["-k1-3", "-t,"], ["--csv", "--column", "id,mail,id"]]
MANY = [["-k", "1-", "-t,"]]


def run(folder, *words, stdin=b""):
    return subprocess.run(
        [os.environ["BLOOMERY"], *words], cwd=folder, input=stdin, capture_output=True
    )


def without_note(image):
    """The image as a version before the note 0x0007 wrote it (docs/format.md)."""
    image = bytearray(image)
    (length,) = struct.unpack_from("<Q", image, 96)
    (notes,) = struct.unpack_from("<Q", image, 8192 + 8)
    size = 8 + len(notes_of(image)[7])
    size += -size % 8
    at = 8192 + length - size  # it is the last one
    assert struct.unpack_from("<H", image, at)[0] == 7
    image[at : at + size] = bytes(size)
    struct.pack_into("<Q", image, 8192 + 8, notes - size)
    directory = bytes(image[8192:at])
    for slot in (0, 1):
        struct.pack_into("<QQ", image, 4096 * slot + 96, len(directory), xxh3(directory))
        covered = bytes(image[4096 * slot : 4096 * slot + 4088])
        struct.pack_into("<Q", image, 4096 * slot + 4088, xxh3(covered, slot))
    return bytes(image)


class Test(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="bloomery-parts-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def good(self, *words, stdin=b"", code=0):
        ran = run(self.folder, *words, stdin=stdin)
        self.assertEqual((ran.returncode, ran.stderr), (code, b""), words)
        return ran.stdout

    def refused(self, sentence, *words, stdin=b""):
        ran = run(self.folder, *words, stdin=stdin)
        self.assertEqual((ran.returncode, ran.stdout), (2, b""), (words, ran.stderr))
        self.assertIn(sentence, ran.stderr.decode(), words)

    def made_by_an_earlier_version(self, name):
        path = self.folder / name
        path.write_bytes(without_note(path.read_bytes()))
        self.assertNotIn(b"made", self.good("info", name))


class Asked(Test):
    def every_verb(self, name):
        yield ["check", name]
        yield ["check", "-v", name]
        yield ["check", "-c", "-s", name]
        yield ["count", name]
        yield ["dedup", "--against", name]
        yield ["remove", "-q", name]
        yield ["add", "-q", name]

    def test_another_number_of_parts_is_refused_by_every_verb(self):
        groups = [ONE, TWO, THREE]
        for mine, group in enumerate(groups):
            made = group[0]
            stdin = b"1,a,1\n2,b,2\n"
            self.good("build", "-q", "--kind", "counting", "-fo", "set", *made, stdin=stdin)
            before = (self.folder / "set").read_bytes()
            for theirs, others in enumerate(groups):
                if mine == theirs:
                    continue
                verbs = list(self.every_verb("set"))
                for number, words in enumerate(others):
                    # Each verb with some of the ways.
                    for verb in verbs[number % 2 :: 2]:
                        self.refused("none could match", *verb, *words, stdin=b"")
            self.assertEqual((self.folder / "set").read_bytes(), before)

    def test_as_many_parts_from_elsewhere_are_asked_for(self):
        self.good("build", "-q", "--kind", "counting", "-o", "one", stdin=b"1\n2\n")
        self.good("build", "-q", "--kind", "counting", "-o", "two", *TWO[0], stdin=b"1,a\n2,b\n")
        asked = {"--csv": CSV + b"3,c\n", "--json-key": JSON + b'{"id":3,"mail":"c"}\n'}
        for words in (["--csv", "--column", "id"], ["--json-key", ".id"]):
            out = self.good("check", *words, "one", stdin=asked[words[0]])
            self.assertEqual(out, CSV if words[0] == "--csv" else JSON)
        for words in TWO[2:4] + TWO[5:6]:
            out = self.good("check", *words, "two", stdin=asked[words[0]])
            self.assertEqual(out, CSV if words[0] == "--csv" else JSON)
        self.assertEqual(self.good("check", "-c", *MANY[0], "two", stdin=b"1,a\n1,a,a\n"), b"1\n")
        self.assertEqual(self.good("check", "-c", "one", stdin=b"1\n3\n"), b"1\n")

    def test_both_selections_are_named(self):
        self.good("build", "-q", "-o", "lines", stdin=b"1\n")
        self.refused(
            "lines has the keys of a list of whole lines, one part, and this run has those of "
            "--csv --column id --column mail, 2 parts: none could match. Take as many parts of "
            "each line as there; --same-keys if its keys are written as these are",
            *["check", "--csv", "--column", "id,mail", "lines"],
        )
        self.good("build", "-q", "-o", "two", "-k1-2", "-t,", stdin=b"1,a\n")
        self.refused("two has the keys of -k 1,2 -t ,, 2 parts, and", "check", "two")
        self.refused("-k 1,2,1, 3 parts", "check", "-k", "1,2,1", "two")
        self.good("build", "-q", "-o", "many", *MANY[0], stdin=b"1,a\n")
        self.refused("many has the keys of -k 1- -t ,, any number of parts", "check", "many")

    def test_an_earlier_version_joined_parts_in_another_way(self):
        self.good("build", "-q", "--kind=counting", "-o", "old", stdin=b"1\x1fa\n2\x1fb\n")
        self.made_by_an_earlier_version("old")
        for verb in self.every_verb("old"):
            for words in TWO + MANY:
                self.refused("old does not say what its keys were made from", *verb, *words)
        # What has one part can be anybody's.
        self.assertEqual(self.good("check", "old", stdin=b"1\x1fa\nx\n"), b"1\x1fa\n")
        self.good("check", "old", "--json-key", ".id", stdin=JSON, code=1)

    def test_those_who_wrote_the_parts_themselves_say_so(self):
        self.good("build", "-q", "--kind=counting", "-n9", "-o", "own", stdin=b"1:1,1:a,\n")
        (self.folder / "list").write_bytes(b"1:1,1:a,\n")
        words = ["--same-keys", "--csv", "--column", "id,mail"]
        for name in ("own", "list"):
            self.assertEqual(self.good("check", *words, name, stdin=CSV), b"id,mail\n1,a\n")
            out = self.good("dedup", *words, "--against", name, stdin=CSV)
            self.assertEqual(out, b"id,mail\n2,b\n")
        out = self.good("count", "--same-keys", *words, "own", stdin=CSV)
        self.assertEqual(out, b"1\t1,a\n0\t2,b\n")
        self.good("add", "-q", "--same-keys", *words, "own", stdin=b"id,mail\n3,c\n")
        self.assertEqual(self.good("check", "own", stdin=b"1:3,1:c,\n"), b"1:3,1:c,\n")
        self.made_by_an_earlier_version("own")
        self.assertEqual(self.good("check", *words, "own", stdin=CSV), b"id,mail\n1,a\n")
        words = ["-q", "--same-keys", *words, "own"]
        ran = run(self.folder, "remove", "--same-keys", *words, stdin=b"id,mail\n3,c\n")
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_a_set_without_keys_may_get_any(self):
        self.good("build", "-q", "-n", "10", "-o", "set")
        self.good("add", "-q", *TWO[2], "set", stdin=CSV)
        self.assertEqual(self.good("check", *TWO[5], "set", stdin=JSON), JSON)
        self.refused("none could match", "add", "set", stdin=b"1\n")

    def test_a_set_on_a_server_knows_it_too(self):
        with RedisServer() as server:
            url = f"redis://127.0.0.1:{server.port}/0/ids"
            self.good("build", "-q", "-n", "10", "-o", url, stdin=b"1\n")
            for verb in (["check", url], ["add", "-q", url], ["dedup", "--against", url]):
                self.refused("none could match", *verb, *TWO[2], stdin=CSV)
            out = self.good("check", "--csv", "--column=id", url, stdin=CSV)
            self.assertEqual(out, b"id,mail\n1,a\n")


class States(Test):
    def test_an_earlier_state_goes_on_with_a_warning(self):
        self.good("dedup", "--state", "old", "-k1", stdin=b"a x\nb y\n")
        self.made_by_an_earlier_version("old")
        before = (self.folder / "old").read_bytes()
        ran = run(self.folder, "dedup", "--state", "old", "-k2", stdin=b"a x\n")
        self.assertEqual((ran.returncode, ran.stdout), (0, b"a x\n"))
        self.assertEqual(
            ran.stderr.decode(),
            "bloomery: warning: old does not say what its keys were made from, so it is "
            "unknown whether they were those of -k 2, with which this run continues; --same-keys "
            "confirms it\n",
        )
        # Now it knows.
        self.assertEqual(self.good("dedup", "--state", "old", "-k2", stdin=b"a x\n"), b"")
        self.refused("remembers the keys of -k 2", "dedup", "--state", "old", "-k1")
        (self.folder / "old").write_bytes(before)
        words = ["dedup", "--same-keys", "--state", "old", "-k1"]
        self.assertEqual(self.good(*words, stdin=b"a x\n"), b"")
        (self.folder / "old").write_bytes(before)
        self.refused("old does not say", "dedup", "--state", "old", "-k1,2", stdin=b"a x\n")
        self.assertEqual((self.folder / "old").read_bytes(), before)

    def test_the_same_keys_from_elsewhere_go_on_when_somebody_says_so(self):
        self.good("dedup", "--state", "s", "--csv", "--column", "id", stdin=CSV)
        self.refused("this run has those of --json-key .id", "dedup", "--state=s", "--json-key=.id")
        words = ["dedup", "--state", "s", "--json-key", ".id"]
        self.assertEqual(self.good(*words, "--same-keys", stdin=JSON), b"")
        self.assertEqual(self.good(*words, stdin=JSON), b"")

    def test_the_same_keys_spelled_otherwise(self):
        ways = [TWO[2:4], [["-k1-3", "-t,"], ["-k", "1,2,3", "-t,"], ["-k1", "-k2-3", "-t,"]]]
        ways.append([["--json-key", way] for way in (".a.b", '."a".b', '.a."b"', '."\\a".b')])
        ways.append([["--json-key", way] for way in (".[0].a[1]", "[0].a.[01]")])
        ways.append([["--csv", "--column", way] for way in ("id", '"id"')])
        for number, spellings in enumerate(ways):
            for words in spellings:
                self.good("dedup", "--state", f"s{number}", *words)

    def test_what_an_earlier_version_noted_is_understood(self):
        # It wrote flags as they were spelled; notes of the same length take their place.
        for number, (new, old) in enumerate(
            [("--csv --column aa --column bb", b"--csv --column aa,bb\0\0\0\0\0\0\0\0\0")]
        ):
            self.good("dedup", "--state", f"s{number}", *new.split())
            path = self.folder / f"s{number}"
            image = bytearray(path.read_bytes())
            at = image.index(new.encode())
            text = old.rstrip(b"\0")
            image[at : at + len(new)] = old
            struct.pack_into("<I", image, at - 4, len(text))
            # One note is shorter now, and the directory with it.
            (length,) = struct.unpack_from("<Q", image, 96)
            (notes,) = struct.unpack_from("<Q", image, 8192 + 8)
            less = (len(new) + -len(new) % 8) - (len(text) + -len(text) % 8)
            struct.pack_into("<Q", image, 8192 + 8, notes - less)
            directory = bytes(image[8192 : 8192 + length - less])
            for slot in (0, 1):
                start = 4096 * slot
                struct.pack_into("<QQ", image, start + 96, len(directory), xxh3(directory))
                covered = bytes(image[start : start + 4088])
                struct.pack_into("<Q", image, start + 4088, xxh3(covered, slot))
            path.write_bytes(image)
            self.assertIn(b"--column aa,bb", self.good("info", path.name))
            self.good("dedup", "--state", path.name, *new.split())
            self.assertIn(new.encode(), self.good("info", path.name))


if __name__ == "__main__":
    if "BLOOMERY" not in os.environ:
        sys.exit("BLOOMERY must name the command to test")
    unittest.main()

#!/usr/bin/env python3
"""Small promises of the command line: names, units, one and many, the same thing spelled otherwise.

    BLOOMERY=path/to/bloomery said_and_done_test.py
"""
import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from redis_server import RedisServer

CODECS = {"gz": ["gzip", "-dc"], "bz2": ["bzip2", "-dc"], "xz": ["xz", "-dc"]}
CODECS |= {"zst": ["zstd", "-dcq"], "lz4": ["lz4", "-dcq"]}


class Test(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="bloomery-said-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def ran(self, *words, stdin=b""):
        return subprocess.run(
            [os.environ["BLOOMERY"], *words], cwd=self.folder, input=stdin, capture_output=True
        )

    def good(self, *words, stdin=b""):
        ran = self.ran(*words, stdin=stdin)
        self.assertEqual((ran.returncode, ran.stderr), (0, b""), words)
        return ran.stdout

    def refused(self, *words, stdin=b""):
        ran = self.ran(*words, stdin=stdin)
        self.assertEqual((ran.returncode, ran.stdout), (2, b""), (words, ran.stderr))
        return ran.stderr.decode()

    def write(self, name, content):
        (self.folder / name).write_bytes(content)

    def test_the_ending_of_an_output_in_capitals(self):
        for ending, unpack in CODECS.items():
            for name in (f"x.{ending.upper()}", f"y.{ending.capitalize()}"):
                self.good("dedup", "-o", name, stdin=b"a\nb\na\n")
                packed = (self.folder / name).read_bytes()
                unpacked = subprocess.run(unpack, input=packed, capture_output=True, check=True)
                self.assertEqual(unpacked.stdout, b"a\nb\n", name)
        self.good("dedup", "-o", ".GZ", stdin=b"a\n")
        self.assertEqual((self.folder / ".GZ").read_bytes(), b"a\n")
        told = self.refused("dedup", "--state", "s", "-o", "x2.Gz", stdin=b"a\n")
        self.assertIn("compressed", told)

    def test_headers_that_differ_in_quotes_and_line_ends_are_one(self):
        self.write("a.csv", b"id,name\n1,x\n")
        self.write("b.csv", b"id,name\r\n2,y\r\n")
        self.write("c.csv", b'"id","name"\n3,z\n')
        self.write("d.csv", b"\xef\xbb\xbfid,name\n4,w\n")
        files = ["a.csv", "b.csv", "c.csv", "d.csv"]
        lines = b"id,name\n1,x\n2,y\r\n3,z\n4,w\n"
        self.assertEqual(self.good("dedup", "--csv", "--column", "id", *files), lines)
        self.assertEqual(self.good("dedup", "-T2", "--csv", "--column", "id", *files), lines)
        self.good("build", "-q", "-o", "set", "--csv", "--column", "id", *files)
        self.assertEqual(self.good("check", "--csv", "--column", "id", "set", *files), lines)
        self.write("t1.tsv", b"id\tname\n1\tx\n")
        self.write("t2.tsv", b"id\tname\r\n2\ty\r\n")
        out = self.good("dedup", "--tsv", "--column", "id", "t1.tsv", "t2.tsv")
        self.assertEqual(out, b"id\tname\n1\tx\n2\ty\r\n")
        for other in (b"name,id\n5,v\n", b"id,name,more\n5,v,u\n", b"id, name\n5,v\n"):
            self.write("e.csv", other)
            ran = self.ran("dedup", "--csv", "--column", "id", "a.csv", "e.csv")
            self.assertEqual((ran.returncode, ran.stdout), (2, b"id,name\n1,x\n"))
            self.assertIn(b"e.csv has another header than a.csv", ran.stderr)
            ran = self.ran("check", "--csv", "--column", "id", "set", "a.csv", "e.csv")
            self.assertEqual(ran.returncode, 2)

    def test_a_header_of_a_resumed_output(self):
        self.write("a.csv", b"id,name\n1,x\n")
        self.write("b.csv", b'"id",name\r\n2,y\r\n')
        for name in ("a.csv", "b.csv"):
            self.good("dedup", "--csv", "--column", "id", "--state", "s", "-o", "out", name)
        self.assertEqual((self.folder / "out").read_bytes(), b"id,name\n1,x\n2,y\r\n")

    def test_a_window_of_another_size_is_refused(self):
        words = ["dedup", "--window", "1h", "--state", "w"]
        self.good(*words, "-n", "1000", stdin=b"x\n")
        self.assertEqual(self.good(*words, "-n", "1000", stdin=b"x\ny\n"), b"y\n")
        for keys in ("5000", "100"):
            told = self.refused(*words, "-n", keys, stdin=b"z\n")
            self.assertIn("w was planned for 1,000 lines; leave --keys out, or begin", told)
        self.assertEqual(self.good("dedup", "--window", "1h", "--state", "w", stdin=b"x\n"), b"")

    def test_names_of_a_report_have_no_blanks(self):
        for kind in ("fuse", "ribbon", "blocked", "cuckoo", "window", "spectral", "hash-set"):
            self.good("build", "-q", "-fo", "s", "--kind", kind, stdin=b"a\nb\n")
            report = json.loads(self.good("info", "--json", "s"))
            self.assertEqual([name for name in report if " " in name], [], kind)

    def test_a_compressed_set_file_is_named(self):
        self.good("build", "-q", "-o", "s", stdin=b"a\n")
        self.write("s.gz", gzip.compress((self.folder / "s").read_bytes()))
        for words in (["check", "s.gz"], ["dedup", "--against", "s.gz"]):
            told = self.refused(*words, stdin=b"a\n")
            self.assertIn("a set file of bloomery that was compressed, not text; decompress", told)
        for words in (["info", "s.gz"], ["add", "s.gz"], ["verify", "s.gz"]):
            told = self.refused(*words, stdin=b"a\n")
            self.assertIn("it is compressed (gzip): decompress it first if it is a set", told)

    def test_one_is_not_many(self):
        ran = self.ran("dedup", "--skip-bad", "-k2", stdin=b"a\nb c\n")
        self.assertIn(b"1 line has no key and was printed", ran.stderr)
        ran = self.ran("dedup", "--skip-bad", "-k2", stdin=b"a\nd\nb c\n")
        self.assertIn(b"2 lines have no key and were printed", ran.stderr)
        self.write("many", b"".join(b"%d\n" % i for i in range(5000)))
        ran = self.ran("build", "-q", "-p", "50%", "-n", "1", "-fo", "full", "many")
        ran = self.ran("check", "full", stdin=b"stranger\n")
        self.assertIn(b"the one match may be false", ran.stderr)
        ran = self.ran("check", "-v", "full", stdin=b"stranger\n")
        self.assertIn(b"the one line that is withheld may be absent", ran.stderr)

    def test_sizes_have_units(self):
        lines = b"".join(b"line %d\n" % i for i in range(3_000_000))
        for more in ([], ["--exact"]):
            ran = self.ran("dedup", "-m", "24M", *more, stdin=lines)
            self.assertEqual(ran.returncode, 2)
            self.assertRegex(ran.stderr.decode(), r"cannot grow beyond its \d+\.\d\d [KM]iB: ")

    def test_where_the_secret_key_of_a_set_on_a_server_is(self):
        with RedisServer() as server:
            url = f"redis://127.0.0.1:{server.port}/0/seen"
            self.good("dedup", "--state", url, "-n", "100", stdin=b"a\n")
            report = json.loads(self.good("info", "--json", url))
            self.assertEqual(report["secret_key"], "on the server")


if __name__ == "__main__":
    if "BLOOMERY" not in os.environ:
        sys.exit("BLOOMERY must name the command to test")
    unittest.main()

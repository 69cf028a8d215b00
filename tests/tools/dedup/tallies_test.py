#!/usr/bin/env python3
"""dedup --distinct, --count, --top, --unique and --keep last beside sort, uniq, gawk, tac and
Python's csv, on random lines: NULs, empty lines, CRLF, no newline at the end, repeats everywhere.

    BLOOMERY=path/to/bloomery tallies_test.py [SEED]
"""
import collections
import csv
import gzip
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BINARY = os.environ.get("BLOOMERY") or sys.exit("set BLOOMERY to the path of the command")
SEED = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 20261116
PATIENCE = 240  # seconds after which something hangs, on a machine with much else to do
C_LOCALE = {**os.environ, "LC_ALL": "C"}


def dedup(*words, **more):
    return subprocess.run(
        [BINARY, "dedup", *map(str, words)], capture_output=True, timeout=PATIENCE, **more
    )


def printed(*words, **more):
    run = dedup(*words, **more)
    if run.returncode != 0 or run.stderr:
        raise AssertionError(f"{words}: exit {run.returncode}, {run.stderr.decode()}")
    return run.stdout


def tool(command, stdin):
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], input=stdin, capture_output=True, check=True,
        timeout=PATIENCE, env=C_LOCALE,
    ).stdout


def lines_of(content, delimiter):
    """The lines of a file; one without a delimiter at the end is a line."""
    lines = content.split(delimiter)
    return lines[:-1] if lines[-1] == b"" else lines


def ended(lines, delimiter=b"\n"):
    return b"".join(line + delimiter for line in lines)


def counted(lines):
    """As a dict: in the order in which the keys came first."""
    return collections.Counter(lines)


def as_counts(pairs, delimiter=b"\n"):
    return b"".join(b"%d\t%s%s" % (count, line, delimiter) for line, count in pairs)


def last_ones(lines):
    return list(reversed(dict.fromkeys(reversed(lines))))


class Tallies(unittest.TestCase):
    def setUp(self):
        self.chance = random.Random(f"{SEED} {self.id()}")
        place = tempfile.TemporaryDirectory(prefix="bloomery-tallies-")
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def random_content(self, delimiter):
        pieces = [b"", b"\r", b"a", b"a\r", b"\0", b"x\0y", b"\xfd\xfe\xff", b" a", b"a ", b"\t"]
        if delimiter == b"\0":
            pieces = [piece.replace(b"\0", b"\n") for piece in pieces]
        pieces += [b"%d" % n for n in range(self.chance.choice([0, 5, 400]))]
        lines = self.chance.choices(pieces, k=self.chance.choice([0, 1, 2, 10, 1000]))
        content = ended(lines, delimiter)
        return content[: -len(delimiter)] if self.chance.random() < 0.5 and content else content

    def assert_refused(self, words, *parts, **more):
        run = dedup(*words, **more)
        self.assertEqual(run.returncode, 2, words)
        self.assertEqual(run.stdout, b"")
        self.assertRegex(run.stderr.decode(), r"\Abloomery: error: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, run.stderr.decode())


class LikeOthers(Tallies):
    def test_random_lines(self):
        for turn in range(25):
            delimiter = self.chance.choice([b"\n", b"\n", b"\0", b"<>"])
            flags = {b"\n": [], b"\0": ["-0"], b"<>": ["-d", "<>"]}[delimiter]
            content = self.random_content(delimiter)
            lines = lines_of(content, delimiter)
            counts = counted(lines)
            most = sorted(counts.items(), key=lambda pair: -pair[1])
            top = self.chance.choice([1, 2, 7, 10_000])
            given = {"input": content}
            if turn % 2:
                flags, given = [*flags, self.write("lines", content)], {"stdin": subprocess.DEVNULL}
            with self.subTest(turn=turn, content=content[:100]):
                self.assertEqual(printed("--distinct", *flags, **given), b"%d\n" % len(counts))
                self.assertEqual(
                    printed("-c", *flags, **given), as_counts(counts.items(), delimiter))
                self.assertEqual(
                    printed("--top", top, *flags, **given), as_counts(most[:top], delimiter))
                once = [line for line in lines if counts[line] == 1]
                self.assertEqual(printed("-u", *flags, **given), ended(once, delimiter))
                self.assertEqual(
                    printed("--keep", "last", *flags, **given),
                    ended(last_ones(lines), delimiter))
                self.assertEqual(
                    printed("--keep", "first", *flags, **given), ended(counts, delimiter))

    def test_beside_the_tools_of_the_system(self):
        lines = [b"%d\t \r%d" % (n % 7, n) if n % 3 else b"" for n in
                 self.chance.choices(range(20_000), k=60_000)]
        content = ended(lines)
        counts = tool("sort | uniq -c | sed 's/^ *\\([0-9]*\\) /\\1\\t/'", content)
        self.assertEqual(sorted(lines_of(printed("-c", input=content), b"\n")),
                         sorted(lines_of(counts, b"\n")))
        self.assertEqual(tool("sort", printed("-u", input=content)),
                         tool("sort | uniq -u", content))
        self.assertEqual(printed("--keep", "last", input=content),
                         tool("tac | gawk '!seen[$0]++' | tac", content))
        self.assertEqual(printed("-c", input=content), tool(
            "gawk '!($0 in c) { order[n++] = $0 } { ++c[$0] }"
            " END { for (i = 0; i < n; ++i) print c[order[i]] \"\\t\" order[i] }'", content))
        self.assertEqual(printed("--distinct", input=content), tool("sort -u | wc -l", content))

    def test_carriage_returns_count_or_not(self):
        content = b"a\r\na\nb\nb\r\nc"
        self.assertEqual(printed("-c", input=content), b"1\ta\r\n1\ta\n1\tb\n1\tb\r\n1\tc\n")
        self.assertEqual(printed("-c", "--crlf", "strip", input=content), b"2\ta\r\n2\tb\n1\tc\n")
        self.assertEqual(
            printed("--keep", "last", "--crlf", "strip", input=content), b"a\nb\r\nc\n")
        self.assertEqual(printed("-u", "--crlf", "strip", input=content), b"c\n")
        self.assertEqual(printed("--distinct", "--crlf", "strip", input=content), b"3\n")

    def test_several_files_one_of_them_compressed(self):
        one = self.write("one", b"a\nb\nc")  # its last line ends with the file
        two = self.write("two.gz", gzip.compress(b"c\nb\nd\n"))
        self.assertEqual(
            printed("-c", one, two, "-", input=b"e\na"), b"2\ta\n2\tb\n2\tc\n1\td\n1\te\n")
        self.assertEqual(printed("-u", one, two, "-", input=b"e\na"), b"d\ne\n")
        self.assertEqual(
            printed("--keep", "last", one, two, "-", input=b"e\na"), b"c\nb\nd\ne\na\n")
        self.assertEqual(printed("--distinct", one, two, "-", input=b"e\na"), b"5\n")

    def test_a_truncated_stream_has_no_counts(self):
        whole = gzip.compress(ended(b"%d" % self.chance.getrandbits(64) for _ in range(20_000)))
        cut = self.write("cut.gz", whole[: len(whole) // 2])
        for words in (["-c"], ["--top", 3], ["-u"], ["--keep", "last"], ["--distinct"]):
            self.assert_refused([*words, cut], "cut.gz", "cut short")

    def test_a_line_longer_than_all_buffers(self):
        long = b"x" * 3_000_000
        content = ended([long, b"a", long, b"a", long + b"y"])
        self.assertEqual(printed("-c", input=content), as_counts(
            [(long, 2), (b"a", 2), (long + b"y", 1)]))
        self.assertEqual(printed("--keep", "last", input=content), ended([long, b"a", long + b"y"]))


class Keys(Tallies):
    def as_csv(self, rows):
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue().encode()

    def rows_of(self, output):
        return list(csv.reader(io.StringIO(output.decode(), newline="")))

    def test_csv_records_with_newlines_in_quotes(self):
        names = ["a", "a,b", 'say "x"', "two\nlines", "two\r\nlines", "\u00e9", "\n"]
        table = [[str(n), self.chance.choice(names), self.chance.choice("pq")] for n in range(400)]
        head = ["id", "name", "kind"]
        content = self.as_csv([head, *table])
        by_key = collections.defaultdict(list)
        for row in table:
            by_key[row[1], row[2]].append(row)
        flags = ["--csv", "--column", "name", "--column", "kind"]
        self.assertEqual(printed("--distinct", *flags, input=content), b"%d\n" % len(by_key))
        # A count is part of the first cell to a reader of CSV.
        self.assertEqual(self.rows_of(printed("-c", *flags, input=content)), [head, *(
            [f"{len(rows)}\t{rows[0][0]}", *rows[0][1:]] for rows in by_key.values())])
        self.assertEqual(
            self.rows_of(printed("--keep", "last", *flags, input=content)),
            [head, *sorted((rows[-1] for rows in by_key.values()), key=lambda row: int(row[0]))])
        lone = [["1000", "lone\n\n", "z"], ["1001", "lone", "z"]]
        self.assertEqual(
            self.rows_of(printed("-u", *flags, input=content + self.as_csv(lone))), [head, *lone])

    def test_the_head_is_printed_once_and_never_counted(self):
        one = self.write("one.csv", b"id,x\n1,a\n2,b\n")
        two = self.write("two.csv", b"id,x\n2,c\nid,x\n")
        flags = ["--csv", "--column", "id", one, two]
        self.assertEqual(printed("--distinct", *flags), b"3\n")
        self.assertEqual(printed("-c", *flags), b"id,x\n1\t1,a\n2\t2,b\n1\tid,x\n")
        self.assertEqual(printed("--top", 1, *flags), b"id,x\n2\t2,b\n")
        self.assertEqual(printed("--keep", "last", *flags), b"id,x\n1,a\n2,c\nid,x\n")
        alone = self.write("alone.csv", b"id,x\n")
        self.assertEqual(printed("-c", "--csv", "--column", "id", alone), b"id,x\n")
        self.assertEqual(printed("--distinct", "--csv", "--column", "id", alone), b"0\n")

    def test_the_first_or_last_line_of_a_key_is_printed_whole(self):
        content = b"1 a\n2 b\n3 a\n4 c\n5 b\n6 a\n"
        self.assertEqual(printed("-c", "-k", 2, input=content), b"3\t1 a\n2\t2 b\n1\t4 c\n")
        self.assertEqual(printed("-u", "-k", 2, input=content), b"4 c\n")
        self.assertEqual(printed("--keep", "last", "-k", 2, input=content), b"4 c\n5 b\n6 a\n")

    def test_lines_without_a_key_are_lines_of_their_own(self):
        content = b"1 a\nx\n2 a\nx\n"
        for words in (["-c"], ["-u"], ["--keep", "last"], ["--distinct"]):
            self.assert_refused([*words, "-k", 2], "line 2", input=content)
        for words, wanted in (
                (["-c"], b"2\t1 a\n1\tx\n1\tx\n"), (["-u"], b"x\nx\n"),
                (["--keep", "last"], b"x\n2 a\nx\n"), (["--distinct"], b"3\n")):
            run = dedup(*words, "-k", 2, "--skip-bad", input=content)
            self.assertEqual((run.returncode, run.stdout), (0, wanted))
            self.assertIn("2 lines have no key", run.stderr.decode())

    def test_what_another_set_has_is_not_counted(self):
        known = self.folder / "known.set"
        subprocess.run([BINARY, "build", "-o", known, "--kind", "hash-set"], input=b"a\nb\n",
                       check=True, capture_output=True)
        content = b"a\nc\nb\nd\nc\na\n"
        against = ["--against", known]
        self.assertEqual(printed("-c", *against, input=content), b"2\tc\n1\td\n")
        self.assertEqual(printed("-u", *against, input=content), b"d\n")
        self.assertEqual(printed("--keep", "last", *against, input=content), b"d\nc\n")
        self.assertEqual(printed("--distinct", *against, input=content), b"2\n")


class Places(Tallies):
    def test_in_place(self):
        path = self.write("lines", b"a\nb\na\nc")
        self.assertEqual(printed("-u", "--in-place", path), b"")
        self.assertEqual(path.read_bytes(), b"b\nc\n")
        path.write_bytes(b"a\nb\na\nc")
        self.assertEqual(printed("--keep", "last", "--in-place", path), b"")
        self.assertEqual(path.read_bytes(), b"b\na\nc\n")

    def test_an_output_file_comes_whole_or_not_at_all(self):
        out = self.folder / "out"
        for words, wanted in (
                (["-c"], b"2\ta\n1\tb\n"), (["-u"], b"b\n"), (["--distinct"], b"2\n"),
                (["--keep", "last"], b"b\na\n")):
            self.assertEqual(printed(*words, "-o", out, "-f", input=b"a\nb\na\n"), b"")
            self.assertEqual(out.read_bytes(), wanted)
            self.assert_refused([*words, "-o", out], "exists", input=b"a\n")
            self.assertEqual(out.read_bytes(), wanted)
        run = subprocess.run(["bash", "-c", f"seq 100000 | {BINARY} dedup -c > /dev/full"],
                             capture_output=True, timeout=PATIENCE)
        self.assertEqual(run.returncode, 2)
        self.assertIn("the disk is full", run.stderr.decode())

    def test_more_lines_than_are_kept_in_memory(self):
        # 80 MB of different lines, twice: the spool goes to TMPDIR and is packed there.
        lines = [b"%07d" % n + b"." * 200 for n in range(400_000)]
        path = self.write("lines", ended(lines))
        for words, wanted in ((["-c"], (b"2\t" + line + b"\n" for line in lines)),
                              (["--keep", "last"], (line + b"\n" for line in lines))):
            run = dedup(*words, "--json", path, path, env={**os.environ, "TMPDIR": self.folder})
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertTrue(run.stdout == b"".join(wanted), words)
            told = json.loads(run.stderr)
            self.assertEqual(told["distinct"], len(lines))
            self.assertGreater(told["spool_bytes"], 60e6)
            self.assertEqual([p.name for p in self.folder.iterdir()], ["lines"])
            self.assert_refused([*words, path], "TMPDIR", env={**os.environ, "TMPDIR": "/missing"})

    def test_a_spool_that_can_not_grow_ends_the_run_before_a_line_is_printed(self):
        lines = ended(b"%07d" % n + b"." * 200 for n in range(150_000))
        for words in ("-c", "--top 3", "-u", "--keep last"):
            run = subprocess.run(
                ["bash", "-c", f"ulimit -f 20000; trap '' XFSZ; {BINARY} dedup {words}"],
                input=lines, capture_output=True, timeout=PATIENCE)
            self.assertEqual((run.returncode, run.stdout), (2, b""), words)
            self.assertRegex(run.stderr.decode(), r"\Abloomery: error: [^\n]*temporary[^\n]+\n\Z")

    def test_a_reader_that_goes_away_ends_it_quietly(self):
        for words in ("-c", "--top 100000", "-u", "--keep last"):
            run = subprocess.run(
                ["bash", "-c", f"seq 300000 | {BINARY} dedup {words} | head -n 1;"
                 " echo ${PIPESTATUS[@]}"], capture_output=True, timeout=PATIENCE)
            self.assertEqual(run.stderr, b"", words)
            self.assertRegex(run.stdout.decode(), r"\A(1\t)?1\n0 0 0\n\Z")

    def test_the_report(self):
        run = dedup("--top", 1, "--json", input=b"a\nb\na\n")
        told = json.loads(run.stderr)
        self.assertEqual(
            {key: told[key] for key in (
                "lines_in", "lines_out", "repeats", "distinct", "spool_bytes", "expected_lost")},
            {"lines_in": 3, "lines_out": 1, "repeats": 1, "distinct": 2, "spool_bytes": 0,
             "expected_lost": 0})
        run = dedup("--distinct", "--json", input=b"a\nb\na\n")
        self.assertEqual(run.stdout, b"2\n")
        self.assertEqual(json.loads(run.stderr)["lines_out"], 2)

    def test_expected_losses_are_told(self):
        lines = ended(b"%d" % n for n in range(20_000))
        run = dedup("--distinct", "-p", "10%", "-n", 20_000, input=lines)
        self.assertEqual(run.returncode, 0)
        self.assertRegex(run.stderr.decode(), r"about [0-9.,]+ new lines .* not counted")


class Refused(Tallies):
    def test_what_makes_no_sense(self):
        path = self.write("lines", b"a\n")
        every = (["--distinct"], ["-c"], ["--top", 3], ["-u"], ["--keep", "last"])
        for words in every:
            for flag in (["--state", self.folder / "s"], ["--window", 10], ["-i"],
                         ["-D", self.folder / "d"]):
                self.assert_refused([*words, *flag, path], words[0].replace("-c", "--count")
                                    .replace("-u", "--unique"))
        for words in every[1:]:
            for flag in (["-p", "1%"], ["-n", 10], ["-m", "1G"]):
                self.assert_refused([*words, *flag, path], "exact")
        for words in (["--distinct"], ["-c"], ["--top", 2]):
            self.assert_refused([*words, "--in-place", path], "--in-place")
        other = self.write("other", b"a\n")
        self.assert_refused(["-u", "--in-place", path, other], "several files")
        self.assert_refused(["-c", "-u", path], "--count and --unique")
        self.assert_refused(["--keep", "last", "--distinct", path], "--distinct and --keep last")
        self.assert_refused(["--keep", "middle", path], "first or last")
        self.assert_refused(["--top", "0", path], "--top")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["lines", "other"])


if __name__ == "__main__":
    print(f"seed {SEED}", file=sys.stderr)
    unittest.main()

"""What differential_test.py and differential_sets_test.py share: how a command is run, and models
of its answers that are written without a look at it.

A model is a few lines of Python on the records of nasty_inputs.py, or a tool of the system. What a
command prints with exit code 0 is what the model says, to the byte; what it refuses is exit code 2,
one sentence, and nothing printed that is wrong.
"""
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import register
from nasty_inputs import Record, ended

BINARY = os.environ.get("BLOOMERY") or sys.exit("set BLOOMERY to the path of the command")
SEED = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 20261117
PATIENCE = 240  # seconds after which something hangs, on a machine with much else to do
C_LOCALE = {**os.environ, "LC_ALL": "C"}
EXACT_KINDS = register.nearly_exact()
# What may stand on standard error beside a right answer.
TOLD = re.compile(
    r"bloomery: warning: (\d[\d,]* (record|line)s? with an empty key |"
    r"\d[\d,]* lines? ha(s|ve) no key |"
    r"the input has no lines; the set is planned for 1 key)"
)


def run(*words, **more):
    if "input" not in more:
        more.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(
        [BINARY, *map(str, words)], capture_output=True, timeout=PATIENCE, **more)


def tool(command, stdin, **more):
    """What a tool of the system prints; 1 is the exit code of grep that found nothing."""
    ran = subprocess.run(["bash", "-c", command], input=stdin, capture_output=True,
                         timeout=PATIENCE, env=C_LOCALE, **more)
    if ran.returncode not in (0, 1) or ran.stderr:
        raise AssertionError(f"{command}: exit {ran.returncode}, {ran.stderr.decode()}")
    return ran.stdout


def first_ones(keys):
    return list(dict.fromkeys(keys))


# -- Models -------------------------------------------------------------------------------------


class Alone:
    """The key of a record that is like no other: it has none, or an empty one that is kept."""


def normalised(part, profile):
    if part is None or profile is None:
        return part
    return part.strip() if profile == "trim" else part.strip().lower()


def keyed(records, empty="keep", profile=None):
    """Pairs of raw bytes and key, without the records that --empty drops."""
    pairs = []
    for raw, parts in records:
        if parts is None:
            pairs.append((raw, Alone()))
            continue
        key = tuple(normalised(part, profile) for part in parts)
        if empty != "one" and not any(key):
            if empty == "keep":
                pairs.append((raw, Alone()))
            continue
        pairs.append((raw, key))
    return pairs


def split_repeats(pairs, known=()):
    """What dedup prints, and what its -D has."""
    seen, firsts, repeats = set(known), [], []
    for raw, key in pairs:
        (repeats if key in seen else firsts).append(raw)
        seen.add(key)
    return firsts, repeats


def counts_of(pairs):
    """Key: [count, first raw, last raw], in the order in which keys came first."""
    found = {}
    for raw, key in pairs:
        entry = found.setdefault(key, [0, raw, raw])
        entry[0] += 1
        entry[2] = raw
    return found


def tally(pairs, how):
    counts = counts_of(pairs)
    if how[0] == "--distinct":
        return [b"%d" % len(counts)]
    if how[0] in ("-c", "--top"):
        entries = list(counts.values())
        if how[0] == "--top":
            entries = sorted(entries, key=lambda entry: -entry[0])[: how[1]]
        return [b"%d\t%s" % (count, raw) for count, raw, _ in entries]
    if how[0] == "-u":
        return [raw for raw, key in pairs if counts[key][0] == 1]
    reverse = {}
    for raw, key in reversed(pairs):
        reverse.setdefault(key, raw)
    return list(reversed(reverse.values()))  # --keep last


TALLIES = [("--distinct",), ("-c",), ("--top", 1), ("--top", 3), ("-u",), ("--keep", "last")]
STREAMS = [(), ("--exact",), ("-p", "1e-9"), ("--exact", "--hardened"), ("--window", 1_000_000)]


def whole(lines, crlf="keep"):
    return [Record(line, (line[:-1] if crlf == "strip" and line[-1:] == b"\r" else line,))
            for line in lines]


def fields_as_awk(line):
    return line.strip(b" \t").replace(b"\t", b" ").split(b" ") if line.strip(b" \t") else []


def chosen_fields(line, separator, chosen):
    fields = line.split(separator) if separator else [f for f in fields_as_awk(line) if f]
    if max(chosen) > len(fields):
        return Record(line, None)
    return Record(line, tuple(fields[n - 1] for n in chosen))


class Differential(unittest.TestCase):
    def setUp(self):
        self.chance = random.Random(f"{SEED} {self.id()}")
        place = tempfile.TemporaryDirectory(prefix="bloomery-differential-")
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)
        self.number = itertools.count()

    def write(self, content, name=None):
        path = self.folder / (name or f"file{next(self.number)}")
        path.write_bytes(content)
        return path

    def given(self, content):
        """The content as a file, or by standard input: words and what run() is given."""
        if self.chance.random() < 0.5:
            return [self.write(content)], {}
        return [], {"input": content}

    def right(self, *words, exits=0, told=TOLD, **more):
        """What is printed by a command that must end so, with no word that is not expected."""
        ran = run(*words, **more)
        shown = (words, ran.returncode, ran.stderr[:500])
        self.assertEqual(ran.returncode, exits, shown)
        for sentence in ran.stderr.decode().splitlines():
            self.assertRegex(sentence, told, shown)
        return ran.stdout

    def same(self, found, expected, *more):
        """As assertEqual, without a megabyte of message."""
        if found != expected:
            at = next((i for i, (x, y) in enumerate(zip(found, expected)) if x != y),
                      min(len(found), len(expected)))
            around = slice(max(0, at - 40), at + 60)
            self.fail(f"seed {SEED}: {len(found)} bytes for {len(expected)}, from {at} on "
                      f"{found[around]!r} for {expected[around]!r}; {more!r:.600}")

    def refused(self, *words, exits=2, so_far=b"", **more):
        """An error is one sentence; nothing was printed, or the right beginning of an answer."""
        ran = run(*words, **more)
        self.assertEqual(ran.returncode, exits, (words, ran.stdout[:200], ran.stderr))
        errors = [s for s in ran.stderr.decode().splitlines() if not TOLD.match(s)]
        self.assertEqual(len(errors), 1, (words, ran.stderr))
        self.assertRegex(errors[0], r"\Abloomery: error: .{10,}", words)
        self.assertTrue(so_far.startswith(ran.stdout), (words, ran.stdout[:200], so_far[:200]))
        return errors[0]

    def threads(self):
        return ["-T", self.chance.choice([1, 4])]

    def dedups(self, pairs, key_words, content, head=b"", delimiter=b"\n", ways=None):
        """Answers of dedup by the given ways, or by all of them."""
        firsts, repeats = split_repeats(pairs)
        for how in ways or [*STREAMS, ("-i",), ("-D",), *TALLIES]:
            expected = firsts
            if how in TALLIES:
                expected = tally(pairs, how)
            elif how == ("-i",):
                expected = repeats
            words = list(how)
            if how == ("-D",):
                words = ["-D", self.folder / f"dups{next(self.number)}"]
            files, more = self.given(content)
            words = ["dedup", *words, *key_words, *self.threads(), *files]
            out = self.right(*words, **more)
            before = b"" if how[:1] == ("--distinct",) else head
            end = b"\n" if how[:1] == ("--distinct",) else delimiter
            self.same(out, before + ended(expected, end), words, content[:300])
            if how == ("-D",):
                self.same(words[2].read_bytes(), head + ended(repeats, delimiter), words)

#!/usr/bin/env python3
"""build, check, add, remove, count, merge, fold, info, verify, plan and ints beside Python's sets,
grep, sort and uniq on nasty inputs, and what every verb refuses. The seed is printed.

    BLOOMERY=path/to/bloomery differential_sets_test.py [SEED]
"""
import collections
import gzip
import json
import math
import re
import unittest

import nasty_inputs
import register
from differential import (EXACT_KINDS, SEED, Differential, keyed, first_ones, normalised, run,
                          split_repeats, tool)
from nasty_inputs import MARK, PIECES, Record, ended, lines_of

# -- Sets ---------------------------------------------------------------------------------------

def stripped(line):
    """The key of a line in a set file: one carriage return at its end is not part of it."""
    return line[:-1] if line.endswith(b"\r") else line


class Sets(Differential):
    def build(self, content, *words, **more):
        made = self.folder / f"set{next(self.number)}"
        report = self.right("build", "--json", "-o", made, *words, input=content, **more)
        return made, json.loads(report)

    def two_lists(self, pieces=PIECES):
        """Lines for a set and lines to ask; some are in both. Neither is empty."""
        extra = [b"%d" % n for n in range(50)]
        return [[b"begin", *nasty_inputs.drawn(self.chance, pieces + extra)] for _ in range(2)]

    def asked(self, found, words, expected, delimiter=b"\n", **more):
        """The lines, their number and the exit code, with -c and -q."""
        exits = 0 if expected else 1
        self.same(self.right("check", *words, exits=exits, **more), ended(expected, delimiter),
                  words, found)
        self.same(self.right("check", "-c", *words, exits=exits, **more), b"%d\n" % len(expected),
                  words)
        self.same(self.right("check", "-q", *words, exits=exits, **more), b"", words)

    def test_exact_kinds(self):
        for turn in range(12):
            kind = EXACT_KINDS[turn % len(EXACT_KINDS)]
            zero = turn % 3 == 2
            flags, delimiter = (["-0"], b"\0") if zero else ([], b"\n")
            members, asked = self.two_lists(PIECES + ([b"a\nb", b"\n"] if zero else [b"a\0b"]))
            keys = {stripped(line) for line in members}
            made, report = self.build(ended(members, delimiter), "--kind", kind, *flags)
            with self.subTest(kind=kind, turn=turn):
                self.assertEqual((report["keys"], report["lines_in"]), (len(keys), len(members)))
                hits = [line for line in asked if stripped(line) in keys]
                misses = [line for line in asked if stripped(line) not in keys]
                content = ended(asked, delimiter)
                self.asked(keys, [*flags, made], hits, delimiter, input=content)
                self.asked(keys, ["-v", *flags, made], misses, delimiter, input=content)
                pack = self.chance.choice(list(nasty_inputs.PACKERS.values()))
                packed = self.write(pack(content))
                self.same(self.right("check", *flags, made, packed), ended(hits, delimiter))
                info = json.loads(self.right("info", "--json", made))
                self.assertEqual(info["keys"], len(keys))
                self.assertEqual(info["kind"], kind)
                self.assertIn(b"ok", self.right("verify", made))

    def test_a_list_is_asked_like_grep(self):
        for turn in range(8):
            members, asked = self.two_lists()
            keep = lambda lines: [line for line in lines if not line.endswith(b"\r")]
            members, asked = keep(members), keep(asked)
            pack = self.chance.choice([bytes, gzip.compress])
            made = self.write(pack(ended(members)))
            patterns = self.write(ended(members))
            hits = tool(f"grep -a -Fx -f {patterns}", ended(asked))
            misses = tool(f"grep -a -Fxv -f {patterns}", ended(asked))
            with self.subTest(turn):
                self.asked(turn, [made], lines_of(b"\n" + hits)[1:], input=ended(asked))
                self.asked(turn, ["-v", made], lines_of(b"\n" + misses)[1:], input=ended(asked))

    def test_texts_of_every_encoding(self):
        texts = {name: content for name, content in nasty_inputs.texts(self.chance).items()
                 if len(content) < 300_000}
        probe = [b"a", b"", b"begin", b"\xc3\xa9", b"0"]
        for name, content in texts.items():
            lines = lines_of(content)
            keys = {stripped(line) for line in lines}
            with self.subTest(name):
                kind = self.chance.choice(EXACT_KINDS)
                made, report = self.build(content, "--kind", kind)
                self.assertEqual((report["keys"], report["lines_in"]), (len(keys), len(lines)))
                self.same(self.right("check", "-v", made, exits=1, input=content), b"")
                hits = [line for line in probe if line in keys]
                exits = 0 if hits else 1
                self.same(self.right("check", made, exits=exits, input=ended(probe)), ended(hits))
                asked, _ = self.build(ended(probe), "--kind", kind)
                hits = [line for line in lines if stripped(line) in probe]
                exits = 0 if hits else 1
                self.same(self.right("check", asked, exits=exits, input=content), ended(hits))

    def test_lossy_kinds_forget_no_member(self):
        for kind in register.lossy():
            members, asked = self.two_lists()
            keys = {stripped(line) for line in members}
            rate = self.chance.choice(["30%", "1%", "1e-6"])
            made, _ = self.build(ended(members), "--kind", kind, "-p", rate)
            content = ended(members + asked)
            told = re.compile(r"bloomery: warning: .* false")
            with self.subTest(kind=kind, rate=rate):
                ran = run("check", made, input=content)
                out = run("check", "-v", made, input=content)
                hits, misses = lines_of(ran.stdout), lines_of(b"\n" + out.stdout)[1:]
                both = collections.Counter(hits) + collections.Counter(misses)
                self.assertEqual(both, collections.Counter(members + asked))
                self.assertFalse([line for line in misses if stripped(line) in keys])
                if rate == "1e-6":
                    self.assertFalse([line for line in hits if stripped(line) not in keys])
                # Confirmed by the list, the answer is exact.
                listed = self.write(ended(members))
                hits = [line for line in members + asked if stripped(line) in keys]
                verified = self.right("check", "--verify", listed, made, told=told, input=content)
                self.same(verified, ended(hits), kind)
                misses = [line for line in asked if stripped(line) not in keys]
                words = ["check", "-v", "--verify", listed, made, self.write(content)]
                verified = self.right(*words, told=told, exits=0 if misses else 1)
                self.same(verified, ended(misses), kind)

    def test_several_sets(self):
        for turn in range(5):
            lists = [self.two_lists()[0] for _ in range(3)]
            asked = self.two_lists()[1]
            sets = [self.build(ended(lists[0]), "--kind", EXACT_KINDS[0])[0],
                    self.build(ended(lists[1]), "--kind", EXACT_KINDS[-1], "--hardened")[0],
                    self.write(ended(lists[2]))]
            keys = [{stripped(line) for line in one} for one in lists]
            words = [word for one in sets for word in ("-s", one)]
            hits = [line for line in asked if any(stripped(line) in one for one in keys)]
            misses = [line for line in asked if not any(stripped(line) in one for one in keys)]
            which = [bytes(path) + b"\t" + line for line in asked
                     for path, one in zip(sets, keys) if stripped(line) in one]
            numbers = [sum(stripped(line) in one for line in asked) for one in keys]
            with self.subTest(turn):
                self.asked(turn, words, hits, input=ended(asked))
                self.asked(turn, ["-v", *words], misses, input=ended(asked))
                out = self.right("check", "--which", *words, exits=0 if which else 1,
                                 input=ended(asked))
                self.same(out, ended(which))
                out = self.right("check", "--which", "-c", *words, exits=0 if which else 1,
                                 input=ended(asked))
                self.same(out, ended(b"%s\t%d" % pair for pair in zip(map(bytes, sets), numbers)))

    def test_add(self):
        for kind in EXACT_KINDS + ["blocked", "scalable", "chain", "cuckoo"]:
            first, second = self.two_lists()
            rate = [] if kind in EXACT_KINDS else ["-p", "1e-6"]
            made, _ = self.build(ended(first), "--kind", kind, "-n", 1000, *rate)
            report = json.loads(self.right("add", "--json", made, input=ended(second)))
            before, after = ({stripped(line) for line in lines} for lines in (first, second))
            with self.subTest(kind):
                if kind in EXACT_KINDS:
                    self.assertEqual(report["fresh"], len(after - before))
                    self.assertEqual(report["keys"], len(after | before))
                self.assertEqual(report["lines_in"], len(second))
                asked = first + second + [b"never added"]
                self.same(self.right("check", "-v", made, input=ended(asked)), b"never added\n")

    def test_remove(self):
        """As a bag of copies: a line is there until as many are taken out as were put in."""
        for kind in ("counting", "cuckoo", "spectral"):
            pool = [b"%d" % n for n in range(30)] + [b"", b" ", b"a", b"a ", b"\xff"]
            added = self.chance.choices(pool, k=60)
            many = [line for line, n in collections.Counter(added).items() if n > 7]
            added = [line for line in added if line not in many]
            taken = self.chance.choices(pool, k=40)
            copies = {"counting": [], "cuckoo": ["--multiset"], "spectral": ["--removable"]}[kind]
            made, _ = self.build(ended(added), "--kind", kind, "-p", "1e-6", "-n", 2000, *copies)
            bag, removed, absent = collections.Counter(added), 0, 0
            for line in taken:
                removed, absent = removed + (bag[line] > 0), absent + (bag[line] == 0)
                bag[line] -= bag[line] > 0
            with self.subTest(kind):
                told = f"bloomery: warning: {absent} of {len(taken)} lines were not in "
                words = ["remove", "--json", made]
                report = json.loads(self.right(*words, told=told, input=ended(taken)))
                numbers = [report[name] for name in ("lines_in", "removed", "absent")]
                self.assertEqual(numbers, [len(taken), removed, absent])
                hits = [line for line in pool if bag[line] > 0]
                self.same(self.right("check", made, input=ended(pool)), ended(hits), kind)

    def test_one_key_for_repeats_of_a_cuckoo_list(self):
        made, report = self.build(b"a\n" * 20 + b"b\na\n", "--kind", "cuckoo", "-p", "1e-6")
        self.assertEqual(report["lines_in"], 22)
        self.right("remove", "-q", made, input=b"a\n")
        self.same(self.right("check", made, input=b"a\nb\nc\n"), b"b\n")
        self.refused("build", "--multiset", "--kind", "cuckoo", "-o", self.folder / "full",
                     input=b"a\n" * 20)
        self.assertFalse((self.folder / "full").exists())

    def test_count(self):
        for kind, most in (("spectral", 65535), ("counting", 15)):
            for rate in ("1e-9", "20%"):
                added, asked = self.two_lists()
                made, _ = self.build(ended(added), "--kind", kind, "-p", rate)
                counts = collections.Counter(map(stripped, added))
                ran = run("count", made, input=ended(added + asked))
                lines = lines_of(ran.stdout)
                self.assertEqual((ran.returncode, len(lines)), (0, len(added + asked)))
                for line, told in zip(added + asked, lines):
                    number, shown = told.split(b"\t", 1)
                    self.assertEqual(shown, line)
                    true = min(counts[stripped(line)], most)
                    self.assertGreaterEqual(int(number), true, (SEED, kind, rate, line))
                    if rate == "1e-9":
                        self.assertEqual(int(number), true, (SEED, kind, rate, line))

    def test_count_of_json_values(self):
        for turn in range(6):
            added, asked = (nasty_inputs.json_lines(self.chance, 50) for _ in range(2))
            empty = self.chance.choice([None, "keep", "drop", "one"])
            profile = self.chance.choice([None, "trim", "case"])
            words = ["--json-key", ".a", *(["--empty", empty] if empty else [])]
            spell = ["--normalize", profile] if profile else []
            made, _ = self.build(ended(added), "--kind", "spectral", *words, *spell)
            key_of = lambda line: normalised(nasty_inputs.json_key(line, ["a"]), profile)
            keys = [key_of(line) for line in added if key_of(line) or empty == "one"]
            counts = collections.Counter(keys)
            kept = [line for line in asked if key_of(line) or empty != "drop"]
            told = [b"%d\t%s" % (counts[key_of(line)], line) for line in kept]
            exits = 0 if any(counts[key_of(line)] for line in kept) else 1
            out = self.right("count", *words, made, exits=exits, input=ended(asked))
            self.same(out, ended(told), words, profile)

    def test_hits_are_confirmed_in_tables(self):
        for turn in range(6):
            one, two = (nasty_inputs.csv_table(self.chance) for _ in range(2))
            n = self.chance.randrange(1, 4)
            words = ["--csv", "--column", one.names[n], "--empty", "one"]
            made, _ = self.build(one.content, "-p", "40%", *words)
            keys = {cells[n] for _, cells in one.records}
            listed = self.write(self.chance.choice([bytes, gzip.compress])(one.content))
            for flags, wanted in (([], True), (["-v"], False)):
                lines = [raw for raw, cells in two.records if (cells[n] in keys) == wanted]
                out = self.right("check", *flags, "--verify", listed, *words, made,
                                 exits=0 if lines else 1, input=two.content)
                self.same(out, two.head + b"\n" + ended(lines), turn, words)

    def test_cascades_pass_what_is_allowed(self):
        for turn in range(3):
            blocked, allowed = self.two_lists()
            keys = {stripped(line) for line in blocked}
            allowed = [line for line in allowed if stripped(line) not in keys]
            path = self.write(ended(allowed))
            made, _ = self.build(ended(blocked), "--allow", path, "-p", "20%")
            hits = run("check", made, input=ended(blocked + allowed))
            self.assertEqual((hits.returncode, hits.stdout), (0, ended(blocked)), turn)
            allow = self.write(ended([*allowed, blocked[-1]]))
            self.refused("build", "-o", self.folder / "x", "--allow", allow, input=ended(blocked))

    def test_merge(self):
        for kind in EXACT_KINDS + ["bitmap"]:
            one, two = self.two_lists()
            if kind == "bitmap":
                one, two = ([b"%d" % self.chance.randrange(200) for _ in range(90)]
                            for _ in range(2))
            flags = ["--range", "0..1000"] if kind == "bitmap" else ["-n", 1000]
            a, b = (self.build(ended(lines), "--kind", kind, *flags)[0] for lines in (one, two))
            left, right = ({stripped(line) for line in lines} for lines in (one, two))
            asked = first_ones(one + two + [b"999"])
            verbs = {"union": left | right, "intersect": left & right, "difference": left - right}
            if kind == "bitmap":
                verbs["exclusive"] = left ^ right
            for verb, keys in verbs.items():
                made = self.folder / f"{kind}.{verb}"
                with self.subTest(kind=kind, verb=verb):
                    report = json.loads(self.right("merge", verb, "--json", "-o", made, a, b))
                    self.assertEqual(report["keys"], len(keys))
                    hits = [line for line in asked if stripped(line) in keys]
                    out = self.right("check", made, exits=0 if hits else 1, input=ended(asked))
                    self.same(out, ended(hits), kind, verb)
                    self.assertIn(b"ok", self.right("verify", made))

    def test_merge_of_kinds_that_err_forgets_no_member(self):
        for kind in ("blocked", "classic", "split-block", "scalable", "chain", "sharded",
                     "counting"):
            one, two = self.two_lists()
            a, _ = self.build(ended(one), "--kind", kind, "-n", 600, "-p", "1e-6")
            b, _ = self.build(ended(two), "--like", a)
            left, right = ({stripped(line) for line in lines} for lines in (one, two))
            verbs = {"union": left | right, "intersect": left & right}
            for verb, keys in verbs.items():
                made = self.folder / f"{kind}.{verb}"
                with self.subTest(kind=kind, verb=verb):
                    if (kind, verb) == ("chain", "intersect"):
                        self.refused("merge", verb, "-q", "-o", made, a, b)
                        continue
                    self.right("merge", verb, "-q", "-o", made, a, b)
                    members = [line for line in one + two if stripped(line) in keys]
                    out = self.right("check", made, input=ended(members))
                    self.same(out, ended(members), kind, verb)
                    self.right("check", "-q", made, exits=1, input=b"never added\n")

    def test_fold(self):
        for kind in ("blocked", "split-block"):
            members, asked = self.two_lists()
            made, _ = self.build(ended(members), "--kind", kind, "-n", 100_000, "-p", "1e-6")
            small = self.folder / f"{kind}.small"
            report = json.loads(self.right("fold", "--json", "-o", small, made))
            self.assertGreater(report["bytes_before"], report["bytes"])
            keys = {stripped(line) for line in members}
            content = ended(members + asked)
            misses = [line for line in asked if stripped(line) not in keys]
            out = self.right("check", "-v", small, exits=0 if misses else 1, input=content)
            self.same(out, ended(misses), kind)

    def test_keys_of_parts(self):
        """A set of one file's keys, asked with another's."""
        for turn in range(10):
            one, two = (nasty_inputs.csv_table(self.chance) for _ in range(2))
            n, profile = self.chance.randrange(1, 4), self.chance.choice([None, "trim", "case"])
            empty = self.chance.choice([None, "keep", "drop", "one"])
            words = ["--csv", "--column", one.names[n], *(["--empty", empty] if empty else [])]
            spell = ["--normalize", profile] if profile else []
            key_of = lambda cells: normalised(cells[n], profile)
            counts = lambda key: key or empty == "one"
            keys = {key_of(cells) for _, cells in one.records if counts(key_of(cells))}
            kind = self.chance.choice(EXACT_KINDS)
            made, report = self.build(one.content, "--kind", kind, *words, *spell)
            kept = [r for r in two.records if key_of(r.parts) or empty != "drop"]
            hits = [r.raw for r in kept if key_of(r.parts) in keys]
            misses = [r.raw for r in kept if key_of(r.parts) not in keys]
            with self.subTest(turn=turn, words=words):
                self.assertEqual((report["keys"], report["lines_in"]),
                                 (len(keys), len(one.records)))
                for flags, lines in (([], hits), (["-v"], misses)):
                    exits = 0 if lines else 1
                    out = self.right("check", *flags, *words, made, exits=exits, input=two.content)
                    self.same(out, two.head + b"\n" + ended(lines), turn, words)
                pairs = keyed([Record(r.raw, (r.parts[n],)) for r in two.records], empty or "keep",
                              profile)
                firsts, _ = split_repeats(pairs, {(key,) for key in keys})
                words += [*spell, "--against", made]
                out = self.right("dedup", *words, input=two.content)
                self.same(out, two.head + b"\n" + ended(firsts), turn, words)

    def test_json_keys(self):
        for turn in range(10):
            one, two = (nasty_inputs.json_lines(self.chance, 60) for _ in range(2))
            bad = self.chance.choices(nasty_inputs.NO_JSON, k=2)
            names = self.chance.choices(list(nasty_inputs.JSON_PATHS), k=self.chance.choice([1, 2]))
            paths = [nasty_inputs.JSON_PATHS[name] for name in names]
            key_of = lambda line: tuple(nasty_inputs.json_key(line, path) for path in paths)
            keys = {key_of(line) for line in one if any(key_of(line))}
            words = ["--skip-bad", *[f"--json-key={name}" for name in names]]
            made, report = self.build(ended(bad + one), "--kind",
                                      EXACT_KINDS[turn % len(EXACT_KINDS)], *words)
            with self.subTest(turn=turn, words=words):
                told = [report[name] for name in ("keys", "lines_in", "bad_in")]
                self.assertEqual(told, [len(keys), len(one) + 2, 2])
                content = ended(two + bad)
                hits = [line for line in two if key_of(line) in keys]
                out = self.right("check", *words, made, exits=0 if hits else 1, input=content)
                self.same(out, ended(hits), turn)
                misses = [line for line in two if key_of(line) not in keys] + bad
                self.same(self.right("check", "-v", *words, made, input=content), ended(misses),
                          turn)
                self.refused("check", words[-1], made, input=ended(bad))


# -- Integers and plans -------------------------------------------------------------------------


class Integers(Differential):
    def test_verbs_beside_sort_and_uniq(self):
        for turn in range(14):
            most = self.chance.choice([10, 300, 10**6, 2**32 - 1, 2**64 - 1])
            low = self.chance.choice([0, most // 2])
            draw = lambda: self.chance.choice([low, most, self.chance.randint(low, most)])
            numbers = [draw() for _ in range(self.chance.choice([0, 1, 3, 500]))]
            spelled = [self.chance.choice([b"%d", b"%d", b"%d", b"00%d", b" %d", b"%d\r",
                                           b"%d\t"]) % n
                       for n in numbers]
            content = nasty_inputs.joined(self.chance,
                                          spelled) + b"\n" * self.chance.choice([0, 0, 2])
            if self.chance.random() < 0.3:
                content = self.chance.choice([
                    MARK + content, gzip.compress(content), content.decode().encode("utf-16")])
            plain = ended([b"%d" % n for n in numbers])
            expected = {"sort": tool("sort -n -u", plain), "count": tool("sort -u | wc -l", plain),
                        "once": tool("sort -n | uniq -u", plain),
                        "dups": tool("sort -n | uniq -d", plain)}
            if numbers and max(numbers) - min(numbers) < 2 * 10**6:
                seen = set(numbers)
                expected["missing"] = ended(
                    b"%d" % n for n in range(min(numbers), max(numbers) + 1) if n not in seen)
            for verb, output in expected.items():
                files, more = self.given(content)
                flags = self.chance.choice([[], ["--map", "sparse"]])
                with self.subTest(turn=turn, verb=verb, most=most):
                    self.same(self.right("ints", verb, *flags, *files, **more), output, verb,
                              content[:200])

    def test_ranges_and_little_memory(self):
        for turn in range(4):
            numbers = [self.chance.randrange(1_000_000) for _ in range(2000)]
            low, high = self.chance.randrange(1000), self.chance.randrange(500_000, 1_000_000)
            counts = collections.Counter(n for n in numbers if low <= n <= high)
            answers = {"sort": sorted(counts), "count": [len(counts)],
                       "once": sorted(n for n in counts if counts[n] == 1),
                       "dups": sorted(n for n in counts if counts[n] > 1),
                       "missing": [n for n in range(low, low + 400) if n not in counts]}
            zero = self.chance.random() < 0.3
            delimiter, flags = (b"\0", ["-0"]) if zero else (b"\n", [])
            path = self.write(ended([b"%d" % n for n in numbers], delimiter))
            told = re.compile("bloomery: warning: .*(no number|outside|not)")
            for verb, answer in answers.items():
                last = low + 399 if verb == "missing" else high
                memory = self.chance.choice([[], ["-m", "64K"], ["--map", "dense"],
                                             ["--map", "sparse"]])
                words = ["ints", verb, "--skip-bad", "--range", f"{low}..{last}", *memory, *flags,
                         path]
                end = b"\n" if verb == "count" else delimiter
                out = self.right(*words, told=told)
                self.same(out, ended([b"%d" % n for n in answer], end), words)

    def test_what_is_no_number(self):
        for bad in (b"x", b"-1", b"+1", b"1.0", b"1e3", b"0x10", b"18446744073709551616", b"1 2",
                    b"\xff", b"1\0", b"",
                    b"\xc2\xa01", b"1,000"):
            content = b"5\n" + bad + b"\n7\n5\n"
            with self.subTest(bad):
                for verb in ("sort", "count", "once", "dups", "missing"):
                    files, more = self.given(content)
                    sentence = self.refused("ints", verb, *files, **more)
                    self.assertIn("line 2", sentence)
                ran = run("ints", "sort", "--skip-bad", input=content)
                self.assertEqual((ran.returncode, ran.stdout), (0, b"5\n7\n"))

    def test_binary_and_addresses(self):
        for size, name in ((4, "u32le"), (8, "u64le")):
            numbers = [self.chance.randrange(256 ** size) for _ in range(200)] * 2
            numbers += [0, 256 ** size - 1]
            content = b"".join(n.to_bytes(size, "little") for n in numbers)
            ordered = b"".join(n.to_bytes(size, "little") for n in sorted(set(numbers)))
            out = self.right("ints", "sort", "--format", name, input=content)
            self.assertIn(out, (ordered, ended(b"%d" % n for n in sorted(set(numbers)))), name)
            self.refused("ints", "sort", "--format", name, input=content + b"x")
        numbers = [self.chance.randrange(2**32) for _ in range(100)] * 2 + [0, 2**32 - 1]
        dotted = lambda n: b".".join(b"%d" % byte for byte in n.to_bytes(4, "big"))
        out = self.right("ints", "dups", "--format", "ipv4", input=ended(map(dotted, numbers)))
        repeated = sorted(n for n, c in collections.Counter(numbers).items() if c > 1)
        self.same(out, ended(map(dotted, repeated)))
        for bad in (b"256.1.1.1", b"1.1.1", b"1.1.1.1.1", b"1.1.1.-1", b"a.b.c.d", b"1.1.1.1/8",
                    b"1..1.1"):
            self.refused("ints", "sort", "--format", "ipv4", input=b"1.1.1.1\n" + bad + b"\n")

    def test_maps_are_asked_by_value(self):
        """In a set of integers 7, 007 and " 7" are one key; beside Python's sets."""
        for kind in ("bitmap", "two-bit"):
            numbers = [self.chance.randrange(100) for _ in range(60)]
            made = self.folder / kind
            self.right("build", "-q", "--kind", kind, "--range", "0..999", "-o", made,
                       input=ended(b"%d" % n for n in numbers))
            asked = [b"%d" % n for n in range(110)] + [b"007", b"0", b"99999999999"]
            hits = [line for line in asked if int(line) in numbers]
            self.same(self.right("check", made, input=ended(asked)), ended(hits))
            self.refused("check", made, so_far=ended(hits), input=ended(asked + [b"x"]))
            if kind == "two-bit":
                counts = collections.Counter(numbers)
                told = [b"%d\t%s" % (min(counts[int(line)], 2), line) for line in asked]
                ran = run("count", made, input=ended(asked))
                self.assertEqual((ran.returncode, ran.stdout), (0, ended(told)))


class Plans(Differential):
    def test_two_give_the_third(self):
        for keys in (1, 1000, 10**6, 10**9):
            for rate in (0.5, 0.01, 1e-6, 1e-12):
                plan = json.loads(self.right("plan", "--json", "-n", keys, "-p", rate))
                self.assertEqual((plan["keys"], plan["rate"]), (keys, rate))
                kinds = {kind["kind"]: kind for kind in plan["kinds"]}
                self.assertIn(plan["chosen"], kinds)
                for name, kind in kinds.items():
                    self.assertLessEqual(kind["rate"], rate, (name, keys))
                    self.assertGreater(kind["bytes"], 0)
                classic = kinds.get("classic")
                if classic and keys >= 10**6:
                    law = math.log(1 / rate) / math.log(2) ** 2
                    self.assertAlmostEqual(classic["bits_per_key"] / law, 1, delta=0.05, msg=rate)

    def test_a_built_set_is_as_large_as_planned(self):
        plan = json.loads(self.right("plan", "--json", "-n", 5000, "-p", "1%"))
        for kind in plan["kinds"]:
            if kind["kind"] in ("blocked", "classic", "split-block", "sharded", "counting",
                                "cuckoo"):
                made = self.folder / kind["kind"]
                words = ["build", "--json", "--kind", kind["kind"], "-n", 5000, "-p", "1%", "-o",
                         made]
                report = json.loads(self.right(*words, input=ended(b"%d" % n for n in range(5000))))
                self.assertEqual(report["bytes"], kind["bytes"], kind["kind"])


class Refusals(Differential):
    """What cannot be answered rightly is an error; nothing is written over."""

    def test_every_verb(self):
        lines = self.write(b"a\nb\n")
        made = self.folder / "set"
        self.right("build", "-q", "-o", made, lines)
        before = made.read_bytes()
        archive = self.write(gzip.compress(b"a\n" * 9)[:-5])
        half = self.write(b"\xff\xfea\0\n")
        wide = self.write("a\nb\nc\nd\n".encode("utf-16-le"))
        table = self.write(b'a,b\n1,"open\n2,3\n')
        missing = self.folder / "no such file"
        damaged = self.write(before[:-1] + bytes([before[-1] ^ 1]))
        cut = self.write(before[: len(before) // 2])
        for content in (archive, half, wide, missing, self.folder):
            for words in (["dedup"], ["dedup", "-c"], ["dedup", "--distinct"],
                          ["dedup", "--against"],
                          ["build", "-f", "-o", made], ["add", made], ["remove", made],
                          ["check", made], ["check"],
                          ["ints", "sort"], ["count", made], ["dedup", "--in-place"]):
                words = [*words, content] + ([lines]
                                             if words in (["check"], ["dedup", "--against"])
                                             else [])
                with self.subTest(words=words):
                    self.refused(*words, so_far=b"a\n" * 9)
                    self.assertEqual(made.read_bytes(), before)
        for verb in (["check"], ["count"], ["info"], ["verify"], ["add"], ["fold", "-o", missing],
                     ["merge", "union", "-o", missing, made], ["dedup", "--against"],
                     ["dedup", "--state"]):
            for broken in (damaged, cut):
                content = broken.read_bytes()
                with self.subTest(verb=verb, broken=broken):
                    self.refused(*verb, broken, input=b"a\n")
                    self.assertEqual(broken.read_bytes(), content)
                    self.assertFalse(missing.exists())
        for words in (["--csv", "--column", "b"], ["-c", "--csv", "--column", "b"],
                      ["--csv", "--column", "z"]):
            self.refused("dedup", *words, table, so_far=b"a,b\n")
        for words in (["-p", "0"], ["-p", "1"], ["-n", "-5"], ["-k", "0"], ["-k", "x"],
                      ["--window", "0"],
                      ["--json-key", "a"], ["--json-key", ""], ["--column", "a"], ["-d", ""],
                      ["-d", "\\q"],
                      ["--top", "0"], ["--top", "-1"], ["--keep", "both"], ["--empty", "all"],
                      ["--exact", "-p", "1%"],
                      ["-c", "-i"], ["-u", "--state", missing], ["--in-place"], ["-0", "-d", "x"],
                      ["--normalize", "no"]):
            with self.subTest(words=words):
                self.refused("dedup", *words, input=b"a\na\n")
                self.assertFalse(missing.exists())


if __name__ == "__main__":
    print(f"seed {SEED}", flush=True)
    unittest.main()

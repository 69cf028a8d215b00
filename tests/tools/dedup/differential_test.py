#!/usr/bin/env python3
"""dedup beside awk, sort, uniq, grep and Python's csv and json on nasty inputs: every way to ask,
with combinations of flags that are drawn by chance. The seed is printed.

    BLOOMERY=path/to/bloomery differential_test.py [SEED]
"""
import csv
import gzip
import io
import unittest

import nasty_inputs
from differential import (EXACT_KINDS, SEED, STREAMS, TALLIES, Differential, chosen_fields,
                          fields_as_awk, first_ones, keyed, split_repeats, tally, tool, whole)
from nasty_inputs import MARK, PIECES, Record, ended, lines_of

class DedupLines(Differential):
    def test_whole_lines_every_way(self):
        for name, content in nasty_inputs.texts(self.chance).items():
            with self.subTest(name):
                ways = None
                if len(content) > 100_000:
                    ways = [(), ("-i",), self.chance.choice(TALLIES)]
                self.dedups(keyed(whole(lines_of(content)), "one"), [], content, ways=ways)

    def test_the_model_is_that_of_the_tools(self):
        """What Python says of lines above is what awk, sort and uniq say."""
        for turn in range(6):
            lines = nasty_inputs.drawn(self.chance, PIECES + nasty_inputs.ZEROS)
            pairs, content = keyed(whole(lines), "one"), ended(lines)
            of = lambda command: lines_of(b"\n" + tool(command, content))[1:]
            with self.subTest(turn):
                self.assertEqual(split_repeats(pairs)[0], of("gawk -b '!seen[$0]++'"))
                self.assertEqual(split_repeats(pairs)[1], of("gawk -b 'seen[$0]++'"))
                self.assertEqual(sorted(tally(pairs, ("-u",))), of("sort | uniq -u"))
                self.assertEqual(tally(pairs, ("--distinct",)), of("sort -u | wc -l"))
                counts = of("sort | uniq -c | sed 's/^ *\\([0-9]*\\) /\\1\\t/'")
                self.assertEqual(sorted(tally(pairs, ("-c",))), sorted(counts))
                last = of("tac | gawk -b '!seen[$0]++' | tac")
                self.assertEqual(tally(pairs, ("--keep", "last")), last)
                asked = [line.strip(b" \t") for line in lines]
                awk = [[field for field in fields_as_awk(line) if field] for line in asked]
                fields = [b"%d|%s" % (len(f), f[-1] if f else b"") for f in awk]
                program = "gawk -b -F '[ \\t]+' '{ sub(/^[ \\t]+/, \"\"); sub(/[ \\t]+$/, \"\");"
                program += " print NF \"|\" (NF ? $NF : \"\") }'"
                self.assertEqual(fields, of(program))

    def test_other_delimiters(self):
        for flags, delimiter in ((["-0"], b"\0"), (["-d", ";"], b";"), (["-d", "\\r\\n"], b"\r\n"),
                                 (["-d", "aa"], b"aa"), (["-d", "\\x00a"], b"\0a"),
                                 (["-d", "\\\\"], b"\\"), (["-d", "\\t"], b"\t")):
            for turn in range(3):
                pieces = [p for p in PIECES + nasty_inputs.ZEROS + [b"\n", b"a\n"]
                          if delimiter not in p]
                lines = [b"begin", *nasty_inputs.drawn(self.chance, pieces)]
                content = nasty_inputs.joined(self.chance, lines, delimiter)
                # Pieces beside a delimiter of several bytes may make another one.
                pairs = keyed(whole(lines_of(content, delimiter)), "one")
                with self.subTest(flags=flags, turn=turn):
                    ways = [(), *self.chance.sample([("-i",), ("-D",), *STREAMS, *TALLIES], k=2)]
                    self.dedups(pairs, flags, content, delimiter=delimiter, ways=ways)

    def test_spellings_and_empty_lines(self):
        for turn in range(20):
            lines = [b"begin", *nasty_inputs.drawn(self.chance, PIECES)]
            content = nasty_inputs.joined(self.chance, lines)
            crlf = self.chance.choice(["keep", "strip"])
            profile = self.chance.choice([None, "trim", "case"])
            empty = self.chance.choice([None, "keep", "drop", "one"])
            words = ["--crlf", crlf]
            words += ["--normalize", profile] if profile else []
            words += ["--empty", empty] if empty else []
            pairs = keyed(whole(lines_of(content), crlf), empty or "one", profile)
            ways = self.chance.sample([*STREAMS, ("-i",), ("-D",), *TALLIES], k=3)
            with self.subTest(turn=turn, words=words):
                self.dedups(pairs, words, content, ways=ways)

    def test_compressed_and_several_files(self):
        packers = nasty_inputs.PACKERS
        contents = nasty_inputs.texts(self.chance)
        short = [content for content in contents.values() if len(content) < 1_000_000]
        for turn in range(8):
            parts = self.chance.choices(short, k=3)
            how = self.chance.choices([*packers.values(), bytes], k=len(parts))
            files = [self.write(pack(part)) for pack, part in zip(how, parts)]
            lines = [line for part in parts for line in lines_of(part)]
            firsts, repeats = split_repeats(keyed(whole(lines), "one"))
            with self.subTest(turn):
                self.same(self.right("dedup", *self.threads(), "--", *files), ended(firsts))
                last = files[-1].read_bytes()
                self.same(self.right("dedup", "-i", *files[:-1], "-", input=last), ended(repeats))
        for name, pack in packers.items():
            content = contents["pieces 0"]
            packed = pack(content)
            firsts = ended(first_ones(lines_of(content)))
            self.same(self.right("dedup", input=packed), firsts, name)
            cut = packed[: len(packed) * 2 // 3]
            self.refused("dedup", so_far=firsts, input=cut)
            self.refused("dedup", "-c", input=cut)

    def test_against_lists_and_sets(self):
        for turn in range(12):
            zero = self.chance.random() < 0.2
            delimiter, flags = (b"\0", ["-0"]) if zero else (b"\n", [])
            lines = [b"begin", *nasty_inputs.drawn(self.chance, PIECES)]
            lists = [[b"end", *nasty_inputs.drawn(self.chance, PIECES)] for _ in range(2)]
            strip = lambda line: line[:-1] if line.endswith(b"\r") else line
            pairs = keyed(whole(lines, "strip"), "one")
            known = {(strip(line),) for one in lists for line in one}
            sets = []
            for one in lists:
                content = ended(one, delimiter)
                if self.chance.random() < 0.5:
                    sets += ["--against",
                             self.write(self.chance.choice([bytes, gzip.compress])(content))]
                else:
                    made = self.folder / f"set{next(self.number)}"
                    kind = self.chance.choice(EXACT_KINDS)
                    self.right("build", "-q", "--kind", kind, "-o", made, *flags, input=content)
                    sets += ["--against", made]
            words = ["dedup", "--crlf", "strip", *flags, *sets, *self.threads()]
            content = ended(lines, delimiter)
            with self.subTest(turn):
                firsts, repeats = split_repeats(pairs, known)
                self.same(self.right(*words, input=content), ended(firsts, delimiter), words)
                self.same(self.right(*words, "-i", input=content), ended(repeats, delimiter), words)
                rest = [pair for pair in pairs if pair[1] not in known]
                how = self.chance.choice(TALLIES)
                out = self.right(*words, *how, input=content)
                end = b"\n" if how[0] == "--distinct" else delimiter
                self.same(out, ended(tally(rest, how), end), words, how)

    def test_against_is_grep(self):
        for turn in range(6):
            lines = [b"begin", *nasty_inputs.drawn(self.chance, PIECES)]
            known = self.write(ended([b"end"] + nasty_inputs.drawn(self.chance, PIECES)))
            expected = tool(f"grep -a -Fxv -f {known} | gawk -b '!seen[$0]++'", ended(lines))
            words = ["dedup", "--crlf", "keep", "--against", known]
            self.same(self.right(*words, input=ended(lines)), expected, turn)

    def test_windows(self):
        for values, window in ((5, 2), (300, 100), (1000, 100), (150, 100)):
            lines = [b"%d" % self.chance.randrange(values) for _ in range(4000)]
            content = b"".join(b"%s\t%d\n" % pair for pair in zip(lines, range(4000)))
            out = self.right("dedup", "-k", 1, "--window", window, "-p", "1e-9", input=content)
            printed = {int(line.split(b"\t")[1]) for line in lines_of(out)}
            latest = []
            for number, line in enumerate(lines):
                since = latest.index(line) if line in latest else None
                if since is None or since > 2 * window:
                    self.assertIn(number, printed, (SEED, values, window, "a new line is missing"))
                elif since < window:
                    self.assertNotIn(number, printed, (SEED, values, window, "a repeat is printed"))
                if since is not None:
                    latest.pop(since)
                latest.insert(0, line)

    def test_states_in_several_runs(self):
        for turn, flags in enumerate(([], ["--exact"], ["-p", "1e-9"], ["--hardened"],
                                      ["--seed", 7], ["-0"])):
            state, output = self.folder / f"state{turn}", self.folder / f"output{turn}"
            delimiter = b"\0" if flags == ["-0"] else b"\n"
            seen, printed = set(), b""
            for again in range(4):
                lines = nasty_inputs.drawn(self.chance, PIECES)
                content = nasty_inputs.joined(self.chance, lines, delimiter)
                lines = lines_of(content, delimiter)
                firsts, repeats = split_repeats(keyed(whole(lines), "one"), seen)
                seen |= {(line,) for line in lines}
                printed += ended(firsts, delimiter)
                files, more = self.given(content)
                words = ["dedup", "--state", state, *flags, *self.threads(), *files]
                with self.subTest(flags=flags, again=again):
                    if turn % 2:
                        self.right(*words, "-o", output, **more)
                        self.same(output.read_bytes(), printed, words)
                    elif again % 2:
                        self.same(self.right(*words, "-i", **more), ended(repeats, delimiter),
                                  words)
                    else:
                        self.same(self.right(*words, **more), ended(firsts, delimiter), words)
            asked = ended([b"never seen", *sorted(key[0] for key in seen)], delimiter)
            zero = ["-0"] if delimiter == b"\0" else []
            absent = self.right("check", "-v", *zero, state, input=asked)
            self.same(absent, b"never seen" + delimiter, flags)

    def test_in_place(self):
        for turn in range(8):
            contents = [nasty_inputs.joined(self.chance, nasty_inputs.drawn(self.chance, PIECES))
                        for _ in range(2)] + [b"", MARK + b"a\na\n"]
            files = [self.write(content) for content in contents]
            seen = set()
            expected = []
            for content in contents:
                lines = lines_of(content)
                firsts, repeats = split_repeats(keyed(whole(lines), "one"), seen)
                seen |= {(line,) for line in lines}
                mark = MARK if content.startswith(MARK) else b""
                expected.append(mark + ended(firsts) if repeats else content)
            with self.subTest(turn):
                self.same(self.right("dedup", "--in-place", *files), b"")
                for path, after in zip(files, expected):
                    self.same(path.read_bytes(), after, turn)
        for how in (("-u",), ("--keep", "last")):
            for mark in (b"", MARK):
                lines = [b"begin", *nasty_inputs.drawn(self.chance, PIECES), b"begin"]
                path = self.write(mark + ended(lines))
                after = mark + ended(tally(keyed(whole(lines), "one"), how))
                self.right("dedup", "--in-place", *how, path)
                self.same(path.read_bytes(), after, how)


class Edges(Differential):
    """Where blocks of files and pipes end, in the middle of whatever is there."""

    def expect(self, pairs, words, content, head=b"", delimiter=b"\n"):
        firsts, repeats = (head + ended(lines, delimiter) for lines in split_repeats(pairs))
        path = self.write(content)
        for threads in (1, 4):
            self.same(self.right("dedup", *words, "-T", threads, path), firsts, words)
        self.same(self.right("dedup", *words, input=content), firsts, words)
        self.same(self.right("dedup", *words, "-i", path), repeats, words)
        last = head + ended(tally(pairs, ("--keep", "last")), delimiter)
        self.same(self.right("dedup", *words, "--keep", "last", path), last, words)
        # The same keys in a set, by another reader of lines.
        made = self.folder / f"set{next(self.number)}"
        words = [word for word in words if word not in ("--crlf", "keep")]
        self.right("build", "-q", "--crlf", "keep", "--kind", EXACT_KINDS[-1], "-o", made, *words,
                   path)
        every = head + ended([raw for raw, _ in pairs], delimiter)
        self.same(self.right("check", *words, made, path), every, words)

    def test_lines(self):
        tokens = [b"a", b"", b"ab", b"\r", b"\xc3\xa9", b"abc\r"]
        records = nasty_inputs.across_edges(self.chance, tokens)
        self.expect(keyed(whole(records), "one"), [], ended(records))

    def test_delimiters_of_several_bytes(self):
        tokens = [b"\r", b"\n", b"a\r", b"\r\r", b"a", b"\na"]
        content = ended(nasty_inputs.across_edges(self.chance, tokens, delimiter=b"\r\n"), b"\r\n")
        lines = lines_of(content, b"\r\n")
        self.expect(keyed(whole(lines), "one"), ["-d", "\\r\\n"], content, delimiter=b"\r\n")

    def test_utf_16(self):
        tokens = ["\U0001f600", "\u0a0d", "\u0d0a\u0a00", "", "a\U0001f601b"]
        for code, mark in (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")):
            units = [token.encode("utf-8") for token in tokens]
            records = nasty_inputs.across_edges(self.chance, units, edges=8)
            content = mark + ended(records).decode().encode(code)
            self.expect(keyed(whole(records), "one"), [], content)

    def test_csv(self):
        tokens = [b'"a""b\r\n",', b'"\n\n""",x', b"a,b\r", b'"a,b",""', b'"""",', b'a"b,"\r\n"\r']
        records = nasty_inputs.across_edges(self.chance, tokens, behind=b",1")
        head = b"k,v"
        content = ended([head, *records])
        read = csv.reader(io.StringIO(content.decode(), newline=""))
        parts = [(row[0].encode(),) for row in read][1:]
        pairs = keyed([Record(raw, key) for raw, key in zip(records, parts)])
        self.assertEqual(len(parts), len(records))
        self.expect(pairs, ["--csv", "--column", "k"], content, head=head + b"\n")

    def test_json(self):
        tokens = [b'{"a":"\\ud83d\\ude00"}', '{"a":"\U0001f600"}'.encode(), b'{"a":"\\\\"}\r',
                  b'{"b":"}","a":"\\""}']
        records = nasty_inputs.across_edges(self.chance, tokens, before=b'{"a":"', behind=b'"}')
        keys = [(nasty_inputs.json_key(record, ["a"]),) for record in records]
        pairs = keyed([Record(raw, key) for raw, key in zip(records, keys)])
        self.expect(pairs, ["--json-key", ".a"], ended(records))

    def test_compressed(self):
        records = nasty_inputs.across_edges(self.chance, [b"a", b"", b"abc"])
        firsts = ended(first_ones(records))
        for name, pack in nasty_inputs.PACKERS.items():
            packed = pack(ended(records))
            self.same(self.right("dedup", self.write(packed)), firsts, name)
            self.same(self.right("dedup", input=packed), firsts, name)

    def test_numbers(self):
        tokens = [b"18446744073709551615", b"7", b"007", b"00000000000000000000000000012"]
        records = nasty_inputs.across_edges(self.chance, tokens, before=b"0" * 30, edges=6)
        records = [record.replace(b"x", b"") for record in records]
        numbers = sorted(set(map(int, records)))
        for more in ({"input": ended(records)}, {}):
            words = [] if more else [self.write(ended(records))]
            self.same(self.right("ints", "sort", *words, **more), ended(b"%d" % n for n in numbers))


class DedupKeys(Differential):
    def some_ways(self, count=3):
        return self.chance.sample([*STREAMS, ("-i",), ("-D",), *TALLIES], k=count)

    def key_flags(self):
        """Flags that change what keys do, and what the model is told."""
        empty = self.chance.choice([None, "keep", "drop", "one"])
        profile = self.chance.choice([None, None, "trim", "case"])
        words = (["--empty", empty] if empty else []) + (["--normalize", profile] if profile
                                                         else [])
        return words, empty or "keep", profile

    def bad_ones(self, records, words, content, empty, profile, head=b""):
        """Without --skip-bad a record without a key ends the run, wherever it is."""
        good = split_repeats(keyed([r for r in records if r.parts is not None], empty, profile))[0]
        files, more = self.given(content)
        self.refused("dedup", *words, *files, so_far=head + ended(good), **more)
        self.refused("dedup", "-c", *words, *files, **more)

    def test_fields(self):
        for turn in range(30):
            lines = [b"begin x y",
                     *nasty_inputs.drawn(self.chance, PIECES + [b"a b c", b"a  b\tc ", b"a;;b"])]
            separator = self.chance.choice([None, b";", b",", b"\t", b"a", b";;"])
            chosen = self.chance.choice([[1], [2], [1, 2], [2, 1], [1, 1], [3]])
            content = nasty_inputs.joined(self.chance, lines)
            records = [chosen_fields(line, separator, chosen) for line in lines_of(content)]
            flags, empty, profile = self.key_flags()
            words = ["-k", ",".join(map(str, chosen)), *flags]
            if separator:
                words += ["-t", separator.decode().replace("\t", "\\t")]
            bad = any(record.parts is None for record in records)
            with self.subTest(turn=turn, words=words):
                pairs = keyed(records, empty, profile)
                self.dedups(pairs, [*words, *["--skip-bad"] * bad], content, ways=self.some_ways(2))
                if bad:
                    self.bad_ones(records, words, content, empty, profile)

    def test_fields_by_range_and_from_the_end(self):
        chosen = {"2-": lambda f: f[1:], "-1": lambda f: f[-1:], "2-3": lambda f: f[1:3],
                  "1,-1": lambda f: [f[0], f[-1]], "-2": lambda f: f[-2:-1]}
        least = {"2-": 2, "-1": 1, "2-3": 3, "1,-1": 1, "-2": 2}
        for turn in range(12):
            lines = [b"begin x y",
                     *nasty_inputs.drawn(self.chance, PIECES + [b"a b c", b"b c", b"x;b;c"])]
            content = nasty_inputs.joined(self.chance, lines)
            name = self.chance.choice(list(chosen))
            separator = self.chance.choice([None, b";"])
            split = lambda line: line.split(separator) if separator else [
                f for f in fields_as_awk(line) if f]
            records = [Record(line, tuple(chosen[name](split(line)))
                              if len(split(line)) >= least[name] else None)
                       for line in lines_of(content)]
            flags, empty, profile = self.key_flags()
            words = [f"-k{name}", *flags, *(["-t", ";"] if separator else [])]
            with self.subTest(turn=turn, words=words):
                pairs = keyed(records, empty, profile)
                self.dedups(pairs, [*words, "--skip-bad"], content, ways=self.some_ways(2))
                if any(record.parts is None for record in records):
                    self.bad_ones(records, words, content, empty, profile)

    def test_csv_columns(self):
        for turn in range(25):
            separator = self.chance.choice([",", ",", ";", "\t"])
            table = nasty_inputs.csv_table(self.chance, separator)
            chosen = self.chance.choice([[1], [2], [3], [1, 2], [3, 1], [1, 2, 3]])
            flags, empty, profile = self.key_flags()
            words = ["--csv", *flags]
            words += [word for n in chosen for word in ("--column", table.names[n])]
            words += [] if separator == "," else ["-t", separator]
            records = [Record(raw, tuple(cells[n] for n in chosen)) for raw, cells in table.records]
            with self.subTest(turn=turn, words=words):
                self.dedups(keyed(records, empty, profile), words, table.content,
                            head=table.head + b"\n", ways=self.some_ways(3))

    def test_csv_without_a_head_and_by_number(self):
        for turn in range(10):
            table = nasty_inputs.csv_table(self.chance)
            chosen = self.chance.choice([[2], [3, 4]])
            flags, empty, profile = self.key_flags()
            words = ["--csv", *flags, "--column", ",".join(map(str, chosen))]
            by_number = lambda cells: tuple(cells[n - 1] for n in chosen)
            records = [Record(raw, by_number(cells)) for raw, cells in table.records]
            names = Record(table.head, by_number([name.encode() for name in table.names]))
            with self.subTest(turn=turn, words=words):
                self.dedups(keyed(records, empty, profile), words, table.content,
                            head=table.head + b"\n", ways=self.some_ways(2))
                self.dedups(keyed([names, *records], empty, profile), [*words, "--no-header"],
                            table.content, ways=self.some_ways(2))

    def test_tsv(self):
        cells = [b"", b"a", b'"a', b'a"', b'"', b" ", b"b\x1f", b"\xe9", b"a,b"]
        for turn in range(8):
            rows = [[b"%d" % i, *self.chance.choices(cells, k=2)] for i in range(100)]
            end = self.chance.choice([b"", b"\r"])
            raws = [b"\t".join(row) + end for row in [[b"i", b"x y", b"z"], *rows]]
            records = [Record(raw, (row[1],)) for raw, row in zip(raws[1:], rows)]
            flags, empty, profile = self.key_flags()
            words = ["--tsv", "--column", self.chance.choice(["x y", "2"]), *flags]
            with self.subTest(turn=turn, words=words):
                self.dedups(keyed(records, empty, profile), words, ended(raws),
                            head=raws[0] + b"\n", ways=self.some_ways(2))

    def test_json_values(self):
        for turn in range(25):
            lines = nasty_inputs.json_lines(self.chance, self.chance.choice([1, 3, 150]))
            paths = self.chance.choices(list(nasty_inputs.JSON_PATHS),
                                        k=self.chance.choice([1, 1, 2]))
            ways = [nasty_inputs.JSON_PATHS[path] for path in paths]
            records = [Record(line, tuple(nasty_inputs.json_key(line, way) for way in ways))
                       for line in lines]
            bad = self.chance.random() < 0.4
            if bad:
                place = self.chance.randrange(len(records) + 1)
                line = self.chance.choice(nasty_inputs.NO_JSON)
                records[place:place] = [Record(line, None)] * 2
            content = nasty_inputs.joined(self.chance, [record.raw for record in records])
            content = (MARK if self.chance.random() < 0.3 else b"") + content
            flags, empty, profile = self.key_flags()
            words = [*flags, *[f"--json-key={path}" for path in paths]]
            with self.subTest(turn=turn, words=words):
                # An empty last line is none when nothing ends it.
                records = records[: len(lines_of(content))]
                pairs = keyed(records, empty, profile)
                self.dedups(pairs, [*words, "--skip-bad"], content, ways=self.some_ways(3))
                if any(record.parts is None for record in records):
                    self.bad_ones(records, words, content, empty, profile)


    def test_json_values_that_a_list_has(self):
        texts = [text.encode() for text in nasty_inputs.VALUES if not {"\0", "\n"} & set(text)]
        for turn in range(6):
            known = [b"begin", *self.chance.sample(texts, k=8), b"1", b"true", b"-7"]
            listed = self.write(ended(known))
            lines = nasty_inputs.json_lines(self.chance, 80)
            records = [Record(line, (nasty_inputs.json_key(line, ["a"]),)) for line in lines]
            empty = self.chance.choice([None, "keep", "drop", "one"])
            words = ["dedup", "--json-key", ".a", "--against", listed]
            words += ["--empty", empty] if empty else []
            pairs = keyed(records, empty or "keep")
            firsts, _ = split_repeats(pairs, {(text,) for text in known})
            self.same(self.right(*words, input=ended(lines)), ended(firsts), words, known)


class DedupTables(Differential):
    """CSV in several files, runs and places: the head is printed once, and never a record."""

    def tables(self, count):
        """Tables with one head, spelled alike."""
        found = [nasty_inputs.csv_table(self.chance) for _ in range(count)]
        head = found[0].head
        behind = lambda table: table.content.removeprefix(MARK)[len(table.head):]
        mark = lambda table: MARK if table.content.startswith(MARK) else b""
        return [table._replace(head=head, content=mark(table) + head + behind(table))
                for table in found]

    def records(self, table, column):
        return keyed([Record(raw, (cells[column],)) for raw, cells in table.records])

    def test_several_files(self):
        for turn in range(6):
            tables, column = self.tables(3), self.chance.randrange(1, 4)
            pack = lambda content: self.chance.choice([bytes,
                                                       *nasty_inputs.PACKERS.values()])(content)
            files = [self.write(pack(table.content)) for table in tables]
            pairs = [pair for table in tables for pair in self.records(table, column)]
            words = ["dedup", "--csv", "--column", tables[0].names[column], *files]
            with self.subTest(turn):
                firsts = tables[0].head + b"\n" + ended(split_repeats(pairs)[0])
                self.same(self.right(*words), firsts, words)
                output = self.folder / f"output{turn}.gz"
                self.same(self.right(*words, "-o", output), b"", words)
                self.same(gzip.decompress(output.read_bytes()), firsts, words)

    def test_states_and_outputs_that_grow(self):
        for turn in range(4):
            tables, column = self.tables(4), self.chance.randrange(1, 4)
            state, output = self.folder / f"state{turn}", self.folder / f"output{turn}"
            seen, printed = set(), tables[0].head + b"\n"
            for table in tables:
                pairs = self.records(table, column)
                firsts, _ = split_repeats(pairs, seen)
                seen |= {key for _, key in pairs}
                printed += ended(firsts)
                words = ["dedup", "--csv", "--column", table.names[column], "--state", state]
                files, more = self.given(table.content)
                with self.subTest(turn):
                    if turn % 2:
                        self.right(*words, "-o", output, *files, **more)
                        self.same(output.read_bytes(), printed, words)
                    else:
                        out = self.right(*words, *files, **more)
                        self.same(out, table.head + b"\n" + ended(firsts), words)

    def test_in_place(self):
        for turn in range(4):
            tables, column = self.tables(3), self.chance.randrange(1, 4)
            files = [self.write(table.content) for table in tables]
            self.right("dedup", "--in-place", "--csv", "--column", tables[0].names[column], *files)
            seen = set()
            for table, path in zip(tables, files):
                pairs = self.records(table, column)
                firsts, repeats = split_repeats(pairs, seen)
                seen |= {key for _, key in pairs}
                mark = MARK if table.content.startswith(MARK) else b""
                after = mark + table.head + b"\n" + ended(firsts) if repeats else table.content
                self.same(path.read_bytes(), after, turn)

    def test_in_place_when_all_was_read(self):
        for turn in range(6):
            table, column = self.tables(1)[0], self.chance.randrange(1, 4)
            how = self.chance.choice([("-u",), ("--keep", "last")])
            pairs = self.records(table, column)
            path = self.write(table.content)
            self.right("dedup", "--in-place", *how, "--csv", "--column", table.names[column], path)
            mark = MARK if table.content.startswith(MARK) else b""
            after = mark + table.head + b"\n" + ended(tally(pairs, how))
            self.same(path.read_bytes(), after if split_repeats(pairs)[1] else table.content, how)

    def test_another_encoding(self):
        for turn in range(4):
            table = self.tables(1)[0]
            column = self.chance.randrange(1, 4)
            text = table.content.removeprefix(MARK).decode()
            mark, code = self.chance.choice([(b"\xff\xfe", "utf-16-le"),
                                             (b"\xfe\xff", "utf-16-be")])
            words = ["dedup", "--csv", "--column", table.names[column]]
            firsts, _ = split_repeats(self.records(table, column))
            out = self.right(*words, input=mark + text.encode(code))
            self.same(out, table.head + b"\n" + ended(firsts), turn)

    def test_text_means_bytes(self):
        for content in (MARK + b"a\na\n" + MARK + b"a\n", b"\xff\xfea\0\n\0a\0\n\0",
                        b"PK\3\4\na\na\n"):
            lines = content.split(b"\n")
            lines = lines[:-1] if not lines[-1] else lines
            self.same(self.right("dedup", "--text", input=content), ended(first_ones(lines)))


if __name__ == "__main__":
    print(f"seed {SEED}", flush=True)
    unittest.main()

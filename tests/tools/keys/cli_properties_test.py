#!/usr/bin/env python3
"""Properties of the command that must hold for any input; random data with a seed that is printed.

    BLOOMERY=path/to/bloomery cli_properties_test.py [SEED]
"""
import collections
import json
import os
import random
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import register

BINARY = os.environ.get("BLOOMERY") or sys.exit("set BLOOMERY to the path of the command")
SEED = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 20260701


def bloomery(*words, stdin=b"", check=True, **more):
    environment = {**os.environ, **more.pop("env", {})}
    ran = subprocess.run(
        [BINARY, *map(str, words)], input=stdin, capture_output=True, env=environment, **more
    )
    if check and ran.returncode != 0:
        raise AssertionError(f"{words}: exit {ran.returncode}: {ran.stderr.decode()}")
    return ran


def random_lines(chance, count, distinct, longest=30):
    """Any bytes but the newline; some lines empty, some repeated, a few long."""
    alphabet = bytes(byte for byte in range(256) if byte != 10)
    pool = []
    for _ in range(distinct):
        length = chance.randrange(longest) if chance.random() < 0.999 else 100_000
        pool.append(bytes(chance.choices(alphabet, k=length)))
    return [chance.choice(pool) for _ in range(count)]


def joined(lines, delimiter=b"\n"):
    return b"".join(line + delimiter for line in lines)


def first_ones(lines):
    return list(dict.fromkeys(lines))


def rows_here():
    """The kernel rows that this CPU and this build have."""
    rows = []
    for row in ["scalar", "avx2", "avx512", "neon"]:
        ran = bloomery("plan", "-n", 1, "-p", "1%", check=False, env={"BLOOMERY_CPU": row})
        if ran.returncode == 0:
            rows.append(row)
    return rows


class Properties(unittest.TestCase):
    def setUp(self):
        self.chance = random.Random(f"{SEED} {self.id()}")
        place = tempfile.TemporaryDirectory(prefix="bloomery-properties-")
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path


class Dedup(Properties):
    def test_exact_equals_the_oracle(self):
        for count, distinct in [(0, 1), (1, 1), (2000, 1), (20_000, 3000), (30_000, 30_000)]:
            lines = random_lines(self.chance, count, distinct)
            path = self.write("lines", joined(lines))
            expected = joined(first_ones(lines))
            self.assertEqual(bloomery("dedup", "--exact", path).stdout, expected)
            self.assertEqual(bloomery("dedup", "--exact", stdin=joined(lines)).stdout, expected)

    def test_default_rate_loses_nothing_in_twenty_thousand_lines(self):
        lines = random_lines(self.chance, 40_000, 20_000)
        path = self.write("lines", joined(lines))
        self.assertEqual(bloomery("dedup", path).stdout, joined(first_ones(lines)))

    def test_repeated_and_first_are_all_lines(self):
        lines = random_lines(self.chance, 5000, 800)
        path = self.write("lines", joined(lines))
        repeats = bloomery("dedup", "--exact", "-i", path).stdout.split(b"\n")[:-1]
        expected = collections.Counter(lines) - collections.Counter(first_ones(lines))
        self.assertEqual(collections.Counter(repeats), expected)

    def test_other_delimiters_and_no_last_one(self):
        words = [b"a", b"bb", b"a", b"", b"c;", b";", b"bb", b"\n", b"\n"]
        for delimiter, flags in [(b"\0", ["-0"]), (b"<>", ["-d", "<>"])]:
            data = delimiter.join(words)
            expected = joined(first_ones(words), delimiter)
            self.assertEqual(bloomery("dedup", "--exact", *flags, stdin=data).stdout, expected)

    def test_report_adds_up(self):
        lines = random_lines(self.chance, 9000, 2000)
        ran = bloomery("dedup", "--exact", "--json", stdin=joined(lines))
        report = json.loads(ran.stderr)
        self.assertEqual(report["lines_in"], len(lines))
        self.assertEqual(report["lines_out"], len(set(lines)))
        self.assertEqual(report["repeats"], len(lines) - len(set(lines)))
        self.assertEqual(report["bytes_in"], len(joined(lines)))
        self.assertEqual(report["expected_lost"], 0)


class BuildAndCheck(Properties):
    def test_no_false_negatives_and_about_the_rate(self):
        lines = first_ones(random_lines(self.chance, 20_000, 20_000, longest=40))
        known, strangers = lines[::2], lines[1::2]
        known_path = self.write("known", joined(known))
        strangers_path = self.write("strangers", joined(strangers))
        # One carriage return at the end is not part of the key.
        stripped = {line.removesuffix(b"\r") for line in known}
        absent = sum(line.removesuffix(b"\r") not in stripped for line in strangers)
        for kind in register.hashed():
            path = self.folder / f"{kind}.set"
            bloomery("build", "-q", "--kind", kind, "-o", path, known_path)
            self.assertEqual(bloomery("check", path, known_path).stdout, joined(known), kind)
            self.assertEqual(bloomery("check", "-v", path, known_path, check=False).returncode, 1)
            passed = len(strangers) - int(
                bloomery("check", "-c", "-v", path, strangers_path).stdout
            )
            passed -= len(strangers) - absent
            self.assertLess(passed, absent * 0.02, kind)

    def test_integer_maps_are_exact(self):
        numbers = [self.chance.randrange(5000, 60_000) for _ in range(20_000)]
        text = lambda values: "".join(f"{value}\n" for value in values).encode()
        path = self.write("numbers", text(numbers))
        everything = self.write("everything", text(range(70_000)))
        for kind in register.maps():
            saved = self.folder / kind
            bloomery("build", "-q", "--kind", kind, "-o", saved, path)
            found = bloomery("check", saved, everything).stdout
            self.assertEqual(found, text(sorted(set(numbers))), kind)

    def test_every_kernel_row_writes_the_same_file(self):
        rows = rows_here()
        self.assertIn("scalar", rows)
        lines = self.write("lines", "".join(f"line {i}\n" for i in range(100_000)).encode())
        for kind in ["blocked", "split-block", "classic"]:
            for rate in ["1%", "1e-6"]:
                files = set()
                for row in rows:
                    path = self.folder / f"{kind}-{row}"
                    bloomery(
                        *["build", "-q", "-f", "--seed", 1, "--kind", kind, "-p", rate],
                        *["-n", "100k", "-o", path, lines],
                        env={"BLOOMERY_CPU": row},
                    )
                    files.add(path.read_bytes())
                    answer = bloomery("check", "-c", path, lines, env={"BLOOMERY_CPU": rows[0]})
                    self.assertEqual(int(answer.stdout), 100_000)
                self.assertEqual(len(files), 1, f"{kind} {rate}: the rows {rows} differ")

    def test_pipe_and_file_and_any_order_give_the_same_file(self):
        lines = random_lines(self.chance, 5000, 3000)
        shuffled = lines[:]
        self.chance.shuffle(shuffled)
        first, second = self.folder / "first", self.folder / "second"
        bloomery("build", "-q", "-o", first, self.write("lines", joined(lines)))
        bloomery("build", "-q", "-o", second, stdin=joined(shuffled))
        self.assertEqual(first.read_bytes(), second.read_bytes())

    def test_reports_have_what_they_promise(self):
        path, lines = self.folder / "s.set", self.write("lines", b"a\nb\n")
        promised = {
            *["kind", "keys", "keys_estimated", "capacity", "bytes", "bits_per_key", "fill"],
            *["rate_asked", "rate_now", "hash", "hardened"],
        }
        for kind in register.hashed():
            built = bloomery("build", "-f", "--json", "--kind", kind, "-o", path, lines).stdout
            self.assertLessEqual(promised, set(json.loads(built)), kind)
            self.assertLessEqual(promised, set(json.loads(bloomery("info", "--json", path).stdout)))
        self.assertEqual(json.loads(built)["keys"], 2)


class Asking(Properties):
    def lists(self, *counts):
        """Lists of lines with the sets that were built from them, of different kinds and hashes."""
        pool = first_ones(random_lines(self.chance, 6000, 6000))
        made = []
        for number, count in enumerate(counts):
            lines = self.chance.sample(pool, count)
            path = self.write(f"list{number}", joined(lines))
            kind = self.chance.choice(register.lossy())
            built = self.folder / f"{number}.set"
            how = ["-p", "10%", "--kind", kind, "--seed", number]
            bloomery("build", "-q", *how, "-o", built, path)
            made.append((path, built, {line.removesuffix(b"\r") for line in lines}))
        return pool, made

    def test_verified_hits_are_the_members_from_a_file_and_from_a_pipe(self):
        pool, [(path, built, members)] = self.lists(2500)
        asked = [self.chance.choice(pool) for _ in range(9000)]
        asked_path = self.write("asked", joined(asked))
        true = [line for line in asked if line.removesuffix(b"\r") in members]
        false = [line for line in asked if line.removesuffix(b"\r") not in members]
        for more in [{"stdin": joined(asked)}, None]:
            words = [] if more else [asked_path]
            for flags, expected in [([], true), (["-v"], false)]:
                ran = bloomery(
                    "check", *flags, "--json", built, "--verify", path, *words, **(more or {})
                )
                self.assertEqual(ran.stdout, joined(expected))
                report = json.loads(ran.stderr)
                self.assertEqual(report["verified"], len(true))
                self.assertEqual(report["lines_in"], len(asked))
                self.assertEqual(report["matched"] + report["absent"], len(asked))
                self.assertEqual(report["matched"] - len(true), report["false_positives"])
        bloomery("check", "-q", built, "--verify", path, asked_path)

    def test_several_sets_answer_as_each_of_them_alone(self):
        pool, made = self.lists(1000, 2000, 10)
        asked = self.write("asked", joined(self.chance.sample(pool, 3000)))
        sets = [word for _, built, _ in made for word in ["-s", built]]
        alone = {str(b): bloomery("check", b, asked).stdout.split(b"\n")[:-1] for _, b, _ in made}
        named = bloomery("check", *sets, "--which", asked).stdout.split(b"\n")[:-1]
        for built, lines in alone.items():
            start = built.encode() + b"\t"
            self.assertEqual([n[len(start) :] for n in named if n.startswith(start)], lines)
        some = set().union(*alone.values())
        expected = [line for line in asked.read_bytes().split(b"\n")[:-1] if line in some]
        self.assertEqual(bloomery("check", *sets, asked).stdout, joined(expected))
        self.assertEqual(int(bloomery("check", "-c", *sets, asked).stdout), len(expected))
        absent = int(bloomery("check", "-cv", *sets, asked).stdout)
        self.assertEqual(absent + len(expected), 3000)

    def test_a_list_need_not_fit_into_memory(self):
        count = 10_000_000
        self.write("members", joined([b"%d" % i for i in range(0, count, 1000)]))
        bloomery("build", "-q", "-o", self.folder / "s.set", self.folder / "members")
        most = 64 << 20  # of address space; the list has 79 million bytes
        command = f"seq 0 {count} | exec prlimit --as={most} {shlex.quote(BINARY)} check -c s.set"
        ran = subprocess.run(
            ["sh", "-c", f"{command} --verify - members"], cwd=self.folder, capture_output=True
        )
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, b"10000\n", b""))


class Integers(Properties):
    def test_verbs_equal_the_oracle(self):
        for low, high, count in [(0, 0, 3), (10, 5000, 4000), (10**12, 10**12 + 9999, 20_000)]:
            numbers = [self.chance.randint(low, high) for _ in range(count)]
            times = collections.Counter(numbers)
            path = self.write("numbers", "".join(f"{n}\n" for n in numbers).encode())
            expected = {
                "sort": sorted(times),
                "count": [len(times)],
                "once": sorted(n for n in times if times[n] == 1),
                "dups": sorted(n for n in times if times[n] > 1),
                "missing": [n for n in range(low, high + 1) if n not in times],
            }
            for verb, answer in expected.items():
                for memory in ["1G", "256"]:
                    words = ["ints", verb, "--range", f"{low}..{high}", "-m", memory, path]
                    got = list(map(int, bloomery(*words).stdout.split()))
                    self.assertEqual(got, answer, (verb, memory))


class NoRoom(Properties):
    """Writing fails: exit 2, a sentence, nothing left behind, and what was there is untouched."""

    def assert_refused_cleanly(self, folder, words, **more):
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        ran = bloomery(*words, check=False, **more)
        self.assertEqual(ran.returncode, 2, ran.stderr)
        self.assertRegex(ran.stderr.decode(), r"^bloomery: error: .+\n$")
        after = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.assertEqual(before, after)

    def commands(self, folder):
        lines = self.write("lines", "".join(f"{i}\n" for i in range(400_000)).encode())
        (folder / "there").write_bytes(b"before\n")
        for name, force in [("fresh", []), ("there", ["-f"])]:
            yield ["build", *force, "-o", folder / name, lines]
            yield ["dedup", *force, "-o", folder / name, lines]
            yield ["ints", "sort", *force, "-o", folder / name, lines]

    def test_files_may_not_grow(self):
        def limit():
            # Python ignores the signal for this, and children inherit that.
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))

        folder = self.folder / "small"
        folder.mkdir()
        for words in self.commands(folder):
            self.assert_refused_cleanly(folder, words, preexec_fn=limit)

    def test_a_file_system_that_is_full(self):
        folder = self.folder / "tiny"
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
            self.skipTest("mounting needs root")
        self.addCleanup(subprocess.run, ["umount", str(folder)], check=True)
        for words in self.commands(folder):
            self.assert_refused_cleanly(folder, words)

    def test_a_folder_that_may_not_be_written(self):
        if os.geteuid() == 0:
            # Root may write anywhere but where the kernel says no.
            folder, name = Path("/proc/self"), "bloomery-test"
        else:
            folder, name = self.folder / "closed", "fresh"
            folder.mkdir(mode=0o555)
        lines = self.write("lines", b"1\n2\n")
        for words in [["build"], ["dedup"], ["ints", "sort"]]:
            ran = bloomery(*words, "-o", folder / name, lines, check=False)
            self.assertEqual(ran.returncode, 2, ran.stderr)
            self.assertRegex(ran.stderr.decode(), r"^bloomery: error: .+\n$")


if __name__ == "__main__":
    print(f"seed {SEED}", flush=True)
    unittest.main()

#!/usr/bin/env python3
"""What `bloomery bench` reports is whole and sane. How fast anything is, is no test.

    BLOOMERY=path/to/bloomery bench_test.py
"""
import json
import math
import os
import subprocess
import sys
import unittest

import register

BINARY = os.environ.get("BLOOMERY") or sys.exit("set BLOOMERY to the path of the command")
KEYS = 20_000
OPERATIONS = [
    "build", "add", "add_all", "ask_hit", "ask_miss", "ask_all_hit", "ask_all_miss",
]
BUILT_AT_ONCE = {"fuse", "ribbon"}
EXACT_MAPS = set(register.maps())


def bloomery(*words, **environment):
    return subprocess.run([BINARY, *map(str, words)], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **environment})


def report(*words):
    keys = () if "-n" in words else ("-n", KEYS)
    ran = bloomery("bench", "--quick", "--json", *keys, *words)
    if ran.returncode != 0 or ran.stderr:
        raise AssertionError(f"{words}: exit {ran.returncode}: {ran.stderr}")
    assert ran.stdout.endswith("\n") and ran.stdout.count("\n") == 1, "one line of JSON"
    return json.loads(ran.stdout)


def planned(rate, *more):
    """What `plan` says of every kind: the register, and bits a key."""
    ran = bloomery("plan", "--json", "-n", KEYS, "-p", rate, *more)
    return {row["kind"]: row["bits_per_key"] for row in json.loads(ran.stdout)["kinds"]}


class Bench(unittest.TestCase):
    def check_numbers(self, kind, rate, keys=KEYS):
        name = kind["kind"]
        self.assertGreaterEqual(kind["runs"], 1, name)
        self.assertEqual(kind["bits_per_key"], kind["bytes"] * 8 / keys, name)
        self.assertLessEqual(kind["rate"], 3 * rate, name)
        for timing in kind["timings"]:
            where = f"{name} {timing['operation']}"
            self.assertGreater(timing["best_ns"], 0, where)
            self.assertGreaterEqual(timing["ns"], timing["best_ns"], where)
            self.assertGreater(timing["roofline_ns"], 0, where)
            self.assertGreater(timing["roofline_ratio"], 0, where)
            self.assertTrue(math.isfinite(timing["roofline_ratio"]), where)
            self.assertGreater(timing["keys"], 0, where)

    def check_sizes(self, found, rate, *more):
        bits = planned(rate, *more)
        for kind in found["kinds"]:
            name = kind["kind"]
            # Keys as many as planned for may make a chain grow by a link.
            slack = 5 if name == "chain" else 1.25
            self.assertGreaterEqual(kind["bits_per_key"], bits[name] / 1.25, name)
            self.assertLessEqual(kind["bits_per_key"], bits[name] * slack, name)

    def test_integers_have_every_kind_and_every_operation(self):
        found = report()
        # 4 * 20,000 rounded up to a power of two is the range of the keys.
        whole = planned("1%", "--range", f"0..{2**17 - 1}")
        self.assertEqual({kind["kind"] for kind in found["kinds"]}, set(whole))
        self.assertEqual(found["left_out"], [])
        self.assertEqual((found["keys"], found["key_form"]), (KEYS, "integer"))
        self.assertEqual((found["rate_asked"], found["threads"]), (0.01, 1))
        self.assertGreater(found["strangers"], 0)
        for kind in found["kinds"]:
            wanted = OPERATIONS
            if kind["kind"] in BUILT_AT_ONCE:
                wanted = [name for name in OPERATIONS if not name.startswith("add")]
            self.assertEqual([t["operation"] for t in kind["timings"]], wanted, kind["kind"])
            self.check_numbers(kind, 0.01)
            if kind["kind"] in EXACT_MAPS | set(register.nearly_exact()):
                self.assertEqual(kind["rate"], 0, "no stranger passes")
            else:
                # What grows keeps more than half of its rate for what is still to come.
                least = 0.01 / (6 if kind["kind"] == "scalable" else 3)
                self.assertGreater(kind["rate"], least, "20,000 strangers show the rate")
        self.check_sizes(found, "1%", "--range", f"0..{2**17 - 1}")

    def test_strings_leave_out_the_exact_maps(self):
        found = report("--strings", "-p", "0.1%")
        self.assertEqual({kind["kind"] for kind in found["kinds"]}, set(planned("0.1%")))
        self.assertEqual({row["left_out"] for row in found["left_out"]}, EXACT_MAPS)
        self.assertEqual(found["key_form"], "text")
        for kind in found["kinds"]:
            self.check_numbers(kind, 0.001)
        self.check_sizes(found, "0.1%")

    def test_one_kind_with_threads(self):
        found = report("--kind", "blocked", "--threads", 2, "-n", 2_200_000)
        self.assertEqual([kind["kind"] for kind in found["kinds"]], ["blocked"])
        self.assertEqual(found["threads"], 2)
        operations = [timing["operation"] for timing in found["kinds"][0]["timings"]]
        self.assertEqual(set(operations), {*OPERATIONS, "add_threads", "ask_threads"})
        self.check_numbers(found["kinds"][0], 0.01, 2_200_000)

    def test_forced_kernels_are_named_and_give_the_same_rate(self):
        rates = {}
        for row in ["scalar", "avx2", "avx512", "neon"]:
            os.environ["BLOOMERY_CPU"] = row
            try:
                if bloomery("plan", "-n", 1, "-p", "1%").returncode == 0:
                    found = report("--kind", "blocked")
                    self.assertEqual(found["kernels"], row)
                    rates[row] = found["kinds"][0]["rate"]
            finally:
                del os.environ["BLOOMERY_CPU"]
        self.assertIn("scalar", rates)
        self.assertEqual(len(set(rates.values())), 1, rates)

    def test_rows_are_those_that_the_cpu_has_and_all_have_every_operation(self):
        rows = [row for row in ("scalar", "avx2", "avx512", "neon") if self.has_row(row)]
        script = os.path.join(os.environ["BLOOMERY_SOURCE"], "bench", "rows.py")
        command = [script, BINARY, "--keys", str(KEYS), "--rounds", "1", "--kind", "blocked"]
        ran = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=120)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        cells = json.loads(ran.stdout)
        self.assertEqual(
            [(cell["kernels"], cell["operation"]) for cell in cells],
            [(row, operation) for row in rows for operation in OPERATIONS],
        )
        for cell in cells:
            self.assertEqual(cell["kind"], "blocked")
            self.assertGreater(cell["ns"], 0)
            self.assertGreater(cell["roofline_ratio"], 0)
        table = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
        head = "| kind | operation | " + " | ".join(rows) + " |\n"
        self.assertTrue(table.startswith(head), table)
        self.assertEqual(table.count("\n"), 2 + len(OPERATIONS))

    def has_row(self, row):
        environment = {**os.environ, "BLOOMERY_CPU": row}
        words = [BINARY, "bench", "--json", "--quick", "-n", "1000", "--kind", "blocked"]
        return subprocess.run(words, env=environment, capture_output=True).returncode == 0

    def test_text_has_both_tables(self):
        ran = bloomery("bench", "--quick", "-n", 1000, "--kind", "blocked")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        for words in ["kernels ", "1,000 integers", "Nanoseconds a key", "multiple of what"]:
            self.assertIn(words, ran.stdout)
        self.assertEqual(sum(line.startswith("blocked ") for line in ran.stdout.splitlines()), 2)

    def test_one_key_is_enough(self):
        ran = bloomery("bench", "--quick", "--json", "-n", 1)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        for kind in json.loads(ran.stdout)["kinds"]:
            for timing in kind["timings"]:
                self.assertGreater(timing["roofline_ns"], 0)

    def test_explain_tells_what_is_chosen_and_measures_nothing(self):
        rows = {row: json.loads(bloomery("bench", "--explain", "--json", BLOOMERY_CPU=row).stdout)
                for row in ("scalar", "")}
        self.assertEqual(rows["scalar"]["kernels"], "scalar")
        self.assertIn("hashing apart", rows["scalar"]["loops"])
        for row in rows.values():
            self.assertNotIn("kinds", row)
            self.assertEqual(row["keys_on_their_way"], 64)
            self.assertGreaterEqual(row["partition_maps_from_bytes"], 64 << 20)
            slice_bytes = row["partition_slice_bytes"]
            self.assertEqual(slice_bytes & (slice_bytes - 1), 0)
            self.assertLessEqual(slice_bytes, max(row["l2_used_bytes"] // 4, 64 << 10))
        self.assertIn("partition slice", bloomery("bench", "--explain").stdout)

    def test_what_can_not_be_is_refused(self):
        for words, sentence in [
            (["--kind", "blokced"], "Did you mean 'blocked'?"),
            (["--kind", "bitmap", "--strings"], "takes integers only"),
            (["-n", "0"], "--keys does not take '0'"),
            (["-n", "many"], "--keys does not take 'many'"),
            (["-n", "900T"], "give a smaller --keys"),
            (["-p", "2"], "--rate does not take '2'"),
            (["-p", "0.9"], "0.5"),
            (["--threads", "0"], "--threads does not take '0'"),
            (["--threads", "1e9"], "--threads does not take '1e9'"),
            (["--quik"], "Did you mean '--quick'?"),
            (["somefile"], "unexpected argument"),
        ]:
            ran = bloomery("bench", "--quick", *words)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""), words)
            self.assertIn(sentence, ran.stderr, words)
            self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())

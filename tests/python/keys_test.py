"""One key: what each sort of object is hashed as, held against the command on the same file."""
import os
import subprocess
import tempfile
import unittest
import uuid
from pathlib import Path

import bloomery
from bloomery import Bitmap, Set

COMMAND = os.environ["BLOOMERY"]


def command(*words, text=b""):
    ran = subprocess.run([COMMAND, *map(str, words)], input=text, capture_output=True)
    if ran.returncode:
        raise AssertionError(ran.stderr.decode())
    return ran.stdout


class Keys(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)

    def test_add_tells_what_is_new(self):
        seen = Set(1000)
        for key in ("fig", b"plum", "\u00e4\u20ac\U0001f600", "", b"\0\xff", "x" * 10_000):
            self.assertTrue(seen.add(key), key)
            self.assertFalse(seen.add(key), key)
            self.assertIn(key, seen)
        self.assertNotIn("stranger", seen)

    def test_str_is_its_utf8_and_bytes_are_themselves(self):
        seen = Set(100)
        seen.add("\u00e4\u20ac")
        for same in ("\u00e4\u20ac".encode(), bytearray("\u00e4\u20ac".encode()),
                     memoryview("\u00e4\u20ac".encode())):
            self.assertIn(same, seen)

    def test_uuid_is_its_sixteen_bytes(self):
        key = uuid.UUID("12345678-1234-5678-1234-567812345678")
        seen = Set(100)
        seen.add(key)
        self.assertIn(key.bytes, seen)
        self.assertNotIn(str(key), seen)

    def test_ints_are_sixty_four_bits_with_a_sign(self):
        seen = Set(100)
        for key in (0, 1, -1, 2**30, 2**31, 2**63 - 1, -(2**63), 2**63 + 5, 2**64 - 2):
            self.assertTrue(seen.add(key), key)
        # The law: eight bytes, sign-extended.
        self.assertIn(2**64 - 1, seen)

        class Index:
            def __index__(self):
                return 7

        seen.add(7)
        self.assertIn(Index(), seen)

    def test_files_of_both_sides_are_equal_byte_by_byte(self):
        words = [f"key {i}" for i in range(5000)] + ["\u00e4\u00f6\u00fc", "\u4e2d\u6587"]
        lines = "".join(word + "\n" for word in words).encode()
        for kind in ("blocked", "classic", "split-block", "scalable", "hash-set", "counting"):
            theirs = self.path / f"{kind}.theirs"
            ours = self.path / f"{kind}.ours"
            exact = kind == "hash-set"
            sizes = [] if kind in ("scalable", "hash-set") else ["-n", "6000"]
            rates = [] if exact else ["-p", "0.001"]
            command("build", "-q", "--kind", kind, *sizes, *rates, "-o", theirs, text=lines)
            made = Set(6000 if sizes else None, None if exact else 0.001, kind=kind, lines=True)
            made.update(words)
            made.save(ours)
            self.assertEqual(ours.read_bytes(), theirs.read_bytes(), kind)
            asked = Set.open(theirs)
            self.assertTrue(asked.contains_all(words).all())
            self.assertEqual(command("check", ours, text=lines), lines)

    def test_a_bitmap_of_both_sides_is_equal_byte_by_byte(self):
        numbers = [7, 3, 99, 1000]
        theirs = self.path / "theirs"
        command("build", "-q", "--kind", "bitmap", "--range", "0..4095", "-o", theirs,
                text="".join(f"{n}\n" for n in numbers).encode())
        asked = Bitmap.open(theirs)
        self.assertEqual(list(asked), sorted(numbers))
        ours = Bitmap(0, 4095, numbers)
        self.assertEqual(ours, asked)

    def test_static_kinds_are_those_of_the_command(self):
        words = [f"key {i}" for i in range(3000)]
        lines = "".join(word + "\n" for word in words).encode()
        for kind in ("fuse", "ribbon"):
            theirs = self.path / kind
            command("build", "-q", "--kind", kind, "-p", "0.001", "-o", theirs, text=lines)
            ours = Set(words, 0.001, kind=kind)
            self.assertEqual(ours, Set.open(theirs), kind)

    def test_the_form_of_the_keys_is_kept_apart(self):
        texts = Set(["1"])
        numbers = Set([1])
        with self.assertRaisesRegex(bloomery.Mismatch, "form 'text'"):
            1 in texts
        with self.assertRaisesRegex(bloomery.Mismatch, "form 'u64'"):
            numbers.add("1")
        self.assertEqual((texts.key_form, numbers.key_form), ("text", "u64"))

    def test_what_is_not_a_key_is_a_type_error_that_says_what_to_do(self):
        for seen in (Set(100), Set(100, kind="classic"), Bitmap(0, 99)):
            for key, words in ((1.5, "float"), (None, "missing"), (True, r"int\(key\)"),
                               (["a"], r"str\(key\)"), (("a", 1), r"str\(key\)")):
                with self.assertRaisesRegex(TypeError, words):
                    seen.add(key)
                with self.assertRaisesRegex(TypeError, words):
                    key in seen
        with self.assertRaisesRegex(OverflowError, "64 bits"):
            Set(100).add(2**64)
        with self.assertRaisesRegex(OverflowError, "64 bits"):
            Set(100).add(-(2**63) - 1)
        with self.assertRaisesRegex(ValueError, "surrogates"):
            Set(100).add("\udc80")
        with self.assertRaisesRegex(ValueError, "contiguous"):
            Set(100).add(memoryview(b"abcd")[::2])

    def test_hardened_sets_need_their_secret(self):
        secret = bytes(range(16))
        seen = Set(100, secret=secret)
        seen.add("fig")
        self.assertTrue(seen.hardened)
        other = Set(100, secret=secret.hex())
        other.add("fig")
        self.assertEqual(seen, other)
        self.assertNotEqual(seen, Set(100, secret=bytes(16)))
        with self.assertRaisesRegex(ValueError, "16 bytes"):
            Set(100, secret=b"short")
        with self.assertRaisesRegex(ValueError, "exclude"):
            Set(100, secret=secret, seed=1)


class Kinds(unittest.TestCase):
    def test_every_kind_of_the_register_is_made_asked_saved_and_read(self):
        words = [f"w{i}" for i in range(200)]
        for kind, can in bloomery.kinds().items():
            with self.subTest(kind=kind):
                if kind == "bitmap":
                    made = Bitmap(0, 999, range(200))
                    keys = range(200)
                elif kind == "cascade":
                    made = bloomery.Cascade(words, ["good"], 0.01)
                    keys = words
                elif can["integers"]:
                    made = Set(range(200), kind=kind, range=(0, 999))
                    keys = range(200)
                else:
                    made = Set(words, 0.01 if not can["exact"] and kind != "compact" else None,
                               kind=kind)
                    keys = words
                self.assertEqual(made.kind, kind)
                self.assertEqual(made.count_contained(keys), 200)
                again = type(made).from_bytes(made.to_bytes())
                self.assertIs(type(again), type(made))
                self.assertEqual(again, made)
                self.assertEqual(again.count_contained(keys), 200)

    def test_counting_kinds_count_and_forget(self):
        for kind in ("counting", "spectral"):
            seen = Set(100, kind=kind, removal=kind == "spectral")
            seen.update(["a", "b", "a", "a"])
            self.assertEqual([seen.count(key) for key in "abc"], [3, 1, 0])
            self.assertEqual(list(seen.counts(["a", "c"])), [3, 0])
            seen.remove("a")
            self.assertEqual(seen.count("a"), 2)
            with self.assertRaises(KeyError):
                seen.remove("absent")
            self.assertFalse(seen.discard("absent"))
            self.assertEqual(list(seen.remove_all(["b", "b"])), [True, False])
        with self.assertRaisesRegex(bloomery.Unsound, "counting"):
            Set(["a"]).remove("a")
        with self.assertRaises(bloomery.Unsound):
            Set(["a"]).count("a")

    def test_a_window_forgets(self):
        recent = Set(100, kind="window")
        recent.advance_to(0, 10)
        recent.add("a")
        recent.advance_to(1000, 10)
        self.assertNotIn("a", recent)

    def test_a_cascade_never_errs_on_its_lists(self):
        bad = [f"bad{i}" for i in range(500)]
        good = [f"good{i}" for i in range(5000)]
        both = bloomery.Cascade(bad, good, 0.1)
        self.assertEqual(both.count_contained(bad), 500)
        self.assertEqual(both.count_contained(good), 0)
        with self.assertRaisesRegex(bloomery.BadInput, "number 1 .*number 2"):
            bloomery.Cascade(["x", "good2"], good[:3])

    def test_plan_is_what_a_set_takes(self):
        for kind in ("blocked", "classic", "cuckoo"):
            planned = bloomery.plan(10_000, 0.001, kind=kind)
            self.assertEqual(planned["nbytes"], Set(10_000, 0.001, kind=kind).nbytes)
        self.assertGreater(bloomery.plan(rate=0.01, memory=1 << 20)["keys"], 800_000)
        with self.assertRaises(bloomery.Impossible):
            bloomery.plan(10, 0.9)
        with self.assertRaises(bloomery.Impossible):
            Set(0)
        with self.assertRaisesRegex(bloomery.BadInput, "give one of"):
            Set(10, kind="bloom")


if __name__ == "__main__":
    unittest.main()

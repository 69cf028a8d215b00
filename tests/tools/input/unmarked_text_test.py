#!/usr/bin/env python3
"""UTF-16 and UTF-32 without a byte order mark are refused by name; text of single bytes is not.

    BLOOMERY=path/to/bloomery unmarked_text_test.py [SEED]

What is refused and what is text is made by Python's own encoders.
"""
import gzip
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BINARY = os.environ.get("BLOOMERY") or sys.exit("set BLOOMERY to the path of the command")
SEED = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 20261116

# Some words of each, to be put together at random.
SCRIPTS = {
    "English": "the quick brown fox jumps over a lazy dog, it's 42!",
    "German": (
        "Z\u00fcrich gr\u00fc\u00dft die \u00d6ffnung \u00fcberm\u00e4\u00dfig gr\u00f6\u00df"
        "erer H\u00e4user"
    ),
    "Greek": (
        "\u038c\u03bb\u03bf\u03b9 \u03bf\u03b9 \u03ac\u03bd\u03b8\u03c1\u03c9\u03c0\u03bf"
        "\u03b9 \u03b3\u03b5\u03bd\u03bd\u03b9\u03bf\u03cd\u03bd\u03c4\u03b1\u03b9 \u03b5"
        "\u03bb\u03b5\u03cd\u03b8\u03b5\u03c1\u03bf\u03b9 \u03ba\u03b1\u03b9 \u03af\u03c3"
        "\u03bf\u03b9"
    ),
    "Russian": (
        "\u0412\u0441\u0435 \u043b\u044e\u0434\u0438 \u0440\u043e\u0436\u0434\u0430\u044e"
        "\u0442\u0441\u044f \u0441\u0432\u043e\u0431\u043e\u0434\u043d\u044b\u043c\u0438 "
        "\u0438 \u0440\u0430\u0432\u043d\u044b\u043c\u0438"
    ),
    "Hebrew": (
        "\u05db\u05dc \u05d1\u05e0\u05d9 \u05d4\u05d0\u05d3\u05dd \u05e0\u05d5\u05dc\u05d3"
        "\u05d5 \u05d1\u05e0\u05d9 \u05d7\u05d5\u05e8\u05d9\u05df \u05d5\u05e9\u05d5\u05d5"
        "\u05d9\u05dd"
    ),
    "Arabic": (
        "\u064a\u0648\u0644\u062f \u062c\u0645\u064a\u0639 \u0627\u0644\u0646\u0627\u0633 "
        "\u0623\u062d\u0631\u0627\u0631\u0627 \u0645\u062a\u0633\u0627\u0648\u064a\u0646 "
        "\u0641\u064a \u0627\u0644\u0643\u0631\u0627\u0645\u0629"
    ),
    "Hindi": (
        "\u0938\u092d\u0940 \u092e\u0928\u0941\u0937\u094d\u092f\u094b\u0902 \u0915\u094b "
        "\u0917\u094c\u0930\u0935 \u0914\u0930 \u0905\u0927\u093f\u0915\u093e\u0930\u094b"
        "\u0902 \u0915\u0947 \u092e\u093e\u092e\u0932\u0947 \u092e\u0947\u0902"
    ),
    "Bengali": (
        "\u09b8\u09ae\u09b8\u09cd\u09a4 \u09ae\u09be\u09a8\u09c1\u09b7 \u09b8\u09cd\u09ac"
        "\u09be\u09a7\u09c0\u09a8\u09ad\u09be\u09ac\u09c7 \u09b8\u09ae\u09be\u09a8 \u09ae"
        "\u09b0\u09cd\u09af\u09be\u09a6\u09be"
    ),
    "Gujarati": (
        "\u0aaa\u0acd\u0ab0\u0aa4\u0abf\u0ab7\u0acd\u0aa0\u0abe \u0a85\u0aa8\u0ac7 \u0a85"
        "\u0aa7\u0abf\u0a95\u0abe\u0ab0\u0acb\u0aa8\u0ac0 \u0aa6\u0ac3\u0ab7\u0acd\u0a9f"
        "\u0abf\u0a8f \u0ab8\u0ab0\u0acd\u0ab5 \u0aae\u0abe\u0aa8\u0ab5\u0acb"
    ),
    "Tamil": (
        "\u0bae\u0ba9\u0bbf\u0ba4\u0baa\u0bcd \u0baa\u0bbf\u0bb1\u0bb5\u0bbf\u0baf\u0bbf"
        "\u0ba9\u0bb0\u0bcd \u0b9a\u0b95\u0bb2\u0bb0\u0bc1\u0bae\u0bcd \u0b9a\u0bc1\u0ba4"
        "\u0ba8\u0bcd\u0ba4\u0bbf\u0bb0\u0bae\u0bbe\u0b95\u0bb5\u0bc7"
    ),
    "Thai": (
        "\u0e21\u0e19\u0e38\u0e29\u0e22\u0e4c\u0e17\u0e31\u0e49\u0e07\u0e2b\u0e25\u0e32\u0e22"
        " \u0e40\u0e01\u0e34\u0e14\u0e21\u0e32 \u0e21\u0e35\u0e2d\u0e34\u0e2a\u0e23\u0e30"
        "\u0e41\u0e25\u0e30 \u0e40\u0e2a\u0e21\u0e2d\u0e20\u0e32\u0e04\u0e01\u0e31\u0e19"
    ),
    "Georgian": (
        "\u10e7\u10d5\u10d4\u10da\u10d0 \u10d0\u10d3\u10d0\u10db\u10d8\u10d0\u10dc\u10d8 "
        "\u10d8\u10d1\u10d0\u10d3\u10d4\u10d1\u10d0 \u10d7\u10d0\u10d5\u10d8\u10e1\u10e3"
        "\u10e4\u10d0\u10da\u10d8 \u10d3\u10d0"
    ),
    "Amharic": (
        "\u12e8\u1230\u12cd \u120d\u1305 \u1201\u1209 \u1232\u12c8\u1208\u12f5 \u1290\u133b"
        "\u1293"
    ),
    "Chinese": (
        "\u4eba\u4eba\u751f\u800c\u81ea\u7531 \u5728\u5c0a\u4e25\u548c\u6743\u5229\u4e0a "
        "\u4e00\u5f8b\u5e73\u7b49 \u4e0a\u6d77 \u4ed6\u4eec\u8d4b\u6709\u7406\u6027\u548c"
        "\u826f\u5fc3"
    ),
    "Japanese": (
        "\u3059\u3079\u3066\u306e\u4eba\u9593\u306f \u751f\u307e\u308c\u306a\u304c\u3089"
        "\u306b\u3057\u3066\u81ea\u7531\u3067\u3042\u308a \u304b\u3064 \u5c0a\u53b3\u3068"
        "\u6a29\u5229\u3068\u306b\u3064\u3044\u3066\u5e73\u7b49\u3067\u3042\u308b"
    ),
    "Korean": (
        "\ubaa8\ub4e0 \uc778\uac04\uc740 \ud0dc\uc5b4\ub0a0 \ub54c\ubd80\ud130 \uc790\uc720"
        "\ub85c\uc6b0\uba70 \uadf8 \uc874\uc5c4\uacfc"
    ),
    "emoji": (
        "\U0001f600\U0001f601\U0001f602 \U0001f680x \U0001f44d\U0001f3fd ok \U0001f389"
    ),
}
WIDE = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
# Encodings of one to four bytes that people still have.
NARROW = ["utf-8", "latin-1", "cp1252", "cp1251", "koi8-r", "cp866", "iso8859-7", "cp1255"]
NARROW += ["cp1256", "shift_jis", "euc-jp", "euc-kr", "gbk", "big5", "gb18030", "tis-620", "cp437"]


def run(*words, **more):
    return subprocess.run([BINARY, *map(str, words)], capture_output=True, timeout=60, **more)


def first_lines(content):
    """What dedup prints, in Python."""
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return b"".join(line + b"\n" for line in dict.fromkeys(lines))


class Unmarked(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        scratch = tempfile.TemporaryDirectory(prefix="bloomery-unmarked-")
        self.addCleanup(scratch.cleanup)
        self.path = Path(scratch.name) / "in"

    def text(self, script, lines, words=5, end="\n", gap=" "):
        chosen = SCRIPTS[script].split()
        made = [gap.join(self.random.choices(chosen, k=words)) for _ in range(lines)]
        return end.join(made) + end

    def refused(self, content, encoding, told):
        self.path.write_bytes(content)
        ran = run("dedup", self.path)
        self.assertEqual((ran.returncode, ran.stdout), (2, b""), (told, content[:60]))
        family, order = encoding.upper().replace("-LE", "LE").replace("-BE", "BE"), ran.stderr
        said = f"this is {family[:6]} without a byte order mark, not UTF-8; convert it: iconv -f "
        self.assertIn((said + family).encode(), order, told)
        self.assertIn(b"--text reads the bytes as they are", order)

    def taken(self, content, told, *words):
        self.path.write_bytes(content)
        ran = run("dedup", *words, self.path)
        self.assertEqual((ran.returncode, ran.stderr), (0, b""), (told, content[:60]))
        self.assertEqual(ran.stdout, first_lines(content), (told, content[:60]))

    def test_lines_of_every_script_are_refused(self):
        for script in SCRIPTS:
            for encoding in WIDE:
                for lines, end in ((1, "\n"), (3, "\n"), (200, "\n"), (3, "\r\n")):
                    content = self.text(script, lines, end=end).encode(encoding)
                    self.refused(content, encoding, (script, encoding, lines))

    def test_one_line_without_an_end_is_refused(self):
        for script in SCRIPTS:
            for encoding in WIDE:
                content = self.text(script, 1, end="").encode(encoding)
                self.refused(content, encoding, (script, encoding))

    def test_words_without_blanks(self):
        for script in SCRIPTS:
            for encoding in WIDE:
                content = self.text(script, 60, words=2, gap="").encode(encoding)
                self.refused(content, encoding, (script, encoding))

    def test_one_emoji_in_a_short_text(self):
        face = "\U0001f600"
        for text in (f"a{face}\n", f"hello {face}\nworld\n", f"{face} and {face}", f"{face}x\n"):
            for encoding in WIDE:
                self.refused(text.encode(encoding), encoding, (text, encoding))

    def test_csv_and_json_lines_of_every_script(self):
        for script in SCRIPTS:
            word = SCRIPTS[script].split()[0]
            for text in (f"id,name\n1,{word}\n2,{word}\n", f'{{"name":"{word}"}}\n' * 3):
                for encoding in WIDE:
                    self.refused(text.encode(encoding), encoding, (script, encoding, text))

    def test_from_a_pipe_inside_of_gzip_and_for_other_verbs(self):
        for script in ("Russian", "Chinese", "emoji", "English"):
            for encoding in WIDE:
                content = self.text(script, 40).encode(encoding)
                for words, given in (
                    (["dedup"], content),
                    (["dedup"], gzip.compress(content)),
                    (["build", "-o", self.path.parent / "never"], content),
                ):
                    ran = run(*words, input=given)
                    self.assertEqual((ran.returncode, ran.stdout), (2, b""), (script, encoding))
                    self.assertIn(b"without a byte order mark", ran.stderr)
                self.taken(content, (script, encoding), "--text")

    def all_taken(self, contents, told):
        """Many files in one run: each is looked at by itself."""
        paths = []
        for number, content in enumerate(contents):
            paths.append(self.path.parent / f"file {number}")
            paths[-1].write_bytes(content)
        ran = run("dedup", *paths)
        self.assertEqual((ran.returncode, ran.stderr), (0, b""), told)
        lines = b"".join(first_lines(content) for content in contents)
        self.assertEqual(ran.stdout, first_lines(lines), told)

    def test_narrow_text_is_never_refused(self):
        shapes = ((1, 1, ""), (1, 5, " "), (4, 2, ""), (300, 4, "\t"))
        for script in SCRIPTS:
            texts = [self.text(script, lines, words, gap=gap) for lines, words, gap in shapes]
            made = [text.encode(one, errors="ignore") for one in NARROW for text in texts]
            self.all_taken(made, script)

    def test_odd_text_is_never_refused(self):
        odd = [b"a\nb\nc\nd\n", b"\n" * 50, b"\r\n" * 50, b"\t\n" * 50, b"1\t2\t3\t4\n" * 9]
        odd += [b" \n" * 9]
        odd += [b"a\x01b\x01c\n" * 20, b"a\x1fb\x1fc\x1e", b"\x1b[1mx\x1b[0m\n" * 9]
        odd += [b"\x02A\x03\n" * 20, b"a\0b\nc\n", b"a\0\0b\n", b"one\0\ntwo\0\n", b"abc\0\n" * 30]
        odd += [b"ab\0\n" * 30, b"\0\n", b"x\n\0y\n", b"ab\n\0cd\n", b"ab\n\0", b"\n\0\n\n\n\n\n\n"]
        odd += [b"abc\0def\0" * 4, b"k\0v\nlong line of text\n", b"caf\xe9\nna\xefve\n" * 40]
        odd += [b"caf\xe9 au lait\0\n" * 30, b"log line\n\0\0\0\0log line\n", b"\0" * 40 + b"x\n"]
        odd += [b"\xff\xff\n", b"\x80\n", b"\xd8\xd8\xdc\xdc\n" * 9]
        odd += ["\u4e0a\u6d77\n\u4e0a\n".encode() * 9]
        for content in odd:
            self.taken(content, content[:20])

    def test_random_text_with_a_zero_here_and_there(self):
        contents = []
        for _ in range(1000):
            encoding = self.random.choice(["utf-8", "latin-1", "cp1251", "gbk"])
            script = self.random.choice(list(SCRIPTS))
            text = self.text(script, self.random.randint(3, 90), self.random.randint(1, 6))
            text = "a line of text\n" + text  # a script may have no letter in this encoding
            content = bytearray(text.encode(encoding, errors="ignore"))
            for _ in range(self.random.randint(0, 2)):
                content.insert(self.random.randrange(len(content) + 1), 0)
            contents.append(bytes(content))
        self.all_taken(contents, SEED)

    def test_lines_that_end_with_zeros_are_never_refused(self):
        for script in SCRIPTS:
            for encoding in WIDE + ["utf-8", "latin-1"]:
                content = self.text(script, 5).encode(encoding, errors="ignore")
                self.path.write_bytes(content)
                ran = run("dedup", "-0", self.path)
                self.assertEqual((ran.returncode, ran.stderr), (0, b""), (script, encoding))


if __name__ == "__main__":
    print(f"seed {SEED}", flush=True)
    unittest.main()

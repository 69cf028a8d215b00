"""The type stubs say what the package is: mypy's stubtest holds one against the other, both ways;
and a program that uses it passes `mypy --strict`."""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import bloomery

PACKAGE = Path(bloomery.__file__).parent
# Users of the package that have no types of their own.
CONFIGURATION = """\
[mypy]
cache_dir = /dev/null
[mypy-scrapy.*]
ignore_missing_imports = True
[mypy-pandas.*]
ignore_missing_imports = True
"""

PROGRAM = """\
import pathlib
import uuid

import bloomery
import numpy
from bloomery.pandas import drop_duplicates
from bloomery.redis import RedisSet

seen = bloomery.Set(1000, rate=0.01, kind="compact")
new: bool = seen.add("plum") or seen.add(7) or seen.add(b"fig") or seen.add(uuid.uuid4())
there: bool = "plum" in seen
seen.update(["a", "b"])
both: bloomery.Set = seen | seen.copy()
with bloomery.Set.open(pathlib.Path("x.bloom"), live=True, durability="every") as shared:
    shared.add_all(memoryview(b""))
    recovered: dict[str, int] | None = shared.recovery
again = bloomery.Set.from_bytes(seen.to_bytes())
numbers: list[int] = list(bloomery.Bitmap(0, 9, [3, 4]))
names: list[str] = [name for name in bloomery.dedup(["a", "b", "a"], key=str.lower)]
bytes_of_it: int = bloomery.plan(10, 0.1)["bytes"]
remote = RedisSet("redis://localhost/0/seen", keys=10)
known: bool = "plum" in remote
room = numpy.empty(2, bool)
seen.contains_all(numpy.array([1, 2]), out=room)
ids = bloomery.Bitmap(numpy.int64(1), numpy.int64(9))
ids.add(numpy.int32(4))
lines: list[bytes] = list(bloomery.dedup(pathlib.Path("log"), key=bytes.strip))
rows: list[dict[str, int]] = list(bloomery.dedup([{"a": 1}], key=lambda row: row["a"]))
frame = drop_duplicates({}, "name", seen, missing="keep")
try:
    pass
except bloomery.NotFound as missing:
    path: str | None = missing.filename
"""

WRONG = {
    "seen.add(1.5)": "float",
    "seen.add(None)": "None",
    "bloomery.Set.open('x', durability='always')": "durability",
    "bloomery.Set(kind=3)": "kind",
    "seen.no_such_verb()": "no_such_verb",
}


class Stubs(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "mypy.ini").write_text(CONFIGURATION)
        # Of a folder in MYPYPATH mypy would report the package itself; only its users count here.
        self.environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}

    def run_in_folder(self, *words):
        ran = subprocess.run(words, cwd=self.folder, env=self.environment, check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return ran.returncode, ran.stdout

    def mypy(self, program):
        (self.folder / "program.py").write_text(program)
        return self.run_in_folder("mypy", "--strict", "--follow-imports=silent", "--config-file",
                                  "mypy.ini", "program.py")

    def test_every_name_and_argument(self):
        self.assertTrue(list(PACKAGE.glob("*.pyi")))
        code, said = self.run_in_folder("stubtest", "--mypy-config-file", "mypy.ini", "bloomery")
        self.assertEqual(code, 0, said)
        self.assertIn("no issues found", said)

    def test_a_program_is_well_typed(self):
        code, said = self.mypy(PROGRAM)
        self.assertEqual(code, 0, said)

    def test_wrong_uses_are_found(self):
        for line, word in WRONG.items():
            code, said = self.mypy(f"import bloomery\nseen = bloomery.Set(10)\n{line}\n")
            self.assertEqual(code, 1, f"{line}: {said}")
            self.assertIn("program.py:3", said)
            self.assertIn(word, said)


if __name__ == "__main__":
    unittest.main(verbosity=2)

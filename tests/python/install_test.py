"""The wheel: what `pip install ./python` makes of a build, and that pip takes it without a network.

Nothing is built again here: the builder is given the package that the other tests use. From the
sources pip does all of it in whole_install.py.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

SOURCE = Path(os.environ["BLOOMERY_SOURCE"])
PACKAGE = Path(os.environ["BLOOMERY_BUILD"]) / "python/bloomery"
sys.path.insert(0, str(SOURCE / "python/backend"))
import bloomery_build  # noqa: E402  the path must be there first

USE = """\
import bloomery, importlib.metadata, sys
assert bloomery.__file__.startswith(sys.argv[1]), bloomery.__file__
seen = bloomery.Set(1000)
assert seen.add("plum") and "plum" in seen and "fig" not in seen
assert importlib.metadata.version("bloomery") == bloomery.__version__
print("used")
"""
# No index, no proxy that could stand for one: whatever pip would download fails.
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "install",
       "--no-index", "--root-user-action=ignore"]


class Installed(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def install_and_use(self, what):
        target = self.folder / "site"
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        ran = subprocess.run([*PIP, "--target", target, what], stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.STDOUT, env=environment, check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout)
        environment["PYTHONPATH"] = str(target)
        used = subprocess.run([sys.executable, "-c", USE, target], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=environment, check=False)
        self.assertEqual(used.stdout, "used\n")


class Wheel(Installed):
    def make_wheel(self, name="wheels"):
        folder = self.folder / name
        folder.mkdir()
        with mock.patch.object(bloomery_build, "build_package", lambda build: PACKAGE):
            return folder / bloomery_build.build_wheel(folder)

    def test_pip_takes_the_wheel(self):
        self.install_and_use(self.make_wheel())

    def test_tags_and_files(self):
        wheel = self.make_wheel()
        self.assertRegex(wheel.name, r"^bloomery-[0-9.]+-cp311-abi3-linux_\w+\.whl$")
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            tag = wheel.stem.split("-", 2)[2]
            info = next(name for name in names if name.endswith(".dist-info/WHEEL"))
            self.assertIn(f"Tag: {tag}\n", archive.read(info).decode())
            listed = [line.split(",")[0] for line in
                      archive.read(info.replace("WHEEL", "RECORD")).decode().splitlines()]
        self.assertEqual(sorted(listed), sorted(names))
        for name in ("bloomery/_bloomery.abi3.so", "bloomery/__init__.py", "bloomery/py.typed",
                     "bloomery/_bloomery.pyi", "bloomery/scrapy.py", "bloomery/pandas.py"):
            self.assertIn(name, names)

    def test_the_same_bytes_again(self):
        self.assertEqual(self.make_wheel("one").read_bytes(), self.make_wheel("two").read_bytes())

    def test_missing_programs_are_named(self):
        with mock.patch.object(bloomery_build.shutil, "which", lambda name: None):
            with self.assertRaisesRegex(SystemExit, "cmake and ninja and strip must be installed"):
                bloomery_build.build_wheel(self.folder)

    def test_a_source_package_is_refused_with_a_sentence(self):
        with self.assertRaisesRegex(bloomery_build.UnsupportedOperation, "pip wheel ./python"):
            bloomery_build.build_sdist(self.folder)


if __name__ == "__main__":
    unittest.main(verbosity=2)

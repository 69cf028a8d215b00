"""`pip install ./python`: the engine is built by CMake, as everywhere else, and put into the wheel.

Needs CMake, Ninja, a C++20 compiler and libxxhash's headers; Redis is built in where hiredis and
uriparser are there. Nothing is downloaded.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.search(r"project\(bloomery VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]


def has(*packages):
    found = subprocess.run(["pkg-config", "--exists", *packages], check=False)
    return found.returncode == 0


class ByCMake(build_ext):
    """Both modules in one build; the second is left out where its libraries are missing."""

    def run(self):
        package = Path(self.get_ext_fullpath("bloomery._bloomery")).resolve().parent
        # Outside the tree: pip may be allowed to read it only. BLOOMERY_WHEEL_BUILD keeps a build.
        with tempfile.TemporaryDirectory() as scratch:
            build = os.environ.get("BLOOMERY_WHEEL_BUILD", scratch)
            options = {
                "CMAKE_BUILD_TYPE": "Release",
                "CMAKE_CXX_FLAGS_RELEASE": "-O3 -DNDEBUG",
                "BLOOMERY_BUILD_PYTHON": "ON",
                "BLOOMERY_PYTHON": sys.executable,
                "BLOOMERY_BUILD_TOOLS": "OFF",
                "BLOOMERY_BUILD_TEXT": "OFF",
                "BLOOMERY_INSTALL": "OFF",
                "BLOOMERY_BUILD_REDIS": "ON" if has("hiredis", "liburiparser") else "OFF",
            }
            words = [f"-D{name}={value}" for name, value in options.items()]
            subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, *words], check=True)
            subprocess.run(["cmake", "--build", build, "--target", "bloomery_python"], check=True)
            package.mkdir(parents=True, exist_ok=True)
            for module in sorted(Path(build, "python", "bloomery").glob("*.so")):
                subprocess.run(["strip", "-o", package / module.name, module], check=True)


setup(
    version=VERSION,
    packages=["bloomery"],
    package_data={"bloomery": ["*.pyi", "py.typed"]},
    ext_modules=[Extension("bloomery._bloomery", sources=[], py_limited_api=True)],
    cmdclass={"build_ext": ByCMake},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
    zip_safe=False,
)

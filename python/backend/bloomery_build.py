"""What `pip install ./python` and `pip wheel ./python` call (PEP 517): makes the wheel.

CMake builds the engine as everywhere else; the wheel is a zip file of what it made, by PEP 427.
Needs CMake, Ninja, a C++20 compiler and the headers of libxxhash and of this Python; sets on Redis
servers come in where hiredis and uriparser are there. Nothing is downloaded.

The wheel is the same, byte for byte, if the modules in it are.
"""
import base64
import hashlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

PYTHON = Path(__file__).resolve().parent.parent
ROOT = PYTHON.parent
STABLE_ABI = "cp311-abi3"  # Py_LIMITED_API in python/CMakeLists.txt

METADATA = """\
Metadata-Version: 2.1
Name: bloomery
Version: {version}
Summary: Bloom filters, bitmaps and exact sets of billions of keys
Requires-Python: >=3.11
Classifier: Programming Language :: C++
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

"""

WHEEL = """\
Wheel-Version: 1.0
Generator: bloomery_build
Root-Is-Purelib: false
Tag: {tag}
"""


class UnsupportedOperation(Exception):
    """The name that PEP 517 gives to what a builder cannot do."""


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """`--config-settings build-dir=DIR` keeps the build, and goes on from what is there."""
    require_programs()
    version = read_version()
    tag = f"{STABLE_ABI}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    kept = (config_settings or {}).get("build-dir")
    # Outside the tree by default: pip may be allowed to read it only.
    with tempfile.TemporaryDirectory() as scratch:
        package = build_package(Path(kept).resolve() if kept else Path(scratch))
        members = {f"bloomery/{path.name}": path.read_bytes() for path in package_files(package)}
    info = f"bloomery-{version}.dist-info"
    members[f"{info}/METADATA"] = metadata(version).encode()
    members[f"{info}/WHEEL"] = WHEEL.format(tag=tag).encode()
    members[f"{info}/RECORD"] = record(members, f"{info}/RECORD")
    name = f"bloomery-{version}-{tag}.whl"
    write_zip(Path(wheel_directory, name), members)
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise UnsupportedOperation("python/ alone cannot be built: the engine is in the folder above "
                               "it. Clone the whole project, and make a wheel: pip wheel ./python")


def require_programs():
    missing = [name for name in ("cmake", "ninja", "strip") if shutil.which(name) is None]
    if missing:
        sys.exit(f"bloomery: to build this package {' and '.join(missing)} must be installed. "
                 "On Debian and Ubuntu: scripts/setup python")


def read_version():
    return re.search(r"project\(bloomery VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]


def metadata(version):
    return METADATA.format(version=version) + (ROOT / "docs/python.md").read_text()


def build_package(build):
    """The folder of the built package."""
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_CXX_FLAGS_RELEASE": "-O3 -DNDEBUG",
        "BLOOMERY_BUILD_PYTHON": "ON",
        "BLOOMERY_PYTHON": sys.executable,
        "BLOOMERY_BUILD_TOOLS": "OFF",
        "BLOOMERY_BUILD_TEXT": "OFF",
        "BLOOMERY_INSTALL": "OFF",
        "BLOOMERY_BUILD_REDIS": "ON" if has_libraries("hiredis", "liburiparser") else "OFF",
    }
    words = [f"-D{name}={value}" for name, value in options.items()]
    for command in (["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, *words],
                    ["cmake", "--build", build, "--target", "bloomery_python"]):
        if subprocess.run(command, check=False).returncode != 0:
            sys.exit("bloomery: the engine could not be built; CMake tells above what is missing. "
                     "On Debian and Ubuntu this installs all it needs: scripts/setup python")
    package = build / "python/bloomery"
    for module in package.glob("*.so"):
        subprocess.run(["strip", module], check=True)
    return package


def has_libraries(*names):
    try:
        found = subprocess.run(["pkg-config", "--exists", *names], check=False)
    except FileNotFoundError:
        return False
    return found.returncode == 0


def package_files(package):
    kinds = (".py", ".pyi", ".so")
    return sorted(path for path in package.iterdir()
                  if path.suffix in kinds or path.name == "py.typed")


def record(members, own_name):
    """Each member with its digest, and this list itself without one."""
    lines = []
    for name, content in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    return "".join([*lines, f"{own_name},,\n"]).encode()


def write_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            member = zipfile.ZipInfo(name)  # 1980: the wheel does not tell when it was made
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            archive.writestr(member, content)

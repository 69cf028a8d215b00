"""The build a user makes, and the Debian packages cpack makes of it, looked at from outside.

The packages come out of the build that has the command BLOOMERY. They are unpacked into a
temporary folder and used there, so that nothing of this machine changes. What a package needs is
asked twice: of its field Depends, and of the loader and the linker, file by file, through
`dpkg -S`. scripts/check_install does the same in a Debian that has nothing else.
"""
import gzip
import os
import re
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

from redis_server import RedisServer

SOURCE = Path(os.environ["BLOOMERY_SOURCE"])
BUILD = Path(os.environ["BLOOMERY"]).parent
CACHE = (BUILD / "CMakeCache.txt").read_text()
CMAKE = re.search(r"^CMAKE_COMMAND:\w+=(.*)$", CACHE, re.MULTILINE)[1]
COMPILER = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", CACHE, re.MULTILINE)[1]
NAMES = ["bloomery", "bloomery-redis-module", "libbloomery-dev", "python3-bloomery"]
PYTHON = "usr/lib/python3/dist-packages/bloomery"


def run(*command, **more):
    done = subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, **more,
    )
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(map(str, command))}: {done.returncode}\n{done.stdout}")
    return done.stdout


def owners(paths):
    """For each file the packages that have it. /lib is /usr/lib; dpkg may know either name."""
    names = {}
    for path in paths:
        path = os.path.normpath(path)
        names.update({name: path for name in (path, path.removeprefix("/usr"), "/usr" + path)})
    # Its exit code is 1 if it does not know one of the names.
    found = subprocess.run(["dpkg", "-S", *names], capture_output=True, text=True).stdout
    having = {os.path.normpath(path): set() for path in paths}
    for line in found.splitlines():
        packages, name = line.rsplit(": ", 1)
        if name in names:
            having[names[name]] |= {word.split(":")[0] for word in packages.split(", ")}
    return having


def packages_of_setup(group):
    """What the array <group>_packages of scripts/setup lists."""
    text = (SOURCE / "scripts/setup").read_text()
    listed = re.search(rf"^{group}_packages=\((.*?)\)( *#.*)?$", text, re.MULTILINE | re.DOTALL)[1]
    return set(re.sub(r"#.*", "", listed).split())


class UsersBuild(unittest.TestCase):
    """`cmake --preset release` in a fresh folder."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="bloomery-users-build-")
        cls.build = Path(cls.folder.name)
        run(CMAKE, "--preset", "release", "-B", cls.build, cwd=SOURCE)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_warnings_are_no_errors_and_only_what_is_installed_is_built(self):
        rules = (self.build / "build.ninja").read_text()
        self.assertIn("-Wall", rules)
        self.assertNotIn("-Werror", rules)
        for target in ("unit_tests", "bench_table", "example_"):
            self.assertNotIn(target, rules)

    def test_it_looks_for_nothing_but_the_run_packages(self):
        run_packages = packages_of_setup("run")
        self.assertIn("libxxhash-dev", run_packages)
        cache = (self.build / "CMakeCache.txt").read_text()
        entry = re.compile(r"^(?!CMAKE_)\w+_(?:LIBRARY\w*|DIR):\w*PATH=(/\S+)$", re.MULTILINE)
        found = entry.findall(cache)
        found = [path for path in found if path != "/usr/include"]  # of many packages
        self.assertGreater(len(found), 8)
        for path, owning in owners(found).items():
            self.assertTrue(owning & run_packages, f"{path} is of {owning or 'no package'}")


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="bloomery-packages-")
        cls.scratch = Path(cls.folder.name)
        cpack = Path(CMAKE).with_name("cpack")
        # gzip, because xz takes most of the time.
        run(cpack, "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", cls.scratch / "made",
            "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip")
        cls.files = {}
        cls.roots = {}
        for file in sorted((cls.scratch / "made").glob("*.deb")):
            name = run("dpkg-deb", "-f", file, "Package").strip()
            cls.files[name] = file
            cls.roots[name] = cls.scratch / name
            run("dpkg-deb", "-x", file, cls.roots[name])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def field(self, name, field):
        return run("dpkg-deb", "-f", self.files[name], field).strip()

    def depends(self, name):
        return {word.split()[0] for word in self.field(name, "Depends").split(",")}

    def test_four_packages_of_this_version_and_machine(self):
        self.assertEqual(sorted(self.files), NAMES)
        version = run(self.roots["bloomery"] / "usr/bin/bloomery", "--version").split()[1]
        machine = run("dpkg", "--print-architecture").strip()
        for name in NAMES:
            self.assertEqual(self.field(name, "Version"), version + "-1")
            self.assertEqual(self.field(name, "Architecture"), machine)
            self.assertEqual(self.files[name].name, f"{name}_{version}-1_{machine}.deb")
            self.assertRegex(self.field(name, "Maintainer"), r"^.+ <\S+@\S+>$")

    def test_apt_can_install_them(self):
        run("apt-get", "-s", "-o", "Debug::NoLocking=1", "--no-install-recommends", "install",
            *self.files.values())

    def test_whatever_the_loader_needs_is_in_depends(self):
        for name, file in (("bloomery", "usr/bin/bloomery"),
                           ("bloomery-redis-module", "usr/lib/redis/modules/bloomery.so"),
                           ("python3-bloomery", PYTHON + "/_redis.abi3.so")):
            loaded = re.findall(r"=> (/\S+)", run("ldd", self.roots[name] / file))
            needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", self.roots[name] / file))
            direct = [path for path in loaded if os.path.basename(path) in needed]
            self.assertGreater(len(direct), 2)
            for path, owning in owners(direct).items():
                self.assertTrue(owning & self.depends(name), f"{name} needs {path}")

    def test_whatever_the_linker_needs_is_in_depends(self):
        flags = self.pkg_config("--static", "--libs", "bloomery-text", "bloomery-redis").split()
        others = {flag for flag in flags if flag.startswith("-l") and "bloomery" not in flag}
        self.assertIn("-lxxhash", others)
        others -= {"-lpthread", "-lm"}  # come with the compiler
        files = [run(COMPILER, f"-print-file-name=lib{flag[2:]}.so").strip() for flag in others]
        for path, owning in owners(files).items():
            self.assertTrue(owning & self.depends("libbloomery-dev"), f"nobody brings {path}")

    def test_each_has_the_licence_and_the_changes(self):
        for name in NAMES:
            documents = self.roots[name] / "usr/share/doc" / name
            licence = (documents / "copyright").read_text()
            self.assertEqual(licence, (SOURCE / "LICENSE").read_text())
            changes = gzip.decompress((documents / "changelog.gz").read_bytes())
            self.assertTrue(changes.startswith(b"# Changelog"))
            log = gzip.decompress((documents / "changelog.Debian.gz").read_bytes()).decode()
            self.assertIn(f"bloomery ({self.field(name, 'Version')}) ", log)
            self.assertRegex(log, r" -- .+ <\S+@\S+>  \w{3}, \d\d \w{3} \d{4} ")

    def test_manual_and_completions_are_those_of_the_command(self):
        share = self.roots["bloomery"] / "usr/share"
        command = self.roots["bloomery"] / "usr/bin/bloomery"
        manual = gzip.decompress((share / "man/man1/bloomery.1.gz").read_bytes()).decode()
        self.assertEqual(manual, run(command, "man"))
        for shell, path in (("bash", "bash-completion/completions/bloomery"),
                            ("zsh", "zsh/vendor-completions/_bloomery"),
                            ("fish", "fish/vendor_completions.d/bloomery.fish")):
            self.assertEqual((share / path).read_text(), run(command, "completions", shell))

    def test_root_has_the_files_and_all_may_read_them(self):
        for name in NAMES:
            for line in run("dpkg-deb", "-c", self.files[name]).splitlines():
                mode, owner, path = line.split()[0], line.split()[1], line.split()[-1]
                self.assertEqual(owner, "root/root", line)
                # Redis refuses to load a module that is not executable.
                runs = mode[0] == "d" or path.endswith(("/bin/bloomery", "/bloomery.so"))
                self.assertEqual(mode[1:], "rwxr-xr-x" if runs else "rw-r--r--", line)

    def test_no_file_names_a_folder_of_this_machine(self):
        for name in NAMES:
            for path in self.roots[name].rglob("*"):
                if path.is_file():
                    self.assertNotIn(os.fsencode(SOURCE) + b"/", path.read_bytes(), path)

    def test_the_command_works(self):
        command = self.roots["bloomery"] / "usr/bin/bloomery"
        self.assertEqual(run(command, "dedup", input="pear\nplum\npear\n"), "pear\nplum\n")

    def test_a_program_links_with_the_library_and_runs(self):
        flags = self.pkg_config("--cflags", "--libs", "bloomery").split()
        program = self.scratch / "program"
        source = SOURCE / "tests/consumer/main.cpp"
        run(COMPILER, "-std=c++20", source, *flags, "-o", program)
        self.assertEqual(run(program, self.scratch / "set"), "remembered\n")

    def pkg_config(self, *words):
        place = self.roots["libbloomery-dev"] / "usr/lib/pkgconfig"
        return run("pkg-config", *words, env={**os.environ, "PKG_CONFIG_PATH": str(place)})

    def test_redis_loads_the_module(self):
        module = self.roots["bloomery-redis-module"] / "usr/lib/redis/modules/bloomery.so"
        with RedisServer("--loadmodule", str(module)) as server:
            self.assertEqual(server.command("BF.ADD", "seen", "a"), b":1\r\n")
            self.assertEqual(server.command("BF.EXISTS", "seen", "a"), b":1\r\n")


    def test_python_imports_the_package(self):
        code = (
            "import bloomery, bloomery.redis; seen = bloomery.Set(['a'])\n"
            "print(bloomery.__version__, 'a' in seen, 'b' in seen)"
        )
        place = (self.roots["python3-bloomery"] / PYTHON).parent
        told = run("/usr/bin/python3", "-c", code, env={**os.environ, "PYTHONPATH": str(place)})
        version = self.field("python3-bloomery", "Version").removesuffix("-1")
        self.assertEqual(told, f"{version} True False\n")


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Checks that every line of code is in its room (ARCHITECTURE.md, "Who may look at whom").

    check_house.py [--headers] [ROOT]

--headers also compiles each public header alone, with $CXX or c++.
One finding a line, `path:line: sentence`; exit 1 if there is any.
"""
import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
from pathlib import Path

import check_words

# A room includes itself and the rooms before it.
LIBRARY = ["hash", "bits", "sets", "storage", "served", "engines", "remote"]
USERS = ["tools", "adapters", "python", "examples"]
FREE = ["tests", "bench"]
PUBLIC = "include/bloomery/"
FOR_ALL = {PUBLIC + "error.hpp", PUBLIC + "want.hpp"}
# The room of a public header; those that are not named here are front doors: they join sets and
# storage, and engines and users may include them.
PUBLIC_ROOMS = {
    "error": "hash",
    "want": "hash",
    "hash": "hash",
    "key_rules": "sets",
    "kinds": "sets",
    "any_set": "sets",
    "file": "storage",
    "image": "storage",
    "text/": "engines",
    "redis/": "remote",
}
FRONT_DOOR_REACHES = "storage"
REGISTER = PUBLIC + "detail/sets/kinds.hpp"
# Headers behind the public line that define members of public classes.
COMPLETES_PUBLIC = {
    PUBLIC + "detail/sets/any_set_keys.hpp",
    PUBLIC + "detail/set_build.hpp",
    PUBLIC + "detail/set_bulk.hpp",
    PUBLIC + "detail/set_whole.hpp",
    "bloomery/sets/erased/any_body.hpp",
}
MOST_FILES = 26

COMPOSITES = {"bloom_chain", "sharded", "cascade", "line_set", "scalable"}
SEES_KINDS = re.compile(
    r"include/bloomery/(detail/sets/)?kinds\.hpp$"
    r"|bloomery/sets/erased/any_(set\w*\.cpp|holder\.hpp)$"
)
KERNEL = re.compile(r"bloomery/bits/kernels_\w+\.cpp$")
# What callers compiled for their own CPU inline.
NATIVE = [PUBLIC + "detail/bits/line_ops.hpp", PUBLIC + "detail/bits/split_ops.hpp"]
PLAIN_HEADERS = {"cstddef", "cstdint", "immintrin.h", "arm_neon.h"}

# One file an area of the command.
FULL_ROOMS = ("tests/tools/transcripts",)
DRAWERS = {"util", "utils", "helper", "helpers", "misc", "common"}
MOST_LINES = {".hpp": 450, ".cpp": 600}
MOST_COLUMNS = 100

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
INTRINSIC_HEADER = re.compile(r"(\w*intrin\.h|arm_neon\.h)$")
INTRINSIC = re.compile(
    r"\b(_mm\d*_\w+|__m(?:128|256|512)[di]?|__mmask\d+"
    r"|u?int(?:8|16|32|64)x\d+_t|v[a-z]+q?_(?:n_|lane_)?[usf](?:8|16|32|64))\b"
)
KIND_NUMBER = re.compile(r'\bKindId\s+id\s*{\s*(\d+)\s*,\s*"([^"]+)"')
# From here on numbers are forms of image, not kinds of a part.
FIRST_FORM = 1000
KIND_ID = re.compile(r'\bKindId\s+id\s*(?:=\s*KindId\s*)?[{(=][^;"]*"([^"]+)"')

MAPS_FILES = (
    "bloomery/bits/memory.cpp",
    "bloomery/storage/file.cpp",
    "bloomery/storage/live/shared_file.cpp",
)
MMAP = re.compile(r"\bmmap\s*\(")
THREAD = re.compile(r"\b(std::j?thread|std::async|pthread_create)\b")
PRINT = re.compile(
    r"\bstd::(cout|cerr|clog)\b|\b(?:fmt|std)::print(?:ln)?\b"
    r"|\b(?:v?f?printf|f?puts|perror)\s*\("
)
# A flag or a verb of our command inside of a literal; those of other programs have them before it.
OWN_FLAG = re.compile(r"'bloomery [a-z]|^(?!.*\b(?:zstd|redis-cli) ).*(?<![-\w])--[a-z]")
EXIT = re.compile(r"(?<![.>])\b(?:_exit|_Exit|exit|quick_exit|abort)\s*\(")

# Comments and literals, so that words inside them are not taken for code. A digit separator is
# not a character literal: the quote in 1'000 follows a digit.
NOT_CODE = re.compile(
    r"""//[^\n]*
      | /\*.*?\*/
      | R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"
      | "(?:\\.|[^"\\\n])*"
      | (?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'
    """,
    re.VERBOSE | re.DOTALL,
)


class Source:
    """A C++ file: its room, its includes as paths of ours or bare names, its code."""

    def __init__(self, house, path):
        self.path = path
        self.room = room_of(path)
        self.text = (house.root / path).read_text(encoding="utf-8", errors="replace")
        self.includes = []  # (line, path of ours or None, name as written)
        for number, line in enumerate(self.text.splitlines(), 1):
            if match := INCLUDE.match(line):
                self.includes.append((number, house.resolve(path, match[1], match[2]), match[2]))
        blank = lambda match: re.sub(r"[^\n]", " ", match[0])
        # Include lines go first: a quoted path would otherwise vanish as a literal anyway.
        code = re.sub(r"(?m)^\s*#\s*include.*$", "", self.text)
        self.code = NOT_CODE.sub(blank, code).splitlines()

    def lines_with(self, pattern):
        return [(n, m[0]) for n, line in enumerate(self.code, 1) if (m := pattern.search(line))]

    def unnamed_namespaces(self):
        """The numbers of the lines inside them."""
        inside, depth = set(), 0
        for number, line in enumerate(self.code, 1):
            if depth > 0 or line.startswith("namespace {"):
                depth += line.count("{") - line.count("}")
                inside.add(number)
        return inside


def room_of(path):
    """hash ... remote, door (public headers that join rooms), tools, tests, ... or None."""
    if path.startswith(PUBLIC):
        inner = path.removeprefix(PUBLIC)
        if inner.startswith("detail/"):
            parts = inner.split("/")
            return parts[1] if len(parts) > 2 else "door"
        first = inner.split("/")[0] + "/" if "/" in inner else stem(inner)
        return PUBLIC_ROOMS.get(first, "door")
    parts = path.split("/")
    if parts[0] != "bloomery":
        return parts[0] if len(parts) > 1 else None
    return parts[1]


class House:
    def __init__(self, root):
        self.root = root
        self.findings = []
        self.files, self.folders = walk(root)
        rooms = ["include", "bloomery", *USERS, *FREE]
        self.sources = {
            path: Source(self, path)
            for path in self.files
            if path.endswith((".hpp", ".cpp")) and path.split("/")[0] in rooms
        }
        register = self.sources.get(REGISTER)
        registered = {target for _, target, _ in register.includes} if register else set()
        # path -> names on the command line, for every header of sets/ that has an id
        self.kinds = {}
        for path, source in self.sources.items():
            if path.startswith(PUBLIC + "detail/sets/"):
                code = re.sub(r"//[^\n]*", "", source.text)
                if (names := KIND_ID.findall(code)) and stem(path) not in COMPOSITES:
                    self.kinds[path] = names
        self.registered = registered & self.kinds.keys()
        self.has_register = register is not None

    def say(self, path, line, sentence):
        self.findings.append(f"{path}:{line}: {sentence}")

    def resolve(self, includer, quote, name):
        """The path of ours that an include names, or None for somebody else's header."""
        if quote == '"':
            beside = os.path.normpath(os.path.join(os.path.dirname(includer), name))
            if (self.root / beside).is_file():
                return beside.replace(os.sep, "/")
        plain = os.path.normpath(name).replace(os.sep, "/")
        if plain.startswith("bloomery/") and (self.root / "include" / plain).is_file():
            return "include/" + plain
        if plain.split("/")[0] in ["bloomery", *USERS, *FREE]:
            return plain
        return plain if (self.root / plain).is_file() else None

    # -- the checks, one method each ------------------------------------------------------------

    def check_layers(self):
        for source in self.sources.values():
            if source.room in FREE:
                continue
            for line, target, name in source.includes:
                if target is None:
                    continue
                if target.endswith(".cpp"):
                    self.say(source.path, line, f"includes the source file {name}")
                elif why := refusal(source, target):
                    self.say(source.path, line, why)

    def check_kinds_apart(self):
        for source in self.sources.values():
            path = source.path
            for line, target, name in source.includes:
                if target == REGISTER:
                    if not (SEES_KINDS.match(path) or source.room in ["door", *FREE]):
                        self.say(path, line, "only any_set.cpp and bloomery.hpp see every kind")
                if target not in self.kinds or target == path:
                    continue
                if path in self.kinds:
                    self.say(path, line, f"kinds never include each other, and {name} is a kind")
                elif source.room in ["sets", "storage"] and not (
                    SEES_KINDS.match(path)
                    or stem(path) in COMPOSITES
                    or stem(path) == stem(target)
                ):
                    self.say(path, line, f"sees the kind {name}; any_set.hpp is for that")

    def check_kinds_complete(self):
        if not self.has_register:
            return
        if not self.registered:
            self.say(REGISTER, 1, "includes no header with a KindId id")
        headings = []
        if (self.root / "docs/kinds.md").is_file():
            text = (self.root / "docs/kinds.md").read_text(encoding="utf-8")
            headings = [line for line in text.splitlines() if line.startswith("#")]
        for path, name in [(path, name) for path in self.kinds for name in self.kinds[path]]:
            if path not in self.registered:
                self.say(path, 1, f"the kind '{name}' is not in {REGISTER}")
                continue
            test = f"tests/sets/kinds/{stem(path)}_test.cpp"
            if (self.root / "tests").is_dir() and not (self.root / test).is_file():
                self.say(path, 1, f"the kind '{name}' has no test of its own, {test}")
            word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE)
            if (self.root / "docs").is_dir() and not any(map(word.search, headings)):
                self.say(path, 1, f"the kind '{name}' has no heading in docs/kinds.md")
            self.check_kind_listed(path)

    # The lists of kinds that people write: the public names and the numbers in files.
    def check_kind_listed(self, path):
        public = self.sources.get(PUBLIC + "kinds.hpp")
        if public and f"// {stem(path)}.hpp\n" not in public.text:
            line = f"using detail::...;  // {stem(path)}.hpp"
            self.say(path, 1, f"has no name in {PUBLIC}kinds.hpp: {line}")
        format_file = self.root / "docs/format.md"
        numbered = format_file.read_text(encoding="utf-8") if format_file.is_file() else None
        for number, name in KIND_NUMBER.findall(self.sources[path].text):
            if numbered and int(number) < FIRST_FORM and f"{number} {name}" not in numbered:
                self.say(path, 1, f"docs/format.md does not list the kind number '{number} {name}'")

    def check_intrinsics(self):
        for source in self.sources.values():
            if KERNEL.match(source.path):
                self.check_kernel_is_plain(source)
                continue
            if source.path in NATIVE:
                continue
            for line, _, name in source.includes:
                if INTRINSIC_HEADER.search(name):
                    self.say(source.path, line, f"{name} belongs in bloomery/bits/kernels_*.cpp")
            for line, word in source.lines_with(INTRINSIC):
                self.say(source.path, line, f"{word} belongs in bloomery/bits/kernels_*.cpp")

    def check_kernel_is_plain(self, kernel):
        """No template that other files share may reach a kernel file, directly or through a header
        of ours. Those in an unnamed namespace are its own: no other file can get their code.
        """
        seen, waiting = set(), [kernel]
        while waiting:
            source = waiting.pop()
            for line, target, name in source.includes:
                if target is None and name not in PLAIN_HEADERS:
                    self.say(
                        source.path, line, f"<{name}> has inline code and reaches {kernel.path}"
                    )
                elif target in self.sources and target not in seen:
                    seen.add(target)
                    waiting.append(self.sources[target])
            own = source.unnamed_namespaces()
            for line, _ in source.lines_with(re.compile(r"\btemplate\b")):
                if line in own:
                    continue
                self.say(source.path, line, f"a template reaches {kernel.path}")

    def check_words(self):
        """mmap, threads, printing and exit, each in its room."""
        for source in self.sources.values():
            path, room = source.path, source.room
            if room in FREE or room == "examples":
                continue
            if path not in MAPS_FILES:
                for line, _ in source.lines_with(MMAP):
                    self.say(path, line, "mmap belongs in " + ", ".join(MAPS_FILES))
            if room == "tools":
                continue
            if room != "engines":
                for line, word in source.lines_with(THREAD):
                    self.say(path, line, f"{word}: threads start in engines/ and tools/ only")
            for line, _ in source.lines_with(PRINT):
                self.say(path, line, "the library never prints; return an Error")
            # What would be thrown, where there are no exceptions.
            if path == "include/bloomery/error.hpp":
                continue
            for line, _ in source.lines_with(EXIT):
                self.say(path, line, "the library never ends the program; return an Error")

    def check_errors_name_no_flag(self):
        """What the library says is read by those who have no command line, too."""
        for source in self.sources.values():
            if source.room not in [*LIBRARY, "door"]:
                continue
            for match in NOT_CODE.finditer(source.text):
                if OWN_FLAG.search(match[0]) and match[0].startswith('"'):
                    line = source.text.count("\n", 0, match.start()) + 1
                    self.say(source.path, line, "the library names no flag; tools/cli adds it")

    def check_text(self):
        for source in self.sources.values():
            lines = source.text.splitlines()
            limit = MOST_LINES[Path(source.path).suffix]
            if len(lines) > limit:
                self.say(source.path, limit + 1, f"{len(lines)} lines; the limit is {limit}")
        for path in self.files:
            kind = text_kind(path)
            if kind is None:
                continue
            text = (self.root / path).read_bytes().decode("utf-8", errors="replace")
            for number, line in enumerate(text.split("\n"), 1):
                if not line.isascii():
                    self.say(path, number, "only ASCII in sources")
                if kind == "code" and len(line) > MOST_COLUMNS:
                    self.say(path, number, f"{len(line)} columns; the limit is {MOST_COLUMNS}")

    def check_folders(self):
        for folder in self.folders:
            if os.path.basename(folder) in DRAWERS:
                self.say(folder, 1, "a folder has the name of what is in it, not of a drawer")
        for path in self.sources:
            parts = path.split("/")
            if parts[0] == "bloomery" and (len(parts) < 3 or parts[1] not in LIBRARY):
                self.say(path, 1, f"bloomery/{parts[1]} is not a room of the house")
        held = collections.Counter(os.path.dirname(path) for path in self.files)
        for folder, count in held.items():
            if count > MOST_FILES and not folder.startswith(FULL_ROOMS):
                self.say(folder, 1, f"{count} files; more than {MOST_FILES} hold two ideas")

    def check_public_line(self):
        """What users see is in bloomery, all else in bloomery::detail; examples prove the line."""
        for path, source in self.sources.items():
            if path.startswith(("examples/", "adapters/", "python/")):
                for line, target, name in source.includes:
                    if target and target.startswith(("bloomery/", PUBLIC + "detail/")):
                        self.say(path, line, f"{name} is not on the public line")
            if path.startswith(PUBLIC):
                for line, target, name in source.includes:
                    if target and target.startswith("bloomery/"):
                        self.say(path, line, f"{name} is private and not installed")
            behind = path.startswith(("bloomery/", PUBLIC + "detail/")) and path.endswith(".hpp")
            if behind and path not in COMPLETES_PUBLIC:
                public = re.compile(r"^namespace bloomery(::inline v0)? {")
                for line, _ in source.lines_with(public):
                    self.say(path, line, "what is not public is in bloomery::inline v0::detail")

    def check_plain_words(self):
        for path, line, sentence in check_words.check(self.root, self.files):
            self.say(path, line, sentence)

    def check_tests_built(self):
        """tests/CMakeLists.txt picks tests up by name and folder."""
        for path in self.files:
            unbuilt = path.startswith(("tests/consumer/", "tests/must_not_compile/"))
            if path.endswith("_test.cpp") and (not path.startswith("tests/") or unbuilt):
                self.say(path, 1, "a test in this folder is not in the build")
            if path.endswith("_test.py") and not re.match(r"tests/(tools/\w+|python)/[^/]+$", path):
                self.say(path, 1, "a Python test outside tests/tools and tests/python is not run")
        gtest = re.compile(r"^\s*(TYPED_)?TEST(_F|_P)?\s*\(")
        for path, source in self.sources.items():
            if path.endswith(".cpp") and not path.endswith("_test.cpp"):
                for line, _ in source.lines_with(gtest)[:1]:
                    self.say(path, line, "has tests, but only *_test.cpp files are in the build")

    def check_fuzzers(self):
        """Each fuzzer has inputs to begin with, each of these a fuzzer, and each kind an image."""
        fuzzers = {stem(path).removesuffix("_fuzz") for path in self.files
                   if re.match(r"tests/fuzz/\w+_fuzz\.cpp$", path)}
        corpora = set()
        for path in self.files:
            if path.endswith("_fuzz.cpp") and not path.startswith("tests/fuzz/"):
                self.say(path, 1, "a fuzzer outside tests/fuzz is not in the build")
            if match := re.match(r"tests/fuzz/(corpus|dictionaries)/(\w+)", path):
                if match[2] not in fuzzers:
                    self.say(path, 1, f"there is no tests/fuzz/{match[2]}_fuzz.cpp")
                if match[1] == "corpus":
                    corpora.add(match[2])
        for path, names in self.kinds.items():
            for name in names if fuzzers else []:
                if f"tests/fuzz/corpus/image/{name}" not in self.files:
                    self.say(path, 1, f"the kind '{name}' has no image in tests/fuzz/corpus/image")
        for target in sorted(fuzzers - corpora):
            self.say(f"tests/fuzz/{target}_fuzz.cpp", 1,
                     f"has no inputs in tests/fuzz/corpus/{target}")

    def check_headers_alone(self):
        compiler = os.environ.get("CXX", "c++")

        def compile_alone(path):
            ran = subprocess.run(
                [compiler, "-std=c++20", "-fsyntax-only", "-Iinclude", "-I.", "-x", "c++", "-"],
                # Twice: a header without a guard fails here too.
                input=f"#include <{path.removeprefix('include/')}>\n" * 2,
                cwd=self.root,
                env={**os.environ, "LC_ALL": "C"},
                capture_output=True,
                text=True,
            )
            if ran.returncode == 0:
                return None
            errors = [line for line in ran.stderr.splitlines() if "error:" in line]
            return errors[0].strip() if errors else ran.stderr.strip()[:200]

        # Those behind the public line are included first by the source files of their name.
        headers = [
            path
            for path in self.sources
            if path.endswith(".hpp")
            and path.startswith(("include/", "adapters/"))
            and not path.startswith(PUBLIC + "detail/")
        ]
        with concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
            for path, error in zip(headers, pool.map(compile_alone, headers)):
                if error:
                    self.say(path, 1, f"does not compile alone: {error}")


def refusal(source, target):
    """Why `source` may not include `target`, or None."""
    room, there = source.room, room_of(target)
    if target in FOR_ALL or there == room:
        return None
    if source.path in FOR_ALL:
        return f"{source.path} is for all and includes none of us, not {target}"
    if there == "bench" and room == "tools":
        return None  # `bloomery bench` measures with the code of the benchmark
    if there in FREE:
        return f"{target} is for tests and benchmarks only"
    if target == "tools/inside.hpp" and room == "bench":
        return None
    if there in USERS:
        return f"{room} may not include {there}/: it is not to the left"
    if there == "door":
        if room in ["engines", "remote", *USERS]:
            return None
        return f"{target} is a front door: {room} is behind it"
    if there not in LIBRARY:
        return None  # check_folders speaks about it
    threads = ("detail/engines/parallel.hpp", "detail/engines/build.hpp")
    if room == "door" and target.removeprefix(PUBLIC) in threads:
        return None  # Set starts the threads that a caller asks for
    if room == "door":
        reach = LIBRARY.index(FRONT_DOOR_REACHES)
    elif room in LIBRARY:
        reach = LIBRARY.index(room)
    else:
        reach = len(LIBRARY)
    if LIBRARY.index(there) > reach:
        return f"{room} may not include {there}/: it is not to the left"
    return None


def stem(path):
    return Path(path).stem


def text_kind(path):
    """'code' has a column limit, 'text' must only be ASCII, None is not looked at."""
    name = os.path.basename(path)
    if path.endswith((".hpp", ".cpp", ".py", ".sh")) or path.startswith("scripts/"):
        return "code"
    if path.endswith((".cmake", ".in", ".json", ".md", ".yml")) or name == "CMakeLists.txt":
        return "text" if not path.startswith("tests/") or name == "CMakeLists.txt" else None
    return None


def walk(root):
    files, folders = [], []
    for place, inner, names in os.walk(root):
        if "CMakeCache.txt" in names and Path(place) != root:
            inner.clear()  # a build directory under whatever name; CMake writes sources there
            continue
        inner[:] = sorted(
            d for d in inner if not d.startswith(".") and d not in ("build", "__pycache__")
        )
        here = os.path.relpath(place, root).replace(os.sep, "/")
        prefix = "" if here == "." else here + "/"
        folders += [prefix + d for d in inner]
        files += [prefix + n for n in sorted(names) if not n.startswith(".")]
    return files, folders


def main():
    parser = argparse.ArgumentParser(description="Is every line in its room?")
    parser.add_argument("--headers", action="store_true", help="compile each header alone")
    parser.add_argument("root", nargs="?", default=Path(__file__).resolve().parent.parent)
    options = parser.parse_args()

    house = House(Path(options.root))
    house.check_layers()
    house.check_kinds_apart()
    house.check_kinds_complete()
    house.check_intrinsics()
    house.check_words()
    house.check_errors_name_no_flag()
    house.check_text()
    house.check_folders()
    house.check_public_line()
    house.check_plain_words()
    house.check_tests_built()
    house.check_fuzzers()
    if options.headers:
        house.check_headers_alone()

    # Two kernels may reach the same header, so a finding can come twice.
    for finding in dict.fromkeys(house.findings):
        print(finding)
    return 1 if house.findings else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Passes when every public header opens with an example that compiles, and with its contract.

    header_examples.py COMPILER ROOT [FLAG...]

The comment that opens a header has a line `// Example:`, followed by lines indented by four blanks;
and lines that begin with `Errors:`, `Limits:` and `Threads:`. All examples are compiled as one,
each as the body of a function; what begins with `namespace` or `struct` stands before it. They may
use what CONTEXT declares, and return an Error.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CONTEXT = """\
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>
%s
namespace {
using namespace bloomery;
[[maybe_unused]] void crawl(std::string_view) {}
}
"""
FUNCTION = """\
namespace example_%d {
#line %d "%s"
%s
[[maybe_unused]] Result<void> example([[maybe_unused]] std::string_view url,
                                      [[maybe_unused]] const std::vector<std::string>& urls,
                                      [[maybe_unused]] const std::vector<std::string_view>& lines) {
#line %d "%s"
%s
  return {};
}
}
"""
CONTRACT = ("Errors", "Limits", "Threads")
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable"]


def opening(header):
    lines = []
    for line in header.read_text(encoding="ascii").splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:])
    return lines


def example(lines):
    """The number of its first line, from 1, and its lines. A drawing after it is not part of
    it: an empty line ends it, unless code goes on behind that."""
    first = lines.index(" Example:") + 1
    end = first
    while end < len(lines) and (not lines[end] or lines[end].startswith("    ")):
        end += 1
    code = [line[4:] for line in lines[first:end]]
    pieces = re.split(r"\n\n", "\n".join(code).strip("\n"))
    kept = [piece for i, piece in enumerate(pieces) if i == 0 or re.search(r"[;{}]$", piece, re.M)]
    return first + 1, "\n\n".join(kept).split("\n")


def taken_apart(code):
    """Includes, what stands before the function, and what is in it; lines keep their numbers."""
    includes, before, inside, outside = [], [], [], False
    for line in code:
        outside = outside or line.startswith(("namespace ", "struct "))
        is_include = line.startswith("#include")
        if is_include:
            includes.append(line)
        before.append(line if outside else "")
        inside.append("" if outside or is_include else line)
        outside = outside and not re.match(r"}", line)
    return includes, before, inside


def main():
    compiler, root, *flags = sys.argv[1:]
    public = Path(root) / "include" / "bloomery"
    rooms = ("*.hpp", "text/*.hpp", "redis/*.hpp")
    headers = sorted(header for room in rooms for header in public.glob(room))
    wrong, includes, functions = [], [], []
    for number, header in enumerate(headers):
        lines = opening(header)
        name = header.relative_to(root)
        wrong += [f"{name}: its opening comment has no line '{word}: ...'" for word in CONTRACT
                  if not any(line.startswith(f" {word}:") for line in lines)]
        if " Example:" not in lines:
            wrong.append(f"{name}: its opening comment has no line 'Example:'")
            continue
        first, code = example(lines)
        more, before, inside = taken_apart(code)
        includes += [f"#include <{header.relative_to(public.parent)}>", *more]
        functions.append(FUNCTION % (number, first, name, "\n".join(before), first, name,
                                     "\n".join(inside)))
    if len(headers) < 20:
        wrong.append(f"only {len(headers)} public headers were found")
    if not wrong:
        with tempfile.TemporaryDirectory() as directory:
            source = Path(directory) / "examples.cpp"
            source.write_text(CONTEXT % "\n".join(dict.fromkeys(includes)) + "".join(functions),
                              encoding="ascii")
            # Named again, the default directory changes its place in the search order.
            flags = [flag for flag in flags if flag not in ("-I", "-I/usr/include")]
            ran = subprocess.run([compiler, *FLAGS, f"-I{public.parent}", *flags, str(source)],
                                 env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True,
                                 errors="replace")
            if ran.returncode != 0:
                wrong.append(ran.stderr[:8000])
    sys.exit("\n".join(wrong) if wrong else 0)


main()

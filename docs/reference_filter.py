#!/usr/bin/env python3
"""Prints a header with our comments as Doxygen wants them: `// text` above a declaration as
`/// text`, `// text` behind one as `///< text`, the comment that opens a header as the file's.
In place of `using detail::Name;` stands what Name is, as if it were declared there.

    reference_filter.py HEADER
"""
import pathlib
import re
import sys

INCLUDE = pathlib.Path(__file__).resolve().parent.parent / "include" / "bloomery"

# Of a comment: what it says of threads, errors and limits is a paragraph of its own.
HEADED = re.compile(r"^(Contract|Errors|Example|Limits|See|Threads): *(.*)$")
# Of a member that is no template Doxygen drops what it requires.
REQUIRES = re.compile(r"^( *).*\)(?: const| ?&&?)* requires(?! requires) ?"
                      r"\(?(.*?)\)?(?: [{:].*|;.*)?$")
SHOWN = re.compile(r"^using detail::(\w+);(?: +// (.*))?$")


def plain(text):
    """Without what Doxygen would take for commands, tags or links."""
    return re.sub(r"([<>\\@#%&])", r"\\\1", text).replace("::", r"\::")


def comment(text):
    if text.startswith("  "):  # an example or a drawing: four blanks make it a code block
        return "  " + text if not text.startswith("    ") else text
    if headed := HEADED.match(text):
        return rf"\par {headed[1]}" + "\n/// " + plain(headed[2])
    return plain(text)


def lines_of(header):
    return pathlib.Path(header).read_text(encoding="utf-8").split("\n")


def opening(lines):
    """The comment that opens a header."""
    end = next(i for i, line in enumerate(lines) if not line.startswith("//"))
    return lines[:end]


def block(lines, first):
    """The declaration that begins there, to its end."""
    end = r"\};$" if lines[first].endswith("{") else r".*;$"
    last = next(i for i in range(first, len(lines)) if re.match(end, lines[i]))
    return lines[first:last + 1]


def declared(name):
    """The comment above the declaration of a name of detail, the declaration, and its header."""
    declaration = re.compile(
        rf"((enum )?(class|struct) {name}\b[^;]*\{{|using {name} =|[\w:<>]+ {name}\()")
    for header in sorted((INCLUDE / "detail").rglob("*.hpp")):
        lines = lines_of(header)
        for i, line in enumerate(lines):
            if not declaration.match(line):
                continue
            above = i - 1 if lines[i - 1].startswith("template") else i
            first = above
            while lines[first - 1].startswith("//"):
                first -= 1
            return lines[first:above], block(lines, i), lines
    sys.exit(f"reference_filter.py: no header below detail declares {name}")


def shown(name, said):
    """What stands for `using detail::name;  // said`."""
    above, lines, header = declared(name)
    if not above:
        is_header = said is None or said.endswith(".hpp")
        above = opening(header) if is_header else ["// " + said]
    # A kind that is a template with its law has the members of the template.
    if law := re.match(rf"using {name} = (\w+)<(\w+)>;", lines[0]):
        text = "\n".join(declared(law[1])[1])
        lines = re.sub(r"\bLaw\b", law[2], re.sub(rf"\b{law[1]}\b", name, text)).split("\n")
    return above + lines + [""]


def first_to_show(name):
    """The public header that shows a name: the first, where several have it."""
    using = re.compile(rf"^using detail::{name};", re.MULTILINE)
    public = [header for header in sorted(INCLUDE.rglob("*.hpp")) if "detail" not in header.parts]
    return next(header for header in public if using.search(header.read_text(encoding="utf-8")))


class Scopes:
    """Whether a line is inside a function: comments there are nobody's reference."""

    def __init__(self):
        self.open = []
        self.before = ""

    def in_function(self):
        return "function" in self.open

    def between(self):
        """Whether no declaration has begun."""
        return not re.sub(r"(public|private|protected):", "", self.before).strip()

    def pass_line(self, line):
        line = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'|//.*', "", line)
        if line.startswith("#"):
            return
        for mark in re.findall(r"[{};]|[^{};]+", line + " "):
            if mark == "{":
                head = re.sub(r"^\s*template\s*<.*?>(?=\s+[a-z])", "", self.before)
                is_scope = re.match(r"\s*((public|private|protected):)?\s*(static constexpr )?"
                                    r"(inline )?(namespace|class|struct|union|enum)\b", head)
                self.open.append("scope" if is_scope else "function")
            elif mark == "}" and self.open:
                self.open.pop()
            self.before = "" if mark in "{};" else self.before + mark


path = pathlib.Path(sys.argv[1]).resolve()
lines = []
for line in lines_of(path):
    if using := SHOWN.match(line):
        if first_to_show(using[1]) == path:
            lines += shown(using[1], using[2])
    else:
        lines.append(line)

if lines[0].startswith("//"):
    print("/// \\file\n///")
previous_code = True
scopes = Scopes()
for line in lines:
    line = re.sub(r"^namespace bloomery::inline v0\b", "namespace bloomery", line)
    alone = re.match(r"^(\s*)// ?(.*)$", line)
    behind = re.match(r"^(.*[;,])  // (.*)$", line)
    inside = scopes.in_function()
    if inside:
        print(line)
    elif alone:
        text = alone[2]
        # A continuation line of a paragraph is indented under it.
        if re.match(r"^ {9}\S", text) and not previous_code:
            text = text.strip()
        code = text.startswith("  ")
        previous_code = code or not text
        print(f"{alone[1]}/// {comment(text)}")
    else:
        previous_code = True
        if scopes.between() and (required := REQUIRES.match(line)):
            print(f"{required[1]}/// Only where {plain(required[2])}.")
        print(f"{behind[1]}  ///< {plain(behind[2])}" if behind else line)
    scopes.pass_line(line)

#!/usr/bin/env python3
"""Prints a header with our comments as Doxygen wants them: `// text` above a declaration as
`/// text`, `// text` behind one as `///< text`, the comment that opens a header as the file's.

    reference_filter.py HEADER
"""
import re
import sys

# Of a comment: what it says of threads, errors and limits is a paragraph of its own.
HEADED = re.compile(r"^(Contract|Errors|Example|Limits|See|Threads): *(.*)$")


def plain(text):
    """Without what Doxygen would take for commands, tags or links."""
    return re.sub(r"([<>\\@#%&])", r"\\\1", text).replace("::", r"\::")


def comment(text):
    if text.startswith("  "):  # an example or a drawing: four blanks make it a code block
        return "  " + text if not text.startswith("    ") else text
    if headed := HEADED.match(text):
        return rf"\par {headed[1]}" + "\n/// " + plain(headed[2])
    return plain(text)


lines = open(sys.argv[1], encoding="utf-8").read().split("\n")
if lines[0].startswith("//"):
    print("/// \\file\n///")
previous_code = True
for line in lines:
    line = re.sub(r"^namespace bloomery::inline v0\b", "namespace bloomery", line)
    alone = re.match(r"^(\s*)// ?(.*)$", line)
    behind = re.match(r"^(.*[;,])  // (.*)$", line)
    if alone:
        text = alone[2]
        # A continuation line of a paragraph is indented under it.
        if re.match(r"^ {9}\S", text) and not previous_code:
            text = text.strip()
        code = text.startswith("  ")
        previous_code = code or not text
        print(f"{alone[1]}/// {comment(text)}")
    else:
        previous_code = True
        print(f"{behind[1]}  ///< {plain(behind[2])}" if behind else line)

#!/usr/bin/env python3
"""Runs every example of the papers and compares what it prints with what is shown.

    BLOOMERY=path/to/bloomery recipes_test.py [PAPER:WORD...]      sections with that word only

A fenced block with `$ ` lines is an example; all others are only read:

    $ printf 'a\\nb\\na\\n' |          a command for sh; `> ` lines after it go on with it
    >   bloomery dedup
    a                               what comes on standard output and standard error
    b

The examples of a section (a heading of two or three #) are run in order, in one empty directory,
in which scripts/run is the command too. `...` stands for any text in a line, alone for any lines,
and a time that a report tells may be another.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

from transcript_test import SECONDS_PER_COMMAND, binary_to_test, lines_match, split, stage

SOURCE = Path(__file__).resolve().parents[3]
PAPERS = ("README.md", "docs/cli.md", "docs/live.md", "docs/scale.md")
# Papers must not lose their examples unnoticed: a fence that is misread would test nothing.
LEAST_EXAMPLES = {"README.md": 7, "docs/cli.md": 100, "docs/live.md": 4, "docs/scale.md": 4}
REPORTED_TIME = re.compile(r"((?:mb per second|seconds) +)[0-9.,]+((?: m?s)?)")


class Example:
    def __init__(self, line, command):
        self.line, self.command, self.shown = line, command, []


def examples_of(block):
    """`block`: numbered lines between two fences. A block without a command has no examples."""
    examples = []
    for number, text in block:
        if text.startswith("$ "):
            examples.append(Example(number, text[2:]))
        elif examples and not examples[-1].shown and text.startswith("> "):
            examples[-1].command += "\n" + text[2:]
        elif examples:
            examples[-1].shown.append(text)
        elif any(later.startswith("$ ") for _, later in block):
            raise SystemExit(f"line {number}: text before the first command of a block")
    return examples


def sections_of(paper):
    """Headings with their examples, in order."""
    sections = [("the beginning", [])]
    block = None
    for number, text in enumerate(paper.read_text(encoding="utf-8").split("\n"), 1):
        if text.lstrip().startswith("```"):
            if block is not None:
                sections[-1][1].extend(examples_of(block))
            block = [] if block is None else None
        elif block is not None:
            block.append((number, text))
        elif match := re.match(r"#{2,3} (.+)", text):
            sections.append((match[1], []))
    if block is not None:
        raise SystemExit(f"{paper.name}: a fence is not closed")
    return [section for section in sections if section[1]]


def without_times(lines):
    return [REPORTED_TIME.sub(r"\g<1>0\g<2>", line) for line in lines]


def run_example(example, folder, environment):
    ran = subprocess.run(
        ["sh", "-c", example.command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS_PER_COMMAND,
    )
    # Exit code 1 is an answer (nothing found); what is worse must show something.
    told = ran.returncode < 2 or bool(example.shown)
    out = split(ran.stdout)
    if told and lines_match(without_times(example.shown), without_times(out)):
        return None
    indented = lambda lines: "".join(f"    {line}\n" for line in lines)
    return (
        f"{indented(['$ ' + example.command])}  shown\n{indented(example.shown)}"
        f"  got [exit {ran.returncode}]\n{indented(out)}"
    )


def run_section(name, examples, binary):
    failures = []
    with stage(binary) as (folder, environment):
        (folder / "scripts").mkdir()
        os.symlink(folder.parent / "tools" / "bloomery", folder / "scripts" / "run")
        for example in examples:
            if failure := run_example(example, folder, environment):
                failures.append(f"{name}, line {example.line}:\n{failure}")
    return failures


def main():
    binary = binary_to_test()
    failures, ran = [], 0
    for name in PAPERS:
        sections = sections_of(SOURCE / name)
        found = sum(len(examples) for _, examples in sections)
        if found < LEAST_EXAMPLES[name]:
            failures.append(f"{name}: only {found} examples were found\n")
        for heading, examples in sections:
            title = f"{name}: {heading}"
            if sys.argv[1:] and not any(word in title for word in sys.argv[1:]):
                continue
            bad = run_section(name, examples, binary)
            failures += bad
            ran += len(examples)
            print(f"{title}: {'FAILED' if bad else f'{len(examples)} ok'}")
    if not ran:
        raise SystemExit("no example to run")
    print("".join(failures), end="")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs the transcripts of the command and compares what it says, word for word.

    BLOOMERY=path/to/bloomery transcript_test.py [NAME...]

A transcript (transcripts/*.txt) is run in an empty directory of its own:

    # a comment
    $ printf 'a\\nb\\na\\n' | bloomery dedup        a command for sh
    a                                             what comes on standard output
    b
    2> bloomery: warning: ...                     what comes on standard error
    [exit 0]                                      needed after every command

    <number>     a number            <bytes>  a size with its unit
    ...          any text in a line; alone on a line: any lines
    <json a b>   a line that is a JSON object with at least these keys
"""
import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
WILDCARD = re.compile(r"(<number>|<bytes>|\.\.\.)")
PATTERNS = {
    "<number>": r"[-+0-9.,]+(?:e[-+]?\d+)?",
    "<bytes>": r"[0-9.]+ (?:B|KiB|MiB|GiB|TiB)",
    "...": r".*",
}
SECONDS_PER_COMMAND = 50


class Step:
    def __init__(self, line, command):
        self.line, self.command = line, command
        self.out, self.err, self.exit = [], [], None


def read_steps(path):
    steps = []
    for number, text in enumerate(path.read_text(encoding="ascii").split("\n"), 1):
        if text.startswith("$ "):
            steps.append(Step(number, text[2:]))
        elif match := re.fullmatch(r"\[exit (\d+)\]", text):
            steps[-1].exit = int(match[1])
        elif not steps or steps[-1].exit is not None:
            if text and not text.startswith("#"):
                raise SystemExit(f"{path.name}:{number}: text that belongs to no command")
        elif text == "2>" or text.startswith("2> "):
            steps[-1].err.append(text[3:])
        else:
            steps[-1].out.append(text)
    for step in steps:
        if step.exit is None:
            raise SystemExit(f"{path.name}:{step.line}: no [exit N] after this command")
    return steps


def line_matches(expected, actual):
    if match := re.fullmatch(r"<json ([\w ]+)>", expected):
        try:
            return set(match[1].split()) <= set(json.loads(actual))
        except ValueError:
            return False
    parts = [PATTERNS.get(part, re.escape(part)) for part in WILDCARD.split(expected)]
    return re.fullmatch("".join(parts), actual) is not None


def lines_match(expected, actual):
    if not expected:
        return not actual
    if expected[0] == "...":
        return any(lines_match(expected[1:], actual[i:]) for i in range(len(actual) + 1))
    return (
        bool(actual)
        and line_matches(expected[0], actual[0])
        and lines_match(expected[1:], actual[1:])
    )


def split(raw):
    lines = raw.decode("latin-1").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def run_step(step, folder, environment):
    ran = subprocess.run(
        ["sh", "-c", step.command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS_PER_COMMAND,
    )
    out, err = split(ran.stdout), split(ran.stderr)
    good = lines_match(step.out, out) and lines_match(step.err, err) and step.exit == ran.returncode
    if good:
        return None
    shown = lambda lines, mark: "".join(f"    {mark}{line}\n" for line in lines)
    return (
        f"    $ {step.command}\n"
        f"  expected [exit {step.exit}]\n{shown(step.out, '')}{shown(step.err, '2> ')}"
        f"  got [exit {ran.returncode}]\n{shown(out, '')}{shown(err, '2> ')}"
    )


@contextlib.contextmanager
def stage(binary):
    """An empty directory in which `bloomery` is that binary: its path, and the environment."""
    with tempfile.TemporaryDirectory(prefix="bloomery-transcript-") as place:
        tools, folder = Path(place, "tools"), Path(place, "here")
        tools.mkdir()
        folder.mkdir()
        # A script, not a link: the name in messages must not depend on where the binary is.
        command = tools / "bloomery"
        command.write_text(f'#!/bin/sh\nexec {shlex.quote(binary)} "$@"\n')
        command.chmod(0o755)
        environment = {
            "PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin",
            "LC_ALL": "C",
            "HOME": str(folder),
        }
        for name, value in os.environ.items():
            if name.startswith(("ASAN_", "UBSAN_", "TSAN_", "LD_")):
                environment[name] = value
        yield folder, environment


def run_transcript(path, binary):
    failures = []
    with stage(binary) as (folder, environment):
        for step in read_steps(path):
            if failure := run_step(step, folder, environment):
                failures.append(f"{path.name}:{step.line}:\n{failure}")
    return failures


def binary_to_test():
    binary = os.environ.get("BLOOMERY")
    if not binary:
        raise SystemExit("set BLOOMERY to the path of the command")
    return str(Path(binary).resolve())


def main():
    binary = binary_to_test()
    paths = sorted((HERE / "transcripts").glob("*.txt"))
    if names := sys.argv[1:]:
        paths = [path for path in paths if path.stem in names]
    if not paths:
        raise SystemExit("no transcript to run")
    failures = []
    for path in paths:
        found = run_transcript(path, binary)
        failures += found
        print(f"{path.stem}: {'FAILED' if found else 'ok'}")
    print("".join(failures), end="")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

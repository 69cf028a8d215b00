"""What the help of the command shows: its commands, and the flags of each."""
import os
import re
import subprocess
import sys

BINARY = os.environ.get("BLOOMERY") or sys.exit("set BLOOMERY to the path of the command")


def bloomery(*words):
    return subprocess.run([BINARY, *words], capture_output=True, text=True, check=True).stdout


def commands():
    return re.findall(r"(?m)^  (\w+) +\w", bloomery("-h"))


def flags_of(command):
    """The names of each flag: [{"-o", "--output"}, {"--json"}, ...]."""
    shown = bloomery(command, "-h").split("\n\n", 2)[2]
    heads = re.findall(r"(?m)^ {2,6}(-[^\n]*?)(?:  |$)", shown)
    return [set(re.findall(r"(?<![\w-])--?[\w-]+", head)) for head in heads]

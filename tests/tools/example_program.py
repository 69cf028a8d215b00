"""Programs of examples/, run from outside as a user would.

    visitors = program("ip_visitors")
    code, printed, said = visitors("--state", directory, log)
"""
import os
import subprocess
from pathlib import Path


def path_of(name):
    return Path(os.environ["BLOOMERY_EXAMPLES"], "example_" + name).resolve()


def program(name):
    """A function that runs it: exit code, standard output as bytes, standard error as text."""

    def run(*words, given=b""):
        ran = subprocess.run([path_of(name), *words], input=given, capture_output=True, timeout=300)
        return ran.returncode, ran.stdout, ran.stderr.decode()

    return run


def count_of(report, name):
    for line in report.splitlines():
        if line.startswith(name + "  "):
            return int(line[len(name) :].split()[0])
    raise AssertionError(f"no {name!r} in {report!r}")

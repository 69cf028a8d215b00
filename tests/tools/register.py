"""The kinds of sets there are, as the command tells them: what a test of every kind goes through.

A new kind is in these lists from the day it is registered.
"""
import json
import os
import subprocess

SURELY_RIGHT = 1e-9


def planned(*more):
    """The rows of `plan`, by kind."""
    words = [os.environ["BLOOMERY"], "plan", "--json", "-n", "1000", "-p", "1%", *more]
    told = subprocess.run(words, capture_output=True, check=True, timeout=60).stdout
    return {row["kind"]: row for row in json.loads(told)["kinds"]}


def hashed():
    """Kinds that take texts, built from one list."""
    return list(planned())


def lossy():
    return [kind for kind, row in planned().items() if row["rate"] > SURELY_RIGHT]


def nearly_exact():
    """Kinds that keep whole hashes."""
    return sorted(set(hashed()) - set(lossy()))


def maps():
    """Exact maps of integers."""
    whole = planned("--range", "0..999")
    return [kind for kind in whole if kind not in planned()]

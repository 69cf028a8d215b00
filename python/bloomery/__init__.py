"""Have I seen this before? Sets of billions of keys in a few bits each.

>>> import bloomery
>>> seen = bloomery.Set(1_000_000, rate=0.001)
>>> seen.add('https://example.org/')        # True: surely new
True
>>> 'https://example.org/' in seen
True

Set, Bitmap and Cascade are the sets; plan and kinds tell what a set would cost;
dedup takes repeats out of a stream. docs/python.md has recipes.
"""
from bloomery._bloomery import (
    BadInput,
    Bitmap,
    Cascade,
    Closed,
    Damaged,
    Error,
    Exists,
    Full,
    Impossible,
    Io,
    Mismatch,
    NoMemory,
    NotFound,
    NotOurs,
    OutOfRange,
    Set,
    Unsound,
    Unsupported,
    __version__,
    kinds,
    plan,
)
from bloomery._dedup import dedup

__all__ = [
    "BadInput",
    "Bitmap",
    "Cascade",
    "Closed",
    "Damaged",
    "Error",
    "Exists",
    "Full",
    "Impossible",
    "Io",
    "Mismatch",
    "NoMemory",
    "NotFound",
    "NotOurs",
    "OutOfRange",
    "Set",
    "Unsound",
    "Unsupported",
    "__version__",
    "dedup",
    "kinds",
    "plan",
]

from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from typing import TypeVar, overload

from bloomery._bloomery import (
    BadInput as BadInput,
    Bitmap as Bitmap,
    Cascade as Cascade,
    Closed as Closed,
    Damaged as Damaged,
    Error as Error,
    Exists as Exists,
    Full as Full,
    Impossible as Impossible,
    Io as Io,
    Mismatch as Mismatch,
    NoMemory as NoMemory,
    NotFound as NotFound,
    NotOurs as NotOurs,
    OutOfRange as OutOfRange,
    Set as Set,
    Unsound as Unsound,
    Unsupported as Unsupported,
    kinds as kinds,
    plan as plan,
)
from bloomery._bloomery import _Key

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

_Thing = TypeVar("_Thing")

__version__: str

@overload
def dedup(
    source: PathLike[str],
    key: Callable[[bytes], _Key] | None = None,
    *,
    seen: Set | None = None,
) -> Iterator[bytes]: ...
@overload
def dedup(
    source: Iterable[_Thing],
    key: Callable[[_Thing], _Key] | None = None,
    *,
    seen: Set | None = None,
) -> Iterator[_Thing]: ...

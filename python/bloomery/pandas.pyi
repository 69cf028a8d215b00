from typing import Any, Literal

from bloomery._bloomery import Set

# Any stands for Series and DataFrame: pandas brings no types of its own.
def duplicated(
    column: Any, seen: Set | None = None, *, missing: Literal["raise", "keep", "drop"] = "raise"
) -> Any: ...
def drop_duplicates(
    frame: Any,
    column: Any,
    seen: Set | None = None,
    *,
    missing: Literal["raise", "keep", "drop"] = "raise",
) -> Any: ...

"""Repeats in a column of pandas, also across frames, files and runs.

>>> import pandas
>>> from bloomery import Set
>>> from bloomery.pandas import drop_duplicates
>>> seen = Set(1000)
>>> monday = pandas.DataFrame({'user': ['ann', 'bob', 'ann'], 'n': [1, 2, 3]})
>>> drop_duplicates(monday, 'user', seen)['n'].tolist()
[1, 2]
>>> tuesday = pandas.DataFrame({'user': ['bob', 'eve'], 'n': [4, 5]})
>>> drop_duplicates(tuesday, 'user', seen)['n'].tolist()
[5]
"""
import numpy

from bloomery._bloomery import Set


def duplicated(column, seen=None, *, missing="raise"):
    """A Series of bool: was this value there before, in the column or in seen?

    seen learns the values; without it a set that is never wrong is made for
    this call. missing: 'raise', or what is said of missing values: 'keep'
    (False for each of them) or 'drop' (True).
    """
    if missing not in ("raise", "keep", "drop"):
        raise ValueError(f"missing is 'raise', 'keep' or 'drop', not {missing!r}")
    if seen is None:
        seen = Set(kind="hash-set")
    absent = column.isna().to_numpy()
    if not absent.any():
        repeats = ~numpy.asarray(seen.add_all(_keys(column)))
    elif missing == "raise":
        raise ValueError(
            f"column {column.name!r} has {int(absent.sum())} missing values: give missing='keep' "
            "or 'drop', or dropna() first"
        )
    else:
        repeats = numpy.full(len(column), missing == "drop")
        repeats[~absent] = ~numpy.asarray(seen.add_all(_keys(column[~absent])))
    return column.__class__(repeats, index=column.index, name=column.name)


def drop_duplicates(frame, column, seen=None, *, missing="raise"):
    """The rows of frame whose value in this column is new; else as duplicated."""
    chosen = frame[column]
    if chosen.ndim != 1:
        raise TypeError(
            f"{column!r} is {chosen.shape[1]} columns, and one is compared: make one of them, such "
            "as pandas.util.hash_pandas_object(frame[names], index=False), for duplicated"
        )
    return frame[~duplicated(chosen, seen, missing=missing)]


def _keys(column):
    """The values of a column without missing ones, as the engine takes them in bulk."""
    if getattr(column.dtype, "tz", None) is not None:  # the same moment in any zone
        column = column.dt.tz_convert(None)
    if str(column.dtype) == "boolean":
        column = column.astype(bool)
    kind = getattr(column.dtype, "kind", "O")
    if kind in "mM":  # dates and spans of time are integers inside, here of one unit
        return column.astype("M8[ns]" if kind == "M" else "m8[ns]").to_numpy().view("i8")
    values = column.to_numpy()
    kind = values.dtype.kind
    if kind == "b":
        return values.astype("u1")
    if kind == "O" and str(column.dtype).startswith(("Int", "UInt")):
        return column.to_numpy(dtype="u8" if str(column.dtype).startswith("U") else "i8")
    return numpy.ascontiguousarray(values)

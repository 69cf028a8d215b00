"""Each thing of a stream the first time it comes."""
import itertools
import os

from bloomery._bloomery import Set

# Lines of a file are judged so many bytes at a time.
BLOCK = 1 << 20


def dedup(source, key=None, *, seen=None):
    """Yield each thing of source whose key was not seen before, in order.

    source: an iterable, an open file, or the path of one as a pathlib.Path,
    whose lines come as bytes. key(thing) is what is compared; without it the
    thing itself, of a line without its newline. seen: the set that remembers,
    and learns; without it a new one that grows and is never wrong (kind
    'hash-set', about 20 bytes a key). With a smaller one, a thing may be left
    out at that set's rate.

    >>> list(dedup(['fig', 'plum', 'fig']))
    ['fig', 'plum']
    >>> list(dedup([1, -2, 2], key=abs))
    [1, -2]
    """
    if isinstance(source, (str, bytes)):
        raise TypeError(
            f"a {type(source).__name__} is one key, and dedup takes many: give a list, an open "
            "file, or pathlib.Path(name) for the lines of a file"
        )
    if seen is None:
        seen = Set(kind="hash-set")
    if isinstance(source, os.PathLike):
        return _of_path(source, key, seen)
    if key is None and hasattr(source, "readline"):
        key = _without_newline
    return _of_things(source, key, seen)


def _without_newline(line):
    return line[:-1] if line[-1:] in ("\n", b"\n") else line


def _of_things(things, key, seen):
    add = seen.add
    if key is None:
        return (thing for thing in things if add(thing))
    return (thing for thing in things if add(key(thing)))


def _of_path(path, key, seen):
    with open(path, "rb") as file:
        while lines := file.readlines(BLOCK):
            keys = map(key or _without_newline, lines)
            yield from itertools.compress(lines, seen.add_all(keys).tolist())

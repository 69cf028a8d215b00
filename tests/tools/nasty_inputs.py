"""Inputs that have broken programs before, made by chance from a seed: lines, CSV records and JSON
lines, with what an independent reader (split, csv, json) says is in them.

Used by differential_test.py. A Record has the bytes that a command prints for it, without the
delimiter, and its parts: a text is bytes, None a JSON null. `parts` is None where there is no key.
"""
import bz2
import csv
import gzip
import io
import json
import lzma
import subprocess
from typing import NamedTuple, Optional

MARK = b"\xef\xbb\xbf"
PIECES = [
    b"", b"", b" ", b"\t", b"a", b"a ", b" a", b"\ta\t", b"ab", b"abc", b"A", b"AB ", b"\r",
          b"a\r", b"a\r\r",
    b"\r\r", b"-", b"--", b"-v", b"--exact", b"-0", b"0", b"00", b"007", b"7", b"+7", b"1e3",
          b"nan", b"null",
    b"\x80", b"\xc3\xa9", b"e\xcc\x81", b"\xc3(", b"\xe9", b"\xc0\xaf", bytes(range(128, 256)),
          MARK, MARK + b"a",
    b"\x1f", b"a\x1fb", b'"', b'""', b'"a', b"a,b", b"a;b", b";", b";;", b"\\n", b"\\", b"*",
          b"a b", b"a  b",
    b" a b", b"a\tb", b"b a", b"x" * 300, b"x" * 301, b"\x0b", b"\x0c a", b"%s", b"{}", b"#",
          b"1:a,",
]
ZEROS = [b"\0", b"a\0", b"a\0b", b"\0a", b"\0\0"]


class Record(NamedTuple):
    raw: bytes
    parts: Optional[tuple]


def lines_of(content, delimiter=b"\n"):
    """The lines of a text, as the documents have it: a mark is not part of the first, UTF-16 with a
    mark is read as UTF-8, and a last line without its delimiter is a line."""
    if content.startswith(MARK):
        content = content[len(MARK):]
    elif content.startswith((b"\xff\xfe", b"\xfe\xff")):
        content = content.decode("utf-16").encode()
    lines = content.split(delimiter)
    return lines[:-1] if lines[-1] == b"" else lines


def ended(lines, delimiter=b"\n"):
    return b"".join(line + delimiter for line in lines)


# -- lines --------------------------------------------------------------------------------------


def drawn(chance, pieces, most=300):
    """Some of the pieces, many of them again: beside each other, far apart, first and last."""
    pool = chance.sample(pieces, k=min(len(pieces), chance.randint(1, 40)))
    lines = chance.choices(pool, k=chance.choice([1, 2, 3, 10, 60, most]))
    if chance.random() < 0.3:
        lines = [line for line in lines for _ in range(chance.randint(1, 3))]
    if chance.random() < 0.3:
        lines += [lines[0]]
    return lines


def joined(chance, lines, delimiter=b"\n"):
    content = ended(lines, delimiter)
    return content[: -len(delimiter)] if chance.random() < 0.4 and content else content


def texts(chance):
    """Contents by name; each is one file."""
    numbers = [b"%d" % chance.randrange(60_000) for _ in range(100_000)]
    long = b"y" * 1_000_000
    wide = ["", "a", "\u00e9", "\U0001f600", "a\r", "\u0a0a", "\u0d0a", "\u2028", "\ufeff", " ",
            "0"]
    sparse = drawn(chance, PIECES + ZEROS) + [b"no zero in this one"] * 9
    found = {
        "empty": b"",
        "one newline": b"\n",
        "only newlines": b"\n" * 500,
        "one byte": b"a",
        "no newline at the end": b"a\nb\na",
        "only carriage returns": b"\r\r\r",
        "CRLF": b"a\r\nb\r\n\r\na\r\nb\r\n\r\n",
        "CRLF and LF": b"a\r\na\nb\nb\r\na\r\r\na\r",
        "a mark": MARK,
        "a mark and a line": MARK + b"a\na\n" + MARK + b"a\n",
        "two marks": MARK + MARK + b"a\na\n",
        "zeros": joined(chance, sparse),
        "only zeros": b"\0" * 300 + b"\n" + b"\0" * 299 + b"\n" + b"\0" * 300 + b"\n",
        "a long line": b"\n".join([long, long + b"z", long[:-1], long, long + b"z"]),
        "many": b"first\n" + ended(numbers) + b"first",
        "utf-16 le": b"\xff\xfe" + "\n".join(chance.choices(wide, k=200)).encode("utf-16-le"),
        "utf-16 be": b"\xfe\xff" + "".join(w + "\n" for w in wide * 3).encode("utf-16-be"),
        "utf-16 of nothing": b"\xff\xfe",
    }
    for turn in range(8):
        found[f"pieces {turn}"] = joined(chance, drawn(chance, PIECES))
    return found


def across_edges(chance, tokens, before=b"", behind=b"", delimiter=b"\n", edges=20):
    """Records around every multiple of 64 KiB, where blocks and pipes end: each token is cut at a
    place that chance chooses. Between them are records that differ: before + number + behind."""
    records, size, number = [], 0, 0
    for edge in range(1 << 16, (edges + 1) << 16, 1 << 16):
        token = chance.choice(tokens)
        start = edge - chance.randrange(len(token) + len(delimiter) + 1)
        while size < start:
            bare = before + b"%d" % number + behind + delimiter
            length = max(len(bare), min(start - size, 4000))
            if 0 < start - size - length < 40:
                length = start - size
            pad = b"x" * (length - len(bare))
            records.append(before + b"%d" % number + pad + behind)
            size, number = size + length, number + 1
        for record in (token, chance.choice(tokens), token):
            records.append(record)
            size += len(record) + len(delimiter)
    return records


PACKERS = {
    "gzip": gzip.compress,
    "gzip in members": lambda data: b"".join(gzip.compress(data[i : i + 999])
                                             for i in range(0, len(data) or 1, 999)),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: program(["zstd", "-qc"], data),
    "lz4": lambda data: program(["lz4", "-qc"], data),
}


def program(words, data):
    return subprocess.run(words, input=data, capture_output=True, check=True, timeout=240).stdout


# -- CSV ----------------------------------------------------------------------------------------

CELLS = ["", "", "", " ", "a", "A", "a ", " a", "b", '"', '""', 'a"b', ",", "a,b", ";", "\n",
         "a\nb", "\r\n", "a\r",
         "\t", "\u00e9", "0", "00", "1", "1.0", "null", "NULL", "\\N", "\x1f", "1:a,", "x" * 70,
         "\ufeff", "="]


def csv_cell(chance, cell, separator):
    must = cell.startswith('"') or any(c in cell for c in ("\r", "\n", separator))
    if not must and chance.random() < 0.7:
        return cell
    return '"' + cell.replace('"', '""') + '"'


def csv_record(chance, row, separator, end):
    spelled = separator.join(csv_cell(chance, cell, separator) for cell in row)
    return (spelled or '""') + ("\r" if end == "\r\n" else "")


class Table(NamedTuple):
    names: list
    head: bytes
    records: list
    content: bytes


def csv_table(chance, separator=","):
    """Records whose parts are all cells, as Python's csv module reads them."""
    names = ["id", "k\u00e9y", 'odd "name"', "with space"]
    ends = chance.choice([["\n"], ["\r\n"], ["\n", "\r\n"]])
    cells = chance.sample(CELLS, k=chance.randint(2, len(CELLS)))
    rows = [[str(i)] + chance.choices(cells, k=3) for i in range(chance.choice([0, 1, 5, 200]))]
    raws = [csv_record(chance, row, separator, chance.choice(ends)) for row in [names, *rows]]
    text = "\n".join(raws) + ("" if chance.random() < 0.3 else "\n")
    read = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    if read != [names, *rows]:
        raise AssertionError("the csv module reads other records than were written")
    records = [Record(raw.encode(), tuple(cell.encode() for cell in row))
               for raw, row in zip(raws[1:], read[1:])]
    content = (MARK if chance.random() < 0.3 else b"") + text.encode()
    return Table(names, raws[0].encode(), records, content)


# -- JSON lines ---------------------------------------------------------------------------------

VALUES = ["", "", "a", "A", " a", "a ", "null", "1", "1.0", "true", "\u00e9", "e\u0301",
          "\U0001f600", "\0", "a\nb", '"',
          "\\", "/", "\t", "\x7f", "\ufeff", "{}", "[", "\ud7ff", "\uffff", "1:a,"]
BARE = ["null", "null", "true", "false", "0", "-0", "1", "1.0", "1e0", "1E0", "10", "-7", "0.1",
        "12345678901234567890123", "1e400"]


def json_character(chance, character):
    short = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\", "/": "\\/"}
    pick = chance.random()
    if pick < 0.4 and character >= " " and character not in '"\\':
        return character
    if pick < 0.6 and character in short:
        return short[character]
    units = character.encode("utf-16-be")
    form = chance.choice(["\\u%02x%02x", "\\u%02X%02X"])
    return "".join(form % (units[i], units[i + 1]) for i in range(0, len(units), 2))


def json_text(chance, value):
    return '"' + "".join(json_character(chance, c) for c in value) + '"'


def json_value(chance):
    pick = chance.random()
    if pick < 0.6:
        return json_text(chance, chance.choice(VALUES))
    return chance.choice(BARE)


def json_line(chance, number):
    blank = lambda: chance.choice(["", "", "", " ", "\t"])
    members = [f'"i"{blank()}:{blank()}{number}', f'"a":{blank()}{json_value(chance)}{blank()}']
    inner = f'"b":{{"x":[],"c":{json_value(chance)}}}'
    listed = [json_value(chance), f'{{"a":{json_value(chance)}}}', json_value(chance)]
    members += [inner, f'"l":[{",".join(listed)}]']
    chance.shuffle(members)
    if chance.random() < 0.1:
        members.append(f'"a":{json_value(chance)}')  # of two names the first counts
    return blank() + "{" + ("," + blank()).join(members) + "}" + blank()


class Bare(str):
    """What is written, of a number."""


def first_names(pairs):
    found = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return found


def json_key(line, path):
    """The value at the path as the json module reads it: bytes, or None for null."""
    value = json.loads(line, object_pairs_hook=first_names, parse_int=Bare, parse_float=Bare)
    for step in path:
        value = value[step]
    if value is None:
        return None
    return {True: b"true", False: b"false"}[value] if isinstance(value, bool) else value.encode()


JSON_PATHS = {".a": ["a"], ".b.c": ["b", "c"], ".l[0]": ["l", 0], ".l[1].a": ["l", 1, "a"],
              '."a"': ["a"]}
NO_JSON = [b"", b" ", b"{", b'{"a":1', b'{"b":1}', b"[]", b"7", b'"a"', b"null", b'{"a":"\xff"}',
           b'{"A":1}']


def json_lines(chance, count):
    return [json_line(chance, i).encode() + chance.choice([b"", b"", b"\r"]) for i in range(count)]

"""Phrases that need a second reading, and the field's words for them (CONTRIBUTING.md, "Words").

    check_words.py [ROOT]        one finding a line, `path:line: sentence`; exit 1 if there is any

Comments, messages and papers are read as running text, so a phrase is found across line ends too.
check_house.py calls this, and with it the test `house`.
"""
import bisect
import re
import subprocess
import sys
from pathlib import Path

# What may be written in a list of the old words, and history.
EXEMPT = {"CHANGELOG.md", "CONTRIBUTING.md"}

PHRASES = [
    (r"can not", "cannot"),
    (r"(?<!there )is none\b(?! of)", "say what is missing, or 'is not a ...'"),
    (r"bytes that are none", "'unexpected data'"),
    (r"(?<!there )is no (?!longer|more|less|larger|smaller|faster|slower|better|worse|other)[a-z]+",
     "'is not a ...'"),
    (r"(?<!there )(are|were) no (?!longer|more|less|larger|smaller|faster|slower)[a-z]+",
     "'are not ...'"),
    (r"shall\b", "must, should, is to"),
    (r"would be no \w+ but", "'would not be a ..., but'"),
    (r"call(s|ed)? for ahead", "prefetch"),
    (r"(memory|blocks|lines|keys)( \w+){0,4} (is|are) called for", "prefetch"),
    (r"memory waits?", "cache miss"),
    (r"(first|second) cache\b(?! line)", "L1 cache, L2 cache"),
    (r"strangers? (that |who )?pass(es)?\b", "false positive"),
    (r"pass(es)? strangers", "has a false-positive rate of"),
    (r"chance that a stranger passes", "false-positive rate"),
    (r"at which strangers pass", "false-positive rate"),
    (r"looks as if\b(?! it)", "is a false positive"),
    (r"(bring|brings|bringing|brought)( \w+){0,3} together( by)?", "partition"),
    (r"in rising order", "in ascending order"),
    (r"in hand\b", "current"),
    (r"\banew\b", "again; rebuild"),
    (r"passed over", "skip"),
    (r"of no use", "is not needed, cannot be used"),
    (r"next to nothing", "almost nothing"),
    (r"one word too many", "unexpected argument"),
    (r"not to be overwritten", "already exists"),
    (r"growing would help", "growing cannot help"),
    (r"(is|are) a journey", "is a round trip"),
    (r"(is|are) spoken to", "connect, send a command"),
    (r"has not (the|that many)\b", "does not have"),
    (r"(?<!empty) or null\b", "or nullptr"),
    (r"(is|was) gone on with", "is resumed"),
    (r"(vouch|vouches) (for|that)", "is responsible for"),
    (r"speaks? for (itself|themselves)", "say what it does"),
    (r"nobody can know", "it is unknown"),
]
RULES = [(re.compile(rf"\b(?:{phrase})", re.IGNORECASE), word) for phrase, word in PHRASES]

# What a line has around its words: indentation, a comment sign, the quotes of a literal.
EDGE = re.compile(r'^\s*(?://+)?\s*"?|"?\s*$')


def running_text(text):
    """The text in one line, and the place in it where each line begins."""
    parts, starts, place = [], [], 0
    for line in text.split("\n"):
        starts.append(place)
        plain = EDGE.sub("", line)
        parts.append(plain)
        # A blank line ends a paragraph: no phrase crosses it.
        gap = " " if plain else "\n"
        parts.append(gap)
        place += len(plain) + 1
    return "".join(parts), starts


def findings_in(path, text):
    flat, starts = running_text(text)
    for rule, word in RULES:
        for match in rule.finditer(flat):
            line = bisect.bisect_right(starts, match.start())
            yield line, f"'{match[0]}' needs a second reading; plain: {word}"


def check(root, files):
    """`path:line: sentence` for each finding in the texts among `files`."""
    found = []
    for path in files:
        if path.endswith((".hpp", ".cpp", ".md")) and path not in EXEMPT:
            text = (Path(root) / path).read_text(encoding="utf-8", errors="replace")
            found += [(path, line, said) for line, said in findings_in(path, text)]
    return sorted(set(found))


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    listed = subprocess.run(
        ["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True
    )
    found = check(root, listed.stdout.splitlines())
    for path, line, said in found:
        print(f"{path}:{line}: {said}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

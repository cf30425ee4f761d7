"""Rules of `.gitignore` files, with git's own meaning: read one file, then ask about one entry of a tree at a time.

An entry is asked about only when no folder above it is left out, so a rule need not look at the folders above.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

NEVER: Final = "(?!)"
POSIX_CLASSES: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t\\n\\r\\f\\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One line: a regular expression for the entry's name or, where the line has a slash, for its whole path."""

    regex: str
    leaves_out: bool
    folders_only: bool
    by_name: bool


@dataclass(frozen=True, slots=True)
class Matcher:
    """Many rules as one expression: the alternatives stand last rule first, so the one that matches is the one that counts."""

    regex: re.Pattern[str]
    ranks: tuple[int, ...]

    @classmethod
    def of(cls, rules: list[tuple[int, Rule]]) -> Matcher | None:
        last_first = rules[::-1]
        if not last_first:
            return None
        joined = "|".join(f"({rule.regex})" for _, rule in last_first)
        return cls(re.compile(joined, re.DOTALL), tuple(rank for rank, _ in last_first))

    def rank(self, text: str) -> int:
        """The place of the last rule that matches; -1 where none does."""
        found = self.regex.fullmatch(text)
        return self.ranks[found.lastindex - 1] if found and found.lastindex else -1


class Rules:
    """The rules of one file. Paths are relative to the folder it is in, with `/` between the parts."""

    def __init__(self, text: str) -> None:
        rules = [rule for line in _lines(text) if (rule := parse_rule(line))]
        self._leaves_out = [rule.leaves_out for rule in rules]
        ranked = list(enumerate(rules))
        self._names = {
            folder: Matcher.of([(n, r) for n, r in ranked if r.by_name and folder >= r.folders_only]) for folder in (False, True)
        }
        self._paths = {
            folder: Matcher.of([(n, r) for n, r in ranked if not r.by_name and folder >= r.folders_only]) for folder in (False, True)
        }

    def verdict(self, path: str, name: str, *, folder: bool) -> bool | None:
        """True to leave the entry out, False to keep it, None where no rule speaks of it."""
        by_name, by_path = self._names[folder], self._paths[folder]
        rank = by_name.rank(name) if by_name else -1
        if by_path:
            rank = max(rank, by_path.rank(path))
        return None if rank < 0 else self._leaves_out[rank]


def _lines(text: str) -> Iterator[str]:
    for line in text.removeprefix("\ufeff").split("\n"):
        yield line.removesuffix("\r")


def parse_rule(line: str) -> Rule | None:
    """The rule of one line; None for a blank line or a comment."""
    line = _without_trailing_spaces(line)
    if not line or line.startswith("#"):
        return None
    leaves_out = not line.startswith("!")
    glob = line if leaves_out else line[1:]
    folders_only = glob.endswith("/")
    glob = glob.removesuffix("/")
    by_name = "/" not in glob
    return Rule(_regex(glob.removeprefix("/")), leaves_out, folders_only, by_name) if glob else None


def _without_trailing_spaces(line: str) -> str:
    kept = re.match(r"(?:\\.|[^\\ ]|\\$| +(?! *$))*", line, re.DOTALL)
    return kept.group() if kept else line


def _regex(glob: str) -> str:
    """The regular expression of a whole glob; one that never matches where git gives the glob up as malformed."""
    try:
        return _glued(list(_stretches(glob)), gap="(?:[^/]+/)")
    except ValueError:
        return NEVER


def _glued(pieces: list[str], *, gap: str) -> str:
    """The pieces with any number of gaps between two of them.

    Every run of gaps but the last is as short as can be and never tried again: the first place where a piece fits is as
    good as any later one, and no glob, however made, takes more than a moment."""
    first, *rest = pieces
    if not rest:
        return first
    *middle, last = rest
    return first + "".join(f"(?>{gap}*?{piece})" for piece in middle) + f"{gap}*{last}"


_STARS = re.compile(r"\*+")


def _stretches(glob: str) -> Iterator[str]:
    """The regular expressions of what stands between the `**` of a glob."""
    stretch: list[str] = []
    pieces = [""]
    at = 0
    while at < len(glob):
        if stars := _STARS.match(glob, at):
            run, begins = len(stars.group()), at == 0 or glob[at - 1] == "/"
            at = stars.end()
            if run > 1 and begins and glob[at : at + 1] in ("", "/"):
                yield "".join(stretch) + _glued(pieces, gap="[^/]")
                stretch, pieces = [], ["" if glob[at:] else "[^/]+"]
                at += 1
            else:
                pieces.append("")
            continue
        if glob[at] == "/":
            stretch += [_glued(pieces, gap="[^/]"), "/"]
            pieces, at = [""], at + 1
            continue
        regex, at = _character(glob, at)
        pieces[-1] += regex
    yield "".join(stretch) + _glued(pieces, gap="[^/]")


def _character(glob: str, at: int) -> tuple[str, int]:
    """What matches one character, and where the glob goes on."""
    match glob[at]:
        case "?":
            return "[^/]", at + 1
        case "[":
            return _character_class(glob, at + 1)
        case "\\":
            if at + 1 == len(glob):
                raise ValueError("a backslash at the end")
            return re.escape(glob[at + 1]), at + 2
        case plain:
            return re.escape(plain), at + 1


_CLASS_MEMBER = re.compile(
    r"\[:(?P<posix>[^\]]*):\]|(?P<low>\\.|[^\\])-(?P<high>\\.|[^\]\\])|(?P<one>\\.|[^\\])",
    re.DOTALL,
)


def _character_class(glob: str, at: int) -> tuple[str, int]:
    negated = glob[at : at + 1] in ("!", "^")
    at += negated
    members: list[str] = []
    while not members or glob[at : at + 1] != "]":
        found = _CLASS_MEMBER.match(glob, at)
        if not found:
            raise ValueError("a class without an end")
        at = found.end()
        members.append(_class_member(found))
    return f"(?!/)[{'^' if negated else ''}{''.join(members)}]", at + 1


def _class_member(found: re.Match[str]) -> str:
    if (posix := found["posix"]) is not None:
        if posix not in POSIX_CLASSES:
            raise ValueError("no such class")
        return POSIX_CLASSES[posix]
    if found["one"]:
        return re.escape(found["one"][-1])
    low, high = found["low"][-1], found["high"][-1]
    return f"{re.escape(low)}-{re.escape(high)}" if low <= high else re.escape(low)

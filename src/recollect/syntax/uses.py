"""The names that a text uses, each once for each definition that it stands in."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

from ..outline import Import, Use
from .found import Found, bare

LONGEST_RECEIVER: Final = 60
ANYTHING: Final = "()"
"""What stands for a receiver that is no name, such as a call with its arguments."""
GIVEN: Final = re.compile(r"(?:::)?<[^<>]*>")
PLAIN: Final = re.compile(r"[\w$@.:>?!*&\\-]+(?:\(\))?")
PATH: Final = re.compile(r"(.*?)(?:\.|::|\\|->)?([^\W\d][\w$]*)\W*", re.DOTALL)

Written = tuple[int, str, str]
"""Where a use stands, the name, and what it is taken of, as it is written."""


def used(written: list[Written], found: Sequence[Found], imports: Sequence[Import]) -> tuple[Use, ...]:
    """The uses, in order, each with the qualified name of what it stands in; without what is called to import."""
    if imports:
        starts, ends = [each.start for each in imports], [each.end for each in imports]
        written = [each for each in written if not (at := bisect_right(starts, each[0])) or each[0] >= ends[at - 1]]
    written.sort()
    uses = {(name, of, within.qualified if within else ""): None for within, (_, name, of) in _located(written, found)}
    return tuple(Use(*use) for use in uses)


def give_bases(bases: list[Written], found: Sequence[Found]) -> None:
    """Add what classes build upon to them; what is said of a class elsewhere is added where the class is."""
    bases.sort()
    named = {each.qualified: each for each in reversed(found) if each.kind != "scope"}
    for within, (_, name, of) in _located(bases, found):
        owner = named.get(within.qualified) if within else None
        if owner is not None:
            owner.bases.append(f"{of}.{name}" if of else name)


def _located(written: Sequence[Written], found: Sequence[Found]) -> Iterable[tuple[Found | None, Written]]:
    stack: list[Found] = []
    at = 0
    for each in written:
        while at < len(found) and found[at].start <= each[0]:
            stack.append(found[at])
            at += 1
        while stack and stack[-1].end <= each[0]:
            stack.pop()
        yield stack[-1] if stack else None, each


def receiver(written: str) -> str:
    """What a name is taken of, where that is a path of names."""
    if written.isidentifier():
        return written
    whole = written.strip().lstrip("\\")
    if whole.startswith("$this"):
        whole = whole[1:]
    if "<" in whole and len(whole) <= LONGEST_RECEIVER:
        whole = GIVEN.sub("", whole)
    return whole if len(whole) <= LONGEST_RECEIVER and PLAIN.fullmatch(whole) else ANYTHING


def path(written: str) -> tuple[str, str] | None:
    """The last name of a path, and what is before it."""
    found = PATH.fullmatch(bare(written))
    return (found[2], found[1].lstrip("\\")) if found else None

"""Canonical ids that are written in a question, such as `customer:a1b2`: those that the store knows, letter by letter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from ..model import Entity
from ..ports import Store
from .words import Span, beginning

MAX_IDS: Final = 100
"""Ids that are looked up: a question has hardly ever more than one, and three ways to read where it ends."""

_ID: Final = re.compile(r"(?<![\w:-])[a-z][a-z0-9_-]*:\S{1,300}")
_POSSESSIVES: Final = ("'s", "’s")


async def ids_in(store: Store, scope: str, text: str) -> list[tuple[Span, Entity]]:
    """The entities whose ids stand in a text, each with its place, in the order of the text. Nothing is asked where there is no id."""
    written = [(found.start(), list(_cuts(found[0]))) for found in _ID.finditer(beginning(text))]
    asked = list(islice(dict.fromkeys(each for _, cuts in written for each in cuts), MAX_IDS))
    known = {each.id: each for each in await store.entities_of(scope, asked)} if asked else {}
    found = ((start, next((each for each in cuts if each in known), None)) for start, cuts in written)
    return [((start, start + len(each)), known[each]) for start, each in found if each is not None]


def _cuts(written: str) -> Iterator[str]:
    """What may be the id, the longest first: as it is written, then without what stands behind it in a sentence, sign by sign."""
    while _ID.fullmatch(written):
        yield written
        if written.endswith(_POSSESSIVES):
            written = written[:-2]
        elif not written[-1].isalnum():
            written = written[:-1]
        else:
            return

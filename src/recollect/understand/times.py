"""A time that a question says in words, of documents: `decisions since March 2025`, `last year's designs`, `runbooks older than a year`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Final

from ..model import STATUSES
from .dates import DATE, PHRASE, Condition, condition
from .nouns import Noun, Token, noun_at
from .said import BEING, ENDS_CLAUSE, PREFIX, STATUS_WORDS, THAT, TOPIC, VERBS, Said, denied, opens, token_at
from .words import vocabulary

_WRITTEN: Final = (
    THAT | BEING | vocabulary("we made written created approved published recorded added taken dated documented decided accepted drafted")
)
_CHANGED: Final = vocabulary("updated changed modified revised edited")
_DONE: Final = vocabulary("built made sold bought written sent taken held born begun done found kept lost paid seen set")
_TOLD: Final = vocabulary("decided documented recorded written specified agreed")
_PREFIXED: Final = PREFIX | ENDS_CLAUSE
MAX_TIMES: Final = 8
"""Times of a question that are looked at."""
MAX_TOPIC: Final = 8
"""Words between documents and their time: `designs about the billing of refunds before 2023`."""

_PHRASE: Final = re.compile(rf"\b{PHRASE}", re.IGNORECASE)
_POSSESSIVE: Final = re.compile(rf"\b({DATE})((?:['’]s?)?)(?=\s)", re.IGNORECASE)
_RELATES: Final = re.compile(
    r"(?:after|since|before|until|till|between|from|older|newer|later|earlier|prior|up|in the|over|within)\b", re.IGNORECASE
)


def times_in(read: str, tokens: Sequence[Token], nouns: Sequence[Noun], now: datetime) -> Iterator[Said]:
    """Every time that may be said of documents."""
    for found in islice(_PHRASE.finditer(read), MAX_TIMES):
        wanted = condition(found[0], now)
        if wanted is not None:
            yield from _spoken(read, tokens, nouns, found, wanted)
    yield from _owned(read, tokens, now)


def _spoken(read: str, tokens: Sequence[Token], nouns: Sequence[Noun], found: re.Match[str], wanted: Condition) -> Iterator[Said]:
    place = sum(token.end <= found.start() for token in tokens)
    if denied(tokens, place):
        return
    behind = next((at for at, token in enumerate(tokens) if token.start >= found.end()), len(tokens))
    is_last = not any(token.is_word for token in tokens[behind:])
    is_told = place > 0 and tokens[place - 1].small in _TOLD and tokens[0].small == "what"
    if is_told or not re.search(r"\w", read[: found.start()] + read[found.end() :]):
        yield Said(found.span(), "created_at", wanted)
    for noun in nouns:
        if noun.after <= place:
            if not denied(tokens, noun.first):
                yield from _time_of(tokens, noun, place, found, wanted, is_last=is_last)
        elif (
            noun.first >= behind
            and not place
            and noun.is_plural
            and _PREFIXED.issuperset(token.small for token in tokens[behind : noun.first])
        ):
            yield Said(found.span(), "created_at", wanted, noun)


def _owned(read: str, tokens: Sequence[Token], now: datetime) -> Iterator[Said]:
    """`last year's decisions`, `the 2024 designs`."""
    for owned in islice(_POSSESSIVE.finditer(read), MAX_TIMES):
        if not owned[2] and not owned[1].isdigit():
            continue
        first = token_at(tokens, owned.start())
        behind = next((at for at, token in enumerate(tokens) if token.start >= owned.end()), len(tokens))
        noun = noun_at(tokens, behind) if opens(tokens, first) and not denied(tokens, first) else None
        wanted = condition(f"in {owned[1]}", now) if noun is not None and noun.is_plural else None
        if wanted is not None:
            yield Said(owned.span(), "created_at", wanted, noun)


def _time_of(tokens: Sequence[Token], noun: Noun, place: int, found: re.Match[str], wanted: Condition, *, is_last: bool) -> Iterator[Said]:
    """A time behind a noun: at once or after words for how it came about, or in the end, after what it is about."""
    between = [token.small for token in tokens[noun.after : place] if token.small != ","]
    first = noun.first
    while first > 0 and tokens[first - 1].small in STATUS_WORDS:
        first -= 1
    # "We approved designs last week" says when that was done.
    is_named = (noun.is_plural or first < noun.first) and (opens(tokens, first) or (first == noun.first and bool(_RELATES.match(found[0]))))
    if is_named and set(between) <= _WRITTEN | _CHANGED:
        yield Said(found.span(), "updated_at" if _CHANGED & set(between) else "created_at", wanted, noun)
        for token in tokens[noun.after : place]:
            if token.small in STATUSES:
                yield Said((token.start, token.end), "status", (token.small,), noun)
        return
    is_detached = is_named and is_last and 1 < len(between) <= MAX_TOPIC and between[0] in TOPIC and bool(_RELATES.match(found[0]))
    if (
        is_detached
        and PREFIX.issuperset(token.small for token in tokens[:first])
        and not set(between) & VERBS
        and not (between[-1].endswith("ed") or between[-1] in _DONE)
    ):
        yield Said(found.span(), "created_at", wanted, noun)

"""A status that a question says in words: `approved designs`, `requirements that are still in draft`, `status: archived`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ..model import STATUSES
from .nouns import Noun, Token, noun_at
from .said import BEING, PREFIX, STATUS_WORDS, THAT, TOPIC, Said, denied, opens
from .words import vocabulary

_MARKED: Final = vocabulary("still already currently now marked as in a officially")


def statuses_in(tokens: Sequence[Token], nouns: Sequence[Noun]) -> Iterator[Said]:
    """Every status that may be said."""
    yield from _attributes(tokens)
    yield from _predicates(tokens, nouns)
    yield from _explicit(tokens)
    yield from _drafts(tokens)


def _attributes(tokens: Sequence[Token]) -> Iterator[Said]:
    """`approved designs`, `draft and approved requirements`."""
    at = 0
    while at < len(tokens):
        start, end = at, at
        statuses: list[str] = []
        while end < len(tokens) and tokens[end].small in STATUS_WORDS:
            statuses += STATUS_WORDS[tokens[end].small]
            at = end + 1
            end = at + (at < len(tokens) and tokens[at].small in ("and", "or", ",", "/"))
        at = max(at, start + 1)
        noun = noun_at(tokens, at) if statuses and opens(tokens, start) and not denied(tokens, start) else None
        if noun is not None:
            yield Said((tokens[start].start, tokens[at - 1].end), "status", tuple(statuses), noun)


def _predicates(tokens: Sequence[Token], nouns: Iterable[Noun]) -> Iterator[Said]:
    """`designs that are approved`, `which requirements are still in draft`."""
    for noun in nouns:
        at, is_negated = noun.after, False
        is_asked = noun.first > 0 and tokens[noun.first - 1].small in ("which", "what")
        is_related = at < len(tokens) and tokens[at].small in (*THAT, "in", "marked")
        while at < len(tokens) and tokens[at].small in (THAT | BEING | _MARKED | {"not", "never"}):
            is_negated = is_negated or tokens[at].small in ("not", "never")
            at += 1
        if at == noun.after or at == len(tokens) or tokens[at].small not in STATUS_WORDS or not (is_asked or is_related):
            continue
        if (noun_at(tokens, at + 1) is None or not is_related) and not denied(tokens, noun.first):
            statuses = STATUS_WORDS[tokens[at].small]
            # What is not approved is a draft: nobody asks so for what was superseded.
            wanted = tuple(status for status in ("draft", "approved") if status not in statuses) if is_negated else statuses
            yield Said((tokens[noun.after].start, tokens[at].end), "status", wanted, noun)


def _explicit(tokens: Sequence[Token]) -> Iterator[Said]:
    """`with status approved`, `status: draft`."""
    for at, token in enumerate(tokens):
        if token.small != "status":
            continue
        sign = at + 1 < len(tokens) and tokens[at + 1].small in (":", "=")
        value = at + 1 + (at + 1 < len(tokens) and tokens[at + 1].small in (":", "=", "of", "is"))
        is_with = at > 0 and tokens[at - 1].small in ("with", "whose", "in", "having")
        if value < len(tokens) and tokens[value].small in STATUSES and (sign or is_with) and not denied(tokens, at - is_with):
            first = tokens[at - 1] if is_with else token
            yield Said((first.start, tokens[value].end), "status", (tokens[value].small,))


def _drafts(tokens: Sequence[Token]) -> Iterator[Said]:
    """`drafts of the retention policy`, `all drafts about billing`."""
    for at, token in enumerate(tokens[:-1]):
        if token.small == "drafts" and tokens[at + 1].small in (*TOPIC, "of") and all(each.small in PREFIX for each in tokens[:at]):
            yield Said((token.start, token.end), "status", ("draft",))

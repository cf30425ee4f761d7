"""Filters that a question says in words: a status, a kind, a time, a version, or that it is about history.

Only what is said as a filter counts: words that stand with a noun for documents, such as `approved designs after 2024`. A filter that is
wrongly read hides the answer, one that is missed only leaves more to rank, so what may mean something else is left alone. Pure: what
has to be looked up in the store is told by `needs_kinds`, and comes with `settled`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from ..model import STATUSES
from .dates import TIME_WORDS
from .nouns import Noun, Token, kinds_called, noun_at, nouns_of
from .said import ABOUT, LISTING, PREFIX, STATUS_WORDS, Meant, Said, denied, token_at
from .statuses import statuses_in
from .times import times_in
from .versions import versions_in
from .words import Span, beginning

_EARLIER: Final = re.compile(
    r"\b(?:previous|earlier|older|past|prior|former|old|superseded)\s+(?:versions?|revisions?)\s+of\b", re.IGNORECASE
)
_HISTORY: Final = re.compile(r"\b(?:(change|version|revision|decision|design|edit)\s+)?history\s+of\b", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"[A-Z]{2,8}-?\d{1,6}")
_TELLING: Final = frozenset(STATUS_WORDS) | TIME_WORDS | {"status", "drafts", "history", "version", "versions", "revision", "revisions"}
"""Words without which, and without a number, nothing but a kind is said."""
MAX_TOPIC: Final = 6
"""Words between `history of` and what it is of."""


def said_in(text: str, tokens: Sequence[Token], now: datetime) -> list[Said]:
    """Everything that may be a filter. What stands with a noun counts only where that means documents; see `settled`."""
    read = beginning(text)
    listed = _listed(tokens)
    said: list[Said] = []
    if not _TELLING.isdisjoint(token.small for token in tokens) or any(map(str.isdigit, read)):
        nouns = nouns_of(tokens)
        said += statuses_in(tokens, nouns)
        times = list(times_in(read, tokens, nouns, now))
        # Several are compared with each other, or are those of several things.
        said += times if all(each.operand == times[0].operand for each in times) else ()
        said += versions_in(read, tokens, nouns)
        said += _history(read, tokens, nouns)
    heads = {each.noun.span: each.noun for each in said if each.noun is not None}
    heads |= {noun.span: noun for noun in listed}
    for noun in list(heads.values()):
        heads |= {other.span: other for other in _joined(tokens, noun)}
    return [*said, *(Said(span, "kind", None, noun) for span, noun in heads.items())]


def needs_kinds(said: Iterable[Said]) -> bool:
    """Whether the kinds that a store has must be known to tell what was said."""
    return any(each.noun is not None for each in said)


def settled(said: Iterable[Said], kinds: Iterable[str]) -> list[Meant]:
    """What was said for certain, by the kinds that a store has, a field once."""
    known = list(kinds)
    found: dict[str, dict[Span, Any]] = {}
    for each in sorted(said, key=lambda each: each.span):
        of_kind = kinds_called(each.noun, known) if each.noun is not None else ()
        if each.field == "kind" and of_kind:
            found.setdefault("kind", {})[each.span] = of_kind
        elif each.field != "kind" and (each.noun is None or each.noun.is_known or of_kind):
            found.setdefault(each.field, {})[each.span] = each.operand
    return [Meant(tuple(spans), {field: _together(list(spans.values()))}) for field, spans in found.items()]


def _together(operands: Sequence[Any]) -> Any:
    """All that was said of a field: a span of time, or any of some values."""
    if isinstance(operands[0], dict):
        return operands[0]
    values = list(dict.fromkeys(value for operand in operands for value in operand))
    return values[0] if len(values) == 1 else {"in": values}


def _listed(tokens: Sequence[Token]) -> list[Noun]:
    """All of a kind that are asked for: `all designs`, `list the decisions on caching`, `requirements about refunds`."""
    first = next((at for at, token in enumerate(tokens) if token.small not in PREFIX), len(tokens))
    noun = noun_at(tokens, first) if first < len(tokens) else None
    before = [token.small for token in tokens[:first]]
    if noun is None or not (noun.is_plural or {"every", "each"} & set(before[-1:])):
        return []
    is_asked = bool(before) and (bool({"all", "every", "each"} & set(before)) or before[0] in LISTING)
    is_about = noun.after < len(tokens) and tokens[noun.after].small in ABOUT
    return [noun] if is_asked or is_about else []


def _joined(tokens: Sequence[Token], noun: Noun) -> Iterator[Noun]:
    """What is named together with it: `approved designs, decisions and requirements`."""
    at = noun.after
    while at + 1 < len(tokens) and tokens[at].small in (",", "and", "or"):
        at += 1 + (tokens[at].small == "," and tokens[at + 1].small in ("and", "or"))
        other = noun_at(tokens, at) if at < len(tokens) else None
        if other is None or not other.is_known:
            return
        yield other
        at = other.after


def _history(read: str, tokens: Sequence[Token], nouns: Sequence[Noun]) -> Iterator[Said]:
    """`previous versions of`: what was superseded; `history of` a document: that, too."""
    for found in _EARLIER.finditer(read):
        if not denied(tokens, token_at(tokens, found.start())):
            yield Said(found.span(), "status", ("superseded",))
    for found in _HISTORY.finditer(read):
        if denied(tokens, token_at(tokens, found.start())):
            continue
        behind = [at for at, token in enumerate(tokens) if token.start >= found.end()][:MAX_TOPIC]
        is_of_document = any(noun.is_known and noun.first in behind for noun in nouns)
        if found[1] or is_of_document or any(_NUMBERED.fullmatch(tokens[at].text) for at in behind):
            yield Said(found.span(), "status", STATUSES)

"""Fields of a store's metadata that a question speaks of: `in the billing subsystem`, `written by Ada`, `team:payments`.

Pure: `properties_in` tells which fields and values may be meant, `properties_meant` which are, by the values that a store has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..analysis import is_stop_word
from ..filters import ALIASES, ITEM_FIELDS
from ..naming import folded
from .nouns import Token, singular
from .said import Meant, denied
from .words import Span, vocabulary

MAX_VALUE: Final = 4
"""Words of a value."""
MAX_FIELDS: Final = 24
"""Fields that are looked up for a question."""

_IN: Final = vocabulary("in within inside")
_ARTICLES: Final = vocabulary("the our this that your my")
_SIGNS: Final = frozenset(":=")
_CALLED: Final = vocabulary("called named is of = :")
_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "written": ("author", "authors", "written_by", "writer"),
    "authored": ("author", "authors", "authored_by"),
    "created": ("author", "authors", "created_by", "creator"),
    "owned": ("owner", "owners", "owned_by"),
    "maintained": ("maintainer", "maintainers", "maintained_by", "owner"),
    "reviewed": ("reviewer", "reviewers", "reviewed_by"),
    "approved": ("approver", "approvers", "approved_by"),
    "tagged": ("tags", "tag", "labels", "label"),
    "labelled": ("labels", "label", "tags"),
    "labeled": ("labels", "label", "tags"),
}
"""Words before a value, with the fields that they may be about."""
_NEVER: Final = vocabulary("day days week weeks month months quarter quarters year years AND OR NOT and or not")
_FIELD: Final = re.compile(r"[^\W\d]\w*")
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_BOOLEANS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Property:
    """Values that one of some fields may have, the longest first, each with the words that say it."""

    fields: tuple[str, ...]
    values: tuple[tuple[str, Span], ...]


def properties_in(tokens: Sequence[Token]) -> list[Property]:
    """Whatever may be said of a field."""
    found: list[Property] = []
    for at, token in enumerate(tokens):
        made = list(_said_at(tokens, at))
        if made and not denied(tokens, at - (token.small in _SIGNS)):
            found += made
    return found


def _said_at(tokens: Sequence[Token], at: int) -> Iterator[Property]:
    """What a word with those around it may say: a preposition before it, a participle, or a sign between a field and its value."""
    token = tokens[at]
    if token.small in _IN:
        yield from _in(tokens, at)
    elif token.small == "with":
        yield from _named_first(tokens, at)
    elif token.small in _BY and at + 1 < len(tokens):
        first = at + 1 + (tokens[at + 1].small in ("by", "with", "as"))
        if first > at + 1 or token.small in ("tagged", "labelled", "labeled"):
            yield from _with_values(_BY[token.small], tokens, at, first + (first < len(tokens) and tokens[first].small in _ARTICLES))
    elif token.small in _SIGNS and 0 < at < len(tokens) - 1 and tokens[at - 1].end == token.start and token.end == tokens[at + 1].start:
        yield from _with_values(_fields(tokens[at - 1].text), tokens, at - 1, at + 1, most=1)


def fields_of(properties: Iterable[Property]) -> list[str]:
    """The fields whose values must be known."""
    return list(dict.fromkeys(field for each in properties for field in each.fields))[:MAX_FIELDS]


def properties_meant(properties: Iterable[Property], facets: Mapping[str, Iterable[str]]) -> list[Meant]:
    """Those that a store has such a value for, as it is spelt there, a field once."""
    spelt: dict[str, dict[str, list[str]]] = {}
    for field, values in facets.items():
        for value in values:
            spelt.setdefault(field, {}).setdefault(folded(value), []).append(value)
    found: dict[str, Meant] = {}
    for each in properties:
        options = ((field, value, span) for value, span in each.values for field in each.fields if value)
        first = next(((field, spelt[field][value], span) for field, value, span in options if value in spelt.get(field, ())), None)
        if first is not None:
            field, values, span = first
            found.setdefault(field, Meant((span,), {field: values[0] if len(values) == 1 else {"in": sorted(values)}}))
    return list(found.values())


def needs_types(meant: Iterable[Meant]) -> bool:
    """Whether a value may be a number or a truth value, so that the types of the fields must be known."""
    return any(isinstance(value, str) and _typed(value) is not None for each in meant for value in each.filter.values())


def typed(each: Meant, types: Mapping[str, frozenset[str]]) -> Meant:
    """The same with a value of a type that the field holds."""
    ((field, value),) = each.filter.items()
    other = _typed(value) if isinstance(value, str) else None
    held = types.get(field, frozenset())
    if other is None or ("boolean" if isinstance(other, bool) else "number") not in held:
        return each
    return Meant(each.spans, {field: {"in": [value, other]} if "text" in held else other})


def _typed(value: str) -> Any:
    if value in _BOOLEANS:
        return _BOOLEANS[value]
    return (float(value) if "." in value else int(value)) if len(value) < 16 and _NUMBER.fullmatch(value) else None


def _in(tokens: Sequence[Token], at: int) -> Iterator[Property]:
    """`in the billing subsystem`, `in subsystem billing`."""
    yield from _named_first(tokens, at)
    first = at + 1 + (at + 1 < len(tokens) and tokens[at + 1].small in _ARTICLES)
    for field in range(first + 1, min(first + MAX_VALUE + 1, len(tokens))):
        if not _is_value(tokens[field]) or not _is_value(tokens[field - 1]):
            break
        span = (tokens[at].start, tokens[field].end)
        if fields := _fields(tokens[field].text):
            yield Property(fields, ((_value(tokens, first, field), span),))
        if field > first + 1 and (fields := _fields(f"{tokens[field - 1].text}_{tokens[field].text}")):
            yield Property(fields, ((_value(tokens, first, field - 1), span),))


def _named_first(tokens: Sequence[Token], at: int) -> Iterator[Property]:
    field = at + 1 + (at + 1 < len(tokens) and tokens[at + 1].small in _ARTICLES)
    if field + 1 < len(tokens):
        value = field + 1 + (tokens[field + 1].small in _CALLED)
        yield from _with_values(_fields(tokens[field].text), tokens, at, value)


def _with_values(fields: tuple[str, ...], tokens: Sequence[Token], first: int, value: int, most: int = MAX_VALUE) -> Iterator[Property]:
    """The values that begin with a token, of one word or more."""
    ends: list[int] = []
    for end in range(value + 1, min(value + most, len(tokens)) + 1):
        if not tokens[end - 1].is_word:
            break
        ends.append(_with_signs(tokens, end))
    if fields and ends and _is_value(tokens[value]):
        values = tuple((_value(tokens, value, end), (tokens[first].start, tokens[end - 1].end)) for end in reversed(ends))
        yield Property(fields, values)


def _with_signs(tokens: Sequence[Token], end: int) -> int:
    """Where a word ends with its signs: `C++`."""
    while end < len(tokens) and tokens[end].text in ("+", "#") and tokens[end].start == tokens[end - 1].end:
        end += 1
    return end


def _is_value(token: Token) -> bool:
    return token.is_word and not is_stop_word(token.small)


def _value(tokens: Sequence[Token], first: int, end: int) -> str:
    return folded("".join(token.text for token in tokens[first:end]))


def _fields(word: str) -> tuple[str, ...]:
    """The fields that a word may name: as it is written, in small letters, as one and as many."""
    one = singular(word.lower())
    names = dict.fromkeys((one, one + "s", word.lower(), word))
    allowed = [name for name in names if _FIELD.fullmatch(name) and name not in ITEM_FIELDS and name not in ALIASES and name not in _NEVER]
    return tuple(allowed) if not is_stop_word(word) and len(word) > 1 and one not in ITEM_FIELDS else ()

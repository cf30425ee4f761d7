"""What some words of a question say of a field, and the words by which it is told that documents are meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..model import STATUSES
from .nouns import GENERIC, KINDS, Noun, Token, singular
from .words import Span, vocabulary

STATUS_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    **{status: (status,) for status in STATUSES},
    "accepted": ("approved",),
    "proposed": ("draft",),
    "rejected": ("archived",),
    "deprecated": ("archived",),
    "withdrawn": ("archived",),
    "obsolete": ("superseded", "archived"),
    "outdated": ("superseded", "archived"),
    "unapproved": ("draft",),
}

LISTING: Final = vocabulary("list show find give get fetch display return search see summarize summarise compare review")
OPENERS: Final = LISTING | vocabulary(
    "the all any our my your their these those every each some only which what me us there in from among within across and or"
)
"""Words before which documents are named, rather than asked about: `the approved designs`, and not `how are draft requirements changed`."""
_OF_WHAT: Final = vocabulary("list all any some most none one each many summary overview set titles number count ids names")
_HAVING: Final = vocabulary("there find show me have got give")
PREFIX: Final = (OPENERS | vocabulary("of for please can could you i we are is an a tell")) - {"and", "or"}
"""Words that a question begins with which asks for documents of a kind."""
ABOUT: Final = vocabulary("about on regarding concerning covering mentioning discussing")
TOPIC: Final = ABOUT | vocabulary("for in")
THAT: Final = vocabulary("that which")
BEING: Final = vocabulary("is are was were be been being has have had")
VERBS: Final = BEING | THAT | vocabulary("who whose did does do must should shall can could will would")
ENDS_CLAUSE: Final = frozenset(",;:.!?()–—")

_JOINS: Final = vocabulary(", and or nor")
_NOT: Final = vocabulary("not no never neither nor without unless cannot dont doesnt didnt isnt arent wasnt werent wont cant")
_EXCEPT: Final = vocabulary(
    "except excepting exclude excludes excluding omit omitting skip skipping ignore ignoring besides barring unlike"
)
_EXCEPT_PAIRS: Final = frozenset(
    (("other", "than"), ("rather", "than"), ("apart", "from"), ("aside", "from"), ("different", "from"), ("instead", "of"))
)
_ALL: Final = vocabulary("all any every each everything anything everyone anyone")
_PASSED: Final = (
    OPENERS
    | BEING
    | THAT
    | TOPIC
    | _ALL
    | frozenset(STATUS_WORDS)
    | vocabulary("a an of to by with as it they ones one include including want need please also even ever yet just already still marked")
    | vocabulary("written created made decided documented recorded specified agreed updated changed tagged belong live located found filed")
)
"""Beside words for documents, those over which `not` reaches: `do not show me any designs that are in`, and not `not used in`."""


@dataclass(frozen=True, slots=True)
class Meant:
    """A filter, and the words that say it."""

    spans: tuple[Span, ...]
    filter: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """What some words of a question say of a field, and the noun that they stand with."""

    span: Span
    field: str
    operand: Any
    noun: Noun | None = None


def opens(tokens: Sequence[Token], at: int) -> bool:
    """Whether documents may be named here, by the word before."""
    if at == 0:
        return True
    before = tokens[at - 1].small
    if before == "of":
        return at > 1 and tokens[at - 2].small in _OF_WHAT
    if before in ("a", "an"):
        return at > 1 and tokens[at - 2].small in _HAVING
    return before in OPENERS or before in ENDS_CLAUSE


def denied(tokens: Sequence[Token], at: int) -> bool:
    """Whether what is said here is said not to be: `not in the billing subsystem`, `all except the approved designs`, `-team:core`."""
    if at and tokens[at - 1].text in ("-", "−", "!") and tokens[at - 1].end == tokens[at].start:
        return at == 1 or tokens[at - 2].end < tokens[at - 1].start
    # What is listed is denied together: "do not show draft designs, archived decisions".
    is_listed = at > 0 and tokens[at - 1].small in _JOINS
    is_near = is_reached = True
    for place in range(at - 1, -1, -1):
        word, following = tokens[place].small, tokens[place + 1].small
        if word in ENDS_CLAUSE and word != ",":
            return False
        if word in _EXCEPT or (word, following) in _EXCEPT_PAIRS:
            return True
        if word == "but":
            return not _ALL.isdisjoint(token.small for token in tokens[:place])
        if is_near and _is_not(word) and following not in ENDS_CLAUSE and (is_reached or _is_passed(following)):
            return True
        is_near = is_near and (word != "," or is_listed)
        is_reached = is_reached and (_is_passed(word) or word == ",")
    return False


def _is_not(word: str) -> bool:
    return word in _NOT or word.endswith(("n't", "n’t"))


def _is_passed(word: str) -> bool:
    return word in _PASSED or singular(word) in KINDS or singular(word) in GENERIC


def token_at(tokens: Sequence[Token], start: int) -> int:
    """The first token that does not end before a character."""
    return next((at for at, token in enumerate(tokens) if token.end > start), len(tokens))

"""Words of a question that speak of what was said before: `they`, `her`, `that customer`, `the order`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ..model import Entity
from ..naming import folded
from .querytypes import is_kind, singular
from .words import Word, beginning, vocabulary, words_of

MAX_REFERENCES: Final = 20

_PERSONS: Final = vocabulary("he him his she her hers himself herself")
_THINGS: Final = vocabulary("it its itself")
_ANY: Final = vocabulary("they them their theirs themselves")
_PERSON_TYPES: Final = vocabulary("person people human contact employee user colleague friend member patient student candidate author")
_POINTING: Final = vocabulary("that this the these those same said")
_NOT_BEHIND: Final = vocabulary("in for and or of on at with to from when if why how what which who is are was were")
_EMPTY_IT: Final = re.compile(
    r"\b(?:is|was|does|would|will|be|has|had|did) it (?:be |been |still |really )?(?:worth|wise|better|possible|true|ok|okay|raining|make|"
    r"take|take me|matter|going|good|a good|a bad|sensible|safe|fair|that|likely|when|how|too|been|necessary)\b|"
    r"\b(?:time|day|date|late|weather) is it\b|\bhow(?: is|'s|’s) it going\b|\bit (?:is|was|seems|looks|will|takes|took) "
    r"(?:that|like|to|\w+ that|\w+ to)\b|\b(?:make|made|take|took|worth|do|did|get|got|find|found) it (?:to|clear|easy|hard|possible|a)\b",
    re.IGNORECASE,
)
_COMPANIES: Final = vocabulary("company organisation organization firm business corporation")
_SPEAKS_OF: Final = {
    **dict.fromkeys(vocabulary("customer client buyer"), vocabulary("customer client buyer account")),
    **dict.fromkeys(vocabulary("supplier vendor"), vocabulary("supplier vendor")),
    **dict.fromkeys(_COMPANIES, _COMPANIES | vocabulary("customer client supplier vendor partner")),
    **dict.fromkeys(vocabulary("person guy man woman lady gentleman"), _PERSON_TYPES),
    **dict.fromkeys(vocabulary("invoice bill"), vocabulary("invoice bill")),
    **dict.fromkeys(vocabulary("order purchase"), vocabulary("order purchase")),
    **dict.fromkeys(vocabulary("meeting appointment"), vocabulary("meeting appointment")),
}
"""Of which types a word may speak beside the one that is called so."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Words that speak of something that was said before: what it must be, where they say it."""

    text: str
    kind: str | None = None
    person: bool | None = None
    is_certain: bool = False
    """Whether they say for certain of what kind it is, so that nothing else in the question is about anything else."""


def references_in(text: str) -> list[Reference]:
    """What a question refers back to: words for types before pronouns, each in its order."""
    words = words_of(text)
    pointed = [found for at, word in enumerate(words) if word.small in _POINTING for found in _pointed(text, words, at)]
    empty = [found.span() for found in _EMPTY_IT.finditer(beginning(text))]
    said = [
        found
        for at, word in enumerate(words)
        if not word.is_shouted and not any(start <= word.start < end for start, end in empty) and (found := _pronoun(words, at)) is not None
    ]
    return [*pointed, *said][:MAX_REFERENCES]


def _pronoun(words: list[Word], at: int) -> Reference | None:
    """`Their` of customers who are named just before is of these."""
    word = words[at]
    if word.small in _PERSONS:
        return Reference(word.text, person=True)
    if word.small in _THINGS:
        return Reference(word.text, person=False)
    is_back = word.small in _ANY and not any(each.small != singular(each.small) and is_kind(singular(each.small)) for each in words[:at])
    return Reference(word.text) if is_back else None


def _pointed(text: str, words: list[Word], at: int) -> Iterator[Reference]:
    """`that customer`, `the last order`: the noun is the next word or the one behind it."""
    for place in (at + 1, at + 2):
        if place >= len(words) or words[place].small in _NOT_BEHIND or words[place].small in _POINTING:
            return
        kind = words[place].small if is_type(words[place].small) else singular(words[place].small)
        yield Reference(text[words[at].start : words[place].end], kind=kind, is_certain=words[at].small != "the" and is_type(kind))


def is_type(word: str) -> bool:
    """Whether a word says what something is."""
    return is_kind(word) or word in _SPEAKS_OF


def meant_by(reference: Reference, spoken: Sequence[Entity]) -> Entity | None:
    """The first of these that words may speak of. `She` is one who is surely a person, where there is one, before any customer."""
    fitting = [each for each in spoken if _is_meant(reference, each)]
    surely = [each for each in fitting if _own_type(each) in _PERSON_TYPES] if reference.person else []
    return next(iter(surely or fitting), None)


def _is_meant(reference: Reference, entity: Entity) -> bool:
    """Whether words may speak of an entity, by its type."""
    own = _own_type(entity)
    if reference.kind is not None:
        return folded(reference.kind) == folded(own) or own in _SPEAKS_OF.get(reference.kind, ())
    if reference.person is None:
        return True
    # Customers and partners may be people, too.
    may_be_person = own in _PERSON_TYPES or own in ("customer", "client", "partner", "supplier", "vendor", "lead")
    return may_be_person if reference.person else own not in _PERSON_TYPES


def _own_type(entity: Entity) -> str:
    """What an entity is, in one word: a `key_contact` is a contact."""
    return singular(entity.type.lower().replace("_", " ").split(" ")[-1]) if entity.type else ""

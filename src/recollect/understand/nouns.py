"""What a question calls documents, and their kinds: `designs`, `architecture decision records`, or a word of the user's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

from ..analysis import is_stop_word
from ..naming import folded
from .words import MAX_WORDS, Span, beginning, vocabulary

KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "architecture": ("architecture",),
    "design": ("design",),
    "requirement": ("requirement",),
    "decision": ("decision", "adr"),
    "adr": ("adr", "decision"),
    "spec": ("spec", "specification"),
    "specification": ("specification", "spec"),
    "rfc": ("rfc",),
    "runbook": ("runbook",),
    "policy": ("policy",),
    "proposal": ("proposal",),
    "guideline": ("guideline", "guide"),
}
"""Words for documents of a kind, with what that may be called in a store."""

GENERIC: Final = vocabulary("document doc documentation")
"""Words for documents of any kind."""
_HEADS: Final = GENERIC | vocabulary("record page file entry item")
"""Words that say no more than the word before: `decision records`."""

MAX_NOUN: Final = 3
"""Words of a noun: `architecture decision records`."""

_AFTER: Final = vocabulary(
    "after since before until till between during within without about regarding concerning covering mentioning discussing describing "
    "against under over across behind dated made written created older newer later earlier prior last previous this like via per using v"
)
"""Beside words that say nothing, those that may follow a noun without being a part of it."""

_BEFORE: Final = vocabulary(
    "approved accepted proposed unapproved draft superseded archived obsolete outdated list show find give get fetch display return search "
    "see summarize summarise compare review all every each some only there me us among within across last previous other more new old"
)
"""Beside words that say nothing, those that may come before a noun without being a part of it."""
_NUMBERED: Final = re.compile(r"v?\d.*")

_TOKEN: Final = re.compile(r"\w+(?:[-'’./+]\w+)*|[^\w\s]")
_QUOTED: Final = re.compile(r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|`[^`\n]{1,200}`|«[^»\n]{1,200}»")
_NAME: Final = re.compile(r"[^\W\d_]+(?:[-_][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class Token:
    """A word with what hyphens, dots and apostrophes join to it, or one sign."""

    text: str
    small: str
    start: int
    end: int

    @property
    def is_word(self) -> bool:
        return self.text[0].isalnum() or self.text[0] == "_"


@dataclass(frozen=True, slots=True)
class Noun:
    """What a question calls documents, by its tokens."""

    first: int
    after: int
    span: Span
    names: tuple[str, ...]
    """What their kind may be called in a store, folded; none where it is any."""
    is_plural: bool
    is_known: bool
    """Whether it means documents in any case, also where no kind is called so."""


def tokens_of(text: str) -> list[Token]:
    """The first tokens of a question, without what is in quotes: that is meant as it stands there."""
    read = _QUOTED.sub(lambda found: found[0][0] + " " * (len(found[0]) - 2) + found[0][-1], beginning(text))
    return [Token(found[0], found[0].lower(), found.start(), found.end()) for found in islice(_TOKEN.finditer(read), MAX_WORDS)]


@lru_cache(maxsize=4_096)
def singular(word: str) -> str:
    """`policies` as `policy`, `designs` as `design`."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def nouns_of(tokens: Sequence[Token]) -> list[Noun]:
    """The nouns of a question that may mean documents, each as long as it is."""
    found: list[Noun] = []
    at = 0
    while at < len(tokens):
        noun = noun_at(tokens, at) if tokens[at].is_word else None
        if noun is not None:
            found.append(noun)
        at = noun.after if noun is not None and noun.is_known else at + 1
    return found


def noun_at(tokens: Sequence[Token], first: int) -> Noun | None:
    """The noun that begins with this token, the longest: of words for documents, or a plural of one or two words that may be a kind."""
    words = [token.small for token in tokens[first : first + MAX_NOUN]]
    for length in range(len(words), 0, -1):
        own = words[:length]
        head = singular(own[-1])
        is_known = all(singular(word) in KINDS or singular(word) in GENERIC for word in own[:-1]) and (
            head in KINDS or head in (_HEADS if length > 1 else GENERIC)
        )
        is_plural = head != own[-1] or head == "documentation"
        if not is_known and not (is_plural and length < MAX_NOUN and all(map(_may_be_kind, own))):
            continue
        if is_plural or _stands_alone(tokens, first + length):
            span = (tokens[first].start, tokens[first + length - 1].end)
            return Noun(first, first + length, span, _names(own, head, is_known=is_known), is_plural, is_known)
    return None


def _may_be_kind(word: str) -> bool:
    return bool(_NAME.fullmatch(word)) and not is_stop_word(word) and word not in _BEFORE


def _stands_alone(tokens: Sequence[Token], after: int) -> bool:
    """Whether a noun ends here: `the design of`, and not `the design tokens`."""
    if after >= len(tokens) or not tokens[after].is_word:
        return True
    following = tokens[after].small
    return following in _AFTER or is_stop_word(following) or bool(_NUMBERED.fullmatch(following))


def _names(words: Sequence[str], head: str, *, is_known: bool) -> tuple[str, ...]:
    if is_known and head in _HEADS:
        # "Architecture documents" are of the kind architecture, and "documents" of any.
        words, head = words[:-1], singular(words[-2]) if len(words) > 1 else ""
    if not head or head in GENERIC:
        return ()
    whole = "".join([*words[:-1], head])
    # "Billing designs" may be of a kind of that name, and else are more than designs.
    return tuple(dict.fromkeys(map(folded, (whole, *(KINDS.get(head, (head,)) if is_known else ())))))


def kinds_called(noun: Noun, kinds: Iterable[str]) -> tuple[str, ...]:
    """The kinds of a store that a noun names, as they are spelt there."""
    by_name: dict[str, list[str]] = {}
    for kind in kinds:
        by_name.setdefault(folded(singular(kind.lower())), []).append(kind)
    return next((tuple(sorted(by_name[name])) for name in noun.names if name in by_name), ())

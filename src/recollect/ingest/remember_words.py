"""What memories say, folded so that saying it again is noticed; and facts in natural words. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from ..model import digest

ARTICLES: Final = frozenset(("a", "an", "the"))
LIGHT: Final = frozenset(("actually", "also", "basically", "indeed", "please", "quite", "really", "truly", "very"))
"""Words that a sentence says the same without, unless they stand behind a negation: `not very happy` is not `not happy`."""
LONG: Final = 200_000
"""Characters of a text that is not read word by word, which would take a second for a million of them."""
NEGATIONS: Final = frozenset(("not", "no", "never", "nor", "neither", "none", "nothing", "nobody", "without", "hardly", "barely"))
NAMES: Final = frozenset(("IT", "US", "WHO", "AM", "PM", "OR", "IN"))
"""Capitals that make another word of them, unless all is written in capitals."""
PREDICATES: Final = {
    "based_in": "is based in",
    "belongs_to": "belongs to",
    "connected_to": "is connected to",
    "has_property": "has",
    "located_in": "is located in",
    "made_by": "is made by",
    "married_to": "is married to",
    "member_of": "is a member of",
    "owned_by": "is owned by",
    "part_of": "is part of",
    "related_to": "is related to",
    "type_of": "is a type of",
}
"""Predicates that read better in other words than their own."""

# In this order: a comparison that is denied, a minus, a number with its separators, a word with its apostrophe, a question, brackets or
# quotes with nothing in them (code); then any other sign by itself. All else is left out: spaces, and punctuation that says nothing.
# Of 4,563 questions none is folded into another. Of 132,000 different sentences of eight sets (prose, conversations, code), 357 groups
# are: all but 30 differ in case, spaces and punctuation alone, those in articles and words such as `also`, and none in what it means.
_TOKEN: Final = re.compile(
    r"!(?=[\w=])"
    r"|(?<![\w)\]])[-−](?=[.\d$€£¥])"
    r"|(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)+|\d{1,3}(?:,\d{3})+(?!\d)|\d+"
    r"|[^\W\d]+(?:['’][^\W\d]+)*"
    r"|\?+|\(\)|\[\]|\{\}|''|\"\""
    r"|[^\w\s.,;:!\"'()\[\]{}«»“”‘’‚„`*|\\\-‐‑‒–—…·•]"
)
_SHORT: Final = (
    (re.compile(r"^(?:can't|cannot)$"), "can not"),
    (re.compile(r"^won't$"), "will not"),
    (re.compile(r"^shan't$"), "shall not"),
)
_ENDINGS: Final = (("n't", "not"), ("'ll", "will"), ("'re", "are"), ("'ve", "have"), ("'m", "am"), ("'s", "'s"), ("'d", "'d"))
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def said(text: str) -> str:
    """A text folded: two texts that say the same in nearly the same words give the same.

    What does not count: case, punctuation, spaces (`NET 30` is `net30`), articles, a few words that add nothing, and whether `not` is
    written out. All else does, and its order: numbers with their signs and units, negations, questions, names, every other word. Words
    that are spelt, bent or ordered otherwise may mean something else (`contact` and `contract`, `from Rome to Paris` and `to Rome from
    Paris`), so that they count. Of a very long text all does but case and spaces."""
    if len(text) > LONG:
        return " ".join(text.lower().split())
    return " ".join(_folded(unicodedata.normalize("NFC", text))) or text.strip()


def _folded(text: str) -> Iterator[str]:
    is_loud = text.isupper()
    before = ""
    for place, found in enumerate(_TOKEN.finditer(text)):
        token = found.group()
        small = token.lower().replace("’", "'")
        if _is_left_out(token, small, is_first=place == 0, before=before):
            continue
        if token in NAMES and not is_loud:
            small = token
        elif token[0].isdigit() or token[0] == ".":
            small = token.replace(",", "")
        elif token[0] == "?":
            small = "?"
        for before in _written_out(small):
            yield before


def _is_left_out(token: str, small: str, *, is_first: bool, before: str) -> bool:
    if small == "the":
        return True
    if not (is_first or token == small):
        return False  # The A of `Plan A`, the name `Very`.
    return small in ARTICLES or (small in LIGHT and before not in NEGATIONS)


def _written_out(word: str) -> list[str]:
    if "'" not in word and word != "cannot":
        return [word]
    for pattern, words in _SHORT:
        if pattern.match(word):
            return words.split()
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending):
            return [word.removesuffix(ending), instead]
    return [word.replace("'", "")]


def key_of(*parts: str | None) -> str:
    """A short name of what the parts of a memory say."""
    return digest(*(said(part or "") for part in parts))


def predicate_key(predicate: str) -> str:
    """A predicate as it is kept and looked up: `Has Property`, `has-property` and `hasProperty` are `has_property`."""
    words = re.findall(r"[^\W_]+", _HUMP.sub("_", predicate))
    return "_".join(words).lower() or predicate.strip()


def fact_text(subject: str, predicate: str, object_: str) -> str:
    """A fact as a sentence."""
    key = predicate_key(predicate)
    words = PREDICATES.get(key) or (key.replace("_", " ") if re.search(r"[_A-Z]", predicate.strip()) else predicate.strip())
    return " ".join((subject.strip(), words, object_.strip()))

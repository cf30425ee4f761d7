"""Finds in a question the entities that a store knows: by their names, by other names, by what is spelt nearly so.

What cannot be told apart is said to be so, and no plain word becomes an entity by a letter that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

from ..contracts import EntityMatch, EntityMention
from ..model import Entity
from ..naming import allowed_edits, breaks, edits, exact_key, folded, is_mark, near_keys
from ..ports import Store
from .common import is_common, is_plain
from .words import Span, Word, words_of

MAX_SPAN: Final = 9
"""Words of a name, of which the `s` of a possessive is one."""
MAX_EXACT: Final = 1_000
"""Entities that are looked at by name: a question of usual length has less than ten."""
MAX_NEAR_KEYS: Final = 500
MAX_NEAR: Final = 1_000
"""Entities that are looked at for names spelt nearly so: 400 at most, among 38,000, in 1,000 questions about films and their makers."""
MAX_NEAR_NAMES: Final = 3
"""Names that may be equally near: a word that is near to more is near to none."""
MAX_PLAIN: Final = 2
"""Plain words in a name that is spelt nearly so, beside one that is none: `payment gatway`."""

Place: TypeAlias = tuple[int, int]
"""Words of a question: from the first, up to and without the second."""

_NUMERAL: Final = re.compile(r"[ivxlcdm]+|\d.*")
_JOINED: Final = re.compile(r"['’.]|(?<=\d),(?=\d)")
_SIGN: Final = re.compile(r"[+#.]")
"""Signs of a folded name, which are never a slip: `Objective-C++` is not `Objective-C`."""
_CLITICS: Final = frozenset("ldo")
_JOINING: Final = frozenset(("", "-", "‐", "‑", "'", "’", ".", "&", "+", "_"))
"""What may stand between two words that are written as one: `e-mail`, `U.S.A`."""
_SHORT: Final = 2
"""Letters of a word that, as a rule, says as little as `us` or `no`."""
MAX_SIGNS: Final = 2
"""Signs before or behind a word that are of a name: `.NET`, `C++`."""
_APART: Final = frozenset("([{<\"'“‘«/,;:|")
"""Signs that a name neither begins nor ends with, so that one may begin behind them."""


@dataclass(frozen=True, slots=True)
class Found:
    """A name in a question, with everybody who is called so. None is without an entity."""

    place: Place
    span: Span
    entities: tuple[Entity, ...]
    match: EntityMatch
    distance: int = 0


async def resolve(store: Store, scope: str, text: str) -> list[EntityMention]:
    """The entities of a question, in its order: none overlaps another, the longest span wins, then the leftmost."""
    return [_mention(text, one) for one in await found_in(store, scope, text)]


async def found_in(store: Store, scope: str, text: str) -> list[Found]:
    """The names of entities in a question, in its order, as `resolve` finds them."""
    words = words_of(text)
    keys = {place: _keys(text, words, place) for place in _places(text, words)}
    if not keys:
        return []
    known = _by_key(await store.entities_named(scope, list(dict.fromkeys(key for own in keys.values() for key in own)), limit=MAX_EXACT))
    exact = {place: key for place, own in keys.items() if (key := next((each for each in own if each in known), None)) is not None}
    found = _apart(one for place, key in exact.items() if (one := _named(text, words, place, key, known[key])) is not None)
    taken = {each for one in found for each in range(*one.place)}
    names = {place: own[0][1:] for place, own in keys.items() if taken.isdisjoint(range(*place))}
    if near := _near_places(words, names):
        asked = list(dict.fromkeys(key for each in near.values() for key in each))
        entities = await store.entities_named(scope, asked, limit=MAX_NEAR)
        called = [(folded(name), name, entity) for entity in entities for name in entity.names]
        found += _apart(one for place in near if (one := _nearest(words, place, names[place], called)) is not None)
    return sorted(found, key=lambda one: one.place)


def _keys(text: str, words: Sequence[Word], place: Place) -> list[str]:
    """What words may be known by: with the signs behind them before without. A letter with signs is another name than the letter."""
    start, end = words[place[0]].start, words[place[1] - 1].end
    behind = text[end : end + MAX_SIGNS]
    last = end + len(behind) - len(behind.lstrip("+#"))
    least = end + _is_signed(text, words[place[1] - 1])
    return list(dict.fromkeys(exact_key(text[start:at]) for at in range(last, least - 1, -1)))


def _places(text: str, words: Sequence[Word]) -> Iterator[Place]:
    """All spans of whole words that may be a name, the longest first."""
    says = [bool(folded(word.text)) for word in words]
    begins = [says[at] and _may_begin(text, words, at) for at in range(len(words))]
    ends = [(says[at] or is_mark(words[at].text[0])) and _may_end(text, words, at) for at in range(len(words))]
    empty = [word.is_stop or len(word.text) == 1 for word in words]
    for length in range(min(MAX_SPAN, len(words)), 0, -1):
        for first in range(len(words) - length + 1):
            last = first + length
            if (
                begins[first]
                and ends[last - 1]
                and (
                    not all(empty[first:last]) or _is_written_as_name(words[first:last]) or (length == 1 and _is_signed(text, words[first]))
                )
            ):
                yield first, last


def _joint(text: str, words: Sequence[Word], at: int) -> str:
    """What joins a word to the next, such as an apostrophe; empty where there is none."""
    if at + 1 == len(words) or words[at + 1].start != words[at].end + 1:
        return ""
    return text[words[at].end] if _JOINED.match(text, words[at].end) else ""


def _may_begin(text: str, words: Sequence[Word], at: int) -> bool:
    joint = _joint(text, words, at - 1) if at else ""
    return not joint or (joint in "'’" and words[at - 1].small in _CLITICS)


def _may_end(text: str, words: Sequence[Word], at: int) -> bool:
    if is_mark(text[words[at].end : words[at].end + 1] or " "):
        return False
    joint = _joint(text, words, at)
    return not joint or (joint in "'’" and words[at + 1].small == "s")


def _is_written_as_name(words: Sequence[Word]) -> bool:
    """Of words that say nothing, whether they are a name all the same: `The Who`, `IT` and `C`, and not `The`, `A` or `2`."""
    if len(words) == 1:
        return words[0].is_shouted or (words[0].text[0].isupper() and not words[0].is_stop)
    return all(word.is_capitalised or word.is_unspaced for word in words)


def _is_signed(text: str, word: Word) -> bool:
    """Whether it is a letter that signs make a name of: `c++`, `C#`."""
    return len(word.text) == 1 and word.text.isalpha() and text[word.end : word.end + 1] in ("+", "#")


def _named(text: str, words: Sequence[Word], place: Place, key: str, entities: Sequence[Entity]) -> Found | None:
    """Who is called by these words: those whose name stands here sign by sign, where there are such."""
    span = words[place[0]].start, words[place[1] - 1].end
    names = [name for entity in entities for name in entity.names if exact_key(name) == key]
    whole = _whole_span(text, span, set(map(_plainly, names)))
    if whole is not None:
        entities = [entity for entity in entities if any(_plainly(name) == _plainly(text[slice(*whole)]) for name in entity.names)]
    if (whole is None or whole == span) and not _is_meant(text, words, place, names):
        return None
    return Found(place, whole or span, tuple(entities), "exact" if exact_key(entities[0].name) == key else "alias")


def _plainly(name: str) -> str:
    return " ".join(name.split()).replace("’", "'").casefold()


def _whole_span(text: str, span: Span, names: Container[str]) -> Span | None:
    """Where one of the names stands as it is written, with the signs around the words: the longest; None where none does."""
    start, end = span
    first, last = start, end
    while last < min(end + MAX_SIGNS, len(text)) and _is_sign(text[last]):
        last += 1
    while first > max(start - MAX_SIGNS, 0) and _is_sign(text[first - 1]):
        first -= 1
    # Signs that a word or more signs stand before are of that.
    is_apart = first == 0 or text[first - 1].isspace() or text[first - 1] in _APART
    spans = [(before, behind) for before in ((first, start) if is_apart else (start,)) for behind in range(last, end - 1, -1)]
    return next((each for each in spans if _plainly(text[slice(*each)]) in names), None)


def _is_sign(char: str) -> bool:
    return not (char.isalnum() or char.isspace() or char in _APART)


def _is_meant(text: str, words: Sequence[Word], place: Place, names: Sequence[str]) -> bool:
    """Whether words are one of the names, rather than the same letters: neither `in a` is `INA`, nor `i ran` Iran, nor `go` Go."""
    span = words[slice(*place)]
    if len(span) == 1:
        return _is_meant_alone(words, span[0], names)
    if all(word.is_stop for word in span):
        own = [word.small for word in span]
        return any([word.small for word in words_of(name)] == own for name in names)
    if not any(word.is_stop or len(word.text) <= _SHORT for word in span):
        return True
    parted = _breaks(text, span)
    return not parted or any(parted <= breaks(name) for name in names)


def _is_meant_alone(words: Sequence[Word], word: Word, names: Sequence[str]) -> bool:
    """A word that says nothing is written as the name is, one of plain English in small letters only where the name is: no `it` is `IT`."""
    if word.is_stop:
        return word.text in names and not all(each.text.isupper() for each in words)
    return not (word.text.islower() and word.text.isalpha() and is_plain(word.text)) or any(name.islower() for name in names)


def _breaks(text: str, words: Sequence[Word]) -> set[int]:
    """After how many letters of its folded form a span goes on with a word that stands apart."""
    apart = [other.start for one, other in pairwise(words) if text[one.end : other.start] not in _JOINING]
    return {len(folded(text[words[0].start : start])) for start in apart}


def _by_key(entities: Iterable[Entity]) -> dict[str, list[Entity]]:
    """Who is called so, in order of id: those whose name it is before those who are also called so."""
    named: dict[str, list[Entity]] = {}
    also: dict[str, list[Entity]] = {}
    for entity in entities:
        own = exact_key(entity.name)
        named.setdefault(own, []).append(entity)
        for key in dict.fromkeys(map(exact_key, entity.aliases)):
            if key != own:
                also.setdefault(key, []).append(entity)
    return {key: [*named.get(key, ()), *also.get(key, ())] for key in (*named, *also)}


def _apart(found: Iterable[Found]) -> list[Found]:
    """Those that do not overlap: the nearest first, of these the longest."""
    kept: list[Found] = []
    taken: set[int] = set()
    for one in sorted(found, key=lambda one: (one.distance, one.place[0] - one.place[1], one.place)):
        if taken.isdisjoint(range(*one.place)):
            taken.update(range(*one.place))
            kept.append(one)
    return kept


def _near_places(words: Sequence[Word], names: Mapping[Place, str]) -> dict[Place, list[str]]:
    """Of spans with their folded names those that may be a name with a letter wrong, each with its keys, as many as may be asked for: those
    without plain words first.

    One word at least is none of plain English: what a slip makes of a word hardly ever is another one, and what is one is meant so."""
    left = {at for place in names for at in range(*place)}
    plain = {at: is_common(words[at].text) or folded(words[at].text).isdigit() for at in left}
    if all(plain.values()):
        return {}
    fitting = [
        (sum(plain[at] for at in range(*place)), place[0] - place[1], place)
        for place in names
        if _may_be_misspelt(words, place, plain) and not _is_part_of_name(words, place, plain)
    ]
    found: dict[Place, list[str]] = {}
    room = MAX_NEAR_KEYS
    for _, _, place in sorted(fitting):
        keys = near_keys(names[place])
        room -= len(keys)
        if room < 0:
            break
        found[place] = keys
    return found


def _may_be_misspelt(words: Sequence[Word], place: Place, plain: dict[int, bool]) -> bool:
    span = range(*place)
    count = sum(plain[at] for at in span)
    if count == len(span) or count > MAX_PLAIN or any(words[at].is_unspaced for at in span):
        return False
    return not (words[span[0]].is_stop and not words[span[0]].is_capitalised) and not words[span[-1]].is_stop


def _is_part_of_name(words: Sequence[Word], place: Place, plain: dict[int, bool]) -> bool:
    """Whether a name goes on before or after it that is not known: what is near to a part of that is another."""
    return any(_is_one_name(words, *pair, plain) for pair in ((place[0], place[0] - 1), (place[1] - 1, place[1])))


def _is_one_name(words: Sequence[Word], edge: int, other: int, plain: dict[int, bool]) -> bool:
    """Whether two words are of one name, by their capitals. The first of a question has one in any case."""
    if other not in plain or words[other].is_stop or (other == 0 and plain[other]):
        return False
    first, second = sorted((edge, other))
    return words[first].text[0].isupper() and words[second].text[0].isupper() and words[second].start == words[first].end + 1


def _nearest(words: Sequence[Word], place: Place, key: str, called: Iterable[tuple[str, str, Entity]]) -> Found | None:
    """Whoever is spelt most nearly so, of entities with what they are called."""
    most = allowed_edits(key)
    fixed = _fixed(words[slice(*place)])
    best: list[tuple[str, Entity]] = []
    for other, name, entity in called:
        distance = edits(key, other, most) if _begin_alike(key, other) and _SIGN.findall(key) == _SIGN.findall(other) else None
        if distance is None or _fixed(words_of(name)) != fixed:
            continue
        best = [*(best if distance == most else ()), (other, entity)]
        most = distance
    if not best or len({other for other, _ in best}) > MAX_NEAR_NAMES:
        return None
    span = words[place[0]].start, words[place[1] - 1].end
    return Found(place, span, tuple({entity.id: entity for _, entity in best}.values()), "fuzzy", most)


def _begin_alike(key: str, other: str) -> bool:
    """Whether the first letter is the same, or swapped with the second: hardly anyone gets that wrong, and `Roman` is not `Oman`."""
    return key[:1] == other[:1] or sorted(key[:2]) == sorted(other[:2])


def _fixed(words: Iterable[Word]) -> list[str]:
    """What is never a slip: numbers, also Roman ones, and initials."""
    return [word.small for word in words if len(word.text) == 1 or _NUMERAL.fullmatch(word.small)]


def _mention(text: str, one: Found) -> EntityMention:
    first, *others = one.entities
    start, end = one.span
    return EntityMention(
        text=text[start:end],
        start=start,
        end=end,
        entity_id=first.id,
        name=first.name,
        type=first.type,
        match=one.match,
        others=[other.id for other in others],
    )

"""Finds whom and what a question to memory speaks of: by names and ids of the store, by what was said before, by the domain database.

A name that several have is settled by the conversation alone; where that does not tell, it is said to be ambiguous and nobody is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final, NamedTuple

from ..domains import Domain
from ..errors import DomainUnavailable
from ..memories import Ambiguity, ConversationContext, ResolvedEntity
from ..model import Entity
from ..naming import folded
from ..ports import Store
from .entities import Found, found_in
from .ids import ids_in
from .names_unknown import names_in
from .references import Reference, meant_by, references_in
from .words import Span

BARE: Final = "entity"
"""The type of those that are known by their names alone."""
MAX_TURNS: Final = 8
"""Turns of a conversation that are read, the last first."""
MAX_SPOKEN: Final = 50
"""Entities of a conversation that are looked at, the last first."""

EXACT: Final = 1.0
ALIAS: Final = 0.95
OF_DOMAIN: Final = 0.9
SETTLED: Final = 0.85
"""How sure a name is that several have, of whom the conversation spoke of one."""
OF_TYPE: Final = 0.8
PRONOUN: Final = 0.7
LEAST: Final = 0.5
"""How sure a name is at least that is spelt nearly so; each wrong letter of a short one counts more."""


class Spoken(NamedTuple):
    """Whom and what a question speaks of."""

    entities: list[ResolvedEntity]
    ambiguities: list[Ambiguity]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class _Named:
    """A name in the question with those who may be meant."""

    span: Span
    entities: tuple[Entity, ...]
    match: str
    confidence: float


async def resolve(store: Store, scope: str, text: str, context: ConversationContext, domain: Domain | None) -> Spoken:
    """The entities of a question, in its order, each once; names that several have and the conversation does not settle; notes."""
    conversation = _Conversation(store, scope, context)
    known = await _known(store, scope, text)
    asked, twins, notes = await _of_domain(domain, text, known)
    # What the domain database has by its very name is not what the store has by nearly that name.
    taken = [each.span for each in asked]
    named = sorted((*(each for each in known if not _overlaps(each.span, taken)), *asked), key=lambda each: each.span)
    entities: dict[str, ResolvedEntity] = {}
    ambiguities: dict[str, Ambiguity] = {}
    for one in named:
        mention = text[slice(*one.span)]
        meant = one.entities[0] if len(one.entities) == 1 else await conversation.settles(one.entities)
        if meant is None:
            ambiguities.setdefault(folded(mention), Ambiguity(mention_text=mention, candidates=[each.id for each in one.entities]))
        else:
            is_settled = len(one.entities) > 1
            found = _resolved(mention, meant, "context" if is_settled else one.match, SETTLED if is_settled else one.confidence)
            entities.setdefault(meant.id, found)
            if (twin := twins.get(meant.id)) is not None:
                entities.setdefault(twin.id, _resolved(mention, twin, "domain", OF_DOMAIN))
    if not named and (back := await conversation.referred(references_in(text))) is not None:
        entities[back.canonical_id] = back
    return Spoken(list(entities.values()), list(ambiguities.values()), notes)


class _Conversation:
    """What was spoken of before, the last first; read no further than is asked for."""

    def __init__(self, store: Store, scope: str, context: ConversationContext) -> None:
        self._store = store
        self._scope = scope
        self._context = context

    async def settles(self, candidates: Sequence[Entity]) -> Entity | None:
        """The one of these that was spoken of last; None where none was, or several in one breath."""
        ids = {each.id: each for each in candidates}
        for named in islice(reversed(self._context.entities), MAX_SPOKEN):
            if named in ids:
                return ids[named]
        for turn in self._turns():
            said = {each.id for each in candidates if each.id in turn}
            said |= {each.id for each in await self._unambiguous(turn) if each.id in ids}
            if said:
                return ids[said.pop()] if len(said) == 1 else None
        return None

    async def referred(self, references: Sequence[Reference]) -> ResolvedEntity | None:
        """Whoever was spoken of last, of those that words of the question may mean."""
        spoken = await self._spoken() if references else []
        for reference in references:
            if (meant := meant_by(reference, spoken)) is not None:
                return _resolved(reference.text, meant, "context", OF_TYPE if reference.kind else PRONOUN)
            if reference.is_certain:
                break
        return None

    async def _spoken(self) -> list[Entity]:
        named = list(islice(dict.fromkeys(reversed(self._context.entities)), MAX_SPOKEN))
        known = {each.id: each for each in await self._store.entities_of(self._scope, named)} if named else {}
        said = [entity for turn in self._turns() for entity in reversed(await self._unambiguous(turn))]
        return [*(known.get(each) or Entity(each, each.partition(":")[0], each) for each in named), *said]

    def _turns(self) -> Iterable[str]:
        return islice(reversed(self._context.turns), MAX_TURNS)

    async def _unambiguous(self, turn: str) -> list[Entity]:
        found = await _known(self._store, self._scope, turn)
        return [each.entities[0] for each in found if len(each.entities) == 1 and each.match != "fuzzy"]


async def _known(store: Store, scope: str, text: str) -> list[_Named]:
    """What a text calls by its id or, elsewhere in it, by a name, as the store knows them, in the order of the text."""
    by_id = [_Named(span, (entity,), "exact", EXACT) for span, entity in await ids_in(store, scope, text)]
    taken = [each.span for each in by_id]
    named = (_named(text, each) for each in await found_in(store, scope, text))
    return sorted((*by_id, *(each for each in named if not _overlaps(each.span, taken))), key=lambda each: each.span)


async def _of_domain(domain: Domain | None, text: str, known: Sequence[_Named]) -> tuple[list[_Named], dict[str, Entity], list[str]]:
    """Names that the store does not know, or not just so, and the domain database does: the longest first, none over another. By id, who
    those are in the domain database that the store knows by their names alone."""
    if domain is None:
        return [], {}, []
    names = names_in(text, [each.span for each in known if each.match != "fuzzy"])
    bare = {each.entities[0].id: each for each in known if each.match != "fuzzy" and [one.type for one in each.entities] == [BARE]}
    also = {id_: (one.entities[0].name, text[slice(*one.span)]) for id_, one in bare.items()}
    if not (names or also):
        return [], {}, []
    try:
        answered = await domain.named(list(dict.fromkeys((*(each.name for each in names), *chain(*also.values())))))
    except DomainUnavailable as error:
        return [], {}, [f"names were not looked up in the domain database: {error}"]
    called = {id_: next((answered[name] for name in own if name in answered), []) for id_, own in also.items()}
    twins = {id_: entities[0] for id_, entities in called.items() if len(entities) == 1}
    found: list[_Named] = []
    for each in names:
        entities = answered.get(each.name, [])
        of_kind = [one for one in entities if each.kind is not None and folded(one.type) == folded(each.kind)]
        if each.kind is not None:
            entities = of_kind
        if entities and not _overlaps(each.span, [one.span for one in found]):
            found.append(_Named(each.span, tuple({one.id: one for one in entities}.values()), "domain", OF_DOMAIN))
    return found, twins, []


def _named(text: str, found: Found) -> _Named:
    length = max(len(folded(text[slice(*found.span)])), 1)
    confidence = {"exact": EXACT, "alias": ALIAS}.get(found.match, max(LEAST, 1 - 2 * found.distance / length))
    return _Named(found.span, found.entities, found.match, confidence)


def _overlaps(span: Span, others: Iterable[Span]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in others)


def _resolved(mention: str, entity: Entity, match: str, confidence: float) -> ResolvedEntity:
    return ResolvedEntity.model_validate(
        {
            "mention_text": mention,
            "canonical_id": entity.id,
            "name": entity.name,
            "type": entity.type,
            "match": match,
            "confidence": round(confidence, 3),
        }
    )

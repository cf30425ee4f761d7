"""Memories of one user as they are over three years, and questions to them: short texts of four types, about entities of which a few are
in most of what is said. Seeded: but for the times, which end now, every run is alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random
from typing import Any, Final

import numpy as np

from recollect.analysis import terms
from recollect.evidence.words import words_of
from recollect.memories import MEMORY_TYPES
from recollect.model import MENTIONS, SUPERSEDES, Anchors, Batch, Chunk, Edge, Entity, Entry, Item, Passages, Vector, digest
from recollect.rank.duplicates import sketch

from .build import CHARS_PER_TOKEN, SCOPE

ENTITIES: Final = 10_000
SHARES: Final = {"episodic": 0.90, "semantic": 0.06, "procedural": 0.03, "summary": 0.01}
MENTIONED: Final = (0.15, 0.55, 0.2, 0.1)
"""The shares of memories that are about none, one, two and three entities: 1.25 on average."""
STEEPNESS, OFFSET = 1.1, 3
"""The entity at place n is mentioned in proportion to 1 / (n + OFFSET) ** STEEPNESS. Of a million memories the first is in 70,000, the
hundredth in 1,500, and half of all in 20 or fewer."""
REPLACED: Final = 1 / 3
"""The share of facts that others took the place of: 2 % of all memories."""
SPAN: Final = timedelta(days=3 * 365)
WORDS: Final = (10, 60)
SEED: Final = 11
BEGINNINGS: Final = "Al Bor Cas Del En Far Gar Hol Il Jor Kal Lor Mar Nor Ol Per Quin Ras Sol Tor"
ENDINGS: Final = "bury dale den field ford gate ham land ley mere mont more ridge rook stead ton vale ward well worth"
TRADES: Final = (
    "Foods Logistics Robotics Bank Energy Airlines Press Motors Textiles Pharma Insurance Telecom Studios Mining Optics "
    "Shipping Software Farms Hotels Steel Analytics Security Cinemas Water Records"
)
PREDICATES: Final = ["prefers", "is located in", "is managed by", "pays by", "is interested in", "uses", "contract status", "renews in"]
TIMES: Final = (
    "last month",
    "yesterday",
    "last week",
    "3 days ago",
    "this quarter",
    "in March",
    "in the last two weeks",
    "since January",
    "last year",
    "recently",
)
SHAPES: Final = ("by entity", "by time", "by both", "how-to", "plain")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and of which shape it is."""

    shape: str
    text: str


def entities() -> list[Entity]:
    """Those that memories are about, the most mentioned first."""
    parts = TRADES.split(), BEGINNINGS.split(), ENDINGS.split()
    names = [f"{begin}{end} {trade}" for trade, begin, end in product(*parts)]
    Random(SEED).shuffle(names)
    return [Entity(f"customer:{digest(name)[:8]}", "customer", name) for name in names[:ENTITIES]]


@dataclass(frozen=True, slots=True)
class Memories:
    """All memories of the user, made as they are wanted."""

    texts: Sequence[str]
    vectors: Vector
    known: Sequence[Entity]
    kinds: Sequence[str]
    about: Sequence[Sequence[int]]
    """Places of entities."""
    importance: Sequence[float]
    uses: Sequence[int]
    end: datetime

    @classmethod
    def of(cls, texts: Sequence[str], vectors: Vector) -> Memories:
        """One memory for each of these passages, of which it says the first words."""
        chance = np.random.default_rng(SEED)
        count, known = len(texts), entities()
        kinds = chance.choice(MEMORY_TYPES, count, p=[SHARES[each] for each in MEMORY_TYPES])
        drawn = chance.choice(ENTITIES, (count, len(MENTIONED)), p=likelihood())
        many = chance.choice(len(MENTIONED), count, p=MENTIONED)
        # A fact is about something.
        many = np.where(kinds == "semantic", np.maximum(many, 1), many)
        about = [list(dict.fromkeys(row[:most].tolist())) for row, most in zip(drawn, many, strict=True)]
        importance = np.clip(chance.normal(0.5, 0.2, count), 0, 1).round(2)
        uses = chance.geometric(0.7, count) - 1
        return cls(texts, vectors, known, kinds.tolist(), about, importance.tolist(), uses.tolist(), datetime.now(UTC))

    def __len__(self) -> int:
        return len(self.texts)

    def batches(self, size: int) -> Iterator[Batch]:
        """All of it as a store takes it, the oldest first."""
        for begin in range(0, len(self), size):
            made = [self._entry(number) for number in range(begin, min(begin + size, len(self)))]
            edges = [edge for number, entry in enumerate(made, begin) for edge in self._edges(number, entry.item)]
            yield Batch(made, edges=edges, entities=[] if begin else list(self.known))

    def _entry(self, number: int) -> Entry:
        item = self._item(number)
        whole = Chunk(0, 0, len(item.text), len(item.text) // CHARS_PER_TOKEN, Anchors(1, 1 + item.text.count("\n")))
        return Entry(item, Passages((whole,), self.vectors[number][None], (words_of(item.text),)), sketch(terms(item.text)))

    def _item(self, number: int) -> Item:
        chance = Random(number)
        kind, about = self.kinds[number], [self.known[each] for each in self.about[number]]
        said = " ".join(self.texts[number].split()[: chance.randint(*WORDS)])
        names = " and ".join(each.name for each in about)
        text, metadata = f"{names}: {said}" if names else said, {}
        match kind:
            case "semantic":
                value = " ".join(said.split()[:12])
                metadata = {"subject": about[0].id, "predicate": chance.choice(PREDICATES), "object": value, "confidence": 0.9}
                text = f"{about[0].name} {metadata['predicate']} {value}"
            case "procedural":
                trigger, _, action = said.partition(" ")
                metadata = {"trigger": f"When {names or trigger} asks", "action": action}
                text = f"{metadata['trigger']}: {action}"
            case "summary":
                metadata = {"covers": "session" if chance.random() < 0.8 else "global"}
        at = self.end - SPAN * (1 - (number + chance.random()) / len(self))
        return Item(
            scope=SCOPE,
            id=item_id(number),
            text=text,
            kind=kind,
            source="memory",
            metadata=metadata,
            status="superseded" if self._replaced(number) else "approved",
            created_at=at,
            updated_at=at,
            importance=self.importance[number],
            entities=tuple(each.id for each in about),
            use_count=self.uses[number],
            last_used_at=self.end if self.uses[number] else None,
        )

    def _replaced(self, number: int) -> bool:
        return self.kinds[number] == "semantic" and Random(-number).random() < REPLACED

    def _edges(self, number: int, item: Item) -> Iterator[Edge]:
        for each in item.entities:
            yield Edge(item.id, MENTIONS, each, origin=item.id)
        if self._replaced(number) and number + 1 < len(self):
            # What took its place; the next memory stands for the fact that did.
            yield Edge(item_id(number + 1), SUPERSEDES, item.id)


def likelihood() -> np.ndarray[Any, np.dtype[np.float64]]:
    """How likely each entity is to be mentioned."""
    weights = 1 / (np.arange(ENTITIES) + OFFSET) ** STEEPNESS
    return np.asarray(weights / weights.sum())


def item_id(number: int) -> str:
    """As long as the ids that memories have, which follow from what they say."""
    return digest("memory", str(number))


def questions(plain: Sequence[str], count: int) -> list[Question]:
    """As many of each shape, one after the other. Whom they ask about is drawn as memories draw it; what, from these texts."""
    chance, known = Random(SEED), entities()
    drawn = iter(np.random.default_rng(SEED + 1).choice(ENTITIES, count, p=likelihood()).tolist())
    found = []
    for place in range(count):
        shape, text = SHAPES[place % len(SHAPES)], plain[place % len(plain)].rstrip(" .?!")
        topic, name, time = " ".join(text.split()[:6]), known[next(drawn)].name, chance.choice(TIMES)
        asked = {
            "by entity": chance.choice((f"What did {name} say about {topic}?", f"What do we know about {name}?", f"{name} {topic}")),
            "by time": f"What did we talk about {time}, on {topic}?",
            "by both": f"What happened with {name} {time}?",
            "how-to": chance.choice((f"How do I answer {name} about {topic}?", f"How to handle {topic}?")),
            "plain": f"{text}?",
        }
        found.append(Question(shape, asked[shape]))
    return found

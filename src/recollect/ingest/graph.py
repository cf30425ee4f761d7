"""JSON Lines of a graph to entities and edges: what documents say of entities, entities themselves, and edges.

What a line says of a document is kept as that document's own: it goes with it, or when its content changes, and stays when other items come
and go. A further import takes the place of what an earlier one said of the same document. Any other edge stays until one of its ends goes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic
from typing import Any, Final

from ..cancellation import in_thread
from ..model import MENTIONS, Batch, Edge
from ..outline import Outline, unpack
from ..ports import Store
from . import Problem
from .entities import Entities, Named
from .linking import Linker
from .linking_edges import WEIGHTS
from .records import Bad, encoded, parsed, shown

BATCH_LINES: Final = 500
"""Lines that are written together, or not at all."""
LONGEST_TYPE: Final = 120
LINE: Final = '{"item_id": "...", "entities": ["..."], "triples": [["...", "...", "..."]]}'


@dataclass(slots=True)
class GraphReport:
    """What came of importing a graph: how much of each kind it gave, and what was not taken in."""

    items: int = 0
    """Documents of which something was said."""
    entities: int = 0
    """Entities that are new or have changed."""
    edges: int = 0
    skipped: int = 0
    """Names without letters or digits, edges at such, and triples that have not three such parts."""
    seconds: float = 0.0
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Said:
    """What a line says of an item."""

    place: str
    item_id: str
    entities: tuple[Named, ...]
    triples: tuple[tuple[Named, str, Named], ...]
    skipped: int


@dataclass(frozen=True, slots=True)
class _Given:
    """An edge as a line gives it: its ends are ids, or names of entities."""

    source: str
    type: str
    target: str
    weight: float


async def import_graph(store: Store, scope: str, lines: Iterable[bytes | str], *, name: str = "graph") -> GraphReport:
    """Take in the lines of a graph, some at a time. A bad line is told by its number, and the rest goes on."""
    began, report = monotonic(), GraphReport()
    importing = _Import(store, scope, report)
    numbered = iter(enumerate(encoded(lines), 1))
    while batch := await in_thread(lambda: list(islice(numbered, BATCH_LINES))):
        await importing.take(await in_thread(_read, batch, name, report.problems))
    await importing.join()
    report.seconds = monotonic() - began
    return report


class _Import:
    """One import, batch after batch."""

    def __init__(self, store: Store, scope: str, report: GraphReport) -> None:
        self._store, self._scope, self._report = store, scope, report
        self._entities = Entities(store, scope)
        self._linker: Linker | None = None
        self._seen: set[str] = set()
        """Items of which an earlier line has said something."""
        self._given: list[_Given] = []
        """Edges of their own, which wait until it is known what all other lines tell of."""

    async def take(self, batch: list[_Said | Named | _Given]) -> None:
        said = [each for each in batch if isinstance(each, _Said)]
        self._given += (each for each in batch if isinstance(each, _Given))
        named = [each for each in batch if isinstance(each, Named)]
        await self._entities.learn([*named, *(entity for each in said for entity in _named(each))])
        for entity in named:
            self._report.skipped += self._entities.id_of(entity) is None
        edges: dict[tuple[str, str, str], Edge] = {}
        relink = await self._facts(said, edges)
        await self._write(edges, relink)

    async def join(self) -> None:
        """Write the edges of their own, some at a time."""
        for begin in range(0, len(self._given), BATCH_LINES):
            given = self._given[begin : begin + BATCH_LINES]
            ends = sorted({end for each in given for end in (each.source, each.target)})
            await self._entities.learn([*map(Named.of, ends), *(Named(end, "", end) for end in ends)])
            there = {*await self._store.heads(self._scope, ends), *(each.node for each in await self._store.symbols_at(self._scope, ends))}
            edges: dict[tuple[str, str, str], Edge] = {}
            for each in given:
                source, target = (end if end in there else self._entities.called(end) for end in (each.source, each.target))
                if source and target:
                    edges[source, each.type, target] = Edge(source, each.type, target, each.weight)
                else:
                    self._report.skipped += 1
            self._report.edges += len(edges)
            await self._write(edges)

    async def _write(self, edges: Mapping[tuple[str, str, str], Edge], relink: Sequence[str] = ()) -> None:
        entities = self._entities.taken()
        if edges or entities or relink:
            await self._store.write(self._scope, Batch(edges=list(edges.values()), entities=entities, relink=relink))
        self._report.entities += len(entities)

    async def _facts(self, said: list[_Said], edges: dict[tuple[str, str, str], Edge]) -> list[str]:
        """Add the edges of items; which of the items are told of for the first time, and so with all that they say themselves."""
        stored = {each.item.id: each for each in await self._store.get(self._scope, list({each.item_id for each in said}))} if said else {}
        for each in said:
            if each.item_id not in stored:
                reason = f"there is no item {shown(each.item_id)}: take the documents in first, then their graph"
                self._report.problems.append(Problem(each.place, reason))
                continue
            self._report.skipped += each.skipped
            before = len(edges)
            for edge in self._edges_of(each):
                edges[edge.source, edge.type, edge.target] = edge
            self._report.edges += len(edges) - before
        first = [item_id for item_id in stored if item_id not in self._seen]
        self._seen.update(first)
        self._report.items += len(first)
        own = [Edge(each, MENTIONS, entity, WEIGHTS[MENTIONS], each) for each in first for entity in stored[each].item.entities]
        outlines = {each: outline for each in first if (outline := unpack(stored[each].outline))}
        for edge in (*own, *(await self._links(outlines) if outlines else ())):
            edges.setdefault((edge.source, edge.type, edge.target), edge)
        return first

    async def _links(self, outlines: Mapping[str, Outline]) -> list[Edge]:
        self._linker = self._linker or await Linker.of(self._store, self._scope)
        return await self._linker.edges(outlines)

    def _edges_of(self, said: _Said) -> Iterator[Edge]:
        """What an item mentions, and how that is related. Whatever is related is mentioned, too."""
        item_id = said.item_id
        for entity in _named(said):
            if (entity_id := self._entities.id_of(entity)) is None:
                self._report.skipped += 1
            else:
                yield Edge(item_id, MENTIONS, entity_id, WEIGHTS[MENTIONS], item_id)
        for subject, predicate, object_ in said.triples:
            ends = self._entities.id_of(subject), self._entities.id_of(object_)
            if ends[0] and ends[1] and ends[0] != ends[1]:
                yield Edge(ends[0], predicate, ends[1], 1.0, item_id)
            else:
                self._report.skipped += 1


def _named(said: _Said) -> Iterator[Named]:
    yield from dict.fromkeys((*said.entities, *(end for subject, _, object_ in said.triples for end in (subject, object_))))


def _read(batch: Iterable[tuple[int, bytes]], name: str, problems: list[Problem]) -> list[_Said | Named | _Given]:
    """What the lines say; what is wrong with one goes to the problems."""
    found: list[_Said | Named | _Given] = []
    for number, line in batch:
        line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        try:
            if line.strip():
                found.append(_line(parsed(line, such_as=LINE), f"{name}:{number}"))
        except Bad as bad:
            problems.append(Problem(f"{name}:{number}:{bad.column}", bad.reason))
    return found


def _line(record: dict[str, Any], place: str) -> _Said | Named | _Given:
    if (item_id := record.get("item_id", record.get("doc_id"))) is not None:
        if not isinstance(item_id, str) or not item_id:
            raise Bad(f"'item_id' takes the id of a document, not {shown(item_id)}")
        entities = tuple(_entity(each) for each in _listed(record, "entities"))
        triples = [_triple(each) for each in _listed(record, "triples")]
        return _Said(place, item_id, entities, tuple(each for each in triples if each), triples.count(None))
    if "source" in record or "target" in record:
        return _edge(record)
    if "name" in record:
        return _entity(record)
    raise Bad(f"a line is about a document ('item_id'), an entity ('name') or an edge ('source', 'type', 'target'), not {shown(record)}")


def _listed(record: dict[str, Any], key: str) -> list[Any]:
    value = record.get(key)
    if value is not None and not isinstance(value, list):
        raise Bad(f"{key!r} takes a list, not {shown(value)}")
    return value or []


def _entity(value: Any) -> Named:
    if isinstance(value, str):
        return Named.of(value)
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"].strip():
        raise Bad(f"an entity is a name, or an object with a 'name', not {shown(value)}")
    texts = {key: value.get(key) or "" for key in ("type", "id")}
    aliases = value.get("aliases") or []
    if not all(isinstance(text, str) for text in texts.values()):
        raise Bad(f"'type' and 'id' of an entity are texts, not {shown(texts)}")
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise Bad(f"'aliases' takes a list of names, not {shown(aliases)}")
    return Named(value["name"].strip(), texts["type"].strip(), texts["id"].strip(), tuple(alias for alias in aliases if alias.strip()))


def _triple(value: Any) -> tuple[Named, str, Named] | None:
    """Who, what and whom; None where something is missing."""
    if not isinstance(value, list) or len(value) != 3 or not all(isinstance(part, str) and part.strip() for part in value):
        return None
    subject, predicate, object_ = value
    type_ = edge_type(predicate)
    return (Named.of(subject), type_, Named.of(object_)) if type_ else None


def edge_type(predicate: str) -> str:
    """A predicate as the type of an edge: `married to` is MARRIED_TO."""
    return "_".join(re.findall(r"[^\W_]+", predicate.upper()))[:LONGEST_TYPE]


def _edge(record: dict[str, Any]) -> _Given:
    ends = [record.get(key) for key in ("source", "target")]
    type_, weight = record.get("type"), record.get("weight", 1.0)
    if not all(isinstance(end, str) and end.strip() for end in ends):
        raise Bad(f"'source' and 'target' of an edge are ids or names of entities, not {shown(ends)}")
    if not isinstance(type_, str) or not edge_type(type_):
        raise Bad(f"'type' of an edge is a text such as IMPLEMENTS, not {shown(type_)}")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not (math.isfinite(weight) and weight >= 0):
        raise Bad(f"'weight' takes a number from 0, not {shown(weight)}")
    return _Given(str(ends[0]).strip(), edge_type(type_), str(ends[1]).strip(), float(weight))

"""Walks over a large graph in an embedded store, beside bare SQLite that looks the same edges up and does nothing with them.

Nothing is embedded: items of a few words, and edges drawn at random between them, some of which lead to hubs with thousands."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from recollect.expand.graph import reach
from recollect.model import Batch, Direction, Edge, Entity, Entry, Head, Item, Visit
from recollect.naming import near_keys
from recollect.prefs import RetrievalPrefs
from recollect.profiles import named
from recollect.recall.versions import successors_of
from recollect.stores.sqlite.database import Database
from recollect.stores.sqlite.store import SqliteStore
from recollect.stores.sqlite.write import SqliteWriter
from recollect.understand import understand

from .build import AT, SCOPE
from .markdown import table

ITEMS = 100_000
ENTITIES = 10_000
EDGES = 500_000
HUBS = 50
TO_HUBS = 0.2
"""The share of edges that lead to a hub: each has 2,000."""
TYPES = ("REFERENCES", "IMPLEMENTS", "SATISFIES", "MENTIONS", "DIRECTED_BY")
PER_WRITE = 50_000
STARTS = 10
FAN_OUT = 20
HOPS = 2
LINKED = 300
ASKED = 200
SEED = 7

_BARE = tuple(
    f"SELECT weight, type, {other}, origin FROM edges WHERE scope = ? AND {node} = ? ORDER BY weight DESC, type, {other} LIMIT ?"
    for node, other in (("source", "target"), ("target", "source"))
)


def measure(items: int = ITEMS, edges: int = EDGES) -> dict[str, Any]:
    """Milliseconds of walks and look-ups, p50 and p95, with those of bare SQLite beside them."""
    with TemporaryDirectory(prefix="recollect-graph-") as folder:
        return asyncio.run(_measure(Path(folder) / "store", items, edges))


async def _measure(folder: Path, items: int, edges: int) -> dict[str, Any]:
    chance = random.Random(SEED)
    nodes = [f"docs/part-{at % 97}/item-{at:06}.md" for at in range(items)] + [f"thing:{at:05}" for at in range(ENTITIES)]
    seconds = _fill(folder, items, nodes, sorted(_edges(chance, nodes, edges), key=lambda edge: (edge.source, edge.type, edge.target)))
    store = SqliteStore(folder)
    try:
        asked = [chance.sample(nodes[HUBS:], STARTS) for _ in range(ASKED)]
        hubs = [chance.sample(nodes[:HUBS], STARTS) for _ in range(ASKED)]
        with closing(sqlite3.connect(folder / "recollect.db")) as bare:
            bare.execute("PRAGMA cache_size=-65536")
            bare.execute("PRAGMA mmap_size=268435456")
            walked = [await _walked(store, bare, *each) for each in _walks(asked, hubs)]
        looked_up = [
            await _timed(f"what the graph adds to {STARTS} hits", [_reached(store, starts) for starts in _items(asked)]),
            await _timed(f"links of {LINKED} nodes", [_links(store, chance.sample(nodes, LINKED)) for _ in range(ASKED)]),
            await _timed("an entity by a name with a letter wrong", [_named(store, at) for at in chance.sample(range(ENTITIES), ASKED)]),
            await _timed("the name of the state", [lambda: store.change(SCOPE)] * ASKED),
        ]
    finally:
        await store.close()
    return {"items": items, "entities": ENTITIES, "edges": edges, "build_s": round(seconds, 1), "walks": walked, "look_ups": looked_up}


def _edges(chance: random.Random, nodes: Sequence[str], count: int) -> Iterator[Edge]:
    for _ in range(count):
        source = chance.choice(nodes)
        target = nodes[chance.randrange(HUBS)] if chance.random() < TO_HUBS else chance.choice(nodes)
        yield Edge(source, chance.choice(TYPES), target, chance.choice((0.5, 0.7, 0.9, 1.0)), source)


def _fill(folder: Path, items: int, nodes: Sequence[str], edges: Sequence[Edge]) -> float:
    """A store with this graph, and no index of words or vectors, which no walk asks; the seconds that writing took."""
    folder.mkdir()
    Database.create(folder)
    database = Database(folder)
    begin = perf_counter()
    entries = [Entry(Item(scope=SCOPE, id=node, text=f"words of item {node}", created_at=AT, updated_at=AT)) for node in nodes[:items]]
    entities = [Entity(node, "thing", _name(at)) for at, node in enumerate(nodes[items:])]
    for what, batches in (
        ("items", [Batch(entries[at : at + PER_WRITE]) for at in range(0, items, PER_WRITE)]),
        ("entities", [Batch(entities=entities)]),
        ("edges", [Batch(edges=edges[at : at + PER_WRITE]) for at in range(0, len(edges), PER_WRITE)]),
    ):
        for done, batch in enumerate(batches, 1):
            with database.change() as connection:
                SqliteWriter(connection, SCOPE, None).write(batch)
            _say(f"\rwriting {what}, {done} of {len(batches)}, {perf_counter() - begin:.0f} s ", end="\n" if done == len(batches) else "")
    database.close()
    return perf_counter() - begin


def _name(at: int) -> str:
    return f"Thing of {at * 7919 % 99_991} sorts"


def _walks(plain: list[list[str]], hubs: list[list[str]]) -> list[tuple[str, list[list[str]], Direction, list[str] | None]]:
    return [
        ("both directions", plain, "both", None),
        ("two types of five", plain, "both", list(TYPES[:2])),
        ("against the edges", plain, "in", None),
        ("from hubs", hubs, "both", None),
    ]


async def _walked(
    store: SqliteStore, bare: sqlite3.Connection, what: str, asked: list[list[str]], direction: Direction, types: list[str] | None
) -> dict[str, Any]:
    """A walk, and right after it the same look-ups by bare SQLite, so that both have the same pages at hand."""
    ours, limit, reached = [], [], []
    for at, starts in enumerate(asked):
        begin = perf_counter()
        visits = await store.walk(SCOPE, starts, hops=HOPS, fan_out=FAN_OUT, types=types, direction=direction)
        ours.append(perf_counter() - begin)
        reached.append(len(visits))
        limit.append(_look_up(bare, visits, direction))
        if at % 20 == 19:
            _say(f"\rwalking, {what}: {at + 1} of {len(asked)} ", end="\n" if at + 1 == len(asked) else "")
    found = {"what": what, "nodes": round(float(np.mean(reached))), "ms": _percentiles(ours), "bare_ms": _percentiles(limit)}
    _say(f"  {found}")
    return found


def _look_up(bare: sqlite3.Connection, visits: Sequence[Visit], direction: Direction) -> float:
    followed = [visit.id for visit in visits if visit.hops < HOPS]
    statements = {"both": _BARE, "out": _BARE[:1], "in": _BARE[1:]}[direction]
    begin = perf_counter()
    for node in followed:
        for statement in statements:
            bare.execute(statement, (SCOPE, node, FAN_OUT)).fetchall()
    return perf_counter() - begin


def _links(store: SqliteStore, nodes: list[str]) -> Callable[[], Awaitable[object]]:
    return lambda: store.links(SCOPE, nodes, fan_out=FAN_OUT)


def _items(asked: list[list[str]]) -> list[list[str]]:
    """The starts that a search could have found."""
    return [[node for node in starts if not node.startswith("thing:")] for starts in asked]


def _reached(store: SqliteStore, found: list[str]) -> Callable[[], Awaitable[object]]:
    """What a search does after it has found these: two hops, the twenty best items, none of them superseded."""
    plan = replace(understand(RetrievalPrefs(query_text="words"), scope=SCOPE, profile=named("graph")), hops=HOPS)

    async def past(heads: Mapping[str, Head]) -> Collection[str]:
        successors, _ = await successors_of(store, SCOPE, list(heads))
        return successors

    scores = {node: 1.0 / place for place, node in enumerate(found, 1)}
    return lambda: reach(store, plan, scores, past)


def _named(store: SqliteStore, at: int) -> Callable[[], Awaitable[object]]:
    keys = near_keys(_name(at).replace("Thing", "Thinq"))
    return lambda: store.entities_named(SCOPE, keys, limit=50)


async def _timed(what: str, calls: Sequence[Callable[[], Awaitable[object]]]) -> dict[str, Any]:
    seconds = []
    for call in calls:
        begin = perf_counter()
        await call()
        seconds.append(perf_counter() - begin)
    found = {"what": what, "ms": _percentiles(seconds)}
    _say(f"  {found}")
    return found


def _percentiles(seconds: Sequence[float]) -> dict[str, float]:
    return {f"p{part}": round(float(np.percentile(seconds, part)) * 1000, 2) for part in (50, 95)}


def tables(found: dict[str, Any]) -> str:
    """What was measured, as Markdown."""
    size = f"{found['items']:,} items, {found['entities']:,} entities, {found['edges']:,} edges"
    head = f"{size}: {HOPS} hops from {STARTS} nodes, fan-out {FAN_OUT}"
    walks = [[each["what"], f"{each['nodes']:,}", _pair(each["ms"]), _pair(each["bare_ms"])] for each in found["walks"]]
    looked_up = [[each["what"], _pair(each["ms"])] for each in found["look_ups"]]
    return "\n\n".join(
        (
            table([head, "nodes reached", "p50 / p95 ms", "its edges by bare SQLite"], walks),
            table(["look-ups", "p50 / p95 ms"], looked_up),
        )
    )


def _pair(ms: dict[str, float]) -> str:
    return f"{ms['p50']:.1f} / {ms['p95']:.1f}"


def _say(what: str, *, end: str = "\n") -> None:
    print(what, end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    print(tables(measure()))

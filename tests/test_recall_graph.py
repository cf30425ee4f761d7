"""The walk over entities: what it comes to, how, and what it leaves alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from recollect.model import MENTIONS, Batch, Edge, Entity, Entry, Fused, Item
from recollect.ports import Store
from recollect.prefs import RetrievalPrefs
from recollect.profiles import PROFILES, GraphRanking
from recollect.recall.graph import GraphRecall, by_graph
from recollect.recall.pagerank import Graph
from recollect.stopwatch import Stopwatch
from recollect.stores.reference import ReferenceStore
from recollect.stores.sqlite.store import SqliteStore
from recollect.understand import understand

NOON = datetime(2024, 5, 17, 12, tzinfo=UTC)
TITLES = {"film": "Quiet Harbour (film)", "maker": "Ada Lund (director)", "actor": "Bo Holm", "town": "Visby", "other": "Sea Shanties"}


def item(item_id: str, **more: object) -> Entry:
    whole = Item(scope="x", id=item_id, title=TITLES.get(item_id), text=f"About {item_id}.", created_at=NOON, updated_at=NOON, **more)  # type: ignore[arg-type]
    return Entry(whole)


def entity(name: str, *aliases: str) -> Entity:
    return Entity(f"entity:{name.split()[0].lower()}", "", name, aliases)


def mention(item_id: str, *names: str) -> list[Edge]:
    return [Edge(item_id, MENTIONS, f"entity:{name}", 1.0, item_id) for name in names]


FILM = Batch(
    entries=[item("film"), item("maker"), item("actor"), item("town"), item("other")],
    entities=[entity("Quiet Harbour"), entity("Ada Lund"), entity("Bo Holm"), entity("Visby"), entity("sea")],
    edges=[
        *mention("film", "quiet", "ada", "bo", "visby"),
        *mention("maker", "ada"),
        *mention("actor", "bo"),
        *mention("town", "visby"),
        *mention("other", "sea"),
        Edge("entity:quiet", "DIRECTED_BY", "entity:ada", 1.0, "film"),
        Edge("entity:quiet", "STARRING", "entity:bo", 1.0, "film"),
    ],
)
FOUND = [Fused("film", 3.0, ()), Fused("other", 1.0, ())]


def recalled(
    question: str = "Where was the director of The Quiet Harbour born?",
    *,
    batch: Batch = FILM,
    found: Sequence[Fused] = FOUND,
    entities: Sequence[str] = ("entity:quiet",),
    store: Store | None = None,
    filters: dict[str, object] | None = None,
    depth: int = 10,
    **numbers: float,
) -> GraphRecall | None:
    async def run() -> GraphRecall | None:
        opened = store or ReferenceStore()
        await opened.write("x", batch)
        profile = replace(PROFILES["graph"], graph=replace(GraphRanking(), **numbers))  # type: ignore[arg-type]
        plan = understand(RetrievalPrefs(query_text=question, filters=filters or {}), scope="x", profile=profile)
        try:
            return await by_graph(opened, plan, found, entities, depth, Stopwatch(lambda: NOON))
        finally:
            await opened.close()

    return asyncio.run(run())


def ids(walked: GraphRecall | None) -> list[str]:
    assert walked is not None
    return [hit.id for hit in walked.ranking]


def test_the_document_of_whom_the_found_one_names_is_found() -> None:
    assert ids(recalled())[:2] == ["film", "maker"]


def test_the_relation_that_is_asked_for_leads_on() -> None:
    assert ids(recalled("Who starred in The Quiet Harbour?")).index("actor") < ids(recalled("Who starred in The Quiet Harbour?")).index(
        "maker"
    )


def test_a_question_alone_leads_to_what_its_entity_is_found_in() -> None:
    assert ids(recalled(found=[])) == ["film"]


def test_an_item_titled_by_an_entity_comes_before_others_that_name_it() -> None:
    batch = replace(FILM, entries=[*FILM.entries, item("also")], edges=[*FILM.edges, *mention("also", "ada")])
    order = ids(recalled(batch=batch))
    assert order.index("maker") < order.index("also")
    order = ids(recalled(batch=batch, titled=0.0))
    assert order.index("also") < order.index("maker")


def test_it_is_told_how_something_was_reached() -> None:
    walked = recalled(entities=())
    assert walked is not None
    assert [(edge.source, edge.type, edge.target) for edge in walked.via["maker"]] == [
        ("film", MENTIONS, "entity:ada"),
        ("maker", MENTIONS, "entity:ada"),
    ]
    assert "film" not in walked.via


def test_an_entity_that_nothing_found_speaks_of_counts_little() -> None:
    order = ids(recalled(entities=("entity:quiet", "entity:sea"), found=FOUND[:1]))
    assert order.index("maker") < order.index("other")
    order = ids(recalled(entities=("entity:quiet", "entity:sea"), found=FOUND[:1], unconfirmed=1.0))
    assert order.index("other") < order.index("maker")


def test_without_entities_in_reach_there_is_no_route() -> None:
    linked = Batch(entries=[item("film"), item("maker")], edges=[Edge("film", "REFERENCES", "maker")])
    assert recalled(batch=linked, entities=()) is None
    assert recalled(found=[], entities=()) is None
    assert recalled(weight=0.0) is None


def test_a_filter_holds() -> None:
    entries = [item("film"), item("maker", kind="person"), item("actor", kind="person"), item("town")]
    walked = recalled(batch=replace(FILM, entries=entries), filters={"kind": "person"})
    assert set(ids(walked)) == {"maker", "actor"}


def test_only_items_are_found() -> None:
    batch = replace(FILM, edges=[*FILM.edges, Edge("film#Cast", MENTIONS, "entity:ada", 1.0), Edge("gone", MENTIONS, "entity:ada", 1.0)])
    assert set(ids(recalled(batch=batch))) <= TITLES.keys()


def test_what_one_entity_mentions_is_no_item() -> None:
    said = Edge("entity:quiet", MENTIONS, "entity:visby", 1.0, "film")
    assert set(ids(recalled(batch=replace(FILM, edges=[*FILM.edges, said])))) <= TITLES.keys()


def test_no_more_come_than_are_asked_for() -> None:
    assert len(ids(recalled(depth=2))) == 2


def test_every_store_gives_the_same(tmp_path: Path) -> None:
    assert recalled(store=SqliteStore(tmp_path / "store")) == recalled()


@pytest.mark.parametrize("score", [0.0, 1e-300, 1e300])
def test_any_scores_may_be_found(score: float) -> None:
    assert "film" in ids(recalled(found=[Fused("film", score, ()), Fused("other", score, ())]))


def test_the_walk_is_the_personalised_pagerank() -> None:
    edges = [Edge("a", "T", "b"), Edge("b", "T", "c"), Edge("c", "T", "a"), Edge("c", "T", "d")]
    weights = np.array([1.0, 2.0, 1.0, 3.0])
    walked = Graph(edges, ["a"]).walked(weights, {"a": 1.0}, restart=0.2, steps=200)
    adjacency = np.array([[0, 1, 1, 0], [1, 0, 2, 0], [1, 2, 0, 3], [0, 0, 3, 0]], float)
    transition = adjacency / adjacency.sum(axis=1, keepdims=True)
    exact = 0.2 * np.linalg.solve((np.eye(4) - 0.8 * transition).T, np.array([1.0, 0, 0, 0]))
    expected = exact - np.array([0.2, 0, 0, 0])
    assert walked.at(["a", "b", "c", "d"]) == pytest.approx(expected, abs=1e-9)


def test_a_path_is_the_shortest_and_of_those_the_one_that_carries_most() -> None:
    edges = [Edge("a", "T", "b"), Edge("a", "T", "c"), Edge("d", "T", "b"), Edge("c", "T", "d"), Edge("x", "T", "y")]
    walked = Graph(edges, ["a"]).walked(np.array([1.0, 5.0, 1.0, 5.0, 1.0]), {"a": 1.0}, restart=0.2, steps=20)
    assert walked.paths(["a"], ["d", "a", "y"]) == {"d": (edges[1], edges[3])}


def test_edges_that_weigh_nothing_lead_nowhere() -> None:
    walked = Graph([Edge("a", "T", "b")], ["a"]).walked(np.array([0.0]), {"a": 1.0}, restart=0.2, steps=5)
    assert walked.at(["a", "b"]) == [0.0, 0.0]

"""The knowledge service on every store: authority, history, the graph around what was found, contexts. The bundled model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

import numpy as np
import pytest

from recollect import InvalidInput, Library
from recollect.embed import open_embedder
from recollect.errors import NotFound
from recollect.model import Batch, Edge, Entity, Item, Vector
from recollect.ports import Embedder, Store
from recollect.settings import Settings
from recollect.testing.cases import law

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SCOPE = "works"

TEXTS = {
    "arch-1": ("architecture", "superseded", "2022-03-01", "Billing architecture", "Invoices are kept in a single relational database."),
    "arch-2": (
        "architecture",
        "approved",
        "2024-03-01",
        "Billing architecture",
        "Invoices are kept in an append-only ledger, one per tenant.",
    ),
    "design-ledger": ("design", "approved", "2024-04-01", "Ledger design", "The ledger appends entries and never changes one."),
    "design-draft": ("design", "draft", "2025-11-01", "Ledger archive", "Old ledger entries may move to cold storage."),
    "req-7": ("requirement", "approved", "2021-05-01", "Audit requirement", "Auditors must see every change that was ever made."),
    "adr-3": ("decision", "approved", "2024-02-01", "Why a ledger", "We chose a ledger over tables since history must stay whole."),
    "ledger.py": ("code", "draft", "2024-05-01", "ledger.py", "def append(ledger, entry):\n    ledger.entries.append(entry)\n"),
    "lunch": ("document", "draft", "2024-05-01", "Lunch", "The canteen serves soup on Mondays and noodles on Fridays."),
    "menu": ("document", "draft", "2024-05-01", "Menu", "Noodles, soup, rice and a salad of the season."),
}
EDGES = [
    Edge("arch-2", "SUPERSEDES", "arch-1"),
    Edge("design-ledger", "IMPLEMENTS", "arch-2"),
    Edge("arch-2", "SATISFIES", "req-7"),
    Edge("design-ledger", "REFERENCES", "adr-3"),
    Edge("ledger.py", "IMPLEMENTS", "design-ledger"),
    Edge("menu", "REFERENCES", "lunch"),
    Edge("lunch", "REFERENCES", "menu"),
]


class Remembering:
    """The bundled model, which embeds a text once for all tests."""

    def __init__(self) -> None:
        self._inner = inner = open_embedder("granite", cache_dir=Settings().embed.cache_dir)
        self.model_id, self.dim, self.max_tokens, self.tokens = inner.model_id, inner.dim, inner.max_tokens, inner.tokens
        self._of_text = cache(lambda text: inner.embed([text])[0])
        self.embed_query = cache(inner.embed_query)

    def embed(self, texts: Sequence[str]) -> Vector:
        return np.stack([self._of_text(text) for text in texts])


@cache
def model() -> Embedder:
    return Remembering()


def item(item_id: str, scope: str = SCOPE) -> Item:
    kind, status, day, title, text = TEXTS[item_id]
    at = datetime.fromisoformat(day).replace(tzinfo=UTC)
    return Item(
        scope=scope,
        id=item_id,
        text=text,
        title=title,
        kind=kind,
        status=status,  # type: ignore[arg-type]
        format="code" if kind == "code" else "text",
        version="2" if item_id == "arch-2" else None,
        metadata={"subsystem": "canteen" if item_id in ("lunch", "menu") else "billing"},
        created_at=at,
        updated_at=at,
    )


async def library_of(store: Store, **options: Any) -> Library:
    library = Library(store, embedder=model(), scope=SCOPE, options=Settings.model_validate(options), clock=lambda: NOW)
    await library.add([item(item_id) for item_id in TEXTS])
    await library.link(EDGES)
    return library


@law
async def test_history_stays_away_and_what_took_its_place_comes(store: Store) -> None:
    library = await library_of(store)
    found = await library.search("invoices in a single relational database")
    ids = [each.item_id for each in found.candidates]
    assert "arch-1" not in ids
    assert ids[0] == "arch-2"
    assert "the successor of arch-1" in found.candidates[0].why.sentence or found.candidates[0].rank_vec is not None


@law
async def test_history_comes_when_asked_for_behind_what_took_its_place_and_says_so(store: Store) -> None:
    library = await library_of(store)
    found = await library.knowledge.find("invoices in a single relational database", include_history=True)
    by_id = {each.node_id: place for place, each in enumerate(found)}
    old = found[by_id["arch-1"]]
    assert by_id["arch-2"] < by_id["arch-1"]
    assert (old.historical, old.superseded_by, old.status) == (True, "arch-2", "superseded")
    assert not found[by_id["arch-2"]].historical


@law
async def test_an_edge_alone_makes_history_whatever_the_status_says(store: Store) -> None:
    library = await library_of(store)
    await library.link([Edge("design-draft", "SUPERSEDES", "design-ledger")])
    ids = [each.item_id for each in (await library.search("the ledger appends entries and never changes one")).candidates]
    assert "design-ledger" not in ids
    assert "design-draft" in ids


@law
async def test_as_of_a_day_gives_what_was_current_then(store: Store) -> None:
    library = await library_of(store)
    then = await library.search("where are invoices kept", as_of="2023-01-01")
    ids = {each.item_id for each in then.candidates}
    assert "arch-1" in ids
    assert "arch-2" not in ids
    assert not next(each for each in then.candidates if each.item_id == "arch-1").historical
    now = await library.search("where are invoices kept", as_of="2024-03-01")
    assert now.candidates[0].item_id == "arch-2"
    assert "arch-1" not in {each.item_id for each in now.candidates}


@law
async def test_a_filter_for_what_was_superseded_brings_it(store: Store) -> None:
    library = await library_of(store)
    found = await library.search("invoices", where={"status": "superseded"})
    assert [each.item_id for each in found.candidates] == ["arch-1"]
    assert found.candidates[0].historical


@law
async def test_authority_is_a_part_of_the_score(store: Store) -> None:
    library = await library_of(store)
    found = await library.search("ledger", profile="graph", where={"kind": "design"})
    parts = {each.item_id: [part.route for part in each.why.parts] for each in found.candidates}
    assert {"approved", "design"} <= set(parts["design-ledger"])
    assert "approved" not in parts["design-draft"]
    assert all(sum(part.contribution for part in each.why.parts) == pytest.approx(each.score) for each in found.candidates)


@law
async def test_the_graph_brings_what_is_linked_with_the_way_it_came(store: Store) -> None:
    library = await library_of(store)
    found = {each.node_id: each for each in await library.knowledge.find("auditors must see every change", limit=1)}
    direct = found["req-7"]
    assert (direct.distance, direct.relationship_type, direct.score) == (0, None, 1.0)
    near, far = found["arch-2"], found["design-ledger"]
    assert (near.distance, near.relationship_type) == (1, "SATISFIES")
    assert (far.distance, far.relationship_type) == (2, "IMPLEMENTS")
    assert [edge.type for edge in far.via] == ["SATISFIES", "IMPLEMENTS"]
    assert near.score == pytest.approx(0.9 / 2)
    assert far.score == pytest.approx(0.9 * 1.0 / 3)
    assert "arch-1" not in found
    assert "ledger.py" not in found
    assert far.content


@law
async def test_how_far_the_graph_is_followed_is_said_by_the_question(store: Store) -> None:
    library = await library_of(store)
    ask = "auditors must see every change"
    by_distance = [{each.node_id for each in await library.knowledge.find(ask, limit=1, max_graph_distance=hops)} for hops in (0, 1, 2)]
    assert by_distance[0] == {"req-7"}
    assert by_distance[1] == {"req-7", "arch-2"}
    assert by_distance[2] > by_distance[1]


@law
async def test_no_more_is_added_than_is_set(store: Store) -> None:
    library = await library_of(store, retrieval={"graph": {"max_expanded_nodes": 1}})
    found = await library.knowledge.find("auditors must see every change", limit=1)
    assert [each.node_id for each in found] == ["req-7", "arch-2"]


@law
async def test_a_filter_holds_for_what_the_graph_adds(store: Store) -> None:
    library = await library_of(store)
    found = await library.knowledge.find("auditors must see every change", limit=1, filters={"kind": {"ne": "design"}})
    assert {each.node_id for each in found} == {"req-7", "arch-2"}


@law
async def test_code_stays_away_where_it_is_not_wanted(store: Store) -> None:
    library = await library_of(store)
    ask = "append an entry to the ledger"
    assert "ledger.py" in {each.node_id for each in await library.knowledge.find(ask)}
    assert "ledger.py" not in {each.node_id for each in await library.knowledge.find(ask, include_code=False)}


@law
async def test_a_question_may_be_for_words_or_for_meaning_alone(store: Store) -> None:
    library = await library_of(store)
    exact = await library.knowledge.find("noodles", query_type="exact", max_graph_distance=0)
    assert {each.node_id for each in exact} == {"lunch", "menu"}
    assert all(each.similarity is None for each in exact)
    semantic = await library.knowledge.find("noodles", query_type="semantic", max_graph_distance=0)
    assert len(semantic) > 2
    assert all(each.similarity is not None and each.similarity >= 0.7 for each in semantic)


@law
async def test_too_little_by_words_is_asked_in_other_words(store: Store) -> None:
    library = await library_of(store)
    made = await library.knowledge.context("specification", search_type="exact", max_graph_distance=0)
    assert [passage.citation.node_id for section in made.sections for passage in section.passages] == ["req-7"]
    assert "also asked: requirement" in made.notes[-1]
    enough = await library.knowledge.context("ledger", search_type="exact", max_graph_distance=0)
    assert enough.total_results >= 3
    assert not enough.notes


@law
async def test_filters_said_in_words_hold_and_never_leave_nothing(store: Store) -> None:
    library = await library_of(store)
    approved = await library.search("approved designs of the ledger", profile="graph")
    assert {each.kind for each in approved.candidates} == {"design"}
    assert {each.status for each in approved.candidates} == {"approved"}
    assert approved.analysis is not None
    assert approved.analysis.filters
    nothing = await library.search("approved designs after 2025", profile="graph")
    assert nothing.candidates
    assert nothing.analysis is not None
    assert "left out" in nothing.analysis.notes[-1]


@law
async def test_a_context_has_its_sections_within_its_length(store: Store) -> None:
    library = await library_of(store)
    made = await library.knowledge.context("where are invoices kept", include_history=True)
    titles = [section.title for section in made.sections]
    assert titles == ["Primary Context", "Supporting Documentation", "Historical Context"]
    primary = [passage.citation.node_id for passage in made.sections[0].passages]
    assert primary[0] == "arch-2"
    assert [passage.citation.node_id for passage in made.sections[2].passages] == ["arch-1"]
    assert made.sections[2].passages[0].label == "historical"
    assert made.token_count <= made.max_length == 8000
    assert not made.truncated
    short = await library.knowledge.context("where are invoices kept", max_length=150)
    assert short.truncated
    assert short.left_out
    assert short.token_count <= 150
    assert len(library._reader.tokens.starts(short.text)) == short.token_count


@law
async def test_an_agent_gets_what_was_approved_of_its_subsystem(store: Store) -> None:
    library = await library_of(store)
    made = await library.knowledge.agent_context(action="implement", target_type="ledger", content="append entries", subsystem="billing")
    found = {passage.citation.node_id for section in made.sections for passage in section.passages}
    assert "design-ledger" in found
    assert found <= {"arch-2", "design-ledger", "req-7", "adr-3"}
    other = await library.knowledge.agent_context(action="cook", target_type="noodles", subsystem="canteen")
    assert any("approved" in note for note in other.notes)
    assert {passage.citation.node_id for section in other.sections for passage in section.passages} <= {"lunch", "menu"}
    unknown = await library.knowledge.agent_context(action="implement", target_type="ledger", subsystem="no such")
    assert "no such" in unknown.notes[0]
    assert unknown.sections


@law
async def test_what_is_similar_is_found_by_the_mean_of_its_passages(store: Store) -> None:
    library = await library_of(store)
    found = await library.knowledge.similar("menu", limit=2, min_score=0.5)
    assert next(each.node_id for each in found) == "lunch"
    assert "menu" not in {each.node_id for each in found}
    with pytest.raises(NotFound, match="no item 'nothing'"):
        await library.knowledge.similar("nothing")


@law
async def test_the_graph_around_a_node_is_shown_with_paths(store: Store) -> None:
    library = await library_of(store)
    found = await library.knowledge.graph("arch-2", max_distance=2)
    by_id = {node.node_id: node for node in found.nodes}
    assert found.nodes[0].node_id == "arch-2"
    assert found.nodes[0].distance == 0
    assert by_id["adr-3"].distance == 2
    assert [edge.type for edge in by_id["adr-3"].via] == ["IMPLEMENTS", "REFERENCES"]
    assert by_id["arch-1"].relationship_type == "SUPERSEDES"
    assert not found.truncated
    only = await library.knowledge.graph("arch-2", relationship_types=["SATISFIES"])
    assert {node.node_id for node in only.nodes} == {"arch-2", "req-7"}
    out = await library.knowledge.graph("arch-2", max_distance=1, direction="out")
    assert {node.node_id for node in out.nodes} == {"arch-2", "req-7", "arch-1"}
    with pytest.raises(NotFound, match="no node 'nothing'"):
        await library.knowledge.graph("nothing")


@law
async def test_impact_tells_what_depends_on_a_node_near_and_far(store: Store) -> None:
    library = await library_of(store)
    found = await library.knowledge.impact("req-7")
    assert [each.id for each in found.direct_impact] == ["arch-2"]
    assert [each.id for each in found.indirect_impact] == ["design-ledger", "ledger.py"]
    assert found.indirect_impact[1].path == ["req-7", "arch-2", "design-ledger", "ledger.py"]
    assert found.indirect_impact[1].relationships == ["SATISFIES", "IMPLEMENTS", "IMPLEMENTS"]
    assert found.total_affected == 3
    circle = await library.knowledge.impact("menu")
    assert [each.id for each in circle.direct_impact] == ["lunch"]
    assert circle.total_affected == 1


@law
async def test_entities_are_nodes_that_are_named(store: Store) -> None:
    library = await library_of(store)
    await store.write(
        SCOPE, Batch(entities=[Entity("team:ledger", "team", "The Ledger Team")], edges=[Edge("adr-3", "MENTIONS", "team:ledger")])
    )
    found = await library.knowledge.graph("team:ledger", max_distance=1)
    assert [(node.node_id, node.node_type, node.title) for node in found.nodes] == [
        ("team:ledger", "entity", "The Ledger Team"),
        ("adr-3", "decision", "Why a ledger"),
    ]


@law
async def test_an_answer_is_kept_until_anything_in_the_scope_changes(store: Store) -> None:
    library = await library_of(store)
    first = await library.knowledge.find("noodles")
    assert await library.knowledge.find("noodles") == first
    assert library.metrics().cache_hit_rate == 0.5
    await library.add_text("Noodles with an egg.", item_id="egg")
    assert "egg" in {each.node_id for each in await library.knowledge.find("noodles")}
    await library.link([Edge("egg", "REFERENCES", "req-7")])
    assert "req-7" in {each.node_id for each in await library.knowledge.find("noodles with an egg", limit=1)}
    metrics = library.metrics()
    assert metrics.queries == 4
    assert metrics.avg_results > 0
    assert metrics.stages["total"].count == metrics.stages["graph_reach"].count == 3


@law
async def test_what_is_wrong_with_a_question_is_told_in_one_line(store: Store) -> None:
    library = await library_of(store)
    with pytest.raises(InvalidInput, match="did you mean 'max_results'"):
        await library.knowledge.context("x", max_result=3)
    with pytest.raises(InvalidInput, match="as_of is 'yesterdy'"):
        await library.knowledge.find("x", as_of="yesterdy")
    with pytest.raises(InvalidInput, match="max_graph_distance is 9"):
        await library.knowledge.find("x", max_graph_distance=9)
    with pytest.raises(InvalidInput, match="empty"):
        await library.knowledge.context(" ")

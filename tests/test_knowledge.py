"""The knowledge service on every store: history, the graph around what was found, what is similar. The bundled model."""

from __future__ import annotations

import pytest

from recollect.errors import NotFound
from recollect.model import Batch, Edge, Entity
from recollect.ports import Store
from recollect.testing.cases import law
from works import SCOPE, library_of


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

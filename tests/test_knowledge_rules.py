"""The rules of a knowledge search, each in the smallest store that shows it. The reference store, words alone where meaning has no part."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import InvalidInput, Library, NotFound
from recollect.model import MENTIONS, Batch, Edge, Entity, Item
from recollect.settings import EmbedSettings, Settings
from recollect.stores.reference import ReferenceStore

NOW = datetime(2026, 6, 1, tzinfo=UTC)
OLD = datetime(2020, 1, 1, tzinfo=UTC)


def item(item_id: str, text: str, **fields: Any) -> Item:
    given = {"kind": "document", "title": item_id, "created_at": OLD, "updated_at": OLD}
    return Item(scope="default", id=item_id, text=text, **{**given, **fields})


def asked(items: Sequence[Item], edges: Sequence[Edge], ask: Callable[[Library], Awaitable[Any]], *entities: Entity) -> Any:
    async def body() -> Any:
        library = Library(ReferenceStore(), embedder=None, options=Settings(), clock=lambda: NOW)
        await library.add(items)
        await library.store.write("default", Batch(edges=edges, entities=entities))
        return await ask(library)

    return asyncio.run(body())


def places(results: Any) -> dict[str, int]:
    return {result.node_id: place for place, result in enumerate(results)}


def test_history_that_the_graph_leads_to_stays_behind_what_took_its_place() -> None:
    items = [item("hit", "zebra"), item("old", "stripes"), item("new", "spots")]
    edges = [Edge("hit", "IMPLEMENTS", "old"), Edge("new", "SUPERSEDES", "old")]
    found = asked(items, edges, lambda library: library.knowledge.find("zebra", limit=1, include_history=True))
    assert places(found)["new"] < places(found)["old"]
    assert found[places(found)["old"]].superseded_by == "new"


def test_how_many_are_asked_for_does_not_change_which_is_first() -> None:
    plain = [item(f"d{place:02}", "ledger " * (70 - place) + "word " * place) for place in range(70)]
    ruling = item("ruling", "ledger " * 12 + "word " * 58, kind="architecture", status="approved", updated_at=NOW)
    ask = [asked([*plain, ruling], [], lambda library, k=k: library.search("ledger", profile="graph", k=k)) for k in (5, 20, 71)]
    assert len({bundle.candidates[0].item_id for bundle in ask}) == 1
    assert ask[0].candidates[0].item_id == "ruling"


def test_a_question_for_words_alone_finds_nothing_by_entities() -> None:
    items = [item("film", "zorro the film"), item("bio", "a life")]
    edges = [Edge("film", MENTIONS, "e:x", origin="film"), Edge("bio", MENTIONS, "e:x", origin="bio")]
    entity = Entity("e:x", "person", "Somebody")
    found = asked(items, edges, lambda library: library.knowledge.find("zorro", query_type="exact", max_graph_distance=0), entity)
    assert [each.node_id for each in found] == ["film"]


def test_a_node_is_reached_by_the_best_of_its_shortest_paths() -> None:
    items = [item("z-top", "zebra zebra zebra"), item("a-low", "zebra, " + "and much else, " * 9), item("target", "stripes")]
    edges = [Edge("z-top", "IMPLEMENTS", "target"), Edge("a-low", "REFERENCES", "target")]
    found = asked(items, edges, lambda library: library.knowledge.find("zebra"))
    target = found[places(found)["target"]]
    assert (target.relationship_type, target.via[0].source) == ("IMPLEMENTS", "z-top")
    assert target.score == pytest.approx(0.5)


def test_edges_that_weigh_little_do_not_crowd_out_those_that_weigh_much() -> None:
    others = [Entity(f"e:{place}", "thing", f"Thing {place}") for place in range(40)]
    edges = [Edge("hit", MENTIONS, entity.id) for entity in others] + [Edge("hit", "SATISFIES", "req")]
    found = asked([item("hit", "zebra"), item("req", "stripes", kind="requirement")], edges, lambda x: x.knowledge.find("zebra"), *others)
    assert "req" in places(found)


def test_the_code_that_an_agent_works_on_is_no_query() -> None:
    items = [item("design", "ledger with verbose output", kind="design", status="approved"), item("other", "soup", status="approved")]
    made = asked(
        items, [], lambda library: library.knowledge.agent_context(action="implement", target_type="ledger", content="ledger -verbose")
    )
    assert "design" in {passage.citation.node_id for section in made.sections for passage in section.passages}


def test_other_words_come_behind_the_own_ones_and_the_graph_adds_to_them() -> None:
    items = [item("own", "specification of soup"), item("r1", "requirement one"), item("r2", "requirement two"), item("near", "stripes")]
    edges = [Edge("near", "IMPLEMENTS", "r1")]
    found = asked(items, edges, lambda library: library.knowledge.find("specification", query_type="exact", limit=3))
    assert next(each.node_id for each in found) == "own"
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert {"own", "r1", "r2", "near"} == set(places(found))
    assert found[0].score == 1.0


def test_code_has_no_history_and_facets_count_none_elsewhere() -> None:
    items = [item("a", "ledger"), item("b", "ledger book", status="archived"), item("c", "ledger page")]
    code = asked(items, [], lambda library: library.search("ledger", profile="code", router="none"))
    assert {found.item_id for found in code.candidates} == {"a", "b", "c"}
    counted = asked(items, [], lambda library: library.search("ledger", facets=["status"]))
    assert counted.facets == {"status": {"draft": 2}}


def test_what_changed_later_was_not_recent_then() -> None:
    items = [item("a", "ledger", updated_at=NOW), item("b", "soup", updated_at=NOW)]
    found = asked(items, [], lambda library: library.search("ledger", profile="graph", as_of="2023-01-01"))
    assert "recent" not in {part.route for part in found.candidates[0].why.parts}


def test_the_last_of_a_route_has_a_score_that_authority_can_raise() -> None:
    items = [item("a", "ledger ledger soup"), item("b", "ledger of something else", kind="architecture", status="approved")]
    found = asked(items, [], lambda library: library.knowledge.find("ledger", query_type="exact"))
    assert all(each.score > 0 for each in found)


def test_who_changes_an_answer_changes_none_that_is_kept() -> None:
    async def twice(library: Library) -> Any:
        first = await library.retrieve({"query_text": "ledger", "cache": {"use_result_cache": True}})
        first.candidates.clear()
        return await library.retrieve({"query_text": "ledger", "cache": {"use_result_cache": True}})

    assert len(asked([item("a", "ledger")], [], twice).candidates) == 1


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda knowledge: knowledge.find(5), "5 is no RetrievalQuery"),
        (lambda knowledge: knowledge.context("x", "hybrid"), "'hybrid' is no RetrievalOptions"),
        (lambda knowledge: knowledge.graph("a", direction="sideways"), "direction is 'sideways'"),
        (lambda knowledge: knowledge.graph("a", relationship_types="SATISFIES"), "relationship_types is 'SATISFIES'"),
        (lambda knowledge: knowledge.graph("a", max_distance=11), "max_distance is 11"),
        (lambda knowledge: knowledge.impact(["a"]), r"the node is \['a'\]"),
        (lambda knowledge: knowledge.similar("a", limit=0), "limit is 0"),
        (lambda knowledge: knowledge.similar("a"), "has no vectors"),
        (lambda knowledge: knowledge.find("a\ud800"), "lone surrogate"),
        (lambda knowledge: knowledge.agent_context(), "action is missing"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(ask: Callable[[Any], Awaitable[Any]], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        asked([item("a", "ledger")], [], lambda library: ask(library.knowledge))


def test_of_two_that_supersede_each_other_the_later_one_is_current() -> None:
    items = [item("a", "ledger of a"), item("b", "ledger of b", created_at=NOW)]
    edges = [Edge("a", "SUPERSEDES", "b"), Edge("b", "SUPERSEDES", "a")]
    found = asked(items, edges, lambda library: library.search("ledger"))
    assert [each.item_id for each in found.candidates] == ["b"]


def test_what_mentions_an_entity_that_the_question_names_comes_first_though_no_hit_does() -> None:
    others = [item(f"d{place}", f"who operates the thing {place}") for place in range(9)]
    entity = Entity("system:kafka", "system", "Apache Kafka", ("the log bus",))
    edges = [Edge("people", MENTIONS, "system:kafka", origin="people")]

    async def ask(library: Library) -> Any:
        return await library.search("who operates Apache Kafka?", profile="graph", weights={"text": 0.5, "vector": 0.5})

    found = asked([*others, item("people", "Bob looks after the queue")], edges, ask, entity)
    assert "people" in [each.item_id for each in found.candidates[:2]]


def test_a_node_may_be_named_as_documents_name_it(tmp_path: Path) -> None:
    (tmp_path / "adr").mkdir()
    (tmp_path / "adr" / "0007-use-a-ledger.md").write_text("---\nid: ledger\n---\n# Use a ledger\nText.\n")
    (tmp_path / "design.md").write_text("# Design\nAs ADR-7 says.\n")
    with Library.open(tmp_path / ".recollect", options=Settings(embed=EmbedSettings(model="none"))).sync() as library:
        library.index(tmp_path, base=tmp_path)
        for name in ("ledger", "adr/0007-use-a-ledger.md", "ADR-7", "adr-0007"):
            assert [each.id for each in library.knowledge.impact(name).direct_impact] == ["design.md"], name
        with pytest.raises(NotFound, match="no node 'ADR-8'"):
            library.knowledge.impact("ADR-8")


def test_a_graph_is_taken_from_texts_as_well_as_bytes() -> None:
    line = '{"id": "x:y", "type": "x", "name": "Y"}'

    async def ask(library: Library) -> Any:
        with pytest.raises(InvalidInput, match="give a list of lines"):
            await library.import_graph("graph.jsonl")
        with pytest.raises(InvalidInput, match="a line is 5"):
            await library.import_graph([5])  # type: ignore[list-item]
        return [(await library.import_graph([each])).entities for each in (line, line.replace("Y", "Z").encode())]

    assert asked([], [], ask) == [1, 1]

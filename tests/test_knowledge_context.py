"""Contexts and the questions that they answer: authority, filters said in words, limits. The bundled model, the embedded store."""

from __future__ import annotations

import pytest

from recollect import InvalidInput
from recollect.ports import Store
from recollect.testing.cases import law
from works import library_of


@law
async def test_authority_is_a_part_of_the_score(store: Store) -> None:
    library = await library_of(store)
    found = await library.search("ledger", profile="graph", where={"kind": "design"})
    parts = {each.item_id: [part.route for part in each.why.parts] for each in found.candidates}
    assert {"approved", "design"} <= set(parts["design-ledger"])
    assert "approved" not in parts["design-draft"]
    assert all(sum(part.contribution for part in each.why.parts) == pytest.approx(each.score) for each in found.candidates)


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
    assert len(library._parts.reader.tokens.starts(short.text)) == short.token_count


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

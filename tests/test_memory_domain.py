"""The seed's scenarios from end to end: a year of memories beside the database of a shop, which may be away. The bundled model."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from colleague import ACME, CUSTOMERS, FEW, RUSH, adds_up, by_id, colleague, domain, happened, ids, library
from recollect.errors import InvalidInput
from recollect.memories import AugmentedContext
from recollect.model import Batch, Entity


def awaited(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


def headings(found: AugmentedContext) -> list[str]:
    return [line for line in found.prompt.splitlines() if line.startswith("#")]


@awaited
async def test_what_acme_ordered_last_month(tmp_path: Path) -> None:
    async with colleague(**domain(tmp_path)) as memory:
        found = await memory.recall(ACME)
        assert (found.query.query_type.category, found.query.strategy) == ("factual", "factual_entity_focused")
        assert found.query.query_type.requires_domain_db
        assert [(each.canonical_id, each.match) for each in found.query.entities] == [("customer:1", "exact")]
        assert found.query.time_range is not None
        assert found.query.time_range.words == "last month"
        assert found.query.time_range.start == datetime(2024, 1, 1, tzinfo=UTC)
        assert found.query.time_range.end == datetime(2024, 1, 31, 23, 59, 59, 999999, tzinfo=UTC)
        order = ids(found)
        assert order[0] == "sum-acme"
        assert max(map(order.index, ("acme-q4", "acme-rockets", "acme-anvils"))) < order.index("acme-old")
        assert "acme-net30" not in order
        assert not {"globex-order", "tax", "rush", "tuesday"} & set(order), "others, and what was done last month with nobody"
        adds_up(found)
        assert found.domain is not None
        assert [(table.table, table.about) for table in found.domain.tables] == [
            ("customers", "customer:1"),
            ("orders", "orders of customer:1, 2024-01-01 to 2024-01-31"),
        ]
        assert [row["id"] for row in found.domain.tables[1].rows] == [102, 101]
        assert found.notes == []


@awaited
async def test_whom_memory_knows_by_name_alone_has_rows_all_the_same(tmp_path: Path) -> None:
    opened = library(**domain(tmp_path))
    told = await opened.memory.remember("They want anvils only.", entities=["Acme Corporation"])
    by_key = await opened.memory.remember("They asked for a discount.", entities=["customer:1"])
    for name in ("Acme Corporation", "Acme"):
        found = await opened.memory.recall(f"What did {name} order?")
        assert [each.canonical_id for each in found.query.entities] == ["entity:acmecorporation", "customer:1"]
        assert found.domain is not None
        assert [table.about for table in found.domain.tables] == ["customer:1", "orders of customer:1"]
        assert {by_id(found)[each.id].signals.entity_overlap for each in (told, by_key)} == {1.0}
    both = await opened.memory.recall("What did Acme and Łódź Spółka order?")
    assert by_id(both)[told.id].signals.entity_overlap == 0.5
    await opened.close()


@awaited
async def test_the_prompt_of_the_worked_example(tmp_path: Path) -> None:
    async with colleague(**domain(tmp_path)) as memory:
        found = await memory.recall(ACME)
        assert headings(found) == [
            "# Retrieved Context",
            "## Relevant Summaries",
            "## Relevant Facts",
            "## Relevant Past Interactions",
            "# Domain Database Query Results",
        ]
        lines = found.prompt.splitlines()
        assert f'relevant to the question: "{ACME}"' in found.prompt
        marks = {each.id: f"[m{number}]" for number, each in enumerate(found.memories, 1)}
        assert f"- {marks['acme-industry']} (as of 2023-03-01) Acme Corporation has industry technology" in lines
        assert f"- {marks['acme-net60']} (as of 2024-01-10, confidence 0.80) Acme Corporation prefers payment terms NET60" in lines
        assert f"- {marks['acme-invoice']} (2 weeks ago, 2024-02-01) Acme asked about the payment status of invoice 789." in lines
        assert "| 101 | 1 | 2024-01-01T00:00:00 | 120.50 | first of the year |" in lines
        assert "hush" not in found.prompt
        assert found.prompt.count("```") % 2 == 0


@awaited
async def test_how_rush_orders_are_handled(tmp_path: Path) -> None:
    async with colleague(**domain(tmp_path)) as memory:
        found = await memory.recall(RUSH)
        assert (found.query.strategy, found.query.query_type.procedural, found.query.time_range) == ("procedural", True, None)
        assert ids(found)[0] == "rush"
        assert "procedural" in found.memories[0].sources
        assert found.domain is None
        assert "When: a customer asks for a rush order\n  Then: check the stock, then call the courier before noon" in found.prompt
        before = found.memories[0]
        await memory.feedback(found.retrieval_id, "m1")
        after = (await memory.recall(RUSH)).memories[0]
        assert (after.id, after.use_count) == ("rush", 1)
        assert after.score > before.score


@awaited
async def test_tell_me_about_my_customers(tmp_path: Path) -> None:
    async with colleague(**domain(tmp_path)) as memory:
        found = await memory.recall(CUSTOMERS)
        assert (found.query.strategy, found.query.entity_types) == ("exploratory", ["customer"])
        assert found.query.query_type.entity_focused
        assert set(ids(found)[:2]) == {"sum-customers", "sum-acme"}
        about = [each for each in found.memories if any(one.startswith("customer:") for one in each.entities)]
        assert len(about) >= len(found.memories) - 2
        assert {"customer:1", "customer:2", "customer:7"} <= {one for each in about for one in each.entities}
        scores = by_id(found)
        assert scores["globex-complaint"].signals.importance == 0.9
        assert headings(found)[:2] == ["# Retrieved Context", "## Relevant Summaries"]


@awaited
async def test_memories_and_rows_come_together_for_a_decision(tmp_path: Path) -> None:
    async with colleague(**domain(tmp_path)) as memory:
        found = await memory.recall("Should I offer Acme a discount?", limit=15)
        assert found.query.strategy == "analytical"
        assert found.domain is not None
        assert len(found.domain.tables[1].rows) == 5
        assert {"discount", "acme-net60", "sum-acme"} <= set(ids(found))
        habits = await memory.recall("What does Acme usually order?")
        assert habits.domain is None
        assert habits.memories


@awaited
async def test_what_the_ontology_leads_to_is_recalled_too(tmp_path: Path) -> None:
    async with colleague(sources={"semantic": 2, "text": 2}, **domain(tmp_path)) as memory:
        line = by_id(await memory.recall(ACME))["line-down"]
        assert line.signals.entity_overlap == 0.5
        assert "entity" in line.sources
        assert "is about what is related to Acme Corporation" in line.why
    (tmp_path / "near").mkdir()
    async with colleague(sources={"semantic": 2, "text": 2, "time": 2}, **domain(tmp_path / "near", depth=0)) as memory:
        assert "line-down" not in ids(await memory.recall(ACME, limit=50))


@awaited
async def test_names_that_only_the_database_knows_are_resolved(tmp_path: Path) -> None:
    opened = library(**domain(tmp_path))
    memory = opened.memory
    await memory.remember("They want a bigger discount.", id="want", entities=["customer:2"])
    found = await memory.recall("What did Łódź Spółka order last month?")
    assert [(each.canonical_id, each.match) for each in found.query.entities] == [("customer:2", "domain")]
    assert ids(found) == ["want"]
    assert found.domain is not None
    assert [row["id"] for row in found.domain.tables[1].rows] == [105]
    twin = await memory.recall("What did Twin order?")
    assert [each.candidates for each in twin.query.ambiguities] == [["customer:4", "customer:5"]]
    assert (twin.query.entities, twin.domain) == ([], None)
    assert twin.notes == ["'Twin' may be customer:4 or customer:5: none of them was taken, so say which is meant"]
    assert "Note: 'Twin' may be customer:4 or customer:5" in twin.prompt
    settled = await memory.recall("What did Twin order?", context={"entities": ["customer:5"]})
    assert [(each.canonical_id, each.match) for each in settled.query.entities] == [("customer:5", "context")]
    assert settled.notes == []
    await opened.close()


@awaited
async def test_a_name_that_several_have_is_told_without_a_database() -> None:
    async with colleague(None, *FEW) as memory:
        await memory._store.write("ann", Batch(entities=[Entity(f"person:{each}", "person", "John Smith") for each in range(7)]))
        found = await memory.recall("What did John Smith say?")
        assert found.notes == [
            "'John Smith' may be person:0 or person:1 or person:2 or person:3 or person:4 or 2 others:"
            " none of them was taken, so say which is meant"
        ]


@awaited
async def test_without_its_database_memories_come_and_the_answer_says_what_is_missing(tmp_path: Path) -> None:
    settings = domain(tmp_path)
    (tmp_path / "shop.db").unlink()
    async with colleague(**settings) as memory:
        found = await memory.recall(ACME)
        assert ids(found)[0] == "sum-acme"
        assert len(found.memories) > 5
        adds_up(found)
        assert found.domain is not None
        assert found.domain.tables == []
        assert found.domain.problem is not None
        assert "cannot be read" in found.domain.problem
        assert found.notes == [found.domain.problem]
        assert "The domain database could not be asked: the domain database" in found.prompt
        assert headings(found)[-1] == "# Domain Database Query Results"
        unknown = await memory.recall("What did Umbrella order?")
        assert unknown.notes[0].startswith("names were not looked up in the domain database: ")
        assert "names were not looked up" in unknown.prompt
        assert not (tmp_path / "shop.db").exists()

        assert len(unknown.notes) == 1


@awaited
async def test_a_question_for_current_data_that_names_nobody_is_told_so(tmp_path: Path) -> None:
    note = (
        "the question needs current data, but names nothing that the domain database could be asked about:"
        " name the customer, order or the like that is meant"
    )
    async with colleague(None, *FEW, **domain(tmp_path)) as memory:
        found = await memory.recall("How many active customers?")
        assert found.query.query_type.requires_domain_db
        assert (found.query.entities, found.domain, found.notes) == ([], None, [note])
        assert f"Note: {note}" in found.prompt
        assert (await memory.recall(ACME)).notes == []
        assert (await memory.recall(RUSH)).notes == []
    async with colleague(None, *FEW) as memory:
        assert (await memory.recall("How many active customers?")).notes == []


@awaited
async def test_a_database_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    settings = domain(tmp_path, timeout_s=0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings["domain"]["url"] = f"postgresql://ann:secret@127.0.0.1:{silent.getsockname()[1]}/shop"
        async with colleague(**settings) as memory:
            found = await memory.recall(ACME)
    assert ids(found)[0] == "sum-acme"
    assert found.domain is not None
    assert "did not answer within 0.2 s" in (found.domain.problem or "")
    assert "secret" not in found.model_dump_json()


@awaited
async def test_what_is_wrong_with_the_settings_of_the_database_is_told_at_once(tmp_path: Path) -> None:
    settings = domain(tmp_path)
    for key, value, told in (("ontology", str(tmp_path / "none.yaml"), "none.yaml"), ("url", "nosuch://x", "nosuch")):
        wrong = {"domain": {**settings["domain"], key: value}}
        with pytest.raises(InvalidInput, match=told):
            _ = library(**wrong).memory


@awaited
async def test_rows_and_memories_share_a_small_prompt(tmp_path: Path) -> None:
    async with colleague(None, *FEW, happened("long", "2024-01-20", "Acme " + "anvil " * 120, "customer:1"), **domain(tmp_path)) as memory:
        for most in (200, 260, 400):
            found = await memory.recall(ACME, max_tokens=most)
            assert found.token_count <= most
            assert found.memories
        assert any("rows of the domain database have no room" in each for each in (await memory.recall(ACME, max_tokens=200)).notes)

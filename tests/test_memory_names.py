"""Names of whom memories are about: without a legal form, known by name alone or by more, and what cannot be one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from colleague import colleague, happened, library
from recollect import Library
from recollect.errors import InvalidInput
from recollect.memories import AugmentedContext
from recollect.model import Entity
from recollect.stores.sqlite.store import SqliteStore

SAW = happened("saw", "2024-02-01", "Umbrella Corporation sent an offer.", "Umbrella Corporation")


def awaited(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    return wraps(test)(lambda: asyncio.run(test()))


def about(found: AugmentedContext) -> list[str]:
    return [each.canonical_id for each in found.query.entities]


@awaited
async def test_a_company_is_found_by_its_name_without_a_legal_form() -> None:
    opened = library()
    await opened.memory.remember("They ordered forty routers.", entities=["Umbrella Corporation"])
    await opened.memory.remember(type="semantic", subject="Hooli, Inc.", predicate="prefers", object="NET60")
    assert await opened.memory.entities() == [
        Entity("entity:hooliinc", "entity", "Hooli, Inc.", ("Hooli",)),
        Entity("entity:umbrellacorporation", "entity", "Umbrella Corporation", ("Umbrella",)),
    ]
    found = await opened.memory.recall("What did Umbrella order?")
    assert (about(found), found.query.entities[0].match) == (["entity:umbrellacorporation"], "alias")
    assert (await opened.memory.remember("Hooli called about the offer.")).entities == ["entity:hooliinc"]
    known = await opened.memory.know("Wonka GmbH", type="customer", id="customer:8", aliases=["wonka"])
    assert known.aliases == ("wonka",)
    await opened.close()


@awaited
async def test_a_short_name_that_another_has_is_an_ambiguity() -> None:
    async with colleague(None, SAW) as memory:
        await memory.know("Umbrella GmbH", type="customer")
        found = await memory.recall("What did Umbrella order?")
        assert about(found) == []
        (ambiguity,) = found.query.ambiguities
        assert sorted(ambiguity.candidates) == ["customer:umbrellagmbh", "entity:umbrellacorporation"]
        assert about(await memory.recall("What did Umbrella GmbH order?")) == ["customer:umbrellagmbh"]


@awaited
async def test_memories_that_come_together_know_the_short_names_of_each_other() -> None:
    later: list[dict[str, Any]] = [
        {"text": "Umbrella called."},
        {"text": "An offer was made.", "entities": ["Umbrella"]},
        {"text": "Hooli AG came.", "entities": ["Hooli AG"]},
        {"text": "Hooli SE came.", "entities": ["Hooli SE"]},
        {"text": "Hooli left."},
    ]
    for groups in ([[SAW, *later]], [[each] for each in [SAW, *later]]):
        opened = library()
        told = [made for group in groups for made in await opened.memory.remember_all(group)]
        own = ["entity:umbrellacorporation"]
        assert [each.entities for each in told] == [own, own, own, ["entity:hooliag"], ["entity:hoolise"], []]
        await opened.close()


@awaited
async def test_a_short_name_does_not_keep_an_entity_that_is_forgotten() -> None:
    opened = library()
    told = await opened.memory.remember("They sent an offer.", entities=["Umbrella Corporation"])
    assert await opened.memory.forget(told.id) == [told.id]
    assert await opened.memory.entities() == []
    await opened.close()


@awaited
async def test_who_was_known_by_name_alone_is_the_same_once_a_type_is_said() -> None:
    async with colleague(None, SAW) as memory:
        known = await memory.know("Umbrella Corporation", type="supplier", aliases="The Umbrellas")
        assert known == Entity("entity:umbrellacorporation", "supplier", "Umbrella Corporation", ("Umbrella", "The Umbrellas"))
        assert await memory.know("umbrella corporation", type="supplier") == Entity(
            known.id, "supplier", "umbrella corporation", ("Umbrella Corporation", "Umbrella", "The Umbrellas")
        )
        other = await memory.know("Umbrella Corporation", type="film")
        assert other.id == "film:umbrellacorporation"


def test_names_that_two_give_at_once_are_all_kept(tmp_path: Path) -> None:
    async def work() -> None:
        libraries = [Library(SqliteStore(tmp_path / "store"), embedder=None, scope="ann") for _ in range(2)]
        one, other = (each.memory for each in libraries)
        await one.know("Acme", id="customer:1")
        await asyncio.gather(one.know("Acme", id="customer:1", aliases=["Ay"]), other.know("Acme", id="customer:1", aliases=["Bee"]))
        (acme,) = await one.entities()
        assert set(acme.aliases) == {"Ay", "Bee"}
        for each in libraries:
            await each.close()

    asyncio.run(work())


@awaited
async def test_what_cannot_be_a_name_or_an_id_is_told() -> None:
    async with colleague(None, SAW) as memory:
        calls: list[tuple[Callable[[], Coroutine[Any, Any, Any]], str]] = [
            (lambda: memory.know(None), "name is None: give a text"),
            (lambda: memory.know("Umbrella", aliases=[3]), "aliases is 3: give a text"),
            (lambda: memory.entities(3), "name is 3: give a text"),
            (lambda: memory.entities(limit=0), "limit is 0: give at least 1"),
            (lambda: memory.forget(None), "ids is None: give a text"),
            (lambda: memory.feedback("x", [None]), "used is None: give a text"),
        ]
        for call, message in calls:
            with pytest.raises(InvalidInput, match=message):
                await call()

"""A year of memories of somebody who looks after the customers of a small shop, for the tests of memory. The bundled model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import Library
from recollect.memories import AugmentedContext, RecalledMemory
from recollect.memory import Memory
from recollect.model import Batch, Entity
from recollect.ports import Store
from recollect.settings import Settings
from recollect.stores.reference import ReferenceStore
from shop import ONTOLOGY, sqlite_shop
from works import model

NOW = datetime(2024, 2, 15, 12, tzinfo=UTC)
"""A Thursday."""
SCOPE = "ann"

ENTITIES = [
    Entity("customer:1", "customer", "Acme Corporation", ("Acme",)),
    Entity("customer:2", "customer", "Łódź Spółka"),
    Entity("customer:7", "customer", "Globex"),
    Entity("person:kim", "person", "Kim Ortega"),
    Entity("order:101", "order", "order 101"),
]


def happened(item_id: str, at: str, text: str, *entities: str, **fields: Any) -> dict[str, Any]:
    return {"id": item_id, "at": at, "text": text, "entities": list(entities), **fields}


def fact(item_id: str, at: str, subject: str, predicate: str, object_: str, **fields: Any) -> dict[str, Any]:
    return {"id": item_id, "type": "semantic", "at": at, "subject": subject, "predicate": predicate, "object": object_, **fields}


def way(item_id: str, at: str, trigger: str, action: str, **fields: Any) -> dict[str, Any]:
    return {"id": item_id, "type": "procedural", "at": at, "trigger": trigger, "action": action, **fields}


def summary(item_id: str, at: str, text: str, covers: str, *entities: str) -> dict[str, Any]:
    return {"id": item_id, "type": "summary", "at": at, "text": text, "covers": covers, "entities": list(entities)}


MEMORIES = [
    summary(
        "sum-acme", "2024-01-31", "Acme Corporation is a long-standing customer with frequent large orders.", "customer:1", "customer:1"
    ),
    summary("sum-customers", "2024-02-01", "Three customers make up most of the business: Acme, Globex and Łódź Spółka.", "global"),
    summary("sum-kitchen", "2023-08-01", "The kitchen was renovated over the summer, with new tiles and a sink.", "global"),
    summary("sum-session", "2024-02-14", "The session was about the move of the warehouse to the harbour.", "session"),
    fact("acme-industry", "2023-03-01", "customer:1", "has_industry", "technology"),
    fact("acme-net30", "2023-06-01", "customer:1", "prefers_payment_terms", "NET30"),
    fact("acme-net60", "2024-01-10", "customer:1", "prefers_payment_terms", "NET60", confidence=0.8),
    fact("acme-city", "2023-05-01", "customer:1", "is_based_in", "Rome"),
    fact("globex-industry", "2023-04-01", "customer:7", "has_industry", "logistics"),
    fact("globex-terms", "2023-07-01", "customer:7", "prefers_payment_terms", "prepayment"),
    fact("kim-allergy", "2023-09-12", "person:kim", "is_allergic_to", "peanuts"),
    fact("kim-role", "2023-09-12", "person:kim", "works_as", "a buyer at Globex", entities=["customer:7"]),
    way("rush", "2023-04-02", "a customer asks for a rush order", "check the stock, then call the courier before noon"),
    way("refund", "2023-05-06", "a refund is above 500 euros", "ask the manager to sign it"),
    way("late-invoice", "2023-06-07", "an invoice is late by two weeks", "send a friendly reminder, then phone"),
    way("discount", "2023-07-08", "a large customer orders for more than 50000", "offer five percent off"),
    way("backup", "2023-08-09", "the laptop shows a full disk", "move the photos to the archive"),
    happened("acme-anvils", "2024-01-16", "Acme placed an order of forty anvils by phone.", "customer:1"),
    happened("acme-rockets", "2024-01-29", "Acme added two rockets to its order.", "customer:1"),
    happened("acme-invoice", "2024-02-01", "Acme asked about the payment status of invoice 789.", "customer:1"),
    happened("acme-q4", "2024-01-14", "Reviewed the order history of Acme in the last quarter: orders grew more frequent.", "customer:1"),
    happened("acme-old", "2023-04-20", "Acme ordered a single trampoline as a gift.", "customer:1"),
    happened("acme-visit", "2023-10-03", "Lunch with two people from the head office, who brought a cake.", "customer:1"),
    happened("line-down", "2024-01-20", "The belt tore and was glued within the hour.", "order:101"),
    happened("globex-order", "2024-01-18", "Globex ordered ten pallets of cardboard.", "customer:7"),
    happened("globex-complaint", "2023-11-22", "Globex complained that a delivery came a week late.", "customer:7", importance=0.9),
    happened("lodz-call", "2023-12-05", "A call with Łódź Spółka about customs papers.", "customer:2"),
    happened("kim-birthday", "2023-09-20", "Kim Ortega celebrated a birthday with the whole team.", "person:kim"),
    happened("code", "2023-06-30", "The spare key hangs behind XK-4471-Z in the cellar."),
    happened("tuesday", "2024-02-13", "Repainted the fence together with the neighbours."),
    happened("dentist", "2023-03-15", "The dentist advised a softer brush."),
    happened("bike", "2023-05-22", "The bicycle got new tyres and a bell."),
    happened("garden", "2023-06-11", "Planted tomatoes, beans and a fig tree in the garden."),
    happened("concert", "2023-07-19", "The concert in the park was rained out halfway through."),
    happened("holiday", "2023-08-14", "Two weeks at the lake with canoes and mosquitoes."),
    happened("school", "2023-09-04", "The school asked parents to label every lunch box."),
    happened("boiler", "2023-10-18", "The boiler was serviced and a valve replaced."),
    happened("snow", "2023-12-20", "Snow closed the road to the village for two days."),
    happened("tax", "2024-01-05", "Sent the tax papers to the accountant."),
    happened("choir", "2024-02-02", "The choir began to rehearse a new mass."),
]
FEW = [each for each in MEMORIES if each["id"] in ("sum-acme", "acme-net30", "acme-anvils", "acme-visit", "rush", "tuesday", "kim-allergy")]

ACME = "What did Acme Corporation order last month?"
RUSH = "How do I usually handle rush orders?"
CUSTOMERS = "Tell me about my customers"


def library(store: Store | None = None, *, scope: str = SCOPE, embedder: Any = "bundled", llm: Any = None, **memory: Any) -> Library:
    """An empty library, whose clock stands still."""
    options = Settings.model_validate({"memory": memory})
    own = model() if embedder == "bundled" else embedder
    return Library(store or ReferenceStore(), embedder=own, llm=llm, scope=scope, options=options, clock=lambda: NOW)


async def filled(memory: Memory, *memories: dict[str, Any]) -> Memory:
    """With these memories, by default those of the year."""
    await memory._store.write(memory._scope, Batch(entities=ENTITIES))
    await memory.remember_all(memories or MEMORIES)
    return memory


@asynccontextmanager
async def colleague(store: Store | None = None, *memories: dict[str, Any], **options: Any) -> AsyncIterator[Memory]:
    """A memory with these memories, by default those of the year, closed in the end."""
    opened = library(store, **options)
    try:
        yield await filled(opened.memory, *memories)
    finally:
        await opened.close()


def domain(folder: Path, **settings: Any) -> dict[str, Any]:
    """The settings of the domain database of the shop."""
    (folder / "shop.yaml").write_text(ONTOLOGY.replace("{schema}", ""))
    return {"domain": {"url": sqlite_shop(folder), "ontology": str(folder / "shop.yaml"), **settings}}


def ids(found: AugmentedContext) -> list[str]:
    return [each.id for each in found.memories]


def by_id(found: AugmentedContext) -> dict[str, RecalledMemory]:
    return {each.id: each for each in found.memories}


def adds_up(found: AugmentedContext) -> None:
    """The score of every memory follows from what is said of it."""
    for each in found.memories:
        signals = each.signals.model_dump()
        total = each.boost * sum(each.weights[name] * signals[name] for name in signals)
        assert total == pytest.approx(each.score, abs=0.51e-6), each

"""A small works library for the tests of the knowledge service: versions, a design, a requirement, a decision, code. The bundled model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

import numpy as np

from recollect import Library
from recollect.embed import open_embedder
from recollect.model import Edge, Item, Vector
from recollect.ports import Embedder, Store
from recollect.settings import Settings

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

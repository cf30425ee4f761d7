"""Search by words on Postgres where not every match is looked at: k are found all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from conftest import Postgres
from recollect.filters import parse
from recollect.settings import PostgresSettings
from recollect.stores.postgres import passing, text
from recollect.stores.postgres.store import PostgresStore
from recollect.testing.cases import SCOPE, ids, plain, write
from recollect.textquery import Phrase, Term

CANDIDATES = 100


@pytest.fixture
def url(postgres: Postgres) -> Iterator[str]:
    """Of a store with more items that have a common word than are looked at, and three that have a rare one too."""
    with postgres.database() as url:

        async def fill() -> None:
            store = PostgresStore(url)
            entries = [plain(f"i{at:03}", f"quite common word{at}", metadata={"late": at >= 130}) for at in range(150)]
            await write(store, *entries, *(plain(f"r{at}", "rare and quite common", metadata={"late": False}) for at in range(3)))
            await store.close()

        asyncio.run(fill())
        yield url


def found(url: str, query: Term | Phrase, k: int, where: object = None) -> list[str]:
    async def body() -> list[str]:
        store = PostgresStore(url, options=PostgresSettings(pool_size=2, text_candidates=CANDIDATES))
        try:
            return ids(await store.search_text(SCOPE, query, k=k, where=parse(where) if where else None))
        finally:
            await store.close()

    return asyncio.run(body())


@pytest.mark.parametrize("k", [3, 10, 140, 1000])
def test_a_rare_word_does_not_keep_out_what_has_the_common_one(url: str, k: int) -> None:
    ranked = found(url, Term("rare common"), k)
    assert ranked[:3] == ["r0", "r1", "r2"]
    assert len(set(ranked)) == min(k, 153)


def test_a_rare_word_does_not_keep_out_what_passes_the_filter(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passing, "LISTED", 5)
    assert sorted(found(url, Term("rare common"), 99, {"late": True})) == [f"i{at}" for at in range(130, 150)]


def test_more_than_are_ranked_are_looked_at_for_k_that_pass_the_filter(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passing, "LISTED", 5)
    monkeypatch.setattr(text, "MATCHING", 10)
    assert sorted(found(url, Phrase("quite common"), 20, {"late": True})) == [f"i{at}" for at in range(130, 150)]


def test_of_equal_ones_the_first_by_id_are_found_within_a_broad_filter(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last that is written has the first id, and what comes first of what is ranked is not checked any further than it must be."""
    monkeypatch.setattr(passing, "LISTED", 5)
    with postgres.database() as url:

        async def body() -> None:
            store = PostgresStore(url)
            await write(store, *(plain(f"i{99 - at}", "the same words", kind="note" if at % 3 else "rest") for at in range(90)))
            await store.close()

        asyncio.run(body())
        first = [f"i{99 - at}" for at in reversed(range(90)) if at % 3]
        assert found(url, Term("same"), 3, {"kind": "note", "status": {"ne": "archived"}}) == first[:3]
        assert found(url, Term("same"), 50, {"kind": "note", "status": {"ne": "archived"}}) == first[:50]


@pytest.mark.parametrize("where", [{"id": ["r2", "i007", "none"]}, {"id": ["r2", "i007", "i140"], "late": False}])
def test_among_some_ids_all_are_ranked(url: str, where: object) -> None:
    """A common word counts there too: no item is left out for having no other."""
    assert found(url, Term("rare common"), 9, where) == ["r2", "i007"]
    assert found(url, Phrase("quite common"), 9, where) == ["i007", "r2"]

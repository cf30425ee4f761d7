"""What readers and writers of a store on Postgres say to the server: few statements, whose answers are of one state together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.util import await_only

from recollect.filters import parse
from recollect.model import Entry
from recollect.settings import CacheSettings, PostgresSettings
from recollect.stores.postgres import passing
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.sql import few
from recollect.testing.cases import NEXT_SPACE, OTHER, SCOPE, SPACE, WHEN, direction, entry, ids, item, passages, plain, shown, write
from recollect.textquery import NativeQuery, Phrase, Term

OPTIONS = PostgresSettings(pool_size=2)


@asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(url, options=OPTIONS, **options)
    try:
        yield store
    finally:
        await store.close()


def said(store: PostgresStore) -> list[str]:
    """The statements that the store sends from now on."""
    statements: list[str] = []
    event.listen(store._db.pool.reading, "before_cursor_execute", lambda *call: statements.append(call[2]))
    return statements


def meanwhile(store: PostgresStore, after: str, change: Callable[[], Awaitable[Any]]) -> list[str]:
    """Let somebody change something once, after the store's first statement with these words; the statement, when it is done."""
    done: list[str] = []

    def once(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if after in statement and not done:
            done.append(statement)
            await_only(change())

    event.listen(store._db.pool.reading, "after_cursor_execute", once)
    return done


@pytest.mark.parametrize(
    ("after", "search"),
    [
        ("LIMIT 5001", lambda store: store.search_text(SCOPE, Term("shared"), k=1, where=parse({"year": 2024}))),
        ("items_with", lambda store: store.search_text(SCOPE, Phrase("shared words"), k=1)),
        ("FROM words", lambda store: store.search_text(SCOPE, Term("shared"), k=1, where=parse({"id": ["a", "b"]}))),
        (
            "LIMIT 5001",
            lambda store: store.search_native(
                SCOPE, NativeQuery("shared", "plain", "english"), k=1, rank_func="ts_rank", where=parse({"year": 2024})
            ),
        ),
    ],
)
def test_an_item_that_is_written_amid_a_search_is_found(url: str, after: str, search: Any) -> None:
    """Its versions have numbers of their own, and what listed the older one must not look among the newer ones."""

    async def body() -> None:
        async with opened(url) as store, opened(url) as other:
            await write(store, plain("a", "shared words", metadata={"year": 2024}))
            newer = plain("a", "shared words, more of them", metadata={"year": 2024})
            done = meanwhile(store, after, lambda: write(other, newer))
            assert ids(await search(store)) == ["a"]
            assert done

    asyncio.run(body())


@pytest.mark.parametrize("becomes", [None, "another text"])
def test_passages_are_of_the_content_that_was_asked_for(url: str, becomes: str | None) -> None:
    """Not of what their item has, or no longer has, by the time that they are read."""

    async def body() -> None:
        async with opened(url) as store, opened(url) as other:
            kept = entry("a", "one text", direction("a"))
            await write(store, kept, entry("b", "third text"))
            contents = [kept.item.content_hash, item("b", "third text").content_hash]
            changed = partial(write, other, entry("a", becomes)) if becomes else partial(write, other, delete=["a"])
            done = meanwhile(store, "min(items.id)", changed)
            found = await store.passages(SCOPE, contents, SPACE)
            assert done
            assert list(found) == contents[1:]
            assert shown(found) == shown({contents[1]: (await store.passages_of(SCOPE, ["b"]))["b"]})

    asyncio.run(body())


def test_a_cache_that_is_emptied_while_it_is_too_large_is_left_alone(url: str) -> None:
    async def body() -> None:
        async with opened(url, cache=CacheSettings(max_bytes=100)) as store, opened(url) as other:
            for scope in (SCOPE, OTHER):
                await write(store, plain("a", "words", scope=scope), scope=scope)
            content = item("a", "words").content_hash
            await other.cache(SCOPE, "recipe", {"a": (content, b"x" * 150)}, at=WHEN)
            done = meanwhile(store, "sum(chunk_cache", partial(other.drop, SCOPE))
            await store.cache(OTHER, "recipe", {"a": (content, b"x" * 10)}, at=WHEN)
            assert done
            assert (await store.status(OTHER)).cache.entries == 0

    asyncio.run(body())


def test_a_page_of_items_is_one_statement_and_not_one_for_each(url: str) -> None:
    async def body() -> None:
        async with opened(url) as store:
            sent: dict[int, list[int]] = {}
            for size in (2, 40):
                entries = [entry(f"i{at}", f"text {at}") for at in range(size)]
                await write(store, *entries)
                statements = said(store)
                await write(store, *(replace_stamp(each, str(size)) for each in entries))
                stamped = len(statements)
                made = {each.item.id: passages(each.item.text, [direction("n", NEXT_SPACE)]) for each in entries}
                await store.add_passages(SCOPE, NEXT_SPACE, made)
                sent[size] = [stamped, len(statements) - stamped]
            assert sent[2] == sent[40]
            assert [found.item.stamp for found in await store.get(SCOPE, ["i0", "i39"])] == ["40", "40"]
            assert len(await store.passages_of(SCOPE, [f"i{at}" for at in range(40)], space=NEXT_SPACE)) == 40

    asyncio.run(body())


KINDS = {"kind": ["note", "rest"], "status": {"nin": ["superseded", "archived"]}}


@pytest.mark.parametrize(
    ("ask", "most"),
    [
        (lambda store: store.search_text(SCOPE, Term("words"), k=3), 2),
        (lambda store: store.search_text(SCOPE, Term("words"), k=3, where=parse(KINDS)), 3),
        (lambda store: store.search_text(SCOPE, Term("words"), k=3, where=parse({"id": ["i1", "i2"]})), 2),
        (lambda store: store.newest(SCOPE, k=3, where=parse(KINDS | {"entities": "customer:1"})), 2),
        (lambda store: store.newest(SCOPE, k=3, where=parse(KINDS | {"entities": ["customer:1", "customer:2"]})), 2),
    ],
    ids=["by words", "by words within a filter", "by words among some ids", "newest of an entity", "newest of two"],
)
@pytest.mark.parametrize("listed", [5, 5_000])
def test_what_a_recall_asks_takes_few_statements(url: str, ask: Any, most: int, listed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passing, "LISTED", listed)
    monkeypatch.setattr(few, "FEW", min(listed, few.FEW))

    async def body() -> None:
        async with opened(url) as store:
            about = ("customer:1", "customer:2")
            entries = [plain(f"i{at}", f"words {'more ' * at}", kind="note" if at % 5 else "rest", entities=about) for at in range(20)]
            await write(store, *entries)
            statements = said(store)
            assert await ask(store)
            assert len(statements) == most

    asyncio.run(body())


def replace_stamp(given: Entry, stamp: str) -> Entry:
    return replace(given, item=replace(given.item, stamp=stamp))

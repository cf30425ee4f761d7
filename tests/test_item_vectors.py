"""The index of whole items in the embedded store: made when somebody asks for it, level with every change, and mended as others are."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.model import Hit, Ranking
from recollect.nearness import best_of_each, means
from recollect.settings import VectorSettings
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.cases import NEXT_SPACE, SCOPE, SPACE, direction, entry, ids, passages, write
from recollect.textquery import Term
from test_bad_input import run_where_nothing_may_be_written
from test_crash import DAMAGES

ENTRIES = [entry(f"i{at:02}", "some text of parts", *(direction(f"{at} {part}") for part in range(at % 3 + 1))) for at in range(24)]


@asynccontextmanager
async def opened(folder: Path, **options: Any) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(folder, **options)
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    async def fill() -> None:
        async with opened(tmp_path / "store") as store:
            await write(store, *ENTRIES)

    asyncio.run(fill())
    return tmp_path / "store"


async def nearest(store: SqliteStore, k: int = 99) -> Ranking:
    return await store.search_vectors(SCOPE, direction("q"), k=k, of="items")


def places(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("scopes/*/items-*"))


def test_nobody_pays_for_what_nobody_asks_for(folder: Path) -> None:
    async def body() -> None:
        async with opened(folder) as store:
            await store.search_vectors(SCOPE, direction("q"), k=9)
            await write(store, entry("new", "text"))
            await store.search_vectors("nothing", direction("q"), k=9, of="items")
            assert places(folder) == []
            assert len(await nearest(store)) == 25
            assert places(folder) == [f"items-{SPACE.id}"]

    asyncio.run(body())


def test_it_follows_what_is_written_once_it_is_there(folder: Path) -> None:
    """In the write itself, so that a search finds it level."""

    async def body() -> None:
        async with opened(folder) as store, opened(folder) as other:
            await nearest(store)
            await write(other, entry("new", "text", direction("q"), direction("r")), delete=["i00"])
            indexes = other._of(SCOPE)
            with other._db.read() as connection:
                assert indexes.vectors(SPACE, "items").applied == indexes._change(connection)
            assert (await nearest(store, 1))[0].id == "new"
            assert "i00" not in ids(await nearest(store))
            assert (await store.status(SCOPE)).pending == 0
            assert all(finding.ok for finding in await other.doctor(repair=False))

    asyncio.run(body())


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__.removeprefix("damage_"))
def test_a_damaged_one_is_made_again(folder: Path, damage: Callable[[Path], None]) -> None:
    async def answers() -> tuple[Any, ...]:
        async with opened(folder) as store:
            return (
                await nearest(store),
                await store.search_vectors(SCOPE, direction("q"), k=9),
                await store.search_text(SCOPE, Term("text"), k=9),
            )

    before = asyncio.run(answers())
    for place in folder.glob("scopes/*/items-*"):
        damage(place)
    assert asyncio.run(answers()) == before
    assert places(folder) == [f"items-{SPACE.id}"]


def test_one_that_is_taken_away_while_it_is_open_is_made_again(folder: Path) -> None:
    async def body() -> None:
        async with opened(folder) as store:
            before = await nearest(store)
            shutil.rmtree(folder / "scopes")
            assert await nearest(store) == before
            await write(store, entry("new", "text", direction("q")))
            assert (await nearest(store, 1))[0].id == "new"

    asyncio.run(body())


def test_what_an_interrupted_build_left_goes(folder: Path) -> None:
    async def body() -> None:
        async with opened(folder) as store:
            await nearest(store)
            left = next(folder.glob("scopes/*/items-*"))
            shutil.copytree(left, left.with_name(f"{left.name}-new"))
            await write(store, entry("new", "text"))
            assert places(folder) == [left.name]

    asyncio.run(body())


def test_doctor_looks_at_it(folder: Path) -> None:
    async def body() -> None:
        async with opened(folder) as store:
            before = await nearest(store)
            index = store._of(SCOPE).vectors(SPACE, "items")
            index.apply(
                seqs=np.empty(0, np.int64),
                ordinals=np.empty(0, np.int32),
                vectors=np.empty((0, SPACE.dim), np.float32),
                dead=np.array([3]),
                applied=index.applied,
            )
            (wrong,) = [finding for finding in await store.doctor(repair=False) if not finding.ok]
            assert "the index of whole items has 23 of 24 vectors" in wrong.detail
            assert [finding.check for finding in await store.doctor(repair=True) if finding.repaired] == [wrong.check]
            assert await nearest(store) == before

    asyncio.run(body())


def test_it_moves_to_another_space_with_the_store(folder: Path) -> None:
    async def body() -> None:
        async with opened(folder) as store:
            await nearest(store)
            moved = {each.item.id: passages("some text", [direction(each.item.id, NEXT_SPACE)]) for each in ENTRIES}
            await store.add_passages(SCOPE, NEXT_SPACE, moved)
            await store.use_space(NEXT_SPACE)
            assert places(folder) == [f"items-{NEXT_SPACE.id}"]
            assert ids(await store.search_vectors(SCOPE, direction("i07", NEXT_SPACE), k=1, of="items")) == ["i07"]

    asyncio.run(body())


def test_a_graph_is_built_over_it_too(folder: Path) -> None:
    async def body() -> None:
        async with opened(folder, vectors=VectorSettings(policy="hnsw")) as store:
            before = await nearest(store)
            await write(store, entry("new", "text"))
        assert len(list(folder.glob("scopes/*/*/graph-*"))) == 2
        async with opened(folder, vectors=VectorSettings(policy="hnsw")) as store:
            assert [hit for hit in await nearest(store) if hit.id != "new"] == list(before)

    asyncio.run(body())


READING = """
import asyncio, json, sys, tempfile
from pathlib import Path
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.cases import SCOPE, direction

async def body():
    store = SqliteStore(Path(sys.argv[1]), create=False)
    for _ in range(2):
        found = await store.search_vectors(SCOPE, direction("q"), k=99, of="items")
    made = [str(index.folder) for _, index in [store._of(SCOPE)._private]]
    await store.close()
    return [[hit.id, hit.score] for hit in found], made

print(json.dumps(asyncio.run(body())))
"""


def test_a_store_that_may_only_be_read_is_searched_by_whole_items_too(folder: Path, tmp_path: Path) -> None:
    """And leaves nothing behind."""
    shutil.copytree(folder, tmp_path / "other")

    async def expected() -> Ranking:
        async with opened(tmp_path / "other") as store:
            return await nearest(store)

    said = run_where_nothing_may_be_written(READING, folder)
    assert said.returncode == 0, said.stderr
    found, made = json.loads(said.stdout)
    assert found == [[hit.id, hit.score] for hit in asyncio.run(expected())]
    assert places(folder) == []
    assert not Path(made[0]).exists()


# The values.


def test_the_mean_of_rows_is_of_length_one_and_a_zero_stays() -> None:
    rows = np.array([[1, 0], [0, 1], [3, 4], [1, 0], [-1, 0]], np.float16)
    assert means(rows, [0, 2, 3]).tolist() == pytest.approx(np.array([[0.5**0.5, 0.5**0.5], [0.6, 0.8], [0, 0]]))
    assert means(rows[2:3]).tolist() == pytest.approx(np.array([[0.6, 0.8]]))


def test_the_best_of_several_rankings_is_by_item() -> None:
    chunks = (Hit("a", 0.9, 3), Hit("b", 0.7, 0), Hit("c", 0.6, 1))
    items = (Hit("d", 0.9), Hit("b", 0.8), Hit("c", 0.6))
    assert best_of_each([chunks, items], 9) == (Hit("a", 0.9, 3), Hit("d", 0.9), Hit("b", 0.8), Hit("c", 0.6, 1))
    assert best_of_each([chunks, items], 2) == (Hit("a", 0.9, 3), Hit("d", 0.9))
    assert best_of_each([chunks], 9) == chunks

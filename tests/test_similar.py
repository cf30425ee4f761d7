"""What is like an item, and recall by chunks and whole items together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from recollect.errors import InvalidInput, NotFound
from recollect.filters import parse
from recollect.model import Ranking, Vector, Vectors
from recollect.plan import Plan
from recollect.ports import Store
from recollect.prefs import RetrievalPrefs, VectorPrefs
from recollect.profiles import PROFILES
from recollect.recall import by_vector
from recollect.similar import similar
from recollect.stopwatch import Stopwatch
from recollect.stores.reference import ReferenceStore
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.cases import SCOPE, WHEN, direction, entry, ids, near, plain, write
from recollect.textquery import Boolean

T = TypeVar("T")
LEFT, RIGHT = direction("left"), direction("right")
MIDDLE = LEFT + RIGHT
ENTRIES = [
    entry("asked", "left and right", LEFT, RIGHT),
    entry("twin", "left and right again", near(LEFT, "l", 0.1), near(RIGHT, "r", 0.1), metadata={"lang": "en"}),
    entry("part", "in the middle, and far away", near(MIDDLE, "m", 0.3), direction("away"), metadata={"lang": "en"}),
    entry("left", "left only", LEFT),
    entry("other", "something else", direction("else")),
    plain("blank", "   "),
]


@pytest.fixture(params=["reference", "sqlite"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Callable[[Store], Awaitable[T]]], T]:
    """Asks a store with these items something."""

    def run(work: Callable[[Store], Awaitable[T]]) -> T:
        async def body() -> T:
            store: Store = ReferenceStore() if request.param == "reference" else SqliteStore(tmp_path / "store")
            await write(store, *ENTRIES)
            try:
                return await work(store)
            finally:
                await store.close()

        return asyncio.run(body())

    return run


Run = Callable[[Callable[[Store], Awaitable[Ranking]]], Ranking]


def test_the_most_alike_come_first_and_the_item_itself_does_not(run: Run) -> None:
    """One as a whole, one by a chunk."""
    found = run(lambda store: similar(store, SCOPE, "asked", limit=9))
    assert ids(found) == ["twin", "part", "left", "other"]
    assert (found[0].chunk, found[1].chunk) == (None, 0)
    assert list(found) == sorted(found, key=lambda hit: (-hit.score, hit.id))


def test_as_many_as_are_asked_for_that_pass(run: Run) -> None:
    everything = run(lambda store: similar(store, SCOPE, "asked", limit=9))
    assert run(lambda store: similar(store, SCOPE, "asked", limit=2)) == everything[:2]
    assert run(lambda store: similar(store, SCOPE, "asked", limit=9, min_score=everything[1].score)) == everything[:2]
    assert ids(run(lambda store: similar(store, SCOPE, "asked", limit=1, where=parse({"NOT": {"lang": "en"}})))) == ["left"]


def test_what_cannot_be_compared_is_told(run: Run) -> None:
    with pytest.raises(NotFound, match=r"no item 'nothing' in scope 'tenant-a': `recollect search` shows ids"):
        run(lambda store: similar(store, SCOPE, "nothing", limit=3))
    with pytest.raises(InvalidInput, match=r"'blank' has no vectors to compare: index it"):
        run(lambda store: similar(store, SCOPE, "blank", limit=3))
    with pytest.raises(InvalidInput, match="limit is 0: ask for at least 1"):
        run(lambda store: similar(store, SCOPE, "asked", limit=0))


def _plan(indices: tuple[Vectors, ...], vector: Vector) -> Plan:
    prefs = RetrievalPrefs(query_text="?", vector=VectorPrefs(query_vector=vector.tolist()))
    profile = replace(PROFILES["documents"], indices=indices)
    return Plan(scope=SCOPE, prefs=prefs, query=Boolean(), demand=None, where=None, profile=profile)


def test_recall_by_meaning_takes_the_best_of_both_indices(run: Run) -> None:
    def by(*indices: Vectors, depth: int = 9) -> Ranking:
        async def work(store: Store) -> Ranking:
            space = asyncio.ensure_future(store.space())
            _, found = await by_vector(store, None, _plan(indices, MIDDLE), depth, space, Stopwatch(lambda: WHEN))
            assert found is not None
            return found

        return run(work)

    chunks, items, both = by("chunks"), by("items"), by("chunks", "items")
    assert ids(chunks)[0] == "part"
    assert ids(items)[0] == "asked"
    assert {hit.id: hit.score for hit in both} == {
        hit.id: max(hit.score, *(other.score for other in items if other.id == hit.id)) for hit in chunks
    }
    assert ids(both) == ["asked", "twin", "part", "left", "other"]
    assert by("chunks", "items", depth=2) == both[:2]

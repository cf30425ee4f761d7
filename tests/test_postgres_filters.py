"""Filters on Postgres mean what they mean in Python and on SQLite, whatever characters there are and however long a text is."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.filters import matches, parse
from recollect.model import Edge
from recollect.ports import Store
from recollect.settings import PostgresSettings
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.sql.ranges import HEAD_CHARS
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.cases import SCOPE, direction, entry, ids, scanned, write
from recollect.textquery import Term

if TYPE_CHECKING:
    from conftest import Postgres

ODD = [*"ab/?*.[]^$\\|(){}+-# \n\t\0\1\2é😀_%'\"", "\ud7ff", "\ue000", "\U0010ffff"]
LENGTHS = (HEAD_CHARS // 2 - 1, HEAD_CHARS // 2, HEAD_CHARS - 1, HEAD_CHARS, HEAD_CHARS + 1, 3 * HEAD_CHARS)
LONG = [stem * length + end for stem, length, end in product(["x", "\0", "é"], LENGTHS, ["", "a", "\0", "\U0010ffff"])]


def _texts() -> list[str]:
    chance = random.Random(1)
    made = ["".join(chance.choices(ODD, k=chance.randint(1, 6))) for _ in range(60)]
    return sorted({*ODD, *made, "src/a", "src/b/c.py", "src0", "src/", "a\nb/c", *LONG})


ENTRIES = [entry(f"i{at}", f"text {at}", source_ref=text, metadata={"value": text}) for at, text in enumerate(_texts())]


class Stores:
    """The same items on SQLite and on Postgres, asked in turn."""

    def __init__(self, runner: asyncio.Runner, *stores: Store) -> None:
        self.runner = runner
        self.stores = stores

    def check(self, where: dict[str, Any]) -> None:
        """Every store leaves what `matches` leaves: row by row, and by a list of what passes."""
        asked = parse(where)
        assert asked is not None
        expected = sorted(each.item.id for each in ENTRIES if matches(asked, each.item))
        for store in self.stores:
            assert sorted(self.runner.run(scanned(store, asked))) == expected
            found = self.runner.run(store.search_vectors(SCOPE, direction("q"), k=len(ENTRIES), where=asked))
            assert sorted(ids(found)) == expected


@pytest.fixture(scope="module")
def stores(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    folder: Path = tmp_path_factory.mktemp("sqlite")
    with postgres.database() as url, asyncio.Runner() as runner:

        async def filled() -> list[Store]:
            made: list[Store] = [SqliteStore(folder / "store"), PostgresStore(url, options=PostgresSettings(pool_size=2))]
            for store in made:
                await write(store, *ENTRIES)
            return made

        made = runner.run(filled())
        yield Stores(runner, *made)
        for store in made:
            runner.run(store.close())


@given(st.lists(st.sampled_from([*ODD, "**", "**/", "src/"]), min_size=1, max_size=6).map("".join))
@example("src/**")
@example("src/**/c.py")
@example("?")
@example("/?")
@example("a\nb/?")
@example("\0/*")
@example("[^/]")
@example("/[^/]")
@example("**/" * 30 + "a")
@settings(max_examples=20, deadline=None)
def test_a_glob_means_the_same_everywhere(stores: Stores, pattern: str) -> None:
    stores.check({"path": {"glob": pattern}})
    stores.check({"value": {"glob": pattern}})


@given(st.sampled_from(LONG) | st.sampled_from(_texts()), st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte", "prefix"]))
@settings(max_examples=30, deadline=None)
def test_a_comparison_with_a_text_of_any_length_means_the_same_everywhere(stores: Stores, value: str, operator: str) -> None:
    stores.check({"value": {operator: value}})


@given(st.lists(st.sampled_from(_texts()), min_size=1, max_size=5))
@settings(max_examples=10, deadline=None)
def test_one_of_some_texts_means_the_same_everywhere(stores: Stores, values: list[str]) -> None:
    stores.check({"value": values})
    stores.check({"path": {"nin": values}})


@pytest.mark.parametrize(
    "where", [{"use_count": [0, 1]}, {"use_count": {"gte": 0.5}}, {"importance": [0.5, 1]}, {"importance": {"gt": 0.7}}]
)
def test_numbers_mean_the_same_everywhere(stores: Stores, where: dict[str, Any]) -> None:
    stores.check(where)


def test_a_metadata_text_of_a_hundred_kilobytes_is_kept_and_found(postgres: Postgres) -> None:
    chance = random.Random(1)
    long = "".join(chance.choices([chr(code) for code in range(0x4E00, 0x9FFF)], k=35_000))

    async def body(url: str) -> None:
        store = PostgresStore(url)
        await write(store, entry("a", "one", metadata={"value": long}), entry("b", "two", metadata={"value": long[:-1]}))
        for where, expected in (
            ({"value": long}, ["a"]),
            ({"value": {"lt": long}}, ["b"]),
            ({"value": {"prefix": long[:-1]}}, ["a", "b"]),
            ({"value": [long, "other"]}, ["a"]),
        ):
            assert await scanned(store, parse(where)) == expected
            found = await store.search_vectors(SCOPE, direction("q"), k=9, where=parse(where))
            assert sorted(ids(found)) == expected
        assert (await store.facets(SCOPE, ["value"]))["value"] == {long: 1, long[:-1]: 1}
        await store.close()

    with postgres.database() as url:
        asyncio.run(body(url))


def test_a_glob_that_is_too_long_is_told(stores: Stores) -> None:
    with pytest.raises(InvalidInput, match="glob is too long for Postgres"):
        stores.check({"path": {"glob": "x" * 100_000}})


@pytest.mark.parametrize("number", [2**31, 2**70])
def test_a_number_that_is_too_large_is_told(postgres: Postgres, number: int) -> None:
    async def body(url: str) -> None:
        store = PostgresStore(url)
        await write(store, entry("a", "words"))
        for refused in (write(store, entry("b", "words", use_count=number)), store.search_text(SCOPE, Term("words"), k=number)):
            with pytest.raises(InvalidInput, match=r"^a value .* \(.*out of int.*\): give another one, or a smaller number$"):
                await refused
        assert ids(await store.search_text(SCOPE, Term("words"), k=9)) == ["a"]
        await store.close()

    with postgres.database() as url:
        asyncio.run(body(url))


def test_an_id_may_have_a_thousand_bytes_and_one_that_is_too_long_is_told(postgres: Postgres) -> None:
    """Two of them and a type are one key, and so are one and the first characters of a value."""
    chance = random.Random(1)
    name, other = ("".join(chance.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=5_000)) for _ in range(2))
    value = "".join(map(chr, chance.choices(range(0x1F000, 0x1FAFF), k=5_000)))

    async def body(url: str) -> None:
        store = PostgresStore(url)
        entries = [entry(each[:1_000], "one", metadata={"value": value}) for each in (name, other)]
        await write(store, *entries, edges=[Edge(name[:1_000], "REFERENCES", other[:1_000])])
        assert len(await scanned(store, parse({"value": value}))) == 2
        assert len(await store.walk(SCOPE, [name[:1_000]], hops=1, fan_out=1)) == 2
        with pytest.raises(InvalidInput, match="too long for Postgres"):
            await write(store, entry(name, "one"))
        assert len(await scanned(store)) == 2
        await store.close()

    with postgres.database() as url:
        asyncio.run(body(url))

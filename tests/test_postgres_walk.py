"""A walk on Postgres, which is one statement, gives what the walk hop by hop gives."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.model import Edge
from recollect.settings import PostgresSettings
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.reference import ReferenceStore
from recollect.testing.cases import SCOPE, plain, write

if TYPE_CHECKING:
    from conftest import Postgres

NODES = [*"abcdefghij", "é", "\0", "\1", "z\0", "😀"]
TYPES = ["USES", "CITES", "\0"]


def _edges(chance: random.Random, count: int) -> list[Edge]:
    return [
        Edge(chance.choice(NODES), chance.choice(TYPES), chance.choice(NODES), chance.choice([0.0, 0.5, 0.5, 1.0, -1.0]))
        for _ in range(count)
    ]


def test_a_walk_gives_what_the_reference_gives_on_random_graphs(postgres: Postgres) -> None:
    walks = st.tuples(
        st.lists(st.sampled_from([*NODES, "missing"]), max_size=4),
        st.integers(0, 6) | st.just(2**70),
        st.integers(0, 5) | st.just(2**70),
        st.none() | st.lists(st.sampled_from([*TYPES, "NONE"]), max_size=3),
    )

    with postgres.database() as url, asyncio.Runner() as runner:
        store, reference = PostgresStore(url, options=PostgresSettings(pool_size=2)), ReferenceStore()

        @given(st.randoms(use_true_random=False), st.integers(0, 40), st.lists(walks, min_size=6, max_size=6))
        @settings(max_examples=15, deadline=None)
        def agree(chance: random.Random, count: int, asked: list[tuple[list[str], int, int, list[str] | None]]) -> None:
            async def body() -> None:
                edges = _edges(chance, count)
                items = [plain(node, f"text of {node}") for node in NODES if chance.random() < 0.8]
                for one in (store, reference):
                    await one.drop(SCOPE)
                    await write(one, *items, edges=edges)
                for starts, hops, fan_out, types in asked:
                    found, expected = [await one.walk(SCOPE, starts, hops=hops, fan_out=fan_out, types=types) for one in (store, reference)]
                    assert found == expected

            runner.run(body())

        agree()
        runner.run(store.close())


def test_a_walk_is_bounded_by_its_nodes_and_not_by_its_paths(postgres: Postgres) -> None:
    """In a ladder of 30 rungs there are 4^30 ways from one end to the other."""
    edges = [Edge(f"{one}{at:02}", "X", f"{other}{at + 1:02}") for at in range(30) for one in "ab" for other in "ab"]
    names = sorted({end for edge in edges for end in (edge.source, edge.target)})

    async def body(url: str) -> None:
        store = PostgresStore(url)
        await write(store, *(plain(name, "text") for name in names), edges=edges)
        found = await store.walk(SCOPE, ["a00"], hops=99, fan_out=99)
        assert [visit.id for visit in found if visit.hops == 30] == ["a30", "b30"]
        assert len(found) == len(names)
        await store.close()

    with postgres.database() as url:
        asyncio.run(body(url))

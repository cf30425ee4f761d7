"""Filters mean the same on every route, and one that leaves at least k items yields k results."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from itertools import chain, product
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from ..filters import MAX_CONDITIONS, matches, parse
from ..model import Entry
from ..ports import Store
from ..textquery import Term
from .cases import SCOPE, SPACE, OpenStore, asked, direction, entry, examples, ids, law, plain, scanned, write

ENTRIES = [
    entry(
        "a", "shared one", kind="code", source_ref="src/app/main.py", status="approved", version="1", metadata={"n": 1, "tags": ["x", "y"]}
    ),
    entry("b", "shared two", kind="code", source_ref="src/lib.py", importance=0.9, metadata={"n": True, "tags": "x", "owner": "Ann"}),
    entry(
        "c",
        "shared three",
        source_ref="docs/readme.md",
        title="Read me",
        entities=("customer:a1", "produit:é", "customer:a1"),
        metadata={"n": 2.5, "tags": [], "owner": "Bob"},
    ),
    entry(
        "d",
        "shared four",
        created_at=datetime(2023, 12, 31, 23, 59, 59, tzinfo=UTC),
        entities=("customer:a1",),
        metadata={"n": "1", "draft": False, "owner": None, "entities": "mine"},
    ),
    entry(
        "e", "shared five", created_at=datetime(2024, 2, 29, tzinfo=UTC), use_count=3, metadata={"n": [0, 3], "draft": True, "a.b": "dot"}
    ),
    entry(
        "f",
        "shared six",
        source_ref="src/app/deep/x.py",
        entities=("customer", "customer\0:a1", 'x"customer:a1', "😀"),
        metadata={"n": -1, "owner": {"name": "Ann"}, "tags": ["x", ["y"]], "名": "値 '%_\""},
    ),
]

# Each with the ids that it leaves. Times of the others are 2024-05-17.
CASES: list[tuple[dict[str, Any], str]] = [
    ({"kind": "code"}, "ab"),
    ({"kind": {"ne": "code"}}, "cdef"),
    ({"kind": ["code", "decision"]}, "ab"),
    ({"kind": {"in": []}}, ""),
    ({"kind": {"nin": []}}, "abcdef"),
    ({"id": {"gte": "b", "lt": "e"}}, "bcd"),
    ({"id": {"gt": "b"}}, "cdef"),
    ({"id": {"lte": "b"}}, "ab"),
    ({"n": 1}, "a"),
    ({"n": 1.0}, "a"),
    ({"n": True}, "b"),
    ({"n": "1"}, "d"),
    ({"n": [1, "1", True]}, "abd"),
    ({"n": {"ne": 1}}, "bcdef"),
    ({"n": {"nin": [1, 3]}}, "bcdf"),
    ({"n": {"gt": 0}}, "ace"),
    ({"n": {"gte": 2.5}}, "ce"),
    ({"n": {"lt": 0}}, "f"),
    ({"n": {"lte": 0}}, "ef"),
    ({"n": {"gt": 0, "lt": 2}}, "ae"),
    ({"n": {"exists": True}}, "abcdef"),
    ({"tags": "x"}, "abf"),
    ({"tags": "y"}, "a"),
    ({"tags": {"exists": True}}, "abf"),
    ({"tags": {"exists": False}}, "cde"),
    ({"owner": {"exists": True}}, "bc"),
    ({"owner": {"prefix": "A"}}, "b"),
    ({"owner": {"prefix": "a"}}, ""),
    ({"owner": {"gt": "Ann"}}, "c"),
    ({"draft": True}, "e"),
    ({"draft": False}, "d"),
    ({"draft": {"ne": True}}, "abcdf"),
    ({"draft": [True, False]}, "de"),
    ({"metadata.a.b": "dot"}, "e"),
    ({"a.b": {"exists": True}}, "e"),
    ({"名": "値 '%_\""}, "f"),
    ({"名": {"prefix": "値 '%"}}, "f"),
    ({"名": {"prefix": "値 %"}}, ""),
    ({"missing": {"exists": False}}, "abcdef"),
    ({"missing": {"ne": 1}}, "abcdef"),
    ({"missing": 1}, ""),
    ({"version": {"exists": True}}, "a"),
    ({"version": {"ne": "1"}}, "bcdef"),
    ({"title": {"prefix": "Read"}}, "c"),
    ({"status": "approved"}, "a"),
    ({"status": {"ne": "approved"}}, "bcdef"),
    ({"importance": {"gt": 0.5}}, "b"),
    ({"importance": 0.5}, "acdef"),
    ({"use_count": {"gte": 1}}, "e"),
    ({"entities": "customer:a1"}, "cd"),
    ({"entities": "customer"}, "f"),
    ({"entities": "customer\0:a1"}, "f"),
    ({"entities": "customer\0:a"}, ""),
    ({"entities": ["produit:é", "😀", "nobody"]}, "cf"),
    ({"entities": {"ne": "customer:a1"}}, "abef"),
    ({"entities": {"in": []}}, ""),
    ({"entities": {"nin": ["produit:é", "customer"]}}, "abde"),
    ({"entities": {"exists": True}}, "cdf"),
    ({"entities": {"exists": False}}, "abe"),
    ({"NOT": {"entities": ["customer:a1", "😀"]}}, "abe"),
    ({"AND": [{"entities": "customer:a1"}, {"entities": "produit:é"}]}, "c"),
    ({"metadata.entities": "mine"}, "d"),
    ({"path": {"glob": "src/**"}}, "abf"),
    ({"path": {"glob": "src/*"}}, "b"),
    ({"path": {"glob": "*.py"}}, "abf"),
    ({"path": {"glob": "src/**/*.py"}}, "abf"),
    ({"path": {"glob": "src/???.py"}}, "b"),
    ({"path": {"glob": "**/*p*/**/*.*y"}}, "af"),
    ({"path": {"glob": "s*c**/*.py"}}, "abf"),
    ({"path": {"glob": "*a" * 100 + "*.py"}}, ""),
    ({"path": {"glob": "SRC/**"}}, ""),
    ({"path": {"prefix": "src/app/"}}, "af"),
    ({"source_ref": {"exists": False}}, "de"),
    ({"owner": {"glob": "?nn"}}, "b"),
    ({"created_at": 2023}, "d"),
    ({"created_at": {"gte": 2024}}, "abcef"),
    ({"created_at": "2024-02"}, "e"),
    ({"created_at": {"gt": "2024-02"}}, "abcf"),
    ({"created_at": {"lte": "2024-02-29"}}, "de"),
    ({"created_at": {"lt": "2024-02-29"}}, "d"),
    ({"created_at": {"lte": "9999"}}, "abcdef"),
    ({"created_at": {"gt": "9999-12-31"}}, ""),
    ({"created_at": {"gte": "2024-02-29T01:00:00+01:00", "lt": "2024-02-29T00:00:01Z"}}, "e"),
    ({"created_at": {"ne": 2023}}, "abcef"),
    ({"created_at": ["2023-12-31", "2024-02-29"]}, "de"),
    ({"kind": "code", "n": 1}, "a"),
    ({"AND": [{"tags": "x"}, {"NOT": {"kind": "code"}}]}, "f"),
    ({"OR": [{"n": 1}, {"draft": True}, {"path": {"glob": "docs/*"}}]}, "ace"),
    ({"NOT": {"OR": [{"kind": "code"}, {"owner": {"exists": True}}]}}, "def"),
    ({"NOT": {"NOT": {"NOT": {"tags": "x"}}}}, "cde"),
    ({"tags": "x", "OR": [{"AND": [{"n": {"gt": 0}}, {"status": "approved"}]}, {"NOT": {"path": {"prefix": "src"}}}]}, "a"),
]


async def _left(store: Store, where: dict[str, Any]) -> list[str]:
    """The ids that a filter leaves, on every route the same."""
    chosen = parse(where)
    by_scan = await scanned(store, chosen)
    assert sorted(ids(await store.search_text(SCOPE, Term("shared"), k=9, where=chosen))) == by_scan, where
    assert sorted(ids(await store.search_vectors(SCOPE, direction("q"), k=9, where=chosen))) == by_scan, where
    assert sorted((await store.facets(SCOPE, ["id"], chosen))["id"]) == by_scan, where
    assert sorted(await store.newest(SCOPE, k=9, where=chosen)) == by_scan, where
    return by_scan


@law
async def test_every_operator_means_the_same_on_every_route(store: Store) -> None:
    await write(store, *ENTRIES)
    for where, expected in CASES:
        assert await _left(store, where) == list(expected), where


@law
async def test_a_facet_on_entities_counts_items_each_once(store: Store) -> None:
    await write(store, *ENTRIES)
    expected = {"customer:a1": 2, "customer": 1, "customer\0:a1": 1, "produit:é": 1, 'x"customer:a1': 1, "😀": 1}
    assert list((await store.facets(SCOPE, ["entities"]))["entities"].items()) == list(expected.items())
    assert await store.facets(SCOPE, ["entities"], parse({"entities": "produit:é"})) == {"entities": {"customer:a1": 1, "produit:é": 1}}


FIELDS = ["n", "tags", "owner", "draft", "a.b", "名", "missing", "metadata.kind"]
ENTITIES = st.sampled_from(["customer:a1", "produit:é", "customer", "😀", "", "x", "[]"])
VALUES = st.sampled_from([1, 0, -1, 2.5, 3, True, False, "1", "x", "y", "Ann", "Bob", "dot", "値 '%_\"", "", "true", 1e300])
PATTERNS = st.sampled_from(["A", "x", "src", "src/app/", "値", "**", "*", "?", "*.py", "src/*", "[", "(", "a%", "_", "'"])
NUMBERS = st.sampled_from([0, 0.5, 0.9, 1, 3, -2])
CONDITIONS = st.one_of(
    st.tuples(st.sampled_from(FIELDS), st.sampled_from(["eq", "ne"]), VALUES),
    st.tuples(
        st.sampled_from(FIELDS), st.sampled_from(["gt", "gte", "lt", "lte"]), VALUES.filter(lambda value: not isinstance(value, bool))
    ),
    st.tuples(st.sampled_from(FIELDS), st.sampled_from(["in", "nin"]), st.lists(VALUES, max_size=4)),
    st.tuples(st.sampled_from([*FIELDS, "path", "title", "version", "source_ref"]), st.sampled_from(["prefix", "glob"]), PATTERNS),
    st.tuples(st.sampled_from([*FIELDS, "path", "version", "created_at", "entities"]), st.just("exists"), st.booleans()),
    st.tuples(st.just("entities"), st.sampled_from(["eq", "ne"]), ENTITIES),
    st.tuples(st.just("entities"), st.sampled_from(["in", "nin"]), st.lists(ENTITIES, max_size=4)),
    st.tuples(st.sampled_from(["importance", "use_count"]), st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte"]), NUMBERS),
    st.tuples(
        st.just("created_at"), st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte"]), st.sampled_from([2023, "2024-02", "2024-05-17"])
    ),
).map(lambda parts: {parts[0]: {parts[1]: parts[2]}})
FILTERS = st.recursive(
    CONDITIONS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"AND": parts}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"OR": parts}),
        inner.map(lambda part: {"NOT": part}),
    ),
    max_leaves=6,
)


def test_every_filter_leaves_what_it_matches(open_store: OpenStore) -> None:
    with asked(open_store, *ENTRIES) as (store, answer):

        @examples(store, 50)
        @given(FILTERS)
        def ask(where: dict[str, Any]) -> None:
            chosen = parse(where)
            assert chosen is not None
            assert answer(_left(store, where)) == [entry.item.id for entry in ENTRIES if matches(chosen, entry.item)]

        ask()


# Characters that a text ends at in C, that a range ends at, and that have no next one.
EDGES = "\0a\ud7ff\ue000\U0010ffff"
EDGED = [
    plain(f"{at:03}", "text", source_ref="".join(parts), metadata={"v": ["".join(parts), "z"]})
    for at, parts in enumerate(chain.from_iterable(product(EDGES, repeat=length) for length in (1, 2, 3)))
]


def test_a_prefix_is_what_a_value_begins_with_whatever_its_characters(open_store: OpenStore) -> None:
    with asked(open_store, *EDGED) as (store, answer):

        @examples(store, 30)
        @given(st.sampled_from(["v", "path"]), st.text(EDGES, min_size=1, max_size=3))
        @example("v", "a\0")
        @example("path", "a\0")
        def ask(name: str, prefix: str) -> None:
            chosen = parse({name: {"prefix": prefix}})
            assert chosen is not None
            expected = [entry.item.id for entry in EDGED if matches(chosen, entry.item)]
            assert answer(scanned(store, chosen)) == expected
            assert sorted(answer(store.facets(SCOPE, ["id"], chosen))["id"]) == expected

        ask()


@law
async def test_a_filter_may_have_as_many_conditions_as_are_accepted(store: Store) -> None:
    await write(store, *ENTRIES)
    where = parse({"AND": [{"path": {"prefix": "src"}}] * (MAX_CONDITIONS - 1)})
    assert await scanned(store, where) == list("abf")
    assert sorted((await store.facets(SCOPE, ["id"], where))["id"]) == list("abf")
    assert await scanned(store, parse({"AND": [{"entities": "customer:a1"}] * (MAX_CONDITIONS - 1)})) == list("cd")


MANY = {"neo4j": 2_600, "bolt": 2_600, "postgresql": 5_600}
ELSE = 10_600
NEAR = 500
FAR = 1_000
"""Items of a large batch, by the scheme of a store's URL, those that are the best answers, and those that are the worst. A server takes
2 to 4 ms to write each: there they are as many as it takes for an index to be asked before all are compared."""


@cache
def _crowd(many: int) -> list[Entry]:
    """The first items answer best and the last ones worst, on both routes; `spread` is everywhere."""
    query = direction("query")
    noise = np.random.default_rng(7).standard_normal((many, SPACE.dim)).astype(np.float32)
    noise[:NEAR] = noise[:NEAR] * 0.05 + query
    noise[-FAR:] = noise[-FAR:] * 0.05 - query
    vectors = noise / np.linalg.norm(noise, axis=1, keepdims=True)
    padding = {"near": "", "middle": " other words of some length", "far": " other words of some length" * 4}
    entries = []
    for at, vector in enumerate(vectors):
        band = "near" if at < NEAR else "far" if at >= many - FAR else "middle"
        entries.append(entry(f"i{at:05}", "common" + padding[band], vector, metadata={"band": band, "spread": at % 500, "at": at}))
    return entries


@law
async def test_a_filter_that_leaves_enough_yields_as_many_as_asked(store: Store) -> None:
    """Few or many may pass, they may be the best answers or the worst, and none of it makes results fewer."""
    many = MANY.get(store.url.partition(":")[0], ELSE)
    crowd = _crowd(many)
    assert len((await write(store, *crowd)).added) == many
    wheres: list[tuple[dict[str, Any], int, int]] = [
        ({"spread": 3}, 1, 29),
        ({"band": "far"}, FAR, FAR),
        ({"band": "middle", "spread": {"lt": 250}}, NEAR, many // 2),
        ({"NOT": {"band": "near"}}, many - NEAR, many - NEAR),
    ]
    for where, least, most in wheres:
        chosen = parse(where)
        assert chosen is not None
        passing = {one.item.id for one in crowd if matches(chosen, one.item)}
        assert least <= (count := len(passing)) <= most
        for found in (
            await store.search_text(SCOPE, Term("common"), k=30, where=chosen),
            await store.search_vectors(SCOPE, direction("query"), k=30, where=chosen),
        ):
            assert len(set(ids(found))) == min(30, count), where
            assert passing.issuperset(ids(found)), where
    assert ids(await store.search_text(SCOPE, Term("common"), k=3, where=parse({"band": "far"}))) == [
        f"i{many - FAR + at:05}" for at in range(3)
    ]
    assert len(await store.search_text(SCOPE, Term("common"), k=many + 5)) == many
    assert len(await store.search_vectors(SCOPE, direction("query"), k=many + 5)) == many


@law
async def test_a_filter_does_not_change_scores(store: Store) -> None:
    await write(store, *(entry(f"i{at}", "alpha " * (at % 5 + 1) + "beta", direction(str(at)), metadata={"n": at}) for at in range(30)))
    where = parse({"n": {"gte": 10}})
    for everything, chosen in (
        (await store.search_text(SCOPE, Term("alpha beta"), k=30), await store.search_text(SCOPE, Term("alpha beta"), k=30, where=where)),
        (await store.search_vectors(SCOPE, direction("q"), k=30), await store.search_vectors(SCOPE, direction("q"), k=30, where=where)),
    ):
        assert chosen == tuple(hit for hit in everything if int(hit.id[1:]) >= 10)


@law
async def test_a_list_of_thousands_of_values_is_a_legal_filter(store: Store) -> None:
    await write(store, *(plain(f"i{at}", "shared", entities=(f"e{at}",), metadata={"n": at}) for at in range(20)))
    where = parse({"AND": [{"id": [f"i{at}" for at in range(5, 10_000)]}, {"n": {"nin": list(range(15, 10_000))}}]})
    assert await scanned(store, where) == sorted(f"i{at}" for at in range(5, 15))
    assert await scanned(store, parse({"entities": [f"e{at}" for at in range(5, 10_000)]})) == sorted(f"i{at}" for at in range(5, 20))
    assert len(await store.search_text(SCOPE, Term("shared"), k=20, where=where)) == 10

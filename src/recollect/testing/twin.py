"""A store and the reference store side by side: the same random changes, and after each the same answers."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from ..filters import Filter, parse
from ..model import Batch, Edge, Entity, Entry, Vectors, node_of, symbol_key
from ..naming import keys_of
from ..ports import Store
from ..stores.reference import ReferenceStore
from ..textquery import Boolean, Node, Phrase, Prefix, Term
from .cases import OTHER, SCOPE, SPACE, direction, entry, ids, law, outlined, passages, plain, shown

ROUNDS = 20
NAMES = [f"n{at}" for at in range(12)]
DEFINED = ["f", "F", "Class", "Class.f", "a_py"]
KNOWN = ["person:a", "place:é", node_of("n1", "somebody")]
CALLED: list[tuple[str, tuple[str, ...]]] = [("Ada Lovelace", ()), ("Ada", ("Ada Lovelace", "数据")), ("数据", ("ada",))]
WORDS = ["alpha", "beta", "gamma", "delta", "数据", "getUserName", "the"]
KEYS = [*map(symbol_key, DEFINED), "apy", "dmd"]
CHOICES = [
    None,
    {"n": {"gte": 2}},
    {"NOT": {"tag": "x"}},
    {"OR": [{"kind": "code"}, {"flag": True}]},
    {"path": {"glob": "src/**"}},
    {"entities": ["a:1", "b:é"]},
    {"NOT": {"entities": "a:1"}},
]
QUESTIONS: list[Node] = [
    Term("alpha beta"),
    Boolean(should=(Term("beta 数据"), Phrase("beta 数据"))),
    Phrase("alpha beta"),
    Prefix("al"),
    Boolean(must=(Term("alpha"),), must_not=(Term("beta"),)),
    Boolean(should=(Term("数据"), Phrase("gamma delta")), must_not=(Prefix("get"),)),
]


def _entry(chance: random.Random, scope: str) -> Entry:
    text = " ".join(chance.choices(WORDS, k=chance.choice([4, 6, 9, 9, 250])))
    fields: dict[str, Any] = {
        "kind": chance.choice(["document", "code"]),
        "source": "files",
        "source_ref": chance.choice([None, "src/a.py", "src/b/c.py", "docs/d.md"]),
        "stamp": chance.choice([None, "1", "2"]),
        "entities": tuple(chance.choices(["a:1", "b:é", "c"], k=chance.choice([0, 0, 1, 2]))),
        "metadata": chance.choice([{}, {"n": chance.randint(0, 4)}, {"tag": ["x", "y"]}, {"tag": "x", "flag": True}, {"n": "2"}]),
    }
    name = chance.choice(NAMES)
    if chance.random() < 0.3:
        return outlined(name, *chance.choices(DEFINED, k=chance.choice([0, 1, 3])), scope=scope, **fields)
    if chance.random() < 0.2:
        return plain(name, text, scope=scope, **fields)
    vectors = [direction(f"{text} {at} {chance.randint(0, 1)}") for at in range(chance.choice([1, 1, 2, 3]))]
    words = [vector.tobytes()[:9] for vector in vectors] if chance.random() < 0.5 else []
    return replace(entry(name, text, *vectors, scope=scope, **fields), passages=passages(text, vectors, words))


def _batch(chance: random.Random, scope: str) -> Batch:
    entries = [_entry(chance, scope) for _ in range(chance.randint(0, 5))]
    edges = [
        Edge(_node(chance), chance.choice(["USES", "CITES"]), _node(chance), chance.choice([0.5, 1.0]), chance.choice(["", *NAMES[:4]]))
        for _ in range(chance.randint(0, 5))
    ]
    gone, relinked = chance.sample(NAMES, chance.randint(0, 3)), chance.sample(NAMES, chance.choice([0, 0, 3]))
    entities = [Entity(name, "thing", *chance.choice(CALLED)) for name in chance.choices(KNOWN, k=chance.choice([0, 0, 2]))]
    return Batch(entries, edges, gone, relinked, entities, chance.sample(KNOWN, chance.choice([0, 0, 1])))


def _node(chance: random.Random) -> str:
    """An item, something that may be in it, or an entity."""
    name = chance.choice([*NAMES, *KNOWN])
    return name if chance.random() < 0.5 else node_of(name, chance.choice(DEFINED))


async def _exact_answers(store: Store, scope: str, where: Filter | None) -> list[object]:
    """All answers in which no score is."""
    stored = [found async for found in store.scan(scope, where)]
    status = await store.status(scope)
    kept = await store.passages(scope, [found.item.content_hash for found in stored], SPACE)
    return [
        stored,
        await store.get(scope, NAMES[::-1]),
        await store.heads(scope, NAMES),
        [await store.newest(scope, k=k, where=where) for k in (3, 99)],
        shown(await store.passages_of(scope, NAMES)),
        shown(kept),
        await store.without_passages(scope, SPACE, 5),
        [await store.known(scope, "files", under) for under in ("", "src", "src/a.py")],
        await store.fields(scope),
        {
            name: list(counts.items())
            for name, counts in (await store.facets(scope, ["kind", "tag", "n", "flag", "entities"], where)).items()
        },
        [await store.walk(scope, NAMES[:2], hops=hops, fan_out=fan_out) for hops, fan_out in ((1, 2), (3, 1), (4, 9))],
        await store.walk(scope, NAMES[3:5], hops=2, fan_out=3, types=["USES"]),
        await store.walk(scope, [*NAMES[5:8], *(node_of(name, "f") for name in NAMES)], hops=3, fan_out=3),
        await store.walk(scope, [*NAMES[8:10], *KNOWN], hops=2, fan_out=3, direction="in"),
        await store.links(scope, [*NAMES, *KNOWN], fan_out=3, direction="out"),
        await store.links(scope, KNOWN, fan_out=9),
        [edge async for edge in store.edges(scope)],
        [entity async for entity in store.entities(scope)],
        [await store.entities_named(scope, keys_of(name), limit=2) for name in ("ADA", "ada lovelace", "数据", "none")],
        [await store.symbols(scope, KEYS, limit=limit, where=where) for limit in (3, 99)],
        await store.symbols_at(scope, [*NAMES[:3], *(node_of(name, "Class.f") for name in NAMES)]),
        [[each async for each in store.outlines(scope, unlinked=unlinked)] for unlinked in (False, True)],
        await store.scopes(),
        (status.items, status.chunks, status.edges, status.entities, status.scopes, status.space),
    ]


async def _agree(store: Store, reference: Store, chance: random.Random, scope: str) -> None:
    where = parse(chance.choice(CHOICES))
    assert await _exact_answers(store, scope, where) == await _exact_answers(reference, scope, where)
    for query in QUESTIONS:
        found, expected = [await one.search_text(scope, query, k=99, where=where) for one in (store, reference)]
        assert sorted(ids(found)) == sorted(ids(expected)), query
    vector = direction(f"query {chance.randint(0, 9)}")
    kinds: tuple[Vectors, ...] = ("chunks", "items")
    for k, of in product((3, 99), kinds):
        found, expected = [await one.search_vectors(scope, vector, k=k, where=where, of=of) for one in (store, reference)]
        assert ids(found) == ids(expected)
        assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=1e-3)


@pytest.mark.parametrize("seed", [1, 2])
@law
async def test_a_store_and_the_reference_agree_after_every_change(store: Store, seed: int) -> None:
    chance, reference = random.Random(seed), ReferenceStore()
    for _ in range(ROUNDS):
        scope = chance.choice([SCOPE, SCOPE, SCOPE, OTHER])
        if chance.random() < 0.05:
            assert await store.drop(scope) == await reference.drop(scope)
        else:
            batch = _batch(chance, scope)
            for again in (False, True):
                states = [await one.change(scope) for one in (store, reference)]
                assert await store.write(scope, batch, space=SPACE) == await reference.write(scope, batch, space=SPACE)
                changed = [await one.change(scope) != state for one, state in zip((store, reference), states, strict=True)]
                assert changed in ([False, False], [not again] * 2)
        await _agree(store, reference, chance, scope)
    await _agree(store, reference, chance, SCOPE)
    await _agree(store, reference, chance, OTHER)

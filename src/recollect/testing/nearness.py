"""Search by vectors: the nearest items by their best passage, or as a whole, scored by exact cosine on what is stored."""

from __future__ import annotations

import numpy as np
import pytest

from ..errors import InvalidInput
from ..filters import parse
from ..model import Vector, Vectors
from ..ports import Store
from .cases import OTHER, SCOPE, SPACE, OpenStore, direction, entry, ids, law, near, opened, plain, write

OF: tuple[Vectors, ...] = ("chunks", "items")


def _similarity(one: Vector, other: Vector) -> float:
    """By the vector as it is kept, in float16."""
    return (1 + float(one.astype(np.float16).astype(np.float32) @ other)) / 2


@law
async def test_the_nearest_come_first_with_their_similarity(store: Store) -> None:
    query = direction("query")
    vectors = {f"i{at:03}": near(query, f"noise {at}", at / 40) for at in range(120)}
    await write(store, *(entry(name, "text", vector) for name, vector in vectors.items()))
    expected = sorted(((_similarity(vector, query), name) for name, vector in vectors.items()), key=lambda pair: (-pair[0], pair[1]))
    found = await store.search_vectors(SCOPE, query, k=20)
    assert ids(found) == [name for _, name in expected[:20]]
    assert [hit.score for hit in found] == pytest.approx([min(1.0, score) for score, _ in expected[:20]], abs=1e-3)


@law
async def test_similarity_is_between_zero_and_one(store: Store) -> None:
    query = direction("query")
    across = direction("other") - (direction("other") @ query) * query
    await write(store, entry("same", "a", query), entry("across", "b", across / np.linalg.norm(across)), entry("opposite", "c", -query))
    found = await store.search_vectors(SCOPE, query, k=3)
    assert ids(found) == ["same", "across", "opposite"]
    assert [hit.score for hit in found] == pytest.approx([1.0, 0.5, 0.0], abs=1e-3)
    assert all(0.0 <= hit.score <= 1.0 for hit in found)


@law
async def test_an_item_counts_once_by_its_best_passage(store: Store) -> None:
    query = direction("query")
    await write(
        store,
        entry("many", "a text of three", direction("x"), near(query, "m", 0.1), direction("y")),
        entry("one", "a text of one", near(query, "o", 0.5)),
        *(entry(f"far{at}", f"far {at}", *(direction(f"{at} {part}") for part in range(5))) for at in range(20)),
    )
    found = await store.search_vectors(SCOPE, query, k=30)
    assert [(hit.id, hit.chunk) for hit in found[:2]] == [("many", 1), ("one", 0)]
    assert found[0].score == pytest.approx(_similarity(near(query, "m", 0.1), query), abs=1e-3)
    assert sorted(ids(found)) == sorted(["many", "one", *(f"far{at}" for at in range(20))])


@law
async def test_passages_do_not_add_up_to_an_item_that_is_nearer(store: Store) -> None:
    left, right = direction("left"), direction("right")
    middle = (left + right) / np.linalg.norm(left + right)
    await write(store, entry("both", "left and right", left, right), entry("close", "close", near(middle, "c", 0.3)))
    found = await store.search_vectors(SCOPE, middle, k=2)
    assert [hit.id for hit in found] == ["close", "both"]
    assert found[1].score == pytest.approx(max(_similarity(left, middle), _similarity(right, middle)), abs=1e-3)


@law
async def test_items_without_passages_are_not_found_by_vectors(store: Store) -> None:
    await write(store, entry("a", "with"), plain("b", "without"))
    for of in OF:
        assert ids(await store.search_vectors(SCOPE, direction("without"), k=5, of=of)) == ["a"]


@law
async def test_replaced_and_deleted_vectors_are_gone(store: Store) -> None:
    await write(store, *(entry(f"i{at:02}", f"text {at}") for at in range(40)))
    await write(store, *(entry(f"i{at:02}", f"text {at} anew") for at in range(0, 40, 2)), delete=[f"i{at:02}" for at in range(1, 40, 4)])
    found = await store.search_vectors(SCOPE, direction("text 4"), k=99)
    assert sorted(ids(found)) == [f"i{at:02}" for at in range(40) if at % 4 != 1]
    assert found[0].score < 0.95
    assert (await store.search_vectors(SCOPE, direction("text 4 anew"), k=1))[0].id == "i04"
    assert (await store.search_vectors(SCOPE, direction("text 1"), k=1))[0].score < 0.95


@law
async def test_equal_vectors_come_in_order_of_id(store: Store) -> None:
    """Also beside others, in batches of any kind, and where k cuts through them."""
    names = [f"id{(at * 37) % 50:02}" for at in range(50)]
    same = direction("same")
    for part in (names[:8], names[8:9], names[9:]):
        await write(store, *(entry(name, "text", same) for name in part), *(entry(f"x{name}", "text", direction(name)) for name in part))
    for of in OF:
        for k in (1, 7, 50):
            assert ids(await store.search_vectors(SCOPE, near(same, "q"), k=k, of=of)) == sorted(names)[:k]
        assert ids(await store.search_vectors(SCOPE, near(same, "q"), k=60, of=of))[:50] == sorted(names)


@law
async def test_the_length_of_the_question_does_not_matter(store: Store) -> None:
    await write(store, *(entry(f"i{at}", f"text {at}") for at in range(9)))
    for of in OF:
        short, long = [await store.search_vectors(SCOPE, direction("q") * length, k=9, of=of) for length in (1, 8)]
        assert short == long


@law
async def test_a_question_of_another_width_or_without_numbers_is_refused(store: Store) -> None:
    await write(store, entry("a", "text"))
    for of in OF:
        with pytest.raises(InvalidInput, match="shape"):
            await store.search_vectors(SCOPE, np.ones(SPACE.dim + 1, np.float32), k=1, of=of)
        with pytest.raises(InvalidInput, match="finite"):
            await store.search_vectors(SCOPE, np.full(SPACE.dim, np.nan, np.float32), k=1, of=of)


@law
async def test_a_zero_vector_is_equally_far_from_everything(store: Store) -> None:
    await write(store, *(entry(name, name) for name in "cab"))
    for of in OF:
        found = await store.search_vectors(SCOPE, np.zeros(SPACE.dim, np.float32), k=2, of=of)
        assert [(hit.id, hit.score) for hit in found] == [("a", 0.5), ("b", 0.5)]


@law
async def test_filters_hold_for_vectors_that_are_replaced(store: Store) -> None:
    await write(store, *(entry(f"i{at}", f"text {at}", metadata={"n": at % 3}) for at in range(12)))
    await write(store, *(entry(f"i{at}", f"text {at}", metadata={"n": 9}) for at in range(4)))
    for of in OF:
        for n, expected in ((9, ["i0", "i1", "i2", "i3"]), (0, ["i6", "i9"])):
            assert sorted(ids(await store.search_vectors(SCOPE, direction("q"), k=12, where=parse({"n": n}), of=of))) == expected


# Whole items.


def _mean(*vectors: Vector) -> Vector:
    """As the store has it: of what it keeps of each, at length one."""
    mean = np.mean([vector.astype(np.float16).astype(np.float64) for vector in vectors], axis=0)
    unit: Vector = (mean / np.linalg.norm(mean)).astype(np.float32)
    return unit


@law
async def test_an_item_is_as_near_as_the_mean_of_its_passages(store: Store) -> None:
    query = direction("query")
    vectors = {f"i{at:03}": [near(query, f"{at} {part}", at / 20) for part in range(at % 4 + 1)] for at in range(90)}
    await write(store, *(entry(name, "a text of some parts", *own) for name, own in vectors.items()))
    expected = sorted((-_similarity(_mean(*own), query), name) for name, own in vectors.items())
    found = await store.search_vectors(SCOPE, query, k=20, of="items")
    assert ids(found) == [name for _, name in expected[:20]]
    assert [hit.score for hit in found] == pytest.approx([min(1.0, -score) for score, _ in expected[:20]], abs=1e-3)
    assert {hit.chunk for hit in found} == {None}


@law
async def test_passages_add_up_to_an_item_that_is_nearer_as_a_whole(store: Store) -> None:
    left, right = direction("left"), direction("right")
    await write(store, entry("both", "left and right", left, right), entry("close", "close", near(_mean(left, right), "c", 0.3)))
    found = await store.search_vectors(SCOPE, _mean(left, right), k=2, of="items")
    assert ids(found) == ["both", "close"]
    assert found[0].score == pytest.approx(1.0, abs=1e-3)


@law
async def test_an_item_of_one_passage_is_as_near_as_that(store: Store) -> None:
    await write(store, *(entry(f"i{at:02}", f"text {at}") for at in range(30)))
    chunks, items = [await store.search_vectors(SCOPE, direction("q"), k=30, of=of) for of in OF]
    assert [hit.score for hit in items] == pytest.approx([hit.score for hit in chunks], abs=1e-4)
    assert {hit.chunk for hit in items} == {None}


@law
async def test_passages_that_cancel_each_other_have_no_direction(store: Store) -> None:
    same = direction("same")
    await write(store, entry("against", "two of them", same, -same), entry("for", "one", same))
    found = await store.search_vectors(SCOPE, same, k=2, of="items")
    assert [(hit.id, hit.score) for hit in found] == [("for", pytest.approx(1.0, abs=1e-3)), ("against", 0.5)]


@law
async def test_whole_items_follow_every_change(open_store: OpenStore) -> None:
    """Of whoever writes, asked before, between and after."""
    a, b, c, d = (direction(name) for name in "abcd")
    async with opened(open_store) as first, opened(open_store) as second:
        await write(first, entry("one", "a text", a, b), entry("two", "a text", c))
        await write(first, entry("one", "a text", a, b, scope=OTHER), scope=OTHER)
        assert ids(await second.search_vectors(SCOPE, _mean(a, b), k=2, of="items")) == ["one", "two"]
        await write(second, entry("one", "another text", c, d), entry("three", "third", a, b, b))
        for store in (first, second):
            assert ids(await store.search_vectors(SCOPE, _mean(a, b, b), k=1, of="items")) == ["three"]
            assert ids(await store.search_vectors(SCOPE, _mean(c, d), k=1, of="items")) == ["one"]
        await write(first, plain("two", "no passages any more"), delete=["three"])
        for store in (second, first):
            assert ids(await store.search_vectors(SCOPE, a, k=9, of="items")) == ["one"]
            assert ids(await store.search_vectors(OTHER, a, k=9, of="items")) == ["one"]
        await first.drop(SCOPE)
        for store in (second, first):
            assert await store.search_vectors(SCOPE, a, k=9, of="items") == ()
        await write(second, entry("one", "again", a, d))
        assert [hit.score for hit in await first.search_vectors(SCOPE, _mean(a, d), k=9, of="items")] == [pytest.approx(1.0, abs=1e-3)]


@law
async def test_whole_items_are_those_that_pass_the_filter(store: Store) -> None:
    """As many as are asked for, however far away."""
    query = direction("query")
    own = {f"i{at:03}": [near(query, f"{at} {part}", at / 20) for part in range(at % 3 + 1)] for at in range(150)}
    await write(store, *(entry(name, "some text", *own[name], metadata={"n": at % 50}) for at, name in enumerate(own)))
    everything = await store.search_vectors(SCOPE, query, k=150, of="items")
    filters: list[tuple[dict[str, object], set[int]]] = [
        ({"n": 49}, {49}),
        ({"NOT": {"n": 3}}, set(range(50)) - {3}),
        ({"n": {"gte": 25}}, set(range(25, 50))),
    ]
    for where, numbers in filters:
        passing = {name for at, name in enumerate(own) if at % 50 in numbers}
        found = await store.search_vectors(SCOPE, query, k=40, where=parse(where), of="items")
        assert list(found) == [hit for hit in everything if hit.id in passing][:40]


@law
async def test_a_smaller_k_gives_the_first_whole_items_of_a_larger_one(store: Store) -> None:
    await write(store, *(entry(f"i{at}", "two parts", direction(str(at % 6)), direction(str(at % 4))) for at in range(40)))
    everything = await store.search_vectors(SCOPE, direction("q"), k=40, of="items")
    assert list(everything) == sorted(everything, key=lambda hit: (-hit.score, hit.id))
    for k in (0, 1, 2, 13, 39):
        assert await store.search_vectors(SCOPE, direction("q"), k=k, of="items") == everything[:k]

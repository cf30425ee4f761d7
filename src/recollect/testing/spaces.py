"""Vectors of two models are never compared: how a store moves from one space to another, and what it refuses meanwhile."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ..errors import InvalidInput, ModelMismatch
from ..model import Entry, Passages, Space
from ..ports import Store
from ..textquery import Term
from .cases import NEXT_SPACE, OTHER, SCOPE, SPACE, OpenStore, direction, entry, ids, item, law, opened, passages, plain, shown, write


def _moved(text: str) -> Passages:
    return passages(text, [direction(text, NEXT_SPACE)])


@law
async def test_the_first_passages_set_the_space(open_store: OpenStore) -> None:
    async with opened(open_store) as store:
        await write(store, plain("a", "no passages"))
        assert await store.space() is None
        await write(store, entry("b", "with passages"))
        assert await store.space() == SPACE
    async with opened(open_store) as store:
        assert await store.space() == SPACE


@law
async def test_passages_of_another_space_are_refused(store: Store) -> None:
    await write(store, entry("a", "text"))
    for other in (replace(SPACE, model="other"), replace(SPACE, chunker="other")):
        with pytest.raises(ModelMismatch, match="other"):
            await write(store, plain("b", "fine"), entry("c", "text"), space=other)
    assert await store.get(SCOPE, ["b", "c"]) == []
    assert await store.space() == SPACE
    assert (await write(store, plain("b", "no passages"), space=NEXT_SPACE)).added == ("b",)


@law
async def test_a_store_moves_to_another_space(open_store: OpenStore) -> None:
    """Scope by scope beside the space in use, which is searched until the switch."""
    texts = {SCOPE: ["one", "two", "three"], OTHER: ["four", "five"]}
    async with opened(open_store) as store:
        for scope, own in texts.items():
            await write(store, *(entry(text, text, scope=scope) for text in own), plain("blank", " \n ", scope=scope), scope=scope)
        for scope, own in texts.items():
            with pytest.raises(ModelMismatch, match=NEXT_SPACE.model):
                await store.use_space(NEXT_SPACE)
            while missing := await store.without_passages(scope, NEXT_SPACE, 2):
                assert len(missing) <= 2
                await store.add_passages(scope, NEXT_SPACE, {found.item.id: _moved(found.item.text) for found in missing})
            assert ids(await store.search_vectors(scope, direction(own[0]), k=1)) == [own[0]]
            assert await store.space() == SPACE
        await store.use_space(NEXT_SPACE)
        await _has_moved(store)
    async with opened(open_store) as store:
        await _has_moved(store)


async def _has_moved(store: Store) -> None:
    assert await store.space() == NEXT_SPACE
    found = await store.search_vectors(SCOPE, direction("two", NEXT_SPACE), k=9)
    assert (found[0].id, sorted(ids(found))) == ("two", ["one", "three", "two"])
    assert ids(await store.search_vectors(OTHER, direction("five", NEXT_SPACE), k=1)) == ["five"]
    assert await store.passages(SCOPE, [item("x", "one").content_hash], SPACE) == {}
    assert len(await store.passages(SCOPE, [item("x", "one").content_hash], NEXT_SPACE)) == 1
    assert [found.item.id for found in await store.without_passages(SCOPE, SPACE, 9)] == ["one", "three", "two"]
    assert (await store.status(SCOPE)).chunks == 3
    with pytest.raises(InvalidInput):
        await store.search_vectors(SCOPE, direction("two"), k=1)
    with pytest.raises(ModelMismatch):
        await write(store, entry("late", "late"))
    assert sorted(ids(await store.search_text(SCOPE, Term("one two late"), k=9))) == ["one", "two"]


@law
async def test_writing_goes_on_while_a_store_moves(store: Store) -> None:
    """What is replaced meanwhile needs its new passages again; what is deleted needs none."""
    await write(store, *(entry(name, f"text {name}") for name in "abcd"))
    await store.add_passages(SCOPE, NEXT_SPACE, {name: _moved(f"text {name}") for name in ("a", "b", "c", "missing")})
    await write(store, entry("a", "replaced"), delete=["d"])
    assert [found.item.id for found in await store.without_passages(SCOPE, NEXT_SPACE, 9)] == ["a"]
    with pytest.raises(ModelMismatch):
        await store.use_space(NEXT_SPACE)
    assert ids(await store.search_vectors(SCOPE, direction("replaced"), k=1)) == ["a"]
    await store.add_passages(SCOPE, NEXT_SPACE, {"a": _moved("replaced")})
    await store.use_space(NEXT_SPACE)
    assert ids(await store.search_vectors(SCOPE, direction("replaced", NEXT_SPACE), k=1)) == ["a"]
    assert sorted(ids(await store.search_vectors(SCOPE, direction("q", NEXT_SPACE), k=9))) == ["a", "b", "c"]


@law
async def test_passages_beside_those_in_use_are_neither_searched_nor_counted(store: Store) -> None:
    await write(store, entry("a", "text"))

    async def seen() -> tuple[object, ...]:
        nearest = await store.search_vectors(SCOPE, direction("q"), k=5)
        return shown(await store.passages_of(SCOPE, ["a"])), nearest, (await store.status(SCOPE)).chunks

    before = await seen()
    await store.add_passages(SCOPE, NEXT_SPACE, {"a": passages("text", [direction(str(at), NEXT_SPACE) for at in range(3)])})
    assert await seen() == before
    await store.add_passages(SCOPE, NEXT_SPACE, {"a": _moved("text")})
    (beside,) = (await store.passages(SCOPE, [item("x", "text").content_hash], NEXT_SPACE)).values()
    assert len(beside.chunks) == 1


@law
async def test_words_move_with_their_passages(store: Store) -> None:
    await write(store, Entry(item("a", "text"), passages("text", [direction("text")], [b"old words"])))
    moved = replace(_moved("text"), words=(b"new words",))
    await store.add_passages(SCOPE, NEXT_SPACE, {"a": moved})
    assert [found.words for found in (await store.passages(SCOPE, [item("x", "text").content_hash], NEXT_SPACE)).values()] == [moved.words]
    assert (await store.passages_of(SCOPE, ["a"]))["a"].words == (b"old words",)
    await store.use_space(NEXT_SPACE)
    assert (await store.passages_of(SCOPE, ["a"]))["a"].words == (b"new words",)


@law
async def test_passages_that_do_not_fit_are_not_added(store: Store) -> None:
    await write(store, entry("a", "text"), entry("b", "text"))
    good = _moved("text")
    for bad in (passages("text", [np.ones(5, np.float32)]), replace(good, words=(b"one", b"two"))):
        with pytest.raises(InvalidInput):
            await store.add_passages(SCOPE, NEXT_SPACE, {"a": good, "b": bad})
    assert [found.item.id for found in await store.without_passages(SCOPE, NEXT_SPACE, 9)] == ["a", "b"]


@law
async def test_passages_of_the_space_in_use_come_with_their_items(store: Store) -> None:
    await write(store, entry("a", "one"), plain("b", "two"))
    with pytest.raises(InvalidInput, match="in use"):
        await store.add_passages(SCOPE, SPACE, {"b": passages("two", [direction("two")])})
    assert (await write(store, entry("b", "two"))).changed == ("b",)
    assert ids(await store.search_vectors(SCOPE, direction("two"), k=1)) == ["b"]


@law
async def test_a_store_of_text_alone_takes_up_a_space(store: Store) -> None:
    await write(store, plain("a", "one"), plain("b", "two"))
    await store.add_passages(SCOPE, NEXT_SPACE, {"a": _moved("one"), "b": _moved("two")})
    assert await store.search_vectors(SCOPE, direction("one", NEXT_SPACE), k=5) == ()
    await store.use_space(NEXT_SPACE)
    assert [hit.id for hit in await store.search_vectors(SCOPE, direction("one", NEXT_SPACE), k=1)] == ["a"]


@law
async def test_a_write_takes_up_a_space_that_was_prepared(store: Store) -> None:
    await write(store, plain("a", "one"))
    await store.add_passages(SCOPE, SPACE, {"a": passages("one", [direction("one")])})
    await write(store, entry("b", "two"))
    assert await store.space() == SPACE
    assert sorted(ids(await store.search_vectors(SCOPE, direction("one"), k=5))) == ["a", "b"]


@law
async def test_the_same_content_is_not_embedded_twice(store: Store) -> None:
    same = [entry("b", "same words", title="T"), entry("a", "same words", title="T"), plain("0", "same words", title="T")]
    await write(store, *same, entry("c", "other words"))
    wanted, other = same[0].item.content_hash, item("x", "other words").content_hash
    found = await store.passages(SCOPE, [wanted, "unknown", other], SPACE)
    assert set(found) == {wanted, other}
    assert found[wanted].chunks == same[0].passages.chunks if same[0].passages else False
    assert await store.passages(SCOPE, [wanted], NEXT_SPACE) == {}
    assert await store.passages(SCOPE, [], SPACE) == {}


@law
async def test_every_store_remembers_what_a_space_is(open_store: OpenStore) -> None:
    odd = Space("модель/'x\"", SPACE.dim, "chunker:ü?")
    async with opened(open_store) as store:
        await write(store, entry("a", "text"), space=odd)
    async with opened(open_store) as store:
        assert await store.space() == odd


@law
async def test_an_item_that_changed_since_it_was_cut_takes_no_passages(store: Store) -> None:
    await write(store, entry("a", "as it was"))
    was = (await store.get(SCOPE, ["a"]))[0].item
    await write(store, entry("a", "as it is"))
    await store.add_passages(SCOPE, NEXT_SPACE, {"a": _moved(was.text)}, contents={"a": was.content_hash})
    assert [found.item.text for found in await store.without_passages(SCOPE, NEXT_SPACE, 10)] == ["as it is"]


@law
async def test_what_was_moved_is_still_the_same(store: Store) -> None:
    await write(store, entry("a", "text"))
    await store.add_passages(SCOPE, NEXT_SPACE, {"a": _moved("text")})
    await store.use_space(NEXT_SPACE)
    again = replace(entry("a", "text"), passages=_moved("text"))
    assert (await write(store, again, space=NEXT_SPACE)).unchanged == ("a",)


@law
async def test_a_store_without_vectors_has_no_space(store: Store) -> None:
    await write(store, entry("a", "text"))
    await write(store, entry("b", "text", scope=OTHER), scope=OTHER)
    await store.drop(SCOPE)
    assert await store.space() == SPACE
    await store.drop(OTHER)
    assert await store.space() is None
    assert (await write(store, replace(entry("a", "text"), passages=_moved("text")), space=NEXT_SPACE)).added == ("a",)


@law
async def test_passages_are_those_of_the_content_that_is_asked_for(store: Store) -> None:
    first, second = entry("a", "An old text."), entry("a", "A new text.")
    await write(store, first)
    contents = {"a": first.item.content_hash}
    assert set(await store.passages_of(SCOPE, ["a"], contents=contents, space=SPACE)) == {"a"}
    await write(store, second)
    assert await store.passages_of(SCOPE, ["a"], contents=contents) == {}
    assert set(await store.passages_of(SCOPE, ["a"], contents={"a": second.item.content_hash})) == {"a"}
    assert await store.passages_of(SCOPE, ["a"], space=NEXT_SPACE) == {}


@law
async def test_whole_items_move_with_their_passages(open_store: OpenStore) -> None:
    """Whether somebody asked for them before or not; and those beside are not searched."""

    def parts(*names: str) -> Passages:
        return passages("a text", [direction(name, NEXT_SPACE) for name in names])

    mean = direction("x", NEXT_SPACE) + direction("y", NEXT_SPACE)
    async with opened(open_store) as store:
        for scope in (SCOPE, OTHER):
            await write(store, entry("a", "a text", direction("a"), direction("b"), scope=scope), entry("b", "b", scope=scope), scope=scope)
            await write(store, plain("blank", "  ", scope=scope), scope=scope)
        before = await store.search_vectors(SCOPE, direction("a") + direction("b"), k=9, of="items")
        assert ids(before) == ["a", "b"]
        for scope in (SCOPE, OTHER):
            await store.add_passages(scope, NEXT_SPACE, {"a": parts("p", "q"), "b": parts("z"), "gone": parts("x")})
            await store.add_passages(scope, NEXT_SPACE, {"a": parts("x", "y")})
        assert await store.search_vectors(SCOPE, direction("a") + direction("b"), k=9, of="items") == before
        await store.use_space(NEXT_SPACE)
        found = [await store.search_vectors(scope, mean, k=9, of="items") for scope in (SCOPE, OTHER)]
        assert found[0] == found[1]
        assert [hit.id for hit in found[0]] == ["a", "b"]
        assert found[0][0].score == pytest.approx(1.0, abs=1e-3)
        with pytest.raises(InvalidInput):
            await store.search_vectors(SCOPE, direction("a"), k=1, of="items")
    async with opened(open_store) as store:
        assert await store.search_vectors(SCOPE, mean, k=9, of="items") == found[0]

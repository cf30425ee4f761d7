"""A note belongs to a scope and goes with it; it is no item, and nothing that is searched changes by it."""

from __future__ import annotations

from typing import Any

import pytest

from ..errors import InvalidInput
from ..ports import Store
from .cases import OTHER, SCOPE, OpenStore, law, opened, plain, scanned, write

VALUE: dict[str, Any] = {"weights": {"ünï": 0.25, "n": 3}, "why": ["a\0b", None, True, 1e300, "'\";--"], "": []}


@law
async def test_a_note_is_read_again_as_it_was(open_store: OpenStore) -> None:
    async with opened(open_store) as store:
        assert await store.note(SCOPE, "weights") is None
        await store.set_note(SCOPE, "weights", {"old": 1})
        await store.set_note(SCOPE, "weights", VALUE)
        await store.set_note(SCOPE, "é\0/2", {})
        await store.set_note(OTHER, "weights", {"other": True})
        assert await store.note(SCOPE, "weights") == VALUE
    async with opened(open_store) as store:
        assert await store.notes(SCOPE) == {"weights": VALUE, "é\0/2": {}}
        assert list(await store.notes(SCOPE)) == ["weights", "é\0/2"]
        assert await store.note(SCOPE, "é\0/2") == {}
        assert await store.note(OTHER, "weights") == {"other": True}
        await store.set_note(SCOPE, "weights", None)
        await store.set_note(SCOPE, "never", None)
        assert await store.note(SCOPE, "weights") is None
        assert await store.notes(SCOPE) == {"é\0/2": {}}
        assert await store.notes("tenant-never-seen") == {}


@law
async def test_a_note_is_no_item(store: Store) -> None:
    await store.set_note(SCOPE, "weights", VALUE)
    assert await store.scopes() == await scanned(store) == []
    assert (await store.status(SCOPE)).items == 0
    await write(store, plain("a", "weights"))
    before = await store.change(SCOPE)
    await store.set_note(SCOPE, "weights", {"new": 1})
    assert await store.change(SCOPE) == before
    await write(store, plain("b", "weights"), delete=["a"])
    await write(store, delete=["b"])
    assert await store.note(SCOPE, "weights") == {"new": 1}
    assert all(finding.ok for finding in await store.doctor(repair=False))


@law
async def test_notes_go_with_the_scope(store: Store) -> None:
    for scope in (SCOPE, OTHER, "tenant-of-notes"):
        await store.set_note(scope, "weights", VALUE)
    await write(store, plain("a", "text"))
    assert await store.drop(SCOPE) == 1
    assert await store.drop("tenant-of-notes") == 0
    assert await store.notes(SCOPE) == await store.notes("tenant-of-notes") == {}
    await write(store, plain("a", "text"))
    assert await store.note(SCOPE, "weights") is None
    assert await store.note(OTHER, "weights") == VALUE


@pytest.mark.parametrize("value", [{"n": float("nan")}, {"n": float("inf")}, {"n": {1}}, {"n": "\ud800"}], ids=repr)
@law
async def test_a_note_that_is_no_json_is_refused(store: Store, value: dict[str, Any]) -> None:
    await store.set_note(SCOPE, "weights", {"old": 1})
    with pytest.raises(InvalidInput, match="'weights' cannot be kept"):
        await store.set_note(SCOPE, "weights", value)
    assert await store.note(SCOPE, "weights") == {"old": 1}

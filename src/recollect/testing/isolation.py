"""Every call names a scope, and nothing of another scope is ever seen, counted or changed."""

from __future__ import annotations

from typing import Any

import pytest

from ..errors import InvalidInput
from ..filters import parse
from ..model import Edge, Entity, Entry, Space
from ..naming import keys_of
from ..ports import Store
from ..textquery import Boolean, Phrase, Prefix, Term
from .cases import OTHER, SCOPE, SPACE, WHEN, direction, entry, ids, item, law, plain, scanned, shown, write

UNKNOWN = "tenant-z"


def _entries(scope: str, mark: str) -> list[Entry]:
    """The same ids in every scope, with contents of its own."""
    return [
        entry("a", f"shared {mark}", scope=scope, source="files", source_ref=f"docs/{mark}.md", metadata={mark: 1, "tag": mark}),
        entry("b", f"shared second {mark}", direction(f"{mark} 0"), direction(f"{mark} 1"), scope=scope, kind=mark, metadata={"tag": mark}),
    ]


async def _fill(store: Store) -> None:
    await write(store, *_entries(SCOPE, "mine"), edges=[Edge("a", "LINKS", "b")])
    await write(store, *_entries(OTHER, "theirs"), plain("c", "shared third theirs", scope=OTHER), scope=OTHER)
    await write(store, edges=[Edge("a", "CITES", "b"), Edge("b", "CITES", "c"), Edge("c", "CITES", "a")], scope=OTHER)
    for scope, mark in ((SCOPE, "mine"), (OTHER, "theirs")):
        contents = {each.item.id: each.item.content_hash for each in _entries(scope, mark)}
        await store.cache(scope, "recipe", {name: (content, mark.encode()) for name, content in contents.items()}, at=WHEN)
        await store.cached(scope, "recipe", contents)
        await write(store, entities=[Entity("e", "thing", mark, ("shared",))], edges=[Edge("b", mark, "e")], scope=scope)


async def _view(store: Store, scope: str) -> list[Any]:
    """All that can be seen of a scope; a space that nothing is in tells what `without_passages` gives."""
    hashes = [item("x", text).content_hash for mark in ("mine", "theirs") for text in (f"shared {mark}", f"shared second {mark}")]
    status = await store.status(scope)
    return [
        [found async for found in store.scan(scope)],
        await store.get(scope, ["a", "b", "c"]),
        shown(await store.passages_of(scope, ["a", "b", "c"])),
        {key: found.vectors.tobytes() for key, found in (await store.passages(scope, hashes, SPACE)).items()},
        await store.known(scope, "files", ""),
        await store.search_text(scope, Term("shared mine theirs"), k=99),
        await store.search_text(scope, Prefix("thei"), k=99),
        await store.search_vectors(scope, direction("shared mine"), k=99),
        await store.fields(scope),
        await store.facets(scope, ["tag", "kind", "mine", "theirs"]),
        await store.walk(scope, ["a"], hops=9, fan_out=9),
        await store.links(scope, ["a", "b", "c", "e"], fan_out=9),
        [entity async for entity in store.entities(scope)],
        await store.entities_of(scope, ["e"]),
        await store.entities_named(scope, [key for name in ("shared", "mine", "theirs") for key in keys_of(name)], limit=99),
        await store.change(scope),
        await store.without_passages(scope, Space("nobody", 3, "none"), 99),
        (status.items, status.chunks, status.edges, status.entities, status.pending, status.cache),
    ]


@law
async def test_a_scope_sees_its_own_alone(store: Store) -> None:
    await _fill(store)
    assert [found.item.text async for found in store.scan(SCOPE)] == ["shared mine", "shared second mine"]
    assert [found.item.scope for found in await store.get(SCOPE, ["a", "b", "c"])] == [SCOPE, SCOPE]
    assert set(await store.passages_of(SCOPE, ["a", "b", "c"])) == {"a", "b"}
    assert set(await store.known(SCOPE, "files", "docs")) == {"docs/mine.md"}
    assert sorted(ids(await store.search_text(SCOPE, Term("shared"), k=9))) == ["a", "b"]
    assert await store.search_text(SCOPE, Phrase("shared theirs"), k=9) == ()
    assert await store.search_text(SCOPE, Prefix("their"), k=9) == ()
    assert sorted(ids(await store.search_vectors(SCOPE, direction("shared theirs"), k=9))) == ["a", "b"]
    assert (await store.search_vectors(SCOPE, direction("shared theirs"), k=9))[0].score < 0.95
    assert await store.fields(SCOPE) == {"mine": frozenset({"number"}), "tag": frozenset({"text"})}
    assert await store.facets(SCOPE, ["tag", "kind"]) == {"tag": {"mine": 2}, "kind": {"document": 1, "mine": 1}}
    assert [visit.id for visit in await store.walk(SCOPE, ["a"], hops=5, fan_out=9)] == ["a", "b", "e"]
    assert await store.links(SCOPE, ["b", "e"], fan_out=9, types=["theirs", "CITES"]) == {}
    assert await store.entities_named(SCOPE, keys_of("theirs"), limit=9) == []
    assert [entity.name for entity in await store.entities_named(SCOPE, keys_of("shared"), limit=9)] == ["mine"]
    assert await store.walk(SCOPE, ["c"], hops=5, fan_out=9) == []
    status = await store.status(SCOPE)
    assert (status.scope, status.scopes, status.items, status.chunks, status.edges, status.entities) == (SCOPE, 2, 2, 3, 2, 1)


@law
async def test_passages_of_another_scope_are_not_shared(store: Store) -> None:
    await _fill(store)
    theirs = item("a", "shared theirs").content_hash
    assert await store.passages(SCOPE, [theirs], SPACE) == {}
    assert set(await store.passages(OTHER, [theirs], SPACE)) == {theirs}


@law
async def test_filters_hold_within_the_scope(store: Store) -> None:
    """The same id in two scopes, with other values: one scope's values must not let the other's item through."""
    await _fill(store)
    wheres: list[dict[str, object]] = [{"tag": "theirs"}, {"theirs": {"exists": True}}, {"kind": "theirs"}, {"tag": {"prefix": "th"}}]
    for where in wheres:
        chosen = parse(where)
        assert await scanned(store, chosen) == []
        assert await store.search_text(SCOPE, Term("shared"), k=9, where=chosen) == ()
        assert await store.search_vectors(SCOPE, direction("shared mine"), k=9, where=chosen) == ()
        assert await store.facets(SCOPE, ["tag"], chosen) == {"tag": {}}
        assert sorted(ids(await store.search_text(SCOPE, Term("shared"), k=9, where=parse({"NOT": where})))) == ["a", "b"]


@law
async def test_nothing_done_in_one_scope_changes_what_another_shows(store: Store) -> None:
    """Scores too: how rare a word is, and how long texts are, is counted within the scope."""
    await _fill(store)
    before = await _view(store, SCOPE)
    await write(store, *(plain(f"n{at}", "shared mine " * (at % 7 + 1), scope=OTHER) for at in range(300)), scope=OTHER)
    assert await _view(store, SCOPE) == before
    await write(store, entry("a", "shared replaced", scope=OTHER), delete=["b"], scope=OTHER)
    assert await _view(store, SCOPE) == before
    assert await store.drop(OTHER) == 302
    assert await _view(store, SCOPE) == before


@law
async def test_what_is_found_by_words_does_not_depend_on_how_common_they_are_elsewhere(store: Store) -> None:
    """A word that is rare in its own scope brings up what has it, also where another scope has it in every item, or had."""
    common = [plain(f"c{at:03}", "common " * (at % 4 + 1) + f"filler{at}") for at in range(240)]
    await write(store, *common, *(plain(f"z{at}", f"rare some other words here filler{at}") for at in range(5)))
    query = Boolean(should=(Term("rare"), Term("common")))
    before = await store.search_text(SCOPE, query, k=5)
    assert sorted(ids(before)) == ["z0", "z1", "z2", "z3", "z4"]
    await write(store, *(plain(f"n{at}", "rare", scope=OTHER) for at in range(600)), scope=OTHER)
    assert await store.search_text(SCOPE, query, k=5) == before
    await store.drop(OTHER)
    assert await store.search_text(SCOPE, query, k=5) == before


@law
async def test_dropping_a_scope_leaves_nothing_of_it(store: Store) -> None:
    await write(store, plain("first", "text", scope=UNKNOWN), scope=UNKNOWN)
    await _fill(store)
    nothing = await _view(store, "tenant-never-seen")
    assert await store.drop(SCOPE) == 2
    assert await _view(store, SCOPE) == nothing
    assert await store.scopes() == [OTHER, UNKNOWN]
    assert await store.drop(SCOPE) == 0
    await write(store, entry("new", "shared anew"))
    assert ids(await store.search_text(SCOPE, Term("shared mine"), k=9)) == ["new"]
    assert ids(await store.search_vectors(SCOPE, direction("shared mine"), k=9)) == ["new"]
    assert [visit.id for visit in await store.walk(SCOPE, ["new", "a"], hops=2, fan_out=9)] == ["new"]


@law
async def test_scopes_are_listed_in_order_while_they_have_items(store: Store) -> None:
    for scope in (OTHER, SCOPE, "Ω", "tenant/../a"):
        await write(store, entry("a", "text", scope=scope), scope=scope)
    assert await store.scopes() == sorted([OTHER, SCOPE, "Ω", "tenant/../a"])
    await write(store, delete=["a"])
    assert await store.scopes() == sorted([OTHER, "Ω", "tenant/../a"])


@law
async def test_looking_at_an_unknown_scope_finds_nothing_and_makes_nothing(store: Store) -> None:
    await _fill(store)
    where = parse({"tag": "mine"})
    assert await store.get(UNKNOWN, ["a"]) == []
    assert await scanned(store, scope=UNKNOWN) == []
    assert await scanned(store, where, scope=UNKNOWN) == []
    assert await store.search_text(UNKNOWN, Term("shared"), k=9) == ()
    assert await store.search_vectors(UNKNOWN, direction("shared mine"), k=9, where=where) == ()
    assert await store.walk(UNKNOWN, ["a", "e"], hops=2, fan_out=9) == []
    assert await store.links(UNKNOWN, ["a", "e"], fan_out=9) == {}
    assert [entity async for entity in store.entities(UNKNOWN)] == await store.entities_of(UNKNOWN, ["e"]) == []
    assert await store.facets(UNKNOWN, ["tag"]) == {"tag": {}}
    assert (await store.status(UNKNOWN)).items == 0
    assert await store.drop(UNKNOWN) == 0
    assert await store.scopes() == [SCOPE, OTHER]


@law
async def test_an_item_is_written_to_its_own_scope_alone(store: Store) -> None:
    await _fill(store)
    before = await _view(store, SCOPE)
    with pytest.raises(InvalidInput, match=OTHER):
        await write(store, entry("z", "shared mine", scope=OTHER))
    assert await _view(store, SCOPE) == before

"""Writing is atomic and idempotent, an entry replaces the item of its id, and deleting leaves no trace."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from ..errors import InvalidInput
from ..filters import parse
from ..model import Anchors, Batch, Chunk, Edge, Entry, Passages, Space, Written
from ..ports import Store
from ..textquery import Phrase, Term
from .cases import (
    OTHER,
    SCOPE,
    SPACE,
    WHEN,
    OpenStore,
    direction,
    entry,
    ids,
    item,
    law,
    opened,
    passages,
    plain,
    scanned,
    shown,
    write,
)

METADATA = {
    "nested": {"list": [1, 2.5, None, {"deep": True}], "empty": {}},
    "名": "値",
    "pi": 3.141592653589793,
    "n": 2**53,
    "none": None,
}
EVERYTHING: dict[str, Any] = {
    "kind": "decision",
    "format": "markdown",
    "source": "files",
    "source_ref": "docs/ünïcode/決定.md",
    "title": "Die Entscheidung — 決定",
    "summary": "why\nand how",
    "metadata": METADATA,
    "status": "superseded",
    "version": "2.1",
    "created_at": datetime(2023, 12, 31, 23, 30, tzinfo=timezone(timedelta(hours=-5))),
    "updated_at": datetime(2024, 2, 29, 1, 2, 3, 456_789, tzinfo=UTC),
    "importance": 0.125,
    "entities": ("customer:a1b2", "produit:é"),
    "stamp": "123:456",
    "use_count": 7,
    "last_used_at": datetime(2024, 3, 1, 9, tzinfo=timezone(timedelta(hours=9))),
}


@law
async def test_what_is_written_comes_back_whole(store: Store) -> None:
    written = item("a", "first line\nsecond line\n\0 tail 😀", **EVERYTHING)
    chunks = (
        Chunk(0, 0, 11, 3, Anchors(1, 1, ("Intro", "Über"), "main", "class Main")),
        Chunk(1, 11, len(written.text), 5, Anchors(2, 3)),
    )
    vectors, words = np.stack([direction("one"), direction("two")]), (b"\x00\xff\x00 words", b"")
    await write(store, Entry(written, Passages(chunks, vectors, words), fingerprint=b"\x00\xff sketch"))
    (found,) = await store.get(SCOPE, ["a"])
    assert found.item == written
    assert list(found.item.metadata) == list(written.metadata)
    assert found.fingerprint == b"\x00\xff sketch"
    expected = Passages(chunks, vectors.astype(np.float16).astype(np.float32), words)
    assert shown(await store.passages_of(SCOPE, ["a"])) == shown({"a": expected})
    assert shown(await store.passages(SCOPE, [written.content_hash], SPACE)) == shown({written.content_hash: expected})


@law
async def test_passages_come_back_in_order_of_ordinal(store: Store) -> None:
    """Each item with its own, whichever of them have words."""
    given = {
        name: passages("some text", [direction(f"{name}{at}") for at in range(count)], [b"w%d" % at for at in range(count)] * worded)
        for name, count, worded in (("b", 3, True), ("a", 12, True), ("c", 2, False))
    }
    mixed = {name: _in_another_order(each) for name, each in given.items()}
    await write(store, *(Entry(item(name, "some text"), each) for name, each in mixed.items()), plain("d", "none"))
    kept = {name: replace(each, vectors=each.vectors.astype(np.float16).astype(np.float32)) for name, each in given.items()}
    assert shown(await store.passages_of(SCOPE, ["c", "missing", "a", "d", "b"])) == shown(kept)
    assert await store.passages_of(SCOPE, []) == {}


def _in_another_order(given: Passages) -> Passages:
    return Passages(given.chunks[::-1], given.vectors[::-1], given.words[::-1])


@law
async def test_words_that_come_later_are_kept(store: Store) -> None:
    without, having = (Entry(item("a", "text"), passages("text", [direction("a")], words)) for words in ((), (b"words",)))
    await write(store, without)
    assert (await store.passages_of(SCOPE, ["a"]))["a"].words == ()
    assert (await write(store, having)).changed == ("a",)
    assert (await store.passages_of(SCOPE, ["a"]))["a"].words == (b"words",)
    assert (await write(store, having)).unchanged == ("a",)


@law
async def test_times_come_back_in_utc(store: Store) -> None:
    await write(store, plain("a", "text", **EVERYTHING))
    (found,) = await store.get(SCOPE, ["a"])
    times = (found.item.created_at, found.item.updated_at, found.item.last_used_at)
    assert [moment.utcoffset() for moment in times if moment] == [timedelta(0)] * 3
    assert found.item.created_at == datetime(2024, 1, 1, 4, 30, tzinfo=UTC)


@law
async def test_items_come_in_the_order_asked(store: Store) -> None:
    await write(store, *(plain(name, f"text of {name}") for name in "abc"))
    assert [found.item.id for found in await store.get(SCOPE, ["c", "missing", "a"])] == ["c", "a"]
    assert await store.get(SCOPE, []) == []


@law
async def test_any_unicode_text_is_an_id(store: Store) -> None:
    names = ["ÿ", "é", "e\u0301", "z", "Z", "決定", "😀", " a", "a/b#c?d='1';--", "\ufffd", "a" * 500, "line\nbreak", "%_", '"']
    await write(store, *(entry(name, f"shared {name}") for name in names), edges=[Edge("z", "LINKS", name) for name in names[4:]])
    assert await scanned(store) == sorted(names)
    assert [found.item.id for found in await store.get(SCOPE, names)] == names
    assert ids(await store.search_text(SCOPE, Term("shared"), k=50, where=parse({"id": names[:3]}))) == sorted(names[:3])
    assert {visit.id for visit in await store.walk(SCOPE, ["z"], hops=1, fan_out=50)} == {"z", *names[4:]}
    assert set(await store.passages_of(SCOPE, names)) == set(names)
    assert (await write(store, delete=names)).deleted == tuple(names)
    assert await scanned(store) == []


@law
async def test_a_write_tells_what_it_did(store: Store) -> None:
    assert await write(store, entry("a", "one"), entry("b", "two"), entry("c", "three")) == Written(added=("a", "b", "c"))
    done = await write(store, entry("d", "four"), entry("a", "one more"), entry("b", "two"), delete=["c", "missing", "c"])
    assert done == Written(added=("d",), changed=("a",), unchanged=("b",), deleted=("c",))
    assert await write(store) == Written()


@law
async def test_the_last_of_two_entries_with_one_id_counts(store: Store) -> None:
    assert (await write(store, entry("a", "earlier"), entry("a", "later"))).added == ("a",)
    assert (await store.get(SCOPE, ["a"]))[0].item.text == "later"
    assert ids(await store.search_text(SCOPE, Term("earlier later"), k=5)) == ["a"]
    assert (await store.status(SCOPE)).chunks == 1


@law
async def test_an_entry_is_written_even_where_its_id_is_deleted(store: Store) -> None:
    await write(store, entry("a", "before"), entry("b", "other"), edges=[Edge("b", "LINKS", "a")])
    assert await write(store, entry("a", "after"), delete=["a"]) == Written(changed=("a",))
    assert ids(await store.search_text(SCOPE, Term("after"), k=5)) == ["a"]
    assert (await store.status(SCOPE)).edges == 1


async def _answers(store: Store) -> list[Any]:
    """All that can be seen of a scope, in a form that shows any difference."""
    stored = [found async for found in store.scan(SCOPE)]
    names = [found.item.id for found in stored]
    kept = await store.passages(SCOPE, [found.item.content_hash for found in stored], SPACE)
    status = await store.status(SCOPE)
    return [
        stored,
        shown(await store.passages_of(SCOPE, names)),
        shown(kept),
        await store.search_text(SCOPE, Term("shared alpha beta"), k=50),
        await store.search_vectors(SCOPE, direction("shared"), k=50),
        await store.fields(SCOPE),
        await store.facets(SCOPE, ["kind", "tag"]),
        await store.walk(SCOPE, names, hops=3, fan_out=10),
        await store.known(SCOPE, "files", ""),
        await store.scopes(),
        (status.scopes, status.items, status.chunks, status.edges, status.space),
    ]


def _some_entries() -> list[Entry]:
    return [
        entry("a", "shared alpha", direction("a0"), direction("a1"), metadata={"tag": ["x", "y"]}, source="files", source_ref="a.md"),
        entry("b", "shared beta", metadata={"tag": "x", "n": 1}, kind="code"),
        plain("c", "shared without passages"),
    ]


@law
async def test_writing_the_same_twice_changes_nothing(store: Store) -> None:
    edges = [Edge("a", "LINKS", "b", 0.5)]
    await write(store, *_some_entries(), edges=edges)
    before = await _answers(store)
    assert await write(store, *_some_entries(), edges=edges, delete=["missing"]) == Written(unchanged=("a", "b", "c"))
    assert await _answers(store) == before


BAD = {
    "an item of another scope": entry("bad", "shared bad", scope=OTHER),
    "a lone surrogate in the text": plain("bad", "shared \ud800 bad"),
    "a lone surrogate in the id": plain("bad\udfff", "shared bad"),
    "a lone surrogate in the title": plain("bad", "shared bad", title="\udc80"),
    "a lone surrogate in the metadata": plain("bad", "shared bad", metadata={"tag": "\ud800"}),
    "a metadata value that is not JSON": plain("bad", "shared bad", metadata={"tag": WHEN}),
    "a metadata number that is not finite": plain("bad", "shared bad", metadata={"n": float("nan")}),
    "a metadata number beyond all measure": plain("bad", "shared bad", metadata={"n": 10**400}),
    "vectors of another width": Entry(item("bad", "shared bad"), passages("shared bad", [np.ones(7, np.float32)])),
    "fewer vectors than chunks": Entry(item("bad", "ab"), Passages(passages("ab", [direction("a")] * 2).chunks, direction("a")[None])),
    "fewer words than chunks": Entry(item("bad", "ab"), passages("ab", [direction("a")] * 2, [b"words"])),
    "more words than chunks": Entry(item("bad", "ab"), passages("ab", [direction("a")], [b"words", b"words"])),
    "a vector that is not finite": Entry(item("bad", "shared bad"), passages("shared bad", [np.full(SPACE.dim, np.nan, np.float32)])),
}


@law
async def test_a_batch_with_a_bad_entry_leaves_nothing(store: Store) -> None:
    await write(store, *_some_entries())
    before = await _answers(store)
    good = [entry("new", "shared new", metadata={"novel": True}), entry("a", "shared replaced")]
    for what, bad in BAD.items():
        with pytest.raises(InvalidInput):
            await write(store, *good, bad, edges=[Edge("a", "LINKS", "new")], delete=["b"])
        assert await _answers(store) == before, what
    assert (await write(store, *good, delete=["b"])) == Written(added=("new",), changed=("a",), deleted=("b",))


@law
async def test_a_batch_with_a_bad_edge_leaves_nothing(store: Store) -> None:
    await write(store, *_some_entries())
    before = await _answers(store)
    with pytest.raises(InvalidInput):
        await write(store, entry("new", "shared new"), edges=[Edge("a", "LINKS", "\ud800")])
    assert await _answers(store) == before


@law
async def test_an_empty_id_is_refused(store: Store) -> None:
    with pytest.raises(InvalidInput, match="empty id"):
        await write(store, plain("", "a text without a name"))


@law
async def test_passages_need_a_space(store: Store) -> None:
    with pytest.raises(InvalidInput, match="space"):
        await write(store, entry("a", "text"), space=None)
    assert await store.scopes() == []


@law
async def test_a_failed_first_write_leaves_no_scope_and_no_space(store: Store) -> None:
    with pytest.raises(InvalidInput):
        await write(store, entry("a", "text"), BAD["a lone surrogate in the text"])
    assert (await store.scopes(), await store.space()) == ([], None)


@law
async def test_an_entry_replaces_the_item_of_its_id(store: Store) -> None:
    old = entry("a", "obsolete wording", direction("o0"), direction("o1"), metadata={"old": 1}, source="files", source_ref="old.md")
    await write(store, old, entry("b", "neighbour"), edges=[Edge("a", "LINKS", "b")])
    assert (await write(store, entry("a", "fresh wording", metadata={"new": "x"}))).changed == ("a",)
    assert await store.search_text(SCOPE, Term("obsolete"), k=5) == ()
    assert ids(await store.search_text(SCOPE, Term("fresh"), k=5)) == ["a"]
    assert (await store.search_vectors(SCOPE, direction("fresh wording"), k=1))[0].id == "a"
    assert (await store.search_vectors(SCOPE, direction("o0"), k=1))[0].score < 0.9
    assert len((await store.passages_of(SCOPE, ["a"]))["a"].chunks) == 1
    assert await store.passages(SCOPE, [old.item.content_hash], SPACE) == {}
    assert await store.fields(SCOPE) == {"new": frozenset({"text"})}
    assert await store.known(SCOPE, "files", "") == {}
    assert [visit.id for visit in await store.walk(SCOPE, ["a"], hops=1, fan_out=5)] == ["a", "b"]
    status = await store.status(SCOPE)
    assert (status.items, status.chunks, status.edges) == (2, 2, 1)


CHANGES: dict[str, Any] = {
    "kind": "code",
    "format": "markdown",
    "source": "git",
    "source_ref": "b.md",
    "title": "other",
    "summary": "other",
    "metadata": {"tag": "y"},
    "status": "approved",
    "version": "2",
    "created_at": WHEN + timedelta(microseconds=1),
    "updated_at": WHEN + timedelta(days=1),
    "importance": 0.75,
    "entities": ("a:1",),
    "use_count": 3,
    "last_used_at": WHEN,
}


@law
async def test_a_change_of_any_field_is_kept(store: Store) -> None:
    before: dict[str, Any] = {"source": "files", "source_ref": "a.md", "title": "title", "metadata": {"tag": "x"}}
    await write(store, *(plain(name, "text", **before) for name in CHANGES))
    changed = [plain(name, "text", **{**before, name: value}) for name, value in CHANGES.items()]
    assert (await write(store, *changed)).changed == tuple(CHANGES)
    assert [found.item for found in await store.get(SCOPE, list(CHANGES))] == [entry.item for entry in changed]


@law
async def test_a_change_of_the_fingerprint_is_kept(store: Store) -> None:
    await write(store, plain("a", "text"))
    await write(store, replace(plain("a", "text"), fingerprint=b"new"))
    assert (await store.get(SCOPE, ["a"]))[0].fingerprint == b"new"


@law
async def test_a_new_stamp_alone_is_kept_and_is_no_change(store: Store) -> None:
    def stamped(stamp: str | None) -> Entry:
        return entry("a", "text", source="files", source_ref="a.md", stamp=stamp)

    await write(store, stamped("1"))
    assert (await write(store, stamped("2"))).unchanged == ("a",)
    assert (await store.known(SCOPE, "files", ""))["a.md"].stamp == "2"
    assert (await store.get(SCOPE, ["a"]))[0].item.stamp == "2"
    assert ids(await store.search_text(SCOPE, Term("text"), k=5)) == ["a"]
    await write(store, stamped(None))
    assert (await store.known(SCOPE, "files", ""))["a.md"].stamp is None


@law
async def test_deleting_leaves_no_trace(store: Store) -> None:
    origin: dict[str, Any] = {"source": "files", "source_ref": "d.md", "metadata": {"secret": "s"}}
    doomed = entry("doomed", "peculiar words", direction("d0"), direction("d1"), **origin)
    await write(store, entry("kept", "ordinary words"), doomed, edges=[Edge("kept", "LINKS", "doomed"), Edge("doomed", "LINKS", "far")])
    await store.cache(SCOPE, "recipe", {"doomed": (doomed.item.content_hash, b"peculiar")}, at=WHEN)
    assert (await write(store, delete=["doomed"])).deleted == ("doomed",)
    assert await store.get(SCOPE, ["doomed"]) == []
    assert await scanned(store) == ["kept"]
    assert await store.search_text(SCOPE, Term("peculiar"), k=5) == ()
    assert ids(await store.search_text(SCOPE, Term("words"), k=5)) == ["kept"]
    assert await store.search_text(SCOPE, Phrase("peculiar words"), k=5) == ()
    assert ids(await store.search_vectors(SCOPE, direction("d0"), k=5)) == ["kept"]
    assert set(await store.passages_of(SCOPE, ["kept", "doomed"])) == {"kept"}
    assert await store.passages(SCOPE, [doomed.item.content_hash], SPACE) == {}
    assert await store.fields(SCOPE) == {}
    assert await store.facets(SCOPE, ["secret", "path"]) == {"secret": {}, "path": {}}
    assert await store.known(SCOPE, "files", "") == {}
    assert [found.item.id for found in await store.without_passages(SCOPE, Space("m", 3, "c"), 9)] == ["kept"]
    assert await store.cached(SCOPE, "recipe", {"doomed": doomed.item.content_hash}) == {}
    status = await store.status(SCOPE)
    assert (status.items, status.chunks, status.edges, status.cache.entries, status.cache.bytes) == (1, 1, 0, 0, 0)
    await write(store, entry("doomed", "risen"), entry("far", "away"))
    assert [visit.id for visit in await store.walk(SCOPE, ["kept", "far"], hops=3, fan_out=9)] == ["far", "kept"]


@law
async def test_deleted_texts_leave_the_others_as_they_were_ranked(store: Store) -> None:
    """Whether they were written with them or after them, and whether they were deleted or replaced."""
    kept = [plain(f"k{at}", "common words " * (at + 1)) for at in range(5)]
    await write(store, *kept, plain("d", "common"))
    await write(store, *(plain(f"d{at}", "common clutter of another length") for at in range(40)))
    await write(store, plain("d0", "replaced"), delete=["d", *(f"d{at}" for at in range(1, 40))])
    assert ids(await store.search_text(SCOPE, Term("common words"), k=9)) == ["k4", "k3", "k2", "k1", "k0"]
    assert await store.search_text(SCOPE, Term("clutter"), k=9) == ()


@law
async def test_deleting_what_is_not_there_is_nothing(store: Store) -> None:
    assert await write(store, delete=["missing"]) == Written()
    await write(store, entry("a", "text"))
    assert await write(store, delete=["missing"]) == Written()
    assert await scanned(store) == ["a"]


@law
async def test_many_small_writes_add_up(store: Store) -> None:
    """Each is found as soon as it is written, however often the one before was replaced."""
    for at in range(100):
        await write(store, entry(f"i{at % 25:02}", f"shared number{at}", metadata={"n": at}))
        if at % 10 == 0:
            assert ids(await store.search_text(SCOPE, Term(f"number{at}"), k=60, where=parse({"n": at}))) == [f"i{at % 25:02}"]
    expected = [f"i{at:02}" for at in range(25)]
    assert sorted(ids(await store.search_text(SCOPE, Term("shared"), k=60))) == expected
    assert sorted(ids(await store.search_vectors(SCOPE, direction("x"), k=60))) == expected
    assert (await store.search_vectors(SCOPE, direction("shared number80"), k=1))[0].id == "i05"
    assert (await store.search_vectors(SCOPE, direction("shared number5"), k=1))[0].score < 0.95
    assert await store.facets(SCOPE, ["n"]) == {"n": {str(at): 1 for at in range(75, 100)}}
    assert (await store.status(SCOPE)).chunks == 25


@law
async def test_what_is_written_is_there_after_opening_again(open_store: OpenStore) -> None:
    async with opened(open_store) as store:
        await write(store, *_some_entries(), edges=[Edge("a", "LINKS", "b")])
        await write(store, entry("gone", "shared gone"))
        await write(store, delete=["gone"])
        before = await _answers(store)
    async with opened(open_store) as store:
        assert await _answers(store) == before


@law
async def test_an_empty_batch_is_legal(store: Store) -> None:
    assert await store.write(SCOPE, Batch()) == Written()
    assert (await scanned(store), await store.scopes()) == ([], [])

"""A copy is the same as its source, whatever came between; nothing is embedded for it and nothing else is touched."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from sqlalchemy import Connection

from recollect import copying, likeness
from recollect.copying import CopyProgress, CopyReport, copy
from recollect.errors import InvalidInput, ModelMismatch, NotFound, StoreError
from recollect.model import Anchors, Batch, Edge, Entry, Space, Stored, Written
from recollect.ports import Store
from recollect.stores.reference import ReferenceStore
from recollect.stores.sql import rows
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.cases import NEXT_SPACE, OTHER, SCOPE, SPACE, WHEN, direction, entry, law, passages, plain, scanned, shown, write
from recollect.textquery import Term

R = TypeVar("R")
Run = Callable[..., tuple[int, str, str]]


def rich(name: str, text: str = "alpha beta", scope: str = SCOPE) -> Entry:
    """An item with something in every place where something can be."""
    made = entry(
        name,
        f"{text} {name}",
        scope=scope,
        kind="code",
        format="markdown",
        source="files",
        source_ref=f"src/{name}.py",
        title=f"Title of {name}",
        summary="In short.",
        metadata={"tags": ["x", {"deep": None}], "n": 0.1, "名": True},
        status="approved",
        version="v2",
        updated_at=WHEN + timedelta(microseconds=1),
        importance=0.123456789,
        entities=("one", "two"),
        stamp="12:34",
        use_count=7,
        last_used_at=WHEN + timedelta(days=1),
    )
    cut = passages(made.item.text, [direction(f"{name} {at}") for at in range(2)], [b"\x00\xff", name.encode()])
    first, second = cut.chunks
    anchored = (replace(first, anchors=Anchors(1, 2, ("A", "B"), "f", "C")), second)
    return replace(made, passages=replace(cut, chunks=anchored))


async def fill(store: Store) -> None:
    """Two scopes that have an id in common, with links, a text without vectors and a blank one."""
    await write(store, *(rich(f"i{at}") for at in range(12)), plain("no vectors", "words alone"), plain("blank", " "))
    await write(store, edges=[Edge("i0", "X", "i1"), Edge("i1", "X", "i2", 0.3), Edge("i1", "Y", "nobody")])
    await write(store, rich("i0", "gamma", OTHER), edges=[Edge("i0", "X", "i0", 2.0)], scope=OTHER)
    await store.set_note(SCOPE, "weights", {"semantic": 0.25, "名": None})


async def view(store: Store, scope: str = SCOPE) -> list[Any]:
    """All that can be seen of a scope, without the digest that a copy is checked by."""
    names = await scanned(store, scope=scope)
    return [
        [stored async for stored in store.scan(scope)],
        shown(await store.passages_of(scope, names)),
        [edge async for edge in store.edges(scope)],
        await store.fields(scope),
        await store.notes(scope),
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Callable[[str], Store]]:
    """Embedded stores by name, closed in the end."""
    stores: dict[str, SqliteStore] = {}

    def opened(name: str) -> Store:
        if name not in stores:
            stores[name] = SqliteStore(tmp_path / name)
        return stores[name]

    yield opened
    for store in stores.values():
        asyncio.run(store.close())


class Changing(ReferenceStore):
    """A store that keeps something else than it is given, as a faulty one would."""

    def __init__(self, change: Callable[[Batch], Batch]) -> None:
        super().__init__()
        self.change = change

    async def write(self, scope: str, batch: Batch, *, space: Space | None = None) -> Written:
        return await super().write(scope, self.change(batch), space=space)


class Counting(ReferenceStore):
    """A store that notes what is written to it, and fails when it may write no more."""

    def __init__(self, allowed: int = 1_000_000) -> None:
        super().__init__()
        self.allowed = allowed
        self.batches: list[Batch] = []

    async def write(self, scope: str, batch: Batch, *, space: Space | None = None) -> Written:
        if len(self.batches) >= self.allowed:
            raise StoreError("no more")
        self.batches.append(batch)
        return await super().write(scope, batch, space=space)


class Meanwhile(ReferenceStore):
    """A store in which something happens before edges are written, when all items are."""

    def __init__(self, happens: Callable[[], Awaitable[object]]) -> None:
        super().__init__()
        self.happens = happens

    async def write(self, scope: str, batch: Batch, *, space: Space | None = None) -> Written:
        if batch.edges:
            await self.happens()
        return await super().write(scope, batch, space=space)


def of_scope(report: CopyReport, scope: str = SCOPE) -> copying.ScopeCopied:
    return next(each for each in report.scopes if each.scope == scope)


# What comes over.


@pytest.mark.parametrize("kinds", [("sqlite", "sqlite"), ("sqlite", "reference"), ("reference", "sqlite")])
def test_a_copy_has_all_that_its_source_has(kinds: Sequence[str], folder: Callable[[str], Store]) -> None:
    async def both() -> None:
        source, target = (ReferenceStore() if kind == "reference" else folder(f"{kind}{at}") for at, kind in enumerate(kinds))
        await fill(source)
        report = await copy(source, target)
        for scope in (SCOPE, OTHER):
            assert await view(target, scope) == await view(source, scope)
        assert await target.scopes() == [SCOPE, OTHER]
        assert await target.space() == SPACE
        done = of_scope(report)
        assert (done.added, done.changed, done.unchanged, done.removed) == (14, 0, 0, 0)
        assert (done.items, done.chunks, done.edges) == (14, 24, 3)
        assert done.digest != of_scope(report, OTHER).digest

    asyncio.run(both())


@law
async def test_what_goes_through_any_store_comes_back_the_same(store: Store) -> None:
    source, back = ReferenceStore(), ReferenceStore()
    await fill(source)
    there = await copy(source, store)
    assert (await copy(store, back)).scopes == there.scopes
    assert await view(back) == await view(source)
    assert of_scope(await copy(source, store)).unchanged == 14


def test_a_copy_answers_as_its_source_does(folder: Callable[[str], Store]) -> None:
    async def both() -> None:
        source, target = folder("a"), folder("b")
        await fill(source)
        await copy(source, target)
        assert [finding for finding in await target.doctor(repair=False) if not finding.ok] == []
        for ask in (
            lambda store: store.search_text(SCOPE, Term("alpha i3"), k=9),
            lambda store: store.search_vectors(SCOPE, direction("i4 1"), k=9),
            lambda store: store.walk(SCOPE, ["i0"], hops=2, fan_out=9),
        ):
            assert await ask(source) == await ask(target) != ()

    asyncio.run(both())


def test_vectors_come_over_bit_by_bit(folder: Callable[[str], Store]) -> None:
    """Also those that are no unit vectors, very small, or negative zeros."""

    async def both() -> None:
        source, target = folder("a"), folder("b")
        odd = np.array([[0.0, -0.0, 6e-8, 65504.0] * 8, [1 / 3, -1e-5, 1e-9, 0.1] * 8], np.float32)
        await write(source, replace(entry("odd", "text text"), passages=passages("text text", list(odd))))
        await copy(source, target)
        assert (await target.passages_of(SCOPE, ["odd"]))["odd"].vectors.tobytes() == odd.astype(np.float16).astype(np.float32).tobytes()

    asyncio.run(both())


def test_a_source_without_vectors_is_copied_as_text(folder: Callable[[str], Store]) -> None:
    async def both() -> None:
        source, target = folder("a"), folder("b")
        await write(source, plain("a", "words alone"), space=None)
        assert of_scope(await copy(source, target)).chunks == 0
        assert (await target.space(), await scanned(target)) == (None, ["a"])

    asyncio.run(both())


def test_scopes_are_chosen_and_others_left_alone() -> None:
    async def both() -> None:
        source, target = ReferenceStore(), ReferenceStore()
        await fill(source)
        await write(target, rich("theirs", scope="third"), scope="third")
        before = await view(target, "third")
        report = await copy(source, target, scopes=[OTHER, OTHER], mirror=True)
        assert [each.scope for each in report.scopes] == [OTHER]
        assert await target.scopes() == [OTHER, "third"]
        assert await view(target, "third") == before

    asyncio.run(both())


def test_a_scope_that_is_not_there_is_told() -> None:
    async def both() -> None:
        source = ReferenceStore()
        with pytest.raises(NotFound, match="no scope 'nope': it has none"):
            await copy(source, ReferenceStore(), scopes=["nope"])
        await fill(source)
        with pytest.raises(NotFound, match=f"no scope 'nope': it has '{SCOPE}', '{OTHER}'"):
            await copy(source, ReferenceStore(), scopes=[SCOPE, "nope"])

    asyncio.run(both())


def test_a_store_of_nothing_is_copied() -> None:
    assert asyncio.run(copy(ReferenceStore(), ReferenceStore())).scopes == ()


# Again, and going on.


def test_a_second_copy_writes_nothing(folder: Callable[[str], Store]) -> None:
    async def both() -> None:
        source, target = folder("a"), Counting()
        await fill(source)
        first = await copy(source, target)
        target.batches.clear()
        second = await copy(source, target)
        assert target.batches == []
        assert (of_scope(second).unchanged, of_scope(second).digest) == (14, of_scope(first).digest)

    asyncio.run(both())


def test_an_interrupted_copy_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it stops: each run may write once, and what came over stays."""
    monkeypatch.setattr(copying, "BATCH_ITEMS", 5)
    monkeypatch.setattr(copying, "BATCH_EDGES", 2)

    async def both() -> None:
        source, target = ReferenceStore(), Counting(allowed=1)
        await fill(source)
        stops, held = 0, [0]
        while True:
            try:
                await copy(source, target)
                break
            except StoreError:
                stops += 1
                held.append(len(await scanned(target)))
                target.batches.clear()
        assert (stops, held) == (6, [0, 5, 10, 14, 14, 14, 14])
        for scope in (SCOPE, OTHER):
            assert await view(target, scope) == await view(source, scope)

    asyncio.run(both())


CHANGES: dict[str, Callable[[Entry], Entry]] = {
    "text": lambda made: replace(made, item=replace(made.item, text="other text i0")),
    "title": lambda made: replace(made, item=replace(made.item, title="Other")),
    "no title": lambda made: replace(made, item=replace(made.item, title=None)),
    "stamp": lambda made: replace(made, item=replace(made.item, stamp="56:78")),
    "use": lambda made: replace(made, item=replace(made.item, use_count=8)),
    "time": lambda made: replace(made, item=replace(made.item, updated_at=WHEN)),
    "metadata": lambda made: replace(made, item=replace(made.item, metadata={"n": 0.2})),
    "fingerprint": lambda made: replace(made, fingerprint=b"other"),
    "a vector": lambda made: replace(
        made, passages=passages(made.item.text, [direction("i0 0"), direction("other")], [b"\x00\xff", b"i0"])
    ),
    "a word": lambda made: replace(made, passages=passages(made.item.text, [direction("i0 0"), direction("i0 1")], [b"\x00\xff", b"i1"])),
    "no vectors": lambda made: replace(made, passages=None),
}


@pytest.mark.parametrize("target_kind", ["sqlite", "reference"])
@pytest.mark.parametrize("what", CHANGES)
def test_what_changed_in_the_source_is_copied_again(what: str, target_kind: str, folder: Callable[[str], Store]) -> None:
    """Also vectors and words, which a store takes for unchanged as long as the content is; links stay as they were."""

    async def both() -> None:
        source, changed = ReferenceStore(), ReferenceStore()
        target = ReferenceStore() if target_kind == "reference" else folder("b")
        await fill(source)
        await fill(changed)
        await copy(source, target, scopes=[SCOPE])
        edges = [edge async for edge in source.edges(SCOPE)]
        await write(changed, delete=["i0"])
        await write(changed, CHANGES[what](rich("i0")), edges=edges)
        done = of_scope(await copy(changed, target, scopes=[SCOPE]))
        assert (done.added, done.changed, done.unchanged) == (0, 1, 13)
        assert await view(target) == await view(changed)

    asyncio.run(both())


def test_an_embedded_title_that_is_empty_is_not_none(folder: Callable[[str], Store]) -> None:
    async def both() -> None:
        source, target = folder("a"), folder("b")
        await write(source, plain("a", "text", title=""))
        await write(target, plain("a", "text", title=None))
        assert of_scope(await copy(source, target)).changed == 1
        assert (await target.get(SCOPE, ["a"]))[0].item.title == ""

    asyncio.run(both())


# What the target has already.


@pytest.mark.parametrize("extra", [{"entries": [plain("theirs", "text")]}, {"edges": [Edge("i2", "X", "i3")]}], ids=["item", "edge"])
def test_a_target_with_something_else_is_refused_and_left_alone(extra: dict[str, Any]) -> None:
    async def both() -> None:
        source, target = ReferenceStore(), ReferenceStore()
        await fill(source)
        await write(target, rich("i2", "an old text"))
        await target.write(SCOPE, Batch(**extra))
        before = await view(target)
        with pytest.raises(InvalidInput, match=r"which the source has not.*--mirror") as refused:
            await copy(source, target)
        assert "'theirs'" in str(refused.value) or "('i2', 'X', 'i3')" in str(refused.value)
        assert await view(target) == before
        assert await target.scopes() == [SCOPE]

    asyncio.run(both())


@pytest.mark.parametrize("target_kind", ["sqlite", "reference"])
def test_a_mirror_loses_what_the_source_has_not(target_kind: str, folder: Callable[[str], Store]) -> None:
    async def both() -> None:
        source, target = ReferenceStore(), ReferenceStore() if target_kind == "reference" else folder("b")
        await fill(source)
        await write(target, plain("a theirs", "text"), rich("i2"), rich("i3"), plain("z theirs", "text"))
        await write(target, edges=[Edge("i2", "X", "i3"), Edge("a theirs", "X", "i2"), Edge("i2", "Y", "gone")])
        done = of_scope(await copy(source, target, mirror=True))
        assert done.removed == 2
        for scope in (SCOPE, OTHER):
            assert await view(target, scope) == await view(source, scope)
        assert of_scope(await copy(source, target)).unchanged == 14

    asyncio.run(both())


@pytest.mark.parametrize("target_kind", ["sqlite", "reference"])
def test_notes_come_over_and_others_are_refused_or_removed(target_kind: str, folder: Callable[[str], Store]) -> None:
    async def both() -> None:
        source, target = ReferenceStore(), ReferenceStore() if target_kind == "reference" else folder("b")
        await fill(source)
        before = of_scope(await copy(source, target, scopes=[SCOPE]))
        await source.set_note(SCOPE, "weights", {"semantic": 0.5})
        assert of_scope(await copy(source, target, scopes=[SCOPE])).digest != before.digest
        assert await target.notes(SCOPE) == {"weights": {"semantic": 0.5}}
        for scope in (SCOPE, OTHER):
            await target.set_note(scope, "theirs", {})
            with pytest.raises(InvalidInput, match=r"the note 'theirs' in scope 'tenant-.', which the source has not.*--mirror"):
                await copy(source, target, scopes=[scope])
            await copy(source, target, scopes=[scope], mirror=True)
            assert await view(target, scope) == await view(source, scope)

    asyncio.run(both())


def test_an_edge_without_items_that_cannot_be_removed_is_told() -> None:
    async def both() -> None:
        source, target = ReferenceStore(), ReferenceStore()
        await fill(source)
        await write(target, edges=[Edge("no", "X", "body")])
        with pytest.raises(StoreError, match=r"edge \('no', 'X', 'body'\).*recollect delete --all"):
            await copy(source, target, mirror=True)
        await target.drop(SCOPE)
        assert of_scope(await copy(source, target)).items == 14

    asyncio.run(both())


def test_vectors_of_two_models_are_never_mixed() -> None:
    async def both() -> None:
        source, target = ReferenceStore(), ReferenceStore()
        await fill(source)
        theirs = replace(plain("a", "text", scope="third"), passages=passages("text", [direction("a", NEXT_SPACE)]))
        await write(target, theirs, scope="third", space=NEXT_SPACE)
        with pytest.raises(ModelMismatch, match=r"'contract-model'.*'another-model'.*--reembed"):
            await copy(source, target)
        assert await target.scopes() == ["third"]

    asyncio.run(both())


def test_a_text_without_vectors_takes_none_away() -> None:
    async def both() -> None:
        source, target = ReferenceStore(), ReferenceStore()
        await write(source, plain("i0", "alpha beta i0"), space=None)
        await fill(target)
        with pytest.raises(ModelMismatch, match=f"vectors of 'contract-model' in scope '{SCOPE}' and the source has none"):
            await copy(source, target, mirror=True)
        await target.drop(SCOPE)
        assert of_scope(await copy(source, target)).items == 1
        assert (await target.status(OTHER)).chunks == 2

    asyncio.run(both())


# The check at the end.


def faulty(what: str) -> Callable[[Batch], Batch]:
    """Changes one thing of what is written of the item `i3`, or of an edge."""

    def spoilt(made: Entry) -> Entry:
        if made.item.id != "i3" or made.passages is None:
            return made
        cut = made.passages
        match what:
            case "a character":
                return replace(made, item=replace(made.item, text=made.item.text.replace("alpha", "alphb")))
            case "a vector":
                vectors = cut.vectors.copy()
                vectors[1, 5] = np.nextafter(np.float16(vectors[1, 5]), np.float16(2))
                return replace(made, passages=replace(cut, vectors=vectors))
            case "a word":
                return replace(made, passages=replace(cut, words=(b"\x00\xfe", cut.words[1])))
            case "an anchor":
                return replace(made, passages=replace(cut, chunks=(replace(cut.chunks[0], anchors=Anchors(1, 3)), cut.chunks[1])))
            case "a fingerprint":
                return replace(made, fingerprint=b"")
            case _:
                return made

    def change(batch: Batch) -> Batch:
        edges = [edge._replace(weight=0.25) for edge in batch.edges] if what == "a weight" else batch.edges
        entries = [made for made in map(spoilt, batch.entries) if what != "an item" or made.item.id != "i3"]
        return replace(batch, entries=entries, edges=[] if what == "an edge" else edges)

    return change


@pytest.mark.parametrize("what", ["a character", "a vector", "a word", "an anchor", "a fingerprint", "an item", "an edge", "a weight"])
def test_the_check_finds_what_came_over_wrong(what: str) -> None:
    async def both() -> None:
        source = ReferenceStore()
        await fill(source)
        with pytest.raises(
            StoreError, match=r"does not hold what was copied into scope 'tenant-a' \(the (item 'i3'|edge .*) is not the same"
        ):
            await copy(source, Changing(faulty(what)))

    asyncio.run(both())


@pytest.mark.parametrize(
    "change", [Batch(delete=["i1"]), Batch([plain("i1", "new")]), Batch([plain("zz", "new")]), Batch(edges=[Edge("a", "b", "c")])]
)
def test_a_source_that_changes_meanwhile_is_told_and_copied_by_the_next_run(change: Batch) -> None:
    async def both() -> None:
        source = ReferenceStore()
        await fill(source)
        target = Meanwhile(lambda: source.write(SCOPE, change, space=SPACE))
        with pytest.raises(StoreError, match="'tenant-a' of the source changed while it was copied: run the same command again"):
            await copy(source, target)
        await copy(source, target, mirror=True)
        assert await view(target) == await view(source)

    asyncio.run(both())


# Bounds.


def test_no_batch_is_larger_than_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "BATCH_ITEMS", 10)
    monkeypatch.setattr(copying, "BATCH_BYTES", 50_000)

    async def both() -> None:
        source, target = ReferenceStore(), Counting()
        long = [plain(f"long {at}", "x" * 20_000) for at in range(8)]
        await write(source, *(plain(f"short {at:02}", "text") for at in range(35)), *long)
        await copy(source, target)
        assert [len(batch.entries) for batch in target.batches] == [3, 3, 10, 10, 10, 7]

    asyncio.run(both())


def test_a_scan_and_a_look_at_it_read_long_items_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(rows, "PAGE_CHARS", 1_000)
    monkeypatch.setattr(likeness, "PAGE_CHARS", 2_500)
    pages: list[int] = []
    looks: list[int] = []

    class Watched(SqliteStore):
        async def _read(self, scope: str, function: Callable[[Connection], R]) -> R:
            found = await super()._read(scope, function)
            if isinstance(found, list) and found and isinstance(found[0], Stored):
                pages.append(len(found))
            return found

    async def read() -> None:
        store = Watched(tmp_path / "a")
        await write(store, *(plain(f"a{at}", "x" * 600) for at in range(6)), *(plain(f"b{at}", "x") for at in range(20)))
        names = [item.id async for item in likeness.seen(store, SCOPE, SPACE, looks.append)]
        assert len(names) == len(set(names)) == 26
        await store.close()

    asyncio.run(read())
    assert pages == [2, 2, 2, 20]
    assert looks == [5, 21]


def test_progress_goes_through_its_stages_to_the_end() -> None:
    async def both() -> None:
        source, target = ReferenceStore(), ReferenceStore()
        await fill(source)
        told: list[tuple[str, int, int | None]] = []

        def note(progress: CopyProgress) -> None:
            told.append((progress.stage, progress.items_done, progress.items_total))

        await copy(source, target, report=note)
        assert told == [("copied", 14, 15), ("copied", 15, 15), ("checked", 14, 15), ("checked", 15, 15)]
        told.clear()
        await copy(source, target, report=note)
        assert told == [("compared", 14, 15), ("compared", 15, 15)]

    asyncio.run(both())


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("", "", []),
        ("ab", "", [("a", None), ("b", None)]),
        ("", "ab", [(None, "a"), (None, "b")]),
        ("acd", "abde", [("a", "a"), (None, "b"), ("c", None), ("d", "d"), (None, "e")]),
    ],
)
def test_two_rows_are_read_side_by_side(left: str, right: str, expected: list[tuple[str | None, str | None]]) -> None:
    async def row(letters: str) -> AsyncIterator[str]:
        for letter in letters:
            yield letter

    async def pairs() -> list[tuple[str | None, str | None]]:
        return [(one, other) async for _, one, other in likeness.side_by_side(row(left), row(right), lambda letter: letter)]

    assert asyncio.run(pairs()) == expected


# The command.


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with a store of two scopes, made of words alone."""
    (tmp_path / "recollect.yaml").write_text("embed: {model: none}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    async def made() -> None:
        store = SqliteStore(tmp_path / "a")
        await fill(store)
        await store.close()

    asyncio.run(made())
    return tmp_path


def test_the_command_copies_and_tells_what_it_did(notes: Path, run: Run) -> None:
    code, out, err = run("copy", "a", "deep/b")
    assert (code, err) == (0, "")
    first, second, last = out.splitlines()
    assert first.startswith("tenant-a: 14 new; 14 items, 24 chunks, 3 links, digest ")
    assert second.startswith("tenant-b: 1 new; 1 item, 2 chunks, 1 link, digest ")
    assert last.startswith("copied and checked 2 scopes in ")
    assert run("copy", "a", "deep/b")[1].startswith("tenant-a: 14 unchanged; ")
    assert run("copy", "a", "deep/b", "--quiet") == (0, "", "")
    for scope in (SCOPE, OTHER):
        answers = [run("search", "alpha gamma", "--json", "--scope", scope, "--store", store) for store in ("a", "deep/b")]
        assert answers[0] == answers[1]
        assert json.loads(answers[0][1])["candidates"]


@pytest.mark.parametrize("order", [("--scope", OTHER, "copy", "a", "b"), ("copy", "a", "b", "--scope", OTHER, "--scope", OTHER)])
def test_the_command_copies_chosen_scopes_for_a_program(order: Sequence[str], notes: Path, run: Run) -> None:
    code, out, err = run(*order, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    (only,) = told["scopes"]
    assert {name: value for name, value in only.items() if name != "digest"} == {
        "scope": OTHER,
        "added": 1,
        "changed": 0,
        "unchanged": 0,
        "removed": 0,
        "items": 1,
        "chunks": 2,
        "entities": 0,
        "edges": 1,
    }
    assert (len(only["digest"]), told["seconds"] > 0) == (32, True)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("copy", "a"), 2, "the following arguments are required: TO"),
        (("copy", "a", "b", "--store", "c"), 2, "--store names no part of a copy"),
        (("--store", "c", "copy", "a", "b"), 2, "--store names no part of a copy"),
        (("copy", "a", "./a/"), 2, "FROM and TO are the same store"),
        (("copy", "sqlite:///a", "a"), 2, "FROM and TO are the same store"),
        (("copy", "", "b"), 2, "'' names no store"),
        (("copy", "a", ""), 2, "'' names no store"),
        (("copy", "nothing", "b"), 3, "there is no store in 'nothing' to copy: check FROM"),
        (("copy", "a", "b", "--scope", "nope"), 3, "the source has no scope 'nope'"),
        (("copy", "a", "recollect.yaml"), 3, "recollect.yaml"),
    ],
)
def test_what_cannot_be_copied_is_told_in_one_line_and_makes_no_store(
    arguments: Sequence[str], code: int, said: str, notes: Path, run: Run
) -> None:
    assert run(*arguments)[:2] == (code, "")
    answer = run(*arguments, "--json")
    assert answer[0] == code
    assert (answer[2].count("\n"), said in answer[2]) == (1, True)
    assert json.loads(answer[1])["error"]["message"] in answer[2]
    assert sorted(path.name for path in notes.iterdir()) == ["a", "recollect.yaml"]


def test_the_command_refuses_what_would_be_lost_unless_it_may_be(notes: Path, run: Run) -> None:
    run("copy", "a", "b")
    (notes / "records.jsonl").write_text('{"id": "theirs", "text": "words"}\n', encoding="utf-8")
    run("import", "records.jsonl", "--store", "b", "--scope", OTHER)
    code, out, err = run("copy", "a", "b")
    assert (code, out) == (2, "")
    assert "the target has the item 'theirs' in scope 'tenant-b'" in err
    code, out, _ = run("copy", "a", "b", "--mirror")
    assert (code, "tenant-b: 1 removed, 1 unchanged; " in out) == (0, True)


def test_the_command_goes_on_after_an_interrupt(notes: Path, run: Run) -> None:
    async def more() -> None:
        store = SqliteStore(notes / "a")
        await write(store, *(plain(f"n{at:05}", f"text {at}") for at in range(2_500)), space=None)
        await store.close()

    asyncio.run(more())
    with subprocess.Popen(
        [sys.executable, "-m", "recollect", "copy", "a", "b"],
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert process.stderr
        _wait_for_an_item(notes / "b" / "recollect.db")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        said = process.stderr.read().decode()
    assert said == "recollect: stopped: the store is usable, and the same command goes on where this one ended\n"
    code, out, _ = run("copy", "a", "b", "--scope", SCOPE)
    assert (code, "; 2514 items, 24 chunks, 3 links" in out, " unchanged; " in out) == (0, True, True)


def _wait_for_an_item(database: Path) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            with sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True) as connection:
                if connection.execute("SELECT count(*) FROM items").fetchone()[0]:
                    return
        except sqlite3.OperationalError:
            pass
        time.sleep(0.01)
    raise AssertionError("nothing was copied")

"""What is there: items and edges in order, fields, facets, what came from a source, counts, and what `doctor` finds in a sound store."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from ..filters import parse
from ..model import Edge, Head, Known
from ..ports import Store
from .cases import OTHER, SCOPE, SPACE, WHEN, OpenStore, direction, entry, item, law, opened, plain, scanned, write


@law
async def test_scan_gives_every_item_in_order_of_id(store: Store) -> None:
    """Wherever a store turns a page: most ids here begin like the one before them."""
    names = [f"{at // 3:04}" + "0" * (at % 3) for at in range(1_234)]
    await write(store, *(plain(name, name, metadata={"n": at}) for at, name in reversed(list(enumerate(names)))))
    assert await scanned(store) == names
    assert await scanned(store, parse({"n": {"gte": 1_000}})) == names[1_000:]


@law
async def test_scan_orders_ids_by_code_points(store: Store) -> None:
    names = ["10", "9", "B", "_", "a", "a b", "a-b", "ab", "z", "Ä", "é", "名", "\ue000", "\U0001f600"]
    await write(store, *(plain(name, "text") for name in reversed(names)))
    assert await scanned(store) == names


@law
async def test_scan_gives_long_items_whole(store: Store) -> None:
    texts = [f"{at}" + " " * (1_500_000 if at % 3 else 1) + "end" for at in range(9)]
    await write(store, *(plain(f"i{at}", text) for at, text in enumerate(texts)))
    assert [found.item.text async for found in store.scan(SCOPE)] == texts


@law
async def test_a_head_has_what_is_known_of_an_item_but_its_text(store: Store) -> None:
    whole: dict[str, Any] = {
        "kind": "code",
        "format": "code",
        "source_ref": "a.py",
        "status": "approved",
        "created_at": WHEN - timedelta(days=2),
        "updated_at": WHEN - timedelta(days=1),
        "importance": 0.75,
        "use_count": 3,
        "metadata": {"language": "python", "n": [1, 2]},
    }
    await write(store, plain("a", "text", **whole), plain("b", "text"))
    found = await store.heads(SCOPE, ["b", "missing", "a", "b"])
    assert found == {"a": Head(id="a", **whole), "b": Head("b", "document", "text", None, "draft", WHEN, WHEN, 0.5, 0, {})}
    assert await store.heads(SCOPE, []) == await store.heads(OTHER, ["a"]) == {}


@law
async def test_edges_are_given_in_order_of_source_type_and_target(store: Store) -> None:
    """Wherever a store turns a page, and by code points."""
    names = ["9", "B", "a", "a b", "ab", "Ä", "名", "\ue000", "\U0001f600"]
    some = [Edge(source, kind, target, 0.5) for source in names for kind in ("USES", "uses", "Ü") for target in names]
    many = [Edge("hub", "LINKS", f"n{at:05}", at / 8) for at in range(7_000)] + [Edge("hub", "cites", f"n{at:05}") for at in range(3_500)]
    both = [*some, *many]
    await write(store, edges=both[::-1])
    assert await _edges(store) == sorted(both, key=lambda edge: (edge.source, edge.type, edge.target))


@law
async def test_edges_are_those_of_their_scope_alone(store: Store) -> None:
    assert await _edges(store) == []
    await write(store, plain("a", "text"), edges=[Edge("a", "X", "b")])
    await write(store, plain("a", "text", scope=OTHER), edges=[Edge("a", "X", "c"), Edge("b", "Y", "a")], scope=OTHER)
    assert await _edges(store) == [Edge("a", "X", "b")]
    assert await _edges(store, OTHER) == [Edge("a", "X", "c"), Edge("b", "Y", "a")]
    assert await _edges(store, "tenant-z") == []
    await store.drop(OTHER)
    assert (await _edges(store, OTHER), await _edges(store)) == ([], [Edge("a", "X", "b")])


@law
async def test_an_edge_is_there_until_an_item_at_its_end_is_deleted(store: Store) -> None:
    edges = [Edge("a", "X", "a"), Edge("a", "X", "b"), Edge("b", "X", "c", 2.5), Edge("c", "X", "nobody"), Edge("no", "X", "body")]
    await write(store, *(plain(name, name) for name in "abc"), edges=edges)
    assert await _edges(store) == edges
    await write(store, plain("b", "changed"), edges=[Edge("c", "X", "nobody", 0.25)])
    assert await _edges(store) == [*edges[:3], Edge("c", "X", "nobody", 0.25), edges[4]]
    await write(store, delete=["b", "nobody"])
    assert await _edges(store) == [edges[0], Edge("c", "X", "nobody", 0.25), edges[4]]
    await write(store, plain("b", "back"))
    assert len(await _edges(store)) == 3


async def _edges(store: Store, scope: str = SCOPE) -> list[Edge]:
    return [edge async for edge in store.edges(scope)]


@law
async def test_many_ids_are_asked_for_at_once(store: Store) -> None:
    await write(store, *(entry(f"i{at}", f"text {at}") for at in range(20)))
    names = [f"i{at}" for at in range(33_000)]
    assert [found.item.id for found in await store.get(SCOPE, names)] == names[:20]
    assert set(await store.passages_of(SCOPE, names)) == set(names[:20])
    given = {name: (item("x", f"text {at}").content_hash, b"made") for at, name in enumerate(names)}
    await store.cache(SCOPE, "recipe", given, at=WHEN)
    assert set(await store.cached(SCOPE, "recipe", {name: content for name, (content, _) in given.items()})) == set(names[:20])
    hashes = [item("x", f"text {at}").content_hash for at in range(33_000)]
    assert set(await store.passages(SCOPE, hashes, SPACE)) == set(hashes[:20])
    assert [visit.id for visit in await store.walk(SCOPE, names, hops=1, fan_out=1)] == sorted(names[:20])
    assert len((await write(store, delete=names)).deleted) == 20


@law
async def test_fields_are_those_of_the_metadata_with_what_they_hold(store: Store) -> None:
    await write(
        store,
        plain("a", "text", metadata={"year": 2024, "tags": ["x", 1, True], "none": None, "nested": {"a": 1}, "empty": []}),
        plain("b", "text", metadata={"year": "2024", "名": 0.5, "mixed": [{"a": 1}, "x"]}),
    )
    assert await store.fields(SCOPE) == {
        "year": frozenset({"number", "text"}),
        "tags": frozenset({"number", "text", "boolean"}),
        "名": frozenset({"number"}),
        "mixed": frozenset({"text"}),
    }


@law
async def test_fields_are_told_apart_by_every_character_of_their_names(store: Store) -> None:
    names = ["", "a", "a\0", "a\0b", "A", "ab", "\ud7ff", "\ue000", "\U0010ffff"]
    await write(store, *(plain(f"i{at}", "text", metadata={name: at, names[0]: True}) for at, name in enumerate(names[1:])))
    assert await store.fields(SCOPE) == {name: frozenset({"number"} if name else {"boolean"}) for name in names}


@law
async def test_facets_count_items_most_first_ties_by_value(store: Store) -> None:
    await write(
        store,
        plain("a", "text", kind="code", source_ref="a.py", metadata={"tags": ["x", "y", "x"], "year": 2024}),
        plain("b", "text", kind="code", source_ref="b.py", metadata={"tags": "y", "year": 2023.0}),
        plain("c", "text", metadata={"tags": ["z", "Z"], "year": 2024, "done": True}),
    )
    found = await store.facets(SCOPE, ["kind", "tags", "year", "done", "path", "missing"])
    assert {name: list(counts.items()) for name, counts in found.items()} == {
        "kind": [("code", 2), ("document", 1)],
        "tags": [("y", 2), ("Z", 1), ("x", 1), ("z", 1)],
        "year": [("2024", 2), ("2023", 1)],
        "done": [("true", 1)],
        "path": [("a.py", 1), ("b.py", 1)],
        "missing": [],
    }
    assert await store.facets(SCOPE, ["tags"], parse({"kind": "code"})) == {"tags": {"y": 2, "x": 1}}
    assert await store.facets(SCOPE, ["tags"], parse({"kind": "nothing"})) == {"tags": {}}
    assert await store.facets(SCOPE, []) == {}


@law
async def test_facets_tell_close_numbers_apart_and_add_up_values_that_look_alike(store: Store) -> None:
    values = [3.1415926, 3.1415927, 0.1, 123456789.5, 1e21, "1", 1, True, "true", -7]
    await write(store, *(plain(f"i{at}", "text", metadata={"v": value}) for at, value in enumerate(values)))
    expected = {"1": 2, "true": 2, **dict.fromkeys(["-7", "0.1", "1000000000000000000000", "123456789.5", "3.1415926", "3.1415927"], 1)}
    assert await store.facets(SCOPE, ["v"]) == {"v": expected}


@law
async def test_known_is_what_came_from_a_source_under_a_folder(store: Store) -> None:
    refs = ["docs", "docs/a.md", "docs/sub/b.md", "docs2/c.md", "docs-old.md", "Docs/d.md", "ünï/é.md", "a%b/c.md", "a_b/c.md", "axb/c.md"]
    await write(
        store,
        *(entry(f"i{at}", f"text {at}", source="files", source_ref=ref, stamp=f"s{at}") for at, ref in enumerate(refs)),
        entry("other", "other", source="git", source_ref="docs/a.md"),
        entry("none", "none", source="files"),
    )
    assert sorted(await store.known(SCOPE, "files", "")) == sorted(refs)
    assert sorted(await store.known(SCOPE, "files", "docs")) == ["docs", "docs/a.md", "docs/sub/b.md"]
    assert sorted(await store.known(SCOPE, "files", "docs/sub")) == ["docs/sub/b.md"]
    assert sorted(await store.known(SCOPE, "files", "docs/a.md")) == ["docs/a.md"]
    assert sorted(await store.known(SCOPE, "files", "ünï")) == ["ünï/é.md"]
    assert sorted(await store.known(SCOPE, "files", "a_b")) == ["a_b/c.md"]
    assert sorted(await store.known(SCOPE, "files", "a%b")) == ["a%b/c.md"]
    assert await store.known(SCOPE, "files", "doc") == {}
    assert await store.known(SCOPE, "missing", "") == {}
    written = item("i1", "text 1")
    assert (await store.known(SCOPE, "files", "docs"))["docs/a.md"] == Known("i1", "docs/a.md", "s1", written.content_hash, WHEN)
    assert (await store.known(SCOPE, "git", ""))["docs/a.md"].id == "other"


@law
async def test_of_two_items_with_one_reference_the_first_by_id_is_known(store: Store) -> None:
    await write(store, *(entry(name, name, source="files", source_ref="same.md") for name in "bac"))
    assert (await store.known(SCOPE, "files", ""))["same.md"].id == "a"


@law
async def test_status_counts_what_is_there(store: Store) -> None:
    await write(store, entry("a", "one two", direction("one"), direction("two")), plain("b", "text"), edges=[Edge("a", "X", "b")])
    status = await store.status(SCOPE)
    assert (status.url, status.scope, status.scopes) == (store.url, SCOPE, 1)
    assert (status.items, status.chunks, status.edges, status.space, status.pending) == (2, 2, 1, SPACE, 0)
    assert status.bytes_on_disk >= 0
    assert status.vector_index


@law
async def test_a_sound_store_is_found_sound(open_store: OpenStore) -> None:
    async with opened(open_store) as store:
        assert all(finding.ok for finding in await store.doctor(repair=False))
        await write(store, *(entry(f"i{at}", f"some text {at}") for at in range(30)), edges=[Edge("i0", "X", "i1")])
        await write(store, entry("i1", "other text"), delete=["i2"])
        assert [finding for finding in await store.doctor(repair=False) if not finding.ok] == []
    async with opened(open_store) as store:
        assert [finding for finding in await store.doctor(repair=True) if not finding.ok or finding.repaired] == []
        assert len(await scanned(store)) == 29

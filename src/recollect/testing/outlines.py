"""Outlines are kept as they are, names are looked up in them, and what an item says of others changes and goes with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ..errors import InvalidInput
from ..filters import parse
from ..model import Edge, Entry, Symbol, Written, node_of, symbol_key
from ..outline import VERSION, Definition, Outline
from ..ports import Store
from .cases import OTHER, SCOPE, OpenStore, law, opened, outlined, plain, scanned, write


async def _found(store: Store, *names: str, limit: int = 99, scope: str = SCOPE, where: dict[str, Any] | None = None) -> list[str]:
    """The nodes of what has one of the names."""
    keys = [symbol_key(name) for name in names]
    return [symbol.node for symbol in await store.symbols(scope, keys, limit=limit, where=parse(where))]


async def _outlines(store: Store, *, unlinked: bool = False, scope: str = SCOPE) -> dict[str, bytes]:
    return {item_id: outline async for item_id, outline in store.outlines(scope, unlinked=unlinked)}


async def _unlinked(store: Store) -> list[str]:
    return list(await _outlines(store, unlinked=True))


async def _edges(store: Store, scope: str = SCOPE) -> list[Edge]:
    return [edge async for edge in store.edges(scope)]


async def _reached(store: Store, *starts: str, **bounds: Any) -> list[tuple[str, int]]:
    return [(visit.id, visit.hops) for visit in await store.walk(SCOPE, starts, **{"hops": 9, "fan_out": 9, **bounds})]


@law
async def test_an_outline_is_given_back_as_it_was_written(store: Store) -> None:
    a, b = outlined("a", "run", "Class.run"), outlined("b", "数据", "\0.\1")
    await write(store, b, a, plain("c", "no outline"))
    assert [found.outline for found in await store.get(SCOPE, ["a", "b", "c"])] == [a.outline, b.outline, b""]
    assert [found.outline async for found in store.scan(SCOPE)] == [a.outline, b.outline, b""]
    assert list((await _outlines(store)).items()) == [("a", a.outline), ("b", b.outline)]


@law
async def test_every_outline_is_given_in_order_of_item(store: Store) -> None:
    """Wherever a store turns a page."""
    names = [f"{at // 3:04}" + "0" * (at % 3) for at in range(1_234)]
    await write(store, *(outlined(name, f"f{name}") for name in reversed(names)))
    assert list(await _outlines(store)) == names
    await write(store, relink=names[:600])
    assert await _unlinked(store) == names[600:]


@law
async def test_long_outlines_are_given_whole(store: Store) -> None:
    entries = [outlined(f"i{at}", "x" * (3_000_000 if at % 2 else 1), "last") for at in range(6)]
    short = [replace(each, item=replace(each.item, text="short"), outline=_spanning(each, 5)) for each in entries]
    await write(store, *short)
    assert await _outlines(store) == {each.item.id: each.outline for each in short}


def _spanning(entry: Entry, end: int) -> bytes:
    """An outline as long as the text of an entry, of a text that ends there."""
    span: dict[str, Any] = {"start": 0, "end": end, "body": 0, "line_start": 1, "line_end": 1}
    long = Definition(name="f", qualified="f", kind="function", doc=entry.item.text, **span)
    return Outline(language="python", definitions=(long,)).pack()


@law
async def test_a_symbol_is_found_by_its_key_with_all_that_is_known_of_it(store: Store) -> None:
    await write(store, outlined("src/a.py", "Store", "Store.getUserName"), outlined("b", "get_user_name"))
    assert await store.symbols(SCOPE, [symbol_key("GetUserName")], limit=9) == [
        Symbol("b", "get_user_name", "get_user_name", "function", 0, 13, 1, 1),
        Symbol("src/a.py", "getUserName", "Store.getUserName", "function", 6, 23, 2, 2, "Store"),
    ]
    assert await _found(store, "user") == []
    assert await store.symbols(SCOPE, [], limit=9) == []


@law
async def test_a_file_is_found_by_its_name(store: Store) -> None:
    """Also one without an outline. Its node is the item."""
    await write(store, plain("id", "one\ntwo\n", source_ref="docs/Read_Me.md"), outlined("b", "readme.md", source_ref="x/readme.md"))
    assert await store.symbols(SCOPE, ["readmemd"], limit=9) == [
        Symbol("b", "readme.md", "x/readme.md", "file", 0, 9, 1, 1),
        Symbol("id", "Read_Me.md", "docs/Read_Me.md", "file", 0, 8, 1, 2),
    ]
    assert [symbol.kind for symbol in await store.symbols_at(SCOPE, ["id", "b"])] == ["file", "file"]


@law
async def test_symbols_come_in_order_of_key_item_and_start_and_no_more_than_asked_for(store: Store) -> None:
    await write(store, *(outlined(name, "beta", "A.alpha", "alpha", "gamma") for name in ("é", "b", "a")))
    ordered = [f"{name}#{each}" for name in ("a", "b", "é") for each in ("A.alpha", "alpha")] + ["a#beta", "b#beta", "é#beta"]
    for keys in (("beta", "alpha", "beta"), ("beta", "alpha", *(f"absent{at}" for at in range(40)))):
        assert await _found(store, *keys) == ordered
        for limit in (-1, 0, 1, 3, 7):
            assert await _found(store, *keys, limit=limit) == ordered[: max(limit, 0)]


@law
async def test_symbols_are_of_items_that_pass_the_filter(store: Store) -> None:
    paths = ["src/a.py", "src/b/c.py", "tests/test_a.py"]
    await write(store, *(outlined(path, "run", source_ref=path, metadata={"year": at}) for at, path in enumerate(paths)))
    assert await _found(store, "run", where={"path": {"glob": "src/**"}}) == ["src/a.py#run", "src/b/c.py#run"]
    assert await _found(store, "run", where={"path": {"glob": "src/**"}}, limit=1) == ["src/a.py#run"]
    assert await _found(store, "run", where={"year": {"gte": 1}}, limit=1) == ["src/b/c.py#run"]
    assert await _found(store, "run", *(f"absent{at}" for at in range(40)), where={"NOT": {"year": 1}}) == [
        "src/a.py#run",
        "tests/test_a.py#run",
    ]
    assert await _found(store, "run", where={"year": 9}) == []


@law
async def test_symbols_are_looked_up_by_node(store: Store) -> None:
    """One name may stand for several of an item."""
    await write(store, outlined("a", "f", "g", "f"), outlined("b", "f"))
    assert [(each.item_id, each.start) for each in await store.symbols_at(SCOPE, ["b#f", "a#f", "a#missing", "a"])] == [
        ("a", 0),
        ("a", 4),
        ("b", 0),
    ]
    assert await store.symbols_at(SCOPE, []) == []


@law
async def test_names_of_another_scope_are_not_seen(store: Store) -> None:
    await write(store, outlined("a", "mine"), edges=[Edge("a", "DEFINES", "a#mine", origin="a")])
    theirs = outlined("a", "theirs", scope=OTHER)
    await write(store, theirs, edges=[Edge("a", "DEFINES", "a#theirs", origin="a"), Edge("a", "DEFINES", "a#mine")], scope=OTHER)
    assert (await _found(store, "mine", "theirs"), await _found(store, "mine", "theirs", scope=OTHER)) == (["a#mine"], ["a#theirs"])
    assert await store.symbols_at(SCOPE, ["a#theirs"]) == []
    assert await _outlines(store, scope=OTHER) == {"a": theirs.outline}
    assert await _reached(store, "a") == [("a", 0), ("a#mine", 1)]
    await write(store, relink=["a"], delete=["a"], scope=OTHER)
    assert (await _found(store, "mine"), await _unlinked(store), len(await _edges(store))) == (["a#mine"], ["a"], 1)
    await store.drop(SCOPE)
    assert (await _found(store, "mine"), await _outlines(store), await _edges(store)) == ([], {}, [])


@law
async def test_a_new_version_has_its_own_symbols_alone(store: Store) -> None:
    await write(store, outlined("a", "old", "kept"), outlined("b", "other"))
    assert (await write(store, outlined("a", "kept", "new"))).changed == ("a",)
    assert await _found(store, "old", "kept", "new", "other") == ["a#kept", "a#new", "b#other"]
    await write(store, plain("a", "kept\nnew"))
    assert await _found(store, "kept", "new") == []
    assert list(await _outlines(store)) == ["b"]


@law
async def test_a_change_of_the_outline_alone_is_a_change(store: Store) -> None:
    before = outlined("a", "run", "stop")
    await write(store, before, relink=["a"])
    assert await write(store, before) == Written(unchanged=("a",))
    assert (await _unlinked(store), await _found(store, "run")) == ([], ["a#run"])
    after = replace(before, outline=outlined("a", "walk").outline)
    assert (await write(store, after)).changed == ("a",)
    assert (await _unlinked(store), await _found(store, "run", "walk")) == (["a"], ["a#walk"])


@law
async def test_an_outline_that_cannot_be_read_is_refused(store: Store) -> None:
    await write(store, outlined("a", "run"))
    unfit = [b"\xff", b"{}", b"[%d]" % VERSION, b"[%d,2,3,4,5,6]" % VERSION, outlined("a", "run \ud800").outline]
    for outline in unfit:
        with pytest.raises(InvalidInput):
            await write(store, outlined("b", "other"), replace(plain("a", "text"), outline=outline))
        assert (await scanned(store), await _found(store, "run")) == (["a"], ["a#run"])


@law
async def test_an_item_is_unlinked_until_a_batch_says_otherwise(store: Store) -> None:
    """So that whoever was stopped between writing an item and its edges finds it again."""
    await write(store, outlined("a", "run"), outlined("b", "stop"), plain("c", "text"))
    assert await _unlinked(store) == ["a", "b"]
    await write(store, edges=[Edge("b", "CALLS", "a", origin="b")], relink=["b", "missing", "c"])
    assert await _unlinked(store) == ["a"]
    await write(store, outlined("b", "stop", "go"))
    assert await _unlinked(store) == ["a", "b"]
    assert await write(store, outlined("b", "stop", "go", "on"), relink=["a", "b"]) == Written(changed=("b",))
    assert await _unlinked(store) == []
    assert list(await _outlines(store)) == ["a", "b"]


@law
async def test_linking_anew_drops_what_the_item_said_and_nothing_else(store: Store) -> None:
    mine, given = Edge("a#run", "CALLS", "b#stop", 0.5, "a"), Edge("a", "LINKS", "b")
    others, new = Edge("b", "IMPORTS", "a", origin="b"), Edge("a#run", "CALLS", "b#go", origin="a")
    await write(store, outlined("a", "run"), outlined("b", "stop", "go"), edges=[mine, given, others], relink=["a", "b"])
    assert await _edges(store) == [given, mine, others]
    await write(store, outlined("a", "run", "more"))
    assert await _edges(store) == [given, mine, others]
    await write(store, edges=[new], relink=["a"])
    assert await _edges(store) == [given, new, others]
    await write(store, relink=["a", "b", ""])
    assert await _edges(store) == [given]


@law
async def test_what_somebody_gave_is_not_changed_by_what_an_item_says(store: Store) -> None:
    given, said = Edge("a", "CALLS", "b", 0.9), Edge("a", "CALLS", "b", 0.1, "a")
    await write(store, outlined("a", "run"), outlined("b", "stop"), edges=[given])
    await write(store, edges=[said], relink=["a"])
    assert await _edges(store) == [given]
    await write(store, relink=["a"])
    assert await _edges(store) == [given]
    assert (await store.walk(SCOPE, ["a"], hops=1, fan_out=1))[1].path == (given,)


@law
async def test_what_somebody_gives_takes_the_place_of_what_an_item_says(store: Store) -> None:
    given, said = Edge("a", "CALLS", "b", 0.9), Edge("a", "CALLS", "b", 0.1, "a")
    await write(store, outlined("a", "run"), outlined("b", "stop"), edges=[said])
    assert (await store.walk(SCOPE, ["a"], hops=1, fan_out=1))[1].path == (said,)
    await write(store, edges=[given])
    assert await _edges(store) == [given]
    await write(store, relink=["a"])
    assert await _edges(store) == [given]
    both = [Edge("a", "X", "b", 0.9), Edge("a", "X", "b", 0.1, "a"), Edge("b", "X", "a", 0.1, "a"), Edge("b", "X", "a", 0.9)]
    await write(store, edges=both)
    assert [edge for edge in await _edges(store) if edge.type == "X"] == [both[0], both[3]]


@law
async def test_of_two_items_that_say_the_same_the_last_is_told(store: Store) -> None:
    await write(store, outlined("a", "run"), outlined("b", "stop"), edges=[Edge("a", "X", "b", 0.1, "a")])
    await write(store, edges=[Edge("a", "X", "b", 0.2, "b")])
    assert await _edges(store) == [Edge("a", "X", "b", 0.2, "b")]


@law
async def test_an_item_that_has_no_outline_any_more_says_nothing(store: Store) -> None:
    given, said = Edge("a", "LINKS", "b"), Edge("a", "CALLS", "b", origin="a")
    await write(store, outlined("a", "run"), outlined("b", "stop"), edges=[given, said], relink=["a"])
    await write(store, plain("a", "plain words"))
    assert (await _edges(store), await _unlinked(store)) == ([given], ["b"])
    again = Edge("a", "MENTIONS", "b", origin="a")
    await write(store, plain("a", "more plain words"), edges=[again])
    assert await _edges(store) == [given, again]


@law
async def test_a_walk_goes_over_symbols(store: Store) -> None:
    calls = Edge("a#Class.run", "CALLS", "b#stop", 0.5, "a")
    edges = [Edge("a", "DEFINES", "a#Class.run", origin="a"), calls, Edge("b", "DEFINES", "b#stop", origin="b")]
    await write(store, outlined("a", "Class.run"), outlined("b", "stop"), edges=edges, relink=["a", "b"])
    assert await _reached(store, "a") == [("a", 0), ("a#Class.run", 1), ("b#stop", 2), ("b", 3)]
    assert await _reached(store, "b#stop", "a#missing", hops=1) == [("b#stop", 0), ("a#Class.run", 1), ("b", 1)]
    assert await _reached(store, "b#stop", types=["CALLS"]) == [("b#stop", 0), ("a#Class.run", 1)]
    assert (await store.walk(SCOPE, ["b#stop"], hops=1, fan_out=1, types=["CALLS"]))[1].path == (calls,)


@law
async def test_an_edge_to_a_symbol_that_is_gone_leads_nowhere_until_it_is_back(store: Store) -> None:
    await write(store, outlined("a", "run"), outlined("b", "stop"), edges=[Edge("a#run", "CALLS", "b#stop", origin="a")])
    await write(store, outlined("b", "halt"))
    assert await _reached(store, "a#run") == [("a#run", 0)]
    assert len(await _edges(store)) == 1
    await write(store, outlined("b", "halt", "stop"))
    assert await _reached(store, "a#run") == [("a#run", 0), ("b#stop", 1)]


@law
async def test_deleting_an_item_leaves_no_trace_of_what_was_in_it(store: Store) -> None:
    kept = [Edge("kept", "DEFINES", "kept#f", origin="kept"), Edge("doomed2#f", "CALLS", "kept#f")]
    doomed = [
        Edge("kept#f", "CALLS", "doomed#secret", origin="kept"),
        Edge("doomed#secret", "CALLS", "kept#f"),
        Edge("kept", "CALLS", "kept#f", origin="doomed"),
        Edge("kept#f", "CALLS", "doomed#before"),
        Edge("kept#f", "CALLS", "doomed#never"),
        Edge("doomed#", "CALLS", "kept"),
    ]
    await write(store, outlined("doomed", "before", source_ref="secret.py"), outlined("doomed2", "f"))
    await write(store, outlined("kept", "f"), outlined("doomed", "secret", source_ref="secret.py"), edges=[*kept, *doomed])
    assert (await write(store, delete=["doomed"])).deleted == ("doomed",)
    assert await _edges(store) == sorted(kept, key=lambda edge: edge.source)
    assert await _found(store, "secret", "before", "secret.py") == []
    assert await store.symbols_at(SCOPE, ["doomed", "doomed#secret"]) == []
    assert list(await _outlines(store)) == await _unlinked(store) == ["doomed2", "kept"]
    await write(store, outlined("doomed", "secret"))
    assert await _reached(store, "doomed#secret", "kept#f", hops=1) == [("doomed#secret", 0), ("kept#f", 0), ("doomed2#f", 1), ("kept", 1)]


@law
async def test_an_item_whose_name_looks_like_a_symbol_of_another_stays(store: Store) -> None:
    edges = [Edge("x", "LINKS", "a#b"), Edge("x", "LINKS", "a#b#c"), Edge("x", "LINKS", "a#d"), Edge("a#b", "LINKS", "x")]
    await write(store, outlined("a", "b", "d"), outlined("a#b", "c"), plain("x", "text"), edges=edges)
    await write(store, delete=["a"])
    assert await _edges(store) == sorted((edges[0], edges[1], edges[3]), key=lambda edge: (edge.source, edge.target))
    assert await _reached(store, "x", hops=1) == [("x", 0), ("a#b", 1), ("a#b#c", 1)]


@law
async def test_any_unicode_text_is_a_name(store: Store) -> None:
    names = ["é", "e\u0301", "決定", "😀", "a b", "?", "==", "\0", "\1", "z" * 300, "#", "a#b"]
    await write(store, outlined("i#\0", *names))
    for name in names:
        assert node_of("i#\0", name) in await _found(store, name)
    nodes = [node_of("i#\0", name) for name in names]
    assert [symbol.qualified for symbol in await store.symbols_at(SCOPE, nodes)] == names
    await write(store, edges=[Edge("i#\0", "DEFINES", node, origin="i#\0") for node in nodes])
    assert {visit.id for visit in await store.walk(SCOPE, ["i#\0"], hops=1, fan_out=99)} == {"i#\0", *nodes}
    await write(store, delete=["i#\0"])
    assert await _edges(store) == []


@law
async def test_outlines_and_what_follows_from_them_outlive_the_store(open_store: OpenStore) -> None:
    said = Edge("a", "DEFINES", "a#run", origin="a")
    async with opened(open_store) as store:
        await write(store, outlined("a", "run", source_ref="a.py"), outlined("b", "stop"), edges=[said], relink=["a"])
        await write(store, outlined("c", "go"))
        await write(store, delete=["c"])
    async with opened(open_store) as store:
        assert (await _found(store, "run", "stop", "go", "a.py"), await _unlinked(store)) == (["a", "a#run", "b#stop"], ["b"])
        assert await _edges(store) == [said]
        assert [finding for finding in await store.doctor(repair=False) if not finding.ok] == []

"""Graph walks, and the links they follow, are bounded by hops and by fan-out, and are the same on every store."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from ..errors import InvalidInput
from ..model import MENTIONS, SUPERSEDES, Direction, Edge, Entity, node_of
from ..ports import Store
from ..stores.reference import ReferenceStore
from .cases import SCOPE, law, outlined, plain, write


async def _graph(store: Store, *edges: Edge, absent: Sequence[str] = ()) -> None:
    nodes = sorted({end for edge in edges for end in (edge.source, edge.target)} - set(absent))
    await write(store, *(plain(node, f"text of {node}") for node in nodes), edges=edges)


async def _reached(
    store: Store, *starts: str, hops: int = 9, fan_out: int = 9, types: Sequence[str] | None = None, direction: Direction = "both"
) -> list[tuple[str, int]]:
    """What a walk reaches, and how far it is."""
    visits = await store.walk(SCOPE, starts, hops=hops, fan_out=fan_out, types=types, direction=direction)
    return [(visit.id, visit.hops) for visit in visits]


@law
async def test_a_walk_goes_no_further_than_its_hops(store: Store) -> None:
    await _graph(store, *(Edge(f"n{at}", "NEXT", f"n{at + 1}") for at in range(6)))
    assert await _reached(store, "n0", hops=0) == [("n0", 0)]
    assert await _reached(store, "n0", hops=2) == [("n0", 0), ("n1", 1), ("n2", 2)]
    assert await _reached(store, "n3", hops=1) == [("n3", 0), ("n2", 1), ("n4", 1)]
    assert len(await _reached(store, "n0", hops=99)) == 7


@law
async def test_a_walk_ends_where_nothing_is_left_to_reach(store: Store) -> None:
    await _graph(store, Edge("a", "X", "b"))
    assert await _reached(store, "a", hops=10**12) == [("a", 0), ("b", 1)]
    assert await _reached(store, "missing", hops=10**12) == []


@law
async def test_a_walk_of_less_than_nothing_is_refused(store: Store) -> None:
    await _graph(store, Edge("a", "X", "b"))
    with pytest.raises(InvalidInput, match=r"-1 hops.*0 or more"):
        await _reached(store, "a", hops=-1)
    with pytest.raises(InvalidInput, match=r"fan-out of -2.*0 or more"):
        await _reached(store, "a", fan_out=-2)
    with pytest.raises(InvalidInput, match="-1 hops"):
        await _reached(store, "missing", hops=-1, fan_out=0)


@law
async def test_each_node_is_reached_once_at_its_shortest_distance(store: Store) -> None:
    await _graph(store, Edge("a", "X", "b"), Edge("b", "X", "c"), Edge("c", "X", "a"), Edge("c", "X", "d"), Edge("d", "X", "d"))
    assert await _reached(store, "a") == [("a", 0), ("b", 1), ("c", 1), ("d", 2)]
    assert await _reached(store, "d", "a", "a") == [("a", 0), ("d", 0), ("b", 1), ("c", 1)]


@law
async def test_a_walk_tells_the_edges_that_led_there(store: Store) -> None:
    out, back = Edge("a", "USES", "b", 0.5), Edge("c", "USES", "b", 0.25)
    await _graph(store, out, back)
    visits = await store.walk(SCOPE, ["a"], hops=2, fan_out=9)
    assert [visit.path for visit in visits] == [(), (out,), (out, back)]


@law
async def test_of_several_ways_of_one_length_the_first_is_told(store: Store) -> None:
    """From the node with the smallest id; from one node by its heaviest edge, then by type, then outward before inward."""
    left, right = Edge("s", "X", "l"), Edge("s", "X", "r")
    to_end = [Edge("r", "A", "end", 9.0), Edge("l", "Z", "end"), Edge("l", "Y", "end"), Edge("end", "Y", "l")]
    await _graph(store, left, right, *to_end)
    (end,) = [visit for visit in await store.walk(SCOPE, ["s"], hops=2, fan_out=9) if visit.id == "end"]
    assert end.path == (left, Edge("l", "Y", "end"))


@law
async def test_from_each_node_only_the_heaviest_edges_are_followed(store: Store) -> None:
    edges = [Edge("hub", "X", f"n{at}", weight=at / 10) for at in range(10)]
    await _graph(store, *edges, Edge("n9", "X", "far", 0.1))
    assert await _reached(store, "hub", hops=1, fan_out=3) == [("hub", 0), ("n7", 1), ("n8", 1), ("n9", 1)]
    assert await _reached(store, "hub", hops=1, fan_out=0) == [("hub", 0)]
    assert await _reached(store, "hub", hops=2, fan_out=1) == [("hub", 0), ("n9", 1)]
    assert await _reached(store, "hub", hops=2, fan_out=2) == [("hub", 0), ("n8", 1), ("n9", 1), ("far", 2)]


@law
async def test_equal_weights_are_followed_by_type_and_then_by_id(store: Store) -> None:
    await _graph(store, Edge("hub", "B", "a"), Edge("z", "A", "hub"), Edge("hub", "A", "y"), Edge("hub", "A", "x"), Edge("hub", "C", "é"))
    assert await _reached(store, "hub", fan_out=1) == [("hub", 0), ("x", 1)]
    assert await _reached(store, "hub", fan_out=2, hops=1) == [("hub", 0), ("x", 1), ("y", 1)]
    assert await _reached(store, "hub", fan_out=3, hops=1) == [("hub", 0), ("x", 1), ("y", 1), ("z", 1)]
    assert await _reached(store, "hub", fan_out=4, hops=1) == [("hub", 0), ("a", 1), ("x", 1), ("y", 1), ("z", 1)]


@law
async def test_a_walk_keeps_to_the_types_asked_for(store: Store) -> None:
    await _graph(store, Edge("a", "USES", "b"), Edge("a", "CITES", "c"), Edge("b", "CITES", "d"), Edge("a", "OWNS", "e", 9.0))
    assert await _reached(store, "a", types=["USES", "CITES"], fan_out=2) == [("a", 0), ("b", 1), ("c", 1), ("d", 2)]
    assert await _reached(store, "a", types=["CITES"]) == [("a", 0), ("c", 1)]
    assert await _reached(store, "a", types=[]) == [("a", 0)]


@law
async def test_an_edge_to_what_is_not_there_is_not_followed_until_it_is(store: Store) -> None:
    await _graph(store, Edge("a", "X", "ghost"), Edge("ghost", "X", "b"), absent=["ghost"])
    assert await _reached(store, "a", "b") == [("a", 0), ("b", 0)]
    assert await _reached(store, "ghost") == []
    assert (await store.status(SCOPE)).edges == 2
    await write(store, plain("ghost", "here now"))
    assert await _reached(store, "a") == [("a", 0), ("ghost", 1), ("b", 2)]


@law
async def test_deleting_an_item_cuts_its_edges_and_no_others(store: Store) -> None:
    await _graph(store, Edge("a", "X", "b"), Edge("b", "X", "c"), Edge("a", "X", "c"))
    await write(store, delete=["b"])
    assert (await store.status(SCOPE)).edges == 1
    await write(store, plain("b", "again"))
    assert await _reached(store, "a") == [("a", 0), ("c", 1)]


@law
async def test_an_edge_is_kept_once_with_its_last_weight(store: Store) -> None:
    await _graph(store, Edge("a", "X", "b", 0.1), Edge("a", "X", "c", 0.5))
    await write(store, edges=[Edge("a", "X", "b", 0.9)])
    await write(store, edges=[Edge("a", "X", "b", 0.8), Edge("a", "X", "b", 0.7)])
    assert (await store.status(SCOPE)).edges == 2
    assert await _reached(store, "a", fan_out=1) == [("a", 0), ("b", 1)]
    assert (await store.walk(SCOPE, ["a"], hops=1, fan_out=1))[1].path == (Edge("a", "X", "b", 0.7),)


@law
async def test_starts_that_are_not_there_are_left_out(store: Store) -> None:
    await _graph(store, Edge("a", "X", "b"))
    assert await _reached(store, "missing", "b") == [("b", 0), ("a", 1)]
    assert await _reached(store) == []


@law
async def test_a_walk_follows_edges_in_the_direction_asked_for(store: Store) -> None:
    await _graph(store, Edge("a", "X", "b"), Edge("b", "X", "c"), Edge("d", "X", "b", 2.0), Edge("e", "X", "a"))
    assert await _reached(store, "b", direction="out") == [("b", 0), ("c", 1)]
    assert await _reached(store, "b", direction="in") == [("b", 0), ("a", 1), ("d", 1), ("e", 2)]
    assert await _reached(store, "b", direction="in", fan_out=1) == [("b", 0), ("d", 1)]
    assert await _reached(store, "b", direction="both", hops=1) == [("b", 0), ("a", 1), ("c", 1), ("d", 1)]
    assert await _reached(store, "b", direction="in", types=["Y"]) == [("b", 0)]


@law
async def test_a_walk_against_the_edges_tells_them_as_they_are(store: Store) -> None:
    first, second = Edge("b", "USES", "a", 0.5), Edge("c", "CITES", "b")
    await _graph(store, first, second)
    visits = await store.walk(SCOPE, ["a"], hops=2, fan_out=9, direction="in")
    assert [(visit.id, visit.path) for visit in visits] == [("a", ()), ("b", (first,)), ("c", (first, second))]


@law
async def test_entities_are_nodes(store: Store) -> None:
    await write(
        store,
        plain("first", "text"),
        plain("second", "text"),
        entities=[Entity("person:e", "person", "E"), Entity("place:f", "place", "F")],
        edges=[
            Edge("first", MENTIONS, "person:e", origin="first"),
            Edge("second", MENTIONS, "person:e", origin="second"),
            Edge("person:e", "BORN_IN", "place:f"),
            Edge("second", MENTIONS, "place:nowhere"),
        ],
    )
    assert await _reached(store, "first") == [("first", 0), ("person:e", 1), ("place:f", 2), ("second", 2)]
    assert await _reached(store, "place:f", direction="in") == [("place:f", 0), ("person:e", 1), ("first", 2), ("second", 2)]
    assert await _reached(store, "place:nowhere") == []


@law
async def test_links_are_the_edges_that_a_walk_follows(store: Store) -> None:
    heavy, out, back, absent = Edge("hub", "Z", "a", 2.0), Edge("hub", "A", "b"), Edge("c", "A", "hub"), Edge("hub", "B", "gone")
    await _graph(store, heavy, out, back, absent, Edge("hub", "A", "hub"), absent=["gone"])
    assert await store.links(SCOPE, ["hub"], fan_out=9) == {"hub": (heavy, out, back, absent)}
    assert await store.links(SCOPE, ["hub"], fan_out=2) == {"hub": (heavy, out)}
    assert await store.links(SCOPE, ["hub"], fan_out=9, direction="out") == {"hub": (heavy, out, absent)}
    assert await store.links(SCOPE, ["hub", "c"], fan_out=9, direction="in") == {"hub": (back,)}
    assert await store.links(SCOPE, ["hub"], fan_out=9, types=["A", "B", "A"]) == {"hub": (out, back, absent)}
    assert await store.links(SCOPE, ["hub"], fan_out=9, types=[]) == await store.links(SCOPE, ["hub"], fan_out=0) == {}
    assert await store.links(SCOPE, ["gone", "missing", "a", "gone"], fan_out=9) == {"gone": (absent,), "a": (heavy,)}
    assert list(await store.links(SCOPE, ["c", "b", "a"], fan_out=9)) == ["c", "b", "a"]
    assert await store.links(SCOPE, [], fan_out=9) == {}


@law
async def test_links_tell_all_of_an_edge(store: Store) -> None:
    said = Edge("a", "USES", "b", 0.25, origin="a")
    await _graph(store, said)
    assert await store.links(SCOPE, ["a", "b"], fan_out=1) == {"a": (said,), "b": (said,)}


@law
async def test_fewer_links_than_none_are_refused(store: Store) -> None:
    with pytest.raises(InvalidInput, match=r"fan-out of -1.*0 or more"):
        await store.links(SCOPE, ["a"], fan_out=-1)


@law
async def test_of_a_node_with_many_edges_the_heaviest_are_given(store: Store) -> None:
    edges = [Edge("hub", "X", f"n{at:04}", at % 7 / 7) for at in range(1_500)] + [Edge(f"m{at}", "X", "hub", 0.9) for at in range(30)]
    await write(store, plain("hub", "text"), edges=edges)
    (found,) = (await store.links(SCOPE, ["hub"], fan_out=40)).values()
    assert [edge.weight for edge in found] == [0.9] * 30 + [6 / 7] * 10
    assert [edge.target for edge in found[30:]] == [f"n{at:04}" for at in range(6, 76, 7)]


NODES = [*"abcdefghij", "é", "😀", "z#y", node_of("a", "f"), node_of("b", "f"), "person:e", "place:é"]
TYPES = ["USES", "CITES", MENTIONS]
DIRECTIONS: tuple[Direction, ...] = ("both", "out", "in")


@pytest.mark.parametrize("seed", [1, 2, 3])
@law
async def test_links_and_walks_over_any_graph_are_those_of_the_reference(store: Store, seed: int) -> None:
    chance, reference = random.Random(seed), ReferenceStore()
    entries = [outlined("a", "f"), outlined("b", "f", "g"), *(plain(name, "text") for name in NODES[2:10] if chance.random() < 0.8)]
    entities = [Entity(name, "thing", name) for name in NODES[-5:] if chance.random() < 0.8]
    edges = [
        Edge(chance.choice(NODES), chance.choice(TYPES), chance.choice(NODES), chance.choice([0.0, 0.5, 0.5, 1.0, -1.0]))
        for _ in range(chance.choice([20, 60]))
    ]
    for one in (store, reference):
        await write(one, *entries, entities=entities, edges=edges)
    for _ in range(20):
        starts, fan_out = chance.choices([*NODES, "missing"], k=chance.randint(0, 4)), chance.choice([0, 1, 2, 5, 2**70])
        types = chance.choice([None, None, ["CITES"], ["USES", "NONE"], []])
        for direction in DIRECTIONS:
            found, expected = [
                await one.links(SCOPE, starts, fan_out=fan_out, types=types, direction=direction) for one in (store, reference)
            ]
            assert (found, list(found)) == (expected, list(expected))
            hops = chance.choice([0, 1, 2, 4, 2**70])
            visits, wanted = [
                await one.walk(SCOPE, starts, hops=hops, fan_out=fan_out, types=types, direction=direction) for one in (store, reference)
            ]
            assert visits == wanted


@law
async def test_successors_are_told_in_order_and_by_that_type_alone(store: Store) -> None:
    await _graph(
        store,
        Edge("v3", SUPERSEDES, "v1"),
        Edge("v2", SUPERSEDES, "v1"),
        Edge("v3", SUPERSEDES, "v2"),
        Edge("v3", SUPERSEDES, "v3"),
        Edge("note", "REFERENCES", "v1"),
        Edge("v1", "REFERENCES", "v3"),
    )
    assert await store.successors(SCOPE, ["v1", "v3", "v2", "v1", "nothing"]) == {"v1": ("v2", "v3"), "v2": ("v3",)}
    many = [f"other-{number}" for number in range(50)]
    assert await store.successors(SCOPE, [*many, "v1"]) == {"v1": ("v2", "v3")}
    assert await store.successors("another", [*many, "v1"]) == await store.successors("another", ["v1"]) == {}
    assert await store.successors(SCOPE, []) == {}

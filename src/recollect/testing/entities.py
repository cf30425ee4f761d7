"""Entities are kept by id, found by the keys of their names, and are nodes that take their edges along when they go."""

from __future__ import annotations

import pytest

from ..errors import InvalidInput
from ..model import MENTIONS, Edge, Entity, node_of
from ..naming import exact_key, keys_of, near_keys
from ..ports import Store
from .cases import OTHER, SCOPE, OpenStore, law, opened, outlined, plain, scanned, write

ADA = Entity("person:ada", "person", "Ada Lovelace", ("Countess of Lovelace", "A. A. L."))
BABBAGE = Entity("person:babbage", "person", "Charles Babbage")
ENGINE = Entity("machine:é 機", "machine", "Analytical Engine", ("解析機関",))
EVERY = [ENGINE, ADA, BABBAGE]
ODD = ["ÿ", "é", "e\u0301", "Z", "決定", "😀", " a", "a/b#c?d='1';--", "line\nbreak", "nul\0 one\1", "%_", '"']


async def _listed(store: Store, scope: str = SCOPE) -> list[Entity]:
    return [entity async for entity in store.entities(scope)]


async def _edges(store: Store, scope: str = SCOPE) -> list[tuple[str, str, str]]:
    return [(edge.source, edge.type, edge.target) async for edge in store.edges(scope)]


async def _named(store: Store, name: str, limit: int = 9) -> list[str]:
    return [entity.id for entity in await store.entities_named(SCOPE, [exact_key(name)], limit=limit)]


@law
async def test_entities_come_back_whole_and_in_order_of_id(store: Store) -> None:
    await write(store, entities=[BABBAGE, ADA, ENGINE])
    assert await _listed(store) == EVERY
    assert await store.entities_of(SCOPE, ["person:babbage", "missing", "person:ada", "person:babbage"]) == [BABBAGE, ADA]
    assert await store.entities_of(SCOPE, []) == []
    assert (await store.status(SCOPE)).entities == 3


@law
async def test_any_unicode_text_is_an_entity(store: Store) -> None:
    odd = [Entity(text, text, text, (text, f"{text}!", "")) for text in ODD]
    await write(store, entities=odd)
    assert await _listed(store) == sorted(odd, key=lambda entity: entity.id)
    assert await store.entities_of(SCOPE, ODD) == odd
    await write(store, forget=ODD)
    assert await _listed(store) == []


@law
async def test_many_entities_are_listed_in_order(store: Store) -> None:
    names = [f"e{at:05}" for at in range(4_500)]
    await write(store, entities=[Entity(name, "", name) for name in reversed(names)])
    assert [entity.id for entity in await _listed(store)] == names
    assert len(await store.entities_of(SCOPE, names)) == len(names)


@law
async def test_an_entity_takes_the_place_of_the_one_of_its_id(store: Store) -> None:
    await write(store, entities=EVERY, edges=[Edge("person:ada", "KNOWS", "person:babbage")])
    renamed = Entity("person:ada", "author", "Ada King", ("Ada Lovelace",))
    await write(store, entities=[ADA, renamed])
    assert await store.entities_of(SCOPE, ["person:ada"]) == [renamed]
    assert await _named(store, "ada king") == await _named(store, "ADA LOVELACE") == ["person:ada"]
    assert await _named(store, "Countess of Lovelace") == []
    assert await _edges(store) == [("person:ada", "KNOWS", "person:babbage")]
    assert (await store.status(SCOPE)).entities == 3


@law
async def test_entities_are_found_by_the_keys_of_all_their_names(store: Store) -> None:
    await write(store, entities=EVERY)
    for name in ("Ada Lovelace", "ada  lovelace", "countess of lovelace", "AAL"):
        assert await _named(store, name) == ["person:ada"], name
    assert await _named(store, "解析機関") == ["machine:é 機"]
    assert await _named(store, "lovelace") == []
    assert await store.entities_named(SCOPE, near_keys("Charles Babage"), limit=9) == [BABBAGE]
    assert await store.entities_named(SCOPE, [], limit=9) == []


@law
async def test_entities_of_one_name_come_in_order_of_id_each_once_and_no_more_than_asked(store: Store) -> None:
    namesakes = [Entity(name, "person", "Jane Smith", ("J. Smith", "jane smith")) for name in ("b", "é", "a", "Z")]
    await write(store, entities=[*namesakes, *EVERY])
    assert await _named(store, "Jane Smith") == ["Z", "a", "b", "é"]
    assert await _named(store, "Jane Smith", limit=2) == ["Z", "a"]
    assert await _named(store, "Jane Smith", limit=0) == []
    every = [key for entity in (*namesakes, *EVERY) for name in entity.names for key in keys_of(name)]
    found = await store.entities_named(SCOPE, [*every, *every], limit=5)
    assert [entity.id for entity in found] == ["Z", "a", "b", "machine:é 機", "person:ada"]


@law
async def test_an_entity_that_goes_takes_its_names_and_its_edges_along(store: Store) -> None:
    edges = [
        Edge("a", MENTIONS, "person:ada", origin="a"),
        Edge("person:ada", "KNOWS", "person:babbage"),
        Edge("person:babbage", "KNOWS", "person:ada"),
        Edge("a", MENTIONS, "person:babbage", origin="a"),
    ]
    await write(store, plain("a", "text"), entities=EVERY, edges=edges)
    await write(store, forget=["person:ada", "missing", "person:ada"])
    assert await _listed(store) == [ENGINE, BABBAGE]
    assert await _named(store, "Ada Lovelace") == []
    assert await _edges(store) == [("a", MENTIONS, "person:babbage")]
    await write(store, entities=[ADA])
    assert [visit.id for visit in await store.walk(SCOPE, ["a"], hops=3, fan_out=9)] == ["a", "person:babbage"]


@law
async def test_forgetting_what_is_not_there_changes_no_edge(store: Store) -> None:
    await write(store, plain("a", "text"), edges=[Edge("a", MENTIONS, "person:ada")])
    await write(store, forget=["person:ada", "a"])
    assert await _edges(store) == [("a", MENTIONS, "person:ada")]
    assert await scanned(store) == ["a"]


@law
async def test_what_is_known_and_forgotten_at_once_is_known(store: Store) -> None:
    edge = Edge("person:ada", "KNOWS", "person:babbage")
    await write(store, entities=EVERY, edges=[edge])
    await write(store, entities=[ADA], forget=["person:ada"])
    assert await _listed(store) == EVERY
    assert await _edges(store) == [("person:ada", "KNOWS", "person:babbage")]


@law
async def test_deleting_an_item_takes_its_edges_to_entities_and_leaves_them(store: Store) -> None:
    edges = [Edge("a", MENTIONS, "person:ada", origin="a"), Edge("b", MENTIONS, "person:ada"), Edge("person:ada", "KNOWS", "x", origin="a")]
    await write(store, plain("a", "text"), plain("b", "text"), entities=[ADA], edges=edges)
    await write(store, delete=["a"])
    assert await _edges(store) == [("b", MENTIONS, "person:ada")]
    assert await _listed(store) == [ADA]


@law
async def test_an_entity_named_like_something_in_an_item_keeps_its_edges_when_the_item_goes(store: Store) -> None:
    inside, own = node_of("a", "run"), node_of("a", "somebody")
    await write(
        store, outlined("a", "run"), entities=[Entity(own, "person", "Somebody")], edges=[Edge("b", "X", inside), Edge("b", "X", own)]
    )
    await write(store, delete=["a"])
    assert await _edges(store) == [("b", "X", own)]


@law
async def test_a_scope_that_holds_only_entities_is_a_scope(store: Store) -> None:
    await write(store, entities=[ADA])
    assert await store.scopes() == [SCOPE]
    status = await store.status(SCOPE)
    assert (status.scopes, status.items, status.entities, status.pending) == (1, 0, 1, 0)
    assert await scanned(store) == []
    assert all(finding.ok for finding in await store.doctor(repair=False))
    await write(store, forget=["person:ada"])
    assert (await store.scopes(), (await store.status(SCOPE)).scopes) == ([], 0)


@law
async def test_dropping_a_scope_drops_its_entities_and_no_others(store: Store) -> None:
    for scope in (SCOPE, OTHER):
        await write(store, entities=EVERY, scope=scope)
    assert await store.drop(SCOPE) == 0
    assert (await store.scopes(), await _listed(store), await _listed(store, OTHER)) == ([OTHER], [], EVERY)
    assert await _named(store, "Ada Lovelace") == []


@law
async def test_the_same_id_in_two_scopes_is_two_entities(store: Store) -> None:
    theirs = Entity("person:ada", "person", "Ada Byron")
    await write(store, entities=[ADA])
    await write(store, entities=[theirs], scope=OTHER)
    assert (await _listed(store), await _listed(store, OTHER)) == ([ADA], [theirs])
    assert await _named(store, "Ada Byron") == []
    await write(store, forget=["person:ada"], scope=OTHER)
    assert await _listed(store) == [ADA]


UNFIT = {
    "an empty id": Entity("", "person", "Nobody"),
    "a lone surrogate in the id": Entity("bad\ud800", "person", "Nobody"),
    "a lone surrogate in the type": Entity("bad", "\ud800", "Nobody"),
    "a lone surrogate in the name": Entity("bad", "person", "No\udfffbody"),
    "a lone surrogate in an alias": Entity("bad", "person", "Nobody", ("fine", "\udc80")),
}


@law
async def test_a_batch_with_a_bad_entity_leaves_nothing(store: Store) -> None:
    await write(store, plain("a", "text"), entities=[ADA])
    for what, bad in UNFIT.items():
        with pytest.raises(InvalidInput):
            await write(store, plain("new", "text"), entities=[BABBAGE, bad], forget=["person:ada"], edges=[Edge("a", "X", "new")])
        assert (await _listed(store), await scanned(store), await _edges(store)) == ([ADA], ["a"], []), what


@law
async def test_entities_are_there_after_opening_again(open_store: OpenStore) -> None:
    async with opened(open_store) as store:
        await write(store, entities=EVERY)
        await write(store, forget=["person:babbage"])
        before = await store.change(SCOPE)
    async with opened(open_store) as store:
        assert (await _listed(store), await _named(store, "Ada Lovelace")) == ([ENGINE, ADA], ["person:ada"])
        assert await store.change(SCOPE) == before

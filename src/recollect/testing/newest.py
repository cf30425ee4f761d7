"""What came last is found by time, the last first, whatever a filter leaves of it; and what is known of it says whom it is about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ..filters import matches, parse
from ..model import MENTIONS, Edge, Entity, Entry
from ..ports import Store
from .cases import OTHER, SCOPE, WHEN, law, plain, write

TICK = timedelta(microseconds=1)
HOUR = timedelta(hours=1)
LAST = datetime(9999, 12, 31, tzinfo=UTC)
CROWDED = 1_300
MEMORIES = ("episodic", "semantic", "procedural", "summary")
CURRENT: dict[str, Any] = {"kind": list(MEMORIES), "status": {"nin": ["superseded", "archived"]}}


@law
async def test_the_last_come_first_and_ties_by_id(store: Store) -> None:
    times = {"c": WHEN, "a": WHEN, "é": WHEN + TICK, "b": WHEN - TICK, "z": WHEN + 2 * TICK}
    await write(store, *(plain(name, "text", created_at=at) for name, at in times.items()))
    await write(store, plain("new", "text", created_at=WHEN + HOUR, scope=OTHER), scope=OTHER)
    assert await store.newest(SCOPE, k=9) == ["z", "é", "a", "c", "b"]
    assert await store.newest(SCOPE, k=3) == ["z", "é", "a"]
    assert await store.newest(SCOPE, k=1) == ["z"]
    assert await store.newest(SCOPE, k=0) == await store.newest("tenant-never-seen", k=3) == []
    await write(store, plain("b", "text", created_at=WHEN + 3 * TICK), delete=["é"])
    assert await store.newest(SCOPE, k=2) == ["b", "z"]


@law
async def test_times_are_told_apart_to_the_microsecond_at_the_end_of_the_calendar_too(store: Store) -> None:
    times = {"a": LAST - TICK, "b": LAST, "c": LAST - 2 * TICK}
    await write(store, *(plain(name, "text", created_at=at, kind=f"kind {name}") for name, at in times.items()))
    for where in ({"kind": [f"kind {name}" for name in times]}, {"id": list(times)}):
        assert await store.newest(SCOPE, k=9, where=parse(where)) == ["b", "a", "c"]


def _crowd() -> list[Entry]:
    """Many at the same time; a few kinds, states and entities that are rare, old ones too."""
    return [
        plain(
            f"i{at * 7919 % CROWDED:04}",
            f"text {at}",
            created_at=WHEN + (at // 3) * HOUR,
            kind="summary" if at % 200 == 3 else MEMORIES[at % 3],
            status="superseded" if at % 5 == 0 else "archived" if at % 90 == 1 else "approved",
            entities=("company:all", *(["person:rare"] if at in (5, 17, 401) else []), *(["person:half"] if at % 2 else [])),
            metadata={"subject": f"s{at % 50}", "predicate": "likes" if at % 4 else "is", "n": at},
        )
        for at in range(CROWDED)
    ]


CROWD = _crowd()
NEWEST_OF: dict[str, dict[str, Any]] = {
    "nothing": {},
    "what is current": CURRENT,
    "an entity that is rare": {**CURRENT, "entities": "person:rare"},
    "an entity that half have": {**CURRENT, "entities": ["person:half", "person:nobody"]},
    "an entity that all have": {**CURRENT, "entities": "company:all"},
    "several entities": {**CURRENT, "entities": ["company:all", "person:rare", "person:half"]},
    "two entities at once": {"AND": [{"entities": "person:half"}, {"entities": "person:rare"}]},
    "nobody": {**CURRENT, "entities": ["person:nobody"]},
    "none of an entity": {"NOT": {"entities": "company:all"}},
    "one entity or a kind": {"OR": [{"entities": "person:rare"}, {"kind": "summary"}]},
    "a rare kind": {"kind": "summary"},
    "a rare kind that is current": {**CURRENT, "kind": "summary"},
    "a kind that nothing is": {"kind": "document"},
    "a time": {**CURRENT, "created_at": {"gte": (WHEN + 20 * HOUR).isoformat(), "lte": (WHEN + 30 * HOUR).isoformat()}},
    "a long time and an entity": {"created_at": {"lte": (WHEN + 150 * HOUR).isoformat()}, "entities": "person:half"},
    "a time without anything": {"created_at": {"gte": (WHEN + 9_000 * HOUR).isoformat()}},
    "a fact": {"subject": "s7", "predicate": "likes", "status": {"ne": "superseded"}},
    "many numbers": {"n": {"gte": 9}},
    "some ids": {"id": ["i0003", "i0100", "missing"]},
}


@law
async def test_a_filter_leaves_the_last_of_those_that_pass(store: Store) -> None:
    names = ("company:all", "person:rare", "person:half")
    said = [Edge(each.item.id, MENTIONS, name, origin=each.item.id) for each in CROWD for name in each.item.entities]
    await write(store, *CROWD, entities=[Entity(name, "thing", name) for name in names], edges=said)
    by_time = sorted((each.item for each in CROWD), key=lambda item: (-item.created_at.timestamp(), item.id))
    for what, where in NEWEST_OF.items():
        chosen = parse(where)
        passing = [item.id for item in by_time if chosen is None or matches(chosen, item)]
        for k in (1, 30, CROWDED + 1):
            assert await store.newest(SCOPE, k=k, where=chosen) == passing[:k], (what, k)


@law
async def test_entities_are_looked_up_in_the_items_not_in_edges(store: Store) -> None:
    """An edge may be gone, or say more."""
    await write(store, plain("a", "text", entities=("person:ada",)), plain("b", "text"), edges=[Edge("b", MENTIONS, "person:ada")])
    assert await store.newest(SCOPE, k=9, where=parse({"entities": "person:ada"})) == ["a"]


@pytest.mark.parametrize("entities", [(), ("person:ada", "é:1", "person:ada")], ids=str)
@law
async def test_a_head_says_whom_an_item_is_about(store: Store, entities: tuple[str, ...]) -> None:
    await write(store, plain("a", "text", entities=entities))
    assert (await store.heads(SCOPE, ["a"]))["a"].entities == entities

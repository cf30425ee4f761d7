"""Memories by nothing but their time, the last first, a page after the other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple, cast

from ..errors import InvalidInput
from ..filters import And, Compare, Filter, OneOf
from ..memories import KeptMemory, MemoryType, TimeLine
from ..model import HISTORY, Item
from ..ports import Store
from ..shapes import shown
from .memories import CREATED, KIND

MARK = "~"


class Place(NamedTuple):
    """Where a page begins: at a time, of which some memories were on the page before."""

    at: datetime
    seen: int

    def __str__(self) -> str:
        # With a Z, as it stands in an address: a + there is a space.
        return f"{self.at.astimezone(UTC).replace(tzinfo=None).isoformat()}Z{MARK}{self.seen}"


async def timeline(store: Store, scope: str, types: Sequence[MemoryType], *, limit: int, before: str | None = None) -> TimeLine:
    """So many memories, history too; those of one time are in order of id. `before` is the `next` of the page before, or a time."""
    place = None if before is None else read(before)
    conditions: list[Filter] = [OneOf(KIND, tuple(types))]
    if place is not None:
        conditions.append(Compare(CREATED, "lte", place.at))
    seen = place.seen if place else 0
    ids = await store.newest(scope, k=seen + limit + 1, where=And(tuple(conditions)))
    items = [stored.item for stored in await store.get(scope, ids[seen : seen + limit])]
    successors = await store.successors(scope, [item.id for item in items])
    more = len(ids) > seen + limit and bool(items)
    return TimeLine(
        memories=[_kept(item, successors.get(item.id, ())) for item in items],
        next=str(_after(items, place)) if more else None,
    )


def read(before: str) -> Place:
    """The place that a text names."""
    at, mark, seen = before.partition(MARK)
    try:
        named = datetime.fromisoformat(at)
        found = Place(named.astimezone(UTC), int(seen) if mark else 0)
        if named.utcoffset() is None or not 0 <= found.seen < 10**9:
            raise ValueError
    except (ValueError, OverflowError):
        raise InvalidInput(f"before is {shown(before)}: give the `next` of a page, or a time such as 2024-05-17T00:00:00Z") from None
    return found


def _after(items: Sequence[Item], place: Place | None) -> Place:
    last = items[-1].created_at
    same = sum(item.created_at == last for item in items)
    return Place(last, same + (place.seen if place and place.at == last else 0))


def _kept(item: Item, successors: Sequence[str]) -> KeptMemory:
    return KeptMemory(
        id=item.id,
        type=cast(MemoryType, item.kind),
        text=item.text,
        title=item.title,
        at=item.created_at,
        entities=list(item.entities),
        importance=item.importance,
        use_count=item.use_count,
        metadata=dict(item.metadata),
        historical=item.status in HISTORY or bool(successors),
        superseded_by=successors[0] if successors else None,
    )

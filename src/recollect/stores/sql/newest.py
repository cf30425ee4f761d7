"""The items that were created last, of those that pass a filter, without reading all of them.

Of entities the newest are looked at, which as a rule is enough. Otherwise, where one condition of the filter alone leaves few items, these
are looked at; or else an index is read from its newest end, that of the entities, the kinds or the times, until enough have passed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from heapq import merge
from itertools import islice
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, bindparam, func, select, true, union

from ...cancellation import checkpoint
from ...filters import Filter
from ..kept import Kept
from .few import conditions, few, is_on, passing, times, values_of, without
from .given import Texts
from .mentions import key
from .rows import pages
from .schema import ItemRow, MentionRow
from .types import POSTGRES, Exact
from .where import holds

KINDS: Final = 16
"""Kinds that are each read from its newest end; where more are asked for, all items are."""
GROWTH: Final = 4
"""So many times more of an entity are listed where too few pass."""
AT_ONCE: Final = 400
"""Values asked for in one statement of SQLite, which takes 500 parts of one. Thirty take 1 ms so, and 15 where each has its own."""

END: Final = datetime.max.replace(tzinfo=UTC)
"""Times are compared by how long they are before it, exactly: as seconds they lose microseconds beyond the year 2255."""

Statement: TypeAlias = Any
"""One that gives times and ids, the newest first."""


_STATEMENTS: Final = Kept[Statement](256)


def newest(connection: Connection, scope: str, k: int, where: Filter | None) -> list[str]:
    """Their ids, the last first, ties by id."""
    if k <= 0:
        return []
    (entities, of_entities), (kinds, of_kinds) = _values(where, "entities"), _values(where, "kind")
    of = _OfEntities(connection, scope, entities, k, without(where, of_entities)) if entities else None
    if of is not None and of.look():
        return of.found
    # What the index is read by anyway need not be listed before: not the times, nor one entity, and the kinds only beside entities.
    at_hand = ("created_at", "entities" if len(entities) == 1 else "") if entities else ("created_at", "kind")
    found = few(connection, scope, where, ItemRow.created_at, ItemRow.id, but=at_hand)
    if found is not None:
        return _first(k, [sorted(found, key=_order)])
    if of is not None:
        while not of.look():
            pass
        return of.found
    if 0 < len(kinds) <= KINDS:
        rest = without(where, of_kinds)
        return _first(
            k, _read(connection, lambda kind: _by_time(scope, k, rest).where(ItemRow.kind == kind), kinds, k, rest, "kind", scope)
        )
    return [row.id for row in connection.execute(_by_time(scope, k, where))]


def _values(where: Filter | None, name: str) -> tuple[list[str], Filter | None]:
    """The values of which a field of the item has to have one, and the condition that says so, with the fewest where several do."""
    found = [(values, condition) for condition in conditions(where) if is_on(condition, name) and (values := values_of(condition))]
    return min(found, key=lambda each: len(each[0]), default=([], None))


def _by_time(scope: str, k: int, where: Filter | None) -> Statement:
    """The newest of all."""
    return _STATEMENTS.of_filter(where, "by time", scope, k, make=lambda: _made_by_time(scope, k, where))


def _made_by_time(scope: str, k: int, where: Filter | None) -> Statement:
    """What else has to hold is told as one thing, in which no other index is seen."""
    span = times(where, ItemRow.created_at)
    rest = [] if where is None else [holds(where, scope, per_row=True).is_(true())]
    own = select(ItemRow.created_at, ItemRow.id).where(ItemRow.scope == scope, *span, *rest)
    return own.order_by(ItemRow.created_at.desc(), ItemRow.id).limit(k)


class _OfEntities:
    """The newest of entities: what is known of them is listed in order, from the index alone, and then looked at, until enough pass."""

    def __init__(self, connection: Connection, scope: str, entities: Sequence[str], k: int, where: Filter) -> None:
        self._connection, self._scope, self._k, self._where = connection, scope, k, where
        self._keys = [*dict.fromkeys(map(key, entities))]
        self._n = 2 * k
        self._passes: dict[str, bool] = {}
        self.found: list[str] = []
        """The ids of the first k that pass, of those that were looked at."""

    def look(self) -> bool:
        """Look at the first ones, and each time at more of them; whether these are enough, or all."""
        checkpoint()
        n, where, scope = self._n, self._where, self._scope
        listed = _first(n, _read(self._connection, partial(_of_entity, scope, n, where), self._keys, n, where, "entity", scope))
        new = [item_id for item_id in listed if item_id not in self._passes]
        good = {row.id for row in passing(self._connection, scope, new, where, ItemRow.id)}
        self._passes |= {item_id: item_id in good for item_id in new}
        self.found = [item_id for item_id in listed if self._passes[item_id]][: self._k]
        self._n *= GROWTH
        return len(self.found) == self._k or len(listed) < n


def _of_entity(scope: str, n: int, where: Filter, entity: Any) -> Statement:
    own = select(MentionRow.created_at, MentionRow.item_id.label("id")).where(MentionRow.scope == scope, MentionRow.entity == entity)
    in_time = own.where(*times(where, MentionRow.created_at))
    return in_time.order_by(MentionRow.created_at.desc(), MentionRow.item_id).limit(n)


def _read(connection: Connection, of: Callable[[Any], Statement], values: Sequence[str], n: int, *key: Any) -> list[list[Any]]:
    """The first n of what a statement gives for all of these values together, in one row or several, each in order. The statement
    follows from a filter and what else is in the key."""
    if connection.dialect.name == POSTGRES:
        each_of = _STATEMENTS.of_filter(*key, n, make=partial(_for_each, of, n))
        return [[*connection.execute(each_of, {"values": values})]]
    found: list[list[Any]] = []
    for page in pages(values, AT_ONCE):
        together = _STATEMENTS.of_filter(*key, len(page), n, make=partial(_together, of, len(page), n))
        found.append([*connection.execute(together, {f"one{at}": value for at, value in enumerate(page)})])
    return found


def _for_each(of: Callable[[Any], Statement], n: int) -> Statement:
    asked = func.unnest(bindparam("values", type_=Texts())).table_valued("one").render_derived()
    each = of(asked.c.one).lateral()
    query = select(each.c.created_at, each.c.id).distinct().select_from(asked.join(each, true()))
    return query.order_by(each.c.created_at.desc(), each.c.id).limit(n)


def _together(of: Callable[[Any], Statement], values: int, n: int) -> Statement:
    together = union(*(select(of(bindparam(f"one{at}", type_=Exact())).subquery()) for at in range(values)))
    columns = together.selected_columns
    return together.order_by(columns.created_at.desc(), columns.id).limit(n)


def _order(row: Any) -> tuple[timedelta, str]:
    return END - row.created_at, row.id


def _first(k: int, found: Sequence[Sequence[Any]]) -> list[str]:
    """The first of several that are each in order, each item once."""
    return [*islice(dict.fromkeys(row.id for row in merge(*found, key=_order)), k)]

"""The items that pass a filter, where one of its conditions alone leaves few: each index is asked by itself, and no further than that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Select, literal_column, select

from ...filters import RELATIONS, And, Compare, Filter, Not, OneOf
from ..kept import Kept
from .given import given
from .rows import pages
from .schema import ItemRow
from .where import holds, listing

FEW: Final = 250
"""Items that are looked at one by one, at most. A thousand are listed in .4 ms, but take 12 ms to look at."""


SCANNED: Final = 5_000
"""The same for a scan, which looks at all items otherwise."""

_STATEMENTS: Final = Kept[Any](64)
BROAD: Final = ("kind", "status", "created_at", "entities")


def conditions(where: Filter | None) -> Iterator[Filter]:
    """What has to hold, each by itself."""
    match where:
        case None:
            return
        case And(parts):
            for part in parts:
                yield from conditions(part)
        case _:
            yield where


def times(where: Filter | None, column: Any) -> list[Any]:
    """What has to hold of the time of creation, as this column has it."""
    return [
        RELATIONS[condition.relation](column, condition.value)
        for condition in conditions(where)
        if isinstance(condition, Compare) and is_on(condition, "created_at")
    ]


def is_on(condition: Filter, name: str) -> bool:
    """Whether a condition is that a field of the item has certain values."""
    return isinstance(condition, Compare | OneOf) and condition.field.of_item and condition.field.name == name


def values_of(condition: Filter) -> list[str]:
    """The values of which a field of the item has to have one, each once."""
    match condition:
        case Compare(_, "eq", value):
            return [str(value)]
        case OneOf(_, values):
            return [*dict.fromkeys(map(str, values))]
    return []


def is_broad(where: Filter | None) -> bool:
    """Whether there is nothing in a filter of which `few` does not know how much it leaves, but for the status, which most items share."""
    return all(
        any(is_on(part, name) for name in BROAD)
        for condition in conditions(where)
        for part in [condition.part if isinstance(condition, Not) else condition]
    )


def few(
    connection: Connection, scope: str, where: Filter | None, *columns: Any, but: tuple[str, ...] = (), most: int | None = None
) -> list[Any] | None:
    """These columns of all items that pass the filter, in no order; None where no condition leaves few, but for those on some fields."""
    most = FEW if most is None else most
    if (named := of_ids(connection, scope, where, *columns, most=most)) is not None:
        return named
    for query, known in _listings(where, scope, but, most + 1):
        listed = connection.scalars(query).all()
        if len(listed) <= most:
            return passing(connection, scope, [*dict.fromkeys(listed)], without(where, known), *columns)
    return None


def of_ids(connection: Connection, scope: str, where: Filter | None, *columns: Any, most: int) -> list[Any] | None:
    """The same where the filter says by their ids which items may pass, at most so many; None where it does not."""
    for condition in conditions(where):
        if is_on(condition, "id") and len(ids := values_of(condition)) <= most and ids:
            return passing(connection, scope, ids, without(where, condition), *columns)
    return None


def passing(connection: Connection, scope: str, ids: Sequence[str], where: Filter, *columns: Any) -> list[Any]:
    """These columns of those of some items that pass a filter, in no order.

    Whether an item passes is a column too. As a condition it would be for the database to choose what it begins with, and SQLite,
    which knows nothing of how many there are, takes the kinds, of a million items, rather than ten ids."""

    def made() -> Any:
        # The status is read too, so that no index has all that is asked for: SQLite would read one that has from its beginning to its end.
        own = select(*columns, ItemRow.status.label("own"), holds(where, scope, per_row=True).label("passes"))
        return own.where(ItemRow.scope == scope, given(ItemRow.id, "ids"))

    looked_at = _STATEMENTS.of_filter(where, scope, *(column.key for column in columns), make=made)
    return [row for page in pages(ids) for row in connection.execute(looked_at, {"ids": page}).all() if row.passes]


def without(where: Filter | None, known: Filter | None) -> Filter:
    """What has to hold beside a condition that is known to."""
    return And(tuple(condition for condition in conditions(where) if condition is not known))


def _listings(where: Filter | None, scope: str, but: tuple[str, ...], n: int) -> Iterator[tuple[Select[Any], Filter | None]]:
    """The first n ids for which a condition holds, for each that has an index, and this condition; as a rule the most are of a kind."""
    found = [condition for condition in conditions(where) if not any(is_on(condition, name) for name in but)]
    for condition in (each for each in found if not is_on(each, "kind")):
        if (query := _listing(condition, scope, n)) is not None:
            yield query, condition
    if "created_at" not in but and (span := times(where, ItemRow.created_at)):
        yield _first(select(ItemRow.id).where(ItemRow.scope == scope, *span), n), None
    for condition in (each for each in found if is_on(each, "kind")):
        if (query := _listing(condition, scope, n)) is not None:
            yield query, condition


def _listing(condition: Filter, scope: str, n: int) -> Select[Any] | None:
    def made() -> Select[Any] | None:
        query = listing(condition, scope)
        return None if query is None else _first(query, n)

    found: Select[Any] | None = _STATEMENTS.of_filter(condition, scope, "listing", n, make=made)
    return found


def _first(query: Select[Any], n: int) -> Select[Any]:
    """In so many words: of a limit that is not known Postgres thinks that it is a tenth of the rows."""
    return query.limit(literal_column(str(n)))

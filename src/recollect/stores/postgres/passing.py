"""What passes a filter: all of it where that is little, or those of some items that were found."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Select, bindparam, case, func, literal_column, select
from sqlalchemy.orm import InstrumentedAttribute

from ...filters import Filter
from ...model import Hit
from ..kept import Kept
from ..sql.few import FEW, of_ids
from ..sql.given import given
from ..sql.schema import ItemRow
from ..sql.where import holds

TIE_MARGIN: Final = 4
"""Hits asked for beyond k, so that equal scores at the end are cut by id without asking again."""
GROWTH: Final = 4
"""So many times more are asked for where too few pass."""
DECIMALS: Final = 6
"""Scores are rounded here, so that the last bits of a sum never decide an order."""
LISTED: Final = 5_000
"""Matches of a filter up to which just these are searched; beyond, the best are found and then checked."""

T = TypeVar("T")

_STATEMENTS: Final = Kept[Select[Any]](64)

_PASSING = select(ItemRow.id).where(ItemRow.scope == bindparam("scope"), given(ItemRow.id, "ids"))


def listed(connection: Connection, column: InstrumentedAttribute[T], scope: str, where: Filter | None) -> list[T] | None:
    """The items that pass the filter, by this column, where they are few."""
    if where is None:
        return None
    if (named := of_ids(connection, scope, where, column, most=FEW)) is not None:
        return [getattr(row, column.key) for row in named]

    def made() -> Select[Any]:
        query = select(column).where(ItemRow.scope == scope, holds(where, scope, per_row=False))
        # In so many words: a limit that is not known is taken for a tenth of the rows, and the values of the filter are then not looked at.
        some = query.limit(literal_column(str(LISTED + 1))).subquery()
        # Too many are counted by the server and not sent: 5,000 rows take longer to fetch than to find.
        return select(func.count(), case((func.count() <= LISTED, func.array_agg(some.c[column.key]))))

    many, found = connection.execute(_STATEMENTS.of_filter(where, scope, column.key, LISTED, make=made)).one()
    return None if many > LISTED else list(found or ())


def passing(connection: Connection, hits: list[Hit], scope: str, where: Filter | None) -> list[Hit]:
    """Those of the hits that pass the filter."""
    if where is None:
        return hits
    asked = {"scope": scope, "ids": [hit.id for hit in hits]}
    found = set(connection.scalars(_PASSING.where(holds(where, scope, per_row=True)), asked))
    return [hit for hit in hits if hit.id in found]

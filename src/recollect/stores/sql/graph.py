"""The edges of a scope in order, and the bounds of walks over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import ColumnElement, Connection, bindparam, select

from ...errors import InvalidInput
from ...model import Edge
from .given import given
from .rows import pages
from .schema import IS_SUCCESSION, EdgeRow

PER_STATEMENT = 5_000
A_FEW: Final = 10
EDGE_COLUMNS: Final = (EdgeRow.source, EdgeRow.type, EdgeRow.target, EdgeRow.weight, EdgeRow.origin)


def edges_after(connection: Connection, scope: str, after: Edge | None) -> list[Edge]:
    """The edges that come next by source, type and target.

    Up to three ranges of the key, one after the other: as one condition with OR they are not looked up in the index."""
    ranges: list[tuple[ColumnElement[bool], ...]] = [()]
    if after is not None:
        same_source = EdgeRow.source == after.source
        ranges = [
            (same_source, EdgeRow.type == after.type, EdgeRow.target > after.target),
            (same_source, EdgeRow.type > after.type),
            (EdgeRow.source > after.source,),
        ]
    page: list[Edge] = []
    for conditions in ranges:
        query = select(*EDGE_COLUMNS).where(EdgeRow.scope == scope, *conditions)
        ordered = query.order_by(EdgeRow.source, EdgeRow.type, EdgeRow.target).limit(PER_STATEMENT - len(page))
        page += [Edge(*row) for row in connection.execute(ordered)]
        if len(page) == PER_STATEMENT:
            break
    return page


SUPERSEDING: Final = (
    select(EdgeRow.target, EdgeRow.source)
    .where(EdgeRow.scope == bindparam("scope"), IS_SUCCESSION, given(EdgeRow.target, "ids"), EdgeRow.source != EdgeRow.target)
    .order_by(EdgeRow.target, EdgeRow.source)
)


_FIRST_SUPERSEDED: Final = (
    # In the order of the index that has such edges alone: without it SQLite reads all edges of the scope in another.
    select(EdgeRow.target).where(EdgeRow.scope == bindparam("scope"), IS_SUCCESSION).order_by(EdgeRow.target, EdgeRow.source).limit(1)
)


def successors(connection: Connection, scope: str, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What took the place of these items, by id."""
    found: dict[str, list[str]] = {}
    # Where nothing was superseded, it need not be asked of each: of 200 that takes .15 ms, most of it to put the statement together.
    if len(ids) > A_FEW and connection.execute(_FIRST_SUPERSEDED, {"scope": scope}).first() is None:
        return {}
    for page in pages(list(dict.fromkeys(ids))):
        for target, source in connection.execute(SUPERSEDING, {"scope": scope, "ids": page}):
            found.setdefault(target, []).append(source)
    return {target: tuple(sources) for target, sources in found.items()}


def check_bounds(hops: int, fan_out: int) -> None:
    """Refuse a walk of less than nothing."""
    if min(hops, fan_out) < 0:
        raise InvalidInput(f"a walk has {hops!r} hops and a fan-out of {fan_out!r}: give 0 or more of both")


def check_fan_out(fan_out: int) -> None:
    """Refuse fewer links than none."""
    if fan_out < 0:
        raise InvalidInput(f"links are asked for with a fan-out of {fan_out!r}: give 0 or more")

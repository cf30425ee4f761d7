"""Which metadata fields a scope has, and how often each value of a field occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sqlalchemy import ColumnElement, Connection, func, select
from sqlalchemy.orm import InstrumentedAttribute

from ...filters import Filter, field_named
from .schema import FieldRow, ItemRow
from .where import holds


def known_fields(connection: Connection, scope: str) -> dict[str, frozenset[str]]:
    """The metadata fields there are and the types they hold."""
    within = FieldRow.scope == scope
    return {
        name: frozenset(_distinct(connection, FieldRow.type, within, FieldRow.name == name))
        for name in _distinct(connection, FieldRow.name, within)
    }


def _distinct(connection: Connection, column: InstrumentedAttribute[str], *conditions: ColumnElement[bool]) -> Iterator[str]:
    """The different values of a column, by one jump through the index to each.

    The next one is asked for as a minimum, which is a jump: an OR goes through every row (48 ms for 60,000 of them), this takes 6 ms.
    """
    smallest = select(func.min(column)).where(*conditions)
    value = connection.scalar(smallest)
    while value is not None:
        yield value
        value = connection.scalar(smallest.where(column > value))


def count_values(connection: Connection, scope: str, name: str, where: Filter | None) -> dict[str, int]:
    """How many items have each value of the field, most first, ties by value."""
    field = field_named(name)
    counts = Counter[str]()
    if field.of_item:
        column = getattr(ItemRow, field.name)
        query = select(column, func.count()).where(ItemRow.scope == scope, column.is_not(None), holds(where, scope, per_row=True))
        for value, count in connection.execute(query.group_by(column)):
            for each in set(value) if field.has_several else (value,):
                counts[str(each)] += count
    else:
        values = select(FieldRow.type, FieldRow.text, FieldRow.number, func.count()).where(
            FieldRow.scope == scope, FieldRow.name == field.name
        )
        if where is not None:
            values = values.join(ItemRow, (ItemRow.scope == FieldRow.scope) & (ItemRow.id == FieldRow.item_id))
            values = values.where(holds(where, scope, per_row=True))
        for kind, text, number, count in connection.execute(values.group_by(FieldRow.type, FieldRow.text, FieldRow.number)):
            counts[shown(kind, text, number)] += count
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def shown(kind: str, text: str | None, number: float | None) -> str:
    """A facet's value as text: 2024 rather than 2024.0, true rather than 1.0."""
    if number is None:
        return text or ""
    if kind == "boolean":
        return "true" if number else "false"
    return str(int(number)) if number.is_integer() else str(number)

"""Which metadata fields a scope has, and how often each value of a field occurs."""

from __future__ import annotations

from collections import Counter

from sqlalchemy import Connection, func, select

from ...filters import Filter, field_named
from .schema import FieldRow, ItemRow
from .where import holds


def known_fields(connection: Connection, scope: str) -> dict[str, frozenset[str]]:
    """The metadata fields there are and the types they hold, by jumps through the index rather than a scan of it."""
    found: dict[str, set[str]] = {}
    after = ("", "")
    while row := connection.execute(
        select(FieldRow.name, FieldRow.type)
        .where(FieldRow.scope == scope, (FieldRow.name > after[0]) | ((FieldRow.name == after[0]) & (FieldRow.type > after[1])))
        .order_by(FieldRow.name, FieldRow.type)
        .limit(1)
    ).first():
        after = (row.name, row.type)
        found.setdefault(row.name, set()).add(row.type)
    return {name: frozenset(types) for name, types in found.items()}


def count_values(connection: Connection, scope: str, name: str, where: Filter | None) -> dict[str, int]:
    """How many items have each value of the field, most first, ties by value."""
    field = field_named(name)
    if field.of_item:
        column = getattr(ItemRow, field.name)
        query = select(column, func.count()).where(ItemRow.scope == scope, column.is_not(None), holds(where, scope, per_row=True))
        counts = Counter({str(value): count for value, count in connection.execute(query.group_by(column))})
    else:
        values = select(FieldRow.type, FieldRow.text, FieldRow.number, func.count()).where(
            FieldRow.scope == scope, FieldRow.name == field.name
        )
        if where is not None:
            values = values.join(ItemRow, (ItemRow.scope == FieldRow.scope) & (ItemRow.id == FieldRow.item_id))
            values = values.where(holds(where, scope, per_row=True))
        counts = Counter[str]()
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

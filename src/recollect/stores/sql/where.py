"""Filters as SQL expressions: column comparisons and sub-queries with bound parameters, never text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import ColumnElement, and_, exists, false, not_, or_, select, true

from ...filters import RELATIONS, And, Compare, Exists, Field, Filter, Glob, Not, OneOf, Or, Relation, Scalar, StartsWith, type_of
from .globs import like
from .lists import has_any, is_filled
from .schema import FieldRow, ItemRow


def holds(where: Filter | None, scope: str, *, per_row: bool) -> ColumnElement[bool]:
    """The condition on `ItemRow`.

    `per_row` suits checking a few rows that are at hand (a correlated EXISTS); otherwise the condition is built to
    list every match from the index on values. Both mean the same.
    """
    if where is None:
        return true()
    return _Compiler(scope, per_row).compile(where)


class _Compiler:
    def __init__(self, scope: str, per_row: bool) -> None:
        self.scope = scope
        self.per_row = per_row

    def compile(self, where: Filter) -> ColumnElement[bool]:
        match where:
            case And(parts):
                return and_(true(), *map(self.compile, parts))
            case Or(parts):
                return or_(false(), *map(self.compile, parts))
            case Not(part):
                return not_(self.compile(part))
            case Compare(field, _, value) if field.has_several:
                return has_any(getattr(ItemRow, field.name), [value])
            case OneOf(field, values) if field.has_several:
                return has_any(getattr(ItemRow, field.name), values)
            case Exists(field) if field.has_several:
                return is_filled(getattr(ItemRow, field.name))
            case Compare(field, relation, value):
                return self.value(field, lambda column: _relation(column, relation, value), (value,))
            case OneOf(field, values):
                return or_(false(), *(self.one_of(field, values, kind) for kind in sorted({type_of(value) for value in values})))
            case StartsWith(field, prefix):
                return self.value(field, lambda column: begins(column, prefix), ("",))
            case Glob(field, pattern):
                return self.value(field, lambda column: like(column, pattern), ("",))
            case Exists(field):
                return self.value(field, lambda column: column.is_not(None), ()) if field.of_item else self.metadata(field, None, true())

    def one_of(self, field: Field, values: Sequence[Scalar], kind: str) -> ColumnElement[bool]:
        same = [value for value in values if type_of(value) == kind]
        return self.value(field, lambda column: column.in_([*map(_operand, same)]), same[:1])

    def value(self, field: Field, condition: Any, example: Sequence[Scalar]) -> ColumnElement[bool]:
        """The condition on whichever column holds the field's values, for values of the example's type."""
        if field.of_item:
            column = getattr(ItemRow, field.name)
            return and_(column.is_not(None), condition(column))
        kind = type_of(example[0])
        return self.metadata(field, kind, condition(FieldRow.text if kind == "text" else FieldRow.number))

    def metadata(self, field: Field, kind: str | None, condition: ColumnElement[bool]) -> ColumnElement[bool]:
        # Row by row the few values of the item are looked at. The index on values would be gone through once for each row, so
        # it is kept out by a name that it cannot look up: a search that checks 11,000 rows took 15 to 25 s by it, and takes 0.6 to 0.9 s.
        name = FieldRow.name.concat("") if self.per_row else FieldRow.name
        matching = [FieldRow.scope == self.scope, name == field.name, condition]
        if kind is not None:
            matching.append(FieldRow.type == kind)
        if self.per_row:
            return exists().where(FieldRow.item_id == ItemRow.id, *matching).correlate(ItemRow)
        return ItemRow.id.in_(select(FieldRow.item_id).where(*matching).correlate(None))


def begins(column: Any, prefix: str) -> ColumnElement[bool]:
    """As a range, which the index answers; `substr` and LIKE would stop at a NUL."""
    after = _after_all(prefix)
    return and_(column >= prefix, true() if after is None else column < after)


def _after_all(prefix: str) -> str | None:
    """The least text above everything that begins with the prefix, by code points; None where there is none."""
    stem = prefix.rstrip(chr(sys.maxunicode))
    if not stem:
        return None
    # Surrogates are no characters, so the one after U+D7FF is U+E000.
    return stem[:-1] + ("\ue000" if stem[-1] == "\ud7ff" else chr(ord(stem[-1]) + 1))


def _relation(column: Any, relation: Relation, value: Scalar) -> ColumnElement[bool]:
    """The relation as `matches` has it, which on a column makes an expression."""
    return cast("ColumnElement[bool]", RELATIONS[relation](column, _operand(value)))


def _operand(value: Scalar) -> Any:
    """The value as it is kept."""
    return float(value) if isinstance(value, bool | int) else value

"""Filters as SQL expressions: column comparisons and sub-queries with bound parameters, never text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from sqlalchemy import ColumnElement, Select, and_, false, literal_column, not_, or_, select, true

from ...filters import RELATIONS, And, Compare, Exists, Field, Filter, Glob, Not, OneOf, Or, Relation, Scalar, StartsWith, type_of
from ..kept import Kept
from .either import either
from .given import one_of
from .globs import like
from .lists import has_any, is_filled
from .mentions import mentioning
from .ranges import HEAD, begins, is_in_head, near_head
from .schema import FieldRow, ItemRow

IMPORTANT: Final = 0.7
"""On Postgres items above it are in an index of their own, which a condition has to say in so many words."""
_CONDITIONS: Final = Kept[ColumnElement[bool]](256)
"""A condition of two parts takes a millisecond to put together."""
_LOOSELY: Final[dict[Relation, Relation]] = {"gt": "gte", "lt": "lte"}


def holds(where: Filter | None, scope: str, *, per_row: bool) -> ColumnElement[bool]:
    """The condition on `ItemRow`.

    `per_row` suits checking a few rows that are at hand (a correlated EXISTS); otherwise the condition is built to
    list every match from the index on values. Both mean the same.
    """
    if where is None:
        return true()
    return _CONDITIONS.of_filter(where, scope, per_row, make=lambda: _Compiler(scope, per_row).compile(where))


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
                return self.any_of_several(field, [value])
            case OneOf(field, values) if field.has_several:
                return self.any_of_several(field, values)
            case Exists(field) if field.has_several:
                return is_filled(getattr(ItemRow, field.name))
            case Compare(field, relation, value):
                return self.value(field, lambda column: _relation(column, relation, value), (value,), _LOOSELY.get(relation, relation))
            case OneOf(field, values):
                return or_(false(), *(self.one_of(field, values, kind) for kind in sorted({type_of(value) for value in values})))
            case StartsWith(field, prefix):
                return self.value(field, lambda column: begins(column, prefix), (prefix,))
            case Glob(field, pattern) if field.of_item:
                return self.value(field, lambda column: like(column, pattern), ())
            case Glob(field, pattern):
                return self.metadata(field, "text", like(FieldRow.text, pattern, head=HEAD))
            case Exists(field):
                return self.value(field, lambda column: column.is_not(None), ()) if field.of_item else self.metadata(field, None, true())

    def one_of(self, field: Field, values: Sequence[Scalar], kind: str) -> ColumnElement[bool]:
        same = [value for value in values if type_of(value) == kind]
        return self.value(field, lambda column: one_of(column, [*map(_operand, same)]), same)

    def value(self, field: Field, condition: Any, values: Sequence[Scalar], loosely: Relation = "eq") -> ColumnElement[bool]:
        """The condition on whichever column holds the field's values, which are compared with these, all of one type."""
        if field.of_item:
            column = getattr(ItemRow, field.name)
            return and_(column.is_not(None), condition(column))
        if (kind := type_of(values[0])) != "text":
            return self.metadata(field, kind, condition(FieldRow.number))
        whole, texts = condition(FieldRow.text), cast("Sequence[str]", values)
        if all(map(is_in_head, texts)):
            return self.metadata(field, kind, either(whole, condition(HEAD)))
        return self.metadata(field, kind, either(whole, and_(whole, near_head(loosely, texts))))

    def any_of_several(self, field: Field, values: Sequence[Scalar]) -> ColumnElement[bool]:
        has = has_any(getattr(ItemRow, field.name), values)
        return has if self.per_row else ItemRow.id.in_(mentioning(self.scope, cast("Sequence[str]", values)).correlate(None))

    def metadata(self, field: Field, kind: str | None, condition: ColumnElement[bool]) -> ColumnElement[bool]:
        """The condition that an item has a metadata value for which one holds."""
        # Row by row the few values of the item are looked at. The index on values would be gone through once for each row, so
        # it is kept out by a name that it cannot look up, and by asking for every column, of which it lacks one: a search that checks
        # 11,000 rows took 15 to 25 s by it, and takes 0.6 to 0.9 s.
        name = FieldRow.name.concat("") if self.per_row else FieldRow.name
        matching = [FieldRow.scope == self.scope, name == field.name, condition]
        if kind is not None:
            matching.append(FieldRow.type == kind)
        if self.per_row:
            own = select(FieldRow).where(FieldRow.item_id == ItemRow.id, *matching).correlate(ItemRow)
            # With an offset Postgres makes no join of it, which would list every match for each page of a scan.
            return either(own.exists(), own.offset(literal_column("0")).exists())
        return ItemRow.id.in_(select(FieldRow.item_id).where(*matching).correlate(None))


class _OfValues(_Compiler):
    """Conditions on the rows of metadata values themselves."""

    def metadata(self, field: Field, kind: str | None, condition: ColumnElement[bool]) -> ColumnElement[bool]:
        typed = [] if kind is None else [FieldRow.type == kind]
        return and_(FieldRow.scope == self.scope, FieldRow.name == field.name, condition, *typed)


LOOKED_UP: Final = ("id", "kind", "content_hash")
"""Fields of the item that have an index."""


def listing(condition: Filter, scope: str) -> Select[Any] | None:
    """The ids of the items for which a condition holds, read from its own index and from no other table; None where there is none."""
    match condition:
        case Compare(field, "eq", value):
            values: Sequence[Scalar] = (value,)
        case OneOf(field, values):
            pass
        case _:
            return None
    if field.has_several:
        return mentioning(scope, cast("Sequence[str]", values))
    if not field.of_item:
        return select(FieldRow.item_id).where(_OfValues(scope, per_row=False).compile(condition))
    if field.name in LOOKED_UP:
        return select(ItemRow.id).where(ItemRow.scope == scope, holds(condition, scope, per_row=False))
    return None


def _relation(column: Any, relation: Relation, value: Scalar) -> ColumnElement[bool]:
    """The relation as `matches` has it, which on a column makes an expression."""
    found = cast("ColumnElement[bool]", RELATIONS[relation](column, _operand(value)))
    if column is ItemRow.importance and relation in ("eq", "gt", "gte") and cast("float", value) > IMPORTANT:
        return either(found, and_(found, column > literal_column(str(IMPORTANT))))
    return found


def _operand(value: Scalar) -> Any:
    """The value as it is kept."""
    return float(value) if isinstance(value, bool | int) else value

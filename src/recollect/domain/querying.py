"""The statements by which a domain database is asked: made of reflected tables and bound values, never of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, FromClause, Select, String, and_, case, cast, false, func, or_, select, types
from sqlalchemy.types import TypeEngine

from .ontology import EntityType, Pairs, Relation
from .tables import Schema
from .times import Span
from .values import converted, converted_loosely, folded, is_known, is_text

Key = tuple[str, ...]
"""The values of the key's columns, as texts."""

SOURCE: Final = "s"
KEY: Final = "k"
SHOWN: Final = "c"
"""How columns of a result are labelled, each with its number: the key it was asked by, its own key, and what is shown."""


def entities_named(schema: Schema, type_: EntityType, names: Sequence[str], limit: int) -> Select[Any]:
    """The key, the columns of the name and the aliases of the entities that have one of the names."""
    table = schema.table(type_)
    conditions = [_is_called(schema, type_, column, names) for column in type_.aliases]
    if len(type_.called) == 1:
        conditions.append(_is_called(schema, type_, type_.called[0], names))
    elif type_.called:
        conditions.append(_has_text(schema, _joined(table, type_.called), names))
    columns = _labelled(table, type_.key, KEY) + _labelled(table, (*type_.called, *type_.aliases), SHOWN)
    return select(*columns).where(or_(false(), *conditions)).order_by(*_key_order(table, type_)).limit(limit)


def own_rows(schema: Schema, type_: EntityType, keys: Sequence[Key]) -> Select[Any]:
    """The key and what is shown of these entities."""
    table = schema.table(type_)
    columns = _labelled(table, type_.key, KEY) + _labelled(table, schema.shown(type_), SHOWN)
    return select(*columns).where(_has_key(schema, table, type_, keys))


def related(
    schema: Schema,
    type_: EntityType,
    relation: Relation,
    keys: Sequence[Key],
    *,
    shown: Sequence[str] = (),
    span: Span | None = None,
    limit: int,
) -> Select[Any]:
    """The key of each entity, that of what it is related to, and what is shown of it: of each the newest, or the first by key."""
    other = schema.to(relation)
    target = schema.table(other).alias("target")
    from_, joins = _reaching(schema, type_, relation, keys)
    order = _order(schema, target, other)
    sources = [from_.c[f"{SOURCE}{number}"] for number in range(len(type_.key))]
    place = func.row_number().over(partition_by=sources, order_by=order).label("place")
    ranked = select(*sources, *_labelled(target, other.key, KEY), *_labelled(target, shown, SHOWN), place).select_from(
        from_.join(target, and_(*(one == target.c[column] for one, column in joins)))
    )
    if span is not None and other.time is not None:
        ranked = ranked.where(_within(schema, target.c[other.time], schema.kind(other, other.time), span))
    inner = ranked.subquery("ranked")
    return select(inner).where(inner.c.place <= limit).order_by(*(inner.c[each.name] for each in sources), inner.c.place)


def _reaching(schema: Schema, type_: EntityType, relation: Relation, keys: Sequence[Key]) -> tuple[FromClause, list[tuple[Any, str]]]:
    """The keys that were asked, each beside what the other table is joined by; through a table between each pair once."""
    source = schema.table(type_).alias("source")
    chosen = _has_key(schema, source, type_, keys)
    ends: Pairs = relation.then if relation.via else relation.join
    if relation.via is None:
        inner = select(*_labelled(source, type_.key, SOURCE), *_labelled(source, [one for one, _ in ends], "j")).where(chosen)
    else:
        link = schema.tables[relation.via].alias("link")
        joined = source.join(link, and_(*(source.c[one] == link.c[two] for one, two in relation.join)))
        columns = _labelled(source, type_.key, SOURCE) + _labelled(link, [one for one, _ in ends], "j")
        inner = select(*columns).select_from(joined).where(chosen).distinct()
    from_ = inner.subquery("reaching")
    return from_, [(from_.c[f"j{number}"], column) for number, (_, column) in enumerate(ends)]


def _labelled(table: FromClause, columns: Sequence[str], letter: str) -> list[ColumnElement[Any]]:
    return [table.c[column].label(f"{letter}{number}") for number, column in enumerate(columns)]


def _key_order(table: FromClause, type_: EntityType) -> list[ColumnElement[Any]]:
    return [table.c[column] for column in type_.key]


def _order(schema: Schema, table: FromClause, type_: EntityType) -> list[ColumnElement[Any]]:
    """Newest first, those without a time last; of the same time, or where there is none, by key."""
    if type_.time is None:
        return _key_order(table, type_)
    at: ColumnElement[Any] = table.c[type_.time]
    if schema.is_sqlite:  # In which nothing is less than anything.
        return [func.recollect_instant(at, type_=types.NullType()).desc(), *_key_order(table, type_)]
    return [case((at.is_(None), 1), else_=0), at.desc(), *_key_order(table, type_)]


def _within(schema: Schema, column: Any, kind: TypeEngine[Any], span: Span) -> ColumnElement[bool]:
    if schema.is_sqlite:
        start = span.start and span.start.isoformat()
        return func.recollect_within(column, start, span.end.isoformat(), type_=types.NullType()) == 1
    first: Any
    last: Any
    if not isinstance(kind, types.DateTime):
        first, last = span.days
    else:
        first, last = (span.start, span.end) if kind.timezone else span.naive
    return and_(column <= last, *([] if first is None else [column >= first]))


def _has_key(schema: Schema, table: FromClause, type_: EntityType, keys: Sequence[Key]) -> ColumnElement[bool]:
    columns = [(table.c[name], schema.kind(type_, name)) for name in type_.key]
    if len(columns) == 1:
        return _is_one_of(schema, *columns[0], [part for (part,) in keys])
    each = (and_(*(_is_one_of(schema, *column, [part]) for column, part in zip(columns, key, strict=True))) for key in keys)
    return or_(false(), *each)


def _is_one_of(schema: Schema, column: Any, kind: TypeEngine[Any], texts: Sequence[str]) -> ColumnElement[bool]:
    """Whether a column has one of these values; where a text can be no value of its type, it has not."""
    values = [value for text in texts if (value := value_of(schema, kind, text)) is not None]
    if not values:
        return false()
    found: ColumnElement[bool] = (column if schema.is_sqlite or is_known(kind) else cast(column, String)).in_(values)
    return found


def value_of(schema: Schema, kind: TypeEngine[Any], text: str) -> Any | None:
    """A text as a value of a column's type, as this database has it; None where it can be none."""
    return converted_loosely(kind, text) if schema.is_sqlite else converted(kind, text)


def _is_called(schema: Schema, type_: EntityType, column: str, names: Sequence[str]) -> ColumnElement[bool]:
    at, kind = schema.table(type_).c[column], schema.kind(type_, column)
    return _has_text(schema, at, names) if is_text(kind) else _is_one_of(schema, at, kind, names)


def _joined(table: FromClause, columns: Sequence[str]) -> ColumnElement[Any]:
    """The values with a space between, of those that there are."""
    parts = [func.trim(func.coalesce(cast(table.c[column], String), "")) for column in columns]
    made: ColumnElement[Any] = parts[0]
    for part in parts[1:]:
        made = made.concat(" ").concat(part)
    return func.replace(func.trim(made), "  ", " ")


def _has_text(schema: Schema, text: ColumnElement[Any], names: Sequence[str]) -> ColumnElement[bool]:
    """Whatever the case of letters. Which letters the server knows to be the same depends on its locale: usual ways to write a name are
    compared as they are, too."""
    known = [name for name in names if value_of(schema, String(), name) is not None]
    if not known:
        return false()
    lowered = sorted({name.lower() for name in known})
    usual = sorted({form for name in known for form in (name, name.lower(), name.upper(), name.title())})
    conditions = [func.lower(text).in_(lowered), text.in_(usual)]
    if schema.is_sqlite and not all(name.isascii() for name in known):  # Its own function knows the letters of ASCII alone.
        conditions.append(func.recollect_folded(text, type_=types.NullType()).in_(sorted({folded(name) for name in known})))
    return or_(*conditions)

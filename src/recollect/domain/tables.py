"""The tables that an ontology speaks of, as the database has them: reflected, and checked against what it says of them."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Column, Connection, MetaData, Table, inspect, types
from sqlalchemy.engine.reflection import Inspector, ObjectKind
from sqlalchemy.exc import NoSuchTableError, SAWarning
from sqlalchemy.types import TypeEngine

from ..errors import DomainUnavailable
from .ontology import EntityType, Ontology, Relation, TableName, nearest
from .values import is_binary, plain, plain_loosely

HIDE: Final = "hide"
"""Where an entity type names columns that no message names."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of an ontology."""

    ontology: Ontology
    tables: Mapping[TableName, Table]
    kinds: Mapping[tuple[TableName, str], TypeEngine[Any]]
    """The types that columns have in the database. In SQLite they bind nobody, so that values come as they are."""
    is_sqlite: bool

    def table(self, type_: EntityType) -> Table:
        return self.tables[type_.table]

    def kind(self, type_: EntityType, column: str) -> TypeEngine[Any]:
        return self.kinds[type_.table, column]

    def to(self, relation: Relation) -> EntityType:
        return self.ontology.types[relation.to]

    def shown(self, type_: EntityType) -> list[str]:
        """The columns that are shown of an entity: those it names, or all that are not hidden and no binary data."""
        if type_.columns is not None:
            return list(type_.columns)
        return [each.name for each in self.table(type_).c if each.name not in type_.hidden and not is_binary(self.kind(type_, each.name))]

    def plain(self, type_: EntityType, column: str, value: Any) -> Any:
        """A value of a column as JSON can hold it."""
        return plain_loosely(self.kind(type_, column), value) if self.is_sqlite else plain(value)


def reflected(connection: Connection, ontology: Ontology) -> Schema:
    """The tables of the ontology. A `DomainUnavailable` names what it says of them that is not so."""
    is_sqlite = connection.dialect.name == "sqlite"
    wanted: defaultdict[str | None, list[str]] = defaultdict(list)
    for needed in dict.fromkeys(table for table, _, _ in _uses(ontology)):
        wanted[needed.schema].append(needed.name)
    inspector = inspect(connection)
    metadata = MetaData()
    tables: dict[TableName, Table] = {}
    kinds: dict[tuple[TableName, str], TypeEngine[Any]] = {}
    for schema, names in wanted.items():
        if not _has_schema(inspector, schema):
            continue
        for name, columns in _columns(inspector, schema, names).items():
            table = TableName(name, schema)
            made = [Column(each["name"], types.NullType() if is_sqlite else each["type"]) for each in columns]
            tables[table] = Table(name, metadata, *made, schema=schema)
            kinds |= {(table, each["name"]): each["type"] for each in columns}
    for used, column, place in _uses(ontology):
        _check(inspector, tables, used, column, place, hidden=_hidden(ontology, used))
    found = Schema(ontology, tables, kinds, is_sqlite)
    _check_times(found)
    return found


def _columns(inspector: Inspector, schema: str | None, names: list[str]) -> dict[str, list[Any]]:
    """The columns of those tables and views that there are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SAWarning)  # A type that is not known is compared and shown as a text.
        try:
            found = inspector.get_multi_columns(schema=schema, filter_names=names, kind=ObjectKind.ANY)
        except NoSuchTableError:
            return {}
    return {name: list(columns) for (_, name), columns in found.items()}


def _uses(ontology: Ontology) -> Iterator[tuple[TableName, str, str]]:
    """Every table and column that the ontology names, and where."""
    for type_ in ontology.types.values():
        place = f"entities.{type_.name}"
        said = {"key": type_.key, HIDE: type_.hidden, "name": type_.called, "aliases": type_.aliases}
        said |= {"time": (type_.time,) if type_.time else (), "columns": type_.columns or ()}
        for word, columns in said.items():
            yield from ((type_.table, column, f"{place}.{word}") for column in columns)
        for relation in type_.relations:
            here, there = f"{place}.relations.{relation.name}", ontology.types[relation.to].table
            yield from _ends(relation.join, type_.table, relation.via or there, f"{here}.join")
            if relation.via:
                yield from _ends(relation.then, relation.via, there, f"{here}.then")


def _ends(pairs: Iterable[tuple[str, str]], one: TableName, other: TableName, place: str) -> Iterator[tuple[TableName, str, str]]:
    for left, right in pairs:
        yield one, left, place
        yield other, right, place


def _hidden(ontology: Ontology, table: TableName) -> set[str]:
    """The columns that entity types hide of a table of this name, in whichever schema."""
    return {column for each in ontology.types.values() if each.table.name == table.name for column in each.hidden}


def _check(
    inspector: Inspector, tables: Mapping[TableName, Table], table: TableName, column: str, place: str, *, hidden: Container[str]
) -> None:
    if table not in tables:
        known = _names(inspector, table.schema) if _has_schema(inspector, table.schema) else []
        raise DomainUnavailable(f"memory.domain.ontology: {place} is of table {str(table)!r}: {nearest(table.name, known, 'table')}")
    if column not in tables[table].c:
        known = [each.name for each in tables[table].c if each.name not in hidden]
        # Where a name under `hide` is misspelt, the column that is meant is among those that are known.
        told = "there is no such column, so see how it is written" if place.endswith(f".{HIDE}") else nearest(column, known, "column")
        raise DomainUnavailable(f"memory.domain.ontology: {place} is {column!r} of {str(table)!r}: {told}")


def _has_schema(inspector: Inspector, schema: str | None) -> bool:
    return schema is None or schema in inspector.get_schema_names()


def _names(inspector: Inspector, schema: str | None) -> list[str]:
    return [*inspector.get_table_names(schema), *inspector.get_view_names(schema)]


def _check_times(schema: Schema) -> None:
    for type_ in schema.ontology.types.values():
        if type_.time is None or schema.is_sqlite:
            continue
        kind = schema.kind(type_, type_.time)
        if not isinstance(kind, types.DateTime | types.Date):
            raise DomainUnavailable(
                f"memory.domain.ontology: entities.{type_.name}.time is {type_.time!r}, a column of type {kind}: name one of dates or times"
            )

"""The domain database: finds entities by name, what they are related to, and their rows, by what an ontology says of its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Row, types

from ..errors import DomainUnavailable
from ..memories import DomainResults, DomainTable, TimeRange
from ..memory_settings import DomainSettings
from ..model import Entity
from .ontology import EntityType, Ontology
from .querying import KEY, SHOWN, SOURCE, Key, entities_named, own_rows, related, value_of
from .readonly import ReadOnlyDatabase, fetched
from .tables import Schema, reflected
from .times import Span
from .values import folded, is_shown, text_of

T = TypeVar("T")

NAMESAKES: Final = 10
"""Entities of a type that one name may give."""
MAX_DEPTH: Final = 5
MAX_EXPANDED: Final = 1_000
"""Entities that others lead to, in all."""
MAX_ENTITIES: Final = 20
"""Entities whose rows are read for one question."""
AT_ONCE: Final = 100
"""Names or keys in one statement."""

Entities = dict[str, tuple[EntityType, Key]]
"""By canonical id."""


class DomainDatabase:
    """A database of the user's own, of which only is read."""

    def __init__(self, settings: DomainSettings, ontology: Ontology) -> None:
        assert settings.url is not None
        self.settings = settings
        self.ontology = ontology
        self._database = ReadOnlyDatabase(settings.url, timeout_s=settings.timeout_s, zone=ontology.zone)
        self._schema: Schema | None = None

    @property
    def kinds(self) -> Sequence[str]:
        return tuple(self.ontology.types)

    async def named(self, names: Sequence[str]) -> dict[str, list[Entity]]:
        """The entities that are called so, by name as it was given: of each type the first by key, where there are many."""
        wanted = [name for name in dict.fromkeys(names) if name.strip()]
        return await self._asked(lambda connection, schema: _named(connection, schema, wanted)) if wanted else {}

    async def expand(self, ids: Sequence[str], *, depth: int | None = None) -> list[str]:
        """Canonical ids of what relations lead to from these entities, without them: nearest first, then by relation and id."""
        steps = min(self.settings.depth if depth is None else depth, MAX_DEPTH)
        if steps < 1 or not any(map(self.ontology.type_of, ids)):
            return []
        return await self._asked(lambda connection, schema: _expanded(connection, schema, ids, steps, self.settings.per_relation))

    async def rows(self, ids: Sequence[str], within: TimeRange | None) -> DomainResults:
        """The row of each of these entities, and those of its relations to many: of that time, where they have one."""
        if not any(map(self.ontology.type_of, ids)):
            return DomainResults()
        span = Span.of(within, self.ontology.zone) if within else None
        return await self._asked(lambda connection, schema: _rows(connection, schema, ids, span, self.settings.max_rows))

    async def close(self) -> None:
        await self._database.close()

    async def _asked(self, work: Callable[[Connection, Schema], T]) -> T:
        """Tables are reflected once, and again after a failure, since they may have changed."""

        def run(connection: Connection) -> T:
            schema = self._schema or reflected(connection, self.ontology)
            self._schema = schema
            return work(connection, schema)

        try:
            return await self._database.run(run)
        except DomainUnavailable:
            self._schema = None
            raise


def _named(connection: Connection, schema: Schema, names: Sequence[str]) -> dict[str, list[Entity]]:
    found: dict[str, list[Entity]] = {}
    for type_ in schema.ontology.types.values():
        if not type_.called and not type_.aliases:
            continue
        for some in _parts(names):
            entities = [_entity(schema, type_, row) for row in _rows_named(connection, schema, type_, some) if _has_key(row)]
            for name in some:
                called = [entity for entity in entities if folded(name) in map(folded, entity.names)]
                if called:
                    found.setdefault(name, []).extend(called[:NAMESAKES])
    return {name: found[name] for name in names if name in found}


def _rows_named(connection: Connection, schema: Schema, type_: EntityType, names: Sequence[str]) -> Iterable[Row[Any]]:
    """At once; one by one where there are so many that those of one name could leave no room for those of another."""
    limit = NAMESAKES * len(names)
    rows = fetched(connection, entities_named(schema, type_, names, limit))
    if len(rows) < limit or len(names) == 1:
        return rows
    each = (fetched(connection, entities_named(schema, type_, [name], NAMESAKES)) for name in names)
    return {_key(schema, type_, row, KEY): row for some in each for row in some}.values()


def _entity(schema: Schema, type_: EntityType, row: Row[Any]) -> Entity:
    key = _key(schema, type_, row, KEY)
    values = ["" if each is None else text_of(each).strip() for each in _values(row, SHOWN)]
    name = " ".join(filter(None, values[: len(type_.called)])) or ", ".join(key)
    aliases = dict.fromkeys(each for each in values[len(type_.called) :] if each and each != name)
    return Entity(type_.id_of(key), type_.name, name, tuple(aliases))


def _expanded(connection: Connection, schema: Schema, ids: Sequence[str], depth: int, per_relation: int) -> list[str]:
    frontier = _entities(schema, ids)
    seen = set(frontier)
    found: list[str] = []
    for _ in range(depth):
        reached: Entities = {}
        for type_, keys in _by_type(schema, frontier):
            for relation in type_.relations:
                other = schema.to(relation)
                keyed: dict[str, Key] = {}
                for some in _parts(keys):
                    for row in fetched(connection, related(schema, type_, relation, some, limit=per_relation)):
                        if _has_key(row):
                            key = _key(schema, other, row, KEY)
                            keyed[other.id_of(key)] = key
                reached |= {id_: (other, keyed[id_]) for id_ in sorted(keyed) if id_ not in seen and id_ not in reached}
        found += reached
        seen |= set(reached)
        frontier = reached
        if not reached or len(found) >= MAX_EXPANDED:
            break
    return found[:MAX_EXPANDED]


def _rows(connection: Connection, schema: Schema, ids: Sequence[str], span: Span | None, max_rows: int) -> DomainResults:
    entities = _entities(schema, ids)
    asked = dict(list(entities.items())[:MAX_ENTITIES])
    tables: list[DomainTable] = []
    for type_, keys in _by_type(schema, asked):
        shown = schema.shown(type_)
        own = {_key(schema, type_, row, KEY): row for row in fetched(connection, own_rows(schema, type_, keys))}
        there = [key for key in keys if key in own]
        there += [key for key in own if key not in keys]  # A database may find `Acme` by `acme`.
        if there:
            about = ", ".join(map(type_.id_of, there[:max_rows]))
            tables.append(_table(schema, type_, shown, about, [own[key] for key in there], max_rows))
            tables += _belonging(connection, schema, type_, there, span, max_rows)
    problem = f"only the first {len(asked)} of {len(entities)} entities were looked up" if len(asked) < len(entities) else None
    return DomainResults(tables=tables, problem=problem)


def _belonging(
    connection: Connection, schema: Schema, type_: EntityType, keys: Sequence[Key], span: Span | None, max_rows: int
) -> Iterator[DomainTable]:
    """What belongs to each of these entities, by relation: also that there is nothing, which is an answer too."""
    for relation in (each for each in type_.relations if each.is_many):
        other = schema.to(relation)
        shown = schema.shown(other)
        when = f", {span.words}" if span and other.time else ""
        statement = related(schema, type_, relation, keys, shown=shown, span=span, limit=max_rows + 1)
        found: dict[str, list[Row[Any]]] = {type_.id_of(key): [] for key in keys}
        for row in fetched(connection, statement):
            found.setdefault(type_.id_of(_key(schema, type_, row, SOURCE)), []).append(row)
        for id_, rows in found.items():
            yield _table(schema, other, shown, f"{relation.name} of {id_}{when}", rows, max_rows)


def _table(schema: Schema, type_: EntityType, shown: Sequence[str], about: str, rows: Sequence[Row[Any]], max_rows: int) -> DomainTable:
    return DomainTable(
        table=str(type_.table),
        entity_type=type_.name,
        about=about,
        rows=[_readable(schema, type_, shown, row) for row in rows[:max_rows]],
        truncated=len(rows) > max_rows,
    )


def _readable(schema: Schema, type_: EntityType, shown: Sequence[str], row: Row[Any]) -> dict[str, Any]:
    values = zip(shown, _values(row, SHOWN), strict=True)
    return {column: schema.plain(type_, column, value) for column, value in values if is_shown(value)}


def _entities(schema: Schema, ids: Iterable[str]) -> Entities:
    """Those of the ids that may be entities, each once however its key is written: `order:007` is `order:7` where keys are numbers."""
    found: Entities = {}
    for id_ in ids:
        type_ = schema.ontology.type_of(id_)
        parts = type_.key_of(id_) if type_ else None
        if type_ and parts:
            values = [value_of(schema, schema.kind(type_, column), part) for column, part in zip(type_.key, parts, strict=True)]
            if None not in values:
                key = tuple(map(text_of, values))
                found.setdefault(type_.id_of(key), (type_, key))
    return found


def _by_type(schema: Schema, entities: Entities) -> Iterator[tuple[EntityType, list[Key]]]:
    """Keys by entity type, in the order of the ontology."""
    for type_ in schema.ontology.types.values():
        if keys := [key for of, key in entities.values() if of is type_]:
            yield type_, keys


def _has_key(row: Row[Any]) -> bool:
    """Whether it can be told from others: a part of a key may be missing, or empty."""
    return not any(value is None or value == "" for value in _values(row, KEY))


def _key(schema: Schema, type_: EntityType, row: Row[Any], letter: str) -> Key:
    texts = map(text_of, _values(row, letter))
    kinds = (schema.kind(type_, column) for column in type_.key)
    # A column of fixed width is filled up with spaces.
    return tuple(text.rstrip(" ") if isinstance(kind, types.CHAR) else text for text, kind in zip(texts, kinds, strict=True))


def _values(row: Row[Any], letter: str) -> list[Any]:
    """The values of a row whose labels begin with this letter, in their order."""
    return [value for label, value in row._mapping.items() if label[:1] == letter and label[1:].isdigit()]


def _parts(things: Sequence[T]) -> Iterator[Sequence[T]]:
    return (things[start : start + AT_ONCE] for start in range(0, len(things), AT_ONCE))

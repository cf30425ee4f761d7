"""The ontology: a YAML file that says which entities are in which tables, what they are called, and how they are related."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar
from urllib.parse import quote, unquote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml
from pydantic import BeforeValidator, Field, model_validator

from ..errors import InvalidInput
from ..shapes import Section
from ..shapes import shown as shown_value

S = TypeVar("S", bound=Section)

_RESERVED: Final = re.compile(r"[%,\s\x00-\x1f\x7f]")
_JOIN: Final = re.compile(r"\s*([^=]+?)\s*=\s*([^=]+?)\s*")
_TYPE: Final = re.compile(r"[a-z][a-z0-9_-]*")
"""As ids of entities begin elsewhere too, so that a memory can name one of these by its id."""

Column = Annotated[str, Field(min_length=1)]
Columns = Annotated[list[Column], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]
"""One, or a list of them."""


class OntologyFile(Section):
    """What the file has."""

    timezone: str | None = None
    entities: dict[str, Any]


class EntityKeys(Section):
    """What an entity type may say."""

    table: Column
    key: Columns
    name: Columns = Field(default=[])
    aliases: Columns = Field(default=[])
    time: Column | None = None
    columns: Columns | None = None
    hide: Columns = Field(default=[])
    relations: dict[str, Any] = Field(default={})

    @model_validator(mode="after")
    def _whole(self) -> EntityKeys:
        if not self.key:
            raise ValueError("key is []: name at least one column")
        if self.columns is not None and self.hide:
            raise ValueError("it has both 'columns' and 'hide': say which are shown, or which are not")
        return self


class RelationKeys(Section):
    """What a relation may say."""

    to: str
    join: Columns
    via: Column | None = None
    then: Columns = Field(default=[])
    cardinality: Literal["one", "many"] = "many"

    @model_validator(mode="after")
    def _whole(self) -> RelationKeys:
        if not self.join:
            raise ValueError("join is []: write COLUMN = COLUMN")
        if (self.via is None) == bool(self.then):
            raise ValueError("give both 'via', the table between, and 'then', how it is joined to the other entity; or none of them")
        return self


Pairs = tuple[tuple[str, str], ...]
"""Columns that are equal: of the one table, of the other."""


@dataclass(frozen=True, slots=True)
class TableName:
    """A table, and its schema where one is named."""

    name: str
    schema: str | None = None

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name


@dataclass(frozen=True, slots=True)
class Relation:
    """Which entities belong to one of another type, or the same."""

    name: str
    to: str
    join: Pairs
    via: TableName | None = None
    then: Pairs = ()
    is_many: bool = True


@dataclass(frozen=True, slots=True)
class EntityType:
    """Entities of one type, each a row of a table."""

    name: str
    table: TableName
    key: tuple[str, ...]
    called: tuple[str, ...] = ()
    """The columns whose values, with a space between, are its name."""
    aliases: tuple[str, ...] = ()
    time: str | None = None
    columns: tuple[str, ...] | None = None
    """Those that are shown; None for all."""
    hidden: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()

    def id_of(self, key: Iterable[str]) -> str:
        """The canonical id of a key: `order:17`, `line:17,2`. What would be misread in it is percent-escaped."""
        return f"{self.name}:{','.join(_RESERVED.sub(lambda found: quote(found[0], safe=''), part) for part in key)}"

    def key_of(self, canonical_id: str) -> tuple[str, ...] | None:
        """The key of a canonical id of this type; None where it has not as many parts as the key has columns."""
        rest = canonical_id.partition(":")[2]
        parts = rest.split(",") if len(self.key) > 1 else [rest]
        return tuple(map(unquote, parts)) if len(parts) == len(self.key) and all(parts) else None


@dataclass(frozen=True, slots=True)
class Ontology:
    """All entity types by name, in the order of the file."""

    types: Mapping[str, EntityType]
    zone: ZoneInfo | None = None
    """Of times without a zone; None where the file does not say, which is UTC."""

    def type_of(self, canonical_id: str) -> EntityType | None:
        return self.types.get(canonical_id.partition(":")[0])


def read_ontology(path: str) -> Ontology:
    """The ontology of a file."""
    try:
        found = yaml.safe_load(Path(path).expanduser().read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"the ontology {path!r} cannot be read ({error.strerror}): check memory.domain.ontology") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the ontology {path!r} is not YAML: {' '.join(str(error).split())}") from None
    try:
        return ontology(found)
    except InvalidInput as error:
        raise InvalidInput(f"the ontology {path!r}: {error}") from None


def ontology(values: object) -> Ontology:
    """The ontology of what such a file holds."""
    file = _checked(OntologyFile, values, "")
    if not file.entities:
        raise InvalidInput("entities is empty: name at least one entity type")
    types = {_type_name(name): _entity_type(name, keys) for name, keys in file.entities.items()}
    for type_ in types.values():
        for relation in type_.relations:
            if relation.to not in types:
                place = f"entities.{type_.name}.relations.{relation.name}.to"
                raise InvalidInput(f"{place} is {relation.to!r}: {nearest(relation.to, types, 'entity type')}")
    return Ontology(types, _zone(file.timezone))


def nearest(name: str, known: Iterable[str], what: str) -> str:
    """In words, that there is no such thing, and what there is."""
    names = sorted(known)
    by_fold = {each.casefold(): each for each in names}
    close = get_close_matches(name.casefold(), by_fold, n=1)
    hint = f" (did you mean {by_fold[close[0]]!r}?)" if close else ""
    listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return f"there is no such {what}, there {'is none' if not names else f'are {listed}'}{hint}"


def _entity_type(name: str, values: object) -> EntityType:
    place = f"entities.{name}"
    keys = _checked(EntityKeys, values, place)
    return EntityType(
        name=name,
        table=_table(keys.table, f"{place}.table"),
        key=tuple(keys.key),
        called=tuple(keys.name),
        aliases=tuple(keys.aliases),
        time=keys.time,
        columns=None if keys.columns is None else tuple(keys.columns),
        hidden=tuple(keys.hide),
        relations=tuple(_relation(str(each), given, f"{place}.relations.{each}") for each, given in keys.relations.items()),
    )


def _relation(name: str, values: object, place: str) -> Relation:
    keys = _checked(RelationKeys, values, place)
    return Relation(
        name=name,
        to=keys.to,
        join=tuple(_pair(each, f"{place}.join") for each in keys.join),
        via=None if keys.via is None else _table(keys.via, f"{place}.via"),
        then=tuple(_pair(each, f"{place}.then") for each in keys.then),
        is_many=keys.cardinality == "many",
    )


def _checked(model: type[S], values: object, place: str) -> S:
    try:
        return model.model_validate(values)
    except InvalidInput as error:
        said = str(error).replace(f"in {model.__name__}:", "here:").replace(f"{model.__name__} is", "it is")
        raise InvalidInput(f"{place}: {said}" if place else said) from None


def _type_name(name: object) -> str:
    if not isinstance(name, str) or not _TYPE.fullmatch(name):
        raise InvalidInput(f"entities: {shown_value(name)} is no name of an entity type: use letters from a to z, digits, '_' and '-'")
    return name


def _table(name: str, place: str) -> TableName:
    schema, _, table = name.rpartition(".")
    if not table or name.startswith("."):
        raise InvalidInput(f"{place} is {name!r}: write TABLE or SCHEMA.TABLE")
    return TableName(table, schema or None)


def _pair(join: str, place: str) -> tuple[str, str]:
    if not (found := _JOIN.fullmatch(join)):
        raise InvalidInput(f"{place} is {join!r}: write COLUMN = COLUMN, the column of the entity first")
    return found[1], found[2]


def _zone(name: str | None) -> ZoneInfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, ZoneInfoNotFoundError):
        raise InvalidInput(f"timezone is {name!r}: give one such as 'Europe/Berlin'") from None

"""Filters as lists of items that an index has in order of time: all that pass are in each of the lists.

An item is in the list of its scope, of its status, of its kind and status, and of each entity and each text in its metadata. A list is
named by a digest, so that any text fits into an index; in it items have an age, which falls as `created_at` rises, and a key.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from ...filters import And, Compare, Field, Filter, Not, OneOf, Relation, Scalar, metadata_values
from ...model import STATUSES, Item, digest
from .connecting import Server
from .keys import key_of, micros, value_of

Name = Literal["among", "among_status", "among_kind"]

FEW: Final = 2_000
"""Lists are counted up to here to see which is the shortest: beyond it they are long."""
COMPARED: Final = 8
"""Lists of entities and texts that are counted: a filter may ask for hundreds at once."""
FAR: Final = 2**62


class Listed(NamedTuple):
    """Lists of which an item that passes is in one."""

    label: Literal["Item", "Value"]
    name: Name
    among: list[str]

    def match(self, condition: str) -> str:
        """Finds the items `i` of the list `among` for which a condition holds. Under another name than that by which the index has them
        the server sorts them all, and without being told to seek in which index it reads all items where it knows of few."""
        if self.label == "Item":
            return f"{self._found} AND {condition}"
        return f"{self._found} WITH x MATCH (i:Item) USING INDEX SEEK i:Item(key) WHERE i.key = x.key AND {condition}"

    def counting(self, named: str) -> str:
        """Counts what is in the lists that a parameter has, up to a few."""
        return f"CALL () {{ UNWIND ${named} AS among {self._found} WITH {self._own} LIMIT $few RETURN count(*) AS {named} }}"

    @property
    def order(self) -> str:
        """That in which the index has them."""
        return f"{self._own}.{self.name}, {self._own}.age, {self._own}.key"

    @property
    def _own(self) -> str:
        return "i" if self.label == "Item" else "x"

    @property
    def _found(self) -> str:
        own = self._own
        return (
            f"MATCH ({own}:{self.label}) USING INDEX SEEK {own}:{self.label}({self.name}, age, key) "
            f"WHERE {own}.{self.name} = among AND {own}.age >= $first AND {own}.age <= $last AND {own}.key IS NOT NULL"
        )


class Narrowed(NamedTuple):
    """The lists that a filter gives, and between which ages; and the contents of which an item has one, where they are asked for."""

    every: Listed
    lists: list[Listed]
    first: int
    last: int
    contents: list[str] | None

    @property
    def ages(self) -> dict[str, Any]:
        return {"first": self.first, "last": self.last}


def listed(item: Item) -> dict[str, Any]:
    """What an item's own node is listed by."""
    return {
        "age": -micros(item.created_at),
        "among": _every(item.scope),
        "among_status": _status(item.scope, item.status),
        "among_kind": _kind(item.scope, item.kind, item.status),
    }


def values(item: Item) -> list[dict[str, Any]]:
    """A row for each further list that an item is in."""
    key, age = key_of(item.scope, item.id), -micros(item.created_at)
    lists = [_entity(item.scope, each) for each in dict.fromkeys(item.entities)]
    lists += [_text(item.scope, name, value) for name, value in metadata_values(item.metadata) if isinstance(value, str)]
    return [{"among": among, "age": age, "key": key} for among in lists]


def narrowed(where: Filter | None, scope: str) -> Narrowed:
    """The lists of a filter."""
    parts = list(_parts(where))
    kinds, statuses = _chosen(parts, "kind", None), _chosen(parts, "status", STATUSES)
    lists = [Listed("Value", "among", found) for part in parts if (found := _values(part, scope)) is not None][:COMPARED]
    if kinds is not None:
        lists.append(Listed("Item", "among_kind", [_kind(scope, kind, status) for kind in kinds for status in statuses or ()]))
    elif statuses is not None and len(statuses) < len(STATUSES):
        lists.append(Listed("Item", "among_status", [_status(scope, status) for status in statuses]))
    first, last = -FAR, FAR
    for part in parts:
        match part:
            case Compare(Field("created_at", True), relation, datetime() as value):
                youngest, oldest = _ages(relation, -micros(value))
                first, last = max(first, youngest), min(last, oldest)
    return Narrowed(Listed("Item", "among", [_every(scope)]), lists, first, last, _chosen(parts, "content_hash", None))


async def shortest(server: Server, found: Narrowed) -> Listed:
    """The list that has the fewest, as far as they are counted; of equal ones the first."""
    if len(found.lists) < 2:
        return found.lists[0] if found.lists else found.every
    counts = await counted(server, found, found.lists)
    return found.lists[min(range(len(counts)), key=counts.__getitem__)]


async def short(server: Server, found: Narrowed) -> Listed | None:
    """The list that has the fewest, where it is short."""
    lists = found.lists if found.lists else [found.every] if (found.first, found.last) != (-FAR, FAR) else []
    counts = await counted(server, found, lists) if lists else []
    return lists[counts.index(min(counts))] if counts and min(counts) < FEW else None


async def counted(server: Server, found: Narrowed, lists: list[Listed]) -> list[int]:
    """How many are in each, up to a few."""
    names = [f"among{at}" for at in range(len(lists))]
    each = " ".join(one.counting(name) for name, one in zip(names, lists, strict=True))
    values = {name: one.among for name, one in zip(names, lists, strict=True)}
    (counts,) = await server.read(f"{each} RETURN {', '.join(names)}", few=FEW, **values, **found.ages)
    return list(counts)


def _parts(where: Filter | None) -> Iterator[Filter]:
    """What has to hold, each alone."""
    match where:
        case None:
            return
        case And(parts):
            for part in parts:
                yield from _parts(part)
        case _:
            yield where


def _chosen(parts: list[Filter], name: str, every: tuple[str, ...] | None) -> list[str] | None:
    """The values that a field of the item may have, where they are known."""
    chosen: list[str] | None = None if every is None else list(every)
    for part in parts:
        match part:
            case Compare(Field(own, True), "eq", str(value)) if own == name:
                wanted: tuple[Scalar, ...] = (value,)
            case OneOf(Field(own, True), values) if own == name:
                wanted = values
            case Not(Compare(Field(own, True), "eq", value)) if own == name and every is not None:
                wanted = tuple(each for each in every if each != value)
            case Not(OneOf(Field(own, True), values)) if own == name and every is not None:
                wanted = tuple(each for each in every if each not in values)
            case _:
                continue
        texts = [value for value in dict.fromkeys(wanted) if isinstance(value, str)]
        chosen = texts if chosen is None else [value for value in chosen if value in texts]
    return chosen


def _values(part: Filter, scope: str) -> list[str] | None:
    """The lists of entities, or of texts in metadata, one of which a part of a filter asks for."""
    match part:
        case Compare(Field() as field, "eq", str(value)):
            wanted: tuple[Scalar, ...] = (value,)
        case OneOf(Field() as field, values):
            wanted = values
        case _:
            return None
    texts = [value for value in dict.fromkeys(wanted) if isinstance(value, str)]
    if field.has_several:
        return [_entity(scope, value) for value in texts]
    is_known = not field.of_item and all(isinstance(value, str) for value in wanted)
    return [_text(scope, field.name, value) for value in texts] if is_known else None


def _ages(relation: Relation, age: int) -> tuple[int, int]:
    match relation:
        case "eq":
            return age, age
        case "gt":
            return -FAR, age - 1
        case "gte":
            return -FAR, age
        case "lt":
            return age + 1, FAR
        case "lte":
            return age, FAR


def _every(scope: str) -> str:
    return digest(scope)


def _status(scope: str, status: str) -> str:
    return digest(scope, "status", status)


def _kind(scope: str, kind: str, status: str) -> str:
    return digest(scope, "kind", kind, status)


def _entity(scope: str, entity: str) -> str:
    return digest(scope, "entity", entity)


def _text(scope: str, name: str, value: str) -> str:
    return digest(scope, "metadata", value_of(name, value))

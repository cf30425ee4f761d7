"""Filters: a small typed tree, parsed from the operator form users know and compiled by each store with bound parameters.

    {"status": "approved", "year": {"gte": 2024}, "OR": [{"path": {"glob": "src/**"}}, {"tags": "api"}]}

A name is a field of the item or else of its metadata (`metadata.NAME` says so in full). A metadata value that is a
list matches when one of its elements does, and so do the entities of an item. `matches` is the meaning; every store must agree with it.
"""

from __future__ import annotations

import re
from calendar import isleap, monthrange
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from operator import eq, ge, gt, le, lt
from typing import Any, Final, Literal, TypeAlias

from .errors import InvalidInput
from .globs import matcher
from .model import FORMATS, STATUSES, Item

Scalar: TypeAlias = str | int | float | bool | datetime
Type = Literal["text", "number", "boolean", "time"]
Relation = Literal["eq", "gt", "gte", "lt", "lte"]

ITEM_FIELDS: Final[Mapping[str, Type]] = {
    "id": "text",
    "kind": "text",
    "format": "text",
    "source": "text",
    "source_ref": "text",
    "title": "text",
    "status": "text",
    "version": "text",
    "content_hash": "text",
    "created_at": "time",
    "updated_at": "time",
    "importance": "number",
    "use_count": "number",
    "entities": "text",
}
OF_SEVERAL_VALUES: Final = ("entities",)
"""Fields of the item that hold any number of values, of which one has to match."""
ALIASES: Final[Mapping[str, str]] = {"path": "source_ref"}
ALLOWED_VALUES: Final[Mapping[str, tuple[str, ...]]] = {"status": STATUSES, "format": FORMATS}
OPERATORS: Final = ("eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "prefix", "glob", "exists")
OPERATORS_OF_SEVERAL: Final = ("eq", "ne", "in", "nin", "exists")
RELATIONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {"eq": eq, "gt": gt, "gte": ge, "lt": lt, "lte": le}
MAX_DEPTH: Final = 32
MAX_VALUES: Final = 10_000
# SQLite takes an expression 1,000 deep, and a condition makes it up to three deeper: 400 prefixes of a path, all to hold, were refused.
MAX_CONDITIONS: Final = 300
LATEST: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Field:
    """A field by name: of the item itself, or of its metadata."""

    name: str
    of_item: bool

    @property
    def type(self) -> Type | None:
        """What it holds, where that is fixed."""
        return ITEM_FIELDS[self.name] if self.of_item else None

    @property
    def has_several(self) -> bool:
        """Whether it is a field of the item that holds any number of values."""
        return self.of_item and self.name in OF_SEVERAL_VALUES


@dataclass(frozen=True, slots=True)
class Compare:
    field: Field
    relation: Relation
    value: Scalar


@dataclass(frozen=True, slots=True)
class OneOf:
    field: Field
    values: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class StartsWith:
    field: Field
    prefix: str


@dataclass(frozen=True, slots=True)
class Glob:
    """A text as a pattern says; see `globs`."""

    field: Field
    pattern: str


@dataclass(frozen=True, slots=True)
class Exists:
    field: Field


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Filter


Filter: TypeAlias = Compare | OneOf | StartsWith | Glob | Exists | And | Or | Not


def parse(where: object) -> Filter | None:
    """The filter of an operator form; None where it asks for nothing."""
    if where is None or where == {}:
        return None
    found = _parse(where, 0)
    if (count := _conditions(found)) > MAX_CONDITIONS:
        raise InvalidInput(
            f"the filter has {count} conditions, and {MAX_CONDITIONS} is the most: "
            "ask for many values of a field by 'in', for a span of time by 'gte' and 'lt'"
        )
    return found


def _conditions(where: Filter) -> int:
    """How much there is to check: each condition, however long its list, and each AND, OR and NOT."""
    match where:
        case And(parts) | Or(parts):
            return 1 + sum(map(_conditions, parts))
        case Not(part):
            return 1 + _conditions(part)
    return 1


def _parse(where: object, depth: int) -> Filter:
    if depth > MAX_DEPTH:
        raise InvalidInput(f"the filter is nested more than {MAX_DEPTH} deep: flatten it")
    if not isinstance(where, Mapping):
        raise InvalidInput(f'a filter is an object such as {{"status": "approved"}}, not {where!r}')
    return _all([_member(name, value, depth) for name, value in where.items()])


def _member(name: object, value: object, depth: int) -> Filter:
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"a filter's field is a name, not {name!r}")
    if name in ("AND", "OR"):
        if not isinstance(value, Sequence) or isinstance(value, str) or not value:
            raise InvalidInput(f"{name} takes a list of filters, not {value!r}")
        parts = [_parse(part, depth + 1) for part in value]
        return _all(parts) if name == "AND" else Or(tuple(parts))
    if name == "NOT":
        return Not(_parse(value, depth + 1))
    field = field_named(name)
    if isinstance(value, Mapping):
        if not value:
            raise InvalidInput(f"the filter on {name!r} is empty: give a value or one of {', '.join(OPERATORS)}")
        return _all([_operation(field, operator, operand) for operator, operand in value.items()])
    return _operation(field, "in" if isinstance(value, list | tuple) else "eq", value)


def field_named(name: str) -> Field:
    """The field a user means by a name."""
    if name.startswith("metadata."):
        return Field(name.removeprefix("metadata."), of_item=False)
    name = ALIASES.get(name, name)
    return Field(name, of_item=name in ITEM_FIELDS)


def _operation(field: Field, operator: object, operand: object) -> Filter:
    if field.has_several and operator in OPERATORS and operator not in OPERATORS_OF_SEVERAL:
        usable = ", ".join(OPERATORS_OF_SEVERAL)
        raise InvalidInput(f"{operator!r} is not for {field.name!r}, which holds several texts: use one of {usable}")
    match operator:
        case "eq" | "gt" | "gte" | "lt" | "lte":
            return _compare(field, operator, operand)
        case "ne":
            return Not(_compare(field, "eq", operand))
        case "in" | "nin":
            if not isinstance(operand, list | tuple) or len(operand) > MAX_VALUES:
                raise InvalidInput(f"{operator!r} on {field.name!r} takes a list of at most {MAX_VALUES} values, not {operand!r:.80}")
            found = _one_of(field, operand)
            return found if operator == "in" else Not(found)
        case "prefix" | "glob":
            if not isinstance(operand, str) or not operand:
                raise InvalidInput(f"{operator!r} on {field.name!r} takes a text, not {operand!r}")
            if field.type not in (None, "text"):
                raise InvalidInput(f"{operator!r} needs a text field; {field.name!r} holds a {field.type}")
            return StartsWith(field, operand) if operator == "prefix" else Glob(field, operand)
        case "exists":
            if not isinstance(operand, bool):
                raise InvalidInput(f"'exists' on {field.name!r} takes true or false, not {operand!r}")
            return Exists(field) if operand else Not(Exists(field))
    raise InvalidInput(f"unknown operator {operator!r} on {field.name!r}: use one of {', '.join(OPERATORS)}")


def _one_of(field: Field, operands: Sequence[object]) -> Filter:
    if field.type == "time":
        return Or(tuple(_compare(field, "eq", operand) for operand in operands))
    return OneOf(field, tuple(_scalar(field, operand) for operand in operands))


def _compare(field: Field, relation: Relation, operand: object) -> Filter:
    if field.type == "time":
        return _compare_time(field, relation, operand)
    value = _scalar(field, operand)
    if relation != "eq" and isinstance(value, bool):
        raise InvalidInput(f"{relation!r} on {field.name!r} takes a number or a text, not {operand!r}")
    return Compare(field, relation, value)


def _scalar(field: Field, operand: object) -> Scalar:
    if isinstance(operand, datetime):
        operand = operand.isoformat()
    if not isinstance(operand, str | int | float | bool) or operand != operand:
        raise InvalidInput(f"the filter on {field.name!r} takes a text, a number, true or false, not {operand!r}")
    if isinstance(operand, int) and not -(2**63) <= operand < 2**63:
        raise InvalidInput(f"the number {operand} in the filter on {field.name!r} is too large")
    if field.type == "number" and (isinstance(operand, str | bool)):
        raise InvalidInput(f"{field.name!r} holds a number, not {operand!r}")
    if field.type == "text" and not isinstance(operand, str):
        raise InvalidInput(f"{field.name!r} holds a text, not {operand!r}: put it in quotes")
    if field.of_item and field.name in ALLOWED_VALUES and operand not in ALLOWED_VALUES[field.name]:
        raise InvalidInput(f"{field.name!r} is one of {', '.join(ALLOWED_VALUES[field.name])}, not {operand!r}")
    return operand


_PERIOD = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")


def period(text: str) -> tuple[datetime, datetime]:
    """The span a date names: `2024`, `2024-05`, `2024-05-17`, or the microsecond of a full ISO time.

    Half-open, and at the end of the calendar cut short by its last microsecond."""
    if found := _PERIOD.fullmatch(text):
        year, month, day = found.groups(default="")
        start = datetime(int(year), int(month or 1), int(day or 1), tzinfo=UTC)
        days = 1 if day else monthrange(start.year, start.month)[1] if month else 365 + isleap(start.year)
        return start, start + min(timedelta(days=days), LATEST - start)
    moment = datetime.fromisoformat(text)
    moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment, moment + min(timedelta(microseconds=1), LATEST - moment)


def _compare_time(field: Field, relation: Relation, operand: object) -> Filter:
    text = operand.isoformat() if isinstance(operand, datetime) else str(operand) if isinstance(operand, int) else operand
    try:
        if not isinstance(text, str):
            raise ValueError
        start, end = period(text)
    except (ValueError, OverflowError):
        raise InvalidInput(f"{field.name!r} holds a time, not {operand!r}: write it as 2024, 2024-05-17 or 2024-05-17T12:30:00Z") from None
    match relation:
        case "gte":
            return Compare(field, "gte", start)
        case "gt":
            return Compare(field, "gte", end)
        case "lt":
            return Compare(field, "lt", start)
        case "lte":
            return Compare(field, "lt", end)
        case _:
            return And((Compare(field, "gte", start), Compare(field, "lt", end)))


def _all(parts: list[Filter]) -> Filter:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def check(where: Filter, known: Mapping[str, frozenset[str]]) -> None:
    """Refuse a filter on a metadata field that no item has, or that holds values of another type."""
    match where:
        case And(parts) | Or(parts):
            for part in parts:
                check(part, known)
        case Not(part):
            check(part, known)
        case Compare(field, _, value):
            _check_values(field, (value,), known)
        case OneOf(field, values):
            _check_values(field, values, known)
        case StartsWith(field, text) | Glob(field, text):
            _check_values(field, (text,), known)
        case Exists(field):
            _check_values(field, (), known)


def _check_values(field: Field, values: Sequence[Scalar], known: Mapping[str, frozenset[str]]) -> None:
    if field.of_item:
        return
    if field.name not in known:
        names = sorted({*ITEM_FIELDS, *ALIASES, *known})
        close = get_close_matches(field.name, names, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names)}"
        raise InvalidInput(f"no item has a field {field.name!r}: {hint}")
    for value in values:
        if type_of(value) not in known[field.name]:
            raise InvalidInput(f"{field.name!r} holds {' or '.join(sorted(known[field.name]))}, not {value!r}")


def type_of(value: object) -> str:
    """The type under which a metadata value is kept."""
    return "boolean" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "text"


def metadata_values(metadata: Mapping[str, Any]) -> list[tuple[str, str | int | float | bool]]:
    """What filters and facets see of an item's metadata: its scalars, and the scalars of its lists, each once."""
    seen: dict[tuple[str, str, str | int | float | bool], None] = {}
    for name, value in metadata.items():
        for element in value if isinstance(value, list | tuple) else (value,):
            if isinstance(element, str | int | float | bool):
                seen.setdefault((name, type_of(element), element))
    return [(name, value) for name, _, value in seen]


def matches(where: Filter, item: Item) -> bool:
    """Whether the filter holds for the item."""
    match where:
        case And(parts):
            return all(matches(part, item) for part in parts)
        case Or(parts):
            return any(matches(part, item) for part in parts)
        case Not(part):
            return not matches(part, item)
        case Compare(field, relation, value):
            holds = RELATIONS[relation]
            return any(type_of(v) == type_of(value) and holds(v, value) for v in values_of(field, item))
        case OneOf(field, values):
            return any(type_of(v) == type_of(value) and v == value for v in values_of(field, item) for value in values)
        case StartsWith(field, prefix):
            return any(isinstance(v, str) and v.startswith(prefix) for v in values_of(field, item))
        case Glob(field, pattern):
            return any(isinstance(v, str) and matcher(pattern)(v) for v in values_of(field, item))
        case Exists(field):
            return bool(values_of(field, item))


def values_of(field: Field, item: Item) -> list[Any]:
    """The values an item has for a field."""
    if not field.of_item:
        return [value for name, value in metadata_values(item.metadata) if name == field.name]
    value = getattr(item, field.name)
    if field.has_several:
        return list(dict.fromkeys(value))
    return [] if value is None else [value]

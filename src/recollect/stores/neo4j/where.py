"""Filters as Cypher: conditions on an item `i`, in which every value is a parameter and every name one of our own."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final, NamedTuple

from ...errors import InvalidInput
from ...filters import And, Compare, Exists, Field, Filter, Glob, Not, OneOf, Or, Relation, Scalar, StartsWith
from ...globs import backtracking_regexes_of
from .keys import field_of, key_of, micros, ordered, value_of

SIGNS: Final[dict[Relation, str]] = {"eq": "=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_ONE = re.compile(r"\[\^/\](?!\*)")
_ONE_AS_KEPT = "(?:\ud7ff.{6}|[^/\ud7ff])"
"""One character that is no slash, of a text as `ordered` has it."""


class Condition(NamedTuple):
    """A condition, and the values it names."""

    text: str
    values: dict[str, Any]


def holds(where: Filter | None, scope: str) -> Condition:
    """The condition on an item `i` of the scope: true or false, and never null."""
    if where is None:
        return Condition("true", {})
    compiler = _Compiler(scope)
    text = compiler.compile(where)
    return Condition(text, compiler.values)


class _Compiler:
    def __init__(self, scope: str) -> None:
        self.scope = scope
        self.values: dict[str, Any] = {}

    def given(self, value: Any) -> str:
        """The parameter of a value."""
        name = f"where{len(self.values)}"
        self.values[name] = value
        return f"${name}"

    def compile(self, where: Filter) -> str:
        match where:
            case And(parts):
                return "(" + " AND ".join(map(self.compile, parts)) + ")" if parts else "true"
            case Or(parts):
                return "(" + " OR ".join(map(self.compile, parts)) + ")" if parts else "false"
            case Not(part):
                return f"NOT {self.compile(part)}"
            case Compare(field, _, value) if field.has_several:
                return self.has_any(field, (value,))
            case OneOf(field, values) if field.has_several:
                return self.has_any(field, values)
            case Exists(field) if field.has_several:
                return f"size(i.{field.name}) > 0"
            case Compare(field, relation, value) if field.of_item:
                return self.of_item(field, relation, value)
            case Compare(field, "eq", value):
                return f"{self.given(value_of(field.name, value))} IN i.fields"
            case Compare(field, relation, value):
                kept = value_of(field.name, value)
                begins, bound = self.given(_beginning(field, value)), self.given(kept)
                return f"any(f IN i.fields WHERE f STARTS WITH {begins} AND f {SIGNS[relation]} {bound})"
            case OneOf(field, values) if field.of_item:
                return f"coalesce(i.{field.name} IN {self.given([*map(_operand, values)])}, false)"
            case OneOf(field, values):
                kept_values = [value_of(field.name, value) for value in values]
                return f"any(f IN i.fields WHERE f IN {self.given(kept_values)})"
            case StartsWith(field, prefix) if field.of_item:
                return f"coalesce(i.{field.name} STARTS WITH {self.given(prefix)}, false)"
            case StartsWith(field, prefix):
                return f"any(f IN i.fields WHERE f STARTS WITH {self.given(value_of(field.name, prefix))})"
            case Glob(field, pattern) if field.of_item:
                matches = self.any_of(f"i.{field.name}", _regexes(pattern))
                return f"coalesce({matches}, false)"
            case Glob(field, pattern):
                own = re.escape(field_of(field.name, "text"))
                as_kept = [_ONE.sub(lambda _: _ONE_AS_KEPT, regex) for regex in _regexes(ordered(pattern))]
                begins = self.given(field_of(field.name, "text"))
                return f"any(f IN i.fields WHERE f STARTS WITH {begins} AND {self.any_of('f', [own + each for each in as_kept])})"
            case Exists(field) if field.of_item:
                return f"i.{field.name} IS NOT NULL"
            case Exists(field):
                each = [f"f STARTS WITH {self.given(field_of(field.name, kind))}" for kind in ("text", "number", "boolean")]
                return f"any(f IN i.fields WHERE {' OR '.join(each)})"

    def has_any(self, field: Field, values: tuple[Scalar, ...]) -> str:
        return f"any(each IN i.{field.name} WHERE each IN {self.given(list(values))})"

    def of_item(self, field: Field, relation: Relation, value: Scalar) -> str:
        if field.name == "id" and relation != "eq":
            return f"i.key {SIGNS[relation]} {self.given(key_of(self.scope, str(value)))}"
        return f"coalesce(i.{field.name} {SIGNS[relation]} {self.given(_operand(value))}, false)"

    def any_of(self, what: str, regexes: list[str]) -> str:
        return "(" + " OR ".join(f"{what} =~ {self.given('(?s)' + regex)}" for regex in regexes) + ")"


def _operand(value: Scalar) -> Any:
    """The value as it is kept on an item."""
    return micros(value) if isinstance(value, datetime) else value


def _beginning(field: Field, value: Scalar) -> str:
    return field_of(field.name, "text" if isinstance(value, str) else "number")


def _regexes(pattern: str) -> list[str]:
    found = backtracking_regexes_of(pattern)
    if found is None:
        raise InvalidInput(f"the glob {pattern[:80]!r} has too many '**/' within names: write '/**/' for any folders between two")
    return found

"""Conditions on a column that holds a JSON list of texts, each written once and spelled as its database has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Boolean, ColumnElement, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


def has_any(lists: InstrumentedAttribute[Any], texts: Sequence[Any]) -> ColumnElement[bool]:
    """Whether the list has one of the texts. They are one bound parameter, a list as the column holds it, however many there are."""
    return _HasAny(lists, literal(list(texts), lists.type))


def is_filled(lists: InstrumentedAttribute[Any]) -> ColumnElement[bool]:
    """Whether there is anything in the list."""
    return lists != literal([], lists.type)


class _HasAny(FunctionElement[bool]):
    """A column with a list, and another list."""

    name = "has_any"
    type = Boolean()
    inherit_cache = True


@compiles(_HasAny, "sqlite")
def _on_sqlite(element: _HasAny, compiler: SQLCompiler, **options: Any) -> str:
    """A value ends at its first NUL. Given two paths `json_extract` gives JSON, where it does not: what seems equal is compared again."""
    column, asked = (compiler.process(clause, **options) for clause in element.clauses)
    return (
        f"EXISTS (SELECT 1 FROM json_each({column}) AS own WHERE own.value IN (SELECT value FROM json_each({asked}))"
        f" AND json_extract(own.json, own.fullkey, own.fullkey) IN (SELECT json_extract(json, fullkey, fullkey) FROM json_each({asked})))"
    )


@compiles(_HasAny, "postgresql")
def _on_postgres(element: _HasAny, compiler: SQLCompiler, **options: Any) -> str:
    column, asked = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} @> ANY (ARRAY(SELECT jsonb_build_array(value) FROM jsonb_array_elements({asked})))"

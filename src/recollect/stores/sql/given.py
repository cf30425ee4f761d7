"""A condition that a column has one of any number of values; on Postgres one array, so that the statement is always the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Dialect, TypeDecorator, bindparam
from sqlalchemy.dialects.postgresql import ARRAY, TEXT
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import Boolean

from .types import POSTGRES, escaped


class Texts(TypeDecorator[Sequence[str]]):
    """Texts as Postgres keeps them."""

    impl = ARRAY(TEXT)
    cache_ok = True

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> list[str] | None:
        return None if value is None else [*map(escaped, value)]


class _Given(FunctionElement[bool]):
    """The condition as SQLite has it, and as Postgres has it."""

    inherit_cache = True
    type = Boolean()


def given(column: Any, name: str, *, numbers: bool = False) -> ColumnElement[bool]:
    """Whether the column has one of the values of the parameter of this name."""
    array = bindparam(name, type_=ARRAY(BigInteger) if numbers else Texts())
    return _Given(column.in_(bindparam(name, expanding=True)), column, array)


@compiles(_Given)
def _in_list(element: _Given, compiler: SQLCompiler, **options: Any) -> str:
    listed, _, _ = element.clauses
    return compiler.process(listed, **options)


@compiles(_Given, POSTGRES)
def _in_array(element: _Given, compiler: SQLCompiler, **options: Any) -> str:
    column, array = (compiler.process(clause, **options) for clause in list(element.clauses)[1:])
    return f"{column} = ANY ({array})"

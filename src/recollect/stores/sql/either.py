"""A condition that Postgres is told in a form of its own, with the same meaning."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import BooleanClauseList
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import NullType

from .types import POSTGRES


class _Either(FunctionElement[Any]):
    """The condition as every other database has it, and as Postgres has it.

    It is not said to be a truth value: of one SQLite would be asked whether it is 1, and then look nothing up in an index."""

    inherit_cache = True
    type = NullType()


def either(condition: ColumnElement[bool], on_postgres: ColumnElement[bool]) -> ColumnElement[bool]:
    """The condition, or on Postgres the other."""
    return _Either(condition, on_postgres)


@compiles(_Either)
def _first(element: _Either, compiler: SQLCompiler, **options: Any) -> str:
    condition, _ = element.clauses
    return _told(condition, compiler, **options)


@compiles(_Either, POSTGRES)
def _second(element: _Either, compiler: SQLCompiler, **options: Any) -> str:
    _, on_postgres = element.clauses
    return _told(on_postgres, compiler, **options)


def _told(clause: Any, compiler: SQLCompiler, **options: Any) -> str:
    told = compiler.process(clause, **options)
    return f"({told})" if isinstance(clause, BooleanClauseList) else told

"""A condition that a text is as a glob says: by a function of ours on SQLite, by a regular expression on Postgres."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, ColumnElement, String, func, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from ...filters import glob_regex
from .types import POSTGRES, escaped


class _Like(FunctionElement[bool]):
    """The condition as SQLite has it, and what Postgres makes it of."""

    inherit_cache = True
    type = Boolean()


def like(column: Any, pattern: str) -> ColumnElement[bool]:
    """Whether the column's text is as the pattern says."""
    regex = f"^(?:{glob_regex(escaped(pattern)).pattern})$"
    return _Like(func.recollect_glob(pattern, column) == 1, column, literal(regex, String))


@compiles(_Like)
def _by_function(element: _Like, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(next(iter(element.clauses)), **options)


@compiles(_Like, POSTGRES)
def _by_regex(element: _Like, compiler: SQLCompiler, **options: Any) -> str:
    column, regex = (compiler.process(clause, **options) for clause in list(element.clauses)[1:])
    return f"{column} ~ {regex}"

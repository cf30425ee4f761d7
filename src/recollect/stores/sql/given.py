"""A condition that a column has one of any number of values; on Postgres one array, so that the statement is always the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Dialect, Float, TypeDecorator, any_, bindparam, literal
from sqlalchemy.dialects.postgresql import ARRAY, TEXT

from .either import either
from .types import escaped


class Texts(TypeDecorator[Sequence[str]]):
    """Texts as Postgres keeps them."""

    impl = ARRAY(TEXT)
    cache_ok = True

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> list[str] | None:
        return None if value is None else [*map(escaped, value)]


def given(column: Any, name: str, *, numbers: bool = False) -> ColumnElement[bool]:
    """Whether the column has one of the values of the parameter of this name."""
    array = bindparam(name, type_=ARRAY(BigInteger) if numbers else Texts())
    return either(column.in_(bindparam(name, expanding=True)), column == any_(array))


def one_of(column: Any, values: Sequence[Any]) -> ColumnElement[bool]:
    """Whether the column has one of these values, all texts or all numbers."""
    kept = Texts() if isinstance(values[0], str) else ARRAY(Float)
    return either(column.in_(values), column == any_(literal(values, kept)))

"""Column types that mean the same in every SQL database: times, texts compared by code points, JSON, and vectors."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from sqlalchemy import JSON, DateTime, Dialect, LargeBinary, String, Text, TypeDecorator
from sqlalchemy.dialects.postgresql import JSONB, TEXT
from sqlalchemy.types import TypeEngine, UserDefinedType

POSTGRES: Final = "postgresql"

# Postgres keeps no NUL in a text. So there it is U+0001 twice, and U+0001 itself has U+0002 after it: nothing is lost, and the order by
# code points, as every beginning, stays what it was.
_ESCAPED = str.maketrans({"\0": "\1\1", "\1": "\1\2"})
_UNESCAPED = re.compile("\1[\1\2]")


def escaped(text: str) -> str:
    """A text as Postgres can keep it."""
    return text.translate(_ESCAPED) if "\0" in text or "\1" in text else text


def unescaped(kept: str) -> str:
    """The text that was kept so."""
    return _UNESCAPED.sub(lambda pair: "\0" if pair.group() == "\1\1" else "\1", kept) if "\1" in kept else kept


class UtcTime(TypeDecorator[datetime]):
    """An aware time, kept in UTC; SQLite forgets the zone, so it is given back here."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.astimezone(UTC) if value else None

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        if dialect.name == POSTGRES:
            return lambda kept: kept.replace(tzinfo=UTC) if kept else None
        return lambda kept: datetime.fromisoformat(f"{kept}+00:00") if kept else None


class Exact(TypeDecorator[str]):
    """A text of any characters, compared by their code points whatever language the database is set to."""

    impl = String
    cache_ok = True

    def __init__(self, *, long: bool = False) -> None:
        super().__init__()
        self.long = long

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == POSTGRES:
            return dialect.type_descriptor(TEXT(collation="C"))
        return dialect.type_descriptor(Text() if self.long else String())

    def bind_processor(self, dialect: Dialect) -> Any:
        return (lambda value: None if value is None else escaped(value)) if dialect.name == POSTGRES else None

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        return (lambda value: None if value is None else unescaped(value)) if dialect.name == POSTGRES else None


class JsonList(TypeDecorator[list[str]]):
    """A list of texts that can be searched: on Postgres as JSONB, which takes no NUL either."""

    impl = JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(JSONB() if dialect.name == POSTGRES else JSON())

    def process_bind_param(self, value: list[str] | None, dialect: Dialect) -> list[str] | None:
        return [*map(escaped, value)] if value and dialect.name == POSTGRES else value

    def process_result_value(self, value: list[str] | None, dialect: Dialect) -> list[str] | None:
        return [*map(unescaped, value)] if value and dialect.name == POSTGRES else value


class _Halfvec(UserDefinedType[bytes]):
    """pgvector's own type, whose rows may be of any width."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "HALFVEC"


class HalfVector(TypeDecorator[bytes]):
    """A vector as float16, least byte first. Postgres has it the other way round, with its width in front."""

    impl = LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(_Halfvec() if dialect.name == POSTGRES else LargeBinary())

    def bind_processor(self, dialect: Dialect) -> Any:
        return wire if dialect.name == POSTGRES else None

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        return unwired if dialect.name == POSTGRES else None


def wire(vector: bytes) -> bytes:
    """A vector as it is sent to Postgres."""
    return (len(vector) // 2).to_bytes(2) + b"\0\0" + np.frombuffer(vector, "<f2").astype(">f2").tobytes()


def unwired(sent: bytes) -> bytes:
    """A vector as it came from Postgres."""
    return np.frombuffer(sent, ">f2", offset=4).astype("<f2").tobytes()

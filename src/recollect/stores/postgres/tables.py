"""The tables that only Postgres has, which is its own index: windows, how often their words occur, and the vectors of whole items."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Identity, Index, Integer, text
from sqlalchemy.dialects.postgresql import REAL
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import UserDefinedType

from ..sql.types import Exact, HalfVector


class PostgresTable(DeclarativeBase):
    """The root of these mapped classes."""


class Tsvector(UserDefinedType[bytes]):
    """Words with their places, as bytes in the form that Postgres sends and takes."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "TSVECTOR"


class Sparsevec(UserDefinedType[bytes]):
    """A sparse vector of pgvector's, in the form that Postgres sends and takes."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "SPARSEVEC"


class WordsRow(PostgresTable):
    """How the words of a scope stand: the number under which they are indexed, and of how many windows, words and chunks there are."""

    __tablename__ = "words"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger, Identity(always=True))
    windows: Mapped[int] = mapped_column(BigInteger, server_default="0")
    length: Mapped[int] = mapped_column(BigInteger, server_default="0")
    chunks: Mapped[int] = mapped_column(BigInteger, server_default="0")


class WindowRow(PostgresTable):
    """A window of an item's words (`stores.windows`), as `postgres.words` puts them; and, where an item has several, all of its words.

    Every word has the scope's number in front, so that the index on words leads with the scope."""

    __tablename__ = "windows"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    ordinal: Mapped[int] = mapped_column(Integer, primary_key=True)
    kind: Mapped[int] = mapped_column(Integer)
    length: Mapped[int] = mapped_column(Integer)
    norm: Mapped[float] = mapped_column(REAL)
    impacts: Mapped[bytes] = mapped_column(Sparsevec)
    words: Mapped[bytes] = mapped_column(Tsvector)

    __table_args__ = (
        Index("windows_by_words", "words", postgresql_using="gin"),
        Index("windows_too_large", "scope", "seq", postgresql_where=text("kind = 3")),
    )


class TermRow(PostgresTable):
    """In how many windows of the scope a word occurs."""

    __tablename__ = "terms"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    term: Mapped[str] = mapped_column(Exact, primary_key=True)
    windows: Mapped[int] = mapped_column(BigInteger)


class ItemVectorRow(PostgresTable):
    """The vector of a whole item in one space: the mean of its chunks at length one, which the database makes of them."""

    __tablename__ = "item_vectors"
    scope: Mapped[str] = mapped_column(Exact, primary_key=True)
    item_id: Mapped[str] = mapped_column(Exact, primary_key=True)
    space: Mapped[str] = mapped_column(Exact, primary_key=True)
    vector: Mapped[bytes] = mapped_column(HalfVector)

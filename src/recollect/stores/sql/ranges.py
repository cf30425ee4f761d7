"""Texts that begin in the same way, as a range of them; and the first characters of a metadata value, by which Postgres looks it up."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final, cast

from sqlalchemy import ColumnElement, and_, any_, literal, literal_column, true
from sqlalchemy.dialects.postgresql import ARRAY, TEXT

from ...filters import RELATIONS, Relation
from .types import Exact, escaped

HEAD_CHARS: Final = 200
"""A row of an index on Postgres has at most 2,704 bytes, so that values are in it with their first characters, as they are kept."""
HEAD: Final[ColumnElement[Any]] = literal_column("fields.head", Exact())
"""These characters. What is shorter is whole."""


def begins(column: Any, prefix: str) -> ColumnElement[bool]:
    """As a range, which the index answers; `substr` and LIKE would stop at a NUL."""
    after = _after_all(prefix)
    return and_(column >= prefix, true() if after is None else column < after)


def _after_all(prefix: str) -> str | None:
    """The least text above everything that begins with the prefix, by code points; None where there is none."""
    stem = prefix.rstrip(chr(sys.maxunicode))
    if not stem:
        return None
    # Surrogates are no characters, so the one after U+D7FF is U+E000.
    return stem[:-1] + ("\ue000" if stem[-1] == "\ud7ff" else chr(ord(stem[-1]) + 1))


def is_in_head(value: str) -> bool:
    """Whether a comparison with the value means the same for a text and for its head."""
    return len(escaped(value)) < HEAD_CHARS


def near_head(relation: Relation, values: Sequence[str]) -> ColumnElement[bool]:
    """What the head has to be like where the whole text is in this relation to one of the values, and more."""
    cut = [escaped(value)[:HEAD_CHARS] for value in values]
    asked = literal(cut[0], TEXT) if len(cut) == 1 else any_(literal(cut, ARRAY(TEXT)))
    return cast("ColumnElement[bool]", RELATIONS[relation](HEAD, asked))


def stem(value: str) -> str:
    """A beginning of the value that its head has too: escaped, a character is two at most."""
    return value[: HEAD_CHARS // 2]

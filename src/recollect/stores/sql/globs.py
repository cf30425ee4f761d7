"""A condition that a text is as a glob says: by a function of ours on SQLite, by a regular expression on Postgres."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import ColumnElement, String, and_, func, literal

from ...globs import regex_of
from .either import either
from .ranges import begins, stem
from .types import escaped

_ONE = re.compile(r"\[\^/\](?!\*)")
_ONE_AS_KEPT = "(?:\1[\1\2]|[^/\1])"
"""One character that is no slash."""


def like(column: Any, pattern: str, *, head: Any = None) -> ColumnElement[bool]:
    """Whether the column's text is as the pattern says. Its beginning is looked up in the index, where that is on a head on that."""
    matches = column.op("~", is_comparison=True)(literal(_as_kept(pattern), String))
    sure = stem(beginning(pattern))
    looked_up = begins(column if head is None else head, sure) if sure else None
    return either(func.recollect_glob(pattern, column) == 1, matches if looked_up is None else and_(looked_up, matches))


def beginning(pattern: str) -> str:
    """What every text begins with that is as the pattern says."""
    return re.split(r"[*?]", pattern, maxsplit=1)[0] if "/" in pattern else ""


def _as_kept(pattern: str) -> str:
    """The regular expression for texts as Postgres keeps them, where a character may be two."""
    return f"^(?:{_ONE.sub(lambda _: _ONE_AS_KEPT, regex_of(escaped(pattern)))})$"

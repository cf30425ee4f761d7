"""Which metadata fields a scope has, on Postgres: one statement that jumps from each field and type to the next in the index on values."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, text

from ..sql.types import Exact

# Six fields of 20,000 items take 1 ms, and 10 ms by a statement for each jump.
_KINDS = (
    text("""
  WITH RECURSIVE kind AS (
    (SELECT name, type FROM fields WHERE scope = :scope ORDER BY name, type LIMIT 1)
    UNION ALL
    SELECT later.name, later.type FROM kind, LATERAL (
      SELECT name, type FROM fields WHERE scope = :scope AND (name, type) > (kind.name, kind.type) ORDER BY name, type LIMIT 1
    ) AS later
  )
  SELECT name, type FROM kind
""")
    .bindparams(bindparam("scope", type_=Exact()))
    .columns(name=Exact(), type=Exact())
)


def known_fields(connection: Connection, scope: str) -> dict[str, frozenset[str]]:
    """What `sql.facets.known_fields` gives."""
    found: dict[str, set[str]] = {}
    for name, kind in connection.execute(_KINDS, {"scope": scope}):
        found.setdefault(name, set()).add(kind)
    return {name: frozenset(kinds) for name, kinds in found.items()}

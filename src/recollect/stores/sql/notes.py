"""Notes of a scope as rows and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, bindparam, delete, select

from .. import notes as every_store
from .schema import NoteRow
from .write import upsert

_BY_NAME: Final = select(NoteRow.value).where(NoteRow.scope == bindparam("scope"), NoteRow.name == bindparam("name"))


def note(connection: Connection, scope: str, name: str) -> Mapping[str, Any] | None:
    """What was noted under a name."""
    return connection.scalar(_BY_NAME, {"scope": scope, "name": name})


def notes(connection: Connection, scope: str) -> dict[str, Mapping[str, Any]]:
    """All that was noted, by name."""
    return dict(connection.execute(select(NoteRow.name, NoteRow.value).where(NoteRow.scope == scope).order_by(NoteRow.name)).all())


def set_note(connection: Connection, scope: str, name: str, value: Mapping[str, Any] | None) -> None:
    """Note something in place of what was noted, or nothing."""
    if value is None:
        connection.execute(delete(NoteRow).where(NoteRow.scope == scope, NoteRow.name == name))
    else:
        kept = upsert(connection, NoteRow).values(scope=scope, name=name, value=every_store.checked(name, value))
        connection.execute(kept.on_conflict_do_update(index_elements=["scope", "name"], set_={"value": kept.excluded.value}))

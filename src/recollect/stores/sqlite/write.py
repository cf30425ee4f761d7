"""A change of the embedded store's truth: versions are numbered across all scopes, and one that goes leaves a tombstone."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, bindparam, delete, insert, outerjoin, select

from ...model import Space
from ..sql.schema import MetaRow, ScopeRow, SpaceRow, TombstoneRow
from ..sql.write import Writer, active_space, upsert

LAST_CHANGE = "last_change"

_STANDING = (
    select(ScopeRow.change, SpaceRow.model, SpaceRow.dim, SpaceRow.chunker)
    .select_from(outerjoin(ScopeRow, SpaceRow, SpaceRow.active.is_(True)))
    .where(ScopeRow.scope == bindparam("scope"))
)


def standing(connection: Connection, scope: str) -> tuple[Space | None, int]:
    """The space that is searched and the number of the scope's last change."""
    row = connection.execute(_STANDING, {"scope": scope}).first()
    if row is None:
        return active_space(connection), 0
    return Space(row.model, row.dim, row.chunker) if row.model is not None else None, row.change


class SqliteWriter(Writer):
    """Changes one scope, for the derived indexes to follow."""

    OF_A_SCOPE = (*Writer.OF_A_SCOPE, TombstoneRow)

    def _last_change(self) -> int:
        return int(self._connection.scalar(select(MetaRow.value).where(MetaRow.name == LAST_CHANGE)) or 0)

    def _record_change(self) -> None:
        meta = upsert(self._connection, MetaRow).values(name=LAST_CHANGE, value=str(self._change))
        self._connection.execute(meta.on_conflict_do_update(index_elements=["name"], set_={"value": meta.excluded.value}))
        scope = upsert(self._connection, ScopeRow).values(scope=self._scope, change=self._change)
        self._connection.execute(scope.on_conflict_do_update(index_elements=["scope"], set_={"change": scope.excluded.change}))

    def _let_go(self, dead: Mapping[str, int], successors: Mapping[str, int]) -> None:
        died_at = self._next()
        stones = [
            {"scope": self._scope, "seq": seq, "died_at": died_at, "next_seq": successors.get(item_id)} for item_id, seq in dead.items()
        ]
        self._connection.execute(insert(TombstoneRow), stones)

    def forget_tombstones(self, applied: int) -> None:
        """Drop the tombstones that every derived index has seen."""
        self._connection.execute(delete(TombstoneRow).where(TombstoneRow.scope == self._scope, TombstoneRow.died_at <= applied))

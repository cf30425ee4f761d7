"""From what an index finds to a ranking of items: looked up in the truth, filtered, ties by id, and never fewer than asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sqlalchemy import Connection, bindparam, func, select

from ...cancellation import checkpoint
from ...filters import Filter
from ...model import Hit, Ranking
from ..sql.schema import ItemRow, TombstoneRow
from ..sql.where import holds

LISTED = 10_000
"""Matches of a filter up to which the index is asked for just these (about 10 ms of exact vector work); beyond, its
best are checked one by one, which is cheap because one in a hundred or more of a million passes."""

TIE_MARGIN = 4
"""Hits asked for beyond k, so that equal scores at the end are cut by id without asking again."""

GROWTH = 4
DECIMALS = 6
"""Scores are rounded here: the order of sums in BLAS may change the last bits of equal vectors, and a tie must stay a tie."""

# Made once, and the numbers bound as one JSON text: 116 of them take .5 ms to look up, and 1.3 ms where SQLAlchemy builds the
# statement for every question and a parameter for every number. Any number of them may be bound so; SQLite allows 32,766 parameters.
_GIVEN = select(func.json_each(bindparam("seqs")).table_valued("value").c.value)
_PRESENT = select(ItemRow.seq, ItemRow.id).where(ItemRow.scope == bindparam("scope"), ItemRow.seq.in_(_GIVEN))
_SUCCESSORS = select(TombstoneRow.seq, TombstoneRow.next_seq).where(
    TombstoneRow.scope == bindparam("scope"), TombstoneRow.seq.in_(_GIVEN), TombstoneRow.next_seq.is_not(None)
)

Allowed: TypeAlias = np.ndarray[Any, np.dtype[np.int64]] | None


class Found(NamedTuple):
    """What an index finds: the version of an item, and the chunk that matched where it knows."""

    seq: int
    score: float
    chunk: int | None = None


class Collector:
    """Asks an index until k items of the scope that pass the filter are found, or there are no more."""

    def __init__(self, connection: Connection, scope: str, where: Filter | None) -> None:
        self._connection = connection
        self._scope = scope
        self._where = where

    def best(self, ask: Callable[[int, Allowed], list[Found]], k: int) -> Ranking:
        """The k best. `ask(n, allowed)` gives the index's n best, or all there are, best first."""
        allowed = self._listed()
        unchecked = self._where if allowed is None else None
        n = (k if unchecked is None else GROWTH * k) + TIE_MARGIN
        while True:
            checkpoint()
            found = ask(n, allowed)
            hits = self._hits(found, unchecked)
            complete = len(found) < n
            if complete or (len(hits) >= k and round(found[-1].score, DECIMALS) < hits[k - 1].score):
                return tuple(hits[:k])
            n *= GROWTH

    def _listed(self) -> Allowed:
        """The versions of the items that pass the filter, where they are few."""
        if self._where is None:
            return None
        query = select(ItemRow.seq).where(ItemRow.scope == self._scope, holds(self._where, self._scope, per_row=False))
        seqs = self._connection.scalars(query.limit(LISTED + 1)).all()
        if len(seqs) > LISTED:
            return None
        previous = self._connection.scalars(
            select(TombstoneRow.seq).where(TombstoneRow.scope == self._scope, TombstoneRow.next_seq.in_(seqs))
        ).all()
        return np.unique(np.array([*seqs, *previous], np.int64))

    def _hits(self, found: Sequence[Found], where: Filter | None) -> list[Hit]:
        ids = self._ids([hit.seq for hit in found], where)
        hits: dict[str, Hit] = {}
        for hit in found:
            if (item_id := ids.get(hit.seq)) is not None and item_id not in hits:
                hits[item_id] = Hit(item_id, round(hit.score, DECIMALS), hit.chunk)
        return sorted(hits.values(), key=lambda hit: (-hit.score, hit.id))

    def _ids(self, seqs: list[int], where: Filter | None) -> dict[int, str]:
        """The ids of versions. While a writer is at work an index may still know a version that was just replaced."""
        ids = self._present(seqs, where)
        if len(ids) < len(seqs) and (successors := self._successors([seq for seq in seqs if seq not in ids])):
            present = self._present(list(successors.values()), where)
            ids.update((seq, present[new]) for seq, new in successors.items() if new in present)
        return ids

    def _present(self, seqs: list[int], where: Filter | None) -> dict[int, str]:
        query = _PRESENT if where is None else _PRESENT.where(holds(where, self._scope, per_row=True))
        return dict(self._connection.execute(query, self._given(seqs)).all())

    def _successors(self, seqs: list[int]) -> dict[int, int]:
        return {old: new for old, new in self._connection.execute(_SUCCESSORS, self._given(seqs)) if new is not None}

    def _given(self, seqs: list[int]) -> dict[str, str]:
        return {"scope": self._scope, "seqs": json.dumps(seqs)}

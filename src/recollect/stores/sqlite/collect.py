"""From what an index finds to a ranking of items: looked up in the truth, filtered, ties by id, and never fewer than asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from sqlalchemy import Connection, bindparam, func, select, true

from ...cancellation import checkpoint
from ...filters import Filter
from ...model import Hit, Ranking
from ..kept import Kept
from ..sql.few import few
from ..sql.schema import ItemRow, TombstoneRow
from ..sql.where import holds
from ..sql.write import state_of

LISTED = 50_000
"""Matches of a filter up to which the index is asked for just these; beyond, its best are checked one by one, which is cheap because one
in twenty or more of a million passes. Of a million vectors, 20 among 30,000 are found in 15 ms so, and in 200 by looking at the best."""

RARE = 8
"""Where fewer than one in so many of the index's best pass, all that pass are listed."""

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
_PASSING: Final = Kept[Any](64)
_REPLACED = select(TombstoneRow.seq, TombstoneRow.next_seq).where(
    TombstoneRow.scope == bindparam("scope"), TombstoneRow.next_seq.is_not(None)
)


Allowed: TypeAlias = np.ndarray[Any, np.dtype[Any]] | None


class Found(NamedTuple):
    """What an index finds: the version of an item, and the chunk that matched where it knows."""

    seq: int
    score: float
    chunk: int | None = None


class Collector:
    """Asks an index until k items of the scope that pass the filter are found, or there are no more."""

    def __init__(self, connection: Connection, scope: str, where: Filter | None, listings: Kept[Allowed] | None = None) -> None:
        self._connection = connection
        self._scope = scope
        self._where = where
        self._listings = listings
        self._few_ids: dict[int, str] = {}
        """The ids of versions that are known to pass the filter."""

    def best(self, ask: Callable[[int, Allowed], list[Found]], k: int) -> Ranking:
        """The k best. `ask(n, allowed)` gives the index's n best, or all there are, best first."""
        allowed = self._few()
        if allowed is None and self._where is not None and self._listings is not None:
            allowed = self._listings.known(self._where, state_of(self._connection, self._scope))
        unchecked = self._where if allowed is None else None
        may_list = unchecked is not None
        # As a rule a filter leaves most, such as what is not history, and each further hit costs the index fifty candidates.
        n = (k if unchecked is None else k + k // 4) + TIE_MARGIN
        while True:
            checkpoint()
            found = ask(n, allowed)
            hits = self._hits(found, unchecked)
            complete = len(found) < n
            if complete or (len(hits) >= k and round(found[-1].score, DECIMALS) < hits[k - 1].score):
                return tuple(hits[:k])
            if may_list and RARE * len(hits) < len(found):
                may_list = False
                if (allowed := self._listed()) is not None:
                    unchecked, n = None, k + TIE_MARGIN
                    continue
            n *= GROWTH

    def _few(self) -> Allowed:
        """The versions of the items that pass the filter, where one of its conditions alone leaves few; a kind rarely does."""
        found = few(self._connection, self._scope, self._where, ItemRow.seq, ItemRow.id, but=("kind",))
        if found is None:
            return None
        self._few_ids = {row.seq: row.id for row in found}
        return self._with_previous(list(self._few_ids))

    def _listed(self) -> Allowed:
        """The same, where all conditions together leave not many. Asked only when the index's best were looked at and mostly did not
        pass: as a rule they are enough, and 10,000 rows of which the status is asked take 20 ms to list."""
        where = self._where
        assert where is not None

        def made() -> Allowed:
            query = select(ItemRow.seq).where(ItemRow.scope == self._scope, holds(where, self._scope, per_row=False)).limit(LISTED + 1)
            # As one text: 30,000 rows take 40 ms to fetch.
            seqs = json.loads(self._connection.scalar(select(func.json_group_array(query.subquery().c.seq))) or "[]")
            return None if len(seqs) > LISTED else self._with_previous(seqs)

        if self._listings is None:
            return made()
        return self._listings.of_filter(where, state_of(self._connection, self._scope), make=made)

    def _with_previous(self, seqs: Sequence[int]) -> Allowed:
        """With the versions that these took the place of, which an index may still know."""
        own = set(seqs)
        replaced = self._connection.execute(_REPLACED, {"scope": self._scope})
        return np.unique(np.array([*seqs, *(old for old, new in replaced if new in own)], np.int64))

    def _hits(self, found: Sequence[Found], where: Filter | None) -> list[Hit]:
        ids = self._ids([hit.seq for hit in found], where)
        hits: dict[str, Hit] = {}
        for hit in found:
            if (item_id := ids.get(hit.seq)) is not None and item_id not in hits:
                hits[item_id] = Hit(item_id, round(hit.score, DECIMALS), hit.chunk)
        return sorted(hits.values(), key=lambda hit: (-hit.score, hit.id))

    def _ids(self, seqs: list[int], where: Filter | None) -> dict[int, str]:
        """The ids of versions. While a writer is at work an index may still know a version that was just replaced."""
        ids = {seq: self._few_ids[seq] for seq in seqs if seq in self._few_ids}
        there = self._present([seq for seq in seqs if seq not in ids], where)
        ids.update((seq, item_id) for seq, (item_id, passes) in there.items() if passes)
        gone = [seq for seq in seqs if seq not in ids and seq not in there]
        if gone and (successors := self._successors(gone)):
            new = self._ids(list(successors.values()), where)
            ids.update((seq, new[after]) for seq, after in successors.items() if after in new)
        return ids

    def _present(self, seqs: list[int], where: Filter | None) -> dict[int, tuple[str, bool]]:
        """Of those versions that there are still, the id, and whether the item passes. That is a column, in which no index is seen: as a
        condition SQLite would read all of a kind rather than look these versions up."""
        if not seqs:
            return {}

        def made() -> Any:
            return _PRESENT.add_columns(true() if where is None else holds(where, self._scope, per_row=True))

        query = _PASSING.of_filter(where, self._scope, make=made)
        return {seq: (item_id, passes) for seq, item_id, passes in self._connection.execute(query, self._given(seqs)).all()}

    def _successors(self, seqs: list[int]) -> dict[int, int]:
        return {old: new for old, new in self._connection.execute(_SUCCESSORS, self._given(seqs)) if new is not None}

    def _given(self, seqs: list[int]) -> dict[str, str]:
        return {"scope": self._scope, "seqs": json.dumps(seqs)}

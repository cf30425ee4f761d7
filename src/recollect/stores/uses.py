"""What every store makes of a use: which items are counted for a search that was logged, and what its details say then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..errors import NotFound

USED: Final = "used"
"""The detail of a search that names by rank what was used of it."""


def newly_used(ids: Sequence[str], found: Mapping[int, str], details: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Of these items, in order of id, those that a search gave back, by rank, and that were not used for it before; and its details
    with them."""
    before = set(details.get(USED) or ())
    known = {found[rank] for rank in before if rank in found}
    ranks = {item_id: rank for rank, item_id in sorted(found.items(), reverse=True) if item_id in ids and item_id not in known}
    return sorted(ranks), {**details, USED: sorted({*before, *ranks.values()})}


def not_logged(scope: str, retrieval: str) -> NotFound:
    """That a search is not in the log."""
    return NotFound(f"scope {scope!r} has no search {retrieval!r} in its log: name one that is, as `recollect log` lists them")

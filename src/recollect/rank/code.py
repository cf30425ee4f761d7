"""What a ranking of code knows beside words and meaning: names, folders, and which files are rarely meant. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ..model import Fused, Head, NameMatch, Part
from ..profiles import SYMBOL, CodeRanking
from .factors import joined, ordered, times

AHEAD: Final = 2.0
"""How far before the best of all others a name that fits whole comes: one that fits less, and half at least, comes before them too."""


def by_name(fused: Sequence[Fused], matches: Sequence[NameMatch]) -> list[Fused]:
    """The results with what the question names before all others: its match counts more than the best score there is."""
    if not matches:
        return list(fused)
    ahead = 1.0 + AHEAD * max((found.score for found in fused), default=0.0)
    best: dict[str, tuple[int, float]] = {}
    for rank, match in enumerate(matches, 1):
        if match.fit > best.get(match.symbol.item_id, (0, 0.0))[1]:
            best[match.symbol.item_id] = rank, match.fit
    parts = {item_id: Part(SYMBOL, rank, fit, fit, ahead, ahead * fit) for item_id, (rank, fit) in best.items()}
    others = {found.id: found for found in fused}
    named = [joined(others.get(item_id) or Fused(item_id, 0.0, ()), part) for item_id, part in parts.items()]
    return ordered([*named, *(found for found in fused if found.id not in parts)])


def weighted(
    fused: Sequence[Fused], heads: Mapping[str, Head], ranking: CodeRanking, *, folders: Sequence[str], roles: Collection[str]
) -> list[Fused]:
    """The results by folder and by role: `folders` are those the question speaks of, `roles` those it asks for."""
    return ordered([_factored(found, heads.get(found.id), ranking, folders, roles) for found in fused])


def in_folder(path: str, folder: str) -> bool:
    """Whether a path lies in a folder: one given from the root, or the name of one, or of several, anywhere on the way."""
    inner = folder.strip("/")
    return bool(inner) and f"/{inner}/" in f"/{path.rpartition('/')[0]}/"


def _factored(found: Fused, head: Head | None, ranking: CodeRanking, folders: Sequence[str], roles: Collection[str]) -> Fused:
    if head is None:
        return found
    folder = next((folder for folder in folders if head.source_ref and in_folder(head.source_ref, folder)), None)
    if folder is not None:
        found = times(found, f"in {folder}", ranking.folder)
    role = head.metadata.get("role")
    if role not in roles:
        found = times(found, f"a {role} file", ranking.of_role(role))
    return found

"""The plan of a search: a question, understood."""

from __future__ import annotations

from dataclasses import dataclass

from .filters import Filter
from .profiles import Profile
from .textquery import Node


@dataclass(frozen=True, slots=True)
class Plan:
    """What a search will do."""

    scope: str
    text: str
    mode: str
    query: Node
    demand: Node | None
    """What must hold for every result, by whatever route it came: phrases, exclusions, expressions."""
    where: Filter | None
    profile: Profile
    k: int
    min_score: float | None = None
    min_similarity: float | None = None
    facets: tuple[str, ...] = ()
    snippet_chars: int = 360

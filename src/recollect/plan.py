"""The plan of a search: a question, understood."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .filters import Filter
from .prefs import RetrievalPrefs
from .profiles import Profile
from .routing import NameQuery
from .textquery import NativeQuery, Node


@dataclass(frozen=True, slots=True)
class NativeText:
    """Words as the store's server reads and ranks them."""

    query: NativeQuery
    rank_func: str
    demands: tuple[NativeQuery, ...] = ()
    """What must hold for every result, and then what must where nothing at all meets that."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a search will do: what was asked for, and what that means."""

    scope: str
    prefs: RetrievalPrefs
    query: Node
    demand: Node | None
    """What must hold for every result, by whatever route it came: phrases, exclusions, expressions."""
    where: Filter | None
    profile: Profile
    facets: tuple[str, ...] = ()
    native: NativeText | None = None
    """In place of `query` and `demand`, where the store's own way was asked for."""
    name: NameQuery | None = None
    """What the question is, where it is nothing but a name."""
    mentions: tuple[NameQuery, ...] = ()
    """What it calls by name among other words."""
    folders: tuple[str, ...] = ()
    """Where an answer is more likely."""
    roles: frozenset[str] = frozenset()
    """Files that are rarely meant, and are here: tests, generated, vendored."""
    expand: bool = False
    """Whether evidence comes with what surrounds it."""
    history: bool = False
    """Whether what was superseded or archived may come."""
    as_of: datetime | None = None
    """The time at which it must have been current."""
    hops: int = 0
    """How far the graph is followed from what was found."""
    entities: tuple[str, ...] = ()
    """Ids of entities that the question speaks of."""

    @property
    def takes_history(self) -> bool:
        """Whether history comes: code has none."""
        return self.history or self.profile.code is not None

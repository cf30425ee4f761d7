"""What memory needs of a domain database, as a protocol: who is called so, what belongs to whom, and current rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .memories import DomainResults, TimeRange
from .model import Entity


class Domain(Protocol):
    """A database of the user's own, read by what an ontology says of it. A `DomainUnavailable` where it cannot be asked."""

    @property
    def kinds(self) -> Sequence[str]:
        """The types of its entities, such as `customer`."""
        ...

    async def named(self, names: Sequence[str]) -> dict[str, list[Entity]]:
        """The entities in it that are called so, whatever the case of letters, by name as it was given; no key for one that nobody has."""
        ...

    async def expand(self, ids: Sequence[str], *, depth: int | None = None) -> list[str]:
        """Canonical ids of what relations of the ontology lead to from these entities, without them: nearest first, then by relation and
        id. Of each relation of an entity only so many are followed, and only so far."""
        ...

    async def rows(self, ids: Sequence[str], within: TimeRange | None) -> DomainResults:
        """The rows of these entities, and of what belongs to them, of that time where they have one."""
        ...

    async def close(self) -> None: ...

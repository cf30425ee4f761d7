"""What a domain database adds to the entities of a question: what belongs to them, and their current rows, asked beside all else."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, Self, TypeVar

from ..cancellation import abandon
from ..domains import Domain
from ..errors import DomainUnavailable
from ..memories import DomainResults, MemoryQuery
from ..stopwatch import Stopwatch

R = TypeVar("R")

NOBODY_NAMED: Final = (
    "the question needs current data, but names nothing that the domain database could be asked about: name the customer, order or the"
    " like that is meant"
)


class Beside:
    """Asks at once. Where the database is away, what it would have added is missing, and why is told."""

    def __init__(self, domain: Domain | None, query: MemoryQuery, watch: Stopwatch) -> None:
        self._domain, self._watch = domain, watch
        self._ids = [each.canonical_id for each in query.entities] if domain else []
        self._query = query
        self._tasks: list[asyncio.Task[Any]] = []
        self._expanded = self._start(self._expand())
        self._asked = self._start(self._ask())
        self._own = [each.canonical_id for each in query.entities]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for task in self._tasks:
            abandon(task)

    def _start(self, work: Coroutine[Any, Any, R]) -> asyncio.Task[R]:
        task = asyncio.ensure_future(work)
        self._tasks.append(task)
        return task

    async def _expand(self) -> tuple[list[str], str | None]:
        if self._domain is None or not self._ids:
            return [], None
        try:
            with self._watch("ontology"):
                return await self._domain.expand(self._ids), None
        except DomainUnavailable as error:
            return [], str(error)

    async def _ask(self) -> DomainResults | None:
        if self._domain is None or not self._ids or not self._query.query_type.requires_domain_db:
            return None
        try:
            with self._watch("domain"):
                return await self._domain.rows(self._ids, self._query.time_range)
        except DomainUnavailable as error:
            return DomainResults(problem=str(error))

    async def related(self) -> list[str]:
        """What the ontology leads to from the entities of the question, without them."""
        return (await self._expanded)[0]

    async def entities(self) -> list[str]:
        """The entities of the question, and what the ontology leads to from there."""
        return list(dict.fromkeys((*self._own, *await self.related())))

    async def rows(self) -> DomainResults | None:
        """Current data of the entities of a question that needs it."""
        return await self._asked

    async def problems(self) -> list[str]:
        """Why something is missing, each reason once."""
        rows = await self._asked
        unasked = NOBODY_NAMED if self._lacks_names() else None
        return list(dict.fromkeys(filter(None, ((await self._expanded)[1], rows.problem if rows else None, unasked))))

    def _lacks_names(self) -> bool:
        """Whether rows are missing for nothing but a name: of one that several have, or that could not be looked up, is told already."""
        query = self._query
        is_told = bool(query.ambiguities) or any("domain database" in each for each in query.notes)
        return self._domain is not None and not self._ids and query.query_type.requires_domain_db and not is_told

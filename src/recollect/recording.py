"""Logs searches beside their answers: nobody waits for it, and nothing of it is left under way once it is closed."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from .contracts import CandidateItem, RetrievalBundle
from .errors import RecollectError
from .model import Part, Retrieval, Returned
from .plan import Plan
from .ports import Store
from .request import RequestContext

log = logging.getLogger(__name__)

PAUSE_S: Final = 0.1
ATTEMPTS: Final = 50
"""How long the log waits where the store is being written, and how often until something is written: longer than a batch takes."""


class Recorder:
    """Writes entries one after the other, in the background. Where the store falls behind, the oldest that wait are not written."""

    def __init__(self, store: Store, *, max_entries: int) -> None:
        self._store = store
        self._max_entries = max_entries
        self._waiting: deque[tuple[str, Retrieval]] = deque(maxlen=max_entries)
        self._writing: asyncio.Task[None] | None = None

    def record(self, scope: str, retrieval: Retrieval) -> None:
        """Log a search, soon."""
        self._waiting.append((scope, retrieval))
        self._go_on()

    def _go_on(self) -> asyncio.Task[None]:
        loop = asyncio.get_running_loop()
        # A task of another loop may never end.
        if self._writing is None or self._writing.done() or self._writing.get_loop() is not loop:
            self._writing = loop.create_task(self._write())
        return self._writing

    async def _write(self) -> None:
        patience = ATTEMPTS
        while self._waiting:
            entry = self._waiting.popleft()
            try:
                while not (kept := await self._store.log(*entry, max_entries=self._max_entries)) and patience:
                    patience -= 1
                    await asyncio.sleep(PAUSE_S)
                if kept:
                    patience = ATTEMPTS
                else:
                    log.warning("a search was not logged: the store was being written all the while")
            except RecollectError as error:
                log.warning("a search was not logged: %s", error)
            except asyncio.CancelledError:
                # The loop ends. Closing, in another one, writes what is left; an entry that was written after all is not written twice.
                self._waiting.appendleft(entry)
                raise

    async def close(self) -> None:
        """Write what waits. Whoever goes away meanwhile takes nobody along who waits for the same."""
        if self._waiting or (self._writing and not self._writing.done()):
            await asyncio.shield(self._go_on())


def retrieval(ctx: RequestContext, plan: Plan, bundle: RetrievalBundle, *, at: datetime) -> Retrieval:
    """A search that began at a time and has been answered now, as it is logged. It has the name of the request, if that has one."""
    prefs = plan.prefs
    details: dict[str, Any] = {"mode": prefs.fts.mode, "k": prefs.top_k_items}
    if prefs.filters:
        details["where"] = prefs.model_dump(mode="json", include={"filters"})["filters"]
    return Retrieval(
        id=ctx.request_id or uuid4().hex,
        at=at,
        query=prefs.query_text,
        profile=plan.profile.name,
        took_ms=round((ctx.now() - at).total_seconds() * 1000, 3),
        found=tuple(_returned(rank, candidate) for rank, candidate in enumerate(bundle.candidates, 1)),
        details=details,
    )


def _returned(rank: int, candidate: CandidateItem) -> Returned:
    return Returned(rank, candidate.item_id, candidate.score, tuple(Part(**dict(part)) for part in candidate.why.parts))

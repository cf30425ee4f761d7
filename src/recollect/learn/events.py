"""Recalls as they are logged, and read again with what became of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import NotFound
from ..memories import LOGGED_AS, SIGNALS, AugmentedContext, RecalledMemory
from ..model import Part, Retrieval, Returned
from ..ports import Store

USED: Final = "used"


def retrieval_of(context: AugmentedContext, *, at: datetime, took_ms: float) -> Retrieval:
    """A recall as it is logged: what was asked, how that was understood, and what came with which signals."""
    query = context.query
    details: dict[str, Any] = {
        "strategy": query.strategy,
        "query_type": query.query_type.model_dump(mode="json"),
        "weights": context.weights,
        "candidates": context.candidates,
        "tokens": context.token_count,
        "entities": len(query.entities),
        "time_range": query.time_range.model_dump(mode="json") if query.time_range else None,
    }
    found = tuple(Returned(rank, each.id, each.score, _parts(each)) for rank, each in enumerate(context.memories, 1))
    return Retrieval(id=context.retrieval_id, at=at, query=query.query, profile=LOGGED_AS, took_ms=took_ms, found=found, details=details)


def _parts(memory: RecalledMemory) -> tuple[Part, ...]:
    signals = memory.signals.model_dump()
    return tuple(
        Part(name, 0, signals[name], signals[name], memory.weights[name], signals[name] * memory.weights[name]) for name in SIGNALS
    )


async def recall_of(store: Store, scope: str, retrieval_id: str) -> Retrieval:
    """A recall that was logged."""
    entry = await store.retrieval(scope, retrieval_id)
    if entry is not None and entry.profile == LOGGED_AS:
        return entry
    raise NotFound(
        f"there is no recall {retrieval_id!r} in the log of scope {scope!r}: give its retrieval_id, and leave the setting 'memory.log' on"
    )


@dataclass(frozen=True, slots=True)
class Event:
    """A recall with feedback: the signals of what came, and which of it was used."""

    strategy: str
    signals: npt.NDArray[np.float64]
    """A row for each memory, a column for each of `SIGNALS`."""
    used: npt.NDArray[np.bool_]


async def events(store: Store, scope: str) -> AsyncIterator[Event]:
    """The recalls from which something can be learnt, newest first: some memories were used, and some were not."""
    async for entry in store.retrievals(scope):
        event = _event(entry.details, entry.found) if entry.profile == LOGGED_AS else None
        if event is not None and event.used.any() and not event.used.all():
            yield event


def _event(details: Mapping[str, Any], found: Sequence[Returned]) -> Event | None:
    if not details.get(USED) or not found:
        return None
    ranks = set(details[USED])
    signals = [[next((part.score for part in each.parts if part.route == name), 0.0) for name in SIGNALS] for each in found]
    return Event(str(details.get("strategy")), np.array(signals), np.array([each.rank in ranks for each in found]))

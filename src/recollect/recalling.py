"""The read path of memories on one screen: understand, candidates from six sources, rank, choose, show, a prompt that fits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from .analysis import query_terms
from .assemble.memories import Show
from .assemble.prompt import Prompt, fitted
from .cancellation import in_thread
from .domains import Domain
from .errors import InvalidInput
from .evidence.choose import Question
from .evidence.cutting import Reader
from .expand.ontology import Beside
from .filters import And, Compare, Field, Filter, Not, OneOf, check
from .filters import parse as parse_filter
from .memories import MEMORY_TYPES, Ambiguity, AugmentedContext, MemoryQuery, Recall, RecalledMemory
from .memory_settings import MemorySettings
from .model import HISTORY
from .ports import Clock, Llm, Store
from .rank.history import Lineage
from .rank.memories import Ranking
from .rank.signals import Ranked
from .recall.memories import CREATED, KIND, Content, Found, candidates
from .recall.versions import successors_of
from .stopwatch import Stopwatch
from .understand.memory import understand
from .understand.text import parse as parse_text

POOL: Final = 3
LEAST_POOL: Final = 45
"""Memories that are compared with each other, for each that may come and at least."""
CANDIDATES: Final = 5
"""Ids that are named for a name that several have."""
STATUS: Final = Field("status", of_item=True)


class When(NamedTuple):
    """When a question is asked, and where."""

    now: datetime
    zone: ZoneInfo


@dataclass(frozen=True, slots=True)
class Recaller:
    """Recalls memories of a scope. `domain` and `llm` may help, where they are there."""

    store: Store
    reader: Reader
    options: MemorySettings
    clock: Clock
    domain: Domain | None = None
    llm: Llm | None = None

    async def recall(self, scope: str, asked: Recall, *, retrieval_id: str, weights: Mapping[str, Mapping[str, float]]) -> AugmentedContext:
        """What an experienced colleague would recall, by these weights of each strategy."""
        watch, options = Stopwatch(self.clock), self.options
        limit = options.limit if asked.limit is None else asked.limit
        max_tokens = options.max_tokens if asked.max_tokens is None else asked.max_tokens
        with watch("total"):
            when = _when(asked.at or self.clock(), asked.timezone or options.timezone)
            where = await self._where(scope, asked)
            words = parse_text(asked.query, "any")
            with Content(self.store, scope, self.reader.embedder, asked.query, words, where, options.sources, watch) as content:
                with watch("understand"):
                    query = await self._understood(scope, asked, when)
                own = weights[query.strategy]
                ranking = Ranking(query, own, options.ranking, when.now)
                with Beside(self.domain, query, watch) as beside:
                    found = await candidates(self.store, scope, content, query, beside.entities, where, options.sources, watch)
                    with watch("rank"):
                        ranked = await self._ranked(scope, asked, ranking, found, await beside.related())
                    with watch("choose"):
                        choose = await self._choosing(scope, ranking, ranked, found, when, limit)
                    domain, problems = await beside.rows(), await beside.problems()
            notes = list(dict.fromkeys([*map(_unclear, query.ambiguities), *query.notes, *problems]))

            def written() -> Prompt:
                with watch("choose"):
                    memories = choose()
                with watch("prompt"):
                    return fitted(
                        memories,
                        query=query,
                        tokens=self.reader.tokens,
                        max_tokens=max_tokens,
                        query_tokens=options.query_tokens,
                        limit=limit,
                        now=when.now,
                        zone=when.zone,
                        domain=domain,
                        notes=[each for each in notes if not domain or each != domain.problem],
                        until={each.head.id: each.until for each in ranked if each.until},
                    )

            prompt = await in_thread(written)
        return AugmentedContext(
            retrieval_id=retrieval_id,
            query=query,
            weights=dict(own),
            memories=list(prompt.memories),
            skipped=list(prompt.skipped),
            domain=domain,
            prompt=prompt.text,
            token_count=prompt.token_count,
            max_tokens=max_tokens,
            candidates=len(ranked),
            timing_ms=dict(sorted(watch.ms.items())),
            notes=[*notes, *prompt.notes],
        )

    async def _where(self, scope: str, asked: Recall) -> Filter:
        """What must hold for every memory. What was superseded later than `at` was current then, so status says nothing there."""
        own = parse_filter(asked.filters or None)
        if own is not None:
            check(own, await self.store.fields(scope))
        parts: list[Filter] = [OneOf(KIND, tuple(asked.types or MEMORY_TYPES))]
        if asked.at is not None:
            parts.append(Compare(CREATED, "lte", asked.at))
        elif not asked.include_history:
            parts.append(Not(OneOf(STATUS, HISTORY)))
        return And((*parts, *([] if own is None else [own])))

    async def _understood(self, scope: str, asked: Recall, when: When) -> MemoryQuery:
        return await understand(
            self.store, scope, asked, now=when.now, zone=when.zone, domain=self.domain, llm=self.llm, settings=self.options
        )

    async def _ranked(self, scope: str, asked: Recall, ranking: Ranking, found: Found, related: Sequence[str]) -> list[Ranked]:
        """The candidates, best first; history only where it was asked for."""
        heads = found.heads
        lineage = Lineage(as_of=asked.at)
        if asked.at is not None or asked.include_history:
            lineage = Lineage(*await successors_of(self.store, scope, list(heads)), asked.at)
        kept = [each for each in heads.values() if asked.include_history or not lineage.is_history(each.id, each.status)]
        return ranking.ranked(kept, found.similarity, found.words, related, lineage)

    async def _choosing(
        self, scope: str, ranking: Ranking, ranked: Sequence[Ranked], found: Found, when: When, limit: int
    ) -> Callable[[], list[RecalledMemory]]:
        """What chooses the memories to show, best first, as they are shown: all that it needs of the store is read."""
        ids = [each.head.id for each in ranked[: max(POOL * limit, LEAST_POOL)]]
        items, passages = await asyncio.gather(self.store.get(scope, ids), self.store.passages_of(scope, ids))
        stored = {each.item.id: each for each in items}
        pool = [each for each in ranked[: len(ids)] if each.head.id in stored]
        sketches = {item_id: each.fingerprint for item_id, each in stored.items()}
        options = self.options.ranking
        show = Show(
            query=ranking.query,
            weights=ranking.weights,
            question=Question(query_terms(ranking.query.query), found.vector, options.text_share, 1 - options.text_share),
            tokens=self.reader.tokens,
            excerpt_tokens=self.options.excerpt_tokens,
            now=when.now,
            zone=when.zone,
        )

        def shown() -> list[RecalledMemory]:
            chosen = ranking.chosen(pool, passages, sketches, limit)
            return [
                show.memory(each, stored[each.head.id].item, found.sources[each.head.id], passages.get(each.head.id)) for each in chosen
            ]

        return shown


def _unclear(name: Ambiguity) -> str:
    few, more = name.candidates[:CANDIDATES], len(name.candidates) - CANDIDATES
    others = f" or {more} others" if more > 0 else ""
    return f"{name.mention_text!r:.80} may be {' or '.join(few)}{others}: none of them was taken, so say which is meant"


def _when(now: datetime, name: str) -> When:
    try:
        zone = ZoneInfo(name)
        now.astimezone(zone)
    except (KeyError, OSError, ValueError):
        raise InvalidInput(f"timezone is {name!r:.80}: give one such as 'Europe/Berlin'") from None
    except OverflowError:
        raise InvalidInput(f"at is {now.isoformat()}, and there is no such day in {name}: give a time a day from there") from None
    return When(now, zone)

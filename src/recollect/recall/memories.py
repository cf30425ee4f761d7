"""The sources of memories, asked at the same time: by meaning, by words, by entities, by time, procedures and summaries."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from ..cancellation import abandon, in_thread, looked_at
from ..filters import And, Compare, Field, Filter, OneOf
from ..memories import MemoryQuery, MemoryType, Source, TimeRange
from ..memory_settings import SourceSettings
from ..model import Head, Ranking, Space, Vector
from ..ports import Embedder, Store, SupportsBlockingSearch
from ..stopwatch import Stopwatch
from ..textquery import Boolean, Node

KIND: Final = Field("kind", of_item=True)
CREATED: Final = Field("created_at", of_item=True)
ID: Final = Field("id", of_item=True)
ENTITIES: Final = Field("entities", of_item=True)
COVERS: Final = Field("covers", of_item=False)


@dataclass(frozen=True, slots=True)
class Found:
    """The candidates, each once, in the order in which they came."""

    sources: Mapping[str, tuple[Source, ...]]
    """By id, the sources that gave it."""
    similarity: Mapping[str, float]
    """By id, (1 + cosine) / 2, of those that have a vector."""
    words: Mapping[str, float]
    """By id, how well by words, of those that have one of them."""
    heads: Mapping[str, Head]
    """By id, what is known of them, of those that there are still."""
    vector: Vector | None


class Content:
    """What is found before a question is understood: by its content alone, the two slowest sources, and the newest summaries."""

    def __init__(
        self,
        store: Store,
        scope: str,
        embedder: Embedder | None,
        text: str,
        query: Node,
        where: Filter,
        options: SourceSettings,
        watch: Stopwatch,
    ) -> None:
        self._store, self._scope, self._where, self._options, self._watch = store, scope, where, options, watch
        self._embedder = embedder
        self._query = query
        self._vector: asyncio.Future[Vector | None] = asyncio.get_running_loop().create_future()
        # The embedding first: it leaves the interpreter to the others as soon as the model runs.
        self._near = asyncio.ensure_future(self._embed(text))
        self._matching = asyncio.ensure_future(self._match())
        self._summaries = asyncio.ensure_future(self._newest_summaries())

    async def _embed(self, text: str) -> Ranking:
        """What is near to the question, and, before that, what it means."""
        try:
            space, embedder = await self._store.space(), self._embedder
            if embedder is None or space is None:
                self._vector.set_result(None)
                return ()
            space.require(embedder.model_id, space.dim)
            return await self._nearest(text, embedder, space)
        except BaseException as error:
            # Whoever waits for the vector is told why there is none.
            if not self._vector.done():
                self._vector.set_exception(error)
                looked_at(self._vector)
            raise

    async def _nearest(self, text: str, embedder: Embedder, space: Space) -> Ranking:
        loop, k = asyncio.get_running_loop(), self._options.semantic

        def embed() -> Vector:
            with self._watch("embed"):
                vector = embedder.embed_query(text)
            space.require(embedder.model_id, len(vector))
            return vector

        def search_here(store: SupportsBlockingSearch) -> Ranking:
            vector = embed()
            loop.call_soon_threadsafe(self._embedded, vector)
            with self._watch("semantic"):
                return store.search_vectors_here(self._scope, vector, k=k, where=self._where)

        if k and isinstance(self._store, SupportsBlockingSearch):
            return await in_thread(search_here, self._store)
        self._embedded(vector := await in_thread(embed))
        return await self.near(vector, k=k, where=self._where, stage="semantic") if k else ()

    def _embedded(self, vector: Vector) -> None:
        if not self._vector.done():
            self._vector.set_result(vector)

    async def _match(self) -> Ranking:
        if not self._options.text or self._query == Boolean():
            return ()
        with self._watch("text"):
            return await self._store.search_text(self._scope, self._query, k=self._options.text, where=self._where)

    async def _newest_summaries(self) -> list[str]:
        if not self._options.summary:
            return []
        with self._watch("summary"):
            return await self._store.newest(self._scope, k=self._options.summary, where=_of_kind(self._where, "summary"))

    async def near(self, vector: Vector, *, k: int, where: Filter, stage: str) -> Ranking:
        with self._watch(stage):
            return await self._store.search_vectors(self._scope, vector, k=k, where=where)

    async def vector(self) -> Vector | None:
        """What the question means, known before what is near to it."""
        return await asyncio.shield(self._vector)

    async def semantic(self) -> Ranking:
        """Those near enough."""
        return tuple(hit for hit in await asyncio.shield(self._near) if hit.score >= self._options.min_similarity)

    async def text(self) -> Ranking:
        return await asyncio.shield(self._matching)

    async def summaries(self) -> list[str]:
        """The newest ones."""
        return await asyncio.shield(self._summaries)

    async def by_meaning(self, ids: Sequence[str]) -> Ranking:
        """How near memories are that other sources found."""
        vector = await self.vector() if ids else None
        return () if vector is None else await self._store.search_vectors(self._scope, vector, k=len(ids), where=OneOf(ID, tuple(ids)))

    async def by_words(self, ids: Sequence[str]) -> Ranking:
        """How well memories fit by words that other sources found."""
        if self._query == Boolean() or not ids:
            return ()
        return await self._store.search_text(self._scope, self._query, k=len(ids), where=OneOf(ID, tuple(ids)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        abandon(self._vector)
        abandon(self._near)
        abandon(self._matching)
        abandon(self._summaries)


async def candidates(
    store: Store,
    scope: str,
    content: Content,
    query: MemoryQuery,
    entities: Callable[[], Awaitable[Sequence[str]]],
    where: Filter,
    options: SourceSettings,
    watch: Stopwatch,
) -> Found:
    """What all sources find, at most so many in all. `entities` are those of the question, and what the ontology leads to from there."""

    async def newest(stage: str, k: int, *more: Filter) -> list[str]:
        if not k:
            return []
        with watch(stage):
            return await store.newest(scope, k=k, where=And((where, *more)))

    async def by_entity() -> list[str]:
        ids = await entities()
        return await newest("entity", options.entity, OneOf(ENTITIES, tuple(ids))) if ids else []

    async def by_time() -> list[str]:
        return await newest("time", options.time, *_within(query.time_range)) if query.time_range else []

    async def procedures() -> list[str]:
        """The nearest ones; without a model, the newest."""
        if not (query.query_type.procedural and options.procedural):
            return []
        vector, of_kind = await content.vector(), _of_kind(where, "procedural")
        if vector is None:
            with watch("procedural"):
                return await store.newest(scope, k=options.procedural, where=of_kind)
        return [hit.id for hit in await content.near(vector, k=options.procedural, where=of_kind, stage="procedural")]

    async def summaries() -> list[str]:
        """Those of whom the question is about, then of sessions or of all, then any."""
        of_all = await content.summaries()
        if len(of_all) < options.summary:
            return of_all  # There are no others.
        covered = [tuple(each.canonical_id for each in query.entities), ("session" if query.time_range else "global",)]
        wanted = [newest("summary", options.summary, OneOf(KIND, ("summary",)), OneOf(COVERS, each)) for each in covered if each]
        found = await asyncio.gather(*wanted)
        return list(dict.fromkeys((*(each for some in found for each in some), *of_all)))[: options.summary]

    near, matching, about, then, how, summed = await asyncio.gather(
        content.semantic(), content.text(), by_entity(), by_time(), procedures(), summaries()
    )
    given: tuple[tuple[Source, Sequence[str]], ...] = (
        ("summary", summed),
        ("semantic", [hit.id for hit in near]),
        ("text", [hit.id for hit in matching]),
        ("entity", about),
        ("procedural", how),
        ("time", then),
    )
    sources: dict[str, tuple[Source, ...]] = {}
    for source, ids in given:
        for each in ids:
            if each in sources or len(sources) < options.most:
                sources[each] = (*sources.get(each, ()), source)
    similarity = {hit.id: hit.score for hit in near if hit.id in sources}
    words = {hit.id: hit.score for hit in matching if hit.id in sources}
    with watch("compare"):
        near, matching, heads = await asyncio.gather(
            content.by_meaning([each for each in sources if each not in similarity]),
            content.by_words([each for each in sources if each not in words]),
            store.heads(scope, list(sources)),
        )
    similarity |= {hit.id: hit.score for hit in near}
    words |= {hit.id: hit.score for hit in matching}
    return Found(sources, similarity, words, heads, await content.vector())


def _of_kind(where: Filter, kind: MemoryType) -> Filter:
    """What must hold, of one type alone. It takes the place of what is said of types: SQLite would go by that, and read all memories."""
    own, parts = OneOf(KIND, (kind,)), where.parts if isinstance(where, And) else (where,)
    others = [each for each in parts if not (isinstance(each, OneOf) and each.field == KIND and kind in each.values)]
    return And((own, *others))


def _within(time: TimeRange) -> list[Filter]:
    start: list[Filter] = [] if time.start is None else [Compare(CREATED, "gte", time.start)]
    return [*start, Compare(CREATED, "lte", time.end)]

"""The façade, and the only place that wires stores, models and stages together."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from . import ingest, settings, spans
from .answering import answer_events, whole
from .answers import Answer, AnswerEvent
from .cancellation import Cancellation, in_thread
from .consult import Knowledge
from .contracts import RetrievalBundle
from .embed import configured
from .errors import InvalidInput, NotFound
from .filters import check
from .filters import parse as parse_filter
from .ingest import Problem, Progress
from .ingest.report import IndexReport
from .knowledge import RetrievalMetrics, RetrievalOptions
from .llm import configured as configured_llm
from .model import Batch, Edge, Finding, Item, Retrieval, StoreStatus, Visit
from .ports import Clock, Embedder, Llm, Retriever, Store
from .prefs import CachePrefs, ChunkingPrefs, RetrievalPrefs, RouterName
from .profiles import Blend, Normalize
from .request import RequestContext, check_scope, now
from .settings import Settings
from .shorthand import prefs_of
from .spans import Span
from .stopwatch import staged
from .stores import folder_of, open_store
from .wiring import Parts

if TYPE_CHECKING:
    from .ingest.graph import GraphReport
    from .memory import Memory
    from .sync import SyncLibrary


class Library:
    """One scope of one store, with a model to search it by. Use it as an async context, or `sync()` for plain calls."""

    def __init__(
        self,
        store: Store,
        *,
        embedder: Embedder | None,
        llm: Llm | None = None,
        scope: str = "default",
        options: Settings | None = None,
        clock: Clock = now,
    ) -> None:
        self._wire(Parts(store, embedder, llm, options or Settings(), clock), scope)
        self._is_guest = False

    def _wire(self, parts: Parts, scope: str) -> None:
        check_scope(scope)
        self.scope = scope
        self.store, self.embedder, self.llm = parts.store, parts.embedder, parts.llm
        self.settings, self.chunkers = parts.settings, parts.chunkers
        self._parts, self._clock = parts, parts.clock

    @classmethod
    def open(
        cls,
        url: str | Path | None = None,
        *,
        scope: str | None = None,
        embedder: Embedder | None = None,
        llm: Llm | None = None,
        options: Settings | None = None,
        create: bool = True,
        clock: Clock = now,
    ) -> Self:
        """Open the store at a URL or in a folder (by default `./.recollect`), and make it if it is not there."""
        options = options or settings.load()
        url = str(options.store if url is None else url)
        options.retrieval.search.keyword_search.check(url)
        store = open_store(url, options, create=create)
        embed, chat = embedder or configured(options.embed), llm or configured_llm(options.llm)
        library = cls(store, embedder=embed, llm=chat, scope=options.scope if scope is None else scope, options=options, clock=clock)
        library._parts.address = url
        library._parts.own_models = tuple(model for model, given in ((embed, embedder), (chat, llm)) if given is None)
        return library

    def within(self, scope: str) -> Self:
        """The same store and models for another scope. Only the library that opened them closes them."""
        guest = type(self).__new__(type(self))
        guest._wire(self._parts, scope)
        guest._is_guest = True
        return guest

    def sync(self) -> SyncLibrary:
        """The same library for code that is not async."""
        from .sync import SyncLibrary

        return SyncLibrary(self)

    @property
    def address(self) -> str:
        """What its store was opened by, which may hold a password."""
        return self._parts.address

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the store, and of a model that was opened with it."""
        if not self._is_guest:
            await self._parts.close()

    # Taking in.

    async def index(
        self,
        paths: Sequence[str | Path] | str | Path,
        *,
        base: Path | None = None,
        untracked: bool | None = None,
        report: Callable[[Progress], None] | None = None,
    ) -> IndexReport:
        """Take in files and folders. Only what changed is read again; what is gone from under the paths leaves the store.

        Of a git repository what git tracks is taken, or the `untracked` files too; by default as the settings say."""
        from .ingest.indexing import index  # Its readers take a tenth of a second to import, and a search needs none of them.

        options = self.settings.ingest
        with self._parts.tracing.operation("index", scope=self.scope) as told:
            made = await index(
                self.store,
                self.scope,
                [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)],
                cutter=self._parts.cutter,
                base=base or self._base(),
                max_bytes=options.max_file_bytes,
                untracked=options.untracked if untracked is None else untracked,
                never=folder_of(self.store.url),
                report=report,
            )
            told.note(added=made.added, changed=made.changed, unchanged=made.unchanged, deleted=made.deleted)
        return made

    async def add(self, items: Iterable[Item], *, report: Callable[[Progress], None] | None = None) -> IndexReport:
        """Take in items. One with the id of another replaces it."""
        return await self._take_in(items, report=report)

    async def _take_in(
        self,
        items: Iterable[Item],
        *,
        undated: datetime | None = None,
        problems: list[Problem] | None = None,
        report: Callable[[Progress], None] | None = None,
    ) -> IndexReport:
        from .ingest.linking import link

        progress, kept = Progress(), ingest.Kept()
        before: dict[str, bytes] = {}
        with self._parts.tracing.operation("ingest", scope=self.scope) as told:
            cutter = await self._parts.cutter()
            written = await ingest.ingest(
                self.store, self.scope, items, cutter=cutter, progress=progress, report=report, undated=undated, replaced=before, kept=kept
            )
            with staged("link"):
                await link(self.store, self.scope, before, came=written.added, kept=kept)
            await kept.forget(self.store, self.scope)
            told.note(added=len(written.added), changed=len(written.changed), unchanged=len(written.unchanged))
        return IndexReport.of(
            progress, added=len(written.added), changed=len(written.changed), unchanged=len(written.unchanged), problems=problems or []
        )

    async def add_text(
        self, text: str, *, item_id: str, title: str | None = None, kind: str = "document", metadata: Mapping[str, Any] | None = None
    ) -> IndexReport:
        """Take in one text under an id. Its times are those of its first coming and of its last change."""
        at = self._clock()
        item = Item(scope=self.scope, id=item_id, text=text, title=title, kind=kind, metadata=metadata or {}, created_at=at, updated_at=at)
        return await self._take_in([item], undated=at)

    async def import_records(
        self, lines: Iterable[bytes | str], *, name: str = "records", report: Callable[[Progress], None] | None = None
    ) -> IndexReport:
        """Take in JSON Lines, a record each. A bad line is told by number and the rest goes on."""
        from .ingest.records import BadRecord, encoded, read_records

        problems: list[Problem] = []
        now = self._clock()

        def good() -> Iterable[Item]:
            for record in read_records(encoded(lines), scope=self.scope, name=name, now=now):
                if isinstance(record, BadRecord):
                    problems.append(Problem(f"{name}:{record.line}:{record.column}", record.reason))
                else:
                    yield record

        return await self._take_in(good(), undated=now, problems=problems, report=report)

    async def import_graph(self, lines: Iterable[bytes | str], *, name: str = "graph") -> GraphReport:
        """Take in JSON Lines of a graph: entities, edges, or what a document says of entities. A bad line is told by number."""
        from .ingest.graph import import_graph

        return await import_graph(self.store, self.scope, lines, name=name)

    async def link(self, edges: Iterable[Edge]) -> None:
        """Keep links between items."""
        await self.store.write(self.scope, Batch(edges=list(edges)))

    async def reembed(self, *, report: Callable[[Progress], None] | None = None) -> IndexReport:
        """Move the whole store, every scope of it, to the present model and chunking."""
        cutter = await in_thread(self._parts.own_cutter)
        if cutter is None:
            raise InvalidInput("the model is 'none', which makes no vectors: name one in the setting 'embed.model'")
        progress = Progress()
        await ingest.reembed(self.store, cutter, progress=progress, report=report)
        return IndexReport.of(progress, changed=progress.items_done)

    # Asking.

    @property
    def retriever(self) -> Retriever:
        """The store and the model as a Retriever: for callers with a scope, a deadline and preferences of their own."""
        return self._parts.retriever

    @cached_property
    def knowledge(self) -> Knowledge:
        """The store as a knowledge service: contexts for agents, what is similar, what is around a node, what depends on it."""
        return Knowledge(self.store, self.scope, self.retrieve, self._parts.reader.tokens, self.settings.retrieval, self._parts.tracing)

    @cached_property
    def memory(self) -> Memory:
        """The store as the memory of a user, which is the scope: remember, recall, forget, and learn from what was used."""
        from .memory import Memory

        return Memory(self.scope, self._parts.recaller, self._parts.cutter, self._parts.metrics, self._parts.recalls, self._parts.tracing)

    def metrics(self) -> RetrievalMetrics:
        """How searches have gone since the library was opened."""
        return self._parts.metrics.snapshot()

    async def search(
        self,
        query: str,
        *,
        k: int | None = None,
        where: Mapping[str, Any] | None = None,
        mode: str | None = None,
        profile: str | None = None,
        min_score: float | None = None,
        min_similarity: float | None = None,
        facets: Sequence[str] | str = (),
        chunks: int | None = None,
        chunks_per_item: int | None = None,
        chunking: ChunkingPrefs | Mapping[str, Any] | None = None,
        cache: CachePrefs | Mapping[str, Any] | None = None,
        snippet_chars: int = 360,
        source_types: Sequence[str] = (),
        file_patterns: Sequence[str] = (),
        folders: Sequence[str] = (),
        router: RouterName = "auto",
        expand: bool | None = None,
        include_history: bool = False,
        include_code: bool = True,
        as_of: datetime | str | None = None,
        max_distance: int | None = None,
        unread: Sequence[str] | str = (),
        debug: bool = False,
        deadline_s: float | None = None,
        cancellation: Cancellation | None = None,
        weights: Mapping[str, float] | None = None,
        blend: Blend | None = None,
        normalize: Normalize | None = None,
        rrf_k: int | None = None,
        depth: int | None = None,
    ) -> RetrievalBundle:
        """The k items that answer the query best, with evidence and reasons; `retrieve` with short names and the settings' defaults.

        `chunks` pieces of evidence at most, `chunks_per_item` of one item. `source_types` and `file_patterns` leave out what is of no
        such type or path, unless nothing else is left; `folders` only count more. `expand` adds what surrounds the evidence.
        What was superseded comes where history is included, or `as_of` a day on which it was current; `max_distance` edges are followed.
        From `weights` on: other numbers than the profile's."""
        asked = prefs_of(
            self.settings.search,
            query,
            k=k,
            where=where,
            mode=mode,
            profile=profile,
            min_score=min_score,
            min_similarity=min_similarity,
            facets=facets,
            chunks=chunks,
            chunks_per_item=chunks_per_item,
            chunking=chunking,
            cache=cache,
            snippet_chars=snippet_chars,
            source_types=source_types,
            file_patterns=file_patterns,
            folders=folders,
            router=router,
            expand=expand,
            graph={"include_history": include_history, "include_code": include_code, "as_of": as_of, "max_distance": max_distance},
            unread=unread,
            debug=debug,
            weights=weights,
            scoring={"blend": blend, "normalize": normalize, "rrf_k": rrf_k, "depth": depth},
        )
        return await self.retrieve(asked, deadline_s=deadline_s, cancellation=cancellation)

    async def retrieve(
        self,
        prefs: RetrievalPrefs | Mapping[str, Any],
        *,
        request_id: str = "",
        deadline_s: float | None = None,
        cancellation: Cancellation | None = None,
    ) -> RetrievalBundle:
        """What the retriever finds in this scope for these preferences, in so many seconds at the most."""
        ctx = RequestContext.within(self.scope, request_id, self._clock, deadline_s, cancellation)
        return await self.retriever.search(ctx, RetrievalPrefs.model_validate(prefs))

    async def ask(self, query: str, options: RetrievalOptions | Mapping[str, Any] | None = None, /, **more: Any) -> Answer:
        """What the language model answers from passages alone; options are those of a context, and those of `answering`."""
        return await whole(self.answering(query, options, **more))

    def answering(
        self,
        query: str,
        options: RetrievalOptions | Mapping[str, Any] | None = None,
        /,
        *,
        request_id: str = "",
        deadline_s: float | None = None,
        cancellation: Cancellation | None = None,
        **more: Any,
    ) -> AsyncGenerator[AnswerEvent]:
        """An answer as it is written: its sources, each sentence, then all of it. Who stops listening stops the model, with `aclose`."""
        ctx = RequestContext.within(self.scope, request_id, self._clock, deadline_s, cancellation)
        return answer_events(ctx, query, partial(self.knowledge.context, query, options, **more), self.llm)

    async def get(self, item_id: str) -> Item:
        """The item of this id."""
        found = await self.store.get(self.scope, [item_id])
        if not found:
            raise NotFound(f"there is no item {item_id!r} in scope {self.scope!r}: `recollect search` shows ids")
        return found[0].item

    async def span(self, place: str) -> Span:
        """The lines that a place names, such as `src/a.py:10-40` or `src/a.py:10`, or the definition, `src/a.py#Store.write`."""
        return await spans.read(self.store, self.scope, place)

    async def items(self, where: Mapping[str, Any] | None = None) -> AsyncIterator[Item]:
        """Every item that passes the filter, in order of id."""
        condition = parse_filter(where)
        if condition is not None:
            check(condition, await self.store.fields(self.scope))
        async for stored in self.store.scan(self.scope, condition):
            yield stored.item

    async def delete(self, ids: Sequence[str] | str) -> list[str]:
        """Remove items, or one, and everything derived from them; the ids of those that were there."""
        from .ingest.deleting import delete

        return await delete(self.store, self.scope, [ids] if isinstance(ids, str) else list(ids))

    async def drop(self) -> int:
        """Remove the whole scope; how many items went."""
        return await self.store.drop(self.scope)

    async def walk(
        self, starts: Sequence[str] | str, *, hops: int = 2, fan_out: int = 20, types: Sequence[str] | None = None
    ) -> list[Visit]:
        """The items linked to these, nearest first."""
        return await self.store.walk(self.scope, [starts] if isinstance(starts, str) else starts, hops=hops, fan_out=fan_out, types=types)

    def retrievals(self, *, since: datetime | None = None) -> AsyncIterator[Retrieval]:
        """The searches of this scope that were logged, not before `since`, newest first; see the setting `log.retrievals`."""
        if since is not None and since.utcoffset() is None:
            raise InvalidInput(f"since is {since!r}: give a time with its zone, such as datetime(2024, 5, 17, tzinfo=UTC)")
        return self.store.retrievals(self.scope, since=since)

    async def status(self) -> StoreStatus:
        """How the store stands."""
        return await self.store.status(self.scope)

    async def doctor(self, *, repair: bool = False) -> list[Finding]:
        """Look the store over, and mend what can be mended."""
        return await self.store.doctor(repair=repair)

    def _base(self) -> Path:
        """The folder that references to files are relative to: the one the store lies in, or else the present one."""
        folder = folder_of(self.store.url)
        return folder.parent if folder else Path.cwd()

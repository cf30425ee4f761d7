"""The parts of one store as they are wired together, each made with its first use; the libraries of all its scopes share them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from .cancellation import in_thread
from .embed import bundled_tokens
from .evidence.chunkers import ChunkerRegistry
from .evidence.cutting import Cutter, Reader
from .metrics import Metrics
from .ports import Clock, Embedder, Llm, Retriever, Router, Store, SupportsClosing
from .recording import Recorder
from .retriever import HybridRetriever
from .route.llm import LlmRouter
from .route.rules import RuleRouter
from .settings import Settings
from .telemetry import Tracing

if TYPE_CHECKING:
    from .recalling import Recaller


class Parts:
    """A store, its models, and what reads and writes it."""

    def __init__(self, store: Store, embedder: Embedder | None, llm: Llm | None, options: Settings, clock: Clock) -> None:
        self.store = store
        self.embedder = embedder
        self.llm = llm
        self.settings = options
        self.clock = clock
        self.chunkers = ChunkerRegistry()
        self.metrics = Metrics()
        self.tracing = Tracing(traces=options.telemetry.traces, content=options.telemetry.content)
        self.address = store.url
        self.own_models: tuple[object, ...] = ()
        """Those that were opened with the store, and are closed with it."""

    async def close(self) -> None:
        """Write what waits, and let go of the store, of the domain database, and of the models that are its own."""
        for recorder in (self.recorder, self.recalls):
            if recorder:
                await recorder.close()
        if "recaller" in vars(self) and self.recaller.domain is not None:
            await self.recaller.domain.close()
        await self.store.close()
        for model in self.own_models:
            if isinstance(model, SupportsClosing):
                model.close()

    @cached_property
    def recorder(self) -> Recorder | None:
        """What logs searches, where that is wanted."""
        options = self.settings.log
        return Recorder(self.store, max_entries=options.max_entries) if options.retrievals else None

    @cached_property
    def recalls(self) -> Recorder | None:
        """What logs recalls, where that is wanted."""
        options = self.settings.memory
        return Recorder(self.store, max_entries=options.max_entries) if options.log else None

    @cached_property
    def retriever(self) -> Retriever:
        """The read path of everything but memories."""
        options, knowledge = self.settings.search, self.settings.retrieval
        return HybridRetriever(self.store, self.reader, options, self.recorder, self._routers(), knowledge, self.metrics, self.tracing)

    @cached_property
    def recaller(self) -> Recaller:
        """The read path of memories."""
        from .domain import open_domain
        from .recalling import Recaller

        options = self.settings.memory
        llm = self.llm if options.llm else None
        return Recaller(self.store, self.reader, options, self.clock, open_domain(options.domain), llm)

    @cached_property
    def reader(self) -> Reader:
        """How texts are cut and read."""
        tokens = self.embedder.tokens if self.embedder else bundled_tokens()
        return Reader(tokens, self.embedder, self.chunkers, self.settings.ingest.chunk_tokens)

    def own_cutter(self) -> Cutter | None:
        """How items are cut and embedded by the present model; None where there is none."""
        return self.reader.cutter() if self.embedder else None

    async def cutter(self) -> Cutter | None:
        """The same, once it is sure that the store's vectors were made so, too."""
        cutter = await in_thread(self.own_cutter)
        space = await self.store.space()
        if cutter and space:
            cutter.require(space)
        return cutter

    def _routers(self) -> dict[str, Router]:
        """Who may read a question about code: rules always, a language model where one is given."""
        found: dict[str, Router] = {"rules": RuleRouter()}
        if self.llm is not None:
            found["llm"] = LlmRouter(self.llm, timeout_s=self.settings.llm.timeout_s)
        return found

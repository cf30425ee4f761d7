"""The Retriever over a store and a model: takes a request, understands it, and lets nothing go on once nobody waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from .asking import answer
from .contracts import RetrievalBundle, RetrievalStats
from .errors import InvalidInput
from .evidence.cutting import Reader
from .metrics import Metrics
from .plan import Plan
from .ports import Router, Store, SupportsNativeText
from .prefs import RetrievalPrefs, RouterName
from .profiles import Profile, adjusted, named
from .recording import Recorder, retrieval
from .request import RequestContext, guarded
from .resultcache import ResultCache
from .retrieval_settings import RetrievalSettings
from .settings import SearchSettings
from .telemetry import Operation, Tracing
from .understand import understand


class HybridRetriever:
    """Searches by words and by meaning, of whichever scope the request names. It emits nothing, and keeps nothing of a request unless
    it was given a recorder."""

    def __init__(
        self,
        store: Store,
        reader: Reader,
        options: SearchSettings | None = None,
        recorder: Recorder | None = None,
        routers: Mapping[str, Router] | None = None,
        knowledge: RetrievalSettings | None = None,
        metrics: Metrics | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        """`routers` by name, "rules" and "llm": what a question in the code profile is read by. Without any it is searched as it is.
        `knowledge` has the numbers of the graph profile. `metrics` and `tracing` are told of every search."""
        self._store = store
        self._routers = routers or {}
        self._reader = reader
        self._options = options or SearchSettings()
        self._recorder = recorder
        self._knowledge = knowledge or RetrievalSettings()
        self._metrics = metrics
        self._tracing = tracing or Tracing()
        kept = self._knowledge.cache
        self._answers: ResultCache[RetrievalBundle] = ResultCache(kept.ttl, kept.max_size)

    async def search(self, ctx: RequestContext, prefs: RetrievalPrefs | Mapping[str, Any]) -> RetrievalBundle:
        """The candidates and the evidence for a question; prefs may be a plain dictionary too.

        Ends with `Cancelled` or `DeadlineExceeded` as soon as the request does."""
        if not isinstance(ctx, RequestContext):
            raise InvalidInput(f"the context is {ctx!r:.80}: give a RequestContext with the scope to search")
        with self._tracing.operation("retrieve", does="retrieval", scope=ctx.scope, request=ctx.request_id) as told:
            return await self._search(ctx, RetrievalPrefs.model_validate(prefs), told)

    async def _search(self, ctx: RequestContext, prefs: RetrievalPrefs, told: Operation) -> RetrievalBundle:
        told.asked(prefs.query_text, k=prefs.top_k_items)
        self._reader.check(prefs.chunking)
        text_config = self._store.text_config if isinstance(self._store, SupportsNativeText) else None
        plan = understand(prefs, scope=ctx.scope, profile=self._profile(prefs.profile), text_config=text_config)
        begin = ctx.now()
        bundle, cached = await guarded(ctx, self._answer(plan, ctx))
        if self._metrics:
            took_ms = (ctx.now() - begin).total_seconds() * 1000
            self._metrics.record(bundle.stats.timing_ms, len(bundle.candidates), took_ms, cached)
        told.note(profile=plan.profile.name, candidates=len(bundle.candidates), evidence=len(bundle.evidence), cached=cached)
        told.found((found.item_id, found.score) for found in bundle.candidates)
        if not prefs.debug:
            bundle = bundle.model_copy(update={"stats": RetrievalStats()})
        if self._recorder:
            self._recorder.record(ctx.scope, retrieval(ctx, plan, bundle, at=begin))
        return bundle

    async def _answer(self, plan: Plan, ctx: RequestContext) -> tuple[RetrievalBundle, bool | None]:
        """The answer to a plan, and whether it is one that was given before; None where that may not be."""
        prefs = plan.prefs
        router = self._router(prefs.routing.router)
        search = partial(answer, self._store, self._reader, plan, router, ctx.now)
        if not prefs.cache.use_result_cache:
            return await search(), None
        bundle, cached = await self._answers.answer(ctx.scope, await self._store.change(ctx.scope), prefs.model_dump_json(), search)
        # Lists of their own, so that a caller who changes one changes no answer that is kept.
        return bundle.model_copy(update={"candidates": [*bundle.candidates], "evidence": [*bundle.evidence]}), cached

    def _router(self, name: RouterName) -> Router | None:
        if name == "auto":
            return self._routers.get("llm") or self._routers.get("rules")
        if name == "llm" and name not in self._routers:
            raise InvalidInput("routing.router is 'llm', and no model is set to ask: name one in the setting 'llm.model', or use 'rules'")
        return self._routers.get(name)

    def _profile(self, name: str | None) -> Profile:
        """What is set goes with the profile that is set: another one that is asked for has its own numbers."""
        options = self._options
        profile = self._knowing(named(name or options.profile))
        if profile.name != options.profile:
            return profile
        numbers = ("weights", "blend", "normalize", "rrf_k", "depth")
        return adjusted(profile, **{number: getattr(options, number) for number in numbers})

    def _knowing(self, profile: Profile) -> Profile:
        """The profile with the numbers that are set for the knowledge service, where it is its own."""
        expansion = self._knowledge.graph.expansion
        if profile.authority is None:
            return replace(profile, expansion=expansion)
        search = self._knowledge.search
        return replace(
            profile,
            expansion=expansion,
            authority=self._knowledge.context.prioritization.authority,
            weights=search.hybrid.weights,
            indices=search.vector_search.vectors,
        )

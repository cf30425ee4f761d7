"""The Retriever over a store and a model: takes a request, understands it, and lets nothing go on once nobody waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .asking import answer
from .contracts import RetrievalBundle
from .errors import InvalidInput
from .evidence.cutting import Reader
from .ports import Router, Store, SupportsNativeText
from .prefs import RetrievalPrefs, RouterName
from .profiles import Profile, adjusted, named
from .recording import Recorder, retrieval
from .request import RequestContext, guarded
from .settings import SearchSettings
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
    ) -> None:
        """`routers` by name, "rules" and "llm": what a question in the code profile is read by. Without any it is searched as it is."""
        self._store = store
        self._routers = routers or {}
        self._reader = reader
        self._options = options or SearchSettings()
        self._recorder = recorder

    async def search(self, ctx: RequestContext, prefs: RetrievalPrefs | Mapping[str, Any]) -> RetrievalBundle:
        """The candidates and the evidence for a question; prefs may be a plain dictionary too.

        Ends with `Cancelled` or `DeadlineExceeded` as soon as the request does."""
        if not isinstance(ctx, RequestContext):
            raise InvalidInput(f"the context is {ctx!r:.80}: give a RequestContext with the scope to search")
        prefs = RetrievalPrefs.model_validate(prefs)
        self._reader.check(prefs.chunking)
        text_config = self._store.text_config if isinstance(self._store, SupportsNativeText) else None
        plan = understand(prefs, scope=ctx.scope, profile=self._profile(prefs.profile), text_config=text_config)
        begin = ctx.now()
        router = self._router(prefs.routing.router)
        bundle = await guarded(ctx, answer(self._store, self._reader, plan, router, ctx.now))
        if self._recorder:
            self._recorder.record(ctx.scope, retrieval(ctx, plan, bundle, at=begin))
        return bundle

    def _router(self, name: RouterName) -> Router | None:
        if name == "auto":
            return self._routers.get("llm") or self._routers.get("rules")
        if name == "llm" and name not in self._routers:
            raise InvalidInput("routing.router is 'llm', and no model is set to ask: name one in the setting 'llm.model', or use 'rules'")
        return self._routers.get(name)

    def _profile(self, name: str | None) -> Profile:
        """What is set goes with the profile that is set: another one that is asked for has its own numbers."""
        options = self._options
        profile = named(name or options.profile)
        if profile.name != options.profile:
            return profile
        numbers = ("weights", "blend", "normalize", "rrf_k", "depth")
        return adjusted(profile, **{number: getattr(options, number) for number in numbers})

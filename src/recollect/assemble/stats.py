"""How an answer came about: what each stage took, how much there was of everything, and the parameters that were in force."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..contracts import RetrievalStats
from ..plan import Plan
from ..profiles import TEXT, VECTOR
from ..textquery import TEXT_CONFIG

STAGES = (
    "names",
    "embed",
    "text",
    "vector",
    "graph",
    "fuse",
    "rank",
    "fold",
    "graph_reach",
    "chunks",
    "cut",
    "embed_chunks",
    "weigh",
    "show",
    "expand",
    "total",
)
"""In the order they begin. Words and meaning are searched side by side, so which of them is timed first is left to chance."""
RANK_FUNCTION = "bm25"
"""How words are ranked where the store's server does not do it."""


def stats(plan: Plan, chunker: str | None, *, timing_ms: Mapping[str, float], counts: Mapping[str, int]) -> RetrievalStats:
    """The stats; `chunker` cuts what was not cut before. Parameters are told to who asked for stats: to gather them takes a while."""
    in_order = {stage: timing_ms[stage] for stage in STAGES if stage in timing_ms}
    return RetrievalStats(timing_ms=in_order, counts=dict(counts), params=_params(plan, chunker) if plan.prefs.debug else {})


def _params(plan: Plan, chunker: str | None) -> dict[str, Any]:
    """The prefs with everything filled in that was left to us, the scope, and the full name of the chunker."""
    prefs, profile = plan.prefs, plan.profile
    asked = prefs.model_dump(mode="json", exclude={"query_text", "debug"})
    asked["vector"].pop("query_vector")
    asked["fts"] |= {
        "config": plan.native.query.config if plan.native else TEXT_CONFIG,
        "rank_func": plan.native.rank_func if plan.native else RANK_FUNCTION,
    }
    asked["scoring"] |= {
        "blend": profile.blend,
        "normalize": profile.normalize,
        "rrf_k": profile.rrf_k,
        "depth": profile.depth,
        "w_text": profile.weights.get(TEXT, 0.0),
        "w_vec": profile.weights.get(VECTOR, 0.0),
    }
    return asked | {"scope": plan.scope, "profile": profile.name, "chunker": chunker}

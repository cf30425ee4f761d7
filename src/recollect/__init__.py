"""Recollect: one retrieval engine for documents, code, a knowledge graph and memories.

    import recollect

    with recollect.open("./.recollect") as library:
        library.index("docs")
        for source in library.search("how are backups encrypted?").candidates:
            print(source.score, source.source_ref, source.snippet)

Names are loaded when they are first used, so that the command line starts quickly.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .answers import Answer, AnswerSentence, AnswerSources, DroppedCitation, LeftOutSentence
    from .assemble.events import dspy_passages, passages, rag_debug, rag_evidence, rag_sources
    from .cancellation import Cancellation
    from .consult import Knowledge
    from .contracts import (
        CandidateItem,
        EvidenceAnchors,
        EvidenceChunk,
        Explanation,
        GraphEdge,
        QueryAnalysis,
        RetrievalBundle,
        RetrievalStats,
        RoutePart,
    )
    from .errors import (
        Cancelled,
        DeadlineExceeded,
        DomainUnavailable,
        EmbedderError,
        InvalidInput,
        LlmError,
        MissingExtra,
        ModelMismatch,
        NotFound,
        RecollectError,
        Stopped,
        StoreBusy,
        StoreDamaged,
        StoreError,
        StoreFull,
        StoreReadOnly,
        StoreTooNew,
    )
    from .ingest.report import IndexReport
    from .knowledge import (
        AgentRequest,
        AssembledContext,
        Citation,
        GraphContext,
        ImpactContext,
        RetrievalMetrics,
        RetrievalOptions,
        RetrievalQuery,
        RetrievalResult,
    )
    from .library import Library
    from .memories import (
        AugmentedContext,
        ConversationContext,
        NewMemory,
        Recall,
        RecalledMemory,
        Remembered,
        TuningReport,
    )
    from .memory import Memory
    from .model import Edge, Entity, Item
    from .ports import Embedder, Retriever, Store
    from .prefs import (
        CachePrefs,
        ChunkingPrefs,
        GraphPrefs,
        RetrievalPrefs,
        RoutingPrefs,
        ScoringPrefs,
        SnippetPrefs,
        TextPrefs,
        VectorPrefs,
    )
    from .request import RequestContext
    from .schemas import json_schemas
    from .settings import Settings
    from .sync import SyncLibrary

__version__ = "0.1.0"

_HOMES = {
    "answers": ("Answer", "AnswerSentence", "AnswerSources", "DroppedCitation", "LeftOutSentence"),
    "assemble.events": ("dspy_passages", "passages", "rag_debug", "rag_evidence", "rag_sources"),
    "cancellation": ("Cancellation",),
    "consult": ("Knowledge",),
    "contracts": (
        "CandidateItem",
        "EvidenceAnchors",
        "EvidenceChunk",
        "Explanation",
        "GraphEdge",
        "QueryAnalysis",
        "RetrievalBundle",
        "RetrievalStats",
        "RoutePart",
    ),
    "errors": (
        "Cancelled",
        "DeadlineExceeded",
        "DomainUnavailable",
        "EmbedderError",
        "InvalidInput",
        "LlmError",
        "MissingExtra",
        "ModelMismatch",
        "NotFound",
        "RecollectError",
        "Stopped",
        "StoreBusy",
        "StoreDamaged",
        "StoreError",
        "StoreFull",
        "StoreReadOnly",
        "StoreTooNew",
    ),
    "ingest.report": ("IndexReport",),
    "knowledge": (
        "AgentRequest",
        "AssembledContext",
        "Citation",
        "GraphContext",
        "ImpactContext",
        "RetrievalMetrics",
        "RetrievalOptions",
        "RetrievalQuery",
        "RetrievalResult",
    ),
    "library": ("Library",),
    "memories": (
        "AugmentedContext",
        "ConversationContext",
        "NewMemory",
        "Recall",
        "RecalledMemory",
        "Remembered",
        "TuningReport",
    ),
    "memory": ("Memory",),
    "model": ("Edge", "Entity", "Item"),
    "ports": ("Embedder", "Retriever", "Store"),
    "prefs": (
        "CachePrefs",
        "ChunkingPrefs",
        "GraphPrefs",
        "RetrievalPrefs",
        "RoutingPrefs",
        "ScoringPrefs",
        "SnippetPrefs",
        "TextPrefs",
        "VectorPrefs",
    ),
    "request": ("RequestContext",),
    "schemas": ("json_schemas",),
    "settings": ("Settings",),
    "sync": ("SyncLibrary",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AgentRequest",
    "Answer",
    "AnswerSentence",
    "AnswerSources",
    "AssembledContext",
    "AugmentedContext",
    "CachePrefs",
    "Cancellation",
    "Cancelled",
    "CandidateItem",
    "ChunkingPrefs",
    "Citation",
    "ConversationContext",
    "DeadlineExceeded",
    "DomainUnavailable",
    "DroppedCitation",
    "Edge",
    "Embedder",
    "EmbedderError",
    "Entity",
    "EvidenceAnchors",
    "EvidenceChunk",
    "Explanation",
    "GraphContext",
    "GraphEdge",
    "GraphPrefs",
    "ImpactContext",
    "IndexReport",
    "InvalidInput",
    "Item",
    "Knowledge",
    "LeftOutSentence",
    "Library",
    "LlmError",
    "Memory",
    "MissingExtra",
    "ModelMismatch",
    "NewMemory",
    "NotFound",
    "QueryAnalysis",
    "Recall",
    "RecalledMemory",
    "RecollectError",
    "Remembered",
    "RequestContext",
    "RetrievalBundle",
    "RetrievalMetrics",
    "RetrievalOptions",
    "RetrievalPrefs",
    "RetrievalQuery",
    "RetrievalResult",
    "RetrievalStats",
    "Retriever",
    "RoutePart",
    "RoutingPrefs",
    "ScoringPrefs",
    "Settings",
    "SnippetPrefs",
    "Stopped",
    "Store",
    "StoreBusy",
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreTooNew",
    "SyncLibrary",
    "TextPrefs",
    "TuningReport",
    "VectorPrefs",
    "__version__",
    "dspy_passages",
    "json_schemas",
    "open",
    "passages",
    "rag_debug",
    "rag_evidence",
    "rag_sources",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME_OF[name]}", __name__), name)


def open(url: str | Path | None = None, *, scope: str | None = None) -> SyncLibrary:  # noqa: A001
    """The store at a URL or in a folder, for plain (not async) calls. `Library.open` is the async one."""
    from .library import Library

    return Library.open(url, scope=scope).sync()

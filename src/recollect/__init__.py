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
    from .assemble.events import dspy_passages, passages, rag_debug, rag_sources
    from .cancellation import Cancellation
    from .contracts import CandidateItem, EvidenceAnchors, EvidenceChunk, Explanation, RetrievalBundle, RetrievalStats, RoutePart
    from .errors import (
        Cancelled,
        DeadlineExceeded,
        EmbedderError,
        InvalidInput,
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
    from .library import Library
    from .model import Edge, Item
    from .ports import Embedder, Retriever, Store
    from .prefs import CachePrefs, ChunkingPrefs, RetrievalPrefs, ScoringPrefs, SnippetPrefs, TextPrefs, VectorPrefs, json_schemas
    from .request import RequestContext
    from .settings import Settings
    from .sync import SyncLibrary

__version__ = "0.1.0"

_HOMES = {
    "assemble.events": ("dspy_passages", "passages", "rag_debug", "rag_sources"),
    "cancellation": ("Cancellation",),
    "contracts": ("CandidateItem", "EvidenceAnchors", "EvidenceChunk", "Explanation", "RetrievalBundle", "RetrievalStats", "RoutePart"),
    "errors": (
        "Cancelled",
        "DeadlineExceeded",
        "EmbedderError",
        "InvalidInput",
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
    "library": ("Library",),
    "model": ("Edge", "Item"),
    "ports": ("Embedder", "Retriever", "Store"),
    "prefs": (
        "CachePrefs",
        "ChunkingPrefs",
        "RetrievalPrefs",
        "ScoringPrefs",
        "SnippetPrefs",
        "TextPrefs",
        "VectorPrefs",
        "json_schemas",
    ),
    "request": ("RequestContext",),
    "settings": ("Settings",),
    "sync": ("SyncLibrary",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "CachePrefs",
    "Cancellation",
    "Cancelled",
    "CandidateItem",
    "ChunkingPrefs",
    "DeadlineExceeded",
    "Edge",
    "Embedder",
    "EmbedderError",
    "EvidenceAnchors",
    "EvidenceChunk",
    "Explanation",
    "IndexReport",
    "InvalidInput",
    "Item",
    "Library",
    "MissingExtra",
    "ModelMismatch",
    "NotFound",
    "RecollectError",
    "RequestContext",
    "RetrievalBundle",
    "RetrievalPrefs",
    "RetrievalStats",
    "Retriever",
    "RoutePart",
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
    "VectorPrefs",
    "__version__",
    "dspy_passages",
    "json_schemas",
    "open",
    "passages",
    "rag_debug",
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

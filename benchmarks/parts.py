"""The parts of a run, each made to be called in a process of its own: it finds its text, its vectors and its store by itself."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from recollect.embed import configured
from recollect.model import Vector
from recollect.ports import Embedder
from recollect.settings import Settings

from . import code as code_part
from . import evidence as evidence_part
from . import graph as graph_part
from . import indexing
from . import memory as memory_part
from . import postgres as postgres_part
from . import queries as query_part
from . import serving as serving_part
from . import start as start_part
from .build import build as build_store
from .build import cutter_of
from .memory_data import Memories, questions
from .passages import Texts, long_documents, passages, queries, read_texts
from .vectors import REAL, noisy, real_vectors

CACHE = Path(__file__).parent / ".cache"
QUERIES = 200
MEMORY_REAL = 50_000
"""Passages that are really embedded for memories, of which each says the first words."""
INDEX_KINDS = {"short passages": indexing.short_items, "long Markdown documents": indexing.long_items}


def embedder() -> Embedder:
    """The bundled model, as by default."""
    model = configured(Settings().embed)
    assert model is not None
    return model


def store_of(size: int) -> Path:
    """Where the store of a size is built."""
    return CACHE / "stores" / str(size)


def _vectors(passage_texts: Sequence[str], model: Embedder) -> Vector:
    return noisy(real_vectors(passage_texts[:REAL], model, CACHE / "vectors"), len(passage_texts))


def _passages(texts: Texts, size: int) -> list[str]:
    return list(islice(passages(texts), size))


def build(size: int, text: Path) -> float:
    """Build the store of a size; rows a second."""
    model = embedder()
    found = _passages(read_texts(text), size)
    return round(size / build_store(store_of(size), found, _vectors(found, model), cutter_of(model).space))


def ask(size: int, text: Path) -> dict[str, Any]:
    """Query the store of a size."""
    model, texts = embedder(), read_texts(text)
    vectors = _vectors(_passages(texts, size), model)
    kind = "real" if size <= REAL else f"{REAL:,} real, the rest copies with noise"
    return {"vectors": kind} | query_part.measure(store_of(size), vectors, model, queries(texts, QUERIES))


def index(kind: str, text: Path) -> dict[str, float]:
    """Take in items of a kind."""
    return indexing.measure(CACHE / "stores" / "index", INDEX_KINDS[kind](read_texts(text)), embedder())


def code() -> dict[str, Any]:
    """Parse, take in and ask code."""
    folder, model = CACHE / "code", embedder()
    return {
        "parsing": code_part.parsing(),
        "index": indexing.measure(folder / "index", code_part.items(), model),
        "asking": code_part.asking(folder, model),
        "changing": code_part.changing(folder, model),
        "answers": code_part.answers(folder, model),
    }


def graph() -> dict[str, Any]:
    """Walk over a large graph."""
    return graph_part.measure()


def memories_of(size: int) -> Path:
    """Where a store of so many memories is built."""
    return CACHE / "memories" / str(size)


def _memories(size: int, texts: Texts, model: Embedder) -> Memories:
    found = _passages(texts, size)
    return Memories.of(found, noisy(real_vectors(found[:MEMORY_REAL], model, CACHE / "vectors"), size))


def memory_build(size: int, text: Path) -> float:
    """Build a store of memories; rows a second."""
    model = embedder()
    return round(size / memory_part.build(memories_of(size), _memories(size, read_texts(text), model), cutter_of(model).space))


def memory(size: int, text: Path) -> dict[str, Any]:
    """Recall from the embedded store of a size."""
    model, texts = embedder(), read_texts(text)
    asked = questions(queries(texts, QUERIES), QUERIES)
    return memory_part.ask(memories_of(size), _memories(size, texts, model).vectors, model, asked)


def memory_postgres(size: int, text: Path) -> dict[str, Any]:
    """Recall from a store of a size on Postgres."""
    model, texts = embedder(), read_texts(text)
    asked = questions(queries(texts, QUERIES), QUERIES)
    return memory_part.postgres(CACHE / "postgres", _memories(size, texts, model), cutter_of(model).space, model, asked)


def evidence(text: Path) -> dict[str, Any]:
    """Ask long documents for evidence, and stop asking."""
    texts = read_texts(text)
    return evidence_part.measure(CACHE / "stores" / "evidence", long_documents(texts), embedder(), queries(texts, QUERIES // 2))


def postgres(size: int, text: Path, *, windows: int) -> dict[str, Any]:
    """Load and ask a store on Postgres; common words are asked of so many windows."""
    model, texts = embedder(), read_texts(text)
    found = _passages(texts, size)
    vectors = _vectors(found, model)
    asked = queries(texts, QUERIES)
    return postgres_part.measure(CACHE / "postgres", found, vectors, cutter_of(model).space, model, asked, windows=windows)


def start(size: int, text: Path) -> dict[str, float]:
    """Ask the store of a size from the shell."""
    return {"chunks": size} | start_part.measure(store_of(size), queries(read_texts(text), QUERIES))


def serve(size: int, text: Path) -> dict[str, Any]:
    """Ask the store of a size through the service, and restart that."""
    texts, wanted = read_texts(text), serving_part.QUESTIONS
    # A sentence may come twice.
    asked = list(dict.fromkeys(queries(texts, 2 * wanted)))[:wanted]
    return {"chunks": size} | serving_part.measure(store_of(size), CACHE / "stores" / "served", asked)

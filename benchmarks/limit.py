"""The bare parts a query cannot do without: the embedder, Tantivy and FAISS, called one after the other with nothing around them."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import faiss
import numpy as np
import tantivy

from recollect.model import Vector, digest
from recollect.ports import Embedder
from recollect.settings import VectorSettings
from recollect.stores.sqlite.nearest import candidates
from recollect.stores.sqlite.query import compile_query
from recollect.understand.text import parse

HITS = NEAREST = 50
"""What Recollect asks of each route, by default."""
EXACT_BELOW = 50_000
"""With fewer vectors the bare search is an exact one (`IndexFlatIP`), which needs no second look."""


class Limit:
    """The same index of words, and the same vectors in memory."""

    def __init__(self, folder: Path, scope: str, vectors: Vector, embedder: Embedder) -> None:
        faiss.omp_set_num_threads(1)
        self._embedder = embedder
        self._vectors = vectors
        self._centre = vectors.mean(axis=0)
        # As many as Recollect looks at twice, so that both find the same.
        self._candidates = candidates(VectorSettings(), NEAREST, len(vectors))
        self._index = self._exact() if len(vectors) < EXACT_BELOW else self._binary()
        opened = tantivy.Index.open(str(folder / "scopes" / digest(scope) / "text"))
        opened.config_reader("Manual", 0)
        self._schema, self._searcher = opened.schema, opened.searcher()

    def _exact(self) -> Any:
        index = faiss.IndexFlatIP(self._vectors.shape[1])
        index.add(self._vectors)
        return index

    def _binary(self) -> Any:
        index = faiss.IndexBinaryFlat(self._vectors.shape[1])
        index.add(np.packbits(self._vectors > self._centre, axis=1))
        return index

    def ask(self, query: str) -> dict[str, float]:
        """The seconds that each part takes. Parsing the query is not counted."""
        compiled = compile_query(parse(query, "web"), self._schema)
        begin = perf_counter()
        vector = self._embedder.embed_query(query)
        embedded = perf_counter()
        self._searcher.search(compiled, HITS, count=False)
        found = perf_counter()
        self.nearest(vector)
        end = perf_counter()
        return {"embed": embedded - begin, "text": found - embedded, "vector": end - found, "total": end - begin}

    def nearest(self, vector: Vector) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The rows nearest to a vector, best first."""
        if isinstance(self._index, faiss.IndexFlatIP):
            _, rows = self._index.search(vector[None], NEAREST)
            return rows[0]  # type: ignore[no-any-return]
        _, rows = self._index.search(np.packbits(vector > self._centre)[None], self._candidates)
        cosines = self._vectors[rows[0]] @ vector
        return rows[0][np.argsort(-cosines)[:NEAREST]]  # type: ignore[no-any-return]

"""The k items nearest to a vector in one state of a vector index, by exact cosine on the stored vectors, never fewer than asked.

Three ways to find the candidates: every row (exact), the nearest codes of a scan (binary), an HNSW graph (hnsw).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ...cancellation import checkpoint
from ...errors import InvalidInput
from ...settings import VectorPolicy, VectorSettings
from .slots import BLOCK, Codes, Floats, Mask, Ordinals, Part, Seqs, Snapshot, encode, file_crc, rows_of, widen, widened

Rows: TypeAlias = npt.NDArray[np.int64]

# Fewer candidates than this save nothing: rescoring them takes .1 ms, and recall@10 is .998 instead of .987 with 200 (26,000 passages).
MIN_CANDIDATES: Final = 400
# Above this many rows more of them crowd between the nearest and the rest: recall@50 with an oversampling of 30 is .992 at 112,000 rows,
# .986 at 280,000 and .979 at 560,000 (copies of 28,000 passages with noise); grown by this power of the rows it is .993, .993 and .992.
MANY_ROWS: Final = 100_000
WITH_ROWS: Final = 0.4
# The nearest rows belong to fewer items the more rows an item has, but not in proportion: for 10,332 documents in 32,292 rows
# recall@50 with an oversampling of 20 is .978 without this and .991 with the square root, as for items of one row.
SHARED_PLACES: Final = 0.5
# Rescoring gathers rows from here and there; at this share of them scoring all, in order, is as fast.
EXACT_SHARE: Final = 0.5
# Where fewer than one row in so many may be returned, their codes are put together first: 30,000 of a million in 1 ms, a scan of all 8.
GATHERED: Final = 8
# Too few items among the candidates: ask for this many times more.
GROWTH: Final = 4
# Rows a walk keeps for each item asked for: recall@50 of 28,000 passages is .982 with 2 and .993 with 4, in .3 and .45 ms.
WALK_OVERSAMPLE: Final = 4
# A walk that keeps more than this is slower than a scan of a million codes: 7 ms against 6.
MAX_WALK: Final = 1_000
# Where a smaller share of the rows passes, a walk mostly visits rows it may not return.
MIN_WALK_SHARE: Final = 0.5
# Below this the threads wait for each other: on two busy cores 2,000 rows took .2 s with one and 1.3 s with two, 20,000 3.8 s and 4.4 s.
SMALL_BUILD: Final = 20_000
# Rows added to a graph at once: enough for all threads, 77 MB of 384 numbers.
GRAPH_BLOCK: Final = 50_000


def policy_for(settings: VectorSettings, snapshot: Snapshot) -> VectorPolicy:
    """How these rows are to be searched; "auto" goes by their number."""
    if settings.policy != "auto":
        return settings.policy
    return "exact" if snapshot.count <= settings.exact_below else "hnsw" if snapshot.n > settings.hnsw_above else "binary"


def candidates(settings: VectorSettings, k: int, rows: int, rows_per_item: float = 1.0) -> int:
    """How many rows to rescore: more among many, and more where several of an item compete for the places of others."""
    crowded = max(1.0, rows / MANY_ROWS) ** WITH_ROWS
    return int(max(MIN_CANDIDATES, settings.oversample * k) * crowded * rows_per_item**SHARED_PLACES)


@dataclass(frozen=True, slots=True)
class Graph:
    """An HNSW graph over the first rows; it only proposes, so an old one costs time and never a wrong result."""

    part: Part
    index: Any


class Found(NamedTuple):
    """Items, best first, ties by seq; each with its best row."""

    seqs: Seqs
    ordinals: Ordinals
    cosines: Floats


NOTHING: Final = Found(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))


@dataclass(frozen=True, slots=True)
class Search:
    """One question to one state."""

    snapshot: Snapshot
    graph: Graph | None
    settings: VectorSettings
    unit: Floats
    k: int
    rows: Rows | None
    """The rows that may be returned, rising; None where that is every live row."""

    @classmethod
    def of(cls, snapshot: Snapshot, graph: Graph | None, settings: VectorSettings, query: Floats, k: int, allowed: Seqs | None) -> Search:
        rows = None
        if allowed is not None:
            rows = rows_of(snapshot.seqs, _rising(allowed))
            rows = rows if snapshot.live is None else rows[snapshot.live[rows]]
        return cls(snapshot, graph, settings, _unit(query, snapshot.dim), k, rows)

    @property
    def count(self) -> int:
        return self.snapshot.count if self.rows is None else len(self.rows)

    def policy(self) -> VectorPolicy:
        """The way to take: exact wherever that is little work, the graph where there is one and most rows pass."""
        wanted = policy_for(self.settings, self.snapshot)
        if wanted == "hnsw" and self.graph and self.count >= MIN_WALK_SHARE * self.snapshot.n:
            return "hnsw"
        return "exact" if wanted == "exact" or (self.settings.policy != "binary" and self.count <= self.settings.exact_below) else "binary"

    def best(self) -> Found:
        if self.k <= 0 or not self.count:
            return NOTHING
        if not self.unit.any():
            return self._ranked(self._every_row(), np.zeros(self.count, dtype=np.float32))
        match self.policy():
            case "hnsw":
                return self._walk()
            case "binary":
                return self._scan()
            case _:
                return self._exact()

    def _exact(self) -> Found:
        rows = None if self.rows is None and self.snapshot.live is None else self._every_row()
        return self._ranked(rows, self._cosines(rows))

    def _scan(self) -> Found:
        """The rows of the nearest codes, rescored; more of them until there are k items."""
        wanted = self._candidates()
        while wanted < EXACT_SHARE * self.count:
            rows = self._nearest_codes(wanted)
            found = self._ranked(rows, self._cosines(rows))
            if len(found.seqs) == self.k:
                return found
            wanted *= GROWTH
        return self._exact()

    def _nearest_codes(self, k: int) -> Rows:
        """The k rows of the nearest codes, of those that may be returned."""
        codes = self.snapshot.codes
        if self.rows is not None and GATHERED * len(self.rows) < len(codes):
            return self.rows[nearest_codes(codes.take(self.rows, axis=0), self._code(), k, None)]
        return nearest_codes(codes, self._code(), k, self._mask())

    def _walk(self) -> Found:
        """What the graph proposes and the nearest codes of the rows that came after it, rescored."""
        assert self.graph is not None
        mask, built = self._mask(), self.graph.part.rows
        tail = min(self._candidates(), self.snapshot.n - built)
        later = nearest_codes(self.snapshot.codes[built:], self._code(), tail, None if mask is None else mask[built:]) + built
        wanted = max(self.settings.ef_search, WALK_OVERSAMPLE * self.k)
        while wanted <= MAX_WALK:
            rows = np.concatenate([walk(self.graph, self.unit, wanted, mask), later])
            found = self._ranked(rows, self._cosines(rows))
            if len(found.seqs) == self.k:
                return found
            wanted *= GROWTH
        return self._scan()

    def _candidates(self) -> int:
        return candidates(self.settings, self.k, self.snapshot.n, self.snapshot.rows_per_item)

    def _code(self) -> Codes:
        return encode(self.unit, self.snapshot.centre)

    def _every_row(self) -> Rows:
        return np.flatnonzero(self.snapshot.mask()) if self.rows is None else self.rows

    def _mask(self) -> Mask | None:
        if self.rows is None:
            return self.snapshot.live
        mask = np.zeros(self.snapshot.n, dtype=np.bool_)
        mask[self.rows] = True
        return mask

    def _cosines(self, rows: Rows | None) -> Floats:
        """Of these rows, or of all. By einsum, whose sums do not depend on a row's place among the others: equal vectors tie."""
        vectors = self.snapshot.vectors
        cosines = np.empty(len(vectors) if rows is None else len(rows), dtype=np.float32)
        for at in range(0, len(cosines), BLOCK):
            checkpoint()
            # `take` gathers 2,600 rows in .4 ms, an index in .7 ms.
            block = vectors[at : at + BLOCK] if rows is None else vectors.take(rows[at : at + BLOCK], axis=0)
            np.einsum("ij,j->i", widen(block), self.unit, out=cosines[at : at + BLOCK])
        # Rounded to float16 a vector may be a little longer than one.
        return np.clip(cosines, -1.0, 1.0, out=cosines)

    def _ranked(self, rows: Rows | None, cosines: Floats) -> Found:
        """The k best items of these rows, which rise and so keep an item's together."""
        seqs, ordinals = self.snapshot.seqs, self.snapshot.ordinals
        if rows is not None:
            seqs, ordinals = seqs[rows], ordinals[rows]
        firsts = np.concatenate([[0], np.flatnonzero(seqs[1:] != seqs[:-1]) + 1])
        if len(firsts) > self.k:
            best = np.maximum.reduceat(cosines, firsts)
            enough = np.flatnonzero(cosines >= np.partition(best, -self.k)[-self.k])
            seqs, ordinals, cosines = seqs[enough], ordinals[enough], cosines[enough]
        order = np.lexsort((ordinals, seqs, -cosines))
        _, leaders = np.unique(seqs[order], return_index=True)
        chosen = order[np.sort(leaders)[: self.k]]
        return Found(seqs[chosen], ordinals[chosen], cosines[chosen])


def _rising(seqs: Seqs) -> Seqs:
    seqs = np.asarray(seqs, dtype=np.int64)
    return seqs if bool((seqs[1:] > seqs[:-1]).all()) else np.unique(seqs)


def _unit(query: Floats, dim: int) -> Floats:
    """The query at length one; a zero vector has no direction and stays, with a cosine of 0 to everything."""
    vector = np.asarray(query, dtype=np.float64)
    if vector.shape != (dim,):
        raise InvalidInput(f"the query vector has shape {vector.shape!r}, the index holds vectors of {dim}: use the model that filled it")
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length):
        raise InvalidInput("the query vector holds a number that is not finite: check the embedding model")
    return (vector / length if length else vector).astype(np.float32)


def _faiss() -> Any:
    """The module, late, for the start-up time, and untyped, since the signatures it ships are not those of its functions."""
    import faiss

    return faiss


@contextmanager
def _one_thread() -> Iterator[None]:
    """FAISS on the calling thread alone: under load two threads took 22 ms for a scan of a million, one 4 ms.

    OpenMP keeps the number for each calling thread, so neither other searches nor a build elsewhere notice."""
    faiss = _faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def nearest_codes(codes: Codes, code: Codes, k: int, mask: Mask | None) -> Rows:
    """The k rows that differ in the fewest bits, or all there are, in rising order.

    Counted, not kept in a heap: .6 ms for 1,000 of 100,000 x 384, against .8, and .7 for 5,000, against 2.2."""
    if not k:
        return np.empty(0, dtype=np.int64)
    faiss = _faiss()
    distances, rows = np.empty(k, dtype=np.int32), np.empty(k, dtype=np.int64)
    selector = None if mask is None else faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
    pointers = (faiss.swig_ptr(distances), faiss.swig_ptr(rows))
    with _one_thread():
        faiss.hammings_knn_mc(faiss.swig_ptr(code), faiss.swig_ptr(codes), 1, len(codes), k, codes.shape[1], *pointers, selector)
    return np.sort(rows[rows >= 0])


def walk(graph: Graph, unit: Floats, k: int, mask: Mask | None) -> Rows:
    """The k nearest rows that a graph finds, or fewer, in rising order."""
    faiss = _faiss()
    selector = None if mask is None else faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
    with _one_thread():
        _, rows = graph.index.search(unit[None], k, params=faiss.SearchParametersHNSW(efSearch=k, sel=selector))
    return np.sort(rows[rows >= 0])


def open_graph(folder: Path, part: Part | None, dim: int, *, mapped: bool = True) -> Graph | None:
    """The graph of a file; None where it is missing or not as it was written, since scans do without it.

    The checksum comes first: FAISS follows a garbled graph out of its memory."""
    faiss = _faiss()
    if part is None or file_crc(folder / part.name, part.size) != part.crc:
        return None
    try:
        index = faiss.read_index(str(folder / part.name), faiss.IO_FLAG_MMAP_IFC if mapped else 0)
    except RuntimeError:
        return None
    return Graph(part, index) if (index.ntotal, index.d) == (part.rows, dim) else None


def grow_graph(folder: Path, snapshot: Snapshot, graph: Graph | None, settings: VectorSettings) -> Any:
    """A graph over all rows: a copy of this one with the rows it lacks, or a new one."""
    faiss = _faiss()
    # Read again, since searches use the one that is open; None too where another process has put a newer one in its place.
    copy = open_graph(folder, graph.part, snapshot.dim, mapped=False) if graph else None
    if copy:
        index = copy.index
    else:
        index = faiss.IndexHNSWSQ(snapshot.dim, faiss.ScalarQuantizer.QT_fp16, settings.hnsw_m, faiss.METRIC_INNER_PRODUCT)
        index.is_trained = True
    index.hnsw.efConstruction = settings.ef_construction
    missing = snapshot.vectors[index.ntotal :]
    with _one_thread() if len(missing) < SMALL_BUILD else nullcontext():
        for block in widened(missing, GRAPH_BLOCK):
            index.add(block)
    return index


def keep_graph(folder: Path, index: Any) -> Part:
    """Write a graph, durably."""
    faiss = _faiss()
    path = folder / f"graph-{token_hex(6)}.faiss"
    try:
        faiss.write_index(index, str(path))
    except RuntimeError as error:
        raise OSError(f"the graph could not be written: {error}") from error
    with path.open("rb") as file:
        os.fsync(file.fileno())
    size = path.stat().st_size
    crc = file_crc(path, size)
    assert crc is not None
    return Part(path.name, crc, size, index.ntotal)

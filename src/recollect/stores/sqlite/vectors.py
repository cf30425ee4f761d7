"""The derived vector index of one scope and one space, in a folder: rows come and go by the changes of the truth.

One caller at a time may `apply`; any number of threads and processes search meanwhile, each on the state it took.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from ...errors import InvalidInput
from ...model import Vector
from ...settings import VectorPolicy, VectorSettings
from . import slots
from .nearest import Found, Graph, Search, grow_graph, keep_graph, open_graph, policy_for
from .slots import Damaged, Halves, Ordinals, Seqs, Snapshot

__all__ = ["Damaged", "Found", "VectorIndex"]

# The graph is due for an update when more rows than this share are not in it and must be scanned.
MAX_TAIL_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True)
class State:
    """What a search looks at, swapped as one."""

    snapshot: Snapshot
    graph: Graph | None


class VectorIndex:
    """The vectors of one scope in one space, kept in a folder."""

    def __init__(self, folder: Path, settings: VectorSettings, state: State) -> None:
        self.folder = folder
        self._settings = settings
        self._state = state
        self._swapping = threading.Lock()

    @classmethod
    def open(cls, folder: Path, *, dim: int, settings: VectorSettings) -> VectorIndex:
        """What the folder holds, or an empty index. Raises `Damaged` where the files contradict each other."""
        return cls(folder, settings, _load(folder, dim, settings, None))

    @property
    def applied(self) -> int:
        """The last change applied."""
        return self._state.snapshot.manifest.applied

    @property
    def policy(self) -> VectorPolicy:
        """What a search of everything uses now."""
        state = self._state
        return Search(state.snapshot, state.graph, self._settings, state.snapshot.centre, 1, None).policy()

    @property
    def ann_due(self) -> bool:
        """Whether searches would gain from `build_ann`: a graph is wanted, and too many rows are not in it."""
        state = self._state
        covered = state.graph.part.rows if state.graph else 0
        return policy_for(self._settings, state.snapshot) == "hnsw" and state.snapshot.n - covered > MAX_TAIL_SHARE * state.snapshot.n

    def __len__(self) -> int:
        return self._state.snapshot.count

    def refresh(self) -> bool:
        """Load what another process has applied; whether there was something."""
        if slots.stamp_of(self.folder) == self._state.snapshot.stamp:
            return False
        with self._swapping:
            self._reload()
        return True

    def _reload(self) -> None:
        self._state = _load(self.folder, self._state.snapshot.dim, self._settings, self._state)

    def apply(self, *, seqs: Seqs, ordinals: Ordinals, vectors: Vector | Halves, dead: Seqs, applied: int) -> None:
        """Append rows and take away those of the `dead` seqs; durable on return. The caller holds the writer's lock.

        Rows come in rising order of seq, all of one seq at once; those of a seq that is not above the last one are there already."""
        snapshot = self._current()
        halves = _checked(seqs, ordinals, vectors, snapshot.dim)
        new = np.asarray(seqs, dtype=np.int64) > snapshot.manifest.last_seq
        manifest = slots.write(
            self.folder,
            snapshot,
            seqs=np.asarray(seqs, dtype=np.int64)[new],
            ordinals=np.asarray(ordinals, dtype=np.int32)[new],
            vectors=np.ascontiguousarray(halves[new]),
            dead=np.asarray(dead, dtype=np.int64),
            applied=applied,
        )
        if manifest != snapshot.manifest:
            self._commit(manifest)

    def build_ann(self, *, lock: AbstractContextManager[object] | None = None) -> None:
        """Build the graph, or add to it the rows it lacks: minutes for a million. `lock`, the writer's, is only held to put it in place.

        Where the rows were rewritten meanwhile, the work is dropped."""
        state = self._state
        if not state.snapshot.n:
            return
        index = grow_graph(self.folder, state.snapshot, state.graph, self._settings)
        with lock or nullcontext():
            self.refresh()
            manifest, before = self._state.snapshot.manifest, state.snapshot.manifest
            if manifest.vectors and before.vectors and manifest.vectors.name == before.vectors.name:
                self._commit(replace(manifest, graph=keep_graph(self.folder, index)))

    def _current(self) -> Snapshot:
        """The state on disk is the one that was read, or what the caller wants to add to it may not fit."""
        snapshot = self._state.snapshot
        if slots.stamp_of(self.folder) != snapshot.stamp:
            raise Damaged(f"{self.folder} has changed since it was read")
        return snapshot

    def _commit(self, manifest: slots.Manifest) -> None:
        with self._swapping:
            slots.commit(self.folder, manifest)
            self._reload()
        slots.sweep(self.folder, manifest)

    def search(self, query: Vector, *, k: int, allowed: Seqs | None = None) -> Found:
        """The k items nearest to the query, each by its best row. `allowed`, sorted: only these seqs."""
        state = self._state
        return Search.of(state.snapshot, state.graph, self._settings, query, k, allowed).best()

    def verify(self) -> list[str]:
        """What is wrong with the files, every byte of them read."""
        try:
            return slots.faults(self.folder, self._state.snapshot.dim)
        except Damaged as damage:
            return [str(damage)]


def _load(folder: Path, dim: int, settings: VectorSettings, known: State | None) -> State:
    snapshot = slots.load(folder, dim, known.snapshot if known else None)
    if policy_for(settings, snapshot) != "hnsw":
        return State(snapshot, None)
    if known and known.graph and known.graph.part == snapshot.manifest.graph:
        return State(snapshot, known.graph)
    return State(snapshot, open_graph(folder, snapshot.manifest.graph, dim))


def _checked(seqs: Seqs, ordinals: Ordinals, vectors: Vector | Halves, dim: int) -> Halves:
    """The vectors as they are stored, if the rows can be."""
    if vectors.shape != (len(seqs), dim) or len(ordinals) != len(seqs):
        raise InvalidInput(f"{len(seqs)} seqs, {len(ordinals)} ordinals and vectors of shape {vectors.shape!r} do not make rows of {dim}")
    if bool((np.diff(seqs) < 0).any()):
        raise InvalidInput("rows must come in rising order of seq: sort them")
    with np.errstate(over="ignore"):
        halves = np.asarray(vectors, dtype=np.float16)
    finite = np.isfinite(halves).all(axis=1)
    if not finite.all():
        raise InvalidInput(f"the vector of seq {seqs[~finite][0]!r} holds a number that is not finite: embed the item again")
    return halves

"""The two indexes derived from one scope of the truth, and how they catch up with it.

Each remembers the last change it applied. A missing or damaged one, or one of another model, is built anew.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from sqlalchemy import Connection, select

from ...model import Space, digest
from ...settings import VectorSettings
from ..sql.schema import ChunkRow, ItemRow, ScopeRow, TombstoneRow
from . import text as text_index
from . import vectors as vector_index
from .text import TextDoc, TextIndex, TextSettings
from .vectors import VectorIndex

ITEMS_PER_PAGE = 2_000
"""Items of which vectors are held in memory at once while catching up: at 20 chunks of 384 numbers each, about 60 MB."""

TEXT = "text"
"""The folder of the text index."""

KEPT_DELETED = 20
MAX_DELETED_SHARE = 0.1
"""Tantivy keeps deleted documents, and counts them in its scores, until it merges their segments. Beyond this share of
the live ones the index is built anew: 45 µs a document, so half a millisecond for each one that was replaced."""

Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Matrix: TypeAlias = np.ndarray[Any, np.dtype[np.float16]]


class ScopeIndexes:
    """The text and the vector index of one scope."""

    def __init__(self, folder: Path, scope: str, *, text: TextSettings, vectors: VectorSettings) -> None:
        self.scope = scope
        self.folder = folder / "scopes" / digest(scope)
        self._text_settings = text
        self._vector_settings = vectors
        self._text: TextIndex | None = None
        self._vectors: tuple[Space, VectorIndex] | None = None
        self._opening = threading.RLock()

    @property
    def text(self) -> TextIndex:
        """The text index. Raises its `Damaged` where it must be built anew."""
        with self._opening:
            if self._text is None:
                self._text = TextIndex.open(self.folder / TEXT, settings=self._text_settings)
            return self._text

    def vectors(self, space: Space) -> VectorIndex:
        """The vector index of a space. Raises its `Damaged` where it must be built anew."""
        with self._opening:
            if self._vectors is None or self._vectors[0] != space:
                opened = VectorIndex.open(self._vector_folder(space), dim=space.dim, settings=self._vector_settings)
                self._vectors = (space, opened)
            return self._vectors[1]

    def refresh(self, space: Space | None) -> None:
        """Load what another process has applied."""
        self.text.refresh()
        if space:
            self.vectors(space).refresh()

    def applied(self, space: Space | None) -> int:
        """The last change that both indexes have applied."""
        return min(self.text.applied, self.vectors(space).applied) if space else self.text.applied

    @property
    def graph_due(self) -> bool:
        """Whether searches of the vector index in use would gain from a graph."""
        with self._opening:
            return self._vectors is not None and self._vectors[1].ann_due

    def build_graph(self, lock: AbstractContextManager[None]) -> None:
        """Build it. Minutes for a million; the lock is only taken to put it in place."""
        with self._opening:
            vectors = self._vectors
        if vectors is not None:
            vectors[1].build_ann(lock=lock)

    def catch_up(self, connection: Connection, space: Space | None) -> None:
        """Apply every change of the truth that is missing. The caller holds the writer's lock."""
        self.refresh(space)
        change = connection.scalar(select(ScopeRow.change).where(ScopeRow.scope == self.scope)) or 0
        if self.text.applied < change:
            dead = self._dead(connection, self.text.applied)
            self.text.apply(self._documents(connection, self.text.applied), dead.tolist(), change)
            if self.text.deleted > KEPT_DELETED + MAX_DELETED_SHARE * self.text.documents:
                self._renew_text(connection, change)
        if space and self.vectors(space).applied < change:
            self._catch_up_vectors(connection, space, self.vectors(space), change)

    def rebuild(self, connection: Connection, space: Space | None) -> None:
        """Forget both indexes and build them from the truth. The caller holds the writer's lock."""
        self.remove()
        self.catch_up(connection, space)

    def mend(self, connection: Connection, space: Space | None) -> None:
        """Build anew whichever index is damaged, then catch up. The caller holds the writer's lock."""
        try:
            self.text.refresh()
        except text_index.Damaged:
            self._forget_text()
        if space:
            try:
                self.vectors(space).refresh()
            except vector_index.Damaged:
                self._forget_vectors(space)
        try:
            self.catch_up(connection, space)
        except (text_index.Damaged, vector_index.Damaged):
            # What is open here was taken away elsewhere: the scope was dropped, or its indexes rebuilt.
            self.rebuild(connection, space)
        self._remove_other_spaces(space)

    def _renew_text(self, connection: Connection, change: int) -> None:
        """Build the text index anew beside the old one, which is searched until the new one takes its place."""
        beside, old, place = (self.folder / name for name in (f"{TEXT}-new", f"{TEXT}-old", TEXT))
        for folder in (beside, old):
            shutil.rmtree(folder, ignore_errors=True)
        TextIndex.open(beside, settings=self._text_settings).apply(self._documents(connection, 0), [], change)
        place.rename(old)
        beside.rename(place)
        shutil.rmtree(old)
        self.text.refresh()

    def _forget_text(self) -> None:
        with self._opening:
            self._text = None
        shutil.rmtree(self.folder / TEXT, ignore_errors=True)

    def _forget_vectors(self, space: Space) -> None:
        with self._opening:
            self._vectors = None
        shutil.rmtree(self._vector_folder(space), ignore_errors=True)

    def remove(self) -> None:
        """Take both indexes away."""
        with self._opening:
            self._text = self._vectors = None
        if self.folder.exists():
            shutil.rmtree(self.folder)

    def _remove_other_spaces(self, space: Space | None) -> None:
        kept = self._vector_folder(space).name if space else None
        for folder in self.folder.glob("vectors-*"):
            if folder.name != kept:
                shutil.rmtree(folder)

    def _vector_folder(self, space: Space) -> Path:
        return self.folder / f"vectors-{space.id}"

    def _dead(self, connection: Connection, applied: int) -> Numbers:
        found = connection.scalars(
            select(TombstoneRow.seq).where(TombstoneRow.scope == self.scope, TombstoneRow.died_at > applied).order_by(TombstoneRow.seq)
        )
        return np.fromiter(found, np.int64)

    def _documents(self, connection: Connection, applied: int) -> Iterator[TextDoc]:
        rows = connection.execution_options(yield_per=500).execute(
            select(ItemRow.seq, ItemRow.title, ItemRow.source_ref, ItemRow.text)
            .where(ItemRow.scope == self.scope, ItemRow.seq > applied)
            .order_by(ItemRow.seq)
        )
        return (TextDoc(seq, title, path, text) for seq, title, path, text in rows)

    def prepare(self, connection: Connection, space: Space) -> None:
        """Build the vector index of a space that is not searched yet, so that it can be from one moment to the next."""
        folder = self._vector_folder(space)
        shutil.rmtree(folder, ignore_errors=True)
        change = connection.scalar(select(ScopeRow.change).where(ScopeRow.scope == self.scope)) or 0
        self._catch_up_vectors(connection, space, VectorIndex.open(folder, dim=space.dim, settings=self._vector_settings), change)

    def _catch_up_vectors(self, connection: Connection, space: Space, index: VectorIndex, change: int) -> None:
        dead = self._dead(connection, index.applied)
        while True:
            page = connection.scalars(
                select(ItemRow.seq)
                .where(ItemRow.scope == self.scope, ItemRow.seq > index.applied)
                .order_by(ItemRow.seq)
                .limit(ITEMS_PER_PAGE)
            ).all()
            last = len(page) < ITEMS_PER_PAGE
            upto = change if last else page[-1]
            seqs, ordinals, vectors = self._rows(connection, space, index.applied, upto)
            index.apply(seqs=seqs, ordinals=ordinals, vectors=vectors, dead=dead, applied=upto)
            if last:
                return
            dead = dead[:0]

    def _rows(self, connection: Connection, space: Space, after: int, upto: int) -> tuple[Numbers, Numbers, Matrix]:
        """The index rows of the items of some changes: one for each chunk."""
        found = connection.execute(
            select(ItemRow.seq, ChunkRow.ordinal, ChunkRow.vector)
            .join(ChunkRow, (ChunkRow.scope == ItemRow.scope) & (ChunkRow.item_id == ItemRow.id) & (ChunkRow.space == space.id))
            .where(ItemRow.scope == self.scope, ItemRow.seq > after, ItemRow.seq <= upto)
            .order_by(ItemRow.seq, ChunkRow.ordinal)
        ).all()
        seqs = np.array([row[0] for row in found], np.int64)
        ordinals = np.array([row[1] for row in found], np.int32)
        vectors = np.frombuffer(b"".join(row[2] for row in found), np.float16).reshape(-1, space.dim)
        return seqs, ordinals, vectors

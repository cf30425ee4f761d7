"""The indexes derived from one scope of the truth, and how they catch up with it: of words, of chunks, and of whole items.

Each remembers the last change it applied. A missing or damaged one, or one of another model, is built anew; that of items only once
somebody asks for it, from when on it follows every change.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final, TypeAlias
from weakref import finalize

import numpy as np
from sqlalchemy import Connection, select

from ...model import Space, Vectors, digest
from ...nearness import means
from ...settings import VectorSettings
from ..kept import Kept
from ..sql.schema import ChunkRow, ItemRow, ScopeRow, TombstoneRow
from . import slots
from . import text as text_index
from . import vectors as vector_index
from .text import TextDoc, TextIndex, TextSettings
from .vectors import VectorIndex

ITEMS_PER_PAGE = 2_000
"""Items of which vectors are held in memory at once while catching up: at 20 chunks of 384 numbers each, about 60 MB."""

LISTINGS = 8
"""Of filters, that are kept of a scope; one of 50,000 items takes 400 KB."""

TEXT = "text"
"""The folder of the text index."""

FOLDERS: Final[dict[Vectors, str]] = {"chunks": "vectors", "items": "items"}
"""How the folder of a vector index begins, before its space."""

KEPT_DELETED = 20
MAX_DELETED_SHARE = 0.1
"""Tantivy keeps deleted documents, and counts them in its scores, until it merges their segments. Beyond this share of
the live ones the index is built anew: 45 µs a document, so half a millisecond for each one that was replaced."""

Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Matrix: TypeAlias = np.ndarray[Any, np.dtype[np.float16]]


class ScopeIndexes:
    """The indexes of one scope."""

    def __init__(self, folder: Path, scope: str, *, text: TextSettings, vectors: VectorSettings) -> None:
        self.scope = scope
        self.folder = folder / "scopes" / digest(scope)
        self._text_settings = text
        self._vector_settings = vectors
        self._text: TextIndex | None = None
        self._vectors: dict[Vectors, tuple[Space, VectorIndex]] = {}
        self._private: tuple[Space, VectorIndex] | None = None
        self.listings: Kept[Numbers | None] = Kept(LISTINGS)
        """What filters leave, for as long as nothing in the scope changes: the versions of the items, None where they are many."""
        self._opening = threading.RLock()
        self._making_private = threading.Lock()

    @property
    def text(self) -> TextIndex:
        """The text index. Raises its `Damaged` where it must be built anew."""
        with self._opening:
            if self._text is None:
                self._text = TextIndex.open(self.folder / TEXT, settings=self._text_settings)
            return self._text

    def vectors(self, space: Space, of: Vectors = "chunks") -> VectorIndex:
        """A vector index of a space. Raises its `Damaged` where it must be built anew."""
        with self._opening:
            if of not in self._vectors or self._vectors[of][0] != space:
                self._vectors[of] = space, self._opened(self._vector_folder(space, of), space)
            return self._vectors[of][1]

    def _opened(self, folder: Path, space: Space) -> VectorIndex:
        return VectorIndex.open(folder, dim=space.dim, settings=self._vector_settings)

    def has_items(self, space: Space) -> bool:
        """Whether there is an index of whole items."""
        return slots.stamp_of(self._vector_folder(space, "items")) is not None

    def _following(self, space: Space) -> list[Vectors]:
        """The vector indexes that follow the truth."""
        return [of for of in FOLDERS if of == "chunks" or self.has_items(space)]

    def refresh(self, space: Space | None) -> None:
        """Load what another process has applied."""
        self.text.refresh()
        if space:
            for of in self._following(space):
                self.vectors(space, of).refresh()

    def applied(self, space: Space | None) -> int:
        """The last change that every index has applied."""
        vectors = [self.vectors(space, of).applied for of in self._following(space)] if space else []
        return min([self.text.applied, *vectors])

    def _growing(self) -> list[VectorIndex]:
        """The vector indexes that are open and whose searches would gain from a graph."""
        with self._opening:
            return [index for _, index in self._vectors.values() if index.ann_due]

    @property
    def graph_due(self) -> bool:
        """Whether searches of a vector index in use would gain from a graph."""
        return bool(self._growing())

    def build_graph(self, lock: Callable[[], AbstractContextManager[None]]) -> None:
        """Build it. Minutes for a million; the lock is only taken to put it in place."""
        for index in self._growing():
            index.build_ann(lock=lock())

    def catch_up(self, connection: Connection, space: Space | None) -> None:
        """Apply every change of the truth that is missing. The caller holds the writer's lock."""
        self.refresh(space)
        change = self._change(connection)
        if self.text.applied < change:
            dead = self._dead(connection, self.text.applied)
            self.text.apply(self._documents(connection, self.text.applied), dead.tolist(), change)
            if self.text.deleted > KEPT_DELETED + MAX_DELETED_SHARE * self.text.documents:
                self._renew_text(connection, change)
        if space:
            for of in self._following(space):
                if self.vectors(space, of).applied < change:
                    self._catch_up_vectors(connection, space, self.vectors(space, of), change, of)

    def add_items(self, connection: Connection, space: Space) -> None:
        """Build the index of whole items, from when on it follows the truth. The caller holds the writer's lock."""
        place = self._vector_folder(space, "items")
        beside = place.with_name(f"{place.name}-new")
        for folder in (beside, place):
            shutil.rmtree(folder, ignore_errors=True)
        self._catch_up_vectors(connection, space, self._opened(beside, space), self._change(connection), "items")
        beside.rename(place)
        self.vectors(space, "items").refresh()

    def private_items(self, connection: Connection, space: Space) -> VectorIndex:
        """The same where nothing may be written here: in a folder of this process, which goes with it."""
        with self._making_private:
            if self._private is None or self._private[0] != space:
                folder = Path(mkdtemp(prefix="recollect-"))
                finalize(self, shutil.rmtree, folder, ignore_errors=True)
                self._private = space, self._opened(folder, space)
            index, change = self._private[1], self._change(connection)
            if index.applied < change:
                self._catch_up_vectors(connection, space, index, change, "items")
            return index

    def _change(self, connection: Connection) -> int:
        return connection.scalar(select(ScopeRow.change).where(ScopeRow.scope == self.scope)) or 0

    def rebuild(self, connection: Connection, space: Space | None) -> None:
        """Forget all indexes and build from the truth those that everybody needs. The caller holds the writer's lock."""
        self.remove()
        self.catch_up(connection, space)

    def mend(self, connection: Connection, space: Space | None) -> None:
        """Build anew whichever index is damaged, then catch up. The caller holds the writer's lock."""
        try:
            self.text.refresh()
        except text_index.Damaged:
            self._forget_text()
        if space:
            for of in self._following(space):
                try:
                    self.vectors(space, of).refresh()
                except vector_index.Damaged:
                    self._forget_vectors(space, of)
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

    def _forget_vectors(self, space: Space, of: Vectors) -> None:
        with self._opening:
            self._vectors.pop(of, None)
        shutil.rmtree(self._vector_folder(space, of), ignore_errors=True)

    def remove(self) -> None:
        """Take all indexes away."""
        with self._opening:
            self._text, self._vectors = None, {}
        if self.folder.exists():
            shutil.rmtree(self.folder)

    def _remove_other_spaces(self, space: Space | None) -> None:
        kept = [self._vector_folder(space, of) for of in FOLDERS] if space else []
        for begin in FOLDERS.values():
            for folder in self.folder.glob(f"{begin}-*"):
                if folder not in kept:
                    shutil.rmtree(folder)

    def _vector_folder(self, space: Space, of: Vectors) -> Path:
        return self.folder / f"{FOLDERS[of]}-{space.id}"

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
        """Build the vector indexes of a space that is not searched yet, so that they can be from one moment to the next."""
        change = self._change(connection)
        for of in FOLDERS:
            if of == "items" and not any(self.folder.glob(f"{FOLDERS[of]}-*")):
                continue
            folder = self._vector_folder(space, of)
            shutil.rmtree(folder, ignore_errors=True)
            self._catch_up_vectors(connection, space, self._opened(folder, space), change, of)

    def _catch_up_vectors(self, connection: Connection, space: Space, index: VectorIndex, change: int, of: Vectors) -> None:
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
            seqs, ordinals, vectors = self._rows(connection, space, index.applied, upto, of)
            index.apply(seqs=seqs, ordinals=ordinals, vectors=vectors, dead=dead, applied=upto)
            if last:
                return
            dead = dead[:0]

    def _rows(self, connection: Connection, space: Space, after: int, upto: int, of: Vectors) -> tuple[Numbers, Numbers, Matrix]:
        """The index rows of the items of some changes: one for each chunk, or for each item."""
        found = connection.execute(
            select(ItemRow.seq, ChunkRow.ordinal, ChunkRow.vector)
            .join(ChunkRow, (ChunkRow.scope == ItemRow.scope) & (ChunkRow.item_id == ItemRow.id) & (ChunkRow.space == space.id))
            .where(ItemRow.scope == self.scope, ItemRow.seq > after, ItemRow.seq <= upto)
            .order_by(ItemRow.seq, ChunkRow.ordinal)
        ).all()
        seqs = np.array([row[0] for row in found], np.int64)
        ordinals = np.array([row[1] for row in found], np.int32)
        vectors = np.frombuffer(b"".join(row[2] for row in found), np.float16).reshape(-1, space.dim)
        if of == "items" and len(seqs):
            firsts = np.flatnonzero(np.diff(seqs, prepend=-1))
            return seqs[firsts], np.zeros(len(firsts), np.int32), means(vectors, firsts).astype(np.float16)
        return seqs, ordinals, vectors

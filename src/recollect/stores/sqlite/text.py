"""A derived Tantivy index of one scope's words (BM25): it may be deleted or damaged at any time, and is then built again from SQLite.

An item is a document with all its words and those of its first window, and one more document for each further window.
One process at a time applies changes, under the caller's lock; any number of threads and processes search meanwhile.
"""

from __future__ import annotations

import errno
import json
import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from math import ceil
from pathlib import Path

from tantivy import Document, Index, IndexWriter, Occur, Query, Schema, SchemaBuilder, Searcher

from ...analysis import edition, terms
from ...cancellation import checkpoint
from ...errors import StoreBusy
from ...matching import Parts
from ...textquery import Node
from ..windows import weighted, windows
from .query import TEXT, WINDOW, compile_query
from .readonly import readable

FORMAT = 2
"""Raised whenever an index written before can no longer be read."""

MANIFEST, META = "manifest.json", "meta.json"
FURTHER = "further"
"""Marks the documents of an item after its first, so that items can be counted."""

# Tantivy refuses less than 15 MB. 100k passages of 200 characters leave 3 segments with 15 MB, 2 with 32 and 1 with 64, in the same time.
HEAP_BYTES = 64_000_000
# How often a generation is read while another process replaces it under the reader.
ATTEMPTS = 5
# Documents replaced in one step, by one delete query for all of them; 1,000 or 10,000 take the same time.
STEP = 1_000

# Hits fetched beyond k, so that a tie at the boundary is usually seen to end at once: not measurable at k = 50.
SLACK = 16
# How many times more are fetched where it does not end, and the most that are ever looked through (9 ms at 100k passages).
GROWTH = 16
MAX_FETCH = 10_000
# Hits fetched first for each item asked for, where items have as many windows. 1,000 pieces of conversation of 19 windows, k = 54:
# with 3 it is enough for 97 questions of 100 (p95 .5 ms), with 2 for 80 (1.5 ms), with 1 for 8.
MAX_EACH = 3
# Up to here it is faster to fetch more hits and drop those not allowed (4,000 hits: 4 ms) than to let Tantivy intersect
# with a set of numbers (7 ms for a thousand of them, 14 ms for ten thousand, 48 ms for fifty thousand).
MAX_OVERFETCH = 4_000


class Damaged(Exception):
    """The index cannot be used as it is: delete its folder and build it again."""


@dataclass(frozen=True, slots=True)
class TextSettings:
    """What adding documents may take."""

    heap_bytes: int = HEAP_BYTES
    threads: int = 1


@dataclass(frozen=True, slots=True)
class TextDoc:
    """What is indexed of an item. `seq` is the caller's number for it."""

    seq: int
    title: str | None
    path: str | None
    text: str


@dataclass(frozen=True, slots=True)
class _Manifest:
    """What is true of the index once everything is on disk."""

    format: int
    analysis: str
    applied: int
    docs: int
    opstamp: int


@dataclass(frozen=True, slots=True)
class _State:
    """One generation of the index; a search sees one from beginning to end."""

    manifest: _Manifest
    stamp: tuple[int, int]
    schema: Schema
    searcher: Searcher
    items: int


class TextIndex:
    """The words of one scope."""

    def __init__(self, folder: Path, settings: TextSettings, state: _State | None) -> None:
        self._folder = folder
        self._settings = settings
        self._state = state

    @classmethod
    def open(cls, folder: Path, *, settings: TextSettings) -> TextIndex:
        """The index in a folder; an empty one where there is nothing. Writes nothing. Raises `Damaged`."""
        return cls(folder, settings, _load(folder))

    @property
    def applied(self) -> int:
        """The last change that is in the index, for certain."""
        return self._state.manifest.applied if self._state else 0

    @property
    def deleted(self) -> int:
        """Documents deleted or replaced that still take space and count in word statistics; only a rebuild drops them for certain."""
        return sum(_meta(self._folder)[1].values()) - self.documents if self._state else 0

    @property
    def documents(self) -> int:
        """The windows of all items, of which each is a document."""
        return self._state.searcher.num_docs if self._state else 0

    def __len__(self) -> int:
        return self._state.items if self._state else 0

    def refresh(self) -> bool:
        """Take up what another process has applied; whether there was something. Raises `Damaged`."""
        stamp = _stamp(self._folder)
        # While another process builds the index again there is no manifest: what is open serves until there is one.
        if stamp is None or (self._state and self._state.stamp == stamp):
            return False
        self._state = _load(self._folder)
        return True

    def apply(self, docs: Iterable[TextDoc], dead: Sequence[int], applied: int) -> None:
        """Replace or add documents and remove the dead ones; durable on return, and the same if done twice.

        Raises `Damaged`, or an `OSError` where the disk refuses (ENOSPC, EACCES, EROFS); the index then stays as it was."""
        self.refresh()
        if self._state and _stamp(self._folder) is None:
            raise Damaged(f"the text index in {str(self._folder)!r} was removed while in use")
        self._folder.mkdir(parents=True, exist_ok=True)
        with _translated(self._folder):
            # A new one every time: an older one does not know the files that other processes have added.
            index = _opened(self._folder, new=self._state is None)
            writer = index.writer(self._settings.heap_bytes, self._settings.threads)
        try:
            self._write(writer, index.schema, docs, dead)
        finally:
            with _translated(self._folder):
                writer.wait_merging_threads()  # gives back Tantivy's own lock too, also after an error
        self._state = _published(self._folder, index, applied)

    def _write(self, writer: IndexWriter, schema: Schema, docs: Iterable[TextDoc], dead: Sequence[int]) -> None:
        steps = iter(docs)
        while step := {doc.seq: doc for doc in islice(steps, STEP)}:
            with _translated(self._folder):
                _delete(writer, schema, list(step))
                _add(writer, step.values())
        with _translated(self._folder):
            _delete(writer, schema, dead)
            writer.commit()

    def search(self, query: Node, *, k: int, allowed: Collection[int] | None = None) -> list[tuple[int, float]]:
        """The best documents with their scores, ties by number; all that tie with the last of the k are handed back too."""
        state = self._state
        if state is None or k <= 0 or (allowed is not None and not allowed):
            return []
        with _translated(self._folder):
            return _search(state, compile_query(query, state.schema), k, allowed)

    def verify(self) -> list[str]:
        """Everything that is wrong with the files on disk, a line for each; reads all of them."""
        try:
            segments = _meta(self._folder)[1] if _load(self._folder) else {}
        except Damaged as error:
            return [str(error)]
        files = sorted(path for path in self._folder.glob("*.*") if path.name.partition(".")[0] in segments)
        return [f"the checksum of {path.name!r} in the text index is wrong" for path in files if not _sound(path)]


@contextmanager
def _translated(folder: Path) -> Iterator[None]:
    """Turns Tantivy's errors, which are all `ValueError` or a panic, into what the caller can do something about."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        if "LockBusy" in message:
            raise StoreBusy(f"another process is writing to the text index in {str(folder)!r}: try again when it is done") from error
        code = re.search(r"os error (\d+)", message)
        if code and int(code.group(1)) != errno.ENOENT:
            raise OSError(int(code.group(1)), os.strerror(int(code.group(1))), str(folder)) from error
        raise Damaged(f"the text index in {str(folder)!r} cannot be used: {message}") from error
    except BaseException as error:
        # pyo3_runtime.PanicException: it derives from BaseException, and no module exports it.
        if type(error).__name__ != "PanicException":
            raise
        raise Damaged(f"the text index in {str(folder)!r} cannot be read: {error}") from error


def _schema() -> Schema:
    builder = SchemaBuilder()
    builder.add_text_field(TEXT, stored=False, tokenizer_name="whitespace", index_option="position")
    # With positions, for runs of scripts without spaces: 3 of 19 MB at 100k passages.
    builder.add_text_field(WINDOW, stored=False, tokenizer_name="whitespace", index_option="position")
    builder.add_unsigned_field("seq", indexed=True, fast=True)
    builder.add_boolean_field(FURTHER, indexed=True)
    return builder.build()


def _opened(folder: Path, *, new: bool = False) -> Index:
    index = Index(_schema(), path=str(folder), reuse=False) if new else Index.open(str(folder))
    index.config_reader("Manual", 0)  # a generation stays what it is until it is asked to change
    return index


def _load(folder: Path) -> _State | None:
    """The generation on disk; read again where another process replaced it meanwhile."""
    for _ in range(ATTEMPTS - 1):
        before = _stamp(folder), _stamp(folder, META)
        try:
            return _read(folder)
        except Damaged:
            if before == (_stamp(folder), _stamp(folder, META)):
                raise
    return _read(folder)


def _read(folder: Path) -> _State | None:
    stamp = _stamp(folder)
    if stamp is None:
        if folder.is_dir() and any(folder.iterdir()):
            raise Damaged(f"the text index in {str(folder)!r} has no {MANIFEST}")
        return None
    try:
        manifest = _Manifest(**json.loads((folder / MANIFEST).read_bytes()))
    except (FileNotFoundError, ValueError, TypeError) as error:
        raise Damaged(f"the manifest of the text index in {str(folder)!r} cannot be read: {error}") from error
    if manifest.format != FORMAT or manifest.analysis != edition():
        raise Damaged(f"the text index in {str(folder)!r} was made by another version")
    opstamp, segments = _meta(folder)
    # Tantivy opens an index without its positions, and fails at the first phrase.
    if missing := [segment for segment in segments if not (folder / f"{segment}.pos").exists()]:
        raise Damaged(f"the text index in {str(folder)!r} has no '{missing[0]}.pos'")
    with _translated(folder), readable(folder) as place:
        index = _opened(place)
        searcher = index.searcher()
        docs, items = searcher.num_docs, _items(searcher, index.schema)
    # An index ahead of its manifest was interrupted after the commit: what it is ahead by is applied again, to no effect.
    if opstamp < manifest.opstamp or (opstamp == manifest.opstamp and docs != manifest.docs):
        raise Damaged(f"the text index in {str(folder)!r} has {docs} documents at {opstamp}, not {manifest.docs} at {manifest.opstamp}")
    return _State(manifest, stamp, index.schema, searcher, items)


def _stamp(folder: Path, name: str = MANIFEST) -> tuple[int, int] | None:
    """What tells one manifest from the next; None without one."""
    try:
        found = os.stat(folder / name)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_ino, found.st_mtime_ns


def _published(folder: Path, index: Index, applied: int) -> _State:
    """Say on disk what has been applied, in one step that a crash cannot split."""
    with _translated(folder):
        index.reload()
        searcher = index.searcher()
        docs, items = searcher.num_docs, _items(searcher, index.schema)
    manifest = _Manifest(FORMAT, edition(), applied, docs, _meta(folder)[0])
    beside = folder / f"{MANIFEST}.new"
    with beside.open("w") as file:
        file.write(json.dumps(asdict(manifest)))
        file.flush()
        os.fsync(file.fileno())
    beside.replace(folder / MANIFEST)
    if os.name == "posix":
        directory = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    return _State(manifest, _stamp(folder) or (0, 0), index.schema, searcher, items)


def _items(searcher: Searcher, schema: Schema) -> int:
    further = Query.const_score_query(Query.term_query(schema, FURTHER, True), 0.0)
    return int(searcher.num_docs - searcher.search(further, 1).count)  # type: ignore[attr-defined]


def _meta(folder: Path) -> tuple[int, dict[str, int]]:
    """Tantivy's own account of the index: its last change, and how many documents each segment has, deleted ones too."""
    try:
        found = json.loads((folder / META).read_bytes())
        return int(found["opstamp"]), {str(one["segment_id"]).replace("-", ""): int(one["max_doc"]) for one in found["segments"]}
    except (FileNotFoundError, ValueError, TypeError, KeyError) as error:
        raise Damaged(f"the text index in {str(folder)!r} cannot be read: {error}") from error


def _sound(path: Path) -> bool:
    """Whether a file has the checksum that Tantivy wrote at its end: content, a JSON footer, its length, a magic number."""
    data = path.read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    content, footer = data[: -8 - size], data[-8 - size : -8]
    try:
        return int(json.loads(footer)["crc"]) == zlib.crc32(content)
    except (ValueError, TypeError, KeyError):
        return False


def _documents(doc: TextDoc) -> Iterator[Document]:
    parts = terms(doc.title or ""), terms(doc.text), terms(doc.path or "")
    for at, window in enumerate(windows(parts)):
        document = Document()
        document.add_unsigned("seq", doc.seq)
        _add_words(document, WINDOW, window)
        if at:
            document.add_boolean(FURTHER, True)
        else:
            _add_words(document, TEXT, weighted(parts))
        yield document


def _add_words(document: Document, field: str, parts: Parts) -> None:
    """Each part as a value of its own: no phrase reaches from one value into the next."""
    for part in filter(None, parts):
        document.add_text(field, " ".join(part))


def _add(writer: IndexWriter, docs: Iterable[TextDoc]) -> None:
    try:
        for doc in docs:
            for document in _documents(doc):
                writer.add_document(document)
    except ValueError:
        writer.commit()  # what stopped the writer's thread, a full disk say, is only told here
        raise


def _delete(writer: IndexWriter, schema: Schema, seqs: Sequence[int]) -> None:
    """Remove documents added before. By query: `delete_documents_by_term` takes the number as signed and finds nothing."""
    if seqs:
        writer.delete_documents_by_query(Query.term_set_query(schema, "seq", list(seqs)))


def _search(state: _State, query: Query, k: int, allowed: Collection[int] | None) -> list[tuple[int, float]]:
    """The best k and what ties with the last; a filter that leaves many is applied to the hits, one that leaves few to the query."""
    limit = k * min(MAX_EACH, ceil(state.searcher.num_docs / max(1, state.items))) + SLACK
    if allowed is not None:
        likely = limit * state.items // len(allowed) if len(allowed) > k else state.searcher.num_docs
        if likely <= MAX_OVERFETCH:
            found, complete = _fetch(state, query, k, likely, allowed if isinstance(allowed, set | frozenset) else frozenset(allowed))
            if complete:
                return found
        query = _only(state.schema, query, allowed)
    found, complete = _fetch(state, query, k, limit)
    while not complete and (limit < MAX_FETCH or len(found) < k):
        limit = min(limit * GROWTH, MAX_FETCH) if limit < MAX_FETCH else limit * GROWTH
        found, complete = _fetch(state, query, k, limit)
    return found


def _fetch(state: _State, query: Query, k: int, limit: int, keep: Collection[int] | None = None) -> tuple[list[tuple[int, float]], bool]:
    """What the first hits give, and whether no further hit belongs to it: Tantivy orders ties by segment, which is history."""
    checkpoint()
    docs = state.searcher.num_docs
    limit = max(1, min(limit, docs))
    hits = state.searcher.search(query, limit, count=False).hits
    seqs = state.searcher.fast_field_values("seq", [address for _, address in hits])
    best: dict[int, float] = {}
    for (score, _), seq in zip(hits, seqs, strict=True):
        if keep is None or seq in keep:
            best.setdefault(int(seq or 0), float(score))
    found = list(best.items())
    last = found[k - 1][1] if len(found) >= k else -1.0
    complete = len(hits) < limit or limit >= docs or float(hits[-1][0]) < last
    return sorted((hit for hit in found if hit[1] >= last), key=lambda hit: (-hit[1], hit[0])), complete


def _only(schema: Schema, query: Query, allowed: Collection[int]) -> Query:
    """The query on some documents alone; which ones adds nothing to the score."""
    chosen = Query.const_score_query(Query.term_set_query(schema, "seq", list(allowed)), 0.0)
    return Query.boolean_query([(Occur.Must, query), (Occur.Must, chosen)])
